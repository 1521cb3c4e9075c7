//! The step that makes further requests, which show or refute a fact behind the failures of a run.

use std::time::Duration;

use urldb_fetch::FetchOptions;
use urldb_verdict::JudgedJob;
use urldb_verdict::diagnosis::{ProbePlan, decide_probe};

use super::diagnose::ProbeResults;
use super::observe::fetcher;
use super::options::RunOptions;

/// Time limit of one probe.
const ONE: Duration = Duration::from_secs(10);

/// Time limit of all probes.
const ALL: Duration = Duration::from_mins(1);

/// Makes the probes of a plan. There are none in a run that was interrupted, nor with `probes = false`. `name` is part
/// of a path that does not exist.
///
/// # Errors
/// When the HTTP client cannot be set up.
pub(super) fn probe(
    options: &RunOptions<'_>,
    plan: ProbePlan,
    name: &str,
) -> anyhow::Result<ProbeResults> {
    let config = options.config;
    let mut results = ProbeResults::new();
    if !config.check.probes || options.stop.is_set() {
        return Ok(results);
    }
    let probes = plan.probes(name);
    if probes.is_empty() {
        return Ok(results);
    }
    let fetcher = fetcher(config, &limited(&config.check.fetch))?;
    let done = |probed: JudgedJob| {
        let host = probed.job.host().to_owned();
        results.entry(host).or_default().add(&probed);
    };
    let sources = probes.into_iter().map(Vec::into_iter);
    let verdict = &config.check.verdict;
    fetcher.fetch_sources(sources, decide_probe, verdict, done, options.stop);
    Ok(results)
}

/// The same options with the time limits of probes, and without redirects.
fn limited(options: &FetchOptions) -> FetchOptions {
    let mut limited = options.clone();
    limited.deadline = Some(ALL);
    limited.byte_budget = None;
    limited.max_redirects = 0;
    for host in limited
        .hosts
        .values_mut()
        .chain([&mut limited.default_host])
    {
        host.timeout = host.timeout.min(ONE);
        host.limit_patience = host.limit_patience.min(ONE);
    }
    limited
}
