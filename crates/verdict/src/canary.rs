//! Tells failures of hosts from failures of our own network.
//!
//! If no host answers at all, our own network is the likeliest cause. So the canary holds back jobs
//! that failed without any answer until some host has answered. From then on, such jobs pass at once.
//! The canary holds at most the unanswered failures of one run.
//!
//! If hosts of several owners answer with the same wrong page, and no promised bytes arrive at all, a
//! device in our own network answers for these hosts: a captive portal, or the block page of a
//! provider. So the canary also holds back wrong 2xx answers until some URL has served its promised
//! bytes. It holds at most [`MOST_HELD`] of them; the others pass as doubtful.
//!
//! The device also answers for URLs without promised bytes, and any page keeps such a promise. So until some
//! URL has served its promised bytes, the canary of a run with static URLs holds back at most [`MOST_HELD`]
//! pages of such URLs too, and only small ones. The device is to blame for such a page only if a static URL got the same page:
//! without one, many hosts may well serve one page, such as the default page of a web server.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest, Sha256};
use urldb_protocol::State;

use crate::observation::{FailureKind, Observation};
use crate::verdict::{Classification, JudgedJob, Verdict};

/// Most wrong answers that are held back.
const MOST_HELD: usize = 1000;

/// Longest body of a page that is held back as good, in bytes. Held bodies are in memory.
const SMALL_PAGE: u64 = 16 << 10;

/// Number of registrable domains that make the same wrong page a matter of our own network.
const MANY_DOMAINS: usize = 3;

/// Holds back unanswered failures until some host has answered, and wrong answers until some URL has
/// served its promised bytes.
///
/// A `T` is a judged job, perhaps with more facts about it.
#[derive(Debug)]
pub struct Canary<T = JudgedJob> {
    /// Whether the run has static URLs, so that pages of other URLs are compared with theirs.
    has_static: bool,
    some_host_answered: bool,
    /// Domains without an answer. Aliases count as their domain: as a rule they are one server.
    silent_domains: BTreeSet<String>,
    held: Vec<T>,
    some_bytes_verified: bool,
    pages: BTreeMap<PageId, PageDomains>,
    wrong: Vec<(PageId, T)>,
    good: Vec<(PageId, T)>,
}

/// The registrable domains whose hosts answered with one page.
#[derive(Debug, Default)]
struct PageDomains {
    /// The domains at which the page broke a promise.
    wrong: BTreeSet<String>,
    /// The domains at which nothing was promised that the page could break.
    good: BTreeSet<String>,
    /// Whether the page came in place of promised bytes.
    is_for_static: bool,
}

impl PageDomains {
    /// The number of domains that the same device seems to answer for. Good answers count only beside
    /// a page in place of promised bytes.
    fn count(&self) -> usize {
        if self.is_for_static {
            self.wrong.union(&self.good).count()
        } else {
            self.wrong.len()
        }
    }
}

/// SHA-256 of a page: of its first 4 KiB if it is HTML, since the rest may name the URL, else of all.
type PageId = [u8; 32];

impl<T> Default for Canary<T> {
    fn default() -> Self {
        Self {
            has_static: false,
            some_host_answered: false,
            silent_domains: BTreeSet::new(),
            held: vec![],
            some_bytes_verified: false,
            pages: BTreeMap::new(),
            wrong: vec![],
            good: vec![],
        }
    }
}

impl<T: AsRef<JudgedJob> + AsMut<JudgedJob>> Canary<T> {
    /// The canary of a run; `has_static` says that some of its records promise bytes. The default is a
    /// canary of a run without such records.
    pub fn new(has_static: bool) -> Self {
        Self {
            has_static,
            ..Self::default()
        }
    }

    /// Takes a judged job, and returns the jobs whose verdicts are final by now.
    pub fn pass(&mut self, judged: T) -> Vec<T> {
        let mut released = Vec::new();
        self.some_host_answered |= judged.as_ref().observations.iter().any(is_answered);
        if self.some_host_answered {
            released.append(&mut self.held);
        }
        self.some_bytes_verified |= is_verified(judged.as_ref());
        if self.some_bytes_verified {
            self.pages.clear();
            let held = self.wrong.drain(..).chain(self.good.drain(..));
            released.extend(held.map(|(_, judged)| judged));
        }
        released.extend(self.pass_one(judged));
        released
    }

    /// Returns the job, unless it is held.
    fn pass_one(&mut self, judged: T) -> Option<T> {
        let job = judged.as_ref();
        if !self.some_bytes_verified {
            if let Some(page) = wrong_page(job) {
                return self.pass_wrong(page, judged);
            }
            if self.has_static
                && self.good.len() < MOST_HELD
                && let Some(page) = good_page(job)
            {
                let domains = self.pages.entry(page).or_default();
                domains.good.insert(registrable_domain(job));
                self.good.push((page, judged));
                return None;
            }
        }
        if self.some_host_answered || !job.observations.iter().any(is_unanswered) {
            return Some(judged);
        }
        self.silent_domains.insert(job.job.key.domain.clone());
        self.held.push(judged);
        None
    }

