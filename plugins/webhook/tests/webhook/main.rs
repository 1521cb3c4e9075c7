//! The webhook notifier against servers that accept, refuse and hang.

mod delivery;
mod report;
#[path = "../../../../tests/support/mod.rs"]
mod support;
mod templates;
