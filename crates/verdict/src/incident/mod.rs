//! Groups URLs that are not as promised into incidents: one root cause at one host.
//!
//! [`incidents_after`] is a pure function of the open incidents and the outcomes of a run:
//!
//! - A URL is affected once a state other than `ok` is believed. The URL stays in its incident until a
//!   run sees it as promised, its record is gone, or another state is believed.
//! - URLs of one host that become affected for one [`Cause`] in one run are one incident. They join
//!   an open incident of the same cause if the cause is about the whole host, or if no complete run
//!   has taken place since the incident opened.
//! - URLs that were not tried because their host was silent are affected by the open incident about
//!   the host being unreachable.
//! - The other URLs that failed, or about which there is no conclusion, form groups of the same shape,
//!   which no later run knows.

mod cause;
mod changing;
mod groups;
mod outcome;
mod update;

#[cfg(test)]
mod tests;

pub use cause::{Cause, incident_id, incident_key};
pub use outcome::{LeftBecause, UrlOutcome};
pub use update::{RunFacts, incidents_after};
