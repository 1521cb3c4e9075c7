//! Fetches URLs whose answers a command wants to promise: `add` and `import --static`.

use std::borrow::Cow;

use data_encoding::HEXLOWER;
use jiff::Timestamp;
use urldb_canon::{Identity, RequestUrl};
use urldb_format::Record;
use urldb_text::redact;
use urldb_verdict::diagnosis::NetworkFacts;
use urldb_verdict::{
    BodyUse, ChallengeRule, Classification, Job, JobKey, JudgedJob, Keep, Observation, Promise,
    Request, ServedBytes, ServedRedirect, VerdictOptions, decide_promise, promisable,
    promisable_redirect, promisable_type,
};

use super::observe::observe;
use super::options::Progress;
use super::unsettled::{UnsettledRecords, unarchived};
use crate::config::Config;
use crate::stop::Stop;

/// Why bytes that differ between two fetches are not promised, for people.
pub(super) const UNSTABLE: &str =
    "serves other bytes from one fetch to the next (content-unstable)";

/// Why a redirect that differs between two fetches is not promised, for people.
pub(super) const UNSTABLE_REDIRECT: &str = "redirects elsewhere from one fetch to the next";

/// Most bytes that are read of a body that is not promised: enough to recognize a challenge.
const PAGE_START: u64 = 64 << 10;

/// The parts of a response that become a promise.
#[derive(Debug, Clone, Copy, Default)]
pub struct PromisedKeys {
    /// The length and the digest of the body.
    pub bytes: bool,
    /// The media type, or the pseudo type of a redirect.
    pub content_type: bool,
    /// The target of the redirect, if there is one.
    pub redirect: bool,
}

impl PromisedKeys {
    /// The use of the body of a fetch. Answers whose body is used are fetched twice.
    fn body_use(self, config: &Config) -> BodyUse {
        let at_most = match self {
            Self { bytes: true, .. } => config.check.fetch.largest_body(),
            Self {
                content_type: false,
                redirect: false,
                ..
            } => return BodyUse::Skip,
            _ => PAGE_START,
        };
        BodyUse::Hash {
            at_most,
            keep: Keep::Nothing,
            beyond: 0,
        }
    }
}

/// The promisable parts of a URL's response.
#[derive(Debug, Clone, Default)]
pub struct ServedPromise {
    keys: PromisedKeys,
    bytes: Option<ServedBytes>,
    content_type: Option<String>,
    redirect: Option<ServedRedirect>,
}

impl ServedPromise {
    /// The same, unless the server sends a secret of the request back in it: a database is public.
    fn without_secrets(self) -> Result<Self, String> {
        if self
            .redirect
            .as_ref()
            .map(|redirect| &redirect.target)
            .into_iter()
            .chain(&self.content_type)
            .any(|text| matches!(redact(text), Cow::Owned(_)))
        {
            let text = "sends a secret of the request back, which is never promised";
            return Err(text.to_owned());
        }
        Ok(self)
    }

    /// Adds to `record` what it does not promise yet.
    pub fn complete(&self, record: &mut Record) {
        if let Some(bytes) = self.bytes.filter(|_| !record.is_static()) {
            record.content_length = Some(bytes.length);
            record.content_sha256 = Some(HEXLOWER.encode(&bytes.sha256));
        }
        if self.keys.content_type && record.content_type.is_none() {
            record.content_type = match &self.redirect {
                Some(redirect) if !record.is_static() => {
                    Some(format!("X-{}-Redirect", redirect.status))
                }
                _ => self.content_type.clone(),
            };
        }
        if self.keys.redirect && record.redirects_to.is_none() {
            record.redirects_to = self.redirect.clone().map(|redirect| redirect.target);
        }
    }
}

/// A job for `url` with the request of `asked`, and without a promise; `None` if host and path make
/// no URL.
pub fn unpromised_job(
    url: &Identity,
    asked: &Record,
    keys: PromisedKeys,
    config: &Config,
) -> Option<Job> {
    Some(Job {
        url: RequestUrl::new(url.scheme, &url.host, &url.path)?,
        key: JobKey {
            domain: url.host.clone(),
            path: url.path.clone(),
            request: asked.request_key(),
            variant: None,
            alias: None,
            scheme: url.scheme,
        },
        file: "".into(),
        line: 0,
        uses: None,
        categories: [].into(),
        promise: Promise::default(),
        request: Request::of(asked),
        body: keys.body_use(config),
        muted: false,
        validators: None,
    })
}

