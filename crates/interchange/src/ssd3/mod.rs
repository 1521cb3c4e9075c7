//! SSD3, the URI-Catalogue format: `text/vnd.si.uricatalogue`.
//!
//! `field` holds the fields of the specification, [`Record`] some of them, [`Reader`] and
//! [`Writer`] go through a document; `mapping` says how the database has it, [`from_database`] and
//! [`into_item`] go there and back.
//!
//! Where the specification is silent: of two equal fields the first is kept; two different values
//! of a required field discard the record; a leap second and a RATING of `05` are refused; language
//! tags and media types are checked for their form only; a blank line more or less is none.

mod field;
mod incoming;
mod mapping;
mod outgoing;
mod reader;
mod record;
mod writer;

pub use field::{STANDARD, Standard, format_date, is_name, is_value, number, parse_date};
pub use incoming::{into_item, read};
pub(crate) use mapping::is_digest;
pub use mapping::synthesized;
pub use outgoing::{Placed, SortKey, from_database, sort_key};
pub use reader::{Diagnostic, Error, MAX_LINE, Reader};
pub use record::{Fault, Record};
pub use writer::{WriteError, Writer};
