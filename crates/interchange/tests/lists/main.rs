//! The other lists of URLs, through the public API.
//!
//! - `round_trip`: what a writer writes, its reader reads, as far as the format can hold it.
//! - `reading`: files as other programs and people write them.
//! - `entries`: registries that are one list in JSON.
//! - `manifests`: descriptions of data sets and downloads.
//! - `redirecting`: rules of redirects.
//! - `sitemap`: sitemaps and their indexes.
//! - `archive`: WARC and CDXJ.
//! - `documents`: the links of documents, and the output of lychee.
//! - `documents_corpus`: generated documents, against an independent count.
//! - `documents_hostile`: documents that cost much or are damaged.
//! - `debian`: indexes of Debian archives.
//! - `htaccess`: redirects of Apache.
//! - `controls`: control characters, in all formats.
//! - `digests`: the spellings of digests.
//! - `spans`: the places of values.
//! - `trees`: thousands of entries, against a count in Python (`count.py`).
#![allow(clippy::disallowed_methods, clippy::too_many_lines)]

mod archive;
mod common;
mod controls;
mod debian;
mod digests;
mod documents;
mod documents_corpus;
mod documents_hostile;
mod entries;
mod htaccess;
mod manifests;
mod reading;
mod redirecting;
mod round_trip;
mod sitemap;
mod spans;
mod trees;
