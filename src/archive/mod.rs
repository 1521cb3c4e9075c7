//! The archive of a repository: runs write captures, commands list, read and export them.
//!
//! - [`store`]: archives observations; `job_response` builds records, `output_files` writes files.
//! - `adoption`: takes in the files that shards have written.
//! - [`bag`]: a `BagIt` folder of exported files.
//! - [`catalogue`]: looks captures up in the index.
//! - `compact`, `prune`: plan which records are left out; `quiet_periods` selects revisits.
//! - `completeness`: whether a response is complete; `fingerprints`: whether it is another one than before.
//! - `copies`: brings the other places to what the first store has.
//! - [`archived_files`]: the files in two contents that are archives.
//! - [`difference`]: where two contents differ; `text_difference`: the lines that differ.
//! - `digest_prefix`: digests that select captures.
//! - [`files`]: lists and opens the files of an archive.
//! - [`fixity`]: reads the files of each place again, in rounds.
//! - `health`: facts about the places of the archive, and what mends them.
//! - `hashing`: output whose digest is known afterwards.
//! - [`keys`]: the index keys of responses, also to other methods than GET.
//! - `known_content`: the content of the ledger.
//! - `local_copies`: the files on this machine, and the room that they take.
//! - [`origins`]: records about who answered.
//! - `requests`: tells apart requests that share a key of the index.
//! - `remote`: the places of the archive as commands see them, and the cache of its files.
//! - [`rewrite`]: leaves records out of files, and joins files.
//! - `payload`: the verified bytes of a capture; [`retrieve`] finds them, and `originals` those of revisits.
//! - `pending_record`: records that are compressed in advance, or written in segments.
//! - `segmented_records`: the segments that leave the archive with a record.
//! - `store_replacement`: replaces files in the object store.
//! - [`upload()`]: brings finished files into the object store.
//! - `variants`: captures of one URL that request headers tell apart.
//! - [`date`]: dates that select captures.
//! - [`wacz`]: exported captures for players in a browser.

mod adoption;
pub mod archived_files;
pub mod bag;
pub mod catalogue;
mod compact;
mod completeness;
mod copies;
pub mod date;
pub mod difference;
mod digest_prefix;
pub mod files;
pub mod fixity;
mod hashing;
mod health;
mod job_response;
pub mod keys;
mod known_content;
mod local_copies;
mod originals;
pub mod origins;
mod output_files;
mod payload;
mod pending_record;
mod prune;
mod quiet_periods;
mod remote;
mod requests;
pub mod retrieve;
pub mod rewrite;
#[cfg(test)]
mod segment_tests;
mod segmented_records;
pub mod store;
mod store_replacement;
mod stored;
mod text_difference;
pub mod upload;
mod variants;
pub mod wacz;

pub use adoption::{adopt, ensure_sound};
pub use catalogue::{Catalogue, IndexedCapture};
pub use compact::plan_compaction;
pub use completeness::is_good;
pub use copies::CopyReport;
pub use date::PartialDate;
pub use difference::ContentPair;
pub use digest_prefix::{DigestPrefix, InvalidPrefix};
pub use files::ArchiveFiles;
pub use hashing::HashingWriter;
pub use health::{
    Fact, LostCaptures, Settled, SettledFile, Survey, facts, files_not_here, files_that_were_here,
    forget_captures, look, lost_captures, note_missing, noted_facts, remove_bad_copies,
    restore_manifest, settle_lost,
};
pub use keys::{Keys, is_same_url};
pub use output_files::{Provenance, describe_recovered};
pub use payload::Payload;
pub use prune::{NeededCaptures, plan_removal};
pub use remote::{open_store, open_stores, stored_bytes};
pub use retrieve::CaptureQuery;
pub use rewrite::RewritePlan;
pub use store::{Archive, ArchiveWriter};
pub use upload::{UploadOptions, UploadReport, upload, upload_before_rewrite};
pub use variants::{VariantChoice, has_headers, variant_with};
