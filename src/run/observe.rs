//! The pipeline that every command uses: jobs in, judged jobs out.

use anyhow::Context;
use urldb_fetch::{FetchedJob, Fetcher, Next};
use urldb_verdict::{Canary, Decision, Job, JudgedJob, Observation, Verdict, VerdictOptions};

use super::options::Progress;
use crate::config::Config;
use crate::stop::Stop;

/// Fetches every job until its verdict is final, and hands it to `take` once the canary has let it
/// pass.
///
/// # Errors
/// When the HTTP client cannot be set up.
pub(super) fn observe(
    config: &Config,
    stop: &Stop,
    progress: &dyn Progress,
    jobs: impl Iterator<Item = Job> + Send,
    mut take: impl FnMut(JudgedJob),
) -> anyhow::Result<()> {
    let options = &config.check.verdict;
    let fetcher = Fetcher::new(&config.check.fetch, &config.network)
        .context("cannot set up the HTTP client")?;
    let mut canary = Canary::default();
    let mut release = |judged: Vec<JudgedJob>| {
        for judged in judged {
            progress.judged(&judged);
            take(judged);
        }
    };
    fetcher.fetch_all(
        jobs,
        |job, seen| decide(job, seen, options),
        |fetched| {
            let judged = judge(fetched, options);
            progress.finished(&judged);
            release(canary.pass(judged));
        },
        stop,
    );
    release(canary.end());
    Ok(())
}

/// The fetcher's next step for a job.
fn decide(job: &Job, seen: &[Observation], options: &VerdictOptions) -> Next<Verdict> {
    match urldb_verdict::decide(job, seen, options) {
        Decision::Final(verdict) => Next::Done(verdict),
        Decision::Retry { wait, fresh } => Next::Retry { wait, fresh },
    }
}

/// The verdict on a finished job: the decision that finished it, or the verdict on a job that was
/// given up.
fn judge(fetched: FetchedJob<Verdict>, options: &VerdictOptions) -> JudgedJob {
    let FetchedJob {
        job,
        observations,
        decision,
    } = fetched;
    let verdict = decision.unwrap_or_else(|| match decide(&job, &observations, options) {
        Next::Done(verdict) => verdict,
        Next::Retry { .. } => urldb_verdict::undecided(&job, &observations, options),
    });
    JudgedJob {
        job,
        observations,
        verdict,
    }
}
