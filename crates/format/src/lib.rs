//! The database format: reads, lints, edits and writes the domain files of a URL database.
//!
//! A domain file is a YAML file of several documents: metadata first, then one record for each
//! URL. `docs/database-format.md` describes the format. The modules, in the order in which data
//! flows:
//!
//! ```text
//! bytes ─chunks, split→ raw documents ─read, scan→ documents ─record→ records ─lint→ findings
//!                                       ↑ lex, decode                   ↓ edit, canonical
//!                                       other than plain text           text: layout, emit, scalar, resolve
//! ```
//!
//! `reader` does these steps for one document after the other, and `fold` for files whose records may repeat.
//! `plain` recognizes most canonical records without these steps. A [`DomainFile`] has all documents in memory,
//! or, for an edit, those of an `edit_window`.
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
mod chunks;
mod database;
mod decode;
mod difference;
mod digest;
mod disk;
mod document;
mod document_ref;
mod domain_file;
mod edit;
mod edit_window;
mod emit;
mod entry;
mod error;
mod file_edit;
mod fold;
mod keys;
mod layout;
mod lex;
mod limits;
mod lint;
mod merge;
mod metadata;
mod moves;
mod names;
mod path_check;
mod plain;
mod read;
mod reader;
mod record;
mod record_checks;
mod resolve;
mod scalar;
mod scan;
mod schemes;
mod spelling;
mod split;
mod stored;
mod stream;
mod text_writer;
mod value;
mod vary;

pub use database::Database;
pub use difference::{DifferenceKind, FileDifference, KeyChange, RecordDifference, difference};
pub use digest::{Algorithm, Digest};
pub use disk::finding_of;
pub use document::Document;
pub use document_ref::{DocumentRef, DocumentStart};
pub use domain_file::{DomainFile, ParsedFile, host_of};
pub use emit::write_documents;
pub use entry::RecordEntry;
pub use error::Error;
pub use fold::fold;
pub use limits::LARGEST_FILE;
pub use lint::{Linter, lint, lint_misnamed, lint_promise};
pub use merge::{
    Conflict, ConflictKind, MarkerStyle, Merged, MergedMapping, Side, UnreadableVersion,
    ValueMerge, Versions, merge, merge_ancestors, merge_mappings,
};
pub use metadata::Metadata;
pub use moves::{RecordSet, moves};
pub use names::{HELD_URIS, is_domain_file, is_misnamed};
pub use read::{conflict_line, read_documents};
pub use reader::DomainReader;
pub use record::{Record, RecordIdentity, is_sha256, without_case};
pub use stream::{DocumentParts, read_documents_from};
pub use value::{Mapping, Schema, Value};
pub use vary::differing_headers;
