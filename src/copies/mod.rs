//! Other records that promise the same bytes. Without a network: the database and the ledger know.

mod content;
mod database;

pub use content::Content;
pub use database::{Copies, RecordCopy, find_copies};
