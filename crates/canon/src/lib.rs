#![doc = include_str!("../README.md")]
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
mod uri;

pub use error::{PathError, UrlError};
pub use identity::{
    Identity, RequestUrl, Scheme, authority, check_path, host_of, identify, is_port,
};
pub use request::{Compat, Request};
pub use surt::{Canonicalizer, SurtOptions, surt, surt_with};
pub use uri::{is_uri, kind_of_held};
