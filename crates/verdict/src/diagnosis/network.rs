//! Tells failures of hosts from failures of our own network.
//!
//! If no host answers at all, our own network is the likeliest cause.
//!
//! If hosts of several owners answer with the same wrong page, and no promised bytes arrive at all, a
//! device in our own network answers for these hosts: a captive portal, or the block page of a
//! provider. Over https only a device with a certificate that this machine trusts can do so.
//!
//! The device also answers for URLs without promised bytes, and any page keeps such a promise. So in a run with
//! static URLs, such a page is not settled until some URL has served its promised bytes: of at most [`MOST_HELD`]
//! URLs, and only small pages. The device is to blame for such a page only if a static URL got the same page:
//! without one, many hosts may well serve one page, such as the default page of a web server.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest, Sha256};
use urldb_canon::Scheme;
use urldb_protocol::State;

use crate::failure::FailureKind;
use crate::observation::Observation;
use crate::verdict::{Classification, JudgedJob, Verdict};

/// Most good answers that are not settled at once.
const MOST_HELD: usize = 1000;

/// Most pairs of a wrong page and a domain that are counted; other pages are doubtful.
const MOST_PAGES: usize = 20_000;

/// Longest body of a good answer that may be a page of our own network, in bytes.
const SMALL_PAGE: u64 = 16 << 10;

/// Number of registrable domains that make the same wrong page a matter of our own network.
const MANY_DOMAINS: usize = 3;

/// The facts of a run on one machine about its network.
#[derive(Debug)]
pub struct NetworkFacts {
    /// Whether the run has static URLs, so that pages of other URLs are compared with theirs.
    has_static: bool,
    /// Whether a device of our own network may answer over https too.
    trusts_more: bool,
    some_bytes_verified: bool,
    /// Domains without an answer; absent once some host has answered. Aliases count as their domain: as a rule they
    /// are one server.
    silent_domains: Option<BTreeSet<String>>,
    /// The wrong pages, until some URL serves its promised bytes.
    pages: BTreeMap<PageId, PageDomains>,
    /// Number of domains in all pages.
    counted: usize,
    /// Number of good answers that are not settled.
    held: usize,
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

impl NetworkFacts {
    /// No facts yet. `has_static` says that some records of the run promise bytes, `trusts_more` that a proxy or a
    /// further certificate authority may stand between this machine and https servers.
    pub fn new(has_static: bool, trusts_more: bool) -> Self {
        Self {
            has_static,
            trusts_more,
            some_bytes_verified: false,
            silent_domains: Some(BTreeSet::new()),
            pages: BTreeMap::new(),
            counted: 0,
            held: 0,
        }
    }

    /// Notes a job. Returns whether its verdict is settled: it is good, and no later job can change that.
    pub fn note(&mut self, judged: &JudgedJob) -> bool {
        if judged.observations.iter().any(is_answered) {
            self.silent_domains = None;
        }
        if is_verified(judged) {
            self.some_bytes_verified = true;
            self.pages.clear();
        }
        if judged.verdict.state() != State::Ok {
            self.note_failure(judged);
            return false;
        }
        if !self.has_static || self.some_bytes_verified || self.held >= MOST_HELD {
            return true;
        }
        let Some(page) = self.good_page(judged) else {
            return true;
        };
        let domain = registrable_domain(judged);
        self.held += 1;
        self.pages.entry(page).or_default().good.insert(domain);
        false
    }

    fn note_failure(&mut self, judged: &JudgedJob) {
        if let Some(silent) = &mut self.silent_domains
            && judged.observations.iter().any(is_unanswered)
        {
            silent.insert(judged.job.key.domain.clone());
        }
        let page = self.wrong_page(judged);
        let Some(page) = page.filter(|_| !self.some_bytes_verified) else {
            return;
        };
        if self.counted < MOST_PAGES {
            let domains = self.pages.entry(page).or_default();
            domains.is_for_static |= judged.job.promise.is_static();
            self.counted += usize::from(domains.wrong.insert(registrable_domain(judged)));
        }
    }

