//! SSD3, the URI-Catalogue format: `text/vnd.si.uricatalogue`.
//!
//! [`Reader`] and [`Writer`] stream a document of [`CatalogueRecord`]s, whose fields `field` defines.
//! [`into_item`] and [`CatalogueDraft`] convert a record to the database and back; `extensions` names
//! the extension fields for data that the format has no field for.
//!
//! Rules where the specification is silent: the first of two equal fields counts; two different values of a
//! required field discard the record; a leap second and a RATING of `05` are refused; language tags
//! and media types are checked only for their form; additional blank lines are ignored.

mod export;
mod extensions;
mod field;
mod import;
mod reader;
mod record;
mod writer;

pub use export::CatalogueDraft;
pub use extensions::synthesized;
pub use field::{
    STANDARD_FIELDS, StandardField, format_date, is_name, is_value, number, parse_date,
};
pub use import::{into_item, read};
pub use reader::{Error, LineFault, MAX_LINE, Reader};
pub use record::{CatalogueRecord, Fault};
pub use writer::{WriteError, Writer};
