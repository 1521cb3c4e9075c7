//! Makes the content of messages from envelopes: pure functions, the same for every output.

mod blind;
mod blocks;
mod causes;
mod checked;
mod commands;
mod coverage;
mod facts;
mod headline;
mod links;
mod lookup;
mod mistakes;
mod notices;
mod report;
mod scope;
mod stuck;
mod subjects;
mod titles;
mod urls;
mod warnings;
mod week;

pub(crate) use blocks::{cause_of, cause_of_all, checklist, seen_of};
pub use commands::ack_command;
pub(crate) use facts::{evidence_facts, former_cause, past, past_of};
pub(crate) use headline::{as_promised, broken_share};
pub(crate) use links::selection;
pub use links::{project_commit_link, project_file_link};
pub(crate) use lookup::Lookup;
pub(crate) use notices::{issue_lead, new_certificate, notice_comment, notice_event, notice_title};
pub use report::{compose, kept_promises};
pub use scope::Scope;
pub use stuck::{Deliveries, NextTry, StuckMessages, stuck_blocks};
pub(crate) use subjects::title;
pub use subjects::{LONGEST_SUBJECT, subject};
pub(crate) use titles::{broken_since, open_groups, page_title, warning_titles};
pub(crate) use urls::{path_of, without_scheme};
