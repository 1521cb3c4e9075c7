//! The scripts of a database.

use std::collections::{BTreeMap, HashSet};

pub use urldb_suffix::registrable_domain;
use urldb_text::{Code, Finding};

use super::script::{DomainScript, WebsiteScript};
use super::trace::Namespace;
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

    /// Whether the set has no script.
    pub fn is_empty(&self) -> bool {
        self.domains.is_empty() && self.websites.is_empty()
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

fn official<'r>(
    variables: impl Iterator<Item = &'r CompiledVariable>,
) -> impl Iterator<Item = &'r CompiledVariable> {
    variables.filter(|variable| variable.namespace == Namespace::Official)
}

/// The subject of a rule file, by its name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ScriptFile {
    /// `DOMAIN.rules`: the script of a registrable domain.
    Domain(String),
    /// `WEBSITE.website.rules`: the script of a website.
    Website(String),
}

impl ScriptFile {
    /// The subject of the file `name`: `None` when the name does not end in `.rules`, or does not
    /// begin with a registrable domain or a host in the spelling of [`identify`](crate::identify()).
    ///
    /// `example.website.rules` is about the domain `example.website`, since `website` is a public
    /// suffix, and not about a website `example`.
    pub fn from_name(name: &str) -> Option<Self> {
        let name = name.strip_suffix(".rules")?;
        let canonical = |name: &str| crate::host::canonical_host(name).as_deref() == Ok(name);
        if canonical(name) && registrable_domain(name) == name {
            return Some(Self::Domain(name.to_owned()));
        }
        let website = name.strip_suffix(".website")?;
        canonical(website).then(|| Self::Website(website.to_owned()))
    }
}
