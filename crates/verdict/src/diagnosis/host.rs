//! The failures of one host in one run, and the facts behind them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use urldb_format::Digest;
use urldb_protocol::{Explanation, ExplanationKind, Reason, Shown, State};

use super::bucket::BucketFault;
use super::content::ContentId;
use super::converted;
use super::moved::{self, Move, MovedUrls};
use super::probe::HostProbes;
use super::replaced::{self, deployment, last_modified};
use crate::conversion::Conversion;
use crate::job::Job;
use crate::observation::Observation;
use crate::verdict::JudgedJob;

/// Fewest URLs with one content that is no content of theirs.
const FEWEST_ALIKE: u64 = 3;

/// Most bytes by which the lengths of one page differ that names its URL.
const MARGIN: u64 = 512;

/// The votes of a host's URLs on their content, of all that a run asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HostVotes {
    /// Number of URLs that were asked.
    asked: u64,
    /// Number of URLs that got other content than promised.
    wrong: u64,
    /// Number of these URLs that got the promised content too.
    both: u64,
    /// Number of requests to these URLs that got content.
    requests: u64,
    /// Number of those requests that got the promised content.
    promised: u64,
}

/// The failures of one host in one run.
#[derive(Debug, Default)]
pub struct HostFacts {
    votes: HostVotes,
    failing: u64,
    /// Number of static URLs that are `changed`, and not still growing.
    changed: u64,
    /// Their contents.
    pages: BTreeMap<ContentId, PageFacts>,
    /// Their conversions, and the number of URLs of each.
    converted: BTreeMap<Conversion, u64>,
    /// Their dates.
    dates: Vec<Timestamp>,
    moves: BTreeMap<Move, MovedUrls>,
    buckets: BTreeMap<BucketFault, u64>,
}

/// The URLs with one content.
#[derive(Debug)]
struct PageFacts {
    urls: u64,
    /// Two of their promises at most.
    promises: BTreeSet<(Option<u64>, Vec<Digest>)>,
    shortest: u64,
    longest: u64,
    /// Whether one of them is no home page.
    is_file: bool,
}

/// The facts behind the failures of a host, the most telling first.
#[derive(Debug, Default)]
pub struct Explained {
    facts: Vec<(Fact, Arc<Explanation>)>,
}

/// A fact, the number of URLs that it covers, and one sentence for people.
struct Found {
    fact: Fact,
    urls: u64,
    sentence: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Fact {
    Converted,
    SameContent(ContentId),
    TwoVersions,
    Replaced,
    Moved(Move),
    Bucket(BucketFault),
}

impl HostVotes {
    /// Notes a URL of the host.
    pub fn note(&mut self, judged: &JudgedJob) {
        let votes = judged.verdict.attempts.iter().map(|attempt| attempt.state);
        let (mut promised, mut wrong) = (0, 0);
        for state in votes {
            promised += u64::from(state == State::Ok);
            wrong += u64::from(state == State::Changed);
        }
        self.asked += 1;
        if wrong > 0 {
            self.wrong += 1;
            self.both += u64::from(promised > 0);
            self.requests += promised + wrong;
            self.promised += promised;
        }
    }
}

impl HostFacts {
    /// The facts of a host before its failures are noted.
    pub fn new(votes: HostVotes) -> Self {
        Self {
            votes,
            ..Self::default()
        }
    }

    /// Notes a URL of the host that is not settled.
    pub fn note(&mut self, judged: &JudgedJob) {
        let JudgedJob { job, verdict, .. } = judged;
        let seen = judged.observations.get(verdict.observation);
        if verdict.state() == State::Ok {
            return;
        }
        self.failing += 1;
        if let Some(fault) = seen.and_then(BucketFault::of) {
            *self.buckets.entry(fault).or_default() += 1;
        }
        for found in Move::of(judged) {
            self.moves.entry(found).or_default().add(judged);
        }
        if !may_be_other_version(judged) {
            return;
        }
        self.changed += 1;
        let page = content_of(judged).filter(|_| !is_unstable(judged));
        if let Some((content, seen)) = page.zip(seen) {
            self.pages
                .entry(content)
                .or_insert_with(PageFacts::new)
                .add(job, seen);
        }
        if let Some(conversion) = converted::conversion_of(judged) {
            *self.converted.entry(conversion).or_default() += 1;
        }
        self.dates.extend(last_modified(judged));
    }

