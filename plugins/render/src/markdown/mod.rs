//! Messages in Markdown: job summaries, issues and comments of GitHub, GitLab and Forgejo.
//!
//! Text from outside is inert: it stands in code spans, or holds only characters without a meaning in
//! Markdown and none of the forms that a service turns into links or mentions.

mod blocks;
mod issues;
mod rooms;
mod summary;
mod syntax;

pub use issues::{Issue, LARGEST_BODY, comment, issue, reminder_comment, shared_issue};
pub use summary::{LARGEST_SUMMARY, markdown};
pub use syntax::code;
