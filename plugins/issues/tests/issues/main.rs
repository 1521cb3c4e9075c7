//! Issues against fake servers of GitHub, GitLab and Forgejo.
#![allow(clippy::disallowed_methods, clippy::too_many_lines)]

mod fake;
mod faults;
mod groups;
mod hostile;
mod lifecycle;
mod report;
#[path = "../../../../tests/support/mod.rs"]
mod support;