    /// Holds a wrong answer; if too many are held already, the answer passes as doubtful.
    fn pass_wrong(&mut self, page: PageId, mut judged: T) -> Option<T> {
        let job = judged.as_mut();
        if self.wrong.len() >= MOST_HELD {
            job.verdict.sure = false;
            return Some(judged);
        }
        let domains = self.pages.entry(page).or_default();
        domains.wrong.insert(registrable_domain(job));
        domains.is_for_static |= job.job.promise.is_static();
        // Only the observation that decided is archived.
        let decisive = job.verdict.observation;
        for (index, seen) in job.observations.iter_mut().enumerate() {
            if let Some(body) = seen.body.as_mut().filter(|_| index != decisive) {
                body.bytes = None;
            }
        }
        self.wrong.push((page, judged));
        None
    }

    /// Returns the jobs still held, once all jobs are judged. Our own network is at fault if more than
    /// one host was silent, or if hosts of three or more registrable domains answered with the same
    /// page in place of the promised answer. A single host shows nothing about our network.
    pub fn end(mut self) -> Vec<T> {
        if self.silent_domains.len() > 1 {
            for judged in &mut self.held {
                blame_own_network(&mut judged.as_mut().verdict);
            }
        }
        let domains = |page: &PageId| self.pages.get(page);
        let blame = |page: &PageId, judged: &mut T| {
            let count = domains(page).map_or(0, PageDomains::count);
            if count >= MANY_DOMAINS {
                blame_for_page(&mut judged.as_mut().verdict, count);
            }
        };
        for (page, judged) in &mut self.wrong {
            blame(page, judged);
        }
        for (page, judged) in &mut self.good {
            if domains(page).is_some_and(|domains| domains.is_for_static) {
                blame(page, judged);
            }
        }
        let pages = self.wrong.into_iter().chain(self.good);
        let held = self.held.into_iter();
        held.chain(pages.map(|(_, judged)| judged)).collect()
    }
}

fn blame_own_network(verdict: &mut Verdict) {
    if verdict.state() == State::Unreachable {
        verdict.classification = Classification::own_network(&verdict.classification.observed);
        verdict.sure = false;
    }
}

/// Changes the verdict on a wrong page that hosts of many domains serve. Its attempts still have the page,
/// so that later runs can confirm it.
fn blame_for_page(verdict: &mut Verdict, domains: usize) {
    let observed = match verdict.state() {
        State::Ok => "the record promises no bytes, so any page seems right",
        _ => &verdict.classification.observed,
    };
    verdict.classification = Classification::same_page(observed, domains);
    verdict.sure = false;
}

/// Whether the promised bytes arrived. A 304 proves nothing.
fn is_verified(judged: &JudgedJob) -> bool {
    let JudgedJob {
        job,
        observations,
        verdict,
    } = judged;
    let seen = observations.get(verdict.observation);
    job.promise.is_static()
        && verdict.state() == State::Ok
        && seen.is_some_and(|seen| !seen.is_not_modified())
}

/// The registrable domain of the host that was asked.
pub(crate) fn registrable_domain(judged: &JudgedJob) -> String {
    let key = &judged.job.key;
    let host = key.alias.as_ref().unwrap_or(&key.domain);
    urldb_canon::rules::registrable_domain(host).to_owned()
}

/// The page of a 2xx response that breaks its promise.
fn wrong_page(judged: &JudgedJob) -> Option<PageId> {
    let is_broken = matches!(judged.verdict.state(), State::Changed | State::Redirected);
    page_of(judged).filter(|_| is_broken)
}

/// The page of a 2xx response that keeps a promise without bytes. An empty page is none, and a file that
/// is kept on disk is not held back.
fn good_page(judged: &JudgedJob) -> Option<PageId> {
    let JudgedJob { job, verdict, .. } = judged;
    let body = judged.observations.get(verdict.observation)?.body.as_ref();
    let is_small = body.is_none_or(|body| (1..=SMALL_PAGE).contains(&body.length));
    let counts = verdict.state() == State::Ok && !job.promise.is_static() && is_small;
    page_of(judged).filter(|_| counts)
}

/// The page at the end of the redirects, if its status is 2xx.
fn page_of(judged: &JudgedJob) -> Option<PageId> {
    let seen = judged.observations.get(judged.verdict.observation)?;
    let last = seen.last()?;
    if !(200..300).contains(&last.status) {
        return None;
    }
    if seen.start.is_empty() {
        return Some(seen.complete_body()?.sha256);
    }
    Some(Sha256::digest(&seen.start).into())
}

/// Whether a host answered. A server with an outdated certificate or with another protocol than HTTP
/// has answered; a server with a wrong certificate may stand in our own network.
fn is_answered(seen: &Observation) -> bool {
    let failure = seen.failure.as_ref().map(|failure| failure.kind);
    let spoke = matches!(
        failure,
        Some(FailureKind::Protocol | FailureKind::TlsExpired | FailureKind::TlsNotYetValid)
    );
    spoke || !seen.hops.is_empty()
}

/// Whether a request was made and no host answered.
fn is_unanswered(seen: &Observation) -> bool {
    use FailureKind as K;
    let failure = seen.failure.as_ref().map(|failure| failure.kind);
    matches!(
        failure,
        Some(
            K::Dns
                | K::Connect
                | K::Disconnected
                | K::Timeout
                | K::Tls
                | K::TlsUntrusted
                | K::TlsWrongHost
        )
    )
}
