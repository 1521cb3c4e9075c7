//! Writes and reads WARC files, with one gzip member for each record, and their CDXJ index.
//!
//! ```text
//! ResponseHead ─Exchange→ RecordDraft ─ArchiveFile→ Extent ─CdxjLine→ CDXJ index
//! archive file ─Reader→ Record ─StoredHead, StoredBody→ content
//! ```
//!
//! | task | items |
//! |---|---|
//! | headers of records | [`Header`], [`RecordType`], [`RecordId`], [`WarcDate`], [`Digest`], [`Version`] |
//! | HTTP messages as stored | [`ResponseHead`], [`StoredHead`], [`StoredRequest`], [`StoredBody`] |
//! | drafts of records | [`Exchange`], [`RecordDraft`], [`warcinfo`], [`split_record`], [`SegmentJoiner`] |
//! | writing | [`Writer`] to a stream, [`ArchiveFile`] and [`FileSeries`] to disk, [`Packer`] in memory |
//! | reading | [`Reader`], [`Record`]: streaming, with bounded memory; errors have the offset of the record |
//! | places of files | [`FileSource`], [`ArchiveInput`] |
//! | index | [`CdxjLine`], [`CdxjIndex`], [`IndexUpdate`], [`PendingLines`], [`merge_into_index`], [`rebuild_index`], [`merge_index`], [`ZipNumWriter`] |
//! | care of archives | [`verify_archive`], [`recover()`], [`repair()`], [`convert()`], [`FileJoiner`] |
//!
//! The crate uses no network, no clock and no random numbers; the caller supplies all three.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::too_many_lines))]

mod cdxj;
mod content;
mod convert;
mod date;
mod digest;
mod draft;
mod extent;
mod file;
mod finding;
mod fs;
mod header;
mod http;
mod id;
mod index;
mod join;
mod member;
mod options;
mod packer;
mod parallel;
mod reader;
mod recover;
mod render;
mod repair;
mod replacement;
mod segment;
mod series;
mod source;
mod verify;
mod version;
mod write_error;
mod writer;

pub use cdxj::{CdxjLine, CdxjRequest, InvalidCdxjLine, REVISIT_MIME, SortKeys};
pub use convert::{ConvertError, convert};
pub use date::{InvalidDate, WarcDate};
pub use digest::{Digest, DigestAlgorithm, DigestHasher, InvalidDigest};
pub use draft::{
    BlockDigestError, Exchange, IDENTICAL_PAYLOAD_PROFILE, NOT_MODIFIED_PROFILE, OriginalCapture,
    RecordDraft, TruncationReason, warcinfo,
};
pub use extent::{Extent, RecordLocation};
pub use file::{
    ARCHIVE_SUFFIX, ArchiveFile, ArchiveFileError, archive_file_name, archive_files,
    is_archive_name, is_unread_name, unread_files,
};
pub use finding::{FindingCode, Severity};
pub use header::{Header, InvalidField, MAX_RECORD_HEADER, RecordType};
pub use http::{
    BodyFraming, HttpFields, HttpVersion, InvalidHttpHead, MAX_HTTP_HEAD, ResponseHead, StoredBody,
    StoredHead, StoredRequest, render_request_head,
};
pub use id::{InvalidRecordId, RecordId};
pub use index::{
    CdxjIndex, CdxjLines, INDEX_DIRECTORY, IdxDialect, IndexError, IndexRebuild, IndexUpdate,
    LARGEST_LIST, LeftOutCause, LeftOutRecords, PendingLines, ZipNumWriter, add_segment_files,
    complete_index, files_of_segment, index_lines_of, merge_index, merge_into_index, rebuild_index,
    rebuild_index_from, unindexed_files,
};
pub use join::{FileJoiner, JoinError, JoinRequest, JoinSource, JoinedFile, PreparedFile};
pub use options::WriteOptions;
pub use packer::{PackedRecord, Packer};
pub use reader::{Deviation, GzipError, ReadError, ReadErrorKind, Reader, Record, SkippedRange};
pub use recover::{RecoverError, RecoveredFile, recover};
pub use repair::{RepairError, RepairReport, RepairedFile, repair};
pub use replacement::{hidden_files, names_in};
pub use segment::{SegmentBlocks, SegmentError, SegmentJoiner, StoredSegments, split_record};
pub use series::FileSeries;
pub use source::{ArchiveInput, FileSource};
pub use verify::{
    ArchiveFinding, CopiedPayload, CopyError, Verifier, VerifySummary, copy_payload, verify_archive,
};
pub use version::Version;
pub use write_error::{WriteError, WriteErrorKind};
pub use writer::{Compression, Writer};
