//! The explanation of `urldb url explain`, as data: the object of `--format json`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;
use urldb_canon::rules::{self, MatchResult, ResolveError, RuleAttempt, Trace, ValueSource};
use urldb_canon::surt;

use crate::database::site_rules::{domain_file, website_file};

/// Each step from a URL to its record. Steps after a failed one are null or empty.
#[derive(Debug, Serialize)]
pub(super) struct Explanation {
    /// As it is spelled; null for what is no URL.
    pub(super) url: Option<String>,
    pub(super) parts: Option<UrlParts>,
    pub(super) registrable_domain: Option<String>,
    /// The rules of the domain; null where there are none.
    pub(super) domain_rules: Option<RuleFile>,
    pub(super) website: Option<String>,
    /// The rules of the website; null where there are none.
    pub(super) website_rules: Option<RuleFile>,
    pub(super) variables: Vec<Variable>,
    /// Options and other variables by name.
    pub(super) options: BTreeMap<String, String>,
    pub(super) page_url: Option<String>,
    pub(super) official_url: Option<String>,
    /// The redirect that the record promises, where the URL has options or parameters that the site removes.
    pub(super) redirect: Option<Redirect>,
    /// The record that it is, or would be.
    pub(super) record: Option<RecordLocation>,
    /// The key of the record's URL in the archive's index; that of the URL where it is no record.
    pub(super) surt: Option<String>,
    /// The folder of the database; null where there is none.
    pub(super) database: Option<String>,
    /// The reason why there is no record.
    pub(super) problem: Option<UrlProblem>,
}

#[derive(Debug, Serialize)]
pub(super) struct UrlParts {
    pub(super) scheme: &'static str,
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) path: String,
    pub(super) query: Option<String>,
}

/// The rules of a file that were tried, in order.
#[derive(Debug, Serialize)]
pub(super) struct RuleFile {
    pub(super) file: String,
    /// The name of the rule that was taken.
    pub(super) taken: Option<String>,
    pub(super) tried: Vec<Rule>,
}

#[derive(Debug, Serialize)]
pub(super) struct Rule {
    pub(super) name: String,
    pub(super) line: usize,
    /// The result of the rule.
    pub(super) verdict: &'static str,
    /// Whether path and query were compared in lower case, which is tried if nothing matched.
    pub(super) lower_case: bool,
}

#[derive(Debug, Serialize)]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) namespace: &'static str,
    pub(super) value: Option<String>,
    /// `host`, `path` or `query`.
    pub(super) part: &'static str,
    /// `group`, `website`, `flag` or `retired`.
    pub(super) role: &'static str,
    /// `url`, `default` or `nothing`.
    pub(super) source: &'static str,
    /// The text of the URL.
    pub(super) matched: Option<String>,
    pub(super) line: usize,
}

