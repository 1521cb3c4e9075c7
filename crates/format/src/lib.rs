//! The database format: reads, lints, edits and writes the domain files of a URL database.
//!
//! A domain file is a YAML file of several documents: metadata first, then one record for each
//! URL. `docs/database-format.md` describes the format. The modules, in the order in which data
//! flows:
//!
//! ```text
//! bytes ─split→ raw documents ─read, scan→ documents ─record→ records ─lint→ findings
//!                               ↑ lex, decode                   ↓ edit, canonical
//!                               other than plain text           text: layout, emit, scalar, resolve
//! ```
//!
//! `plain` recognizes most canonical records without these steps. `parts` reads a file in parts of whole
//! documents, and says of each part whether it has only such records.
//!
//! `difference` compares two versions of a file, and `merge` joins two changed versions.
//!
//! `urldb-files` reads the bytes from disk and replaces the file with the text.
//!
//! ```
//! use urldb_format::{DomainFile, RecordIdentity, Record, lint};
//!
//! let mut parsed = DomainFile::parse("example.com.yaml", b"---\n---\n_path: /\n");
//! assert!(lint(&parsed, &[]).is_empty());
//! parsed.file.insert(Record::new("/a")).unwrap();
//! assert_eq!(parsed.file.text(), "---\n---\n_path: /\n---\n_path: /a\n");
//! assert_eq!(parsed.file.get(&RecordIdentity::get("/a")).unwrap().line(), 5);
//! ```
//!
//! A mistake in a file is a [`Finding`](urldb_text::Finding), never a panic and never an [`Error`]. An [`Error`] means
//! that a file could not be read, changed or written.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::too_many_lines))]

mod canonical;
mod check;
mod database;
mod decode;
mod difference;
mod document;
mod domain_file;
mod edit;
mod emit;
mod error;
mod keys;
mod layout;
mod lex;
mod limits;
mod lint;
mod merge;
mod names;
mod parts;
mod plain;
mod read;
mod record;
mod record_checks;
mod resolve;
mod scalar;
mod scan;
mod split;
mod stream;
mod text_writer;
mod value;
mod window;

pub use database::Database;
pub use difference::{DifferenceKind, FileDifference, KeyChange, RecordDifference, difference};
pub use document::Document;
pub use domain_file::{DomainFile, ParsedFile, RecordEntry, host_of};
pub use emit::write_documents;
pub use error::Error;
pub use limits::LARGEST_FILE;
pub use lint::{lint, lint_expired, lint_misnamed, lint_promise, lint_values};
pub use merge::{
    Conflict, ConflictKind, MarkerStyle, Merged, MergedMapping, Side, UnreadableVersion,
    ValueMerge, Versions, merge, merge_mappings,
};
pub use names::{is_domain_file, is_misnamed};
pub use parts::{FilePart, FileParts};
pub use plain::LeftOut;
pub use read::read_documents;
pub use record::{Metadata, Record, RecordIdentity, is_sha256, without_case};
pub use stream::{DocumentParts, read_documents_from};
pub use value::{Mapping, Schema, Value};
