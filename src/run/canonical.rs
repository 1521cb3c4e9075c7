//! Which pages are to name which official URL.

use crate::config::Config;
use crate::database::site_rules;
use urldb_verdict::{Job, JobKey};

/// Has the pages looked at of hosts where that is configured. What the site rules do not admit is
/// not asked for anything: `lint` tells of it.
pub(super) fn want(jobs: &mut [Vec<Job>], config: &Config) -> anyhow::Result<()> {
    let is_wanted = |key: &JobKey| {
        // Only GET asks for a page.
        config.check.fetch.of_host(&key.domain).canonical && key.request.is_none()
    };
    let jobs = jobs.iter_mut().flatten();
    let mut jobs = jobs.filter(|job| is_wanted(&job.key)).peekable();
    if jobs.peek().is_none() {
        return Ok(());
    }
    let rules = site_rules::load(config)?;
    for job in jobs {
        let JobKey {
            domain,
            path,
            scheme,
            ..
        } = &job.key;
        let resolution = rules.resolve(&format!("{scheme}://{domain}{path}"));
        job.promise.canonical = resolution
            .ok()
            .and_then(|resolution| resolution.official.ok());
    }
    Ok(())
}
