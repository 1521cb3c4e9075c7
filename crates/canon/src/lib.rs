//! Canonical forms of URLs: which URLs are the same.
//!
//! Three answers for three uses:
//!
//! - [`identify`] gives the host and path under which the database keeps a URL. It merges only
//!   spellings that every server must treat alike, since a wrong merge would watch the wrong bytes.
//!   [`check_path`] tells whether a `_path` is already in that form.
//! - [`rules`] are written by the owner of a domain. They tell which URLs of a website are one page.
//! - [`surt()`] gives the key under which web archives look a URL up. It merges far more (case,
//!   query order, `www`), and follows the Python package exactly, so that other tools find the lines
//!   of the index. Method and body of a request other than GET first become part of the URL:
//!   [`Request`].
//!
//! Pure functions: no network, no file, and no panic on any input.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::too_many_lines))]

mod error;
mod escape;
mod host;
mod identity;
mod path;
mod request;
pub mod rules;
mod surt;

pub use error::{PathError, UrlError};
pub use identity::{Identity, RequestUrl, Scheme, check_path, identify};
pub use request::{Compat, Request};
pub use surt::{Canonicalizer, SurtOptions, surt, surt_with};
