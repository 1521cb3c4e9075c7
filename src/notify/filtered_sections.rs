//! Counts the URLs of each section of urldb.toml that is for some of all URLs. Pure.

use std::collections::{BTreeMap, HashSet};

use urldb_protocol::{
    self as protocol, AffectedUrl, Counts, Coverage, Envelope, Finding, Incident, Phase, Severity,
};
use urldb_verdict::incident::MemberKey;

use super::audience::{Route, RoutedRecord, Routing, Section};
use super::audience_urls::AudienceUrls;
use crate::config::{Audience, Config, DomainPattern, NotifierKind};
use crate::ledger::IncidentFile;

/// The sections that are for some of all URLs, in a fixed order.
#[derive(Debug, Clone, Default)]
pub struct FilteredSections {
    routing: Routing,
    sections: Vec<(String, Audience)>,
}

impl FilteredSections {
    pub(super) fn new(config: &Config, routing: &Routing) -> Self {
        let sections = config.notifiers.iter();
        // A site shows everything.
        let sections = sections.filter(|(_, notify)| !matches!(notify.kind, NotifierKind::Html(_)));
        let filtered = sections.filter(|(_, notify)| routing.route(&notify.audience).is_filtered());
        Self {
            routing: routing.clone(),
            sections: filtered
                .map(|(name, notify)| (name.clone(), notify.audience.clone()))
                .collect(),
        }
    }

    /// Whether all sections are for all URLs.
    pub fn is_empty(&self) -> bool {
        self.sections.is_empty()
    }

    /// No URLs of each section.
    pub fn none(&self) -> Vec<AudienceUrls> {
        vec![AudienceUrls::default(); self.sections.len()]
    }

    /// The positions of the sections that take the URLs of a record of this host.
    pub fn taking(&self, host: &str, path: &str, categories: &[String]) -> Vec<usize> {
        if self.is_empty() {
            return vec![];
        }
        let record = RoutedRecord {
            host: host.into(),
            categories,
            owner: self.routing.owner_of(host, path),
        };
        let sections = self.sections.iter().enumerate();
        let taking = sections.filter(|(_, (_, audience))| {
            let route = self.routing.route(audience);
            route.has_record(&record)
        });
        taking.map(|(index, _)| index).collect()
    }

    /// The counts of each section, by its name.
    pub(super) fn named(&self, urls: Vec<AudienceUrls>) -> BTreeMap<String, AudienceUrls> {
        let names = self.sections.iter().map(|(name, _)| name.clone());
        names.zip(urls).collect()
    }
}

impl Section<'_> {
    /// Adds the counts of the section's URLs to its report, if it is for some of all URLs. `incidents` are those
    /// that the run knows.
    pub(super) fn count_urls(self, envelope: &mut Envelope, incidents: &[IncidentFile]) {
        let Some(urls) = self.routing.counted(self.name) else {
            return;
        };
        let route = self.routing.route(self.audience);
        let mut told: HashSet<MemberKey> = HashSet::new();
        for incident in &mut envelope.incidents {
            let affected = incident.affected().count() as u64;
            let of_host = urls.by_host.get(&incident.host).copied();
            incident.host_urls = of_host.unwrap_or_default().max(affected);
            let has_id = !incident.id.is_empty();
            told.extend(incident.affected().filter(|_| has_id).map(key_of));
        }
        let mut all = urls.total();
        let is_warning = |finding: &&Finding| finding.severity == Severity::Warning;
        let mut counts = Counts {
            unconfirmed: of_phase(&envelope.incidents, Phase::Unconfirmed),
            unknown: of_phase(&envelope.incidents, Phase::Unknown),
            warnings: envelope.findings.iter().filter(is_warning).count() as u64,
            mistakes: envelope.mistakes.len() as u64,
            ..Counts::default()
        };
        let mut counted: HashSet<MemberKey> = HashSet::new();
        for file in incidents {
            for (key, member) in file.log.state().members {
                let takes = route.has_record(&route.record_of(&key, &member));
                if (takes || told.contains(&key)) && counted.insert(key) {
                    // Told before the URL, or the filter, was changed.
                    all += u64::from(!takes);
                    counts.add_affected(member.intermittent.is_some(), member.muted);
                }
            }
        }
        let milliseconds = envelope.summary.coverage.milliseconds;
        let coverage = match envelope.summary.audience.take() {
            // Nothing was checked since the run of the report.
            Some(stored) => stored.coverage,
            None => Coverage {
                due: urls.coverage.due.max(urls.planned),
                milliseconds,
                ..urls.coverage.clone()
            },
        };
        envelope.summary.audience = Some(Box::new(protocol::Audience {
            name: name_of(self.audience),
            counts: counts.of_all(all),
            coverage,
        }));
    }
}

fn key_of(url: &AffectedUrl) -> MemberKey {
    MemberKey {
        url: url.url.clone(),
        request: url.request.clone(),
        variant: url.variant.clone(),
    }
}

fn of_phase(incidents: &[Incident], phase: Phase) -> u64 {
    let groups = incidents.iter().filter(|incident| incident.phase == phase);
    groups.map(|incident| incident.urls.len() as u64).sum()
}

/// The URLs of a section, as they follow `40 URLs of`. Only one kind of filter has a short name.
fn name_of(audience: &Audience) -> String {
    let Audience {
        domains,
        categories,
        owners,
        is_rest,
        ..
    } = audience;
    let domains: Vec<&str> = domains.iter().map(DomainPattern::as_str).collect();
    match (&owners[..], &domains[..], &categories[..]) {
        _ if *is_rest => "this section".to_owned(),
        ([owner], [], []) => owner.clone(),
        ([], [host], []) => (*host).to_owned(),
        ([], [], [category]) => format!("category {category}"),
        _ => "this section".to_owned(),
    }
}

impl Route<'_> {
    /// Whether the route is for some of all URLs.
    fn is_filtered(&self) -> bool {
        let Audience {
            domains,
            categories,
            owners,
            ..
        } = self.audience();
        let has_filter = !domains.is_empty() || !categories.is_empty() || !owners.is_empty();
        has_filter || self.leaves_urls()
    }
}
