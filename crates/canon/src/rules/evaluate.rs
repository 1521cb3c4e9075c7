//! Evaluation of a URL: the rules that match, and the values of their variables.

use std::collections::BTreeMap;

use super::error::ResolveError;
use super::query::{lower_case, parameters};
use super::script::{DomainScript, Protocol, QueryVariable, WebsiteRule, WebsiteScript};
use super::set::{SiteRules, registrable_domain};
use super::trace::{MatchResult, Namespace, RuleAttempt, RuleRef, Variable};
use super::url_parts::UrlParts;
use super::variable::BoundVariable;
use crate::host::canonical_host;

/// The longest URL that website rules match, in bytes.
const MAX_URL: usize = 8 << 10;

/// The steps of a [`Trace`](super::Trace), as far as the evaluation came.
#[derive(Debug, Default)]
pub(crate) struct TraceSteps {
    pub(crate) domain_rules: Option<Vec<RuleAttempt>>,
    pub(crate) website: Option<String>,
    pub(crate) website_rules: Option<Vec<RuleAttempt>>,
    pub(crate) variables: Vec<Variable>,
}

/// A URL with the rules that matched and the values of their variables.
#[derive(Debug)]
pub(crate) struct Evaluation<'r> {
    pub(crate) parts: UrlParts,
    pub(crate) domain: String,
    /// The variables of the host; `None` where the domain has no script.
    pub(crate) host: Option<Vec<BoundVariable<'r>>>,
    pub(crate) site: WebsiteMatch<'r>,
    pub(crate) website: String,
    pub(crate) options: BTreeMap<String, String>,
}

/// The match of a website rule; empty where the website has no script.
#[derive(Debug, Default)]
pub(crate) struct WebsiteMatch<'r> {
    /// The rule; `None` where the website has no script.
    pub(crate) rule: Option<&'r WebsiteRule>,
    pub(crate) path: Vec<BoundVariable<'r>>,
    /// The length of the matched beginning of the path, in bytes, without the first slash.
    pub(crate) path_end: usize,
    pub(crate) query: Vec<BoundVariable<'r>>,
    /// Whether path and query were matched in lower case.
    pub(crate) lower_case: bool,
}

/// Evaluates `parts` with `rules`, and adds each step to `steps`.
pub(crate) fn evaluate<'r>(
    rules: &'r SiteRules,
    parts: UrlParts,
    steps: &mut TraceSteps,
) -> Result<Evaluation<'r>, ResolveError> {
    let domain = registrable_domain(&parts.host).to_owned();
    let host = evaluate_host(rules, &parts.host, &domain, steps)?;
    let website = match &host {
        None => parts.host.clone(),
        Some(variables) => website_name(variables, &domain)?,
    };
    steps.website = Some(website.clone());
    let site = evaluate_website(rules, &website, &parts, steps)?;
    let options = option_values(host.iter().flatten().chain(&site.query).chain(&site.path))?;
    Ok(Evaluation {
        parts,
        domain,
        host,
        site,
        website,
        options,
    })
}

/// The variables of the host; `None` where the domain has no script.
fn evaluate_host<'r>(
    rules: &'r SiteRules,
    host: &str,
    domain: &str,
    steps: &mut TraceSteps,
) -> Result<Option<Vec<BoundVariable<'r>>>, ResolveError> {
    let Some(script) = rules.domain(domain) else {
        return Ok(None);
    };
    let attempts = steps.domain_rules.insert(Vec::new());
    let variables =
        match_host(script, host, domain, attempts).ok_or_else(|| ResolveError::UnknownDomain {
            host: host.to_owned(),
            domain: domain.to_owned(),
        })?;
    let for_trace = variables.iter().map(BoundVariable::to_variable);
    steps.variables.extend(for_trace);
    Ok(Some(variables))
}

