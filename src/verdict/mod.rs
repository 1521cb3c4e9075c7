//! What observations mean: the verdict table of docs/verdicts.md. Pure.
//!
//! [`look`] says what one observation shows, [`promisable`] what can be promised of it from now on, [`judge`] what all of a run's
//! observations of a job come to (or that another is needed), [`Canary`]
//! whether failures are our own network's, and [`Standing::after`] what becomes of the URL's known state: whether the
//! new state is believed at once, or only when later runs confirm it.

mod canary;
mod canonical;
mod challenge;
mod coding;
mod expiry;
mod judge;
mod links;
mod look;
mod media_type;
mod patience;
mod status;

use std::time::Duration;

use urldb_protocol::State;

use crate::config::Challenge;

pub use canary::{Canary, Settled};
pub use canonical::{Misnamed, misnamed};
pub use challenge::known_challenges;
pub use expiry::{Expiry, expiring};
pub use judge::{Judgement, judge, unsettled};
pub use look::{Sight, look, promisable};
pub use status::{Doubt, News, Pending, Standing};

/// How patient and how sceptical the verdict is; `[check]` of urldb.toml.
#[derive(Debug, Clone)]
pub struct Policy {
    /// Fetches after a first one that was not good.
    pub retries: usize,
    /// Time before the first of them; doubles from one to the next.
    pub retry_wait: Duration,
    /// Consecutive runs that must see a doubtful state before it is believed.
    pub confirm: u32,
    /// How long a URL must have been blocked before that is believed.
    pub blocked_after: Duration,
    /// Answers that say nothing about the content, besides those that are known anyway.
    pub challenges: Vec<Challenge>,
}

/// What one run says of one job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assessment {
    /// What it came to.
    pub sight: Sight,
    /// Which observation it rests on.
    pub observation: usize,
    /// Whether the state is believed at once.
    pub sure: bool,
}

impl Assessment {
    /// The state seen.
    pub fn state(&self) -> State {
        self.sight.state
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
