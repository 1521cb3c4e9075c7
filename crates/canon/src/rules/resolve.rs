//! Resolution of URLs: evaluate a URL, write its page and official URL, and check that the rules
//! resolve both to the same page.

use super::error::{DefaultWebsite, RejectedUrl, ResolveError};
use super::evaluate::{Evaluation, TraceSteps, default_website, evaluate};
use super::set::{SiteRules, registrable_domain};
use super::trace::{Resolution, Trace};
use super::url_parts::UrlParts;
use super::write::FlagSpelling;
use crate::identity::{Identity, identify};

impl SiteRules {
    /// The page, options and record of `url`.
    ///
    /// # Errors
    /// [`ResolveError`] when the rules do not admit the URL.
    pub fn resolve(&self, url: &str) -> Result<Resolution, ResolveError> {
        self.explain(url).outcome
    }

    /// The page, options and record of `url`, with each step of the resolution.
    pub fn explain(&self, url: &str) -> Trace {
        let mut steps = TraceSteps::default();
        let parts = UrlParts::parse(url);
        let outcome = match &parts {
            Err(error) => Err(error.clone().into()),
            Ok(parts) => evaluate(self, parts.clone(), &mut steps)
                .map(|evaluation| self.resolution(&evaluation))
                .map_err(|error| self.with_default_website(parts, error)),
        };
        let parts = parts.ok();
        Trace {
            domain: parts
                .as_ref()
                .map(|parts| registrable_domain(&parts.host).to_owned()),
            parts,
            domain_rules: steps.domain_rules,
            website: steps.website,
            website_rules: steps.website_rules,
            variables: steps.variables,
            outcome,
        }
    }

    /// The same error with the default website of the domain, where it is about another website.
    fn with_default_website(&self, parts: &UrlParts, mut error: ResolveError) -> ResolveError {
        let (refused, default) = match &mut error {
            ResolveError::UnknownDomain { host, default, .. } => (host, default),
            ResolveError::UnknownWebsite { website, default } => (website, default),
            _ => return error,
        };
        let website = default_website(self, registrable_domain(&parts.host));
        *default = website.filter(|website| website != refused).map(|website| {
            let there = UrlParts {
                host: website.clone(),
                ..parts.clone()
            };
            let url = there.to_string();
            let admitted = evaluate(self, there, &mut TraceSteps::default());
            let is_record = |evaluation| self.resolution(&evaluation).record.is_ok();
            let url = admitted.is_ok_and(is_record).then_some(url);
            Box::new(DefaultWebsite { website, url })
        });
        error
    }

    fn resolution(&self, evaluation: &Evaluation<'_>) -> Resolution {
        let page = evaluation.page();
        let page_url = evaluation.url(FlagSpelling::Omitted);
        let redirect = evaluation.redirect();
        let official = self.official_url(evaluation, &page);
        let record = match &official {
            Ok(official) => self.record(evaluation, &page, &page_url, official),
            Err(rejected) => Err(rejected.clone().into()),
        };
        Resolution {
            website: evaluation.website.clone(),
            page,
            options: evaluation.options.clone(),
            page_url,
            redirect,
            official,
            record,
        }
    }

    fn official_url(&self, evaluation: &Evaluation<'_>, page: &str) -> Result<String, RejectedUrl> {
        let write = |flags| {
            let url = evaluation.url(flags);
            // The evaluation of this very URL is at hand.
            if url == evaluation.parts.to_string() {
                return Ok(url);
            }
            let again = self.evaluate_again(evaluation, page, &url)?;
            check_same_options(evaluation, &again, &url)?;
            let own = again.url(flags);
            if own != again.parts.to_string() {
                return Err(differs(&url, "official URL", &own));
            }
            Ok(own)
        };
        // A pattern may require more than value and separator, which only the text of the URL has.
        write(FlagSpelling::Canonical)
            .or_else(|first| write(FlagSpelling::AsMatched).map_err(|_| first))
    }

    /// The record of a page. The URL of the page must resolve to the same page, and have an official
    /// URL too.
    fn record(
        &self,
        evaluation: &Evaluation<'_>,
        page: &str,
        page_url: &str,
        official: &str,
    ) -> Result<Identity, ResolveError> {
        if official != page_url && evaluation.parts.to_string() != page_url {
            let again = self.evaluate_again(evaluation, page, page_url)?;
            self.official_url(&again, page)?;
        }
        let Some(redirect) = evaluation.redirect() else {
            return Ok(identify(page_url)?);
        };
        let url = evaluation.url(FlagSpelling::Retired);
        if url != evaluation.parts.to_string() {
            let again = self.evaluate_redirected(evaluation, page, &url)?;
            let own = again.url(FlagSpelling::Retired);
            if own != url || again.redirect() != Some(redirect) {
                return Err(differs(&url, "record", &own).into());
            }
        }
        Ok(identify(&url)?)
    }

    /// Evaluates `url`, which must resolve to the same page, without a redirect.
    fn evaluate_again(
        &self,
        evaluation: &Evaluation<'_>,
        page: &str,
        url: &str,
    ) -> Result<Evaluation<'_>, RejectedUrl> {
        let again = self.evaluate_redirected(evaluation, page, url)?;
        match again.redirect() {
            None => Ok(again),
            Some(_) => Err(rejected(url, "but redirect that URL".to_owned())),
        }
    }

    /// Evaluates `url`, which must resolve to the same page, perhaps by a redirect.
    fn evaluate_redirected(
        &self,
        evaluation: &Evaluation<'_>,
        page: &str,
        url: &str,
    ) -> Result<Evaluation<'_>, RejectedUrl> {
        let refused = |error| rejected(url, format!("but refuse that URL ({error})"));
        let parts = UrlParts::parse(url).map_err(|error| refused(error.into()))?;
        let again = evaluate(self, parts, &mut TraceSteps::default()).map_err(refused)?;
        if again.website != evaluation.website {
            return Err(differs(url, "website", &again.website));
        }
        let page_again = again.page();
        if page_again != page {
            return Err(differs(url, "page", &page_again));
        }
        Ok(again)
    }
}

/// Checks that the options with an official position have the same values in both evaluations.
fn check_same_options(
    evaluation: &Evaluation<'_>,
    again: &Evaluation<'_>,
    url: &str,
) -> Result<(), RejectedUrl> {
    for name in evaluation.official_names() {
        let value = |of: &Evaluation<'_>| of.options.get(name).cloned().unwrap_or_default();
        if value(again) != value(evaluation) {
            return Err(differs(url, name, &value(again)));
        }
    }
    Ok(())
}

fn differs(url: &str, what: &str, value: &str) -> RejectedUrl {
    rejected(url, format!("but give that URL the {what} `{value}`"))
}

fn rejected(url: &str, reason: String) -> RejectedUrl {
    RejectedUrl {
        url: url.to_owned(),
        reason,
    }
}
