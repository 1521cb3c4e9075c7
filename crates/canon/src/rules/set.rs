//! The rules of a database, and what they make of a URL.

use std::collections::{BTreeMap, HashSet};

use super::compile::{DomainScript, WebsiteScript};
use super::diagnostic::{Code, Diagnostic};
use super::evaluate::{Evaluation, Steps, evaluate};
use super::failure::{Failure, Rejected};
use super::names::registrable_domain;
use super::slot::Slot;
use super::trace::{Namespace, Parts, Resolution, Trace};
use super::write::Flags;
use crate::identity::{Identity, identify};

/// The scripts of a database. An empty set makes of every URL what
/// [`identify`](crate::identify()) makes of it.
#[derive(Debug, Clone, Default)]
pub struct SiteRules {
    domains: BTreeMap<String, DomainScript>,
    websites: BTreeMap<String, WebsiteScript>,
}

impl SiteRules {
    /// No rules.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the script of the registrable domain `domain`.
    pub fn insert_domain(&mut self, domain: &str, script: DomainScript) {
        self.domains.insert(domain.to_owned(), script);
    }

    /// Adds the script of the website `website`.
    pub fn insert_website(&mut self, website: &str, script: WebsiteScript) {
        self.websites.insert(website.to_owned(), script);
    }

    pub(crate) fn domain(&self, domain: &str) -> Option<&DomainScript> {
        self.domains.get(domain)
    }

    pub(crate) fn website(&self, website: &str) -> Option<&WebsiteScript> {
        self.websites.get(website)
    }

    /// What is wrong with scripts together, though each is good by itself: the website, and a
    /// diagnostic of its script. In the order of websites.
    pub fn conflicts(&self) -> Vec<(&str, Diagnostic)> {
        let mut conflicts = Vec::new();
        for (website, script) in &self.websites {
            let Some(domain) = self.domain(registrable_domain(website)) else {
                continue;
            };
            let taken: HashSet<&str> = official(domain.slots()).map(|s| s.name.as_str()).collect();
            for slot in official(script.slots()).filter(|s| taken.contains(s.name.as_str())) {
                let (line, column) = slot.place;
                let diagnostic = Diagnostic {
                    code: Code::RuleOfficial,
                    line,
                    column,
                    length: slot.name.len(),
                    message: format!(
                        "`{}` has an official position in the rules of the domain already",
                        slot.name
                    ),
                };
                conflicts.push((website.as_str(), diagnostic));
            }
        }
        conflicts
    }

    /// What `url` is.
    ///
    /// # Errors
    /// [`Failure`] when the rules do not admit it.
    pub fn resolve(&self, url: &str) -> Result<Resolution, Failure> {
        self.explain(url).outcome
    }

    /// What `url` is, with each step to it.
    pub fn explain(&self, url: &str) -> Trace {
        let mut steps = Steps::default();
        let parts = Parts::parse(url);
        let outcome = match &parts {
            Err(error) => Err(error.clone().into()),
            Ok(parts) => {
                evaluate(self, parts.clone(), &mut steps).map(|found| self.resolution(&found))
            }
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

    fn resolution(&self, found: &Evaluation<'_>) -> Resolution {
        let page = found.page();
        let page_url = found.url(Flags::Dropped);
        let official = self.official(found, &page);
        let record = match &official {
            Ok(official) => self.record(found, &page, &page_url, official),
            Err(rejected) => Err(rejected.clone().into()),
        };
        Resolution {
            website: found.website.clone(),
            page,
            options: found.options.clone(),
            page_url,
            official,
            record,
        }
    }

    fn official(&self, found: &Evaluation<'_>, page: &str) -> Result<String, Rejected> {
        let write = |flags| {
            let url = found.url(flags);
            // What was just evaluated leads back to itself.
            if url == found.parts.to_string() {
                return Ok(url);
            }
            let again = self.again(found, page, &url)?;
            same_options(found, &again, &url)?;
            let own = again.url(flags);
            if own != again.parts.to_string() {
                return Err(differs(&url, "official URL", &own));
            }
            Ok(own)
        };
        // A pattern may want more than value and separator, which only the URL can show.
        write(Flags::Spelled).or_else(|first| write(Flags::AsMatched).map_err(|_| first))
    }

    /// The record of a page: one whose own URL is the same page, and has an official one too.
    fn record(
        &self,
        found: &Evaluation<'_>,
        page: &str,
        page_url: &str,
        official: &str,
    ) -> Result<Identity, Failure> {
        if official != page_url && found.parts.to_string() != page_url {
            let again = self.again(found, page, page_url)?;
            self.official(&again, page)?;
        }
        Ok(identify(page_url)?)
    }

    /// Evaluates `url`, which has to be the same page.
    fn again(
        &self,
        found: &Evaluation<'_>,
        page: &str,
        url: &str,
    ) -> Result<Evaluation<'_>, Rejected> {
        let refused = |failure| rejected(url, format!("which they refuse: {failure}"));
        let parts = Parts::parse(url).map_err(|error| refused(error.into()))?;
        let again = evaluate(self, parts, &mut Steps::default()).map_err(refused)?;
        if again.website != found.website {
            return Err(differs(url, "website", &again.website));
        }
        let page_again = again.page();
        if page_again != page {
            return Err(differs(url, "page", &page_again));
        }
        Ok(again)
    }
}

/// The options with an official position have the same values in both.
fn same_options(found: &Evaluation<'_>, again: &Evaluation<'_>, url: &str) -> Result<(), Rejected> {
    for name in found.official_names() {
        let of = |options: &Evaluation<'_>| options.options.get(name).cloned().unwrap_or_default();
        if of(again) != of(found) {
            return Err(differs(url, name, &of(again)));
        }
    }
    Ok(())
}

fn differs(url: &str, what: &str, is: &str) -> Rejected {
    rejected(url, format!("whose {what} is `{is}` to them"))
}

fn rejected(url: &str, because: String) -> Rejected {
    Rejected {
        url: url.to_owned(),
        because,
    }
}

fn official<'r>(slots: impl Iterator<Item = &'r Slot>) -> impl Iterator<Item = &'r Slot> {
    slots.filter(|slot| slot.namespace == Namespace::Official)
}
