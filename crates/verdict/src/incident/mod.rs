//! Incidents: the stories of URLs that are not as promised.
//!
//! An incident is a list of events. [`append`] adds the events of one run, [`fold`] says which URLs an
//! incident affects after its events, and [`view`] shows its whole present to the reader of some of its URLs.

mod append;
mod cause;
mod edit;
mod event;
mod groups;
mod impaired;
mod log_edit;
mod lost_contents;
mod lost_evidence;
mod mark;
mod mistakes;
mod newcomers;
mod notice;
mod notices;
mod outcome;
mod silence;
mod state;
mod topic;
mod twins;
mod view;
mod window;

#[cfg(test)]
mod evidence_tests;
#[cfg(test)]
mod notice_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod watching_tests;

pub use append::append;
pub use cause::{Cause, incident_id, incident_key};
pub use edit::{Appended, MarkChange, RunFacts};
pub use event::{Event, EventUrl, IncidentLog, Joining, MemberKey, time_of};
pub use groups::unconfirmed_and_unknown;
pub use impaired::ImpairedFacts;
pub use lost_contents::{EvidenceFacts, LostEvidence, key_of_content, lacking};
pub use mark::{Mark, RunResult, breaks_after};
pub use mistakes::{FileFacts, FileMistakes};
pub use notice::sent_hours;
pub use outcome::{Agreement, UrlOutcome};
pub use state::{Departure, IncidentState, Member, fold};
pub use view::{Reader, all_chapters, view, view_since, whole, without_muted};
pub use window::{MOST_DAYS, Runs};
