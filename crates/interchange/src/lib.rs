//! Lists of URLs as they come and go: SSD3 catalogues, plain lists, sitemaps, CSV, JSON lines,
//! `sha256sum` files, `BagIt` bags, WARC and CDXJ.
//!
//! A reader goes through its source once, without holding it in memory, and hands over what it
//! [`ReadEvent`]: an [`ListItem`] for each URL, with what the source promises of it, or a [`Notice`] of what
//! could not be taken. A writer is given [`DomainRecord`] records. What each format can hold is in
//! `docs/interchange.md`.
//!
//! | module | holds |
//! |---|---|
//! | [`model`], [`json`] | what all formats share |
//! | [`input`] | files, unpacked, and their lines, both bounded |
//! | [`ssd3`] | catalogues |
//! | [`list`], [`sitemap`], [`table`], [`jsonl`], [`sums`] | the other lists |
//! | [`bag`], [`archive`] | what digests are taken from |
//!
//! Hostile input ends in a [`ReadError`] or a notice; it is never fetched, resolved or expanded.
#![forbid(unsafe_code)]

pub mod archive;
pub mod bag;
mod escape;
pub mod input;
pub mod json;
pub mod jsonl;
pub mod list;
pub mod model;
pub mod sitemap;
pub mod ssd3;
pub mod sums;
pub mod table;

pub use model::{
    DomainRecord, ListItem, Location, Notice, Position, ReadError, ReadEvent, Sink, Weight,
};
