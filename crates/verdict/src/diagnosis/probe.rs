//! Further requests at the end of a run, which show or refute a fact behind its failures.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use urldb_canon::RequestUrl;
use urldb_protocol::{Reason, State};

use super::bucket::BucketFault;
use super::content::ContentId;
use crate::decide::{Decision, undecided};
use crate::encoding;
use crate::job::{BodyUse, Job, JobKey, Keep, Promise};
use crate::observation::Observation;
use crate::options::VerdictOptions;
use crate::verdict::JudgedJob;

/// Most hosts of a run that are probed, each with two requests.
const MOST_HOSTS: usize = 32;

/// Most bytes of a file that is looked at again.
const LARGEST: u64 = 64 << 20;

/// Most bytes that are read of the answer for a path that does not exist.
const SIBLING: u64 = 64 << 10;

/// The first changed URL of each host, by which hosts are probed. Without one, the first URL that an object store
/// denies.
#[derive(Debug, Default)]
pub struct ProbePlan {
    /// By host. The flag is that of a denied URL.
    first: BTreeMap<String, (bool, Job)>,
    /// Hosts that are silent, or refuse requests: they get no more of them.
    spared: BTreeSet<String>,
    /// Whether the run ended before all its jobs did.
    is_over: bool,
}

/// The results of the probes of a host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct HostProbes {
    /// Whether the second look got the promised bytes; absent without an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_promised: Option<bool>,
    /// The status for a path that does not exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The digest that identifies the content for such a path.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "encoding::optional_hex"
    )]
    pub content: Option<[u8; 32]>,
}

impl ProbePlan {
    /// Notes a job; in the end the plan has the first URL of each of the first hosts, whatever the order.
    pub fn note(&mut self, judged: &JudgedJob) {
        let JudgedJob { job, verdict, .. } = judged;
        let is_denied = judged
            .observations
            .get(verdict.observation)
            .and_then(BucketFault::of)
            == Some(BucketFault::Private);
        let is_small = match job.body {
            BodyUse::Hash { at_most, .. } => at_most <= LARGEST,
            BodyUse::Skip => false,
        };
        let is_plain = job.key.request.is_none() && job.request.method == "GET";
        let reason = verdict.classification.reason;
        if matches!(reason, Some(Reason::RateLimited | Reason::HostSilent)) {
            self.spared.insert(job.host().to_owned());
            return;
        }
        self.is_over |= reason == Some(Reason::RunEnded);
        // Its own requests have shown enough.
        let is_unsettled = matches!(
            reason,
            Some(Reason::Unstable | Reason::Uploading | Reason::DigestsDisagree)
        );
        let is_changed = verdict.state() == State::Changed && !is_unsettled && is_small;
        let is_wanted = (is_changed || is_denied) && job.promise.is_static();
        if !is_wanted || !is_plain {
            return;
        }
        let known = self.first.get(job.host());
        if known.is_some_and(|(denied, known)| (*denied, &known.key) <= (is_denied, &job.key)) {
            return;
        }
        let first = (is_denied, job.clone());
        self.first.insert(job.host().to_owned(), first);
        if self.first.len() > MOST_HOSTS {
            self.first.pop_last();
        }
    }

    /// The requests, for each host: its first URL once more, and a path beside it that should not exist and has no
    /// promise. `name` is part of that path, such as the id of the run.
    pub fn probes(self, name: &str) -> Vec<Vec<Job>> {
        if self.is_over {
            return vec![];
        }
        self.first
            .into_iter()
            .filter(|(host, _)| !self.spared.contains(host))
            .map(|(_, (is_denied, job))| {
                let sibling = sibling(&job, name);
                (!is_denied)
                    .then(|| Job {
                        validators: None,
                        body: without_keeping(job.body),
                        ..job
                    })
                    .into_iter()
                    .chain(sibling)
                    .collect()
            })
            .collect()
    }
}

/// `DIR/urldb-probe-NAME.EXT` beside the file of a job.
fn sibling(job: &Job, name: &str) -> Option<Job> {
    let path = job.key.path.split(['?', '#']).next()?;
    let (folder, file) = path.rsplit_once('/')?;
    let ending = file
        .rsplit_once('.')
        .map(|(_, ending)| ending)
        .filter(|it| it.len() <= 8 && it.bytes().all(|b| b.is_ascii_alphanumeric()));
    let ending = ending.map(|ending| format!(".{ending}"));
    let path = format!("{folder}/urldb-probe-{name}{}", ending.unwrap_or_default());
    Some(Job {
        url: RequestUrl::new(job.key.scheme, job.host(), &path)?,
        key: JobKey {
            path,
            ..job.key.clone()
        },
        promise: Promise::default(),
        body: BodyUse::Hash {
            at_most: SIBLING,
            keep: Keep::Nothing,
            beyond: 0,
        },
        validators: None,
        ..job.clone()
    })
}

fn without_keeping(body: BodyUse) -> BodyUse {
    match body {
        BodyUse::Hash { at_most, .. } => BodyUse::Hash {
            at_most,
            keep: Keep::Nothing,
            beyond: 0,
        },
        BodyUse::Skip => BodyUse::Skip,
    }
}

/// The rule of a probe: one request, whatever the answer.
pub fn decide_probe(job: &Job, seen: &[Observation], options: &VerdictOptions) -> Decision {
    match seen {
        [] => Decision::Retry {
            wait: Duration::ZERO,
            fresh: true,
        },
        _ => Decision::Final(undecided(job, seen, options)),
    }
}

impl HostProbes {
    /// Adds the result of a probe: a second look if the job has a promise, else that of the path beside it.
    pub fn add(&mut self, probed: &JudgedJob) {
        let JudgedJob {
            job,
            observations,
            verdict,
        } = probed;
        let Some(seen) = observations.first().filter(|seen| seen.failure.is_none()) else {
            return;
        };
        if job.promise.is_static() {
            self.is_promised = match verdict.attempts.first().map(|found| found.state) {
                Some(State::Ok) => Some(true),
                Some(State::Changed) => Some(false),
                _ => None,
            };
        } else {
            let content = ContentId::of(job.url.as_str(), seen);
            self.status = seen.last().map(|last| last.status);
            self.content = content.map(ContentId::digest);
        }
    }

    /// The content for a path that does not exist.
    pub(super) fn sibling(&self) -> Option<ContentId> {
        Some(ContentId::new(self.status?, self.content?))
    }
}