    /// The facts behind the failures. `last_run` is the start of the run before.
    pub fn explain(
        &self,
        host: &str,
        probes: &HostProbes,
        last_run: Option<Timestamp>,
    ) -> Explained {
        let mut found = self.same_contents(probes);
        found.splice(..0, self.converted(probes));
        // Both cover all changed files.
        found.extend(
            self.two_versions(probes)
                .or_else(|| self.replaced(last_run)),
        );
        found.extend(self.moved());
        found.extend(self.bucket(probes));
        let facts = found
            .into_iter()
            .filter(|found| found.urls > 0)
            .map(|found| {
                let explanation = Explanation {
                    kind: found.fact.kind(),
                    host: host.to_owned(),
                    urls: found.urls,
                    of: self.votes.asked.max(found.urls),
                    sentence: Shown::new(&found.sentence, Shown::LONGEST),
                };
                (found.fact, Arc::new(explanation))
            });
        Explained {
            facts: facts.collect(),
        }
    }

    fn converted(&self, probes: &HostProbes) -> Option<Found> {
        let urls = self.converted.values().sum();
        (!self.has_two_versions(probes)).then(|| Found {
            fact: Fact::Converted,
            urls,
            sentence: converted::sentence(&self.converted, urls, self.votes.asked),
        })
    }

    fn same_contents(&self, probes: &HostProbes) -> Vec<Found> {
        // A host that serves a file as promised to some requests has not lost it.
        let has_both = self.has_two_versions(probes);
        let sibling = probes.sibling().filter(|_| !has_both);
        self.pages
            .iter()
            .filter_map(|(content, page)| {
                let is_sibling = sibling == Some(*content) && page.is_file;
                (is_sibling || page.is_alike()).then(|| Found {
                    fact: Fact::SameContent(*content),
                    urls: page.urls,
                    sentence: page.sentence(is_sibling),
                })
            })
            .collect()
    }

    fn moved(&self) -> Option<Found> {
        let moves = self
            .moves
            .iter()
            .filter(|(_, it)| it.urls >= moved::FEWEST && self.is_most(it.urls));
        // A change of folders says more than the one target of URLs with the same name.
        let (change, urls) =
            moves.max_by_key(|(change, it)| (it.urls, matches!(change, Move::Prefix { .. })))?;
        Some(Found {
            fact: Fact::Moved(change.clone()),
            urls: urls.urls,
            sentence: change.sentence(urls),
        })
    }

    fn bucket(&self, probes: &HostProbes) -> Option<Found> {
        let (fault, urls) = self.buckets.iter().next()?;
        let is_all = *urls == self.failing && *urls == self.votes.asked;
        let is_known = match fault {
            BucketFault::Gone => true,
            BucketFault::Private => is_all && probes.status == Some(403),
        };
        is_known.then(|| Found {
            fact: Fact::Bucket(*fault),
            urls: *urls,
            sentence: fault.sentence().to_owned(),
        })
    }

    fn is_most(&self, urls: u64) -> bool {
        urls * 2 >= self.failing
    }

    /// Whether a quarter of the URLs with wrong content got the promised content too: of servers that differ, one
    /// answers all requests to some URLs.
    fn has_two_versions(&self, probes: &HostProbes) -> bool {
        let HostVotes { wrong, both, .. } = self.votes;
        probes.is_promised == Some(true) || both > 0 && both * 4 >= wrong
    }

    fn two_versions(&self, probes: &HostProbes) -> Option<Found> {
        if !self.has_two_versions(probes) {
            return None;
        }
        let looks = u64::from(probes.is_promised.is_some());
        let again = u64::from(probes.is_promised == Some(true));
        let HostVotes {
            requests, promised, ..
        } = self.votes;
        let bytes = format!(
            "{} of {} requests got the promised bytes",
            promised + again,
            requests + looks
        );
        Some(Found {
            fact: Fact::TwoVersions,
            urls: self.changed,
            sentence: format!("serves two versions in turn: {bytes}"),
        })
    }

    fn replaced(&self, last_run: Option<Timestamp>) -> Option<Found> {
        let (first, last) = deployment(self.dates.clone(), last_run?)?;
        let contents = self.pages.len() as u64;
        let is_each = contents == self.changed && self.dates.len() as u64 == self.changed;
        if !is_each || self.changed < replaced::FEWEST || !self.is_most(self.changed) {
            return None;
        }
        let minute = |time: Timestamp| time.strftime("%Y-%m-%d %H:%M").to_string();
        let (from, to) = (minute(first), minute(last + SignedDuration::from_secs(59)));
        let of = self.votes.asked.max(self.changed);
        let sentence = format!(
            "{} of {of} files were replaced between {from} and {to} UTC",
            self.changed
        );
        Some(Found {
            fact: Fact::Replaced,
            urls: self.changed,
            sentence,
        })
    }
}

impl PageFacts {
    fn new() -> Self {
        Self {
            urls: 0,
            promises: BTreeSet::new(),
            shortest: u64::MAX,
            longest: 0,
            is_file: false,
        }
    }

