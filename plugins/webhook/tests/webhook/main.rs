//! The webhook notifier against servers that accept, refuse and hang.
#![allow(clippy::disallowed_methods)]

mod delivery;
mod report;
#[path = "../../../../tests/support/mod.rs"]
mod support;
mod templates;
