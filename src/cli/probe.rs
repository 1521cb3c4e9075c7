//! What URLs serve now, for records to promise: asked by `add`, and by `import --static`.

use anyhow::Context as _;
use urldb_canon::Identity;
use urldb_format::Record;

use super::Context;
use super::print::progress::Bar;
use crate::hex;
use crate::stop::Stop;
use urldb_fetch::{FetchedJob, Fetcher, Next};
use urldb_verdict::Observation;
use urldb_verdict::{BodyUse, Job, JobKey, Promise, Request};
use urldb_verdict::{Classification, Decision, Verdict, VerdictOptions};

/// What a body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bytes {
    length: u64,
    sha256: [u8; 32],
}

impl Bytes {
    /// Makes them the promise of a record, unless it promises bytes already.
    pub(crate) fn promise_in(&self, record: &mut Record) {
        if !record.is_static() {
            record.content_length = Some(self.length);
            record.content_sha256 = Some(hex::encode(&self.sha256));
        }
    }
}

/// A request as `asked` has it, of which nothing is promised.
pub(crate) fn job(url: &Identity, asked: &Record, body: BodyUse) -> Job {
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
        known: None,
    }
}

/// The use of a body whose bytes are to be promised.
pub(crate) fn hashed(context: &Context) -> BodyUse {
    BodyUse::Hash {
        at_most: context.config.check.fetch.largest_body(),
        keep: false,
    }
}

/// Fetches every job. `take` gets each with its bytes, if its body was to be hashed, or with what
/// keeps it from being promised, for people.
pub(crate) fn ask(
    context: &Context,
    jobs: impl ExactSizeIterator<Item = Job> + Send,
    stop: &Stop,
    mut take: impl FnMut(Job, Result<Option<Bytes>, String>),
) -> anyhow::Result<()> {
    let check = &context.config.check;
    let fetcher = Fetcher::new(&check.fetch, &context.config.network)
        .context("cannot set up the HTTP client")?;
    let bar = Bar::new(jobs.len() as u64, context.quiet);
    fetcher.fetch_all(
        jobs,
        |job, seen| match urldb_verdict::decide(job, seen, &check.verdict) {
            Decision::Retry { wait, fresh } => Next::Retry { wait, fresh },
            Decision::Final(verdict) => Next::Done(verdict),
        },
        |fetched| {
            bar.advance();
            let served = served(&fetched, &check.verdict);
            take(fetched.job, served);
        },
        stop,
    );
    bar.finish();
    Ok(())
}

fn served(
    fetched: &FetchedJob<Verdict>,
    options: &VerdictOptions,
) -> Result<Option<Bytes>, String> {
    let FetchedJob {
        job,
        observations,
        decision,
    } = fetched;
    let (Some(verdict), Some(last)) = (decision, observations.last()) else {
        return Err("interrupted".to_owned());
    };
    if verdict.state().is_broken() || verdict.state().is_unsure() {
        return Err(verdict.classification.message());
    }
    if job.body == BodyUse::Skip {
        return Ok(None);
    }
    let body = urldb_verdict::promisable(last, &options.challenges)
        .map_err(|classification| why(&classification, last))?;
    Ok(Some(Bytes {
        length: body.length,
        sha256: body.sha256,
    }))
}

/// What came, and where, if that is not where it was looked for.
fn why(classification: &Classification, seen: &Observation) -> String {
    match seen.hops.as_slice() {
        [_, .., last] if seen.failure.is_none() => {
            format!("{} {}", last.url, classification.observed)
        }
        _ => classification.observed.clone(),
    }
}
