//! The HTTP client of notifiers, of the ping of `urldb watch` and of the archive's store.
//!
//! A client sends in a [`Conversation`] alone, which ends when its [`Budget`] is spent: so no server can
//! hold urldb up by answers, pages or redirects without end. The client follows no redirect, and never
//! shows a URL, a token or a header in an error, since the URL of a webhook is often a secret.
//! `urldb-fetch` contacts promised URLs, and has other rules.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::too_many_lines))]

mod budget;
mod client;
mod conversation;
mod request;

pub use budget::{Budget, Ended};
pub use client::{Client, Error, Options, Proxy, endpoint, is_loopback};
pub use conversation::{Answer, Conversation, Incoming, SLOWEST};
pub use request::{Method, Request, SendError};
pub use url::Url;
