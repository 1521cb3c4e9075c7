//! The vocabulary that urldb and its notifiers share.
//!
//! A run ends in one [`Envelope`]: what was checked, what is wrong now
//! ([`Finding`]) and what is news ([`Change`]). A [`Notifier`] takes it out of
//! the program and gives an [`Answer`]. Built-in notifiers implement the trait;
//! the same envelope, as JSON, is what an external one reads.
//!
//! Within one [`PROTOCOL`] number the envelope only ever gains fields.
#![forbid(unsafe_code)]

mod envelope;
mod finding;
mod notifier;
mod state;

pub use envelope::{
    Change, Coverage, Envelope, JobResult, Observed, PROTOCOL, Promised, RunInfo, Summary,
};
pub use finding::{Finding, FixedMistake, Mistake, Severity};
pub use notifier::{Answer, Delivery, Interest, Notifier, Outcome};
pub use state::{State, UnknownState};

/// The JSON Schema of [`Envelope`], as published in docs/envelope.schema.json.
pub fn envelope_schema() -> serde_json::Value {
    schemars::schema_for!(Envelope).into()
}
