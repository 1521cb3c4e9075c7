//! Fetches URLs whose bytes a command wants to promise: `add` and `import --static`.

use data_encoding::HEXLOWER;
use urldb_canon::{Identity, RequestUrl};
use urldb_format::Record;
use urldb_verdict::{
    BodyUse, Classification, Job, JobKey, JudgedJob, Keep, Observation, Promise, Request,
    ServedBytes, VerdictOptions, decide_promise,
};

use super::observe::observe;
use super::options::Progress;
use crate::config::Config;
use crate::stop::Stop;

/// Makes `record` promise these bytes, unless it already promises bytes.
pub fn promise_bytes(record: &mut Record, bytes: ServedBytes) {
    if !record.is_static() {
        record.content_length = Some(bytes.length);
        record.content_sha256 = Some(HEXLOWER.encode(&bytes.sha256));
    }
}

/// Why bytes that differ between two fetches are not promised, for people.
pub const UNSTABLE: &str = "serves other bytes from one fetch to the next (content-unstable)";

/// A job for `url` with the request of `asked`, and without a promise; `None` if host and path make
/// no URL.
pub fn probe_job(url: &Identity, asked: &Record, body: BodyUse) -> Option<Job> {
    Some(Job {
        key: JobKey {
            domain: url.host.clone(),
            path: url.path.clone(),
            request: asked.identity().request,
            alias: None,
            scheme: url.scheme,
        },
        url: RequestUrl::new(url.scheme, &url.host, &url.path)?,
        file: "".into(),
        line: 0,
        promise: Promise::default(),
        request: Request::of(asked),
        body,
        validators: None,
    })
}

/// The use of a body whose bytes are to be promised.
pub fn probe_body(config: &Config) -> BodyUse {
    BodyUse::Hash {
        at_most: config.check.fetch.largest_body(),
        keep: Keep::Nothing,
        beyond: 0,
    }
}

/// Fetches every job, and each body that is hashed twice. `take` gets each job with its bytes, if its body is hashed, or with the cause
/// that keeps the URL from being promised, for people.
///
/// # Errors
/// When the HTTP client cannot be set up.
pub fn probe(
    config: &Config,
    stop: &Stop,
    progress: &dyn Progress,
    jobs: impl Iterator<Item = Job> + Send,
    mut take: impl FnMut(Job, Result<Option<ServedBytes>, String>),
) -> anyhow::Result<()> {
    observe(config, stop, progress, decide_promise, jobs, |judged| {
        let served = served(&judged, &config.check.verdict);
        take(judged.job, served);
    })
}

fn served(judged: &JudgedJob, options: &VerdictOptions) -> Result<Option<ServedBytes>, String> {
    let JudgedJob {
        job,
        observations,
        verdict,
    } = judged;
    let Some(last) = observations.last() else {
        return Err(verdict.classification.message());
    };
    if verdict.state().is_broken() || verdict.state().is_unsure() {
        return Err(verdict.classification.message());
    }
    if job.body == BodyUse::Skip {
        return Ok(None);
    }
    let promisable = |seen: &Observation| {
        urldb_verdict::promisable(seen, &options.challenges)
            .map_err(|classification| message(&classification, seen))
    };
    let bytes = promisable(last)?;
    let others = observations.iter().filter(|seen| seen.is_whole());
    for other in others {
        if promisable(other)? != bytes {
            return Err(UNSTABLE.to_owned());
        }
    }
    Ok(Some(bytes))
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