/// A redirect to the page.
#[derive(Debug, Serialize)]
pub(super) struct Redirect {
    pub(super) status: u16,
    /// The URL of the page.
    pub(super) to: String,
    /// The names of the options and parameters that the redirect removes.
    pub(super) removed: Vec<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct RecordLocation {
    pub(super) file: String,
    /// The host of the page, where it is another name of the domain.
    pub(super) cname: Option<String>,
    #[serde(rename = "_path")]
    pub(super) path: String,
    /// Whether the database has it; null where there is no database.
    pub(super) known: Option<bool>,
    pub(super) line: Option<usize>,
}

/// The reason why a URL has no record. It is no finding, since a typed URL has no file and line.
#[derive(Debug, Serialize)]
pub(super) struct UrlProblem {
    pub(super) code: &'static str,
    pub(super) message: String,
    /// The URL at the default website of the domain, if the rules admit that.
    pub(super) suggestion: Option<String>,
}

impl Explanation {
    /// The explanation of a trace. `shown` makes names of paths; `database` is the folder of the database.
    pub(super) fn new(trace: &Trace, shown: impl Fn(&Path) -> String, database: &Path) -> Self {
        let resolution = trace.outcome.as_ref().ok();
        let failure = match &trace.outcome {
            Err(failure) => Some(failure),
            Ok(resolution) => resolution.record.as_ref().err(),
        };
        let file = |name: &Option<String>, file_of: fn(&Path, &str) -> PathBuf| {
            name.as_deref()
                .map_or_else(String::new, |name| shown(&file_of(database, name)))
        };
        let script = |tried: &Option<Vec<RuleAttempt>>, file| {
            let tried = tried.as_ref()?;
            Some(RuleFile::new(file, tried))
        };
        Self {
            url: trace.parts.as_ref().map(ToString::to_string),
            parts: trace.parts.as_ref().map(UrlParts::new),
            registrable_domain: trace.domain.clone(),
            domain_rules: script(&trace.domain_rules, file(&trace.domain, domain_file)),
            website: trace.website.clone(),
            website_rules: script(&trace.website_rules, file(&trace.website, website_file)),
            variables: trace.variables.iter().map(Variable::new).collect(),
            options: resolution.map_or_else(BTreeMap::new, |found| found.options.clone()),
            page_url: resolution.map(|found| found.page_url.clone()),
            official_url: resolution.and_then(|found| found.official.clone().ok()),
            redirect: resolution.and_then(Redirect::new),
            record: None,
            surt: trace.parts.as_ref().map(|parts| surt(&parts.to_string())),
            database: None,
            problem: failure.map(UrlProblem::new),
        }
    }
}

impl UrlParts {
    fn new(parts: &rules::UrlParts) -> Self {
        Self {
            scheme: parts.scheme.as_str(),
            host: parts.host.clone(),
            port: parts.port,
            path: parts.path.clone(),
            query: parts.query.clone(),
        }
    }
}

impl RuleFile {
    fn new(file: String, tried: &[RuleAttempt]) -> Self {
        let is_taken = |tried: &&RuleAttempt| {
            matches!(
                tried.result,
                MatchResult::Matched | MatchResult::MatchedWithSeparators
            )
        };
        Self {
            file,
            taken: tried
                .iter()
                .find(is_taken)
                .map(|tried| tried.rule.name.clone()),
            tried: tried.iter().map(Rule::new).collect(),
        }
    }
}

impl Rule {
    fn new(tried: &RuleAttempt) -> Self {
        Self {
            name: tried.rule.name.clone(),
            line: tried.rule.line,
            verdict: match tried.result {
                MatchResult::Matched => "matched",
                MatchResult::MatchedWithSeparators => "matched-with-separators",
                MatchResult::Protocol => "other-protocol",
                MatchResult::Port => "other-port",
                MatchResult::Query => "other-query",
                MatchResult::Path => "other-path",
                MatchResult::Host => "other-host",
            },
            lower_case: tried.lower_case,
        }
    }
}

impl Variable {
    fn new(variable: &rules::Variable) -> Self {
        let (source, matched) = match &variable.source {
            ValueSource::Matched(text) => ("url", Some(text.clone())),
            ValueSource::Default => ("default", None),
            ValueSource::Unset => ("nothing", None),
        };
        Self {
            name: variable.name.clone(),
            namespace: variable.namespace.as_str(),
            value: variable.value.clone(),
            part: variable.part.as_str(),
            role: variable.role.as_str(),
            source,
            matched,
            line: variable.line,
        }
    }
}

impl Redirect {
    fn new(found: &rules::Resolution) -> Option<Self> {
        let redirect = found.redirect.as_ref()?;
        Some(Self {
            status: redirect.status,
            to: found.page_url.clone(),
            removed: redirect.removed.clone(),
        })
    }
}

impl UrlProblem {
    fn new(failure: &ResolveError) -> Self {
        let suggestion = match failure {
            ResolveError::UnknownDomain { default, .. }
            | ResolveError::UnknownWebsite { default, .. } => {
                default.as_ref().and_then(|default| default.url.clone())
            }
            _ => None,
        };
        Self {
            code: failure.code(),
            message: failure.to_string(),
            suggestion,
        }
    }
}
