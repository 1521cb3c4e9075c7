//! Reads and writes lists of URLs: SSD3 catalogues, plain lists, sitemaps, tables, JSON lines, lists of digests,
//! package registries, descriptions of data sets, rules of redirects, `BagIt` bags, WARC and CDXJ.
//!
//! A reader streams its source and passes a [`ReadEvent`] for each URL: a [`ListItem`] with the
//! promise that the source makes, or a [`Notice`] about input that is not imported. A writer takes
//! one [`DomainRecord`] after the other. `docs/interchange.md` says what each format can hold.
//!
//! | module | content |
//! |---|---|
//! | [`model`] | types that all formats share |
//! | [`budget`] | the work that a command may spend on its lists |
//! | [`input`] | decompression and splitting into lines, both with size limits |
//! | [`digest`] | the spellings of digests |
//! | [`ssd3`] | catalogues |
//! | [`list`], [`sitemap`], [`table`], [`jsonl`] | other lists |
//! | [`sums`], [`tfds`] | lists of digests |
//! | [`bazel_registry`], [`brew_json`], [`conandata`], [`debian_sources`], [`nix_sources`] | package registries |
//! | [`redirects`] | redirect services |
//! | [`schemastore`] | schema stores |
//! | [`annex`], [`datapackage`], [`dvc`], [`jsonld`], [`metalink`] | descriptions of data sets and downloads |
//! | [`own_file`] | files of the repository itself |
//! | [`htaccess`] | redirects of Apache |
//! | [`bag`], [`archive`] | bags and web archives, from which URLs get digests |
//! | [`documents`] | the links of Markdown, HTML, `BibTeX`, CSL-JSON and notebooks |
//!
//! Hostile input ends in a [`ReadError`] or a notice. No reader fetches, resolves or expands
//! anything.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::too_many_lines))]

pub mod annex;
pub mod archive;
pub mod bag;
pub mod bazel_registry;
pub mod brew_json;
pub mod budget;
pub mod conandata;
mod controls;
pub mod datapackage;
pub mod debian_sources;
pub mod digest;
pub mod documents;
pub mod dvc;
mod escape;
mod file_events;
pub mod htaccess;
pub mod input;
mod json;
mod json_text;
pub mod jsonl;
pub mod jsonld;
pub mod list;
pub mod metalink;
pub mod model;
pub mod nix_sources;
pub mod own_file;
pub mod redirects;
pub mod schemastore;
mod scheme;
pub mod sitemap;
pub mod ssd3;
pub mod sums;
pub mod table;
pub mod tfds;
mod xml_text;
mod yaml;

pub use model::{
    DomainRecord, ListItem, Location, Notice, NoticeSeverity, Position, ReadError, ReadEvent, Sink,
    Span,
};
