//! The HTTP client of notifiers: one request, one bounded answer.
//!
//! The client follows no redirect, keeps no connection, and never shows a URL, a token or a header in
//! an error, since the URL of a webhook is often a secret. Notifiers use this crate, and `urldb-store`
//! builds its client of the same [`Options`]: `urldb-fetch` contacts promised URLs, and has other rules.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods))]

mod answer;
mod client;
mod endpoint;

pub use answer::Answer;
pub use client::{Client, Error, Method, Options, Proxy, Request, SendError};
pub use endpoint::{endpoint, is_loopback};
pub use url::Url;
