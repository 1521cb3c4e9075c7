//! SSD3, the URI-Catalogue format: `text/vnd.si.uricatalogue`.
//!
//! `field` holds the fields of the specification, [`CatalogueRecord`] some of them, [`Reader`] and
//! [`Writer`] go through a document; `mapping` says how the database has it, [`from_database`] and
//! [`into_item`] go there and back.
//!
//! Where the specification is silent: of two equal fields the first is kept; two different values
//! of a required field discard the record; a leap second and a RATING of `05` are refused; language
//! tags and media types are checked for their form only; a blank line more or less is none.

mod export;
mod extensions;
mod field;
mod import;
mod reader;
mod record;
mod writer;

pub use export::{ConvertedRecord, SortKey, from_database, sort_key};
pub use extensions::synthesized;
pub use field::{
    STANDARD_FIELDS, StandardField, format_date, is_name, is_value, number, parse_date,
};
pub use import::{into_item, read};
pub use reader::{Diagnostic, Error, MAX_LINE, Reader};
pub use record::{CatalogueRecord, Fault};
pub use writer::{WriteError, Writer};
