#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::too_many_lines))]

pub mod capture;
pub mod cdxj;
mod content;
pub mod convert;
pub mod digest;
pub mod draft;
mod extent;
pub mod files;
pub mod finding;
mod fs;
pub mod header;
pub mod http;
pub mod index;
pub mod join;
mod parallel;
pub mod reader;
mod render;
pub mod repair;
mod replacement;
pub mod segment;
pub mod verify;
pub mod writer;

pub use cdxj::CdxjLine;
pub use digest::{Digest, DigestAlgorithm};
pub use draft::RecordDraft;
pub use extent::Extent;
pub use finding::FindingCode;
pub use fs::FileError;
pub use header::{Header, RecordId, RecordType, Version, WarcDate};
pub use reader::{Reader, Record};
pub use writer::{Compression, Writer};
