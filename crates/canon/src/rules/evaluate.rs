//! A URL against the rules: which match, and what their variables take.

use std::collections::BTreeMap;

use super::compile::{DomainScript, Parameter, WebsiteRule, WebsiteScript};
use super::failure::Failure;
use super::names::registrable_domain;
use super::query::{arguments, lower_case};
use super::set::SiteRules;
use super::slot::Bound;
use super::trace::{Namespace, Parts, RuleRef, Tried, Variable, Verdict};
use crate::host::canonical_host;

/// The longest URL that rules are asked about, in bytes.
const MAX_URL: usize = 8 << 10;

/// The steps of a [`Trace`](super::Trace) that have been done.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    pub(crate) domain_rules: Option<Vec<Tried>>,
    pub(crate) website: Option<String>,
    pub(crate) website_rules: Option<Vec<Tried>>,
    pub(crate) variables: Vec<Variable>,
}

/// What the rules make of a URL.
#[derive(Debug)]
pub(crate) struct Evaluation<'r> {
    pub(crate) parts: Parts,
    pub(crate) domain: String,
    /// `None` where the domain has no script.
    pub(crate) host: Option<Vec<Bound<'r>>>,
    pub(crate) site: Site<'r>,
    pub(crate) website: String,
    pub(crate) options: BTreeMap<String, String>,
}

/// What a website's rule takes of protocol, port, path and query.
#[derive(Debug, Default)]
pub(crate) struct Site<'r> {
    /// `None` where the website has no script.
    pub(crate) rule: Option<&'r WebsiteRule>,
    pub(crate) path: Vec<Bound<'r>>,
    /// How much of the path, without its first slash, is taken.
    pub(crate) taken: usize,
    pub(crate) query: Vec<Bound<'r>>,
    /// Whether it was taken in lower case.
    pub(crate) lower_case: bool,
}

/// Evaluates `parts`, once.
pub(crate) fn evaluate<'r>(
    rules: &'r SiteRules,
    parts: Parts,
    steps: &mut Steps,
) -> Result<Evaluation<'r>, Failure> {
    let domain = registrable_domain(&parts.host).to_owned();
    let host = match rules.domain(&domain) {
        None => None,
        Some(script) => {
            let tried = steps.domain_rules.insert(Vec::new());
            let bound = match_host(script, &parts.host, &domain, tried);
            Some(bound.ok_or_else(|| Failure::UnknownDomain {
                host: parts.host.clone(),
                domain: domain.clone(),
            })?)
        }
    };
    steps
        .variables
        .extend(host.iter().flatten().map(Bound::variable));
    let website = match &host {
        None => parts.host.clone(),
        Some(bound) => website(bound, &domain)?,
    };
    steps.website = Some(website.clone());
    let site = match rules.website(&website) {
        None => Site::default(),
        Some(script) => {
            let tried = steps.website_rules.insert(Vec::new());
            let site = match_site(script, &parts, tried)?;
            site.ok_or_else(|| Failure::UnknownWebsite {
                website: website.clone(),
            })?
        }
    };
    let bound = site.query.iter().chain(&site.path);
    steps.variables.extend(bound.map(Bound::variable));
    let options = options(host.iter().flatten().chain(&site.query).chain(&site.path))?;
    Ok(Evaluation {
        parts,
        domain,
        host,
        site,
        website,
        options,
    })
}

fn match_host<'r>(
    script: &'r DomainScript,
    host: &str,
    domain: &str,
    tried: &mut Vec<Tried>,
) -> Option<Vec<Bound<'r>>> {
    let below = host.strip_suffix(domain).unwrap_or("");
    for rule in &script.rules {
        let found = rule.host.matcher.matches(below);
        let verdict = match &found {
            None => Verdict::Host,
            Some(found) if found.separated => Verdict::MatchedWithSeparators,
            Some(_) => Verdict::Matched,
        };
        tried.push(attempt(&rule.rule, false, verdict));
        if let Some(found) = found {
            return Some(rule.host.bind(&found.found));
        }
    }
    None
}

/// The website that the host's variables name.
fn website(bound: &[Bound<'_>], domain: &str) -> Result<String, Failure> {
    let kept: String = bound.iter().map(Bound::kept).collect();
    let website = below(&kept, domain);
    match canonical_host(&website) {
        Ok(canonical) if canonical == website => Ok(website),
        other => Err(Failure::BadWebsite {
            website,
            problem: other.err().unwrap_or("is no host in canonical spelling"),
        }),
    }
}

/// The host `labels` below `domain`.
pub(crate) fn below(labels: &str, domain: &str) -> String {
    let dot = if labels.is_empty() || labels.ends_with('.') {
        ""
    } else {
        "."
    };
    format!("{labels}{dot}{domain}")
}

/// The first rule that matches the URL as it is written, or else in lower case.
fn match_site<'r>(
    script: &'r WebsiteScript,
    parts: &Parts,
    tried: &mut Vec<Tried>,
) -> Result<Option<Site<'r>>, Failure> {
    let length = parts.to_string().len();
    if length > MAX_URL {
        return Err(Failure::TooLong {
            length,
            limit: MAX_URL,
        });
    }
    if let Some(site) = first_match(script, parts, false, tried)? {
        return Ok(Some(site));
    }
    let lower = Parts {
        path: lower_case(&parts.path),
        query: parts.query.as_deref().map(lower_case),
        ..parts.clone()
    };
    if lower == *parts {
        return Ok(None);
    }
    first_match(script, &lower, true, tried)
}