/// Fetches every job: twice, if something of the answer becomes a promise. `take` gets each judged job with
/// what it serves, or with the cause that keeps the URL from being promised, for people.
///
/// # Errors
/// When the HTTP client cannot be set up.
pub fn fetch_served(
    config: &Config,
    keys: PromisedKeys,
    stop: &Stop,
    progress: &dyn Progress,
    jobs: impl Iterator<Item = Job> + Send,
    mut take: impl FnMut(JudgedJob, Result<ServedPromise, String>),
) -> anyhow::Result<()> {
    let verdict = &config.check.verdict;
    let mut take = |judged: JudgedJob| {
        progress.judged(&judged);
        let served = served(&judged, keys, verdict).and_then(ServedPromise::without_secrets);
        take(judged, served);
    };
    let sources = jobs.map(std::iter::once);
    let mut network = NetworkFacts::new(false, false);
    let mut unsettled = UnsettledRecords::default();
    let mut kept = Ok(());
    observe(config, stop, decide_promise, sources, |judged| {
        progress.finished(&judged);
        if network.note(&judged) {
            take(judged);
        } else if kept.is_ok() {
            kept = unsettled.add(0, &mut unarchived(judged, Timestamp::default()));
        }
    })?;
    kept?;
    for host in unsettled.hosts() {
        unsettled.each(&host, |_, record| {
            let mut judged = record.judged;
            network.settle(&mut judged);
            take(judged);
        })?;
    }
    Ok(())
}

fn served(
    judged: &JudgedJob,
    keys: PromisedKeys,
    options: &VerdictOptions,
) -> Result<ServedPromise, String> {
    let JudgedJob {
        observations,
        verdict,
        ..
    } = judged;
    let is_good = !verdict.state().is_broken() && !verdict.state().is_unsure();
    let Some((last, others)) = observations.split_last().filter(|_| is_good) else {
        return Err(verdict.classification.message());
    };
    let rules = &options.challenges;
    let is_answer = |seen: &&Observation| seen.failure.is_none();
    let answers = || others.iter().filter(is_answer).chain([last]);
    let mut served = ServedPromise {
        keys,
        ..ServedPromise::default()
    };
    if keys.bytes {
        let whole = others.iter().filter(|seen| seen.is_whole()).chain([last]);
        served.bytes = Some(agreed(whole, rules, promisable, UNSTABLE)?);
    }
    if keys.content_type || keys.redirect {
        served.redirect = agreed(answers(), rules, promisable_redirect, UNSTABLE_REDIRECT)?;
    }
    if keys.content_type && (keys.bytes || served.redirect.is_none()) {
        let unstable = "serves another content type from one fetch to the next";
        served.content_type = Some(agreed(answers(), rules, promisable_type, unstable)?);
    }
    Ok(served)
}

/// The classification of all these observations; `unstable` if they differ.
fn agreed<'a, T: PartialEq>(
    observations: impl Iterator<Item = &'a Observation>,
    rules: &[ChallengeRule],
    read: fn(&Observation, &[ChallengeRule]) -> Result<T, Classification>,
    unstable: &str,
) -> Result<T, String> {
    let mut known: Option<T> = None;
    for seen in observations {
        let read = read(seen, rules).map_err(|classification| message(&classification, seen))?;
        if known.is_some_and(|known| known != read) {
            return Err(unstable.to_owned());
        }
        known = Some(read);
    }
    known.ok_or_else(|| unstable.to_owned())
}

/// The observation, with the URL at the end of the redirects if there were any.
fn message(classification: &Classification, seen: &Observation) -> String {
    match seen.hops.as_slice() {
        [_, .., last] if seen.failure.is_none() => {
            format!("{} {}", last.url, classification.observed)
        }
        _ => classification.observed.clone(),
    }
}
