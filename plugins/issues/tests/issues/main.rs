//! Issues against fake servers of GitHub, GitLab and Forgejo.
#![allow(clippy::disallowed_methods)]

mod fake;
mod faults;
mod groups;
mod hostile;
mod lifecycle;
mod report;
#[path = "../../../../tests/support/mod.rs"]
mod support;
