//! Writes and reads WARC files, one gzip member per record, and their CDXJ index.
//!
//! The way of a capture: an [`http`] head is rendered, [`record::Exchange`] makes [`Draft`]s of the
//! records about one request and its answer, an [`ArchiveFile`] appends them and says where they
//! went ([`Extent`]), and a [`CdxjLine`] with that place joins the [`index`]. The way back: the index
//! names a file and an offset, [`Reader::open_at`] reads the record there.
//!
//! | module | holds |
//! |---|---|
//! | [`header`], [`id`], [`date`], [`digest`], [`version`] | what stands in front of a record |
//! | [`http`] | heads of requests and responses, as archives keep them |
//! | [`record`], [`segment`] | drafts of records, and those of one that is split over several |
//! | [`writer`], [`packer`] | bytes out: to a stream, or compressed away from it |
//! | [`mod@file`], [`series`], [`recover`], [`repair`] | a file that survives kill -9, one after another, and their repair |
//! | [`reader`] | bytes in, streaming, bounded, every fault named with its offset |
//! | [`mod@convert`] | one version to another |
//! | [`verify`], [`finding`] | whether an archive is what it says, and the codes of what can be wrong |
//! | [`cdxj`], [`index`] | a line of the index, and the sorted file |
//!
//! The crate knows no network, no clock and no random numbers: the caller supplies all three.
#![forbid(unsafe_code)]

pub mod cdxj;
pub mod convert;
pub mod date;
pub mod digest;
pub mod file;
pub mod finding;
mod fs;
pub mod header;
pub mod http;
pub mod id;
pub mod index;
mod member;
pub mod packer;
mod parts;
pub mod reader;
pub mod record;
pub mod recover;
mod render;
pub mod repair;
pub mod segment;
pub mod series;
pub mod verify;
pub mod version;
pub mod writer;

pub use cdxj::CdxjLine;
pub use date::WarcDate;
pub use digest::Digest;
pub use file::ArchiveFile;
pub use header::{Header, RecordType};
pub use id::RecordId;
pub use packer::{Packed, Packer};
pub use reader::Reader;
pub use record::{Draft, Exchange, Original};
pub use series::Series;
pub use version::Version;
pub use writer::{Extent, Writer};