/// The match of the website's script; empty where the website has no script.
fn evaluate_website<'r>(
    rules: &'r SiteRules,
    website: &str,
    parts: &UrlParts,
    steps: &mut TraceSteps,
) -> Result<WebsiteMatch<'r>, ResolveError> {
    let Some(script) = rules.website(website) else {
        return Ok(WebsiteMatch::default());
    };
    let attempts = steps.website_rules.insert(Vec::new());
    let site =
        match_website(script, parts, attempts)?.ok_or_else(|| ResolveError::UnknownWebsite {
            website: website.to_owned(),
        })?;
    let variables = site.query.iter().chain(&site.path);
    let for_trace = variables.map(BoundVariable::to_variable);
    steps.variables.extend(for_trace);
    Ok(site)
}

fn match_host<'r>(
    script: &'r DomainScript,
    host: &str,
    domain: &str,
    attempts: &mut Vec<RuleAttempt>,
) -> Option<Vec<BoundVariable<'r>>> {
    let labels = host.strip_suffix(domain).unwrap_or("");
    for rule in &script.rules {
        let matched = rule.host.matcher.matches(labels);
        let result = match &matched {
            None => MatchResult::Host,
            Some(matched) => matched_how(matched.with_separators),
        };
        attempts.push(attempt(&rule.rule, false, result));
        if let Some(matched) = matched {
            return Some(rule.host.bind(&matched.patterns));
        }
    }
    None
}

fn matched_how(with_separators: bool) -> MatchResult {
    if with_separators {
        MatchResult::MatchedWithSeparators
    } else {
        MatchResult::Matched
    }
}

/// The website that the variables of the host name.
fn website_name(variables: &[BoundVariable<'_>], domain: &str) -> Result<String, ResolveError> {
    let labels: String = variables.iter().map(BoundVariable::page_text).collect();
    let website = host_below(&labels, domain);
    let problem = match canonical_host(&website) {
        Ok(canonical) if canonical == website => return Ok(website),
        Ok(_) => "is not a host in canonical spelling",
        Err(problem) => problem,
    };
    Err(ResolveError::BadWebsite { website, problem })
}

/// The host `labels` below `domain`.
pub(crate) fn host_below(labels: &str, domain: &str) -> String {
    let dot = if labels.is_empty() || labels.ends_with('.') {
        ""
    } else {
        "."
    };
    format!("{labels}{dot}{domain}")
}

/// The first rule that matches the URL as written, or else in lower case.
fn match_website<'r>(
    script: &'r WebsiteScript,
    parts: &UrlParts,
    attempts: &mut Vec<RuleAttempt>,
) -> Result<Option<WebsiteMatch<'r>>, ResolveError> {
    let length = parts.to_string().len();
    if length > MAX_URL {
        return Err(ResolveError::TooLong {
            length,
            limit: MAX_URL,
        });
    }
    if let Some(site) = first_match(script, parts, false, attempts)? {
        return Ok(Some(site));
    }
    let lower = UrlParts {
        path: lower_case(&parts.path),
        query: parts.query.as_deref().map(lower_case),
        ..parts.clone()
    };
    if lower == *parts {
        return Ok(None);
    }
    first_match(script, &lower, true, attempts)
}

fn first_match<'r>(
    script: &'r WebsiteScript,
    parts: &UrlParts,
    lower_case: bool,
    attempts: &mut Vec<RuleAttempt>,
) -> Result<Option<WebsiteMatch<'r>>, ResolveError> {
    for rule in &script.rules {
        let matched = match_rule(rule, parts, lower_case);
        let result = *matched
            .as_ref()
            .map_or_else(|mismatch| mismatch, |(_, result)| result);
        attempts.push(attempt(&rule.rule, lower_case, result));
        if let Ok((site, _)) = matched {
            refuse_duplicates(rule, parts)?;
            return Ok(Some(site));
        }
    }
    Ok(None)
}