    /// Settles a verdict after all jobs are noted. Our own network is at fault if more than one host was silent and
    /// none answered, or if hosts of three or more registrable domains answered with the same page in place of the
    /// promised answer. A single host shows nothing about our network. Returns whether it is at fault.
    pub fn settle(&self, judged: &mut JudgedJob) -> bool {
        if self.is_silence(judged) {
            return blame_own_network(&mut judged.verdict);
        }
        if self.some_bytes_verified {
            return false;
        }
        let wrong = self.wrong_page(judged);
        if let Some(page) = wrong {
            let domains = self.pages.get(&page);
            judged.verdict.sure &= domains.is_some();
            return domains.is_some_and(|it| blame_for_page(&mut judged.verdict, it.count()));
        }
        let domains = self
            .good_page(judged)
            .and_then(|page| self.pages.get(&page));
        let domains = domains.filter(|domains| domains.is_for_static);
        domains.is_some_and(|domains| blame_for_page(&mut judged.verdict, domains.count()))
    }

    fn is_silence(&self, judged: &JudgedJob) -> bool {
        let silent = self.silent_domains.as_ref();
        let are_many = silent.is_some_and(|silent| silent.len() > 1);
        are_many && judged.observations.iter().any(is_unanswered)
    }

    /// The page of a 2xx response that breaks its promise.
    fn wrong_page(&self, judged: &JudgedJob) -> Option<PageId> {
        // Of the pages that count, only those of parking companies are `gone`.
        let state = judged.verdict.state();
        let is_broken = matches!(state, State::Changed | State::Redirected | State::Gone);
        self.page_of(judged).filter(|_| is_broken)
    }

    /// The page of a 2xx response that keeps a promise without bytes. An empty page is none, and a large file is not
    /// held back.
    fn good_page(&self, judged: &JudgedJob) -> Option<PageId> {
        let JudgedJob { job, verdict, .. } = judged;
        let body = judged.observations.get(verdict.observation)?.body.as_ref();
        let is_small = body.is_none_or(|body| (1..=SMALL_PAGE).contains(&body.length));
        let counts = verdict.state() == State::Ok && !job.promise.is_static() && is_small;
        self.page_of(judged).filter(|_| counts)
    }

    /// The page at the end of the redirects, if its status is 2xx, and if a device of our own network may have sent
    /// it.
    fn page_of(&self, judged: &JudgedJob) -> Option<PageId> {
        let is_secure = judged.job.key.scheme == Scheme::Https;
        if is_secure && !self.trusts_more {
            return None;
        }
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
}

/// Changes the verdict on a URL of a host that did not answer. Returns whether it was changed.
fn blame_own_network(verdict: &mut Verdict) -> bool {
    // The error is a demand of our own network.
    let is_failure = matches!(verdict.state(), State::Unreachable | State::ServerError);
    if is_failure {
        verdict.classification = Classification::own_network(&verdict.classification.observed);
        verdict.sure = false;
    }
    is_failure
}

/// Changes the verdict on a page that hosts of many domains serve. Its attempts still have the page, so that later
/// runs can confirm it. Returns whether it was changed.
fn blame_for_page(verdict: &mut Verdict, domains: usize) -> bool {
    if domains < MANY_DOMAINS {
        return false;
    }
    let observed = match verdict.state() {
        State::Ok => "the record promises no bytes, so any page seems right",
        _ => &verdict.classification.observed,
    };
    verdict.classification = Classification::same_page(observed, domains);
    verdict.sure = false;
    true
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

/// Whether a host answered. A server with an outdated certificate or with another protocol than HTTP
/// has answered; a server with a wrong certificate may stand in our own network.
fn is_answered(seen: &Observation) -> bool {
    let failure = seen.failure.as_ref().map(|failure| failure.kind);
    let spoke = matches!(
        failure,
        Some(
            FailureKind::Protocol
                | FailureKind::NeedsHttp2
                | FailureKind::UnsupportedTls
                | FailureKind::TlsExpired
                | FailureKind::TlsNotYetValid
        )
    );
    spoke || !seen.hops.is_empty() && !is_demand_of_network(seen)
}

/// Whether a network demands that we log in before it lets requests through: 511, which no server of a URL sends (RFC
/// 6585, 6). Over https only the server can answer.
fn is_demand_of_network(seen: &Observation) -> bool {
    let is_plain = seen.first().is_some_and(|it| it.url.starts_with("http:"));
    is_plain && seen.last().is_some_and(|last| last.status == 511)
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
    ) || is_demand_of_network(seen)
}
