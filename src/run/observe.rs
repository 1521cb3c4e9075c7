//! The step that fetches jobs: planned jobs in, judged jobs out.

use urldb_fetch::{
    FetchOptions, Fetcher, NetworkOptions, SettingError, SettingSection, SetupError,
};
use urldb_verdict::{ClockVotes, Decide, Job, JudgedJob, PastRuns};

use super::options::RunOptions;
use super::planned_jobs::PlannedJobs;
use crate::ambient::Ambient;
use crate::config::Config;
use crate::stop::Stop;

/// Fetches the jobs of a plan, and hands each to `take` with the verdict of this job alone.
///
/// # Errors
/// As [`observe`], and when our clock is wrong: then nothing may come of what `take` got. A promise has no
/// time, so no clock is too wrong for one.
pub(super) fn observe_planned<P: PastRuns + Sync>(
    options: &RunOptions<'_>,
    jobs: &mut PlannedJobs<'_>,
    past: &P,
    mut take: impl FnMut(JudgedJob),
) -> anyhow::Result<()> {
    options.progress.planned(jobs.by_host());
    let decide: Decide = if options.for_promise {
        urldb_verdict::decide_promise
    } else {
        urldb_verdict::decide
    };
    let mut votes = ClockVotes::default();
    let sources = jobs.sources(past);
    observe(options.config, options.stop, decide, sources, |judged| {
        options.progress.finished(&judged);
        votes.add(&judged);
        take(judged);
    })?;
    match votes.wrong_clock() {
        Some(wrong) if !options.for_promise => anyhow::bail!(
            "{wrong}: nothing was recorded, and nobody was notified; set the clock (timedatectl \
             set-ntp true), and start urldb again"
        ),
        _ => Ok(()),
    }
}

/// Fetches every job of every source until `decide` has a verdict, and hands it to `done`.
///
/// # Errors
/// When the HTTP client cannot be set up.
pub(super) fn observe<J: Iterator<Item = Job> + Send>(
    config: &Config,
    stop: &Stop,
    decide: Decide,
    sources: impl Iterator<Item = J> + Send,
    done: impl FnMut(JudgedJob),
) -> anyhow::Result<()> {
    fetcher(config, &config.check.fetch)?.fetch_sources(
        sources,
        decide,
        &config.check.verdict,
        done,
        stop,
    );
    Ok(())
}

/// The HTTP client of a run with these options.
///
/// # Errors
/// When it cannot be set up.
pub(crate) fn fetcher(config: &Config, options: &FetchOptions) -> anyhow::Result<Fetcher> {
    let network = NetworkOptions {
        clock: Some(Ambient::SYSTEM.now),
        ..config.network.clone()
    };
    Fetcher::new(options, &network).map_err(|error| match error {
        SetupError::Setting(wrong) => anyhow::anyhow!("{}: {wrong}", setting(config, &wrong)),
        error => anyhow::Error::new(error).context("cannot set up the HTTP client"),
    })
}

/// The setting in urldb.toml, by file, section and key.
fn setting(config: &Config, wrong: &SettingError) -> String {
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
