//! Incidents with their causes.

use std::collections::BTreeMap;

use urldb_protocol::{
    AffectedUrl, Envelope, Evidence, Finding, Incident, Phase, Reason, Severity, State,
};

use super::lookup::Lookup;
use super::scope::Scope;
use super::urls::{domain_of, host_of};
use crate::sentences::{Cause, Subject, is_home_page, redirect_of};

/// The code of a finding about an alias.
pub(super) const ALIAS_DIFFERS: &str = "alias-differs";

/// An incident, and what its findings say of its cause.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IncidentView<'a> {
    pub(crate) incident: &'a Incident,
    reason: Option<&'a str>,
    /// The domain whose alias is asked, if the host is an alias.
    domain: Option<&'a str>,
}

impl<'a> IncidentView<'a> {
    /// The incidents, those with the most URLs first.
    pub(crate) fn all(incidents: &[&'a Incident], envelope: &Lookup<'a>) -> Vec<Self> {
        let views = incidents
            .iter()
            .map(|incident| Self::new(incident, envelope));
        let mut views: Vec<Self> = views.collect();
        views.sort_by_key(|view| std::cmp::Reverse(view.urls_now()));
        views
    }

    pub(crate) fn new(incident: &'a Incident, envelope: &Lookup<'a>) -> Self {
        // The cause of changed bytes does not include the reason, but the finding does.
        let reason = || {
            let finding = match incident.evidence.url.as_str() {
                "" => envelope.finding_of(incident.urls.first()?),
                _ => envelope.finding_about(&incident.evidence),
            };
            finding?.reason.as_deref()
        };
        let is_alias = |url: &AffectedUrl| {
            envelope
                .finding_of(url)
                .is_some_and(|finding| finding.code == ALIAS_DIFFERS)
        };
        let domain = incident.urls.first().filter(|url| is_alias(url));
        Self {
            domain: domain.and_then(|url| domain_of(&url.file)),
            incident,
            reason: incident.reason.as_deref().or_else(reason),
        }
    }

    /// The domain whose alias the host is.
    pub(crate) fn domain(&self) -> Option<&'a str> {
        self.domain
    }

    pub(crate) fn phase(&self) -> Phase {
        self.incident.phase
    }

    /// The URLs that are affected now; those that were affected last if the incidents are closed.
    pub(crate) fn urls(&self) -> impl Iterator<Item = &'a AffectedUrl> {
        let closed = self.phase() == Phase::Closed;
        let urls = self.incident.urls.iter();
        urls.filter(move |url| closed || url.left.is_none())
    }

    /// Whether this run saw all URLs as promised: they flap.
    pub(crate) fn is_good_today(&self) -> bool {
        self.incident.is_flapping() && self.urls().all(|url| url.seen == Some(State::Ok))
    }

    pub(crate) fn urls_now(&self) -> u64 {
        self.urls().count() as u64
    }

    /// Number of URLs that are broken in the way of the title: some URLs of an incident may be broken in another.
    pub(crate) fn urls_of_title(&self) -> u64 {
        let alike = self.urls().filter(|url| url.state.is_none());
        match alike.count() {
            0 => self.urls_now(),
            alike => alike as u64,
        }
    }

    pub(crate) fn host_urls(&self) -> u64 {
        self.incident.host_urls.max(self.urls_now())
    }

    /// The state and reason that the sentence is about.
    pub(crate) fn cause(&self) -> Cause<'a> {
        let incident = self.incident;
        let redirect = redirect_of(incident);
        Cause {
            subject: match self.urls_now() {
                0 | 1 => Subject::Url,
                _ => Subject::Host,
            },
            state: incident.state,
            reason: self.reason,
            redirect,
            to_home_page: redirect.is_some_and(|target| is_home_page(target, &incident.host)),
            evidence: &incident.evidence,
            domain: self.domain,
            urls: (self.urls_of_title(), self.host_urls()),
        }
    }

    pub(crate) fn reason(&self) -> Option<Reason> {
        self.reason.and_then(|reason| reason.parse().ok())
    }
}

