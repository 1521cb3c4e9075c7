//! What makes two URLs the same.
//!
//! Three questions, three answers, because they serve different masters:
//!
//! - [`identify`] gives the host and path under which the database keeps a URL. It merges only
//!   spellings that every server must treat alike, since a wrong merge would watch the wrong bytes.
//!   [`check_path`] says whether a `_path` is already in that form.
//! - [`rules`] are what the owner of a domain says about its URLs: which of them are one page.
//! - [`surt()`] gives the key under which the world's web archives look a URL up. It merges far more
//!   (case, query order, `www`), and is followed to the letter so that other tools find our lines.
//!   Of a request that is no GET, method and body become part of the URL first: [`Request`].
//!
//! Pure functions: no network, no file, and no panic on any input.
#![forbid(unsafe_code)]

mod error;
mod host;
mod identity;
mod path;
mod request;
pub mod rules;
mod surt;

pub use error::{PathError, UrlError};
pub use identity::{Identity, Scheme, identify};
pub use path::check_path;
pub use request::{Compat, Request};
pub use surt::{Canonicalizer, SurtOptions, surt, surt_with};
