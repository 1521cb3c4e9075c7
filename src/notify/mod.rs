//! Delivers reports through the notifiers that urldb.toml names.
//!
//! A message is composed when it is delivered, from what its notifier has told and what is true by then. The
//! [`Outbox`] knows that a message is to be told, and the faults of its deliveries, until every delivery was made
//! or a person skips it. A run that is killed in between loses no message.

mod audience;
mod audience_urls;
mod configured;
mod delivery_run;
mod explain;
mod factory;
mod filtered_sections;
mod filters;
mod incident_facts;
mod intervals;
mod merge;
mod notifiers;
mod outbox;
mod outbox_file;
mod panic;
mod presets;
mod reminders;
mod report;
mod scenario;
mod section;
mod services;
mod status;
mod test_message;
mod unrouted;
mod week;

pub use audience_urls::AudienceUrls;
pub use explain::{SectionExplanation, explain};
pub(crate) use factory::site_templates;
pub use filtered_sections::FilteredSections;
pub use filters::{FilterReport, filter_report};
pub use incident_facts::IncidentFacts;
pub use merge::merge;
pub use notifiers::{Inspection, Notifiers, TestResult, inspect};
pub(crate) use outbox::Message;
pub use outbox::Outbox;
pub(crate) use outbox_file::OutboxDelivery;
pub use presets::{PRESETS, Preset};
pub use status::{MadeDelivery, MessageKind, NotifierStatus};
pub use unrouted::{UNROUTED_ADVICE, Unrouted, unrouted};
