//! Compiled scripts and their rules.

use super::pattern::{Matcher, PatternMatch};
use super::trace::RuleRef;
use super::variable::{BoundVariable, CompiledVariable};
use crate::identity::Scheme;

/// The compiled script of a registrable domain.
#[derive(Debug, Clone)]
pub struct DomainScript {
    pub(crate) rules: Vec<DomainRule>,
}

/// The compiled script of a website.
#[derive(Debug, Clone)]
pub struct WebsiteScript {
    pub(crate) rules: Vec<WebsiteRule>,
}

/// A rule about the host.
#[derive(Debug, Clone)]
pub(crate) struct DomainRule {
    pub(crate) rule: RuleRef,
    pub(crate) host: VariableSequence,
}

/// The schemes of the URLs that a website rule matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// Both, since the rule does not name any: a page keeps the scheme of its URL.
    Unstated,
    /// Both, and `http` for pages.
    Both,
    /// Only this one.
    Only(Scheme),
}

/// A rule about protocol, port, query and path.
#[derive(Debug, Clone)]
pub(crate) struct WebsiteRule {
    pub(crate) rule: RuleRef,
    pub(crate) protocol: Protocol,
    /// The only port; `None` for all.
    pub(crate) port: Option<u16>,
    pub(crate) query: Vec<QueryVariable>,
    pub(crate) path: VariableSequence,
    pub(crate) properties: RuleProperties,
}

/// The properties of the whole path and of all parameters.
#[derive(Debug, Clone, Default)]
pub(crate) struct RuleProperties {
    /// Whether the path is put into lower case.
    pub(crate) lower_path: bool,
    /// Whether all parameters are put into lower case.
    pub(crate) lower_query: bool,
    /// The parameter that may have the path.
    pub(crate) path_parameter: Option<String>,
    pub(crate) unknown_parameters: UnknownParameters,
}

impl RuleProperties {
    /// Whether the rule reads another path or query than the URL has.
    pub(crate) fn change_the_url(&self) -> bool {
        self.lower_path || self.lower_query || self.path_parameter.is_some()
    }
}

/// The answer of the site to parameters without a variable.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum UnknownParameters {
    /// They name another page.
    #[default]
    Kept,
    /// Not found.
    Refused,
    /// A redirect with this status to the page without them.
    Redirected(u16),
}

/// The variables of a host or path, in order, and the matcher of their joined patterns.
#[derive(Debug, Clone)]
pub(crate) struct VariableSequence {
    pub(crate) variables: Vec<CompiledVariable>,
    pub(crate) matcher: Matcher,
}

/// The variable of a query parameter, and the matcher of its pattern.
#[derive(Debug, Clone)]
pub(crate) struct QueryVariable {
    pub(crate) variable: CompiledVariable,
    pub(crate) required: bool,
    pub(crate) matcher: Matcher,
}

impl VariableSequence {
    /// The variables with their values; `matches` has the match of each pattern.
    pub(crate) fn bind(&self, matches: &[Option<PatternMatch<'_>>]) -> Vec<BoundVariable<'_>> {
        self.variables
            .iter()
            .zip(matches)
            .map(|(variable, matched)| variable.bind(*matched))
            .collect()
    }
}

impl DomainScript {
    pub(crate) fn variables(&self) -> impl Iterator<Item = &CompiledVariable> {
        self.rules.iter().flat_map(|rule| &rule.host.variables)
    }
}

impl WebsiteScript {
    pub(crate) fn variables(&self) -> impl Iterator<Item = &CompiledVariable> {
        self.rules.iter().flat_map(|rule| {
            let query = rule.query.iter().map(|parameter| &parameter.variable);
            rule.path.variables.iter().chain(query)
        })
    }
}
