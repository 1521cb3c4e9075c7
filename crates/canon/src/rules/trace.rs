//! The result of evaluating a URL, and the steps to that result.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::error::{RejectedUrl, ResolveError};
use super::url_parts::{UrlPart, UrlParts, as_text};
use crate::identity::Identity;

/// The steps from a URL to its page. Fields of steps after a failed step are empty.
#[derive(Debug, Clone, Serialize)]
pub struct Trace {
    /// The parts of the URL.
    pub parts: Option<UrlParts>,
    /// The registrable domain, which selects the script for the host.
    pub domain: Option<String>,
    /// The attempted rules of the domain's script, in order. Only the last one can have matched.
    /// `None`: the domain has no script.
    pub domain_rules: Option<Vec<RuleAttempt>>,
    /// The website, which selects the script for the other parts, and names the domain file.
    pub website: Option<String>,
    /// The attempted rules of the website's script, as in `domain_rules`.
    pub website_rules: Option<Vec<RuleAttempt>>,
    /// The variables of the rules that matched, ordered by part: host, query, path.
    pub variables: Vec<Variable>,
    /// The page of the URL; as data, null after an error.
    #[serde(serialize_with = "without_error")]
    pub outcome: Result<Resolution, ResolveError>,
}

/// The page, options and record of a URL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Resolution {
    /// The host of the page: the first part of page canonicalization.
    pub website: String,
    /// Path and query of the page: the second part of page canonicalization.
    pub page: String,
    /// The values of options, groups and website variables by name: from the URL, else the default.
    pub options: BTreeMap<String, String>,
    /// Website and page as a URL.
    pub page_url: String,
    /// The redirect to the page, where the URL has parameters or options that the site removes.
    pub redirect: Option<PageRedirect>,
    /// The result of URL canonicalization: the URL of the page with the options that have an
    /// official position; as data, null after an error.
    #[serde(serialize_with = "without_error")]
    pub official: Result<String, RejectedUrl>,
    /// The record of the URL: website and page; with a [`redirect`](Self::redirect), together with all
    /// that the redirect removes.
    ///
    /// An error where the page cannot be a record: the port is not the default port, or the rules
    /// rewrite the URL as one that does not resolve to the same page.
    #[serde(skip)]
    pub record: Result<Identity, ResolveError>,
}

/// The redirect of a site from a URL with retired options, or with parameters that the site does not
/// know, to the page without them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PageRedirect {
    /// The status: 302 if one of several options or parameters has that status, else 301.
    pub status: u16,
    /// The names of the options and parameters that the redirect removes, in the order of the record.
    pub removed: Vec<String>,
}

/// An attempt to match a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RuleAttempt {
    /// The rule.
    pub rule: RuleRef,
    /// Whether path and query were in lower case: the second attempt of a website script.
    pub lower_case: bool,
    /// The result of the attempt.
    pub result: MatchResult,
}

/// The name and position of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct RuleRef {
    /// The name of the rule.
    pub name: String,
    /// The line of the name, from 1.
    pub line: usize,
}

/// Whether a rule matched, or the first part of the URL that did not match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MatchResult {
    /// The rule matched.
    Matched,
    /// The rule matched after separators were added to its patterns.
    MatchedWithSeparators,
    /// The protocol differs.
    Protocol,
    /// The port differs.
    Port,
    /// A query parameter is missing, or its value does not match.
    Query,
    /// The path does not match.
    Path,
    /// The host does not match.
    Host,
}

/// A variable of a rule that matched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Variable {
    /// The namespace.
    #[serde(serialize_with = "as_text")]
    pub namespace: Namespace,
    /// The name.
    pub name: String,
    /// The part of the URL.
    #[serde(serialize_with = "as_text")]
    pub part: UrlPart,
    /// The role.
    #[serde(serialize_with = "as_text")]
    pub role: VariableRole,
    /// The value, without a separator at its end.
    pub value: Option<String>,
    /// The source of the value.
    pub source: ValueSource,
    /// The line of the name, from 1.
    pub line: usize,
}

urldb_text::named_enum! {
    /// The effect of a variable on the page.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum VariableRole {
        /// A plain pattern: the matched text stays in the website or page.
        Group = "group",
        /// `website()`: the replacement stays in the website or page.
        Website = "website",
        /// `flag()`: an option, which the page does not include.
        Flag = "flag",
        /// `redirect()`: an option that the site no longer has, and removes by a redirect.
        Retired = "retired",
    }
}

/// The source of a value.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ValueSource {
    /// The URL: the text that matched.
    Matched(String),
    /// The rule: the URL has no text for the variable.
    Default,
    /// No source, and so no value: the URL has no text for the variable, and the rule no default.
    Unset,
}

urldb_text::named_enum! {
    /// The namespace of a variable.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Namespace {
        /// `canonalize` itself: the official URL has the option at the position of this variable.
        Official = "canonalize",
        /// The default namespace of host variables.
        Domain = "canonalize::domain",
        /// The default namespace of path and query variables.
        Site = "canonalize::site",
        /// A further namespace, so that a rule can use a name twice.
        Options = "canonalize::options",
    }
}

impl Namespace {
    /// The namespace `name` inside `canonalize`.
    pub(crate) fn within(name: &str) -> Option<Self> {
        match name {
            "domain" => Some(Self::Domain),
            "site" => Some(Self::Site),
            "options" => Some(Self::Options),
            _ => None,
        }
    }
}

fn without_error<T: Serialize, E, S: Serializer>(
    result: &Result<T, E>,
    to: S,
) -> Result<S::Ok, S::Error> {
    result.as_ref().ok().serialize(to)
}
