//! What observations of a URL show about its promise: the verdict table of docs/verdicts.md. Pure.
//!
//! [`plan`] turns records into [`Job`]s. [`classify`] says what one [`Observation`] of a job shows,
//! [`decide`] what all observations of a run amount to, or that another one is needed. [`Canary`]
//! says whether failures are those of our own network. [`UrlStatus::after`] says whether the new
//! state is believed at once, or only when later runs confirm it. [`promisable`] says which bytes
//! can be promised from now on.
#![forbid(unsafe_code)]

mod canary;
mod canonical;
mod challenge;
mod classify;
mod coding;
mod decide;
mod expiry;
mod hex;
mod job;
mod links;
mod media_type;
mod observation;
mod patience;
pub mod plan;
mod promise;
mod redirect;
mod request;
mod status;

use std::time::Duration;

use urldb_protocol::State;

pub use canary::{Canary, JudgedJob};
pub use canonical::{Misnamed, misnamed};
pub use challenge::{ChallengeRule, known_challenges};
pub use classify::{Classification, classify, promisable};
pub use coding::{Coding, coding_of};
pub use decide::{Decision, decide, undecided};
pub use expiry::{Expiry, expiring};
pub use hex::{decode_sha256, encode as encode_hex};
pub use job::{BodyUse, Job, JobKey};
pub use observation::{
    Beginning, Body, BodyEnd, Certificate, Decoded, Failure, FailureKind, Hop, Observation, PAGE,
    Sent,
};
pub use plan::{Cnames, Keep, Known, LeftOut, PlanOptions, Rehash, Selection, Validators};
pub use promise::Promise;
pub use redirect::{becomes_get, location_text};
pub use request::{Request, is_safe_method};
pub use status::{Doubt, Pending, Transition, UrlStatus};

/// How patient and how sceptical the verdict is; `[check]` of urldb.toml.
#[derive(Debug, Clone)]
pub struct VerdictOptions {
    /// Fetches after a first one that was not good.
    pub retries: usize,
    /// Time before the first of them; doubles from one to the next.
    pub retry_wait: Duration,
    /// Consecutive runs that must see a doubtful state before it is believed.
    pub confirm: u32,
    /// How long a URL must have been blocked before that is believed.
    pub blocked_after: Duration,
    /// Answers that say nothing about the content, besides those that are known anyway.
    pub challenges: Vec<ChallengeRule>,
}

impl Default for VerdictOptions {
    fn default() -> Self {
        Self {
            retries: 2,
            retry_wait: Duration::from_secs(2),
            confirm: 2,
            blocked_after: Duration::from_hours(7 * 24),
            challenges: vec![],
        }
    }
}

/// What one run says of one job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// What it came to.
    pub classification: Classification,
    /// Which observation it rests on.
    pub observation: usize,
    /// Whether the state is believed at once.
    pub sure: bool,
    /// Classification of each observation, oldest first.
    pub attempts: Vec<Classification>,
}

impl Verdict {
    /// The state seen.
    pub fn state(&self) -> State {
        self.classification.state
    }
}

/// Something worth knowing about a URL whose promise holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Warning {
    /// One of three fetches brought other bytes.
    ContentUnstable,
    /// The server added a content coding; undone, the bytes are right.
    ContentEncoded,
    /// The bytes are right, but the connection ended otherwise than it should.
    FramingBroken,
    /// The redirect is there, but it leads to an error.
    RedirectToBroken,
    /// The time of the server's certificate is almost over.
    CertificateExpiresSoon,
    /// The page does not say what its official URL is.
    CanonicalMissing,
    /// The page says that its official URL is another one.
    CanonicalDiffers,
}

impl Warning {
    /// Every warning.
    pub const ALL: [Self; 7] = [
        Self::ContentUnstable,
        Self::ContentEncoded,
        Self::FramingBroken,
        Self::RedirectToBroken,
        Self::CertificateExpiresSoon,
        Self::CanonicalMissing,
        Self::CanonicalDiffers,
    ];

    /// The stable kebab-case code.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ContentUnstable => "content-unstable",
            Self::ContentEncoded => "content-encoded",
            Self::FramingBroken => "framing-broken",
            Self::RedirectToBroken => "redirect-to-broken",
            Self::CertificateExpiresSoon => "certificate-expires-soon",
            Self::CanonicalMissing => "canonical-missing",
            Self::CanonicalDiffers => "canonical-differs",
        }
    }

    /// One sentence for people.
    pub const fn message(self) -> &'static str {
        match self {
            Self::ContentUnstable => "one of three fetches brought other bytes than promised",
            Self::ContentEncoded => {
                "the server compresses what nobody asked it to; undone, the bytes are as promised"
            }
            Self::FramingBroken => {
                "the bytes are as promised, but the server does not end them properly"
            }
            Self::RedirectToBroken => "it redirects as it may, but to something that is broken",
            Self::CertificateExpiresSoon => "the server's certificate expires soon",
            Self::CanonicalMissing => "the page names no canonical URL",
            Self::CanonicalDiffers => "the page names another canonical URL than its official one",
        }
    }
}