/// The match of `rule`; the error is the first part of the URL that does not match.
fn match_rule<'r>(
    rule: &'r WebsiteRule,
    parts: &UrlParts,
    lower_case: bool,
) -> Result<(WebsiteMatch<'r>, MatchResult), MatchResult> {
    if matches!(rule.protocol, Protocol::Only(scheme) if scheme != parts.scheme) {
        return Err(MatchResult::Protocol);
    }
    if rule.port.is_some_and(|port| port != parts.port) {
        return Err(MatchResult::Port);
    }
    let query = parts.query.as_deref();
    let variables = rule.query.iter();
    let query = variables
        .map(|wanted| match_parameter(wanted, query))
        .collect::<Option<_>>()
        .ok_or(MatchResult::Query)?;
    let path = parts.path.get(1..).unwrap_or("");
    let matched = rule.path.matcher.matches(path).ok_or(MatchResult::Path)?;
    let site = WebsiteMatch {
        rule: Some(rule),
        path: rule.path.bind(&matched.patterns),
        path_end: matched.end,
        query,
        lower_case,
    };
    Ok((site, matched_how(matched.with_separators)))
}

/// The value of a query variable; `None` where the parameter does not match.
fn match_parameter<'r>(
    wanted: &'r QueryVariable,
    query: Option<&str>,
) -> Option<BoundVariable<'r>> {
    let variable = &wanted.variable;
    let parameter = query.and_then(|query| parameters(query).find(|p| p.name == variable.name));
    match parameter {
        None => (!wanted.required).then(|| variable.bind(None)),
        Some(parameter) => {
            let value = parameter.value()?;
            let matched = wanted.matcher.matches(&value)?;
            Some(variable.bind(matched.patterns.first().copied().flatten()))
        }
    }
}

/// Refuses a query that repeats a parameter for which the rule has a variable.
fn refuse_duplicates(rule: &WebsiteRule, parts: &UrlParts) -> Result<(), ResolveError> {
    let query = parts.query.as_deref().unwrap_or("");
    for wanted in &rule.query {
        let name = &wanted.variable.name;
        if parameters(query).filter(|p| p.name == name).count() > 1 {
            return Err(ResolveError::DuplicateParameter { name: name.clone() });
        }
    }
    Ok(())
}

/// The origin of a value; the greatest one counts.
#[derive(PartialEq, PartialOrd)]
enum ValuePriority {
    Default,
    OfficialDefault,
    FromUrl,
}

impl ValuePriority {
    fn from_variable(variable: &BoundVariable<'_>) -> Self {
        match (&variable.text, variable.variable.namespace) {
            (Some(_), _) => Self::FromUrl,
            (None, Namespace::Official) => Self::OfficialDefault,
            (None, _) => Self::Default,
        }
    }
}

/// Values by name: the value in the URL, else the default at the official position, else the first
/// default.
fn option_values<'b, 'r: 'b>(
    variables: impl Iterator<Item = &'b BoundVariable<'r>>,
) -> Result<BTreeMap<String, String>, ResolveError> {
    let mut best: BTreeMap<&str, (ValuePriority, &str)> = BTreeMap::new();
    for bound in variables {
        let Some(value) = bound.value.as_deref() else {
            continue;
        };
        let name = &bound.variable.name;
        let priority = ValuePriority::from_variable(bound);
        match best.get(name.as_str()) {
            Some((ValuePriority::FromUrl, first))
                if priority == ValuePriority::FromUrl && *first != value =>
            {
                return Err(ResolveError::ContradictoryOption {
                    name: name.clone(),
                    first: (*first).to_owned(),
                    second: value.to_owned(),
                });
            }
            Some((before, _)) if *before >= priority => {}
            _ => {
                best.insert(name, (priority, value));
            }
        }
    }
    let values = best.into_iter();
    Ok(values
        .map(|(name, (_, value))| (name.to_owned(), value.to_owned()))
        .collect())
}

fn attempt(rule: &RuleRef, lower_case: bool, result: MatchResult) -> RuleAttempt {
    RuleAttempt {
        rule: rule.clone(),
        lower_case,
        result,
    }
}
