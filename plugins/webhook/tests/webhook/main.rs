//! The webhook notifier against servers that accept, refuse and hang.
#![allow(clippy::disallowed_methods, clippy::too_many_lines)]

mod delivery;
mod limits;
mod report;
#[path = "../../../../tests/support/mod.rs"]
mod support;
mod templates;