/// Whether nobody is notified about any URL of the incident.
pub(super) fn is_muted(incident: &Incident) -> bool {
    let mut urls = incident.affected();
    let mut any = false;
    urls.all(|url| {
        any = true;
        url.muted
    }) && any
}

/// Whether the run got a result of any URL of the incident.
pub(super) fn was_seen(incident: &Incident, envelope: &Lookup<'_>) -> bool {
    let is_conclusive = |url: &AffectedUrl| {
        let finding = envelope.finding_of(url);
        url.seen.is_some() || finding.is_some_and(|finding| finding.state != State::Inconclusive)
    };
    incident.evidence.tried > 0 || incident.urls.iter().any(is_conclusive)
}

/// A URL and its variant.
type UrlKey<'a> = (&'a str, Option<&'a str>);

fn key_of_finding(finding: &Finding) -> UrlKey<'_> {
    (&finding.url, finding.variant.as_deref())
}

/// The incidents of the envelope, and groups of the URLs that no incident covers: a check has none.
pub(super) fn all_incidents(envelope: &Envelope, scope: Scope<'_>) -> Vec<Incident> {
    let mut incidents = envelope.incidents.clone();
    let mut covered: Vec<UrlKey<'_>> = envelope
        .incidents
        .iter()
        .flat_map(|incident| &incident.urls)
        .map(|url| (url.url.as_str(), url.variant.as_deref()))
        .collect();
    covered.sort_unstable();
    let is_covered = |url: UrlKey<'_>| covered.binary_search(&url).is_ok();
    let mut groups = BTreeMap::new();
    for finding in &envelope.findings {
        if is_about_state(finding) && !is_covered(key_of_finding(finding)) {
            let phase = phase(finding, scope);
            let key = (
                phase.rank(),
                finding.state,
                finding.reason.clone(),
                host_of(&finding.url),
            );
            groups
                .entry(key)
                .or_insert_with(|| broken(finding, phase, envelope))
                .urls
                .push(of_finding(finding));
        }
    }
    incidents.extend(groups.into_values().map(|mut group| {
        group.host_urls = group.urls.len() as u64;
        group
    }));
    incidents
}

/// Whether the finding is about the state of its URL, and not a warning. A URL that fails can have a
/// warning besides, such as that it fails often.
pub(super) fn is_about_state(finding: &Finding) -> bool {
    finding.state != State::Ok
        && (finding.severity == Severity::Error || finding.code == finding.state.as_str())
}

fn phase(finding: &Finding, scope: Scope<'_>) -> Phase {
    if finding.pending {
        Phase::Unconfirmed
    } else if finding.state.is_unsure() {
        Phase::Unknown
    } else if scope.is_check() {
        Phase::Opened
    } else {
        Phase::Unchanged
    }
}

fn broken(finding: &Finding, phase: Phase, envelope: &Envelope) -> Incident {
    let requests = u32::try_from(finding.attempts).unwrap_or(u32::MAX);
    let since = finding.since.unwrap_or(envelope.run.started);
    Incident {
        reason: finding.reason.clone(),
        evidence: Evidence {
            url: finding.url.clone(),
            variant: finding.variant.clone(),
            detail: finding.message.clone(),
            requests,
            agreeing: requests,
            not_archived: finding.not_archived.clone(),
            ..Evidence::default()
        },
        ..Incident::group(phase, host_of(&finding.url), finding.state, since)
    }
}

/// The URL of a finding, with its record. Of a list that is checked without a database, there is none.
fn of_finding(finding: &Finding) -> AffectedUrl {
    let record = finding.uses.split().1;
    let (file, line) = match record {
        Some(record) => (record.file.as_str(), record.line),
        None if finding.uses.is_empty() => (finding.file.as_str(), finding.line),
        None => ("", 0),
    };
    affected(key_of_finding(finding), (file, line))
}

fn affected((url, variant): UrlKey<'_>, (file, line): (&str, usize)) -> AffectedUrl {
    AffectedUrl {
        variant: variant.map(str::to_owned),
        file: file.to_owned(),
        line,
        ..AffectedUrl::of(url)
    }
}
