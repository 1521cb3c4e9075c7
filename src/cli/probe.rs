//! What URLs serve now, for records to promise: asked by `add`, and by `import --static`.

use anyhow::Context as _;
use urldb_canon::Identity;
use urldb_format::Record;

use super::Context;
use super::print::progress::Bar;
use crate::fetch::{Fetcher, Next, Observation};
use crate::hex;
use crate::plan::{BodyUse, Job, JobKey, Promise, Request};
use crate::run::policy;
use crate::stop::Stop;
use crate::verdict::{self, Judgement, Policy, Sight};

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
        at_most: context.config.check.largest_body(),
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
    let policy = policy(check);
    let fetcher =
        Fetcher::new(check, &context.config.network).context("cannot set up the HTTP client")?;
    let bar = Bar::new(jobs.len() as u64, context.quiet);
    fetcher.fetch_all(
        jobs,
        |job, seen| match verdict::judge(job, seen, &policy) {
            Judgement::Again { wait, fresh } => Next::Again { wait, fresh },
            Judgement::Settled(_) => Next::Done,
        },
        |job, seen| {
            bar.advance();
            let served = served(&job, &seen, &policy);
            take(job, served);
        },
        stop,
    );
    bar.finish();
    Ok(())
}

fn served(job: &Job, seen: &[Observation], policy: &Policy) -> Result<Option<Bytes>, String> {
    let judgement = verdict::judge(job, seen, policy);
    let (Judgement::Settled(assessment), Some(last)) = (judgement, seen.last()) else {
        return Err("interrupted".to_owned());
    };
    if assessment.state().is_broken() || assessment.state().is_unsure() {
        return Err(assessment.sight.message());
    }
    if job.body == BodyUse::Skip {
        return Ok(None);
    }
    let body = verdict::promisable(last, &policy.challenges).map_err(|sight| why(&sight, last))?;
    Ok(Some(Bytes {
        length: body.length,
        sha256: body.sha256,
    }))
}

/// What came, and where, if that is not where it was looked for.
fn why(sight: &Sight, seen: &Observation) -> String {
    match seen.hops.as_slice() {
        [_, .., last] if seen.failure.is_none() => format!("{} {}", last.url, sight.observed),
        _ => sight.observed.clone(),
    }
}
