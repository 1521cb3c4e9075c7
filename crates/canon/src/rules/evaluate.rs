//! Evaluation of a URL: the rules that match, and the values of their variables.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};

use urldb_text::nearest;

use super::error::ResolveError;
use super::normal::NormalUrl;
use super::query::{QueryParameter, lower_case, parameters};
use super::script::{
    DomainScript, Protocol, QueryVariable, UnknownParameters, WebsiteRule, WebsiteScript,
};
use super::set::{SiteRules, registrable_domain};
use super::trace::{MatchResult, Namespace, RuleAttempt, RuleRef, Variable};
use super::url_parts::UrlParts;
use super::variable::{BoundVariable, VariableKind};
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
    /// Path and query as the rule reads them.
    pub(crate) url: NormalUrl,
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

/// The website to which the rules of a domain take its bare name; `None` if they do not.
pub(crate) fn default_website(rules: &SiteRules, domain: &str) -> Option<String> {
    let variables = match_host(rules.domain(domain)?, domain, domain, &mut vec![])?;
    website_name(&variables, domain).ok()
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
            default: None,
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
        return Ok(WebsiteMatch {
            url: NormalUrl::of(parts),
            ..WebsiteMatch::default()
        });
    };
    let attempts = steps.website_rules.insert(Vec::new());
    let site =
        match_website(script, parts, attempts)?.ok_or_else(|| ResolveError::UnknownWebsite {
            website: website.to_owned(),
            default: None,
        })?;
    let for_trace = site
        .query
        .iter()
        .chain(&site.path)
        .map(BoundVariable::to_variable);
    steps.variables.extend(for_trace);
    site.refuse_unknown_parameters(website)?;
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
    let url = NormalUrl::of(parts);
    if let Some(site) = first_match(script, parts, &url, None, attempts)? {
        return Ok(Some(site));
    }
    let lower = url.to_lower_case();
    if lower == url {
        return Ok(None);
    }
    first_match(script, parts, &url, Some(&lower), attempts)
}

/// The first rule that matches. In the second attempt, `lower` is `url` in lower case.
fn first_match<'r>(
    script: &'r WebsiteScript,
    parts: &UrlParts,
    url: &NormalUrl,
    lower: Option<&NormalUrl>,
    attempts: &mut Vec<RuleAttempt>,
) -> Result<Option<WebsiteMatch<'r>>, ResolveError> {
    for rule in &script.rules {
        let matched = match_rule(rule, parts, url, lower)?;
        let result = *matched
            .as_ref()
            .map_or_else(|mismatch| mismatch, |(_, result)| result);
        attempts.push(attempt(&rule.rule, lower.is_some(), result));
        if let Ok((site, _)) = matched {
            site.refuse_duplicates()?;
            return Ok(Some(site));
        }
    }
    Ok(None)
}

/// The match of `rule`; the inner error is the first part of the URL that does not match.
fn match_rule<'r>(
    rule: &'r WebsiteRule,
    parts: &UrlParts,
    url: &NormalUrl,
    lower: Option<&NormalUrl>,
) -> Result<Result<(WebsiteMatch<'r>, MatchResult), MatchResult>, ResolveError> {
    if matches!(rule.protocol, Protocol::Only(scheme) if scheme != parts.scheme) {
        return Ok(Err(MatchResult::Protocol));
    }
    if rule.port.is_some_and(|port| port != parts.port) {
        return Ok(Err(MatchResult::Port));
    }
    let url = url.with(&rule.properties, lower.is_some())?;
    let lower = lower.map(|lower| match &url {
        Cow::Borrowed(_) => Cow::Borrowed(lower),
        Cow::Owned(url) => Cow::Owned(url.to_lower_case()),
    });
    Ok(match_path_and_query(rule, &url, lower.as_deref()))
}

fn match_path_and_query<'r>(
    rule: &'r WebsiteRule,
    url: &NormalUrl,
    lower: Option<&NormalUrl>,
) -> Result<(WebsiteMatch<'r>, MatchResult), MatchResult> {
    let read = lower.unwrap_or(url);
    let query = rule
        .query
        .iter()
        .map(|wanted| match_parameter(wanted, read.query.as_deref()))
        .collect::<Option<_>>()
        .ok_or(MatchResult::Query)?;
    let path = read.path.get(1..).unwrap_or("");
    let matched = rule.path.matcher.matches(path).ok_or(MatchResult::Path)?;
    let (path, path_end) = (rule.path.bind(&matched.patterns), matched.end);
    let result = matched_how(matched.with_separators);
    let site = WebsiteMatch {
        url: url.clone(),
        rule: Some(rule),
        path,
        path_end,
        query,
        lower_case: lower.is_some(),
    };
    Ok((site, result))
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

impl WebsiteMatch<'_> {
    /// The position among the rule's query variables of the variable of a parameter; `None` if there is
    /// none.
    pub(crate) fn position_of(&self, parameter: &QueryParameter<'_>) -> Option<usize> {
        let lower = self.lower_case.then(|| lower_case(parameter.name));
        let name = lower.as_deref().unwrap_or(parameter.name);
        self.query
            .iter()
            .position(|bound| bound.variable.name == name)
    }

    /// The answer of the site to parameters without a variable.
    pub(crate) fn unknown_parameters(&self) -> UnknownParameters {
        let kept = UnknownParameters::default();
        self.rule
            .map_or(kept, |rule| rule.properties.unknown_parameters)
    }

    /// The parameters, in the order of the URL.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = QueryParameter<'_>> {
        self.url.query.iter().flat_map(|query| parameters(query))
    }

    /// Refuses a query that repeats a parameter for which the rule has a variable.
    fn refuse_duplicates(&self) -> Result<(), ResolveError> {
        let mut seen = HashSet::new();
        let known = self.parameters();
        for position in known.filter_map(|parameter| self.position_of(&parameter)) {
            if !seen.insert(position) {
                let name = self.query[position].variable.name.clone();
                return Err(ResolveError::DuplicateParameter { name });
            }
        }
        Ok(())
    }

    /// Refuses parameters without a variable, if the rule is strict.
    fn refuse_unknown_parameters(&self, website: &str) -> Result<(), ResolveError> {
        if self.unknown_parameters() != UnknownParameters::Refused {
            return Ok(());
        }
        let Some(unknown) = self
            .parameters()
            .find(|parameter| self.position_of(parameter).is_none())
        else {
            return Ok(());
        };
        let names = self.query.iter().map(|bound| bound.variable.name.as_str());
        let of_path = self
            .rule
            .map(|rule| &rule.properties)
            .and_then(|it| it.path_parameter.as_deref())
            .filter(|name| *name != unknown.name);
        Err(ResolveError::UnknownParameter {
            website: website.to_owned(),
            name: unknown.name.to_owned(),
            nearest: nearest(unknown.name, names.chain(of_path)).map(str::to_owned),
        })
    }
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
        // The page does not have a retired option, and so no value of it.
        let is_retired = matches!(bound.variable.kind, VariableKind::Redirect(_));
        let Some(value) = bound.value.as_deref().filter(|_| !is_retired) else {
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
    Ok(best
        .into_iter()
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
