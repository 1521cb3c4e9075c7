//! Delivers reports through the notifiers that urldb.toml names.
//!
//! A report with news goes into the [`Outbox`] first, with its planned deliveries. The report leaves
//! the outbox when every delivery was made, or when a person drops the rest. A run that is killed in
//! between loses no message, and the next run tries again what was not delivered.

mod audience;
mod configured;
mod delivery_run;
mod explain;
mod factory;
mod filters;
mod incident_facts;
mod intervals;
mod merge;
mod notifiers;
mod outbox;
mod panic;
mod presets;
mod report;
mod scenario;
mod section;
mod services;
mod status;
mod test_message;
mod unrouted;

pub use explain::{SectionExplanation, explain};
pub(crate) use factory::site_templates;
pub use filters::{FilterReport, filter_report};
pub use incident_facts::IncidentFacts;
pub use merge::merge;
pub use notifiers::{Inspection, Notifiers, TestResult, inspect};
pub use outbox::Outbox;
pub(crate) use outbox::{Message, OutboxDelivery};
pub use presets::{PRESETS, Preset};
pub use status::{MadeDelivery, NotifierStatus};
pub use unrouted::{UNROUTED_ADVICE, Unrouted, unrouted};
