//! Counts the URLs of each section of urldb.toml that is for some of all URLs. Pure.

use std::collections::BTreeMap;

use urldb_protocol::{self as protocol, Coverage, Envelope};
use urldb_verdict::incident::{Member, MemberKey};

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
        self.sections
            .iter()
            .enumerate()
            .filter(|(_, (_, audience))| self.routing.route(audience).has_record(&record))
            .map(|(index, _)| index)
            .collect()
    }

    /// The counts of each section, by its name.
    pub(super) fn named(&self, urls: Vec<AudienceUrls>) -> BTreeMap<String, AudienceUrls> {
        self.sections
            .iter()
            .map(|(name, _)| name.clone())
            .zip(urls)
            .collect()
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
        for incident in &mut envelope.incidents {
            let affected = incident.affected().count() as u64;
            let of_host = urls.by_host.get(&incident.host).copied();
            incident.host_urls = of_host.unwrap_or_default().max(affected);
        }
        let mut counts = envelope.own_counts();
        counts.unknown += urls.planned.saturating_sub(urls.coverage.due);
        for file in incidents {
            let takes = |key: &MemberKey, member: &Member| route.has_member(key, member);
            file.log.state().count(&envelope.run.id, &mut counts, takes);
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
            counts: counts.of_all(urls.total()),
            coverage,
        }));
    }
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
