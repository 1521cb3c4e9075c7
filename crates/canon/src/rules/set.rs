//! The rules of a database, and what they make of a URL.

use std::collections::BTreeMap;

use super::diagnostic::Diagnostic;
use super::failure::Failure;
use super::names::registrable_domain;
use super::trace::{Parts, Resolution, Trace};

/// The compiled script of a registrable domain.
#[derive(Debug, Clone)]
pub struct DomainScript {}

impl DomainScript {
    /// Compiles `source`.
    pub fn compile(_source: &str) -> Compiled<Self> {
        Compiled {
            script: Some(Self {}),
            diagnostics: Vec::new(),
        }
    }
}

/// The compiled script of a website.
#[derive(Debug, Clone)]
pub struct WebsiteScript {}

impl WebsiteScript {
    /// Compiles `source`.
    pub fn compile(_source: &str) -> Compiled<Self> {
        Compiled {
            script: Some(Self {}),
            diagnostics: Vec::new(),
        }
    }
}

/// What became of a script.
#[derive(Debug, Clone)]
pub struct Compiled<S> {
    /// The script, unless a diagnostic is an error.
    pub script: Option<S>,
    /// All that is wrong with it, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

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

    /// What is wrong with scripts together, though each is good by itself: the website, and a
    /// diagnostic of its script.
    pub fn conflicts(&self) -> Vec<(&str, Diagnostic)> {
        Vec::new()
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
        let parts = Parts::parse(url);
        let domain = parts
            .as_ref()
            .ok()
            .map(|p| registrable_domain(&p.host).to_owned());
        let outcome = parts.clone().map_err(Failure::from).map(|parts| {
            let page = match &parts.query {
                Some(query) => format!("{}?{query}", parts.path),
                None => parts.path.clone(),
            };
            Resolution {
                website: parts.host.clone(),
                page,
                options: BTreeMap::new(),
                page_url: parts.to_string(),
                official: Ok(parts.to_string()),
                record: crate::identify(url).map_err(Failure::from),
            }
        });
        Trace {
            domain,
            website: parts.as_ref().ok().map(|p| p.host.clone()),
            parts: parts.ok(),
            domain_rules: None,
            website_rules: None,
            variables: Vec::new(),
            outcome,
        }
    }
}
