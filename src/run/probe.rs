//! Fetches URLs whose bytes a command wants to promise: `add` and `import --static`.

use data_encoding::HEXLOWER;
use urldb_canon::Identity;
use urldb_format::Record;
use urldb_verdict::{
    BodyUse, Classification, Job, JobKey, JudgedJob, Observation, Promise, Request, VerdictOptions,
};

use super::observe::observe;
use super::options::Progress;
use crate::config::Config;
use crate::stop::Stop;

/// Length and digest of a body that a URL serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServedBytes {
    length: u64,
    sha256: [u8; 32],
}

impl ServedBytes {
    /// Makes `record` promise these bytes, unless it already promises bytes.
    pub fn promise_in(&self, record: &mut Record) {
        if !record.is_static() {
            record.content_length = Some(self.length);
            record.content_sha256 = Some(HEXLOWER.encode(&self.sha256));
        }
    }
}

/// A job for `url` with the request of `asked`, and without a promise.
pub fn probe_job(url: &Identity, asked: &Record, body: BodyUse) -> Job {
    Job {
        key: JobKey {
            domain: url.host.clone(),
            path: url.path.clone(),
            request: asked.identity().request,
            alias: None,
            scheme: url.scheme,
        },
        url: url.to_string(),
        file: "".into(),
        line: 0,
        promise: Promise::default(),
        request: Request::of(asked),
        body,
        validators: None,
    }
}

/// The use of a body whose bytes are to be promised.
pub fn probe_body(config: &Config) -> BodyUse {
    BodyUse::Hash {
        at_most: config.check.fetch.largest_body(),
        keep: false,
    }
}

/// Fetches every job. `take` gets each job with its bytes, if its body is hashed, or with the cause
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
    observe(config, stop, progress, jobs, |judged| {
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
    let body = urldb_verdict::promisable(last, &options.challenges)
        .map_err(|classification| message(&classification, last))?;
    Ok(Some(ServedBytes {
        length: body.length,
        sha256: body.sha256,
    }))
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
