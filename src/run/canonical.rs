//! Marks the jobs whose pages must name their official URL.

use urldb_canon::RequestUrl;
use urldb_verdict::{Job, JobKey};

use crate::config::Config;
use crate::database::site_rules;

/// Marks the pages whose canonical URL is compared, at hosts with `canonical = true`. A URL that the
/// site rules do not admit is not marked, since `lint` reports it.
pub(super) fn mark(jobs: &mut [Vec<Job>], config: &Config) -> anyhow::Result<()> {
    let is_wanted = |key: &JobKey| {
        // Only a GET request fetches a page.
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
        // An alias serves the page of its domain.
        job.promise.canonical = RequestUrl::new(*scheme, domain, path)
            .and_then(|url| rules.resolve(url.as_str()).ok())
            .and_then(|resolution| resolution.official.ok());
    }
    Ok(())
}
