//! Messages in Markdown: job summaries, issues and comments of GitHub, GitLab and Forgejo.
//!
//! Text from outside is inert: it stands in code spans, or holds only characters without a meaning in
//! Markdown and none of the forms that a service turns into links or mentions.

mod blocks;
mod comments;
mod issues;
mod size_limits;
mod summary;
mod syntax;

pub use comments::{comment, reminder_comment};
pub use issues::{Issue, closing_body, issue, shared_issue};
pub use size_limits::LARGEST_BODY;
pub(crate) use summary::markdown_within;
pub use summary::{LARGEST_SUMMARY, markdown};
pub(crate) use syntax::inert;
pub use syntax::{code, fenced};
