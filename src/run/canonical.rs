//! Marks the jobs whose pages must name their official URL.

use urldb_canon::RequestUrl;
use urldb_canon::rules::SiteRules;
use urldb_fetch::FetchOptions;
use urldb_verdict::{Job, JobKey};

use crate::config::Config;
use crate::database::site_rules;

/// The official URLs of the pages whose canonical URL is compared.
pub(super) struct OfficialUrls<'a> {
    options: &'a FetchOptions,
    /// `None` if no host has `canonical = true`.
    rules: Option<SiteRules>,
}

impl<'a> OfficialUrls<'a> {
    /// Reads the site rules, if a host has `canonical = true`.
    ///
    /// # Errors
    /// When the site rules cannot be read, or have errors.
    pub(super) fn load(config: &'a Config) -> anyhow::Result<Self> {
        let options = &config.check.fetch;
        let mut hosts = options.hosts.values().chain([&options.default_host]);
        let is_wanted = hosts.any(|host| host.canonical);
        let rules = is_wanted.then(|| site_rules::load(config)).transpose()?;
        Ok(Self { options, rules })
    }

    /// Marks the job with its official URL, at hosts with `canonical = true`. A URL that the site
    /// rules do not admit is not marked, since `lint` reports it.
    pub(super) fn mark(&self, job: &mut Job) {
        let JobKey {
            domain,
            path,
            scheme,
            request,
            ..
        } = &job.key;
        // Only a GET request fetches a page.
        let is_wanted = request.is_none() && self.options.of_host(domain).canonical;
        let Some(rules) = self.rules.as_ref().filter(|_| is_wanted) else {
            return;
        };
        // An alias serves the page of its domain.
        job.promise.canonical = RequestUrl::new(*scheme, domain, path)
            .and_then(|url| rules.resolve(url.as_str()).ok())
            .and_then(|resolution| resolution.official.ok())
            .map(String::into_boxed_str);
    }
}