    fn add(&mut self, job: &Job, seen: &Observation) {
        self.urls += 1;
        if self.promises.len() < 2 {
            let digests = job.promise.all_digests().collect();
            self.promises.insert((job.promise.length, digests));
        }
        if let Some(body) = seen.complete_body() {
            self.shortest = self.shortest.min(body.length);
            self.longest = self.longest.max(body.length);
        }
        let file = job.key.path.rsplit('/').next().unwrap_or_default();
        self.is_file |= !file.is_empty() && !file.starts_with("index.");
    }

    /// Whether these are one content in place of different files.
    fn is_alike(&self) -> bool {
        let is_one_length = self.longest.saturating_sub(self.shortest) <= MARGIN;
        self.urls >= FEWEST_ALIKE && self.promises.len() > 1 && is_one_length
    }

    fn sentence(&self, is_sibling: bool) -> String {
        match (self.urls, is_sibling) {
            (1, _) => "answers like a path that does not exist".to_owned(),
            (urls, true) => {
                format!(
                    "{urls} URLs answer with one content, and so does a path that does not exist"
                )
            }
            (urls, false) => format!("{urls} URLs answer with one content"),
        }
    }
}

impl Explained {
    /// All facts.
    pub fn all(&self) -> impl Iterator<Item = &Explanation> {
        self.facts.iter().map(|(_, explanation)| &**explanation)
    }

    /// Gives a verdict the first fact that covers its URL. The verdict never gets better, and never more certain.
    pub fn settle(&self, judged: &mut JudgedJob) {
        let Some((fact, explanation)) = self.facts.iter().find(|(fact, _)| fact.covers(judged))
        else {
            return;
        };
        let verdict = &mut judged.verdict;
        verdict.explanation = Some(Arc::clone(explanation));
        let reason = match fact {
            Fact::SameContent(_) => Reason::SameContent,
            Fact::TwoVersions => Reason::Unstable,
            Fact::Converted | Fact::Replaced | Fact::Moved(_) | Fact::Bucket(_) => return,
        };
        let known = &mut verdict.classification;
        verdict.sure = false;
        if known.reason == Some(reason) {
            return;
        }
        known.observed = format!("{} ({})", known.observed, explanation.sentence.as_str());
        known.reason = Some(reason);
    }
}

impl Fact {
    fn kind(&self) -> ExplanationKind {
        match self {
            Self::Converted => ExplanationKind::Converted,
            Self::SameContent(_) => ExplanationKind::SameContent,
            Self::TwoVersions => ExplanationKind::TwoVersions,
            Self::Replaced => ExplanationKind::Replaced,
            Self::Moved(_) => ExplanationKind::Moved,
            Self::Bucket(_) => ExplanationKind::Bucket,
        }
    }

    fn covers(&self, judged: &JudgedJob) -> bool {
        let verdict = &judged.verdict;
        let seen = judged.observations.get(verdict.observation);
        match self {
            Self::Converted => {
                may_be_other_version(judged) && converted::conversion_of(judged).is_some()
            }
            Self::SameContent(content) => {
                let may_be = may_be_other_version(judged) && !is_unstable(judged);
                may_be && content_of(judged) == Some(*content)
            }
            Self::TwoVersions | Self::Replaced => may_be_other_version(judged),
            Self::Moved(change) => {
                verdict.state() != State::Ok && Move::of(judged).contains(change)
            }
            Self::Bucket(fault) => {
                verdict.state() != State::Ok && seen.and_then(BucketFault::of) == Some(*fault)
            }
        }
    }
}

/// Whether other content came in place of promised bytes, and whole.
fn may_be_other_version(judged: &JudgedJob) -> bool {
    let verdict = &judged.verdict;
    let reason = verdict.classification.reason;
    let is_content = !matches!(
        reason,
        Some(Reason::Uploading | Reason::ContentType | Reason::Status | Reason::DigestsDisagree)
    );
    verdict.state() == State::Changed && judged.job.promise.is_static() && is_content
}

/// Whether the URL serves other content from one request to the next.
fn is_unstable(judged: &JudgedJob) -> bool {
    judged.verdict.classification.reason == Some(Reason::Unstable)
}

/// The content at the URL itself: a redirect says more than the page that it leads to.
fn content_of(judged: &JudgedJob) -> Option<ContentId> {
    let seen = judged.observations.get(judged.verdict.observation)?;
    let is_direct = seen.hops.len() == 1;
    ContentId::of(judged.job.url.as_str(), seen).filter(|_| is_direct)
}
