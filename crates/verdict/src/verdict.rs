//! The verdict of one run on one job.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use urldb_protocol::{Explanation, Reason, State};

use crate::challenge::{ChallengeRule, has_text_of_challenge};
use crate::job::Job;
use crate::observation::Observation;

/// The verdict on all observations of a job in one run.
///
/// The serialized form has no explanation: a run keeps verdicts in a temporary file until it finds one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// The state, its reason, and the texts for people.
    pub classification: Classification,
    /// Index of the observation that the verdict rests on.
    pub observation: usize,
    /// Whether the state is confirmed at once.
    pub sure: bool,
    /// Classification of each observation, oldest first.
    pub attempts: Vec<Classification>,
    /// The fact behind the failures of this and other URLs.
    #[serde(skip)]
    pub explanation: Option<Arc<Explanation>>,
}

impl Verdict {
    /// The state of the classification.
    pub fn state(&self) -> State {
        self.classification.state
    }

    /// The broken promise that this run saw, where our own network may have answered in place of the
    /// host. Later runs that see the same confirm it.
    pub fn masked(&self) -> Option<&Classification> {
        let is_masked = self.classification.reason == Some(Reason::OwnNetwork);
        let seen = self.attempts.get(self.observation);
        let broken = |seen: &&Classification| {
            matches!(seen.state, State::Changed | State::Redirected | State::Gone)
        };
        seen.filter(|_| is_masked).filter(broken)
    }
}

/// A job, its observations in order, and their verdict.
#[derive(Debug, Serialize, Deserialize)]
pub struct JudgedJob {
    /// The job.
    pub job: Job,
    /// All observations of the job in one run, oldest first.
    pub observations: Vec<Observation>,
    /// The classification of all observations together.
    pub verdict: Verdict,
}

impl JudgedJob {
    /// Whether the promised bytes have a text by which a challenge is recognized, as an edited page may have too; `None`
    /// if they were not seen. The rules `challenges` come before the built-in ones.
    pub fn has_text_of_challenge(&self, challenges: &[ChallengeRule]) -> Option<bool> {
        let seen = self.observations.get(self.verdict.observation)?;
        let is_promised = self.verdict.state() == State::Ok
            && self.job.promise.is_static()
            && seen.body.is_some()
            && !seen.is_not_modified();
        is_promised.then(|| has_text_of_challenge(seen, challenges))
    }
}

/// The classification of one observation against the promise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Classification {
    /// The state.
    pub state: State,
    /// The reason, where the state has several.
    pub reason: Option<Reason>,
    /// The promise, for people; absent where `observed` says enough.
    pub expected: Option<String>,
    /// The observation, for people.
    pub observed: String,
    /// A remark besides the state.
    pub warning: Option<Warning>,
}

impl Classification {
    pub(super) fn ok() -> Self {
        Self {
            state: State::Ok,
            reason: None,
            expected: None,
            observed: "as promised".into(),
            warning: None,
        }
    }

    pub(super) fn new(
        state: State,
        reason: impl Into<Option<Reason>>,
        observed: impl Into<String>,
    ) -> Self {
        Self {
            state,
            reason: reason.into(),
            expected: None,
            observed: observed.into(),
            warning: None,
        }
    }

    pub(super) fn given_up() -> Self {
        Self::new(
            State::Inconclusive,
            Reason::RunEnded,
            "the run ended before it could be judged",
        )
    }

    pub(super) fn not_asked(cause: &str) -> Self {
        Self::new(
            State::Inconclusive,
            Reason::NotAsked,
            format!("was not asked: {cause}"),
        )
    }

    pub(super) fn own_network(observed: &str) -> Self {
        Self::new(
            State::Inconclusive,
            Reason::OwnNetwork,
            format!("no host answered in this run, so it may be our own network: {observed}"),
        )
    }

    pub(super) fn same_page(observed: &str, domains: usize) -> Self {
        Self::new(
            State::Inconclusive,
            Reason::OwnNetwork,
            format!(
                "hosts of {domains} domains answer with the same page and no promised bytes \
                 arrived in this run, so it may be our own network: {observed}"
            ),
        )
    }

    pub(super) fn expecting(self, expected: impl Into<String>) -> Self {
        Self {
            expected: Some(expected.into()),
            ..self
        }
    }

    pub(super) fn warning(self, warning: Warning) -> Self {
        Self {
            warning: Some(warning),
            ..self
        }
    }

    /// One sentence for people.
    pub fn message(&self) -> String {
        match &self.expected {
            Some(expected) => format!("{}, promised {expected}", self.observed),
            None => self.observed.clone(),
        }
    }
}

urldb_text::named_enum! {
    /// A remark about a URL whose promise holds.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Warning {
        /// One of three requests got other content than promised.
        ContentUnstable = "content-unstable",
        /// The server added a content coding; the decoded bytes are right.
        ContentEncoded = "content-encoded",
        /// The bytes are right, but the connection ended before the response's framing said so.
        FramingBroken = "framing-broken",
        /// The promised redirect leads to an error.
        RedirectToBroken = "redirect-to-broken",
        /// The certificate of the server ends soon.
        CertificateEnds = "certificate-ends",
        /// The URL flaps, and this run sees it as promised.
        Flapping = "flapping",
        /// The page names no canonical URL.
        CanonicalMissing = "canonical-missing",
        /// The page names another canonical URL than its official one.
        CanonicalDiffers = "canonical-differs",
    }
}

impl Warning {
    /// One sentence for people.
    pub const fn message(self) -> &'static str {
        match self {
            Self::ContentUnstable => "one of three requests got other bytes than promised",
            Self::ContentEncoded => {
                "the server compresses what nobody asked it to; undone, the bytes are as promised"
            }
            Self::FramingBroken => {
                "the bytes are as promised, but the server does not end them properly"
            }
            Self::RedirectToBroken => "it redirects as it may, but to something that is broken",
            Self::CertificateEnds => "the certificate of the server ends soon",
            Self::Flapping => "it fails often",
            Self::CanonicalMissing => "the page names no canonical URL",
            Self::CanonicalDiffers => "the page names another canonical URL than its official one",
        }
    }
}
