//! The pipeline that every command uses: jobs in, judged jobs out.

use urldb_fetch::{FetchedJob, Fetcher, Next, SettingError, SettingSection};
use urldb_verdict::{Canary, Decision, Job, JudgedJob, Observation, Verdict, VerdictOptions};

use super::options::Progress;
use crate::config::Config;
use crate::stop::Stop;

/// Fetches every job of every source until its verdict is final, and hands it to `take` once `canary` has
/// let it pass.
///
/// # Errors
/// When the HTTP client cannot be set up.
pub(super) fn observe<J: Iterator<Item = Job> + Send>(
    config: &Config,
    stop: &Stop,
    progress: &dyn Progress,
    decide: Decide,
    mut canary: Canary,
    sources: impl Iterator<Item = J> + Send,
    mut take: impl FnMut(JudgedJob),
) -> anyhow::Result<()> {
    let options = &config.check.verdict;
    let fetcher = Fetcher::new(&config.check.fetch, &config.network).map_err(|error| {
        match error.downcast::<SettingError>() {
            Ok(wrong) => anyhow::anyhow!("{}: {wrong}", place(config, &wrong)),
            Err(error) => error.context("cannot set up the HTTP client"),
        }
    })?;
    let mut release = |judged: Vec<JudgedJob>| {
        for judged in judged {
            progress.judged(&judged);
            take(judged);
        }
    };
    fetcher.fetch_sources(
        sources,
        |job, seen| next(decide(job, seen, options)),
        |fetched| {
            let judged = judge(fetched, decide, options);
            progress.finished(&judged);
            release(canary.pass(judged));
        },
        stop,
    );
    release(canary.end());
    Ok(())
}

/// The place of a setting in urldb.toml.
fn place(config: &Config, wrong: &SettingError) -> String {
    match &wrong.section {
        SettingSection::Network => config.place("network", wrong.key),
        SettingSection::AllHosts => config.place("check", wrong.key),
        SettingSection::Host(host) => {
            let own = config.section_of_host(host);
            // A host without the key has it from all hosts.
            let has_key = |section: &&str| config.has_key(section, wrong.key);
            config.place(own.filter(has_key).unwrap_or("check"), wrong.key)
        }
    }
}

/// What the observations of a job amount to: [`urldb_verdict::decide`], or
/// [`urldb_verdict::decide_promise`] where the answer becomes a promise.
pub(super) type Decide = fn(&Job, &[Observation], &VerdictOptions) -> Decision;

/// The fetcher's next step for a job.
fn next(decision: Decision) -> Next<Verdict> {
    match decision {
        Decision::Final(verdict) => Next::Done(verdict),
        Decision::Retry { wait, fresh } => Next::Retry { wait, fresh },
    }
}

/// The verdict on a finished job: the decision that finished it, or the verdict on a job that was
/// given up.
pub(super) fn judge(
    fetched: FetchedJob<Verdict>,
    decide: Decide,
    options: &VerdictOptions,
) -> JudgedJob {
    let FetchedJob {
        job,
        observations,
        decision,
    } = fetched;
    let verdict = decision.unwrap_or_else(|| match decide(&job, &observations, options) {
        Decision::Final(verdict) => verdict,
        Decision::Retry { .. } => urldb_verdict::undecided(&job, &observations, options),
    });
    JudgedJob {
        job,
        observations,
        verdict,
    }
}
