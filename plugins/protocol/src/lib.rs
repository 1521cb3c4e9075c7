//! The vocabulary that urldb and its notifiers share.
//!
//! Each run writes one [`Envelope`]: how much was checked, what is wrong now ([`Finding`]), what is news
//! ([`Incident`]), and the same in words ([`MessageWords`]). A [`Notifier`] delivers the envelope and reports each [`Delivery`].
//! Built-in notifiers implement the trait. External notifiers read the same envelope as JSON.
//!
//! Within one [`PROTOCOL`] number the envelope only gains fields.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::too_many_lines))]

mod affected;
mod archived;
mod counts;
mod difference;
mod envelope;
mod event;
mod explanation;
mod finding;
mod incident;
mod incident_events;
mod notice;
mod notifier;
mod overview;
mod promise;
mod reason;
mod runs;
mod state;
mod uses;
mod waiting;
mod week;
mod words;

pub use affected::AffectedUrl;
pub use archived::{CaptureInfo, StoredCopies};
pub use counts::Counts;
pub use difference::{Contents, MemberChange, MemberDifference, TextDifference};
pub use envelope::{Audience, Coverage, Delay, Envelope, JobResult, PROTOCOL, RunInfo, Summary};
pub use event::{Ack, Because, EventKind};
pub use explanation::{Explanation, ExplanationKind};
pub use finding::{Finding, FixedMistake, Mistake, UrlCopies};
pub use incident::{Chapter, Evidence, Incident, Phase};
pub use incident_events::{ChapterDetails, DeliveredIncident, IncidentEvents, UrlEvidence};
pub use notice::{CertificateDates, LostContent, Notice, NoticeKind};
pub use notifier::{
    Delivery, DeliveryFuture, DeliveryOutcome, Notifier, PlannedDelivery, Remembered,
    ReportDelivery, Scope,
};
pub use overview::{
    Day, DayCount, DayLevel, FileCounts, HostOverview, IncidentOverview, OriginInfo, Overview,
    ProjectInfo, UrlCondition, UrlDetails, UrlOverview,
};
pub use promise::{Observed, Promised};
pub use reason::Reason;
pub use runs::{ImpairedRun, RunCounts, RunSummary};
pub use state::{State, UnknownName};
pub use urldb_text::{Severity, Shown};
pub use uses::{Location, UrlUses};
pub use waiting::WaitingMessages;
pub use week::Week;
pub use words::{MessageAction, MessageCommand, MessageLink, MessageSeverity, MessageWords};

/// The JSON Schema of [`Envelope`], as published in docs/envelope.schema.json.
#[cfg(feature = "schemars")]
pub fn envelope_schema() -> serde_json::Value {
    schemars::schema_for!(Envelope).into()
}
