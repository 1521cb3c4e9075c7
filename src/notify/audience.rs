//! The URLs, hosts and states that one notifier is for. Pure.

use std::path::Path;

use urldb_protocol::{Envelope, Evidence, Incident, State};

use crate::config::{Audience, Occasion};

/// The part of the report that is about the URLs of the audience.
pub(super) fn routed(envelope: &Envelope, audience: &Audience) -> Envelope {
    let mut envelope = envelope.clone();
    let route = Route(audience);
    envelope.incidents.retain_mut(|incident| {
        if !route.has_state(incident.state) {
            return false;
        }
        let had_urls = !incident.urls.is_empty();
        incident
            .urls
            .retain(|url| route.has_url(&url.file, &url.categories));
        let about = &incident.evidence.url;
        if !incident.urls.iter().any(|url| url.url == *about) {
            incident.evidence = Evidence::default();
        }
        !had_urls || !incident.urls.is_empty()
    });
    envelope.findings.retain(|finding| {
        route.has_url(&finding.file, &finding.categories) && route.has_state(finding.state)
    });
    envelope.changes.retain(|change| {
        route.has_url(&change.file, &change.categories)
            && (route.has_state(change.from) || route.has_state(change.to))
    });
    envelope
        .mistakes
        .retain(|mistake| route.has_domain(&mistake.file));
    envelope.fixed.retain(|fixed| route.has_domain(&fixed.file));
    envelope
}

/// The routes of an audience.
pub(super) struct Route<'a>(pub(super) &'a Audience);

/// Whether the audience has URLs of the domain file with this name and these categories.
pub(super) fn has_url(audience: &Audience, file: &str, categories: &[String]) -> bool {
    Route(audience).has_url(file, categories)
}

/// Whether the audience wants to hear of what is broken.
pub(super) fn hears(audience: &Audience, incident: &Incident) -> bool {
    let route = Route(audience);
    let mut urls = incident.urls.iter().filter(|url| !url.muted);
    let mut occasions = [Occasion::Broken, Occasion::EveryRun].iter();
    occasions.any(|occasion| audience.on.contains(occasion))
        && route.has_state(incident.state)
        && urls.any(|url| route.has_url(&url.file, &url.categories))
}

impl Route<'_> {
    pub(super) fn has_url(&self, file: &str, categories: &[String]) -> bool {
        let wanted = &self.0.categories;
        let has_category =
            wanted.is_empty() || categories.iter().any(|category| wanted.contains(category));
        has_category && self.has_domain(file)
    }

    /// Whether the audience has the host that the domain file is named after.
    pub(super) fn has_domain(&self, file: &str) -> bool {
        let wanted = &self.0.domains;
        let host = Path::new(file).file_stem().unwrap_or_default();
        let host = host.to_string_lossy();
        wanted.is_empty() || wanted.iter().any(|pattern| pattern.matches(&host))
    }

    pub(super) fn has_state(&self, state: State) -> bool {
        self.0.states.is_empty() || self.0.states.contains(&state)
    }
}
