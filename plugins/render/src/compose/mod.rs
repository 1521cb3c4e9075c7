//! Makes the content of messages from envelopes: pure functions, the same for every output.

mod blocks;
mod causes;
mod changed;
mod commands;
mod coverage;
mod facts;
mod headline;
mod links;
mod lookup;
mod lost_evidence;
mod mistakes;
mod notice_events;
mod notices;
mod report;
mod scope;
mod stuck;
mod subjects;
mod titles;
mod urls;
mod warnings;
mod week;

pub(crate) use commands::commands_between_runs;
pub(crate) use facts::{cause_of_chapter, chapter_cause, evidence_facts};
pub use links::project_file_link;
pub(crate) use links::selection;
pub(crate) use lookup::Lookup;
pub(crate) use notice_events::notice_event;
pub(crate) use notices::notice_title;
pub use report::{compose, kept_promises};
pub use scope::Scope;
pub use stuck::{Deliveries, NextTry, StuckMessages, stuck_blocks};
pub(crate) use subjects::title;
pub use subjects::{LONGEST_SUBJECT, subject};
pub(crate) use titles::{closed_title, incident_line, open_groups, page_title, warning_titles};
pub(crate) use urls::{path_of, without_scheme};
