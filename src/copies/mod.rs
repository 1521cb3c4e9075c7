//! The same bytes elsewhere: under other promised URLs, in the archive, and in places that urldb.toml names.
//!
//! [`find_copies`] looks into the database and the ledger, without a network. [`Asker`] asks sources; only `urldb get` and
//! `urldb find` do that.

mod asker;
mod content;
mod database;
mod source;

pub use asker::{Answer, Asker};
pub use content::{Content, Hasher};
pub use database::{Copies, RecordCopy, find_copies};
pub use source::{Source, SourceKind, sources_of};
