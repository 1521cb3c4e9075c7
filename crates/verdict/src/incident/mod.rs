//! Incidents: the stories of URLs that are not as promised.
//!
//! An incident is a list of events. [`append`] adds the events of one run, [`fold`] says which URLs an
//! incident affects after its events, and [`view`] shows its whole present to the reader of some of its URLs.

mod append;
mod cause;
mod edit;
mod event;
mod flapping;
mod groups;
mod impaired;
mod log_edit;
mod lost_contents;
mod lost_evidence;
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
pub use edit::{Appended, RunFacts};
pub use event::{Event, EventUrl, IncidentLog, Joining, MemberKey, time_of};
pub use flapping::{MOST_DAYS, RunResult, breaks_after, is_flapping};
pub use groups::unconfirmed_and_unknown;
pub use impaired::ImpairedFacts;
pub use lost_contents::{EvidenceFacts, LostEvidence, key_of_content, lacking};
pub use mistakes::{FileFacts, FileMistakes};
pub use notice::sent_hours;
pub use outcome::UrlOutcome;
pub use state::{Departure, IncidentState, Member, fold};
pub use view::{Reader, all_chapters, view, view_since, whole, without_muted};
