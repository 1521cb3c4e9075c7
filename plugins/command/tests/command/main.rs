//! Plugins as a run calls them: the contract of docs/plugins.md.
#![allow(clippy::disallowed_methods, clippy::too_many_lines)]
#![cfg(unix)]

mod contract;
mod examples;
mod limits;
mod plugin;
#[path = "../../../../tests/support/mod.rs"]
mod support;