fn first_match<'r>(
    script: &'r WebsiteScript,
    parts: &Parts,
    lower_case: bool,
    tried: &mut Vec<Tried>,
) -> Result<Option<Site<'r>>, Failure> {
    for rule in &script.rules {
        let found = match_rule(rule, parts, lower_case);
        let verdict = *found.as_ref().map_or_else(|no| no, |(_, how)| how);
        tried.push(attempt(&rule.rule, lower_case, verdict));
        if let Ok((site, _)) = found {
            once(rule, parts)?;
            return Ok(Some(site));
        }
    }
    Ok(None)
}

fn match_rule<'r>(
    rule: &'r WebsiteRule,
    parts: &Parts,
    lower_case: bool,
) -> Result<(Site<'r>, Verdict), Verdict> {
    if rule.scheme.is_some_and(|scheme| scheme != parts.scheme) {
        return Err(Verdict::Protocol);
    }
    if rule.port.is_some_and(|port| port != parts.port) {
        return Err(Verdict::Port);
    }
    let query = parts.query.as_deref();
    let parameters = rule.query.iter();
    let query = parameters
        .map(|parameter| match_parameter(parameter, query))
        .collect::<Option<_>>()
        .ok_or(Verdict::Query)?;
    let path = parts.path.get(1..).unwrap_or("");
    let found = rule.path.matcher.matches(path).ok_or(Verdict::Path)?;
    let site = Site {
        rule: Some(rule),
        path: rule.path.bind(&found.found),
        taken: found.end,
        query,
        lower_case,
    };
    let verdict = if found.separated {
        Verdict::MatchedWithSeparators
    } else {
        Verdict::Matched
    };
    Ok((site, verdict))
}

fn match_parameter<'r>(parameter: &'r Parameter, query: Option<&str>) -> Option<Bound<'r>> {
    let slot = &parameter.slot;
    let argument = query.and_then(|query| arguments(query).find(|a| a.name == slot.name));
    match argument {
        None => (!parameter.required).then(|| slot.bind(None)),
        Some(argument) => {
            let value = argument.value()?;
            let found = parameter.matcher.matches(&value)?.found;
            Some(slot.bind(found.first().copied().flatten()))
        }
    }
}

/// A parameter that the rule knows is there once.
fn once(rule: &WebsiteRule, parts: &Parts) -> Result<(), Failure> {
    let query = parts.query.as_deref().unwrap_or("");
    for parameter in &rule.query {
        let name = &parameter.slot.name;
        if arguments(query).filter(|a| a.name == name).count() > 1 {
            return Err(Failure::DuplicateParameter { name: name.clone() });
        }
    }
    Ok(())
}

/// Values by name: what the URL says, else the default of the official position, else the first.
fn options<'b, 'r: 'b>(
    bound: impl Iterator<Item = &'b Bound<'r>>,
) -> Result<BTreeMap<String, String>, Failure> {
    /// How sure a value is.
    #[derive(PartialEq, PartialOrd)]
    enum Rank {
        Default,
        Official,
        Said,
    }
    let mut best: BTreeMap<&str, (Rank, &str)> = BTreeMap::new();
    for one in bound {
        let Some(value) = one.value.as_deref() else {
            continue;
        };
        let rank = match (&one.text, one.slot.namespace) {
            (Some(_), _) => Rank::Said,
            (None, Namespace::Official) => Rank::Official,
            (None, _) => Rank::Default,
        };
        match best.get(one.slot.name.as_str()) {
            Some((Rank::Said, first)) if rank == Rank::Said && *first != value => {
                return Err(Failure::ContradictoryOption {
                    name: one.slot.name.clone(),
                    first: (*first).to_owned(),
                    second: value.to_owned(),
                });
            }
            Some((before, _)) if *before >= rank => {}
            _ => {
                best.insert(&one.slot.name, (rank, value));
            }
        }
    }
    let owned = |(name, (_, value)): (&str, (Rank, &str))| (name.to_owned(), value.to_owned());
    Ok(best.into_iter().map(owned).collect())
}

fn attempt(rule: &RuleRef, lower_case: bool, verdict: Verdict) -> Tried {
    Tried {
        rule: rule.clone(),
        lower_case,
        verdict,
    }
}
