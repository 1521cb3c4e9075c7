//! The scripts of a database.

use std::collections::{BTreeMap, HashSet};

use urldb_text::{Code, Finding};

use super::names::registrable_domain;
use super::namespace::Namespace;
use super::script::{DomainScript, WebsiteScript};
use super::variable::CompiledVariable;

/// The scripts of a database. An empty set resolves every URL as
/// [`identify`](crate::identify()) does.
#[derive(Debug, Clone, Default)]
pub struct SiteRules {
    domains: BTreeMap<String, DomainScript>,
    websites: BTreeMap<String, WebsiteScript>,
}

impl SiteRules {
    /// An empty set.
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

    /// Conflicts between scripts that are valid by themselves: the website, and a finding in its
    /// script. In the order of websites. `source` is the text of a website's script, for excerpts.
    pub fn conflicts<'a>(&self, source: impl Fn(&str) -> &'a str) -> Vec<(&str, Finding)> {
        let mut conflicts = Vec::new();
        for (website, script) in &self.websites {
            let Some(domain) = self.domain(registrable_domain(website)) else {
                continue;
            };
            let in_domain: HashSet<&str> = official(domain.variables())
                .map(|variable| variable.name.as_str())
                .collect();
            let conflicting = official(script.variables())
                .filter(|variable| in_domain.contains(variable.name.as_str()));
            for variable in conflicting {
                let (line, column) = variable.position;
                let message = format!(
                    "`{}` has an official position in the rules of the domain already",
                    variable.name
                );
                let text = urldb_text::lines(source(website)).nth(line - 1);
                let finding = Finding::new(Code::RuleOfficial, line, message)
                    .at_column(column)
                    .with_excerpt(text.unwrap_or(""), variable.name.len());
                conflicts.push((website.as_str(), finding));
            }
        }
        conflicts
    }
}

/// The variables with an official position.
fn official<'r>(
    variables: impl Iterator<Item = &'r CompiledVariable>,
) -> impl Iterator<Item = &'r CompiledVariable> {
    variables.filter(|variable| variable.namespace == Namespace::Official)
}
