//! Decides what observations of a URL show about its promise, by the table of docs/verdicts.md.
//!
//! The crate is pure: no clock, no network, no file.
//!
//! 1. [`plan`] turns records into [`Job`]s.
//! 2. [`classify`] says what one [`Observation`] of a job shows.
//! 3. [`decide`] combines all observations of a job in one run into a [`Verdict`], or asks for
//!    another observation.
//! 4. [`diagnosis`] finds the facts behind many failures of a run, such as our own network.
//! 5. [`UrlStatus::after`] says whether a new state is confirmed at once, or after later runs
//!    confirm it.
//! 6. [`incident`] groups the URLs that are not as promised by their cause.
//!
//! [`promisable`], [`promisable_type`] and [`promisable_redirect`] say what a record can promise from
//! now on, and [`decide_promise`] how often it must be seen before.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::too_many_lines))]

mod backoff;
mod body;
mod bytes;
mod canonical;
mod certificates;
mod challenge;
mod classify;
mod clock;
mod coding;
mod conversion;
mod decide;
pub mod diagnosis;
mod encoding;
mod failure;
pub mod incident;
mod job;
mod media_type;
mod observation;
mod options;
mod page;
pub mod plan;
mod promisable;
mod redirect;
mod refusal;
mod status;
mod verdict;
mod vote;

pub use body::{Body, BodyEnd, Damage, Decoded, ServedBytes, ServedDigests};
pub use bytes::{is_proven, observed_bytes, observed_length, verified_digest};
pub use canonical::{CanonicalMismatch, canonical_mismatch};
pub use certificates::{CertificateFacts, HostCertificates, believe_known_end};
pub use challenge::{ChallengeRule, known_challenges};
pub use classify::classify;
pub use clock::{ClockVotes, WrongClock};
pub use coding::{Coding, coding_of};
pub use conversion::Conversion;
pub use decide::{Decide, Decision, agreeing, decide, decide_promise, judge, not_asked, undecided};
pub use failure::{Certificate, Failure, FailureKind};
pub use job::{BodyUse, Job, JobKey, Keep, Promise, Request, Validators, is_safe_method};
pub use media_type::outside_quotes;
pub use observation::{Beginning, Hop, Observation, Origin, PAGE, Sent};
pub use options::VerdictOptions;
pub use plan::{
    ChangedRecords, Cnames, DomainPlan, FileOptions, InvalidShard, KeptBodies, NamedRecord,
    PastRuns, PlanOptions, Rehash, Rotation, Selection, Shard, SkippedRecords, pseudo_status,
};
pub use promisable::{ServedRedirect, promisable, promisable_redirect, promisable_type};
pub use redirect::{becomes_get, location_text};
pub use refusal::{Refusal, refusal};
pub use status::{Doubt, Pending, UrlStatus};
pub use verdict::{Classification, JudgedJob, Verdict, Warning};
