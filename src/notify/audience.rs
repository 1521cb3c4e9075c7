//! The URLs, hosts and states that each section of urldb.toml is for. Pure.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use urldb_protocol::{Envelope, Evidence, Incident, Notice, NoticeKind, State};
use urldb_verdict::incident::{Member, MemberKey, Reader, time_of, view};

use super::audience_urls::AudienceUrls;
use super::intervals::TOLERANCE;
use crate::config::{Audience, Config, NotifierKind, Occasion, Owners};
use crate::ledger::{IncidentFile, is_known};

/// The sections of urldb.toml that say who is told of which URLs.
#[derive(Debug, Clone, Default)]
pub(super) struct Routing {
    owners: Owners,
    /// The sections that tell people of URLs as soon as there is news, by name: not those of a site, which
    /// shows everything, and not those with `after`.
    sections: BTreeMap<String, Audience>,
    /// The URLs of each section that is for some of all URLs.
    counted: BTreeMap<String, AudienceUrls>,
}

/// A section of urldb.toml, among all others.
#[derive(Clone, Copy)]
pub(super) struct Section<'a> {
    pub(super) name: &'a str,
    pub(super) audience: &'a Audience,
    pub(super) routing: &'a Routing,
}

/// The facts about the record of a URL that decide who is told of it.
#[derive(Debug, Clone)]
pub(super) struct RoutedRecord<'a> {
    /// The host of its domain file.
    pub(super) host: Cow<'a, str>,
    pub(super) categories: &'a [String],
    pub(super) owner: Option<&'a str>,
}

/// The URLs of one section.
#[derive(Debug, Clone)]
pub(super) struct Route<'a> {
    audience: &'a Audience,
    owners: &'a Owners,
    /// The sections to which a section with `else` leaves their URLs, by name.
    others: Vec<(&'a str, Self)>,
}

/// The reason why a section does not have a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Exclusion<'a> {
    /// Its host is none of `domains`.
    Domains,
    /// Its record has none of `categories`.
    Categories,
    /// Its owner is none of `owners`.
    Owners,
    /// This other section gets it, so that `else` does not.
    Other(&'a str),
    /// It is not broken for the time of `after` before this time.
    Early(Timestamp),
    /// Somebody acknowledged it, or it began to flap, before that time.
    Known,
}

impl<'a> Section<'a> {
    /// The URLs of the section in an incident; `None` if its thread does not begin in one of `states`.
    pub(super) fn route_of(self, file: &IncidentFile) -> Option<Route<'a>> {
        self.routing
            .route(self.audience)
            .of_incident(self.name, file)
    }
}

impl Routing {
    pub(super) fn new(config: &Config) -> Self {
        let sections = config.notifiers.iter().filter(|(_, notify)| {
            !matches!(notify.kind, NotifierKind::Html(_)) && notify.audience.after.is_none()
        });
        Self {
            owners: config.owners.clone(),
            sections: sections
                .map(|(name, notify)| (name.clone(), notify.audience.clone()))
                .collect(),
            counted: BTreeMap::new(),
        }
    }

    /// Sets the URLs of each section that is for some of all URLs.
    pub(super) fn set_counted(&mut self, counted: BTreeMap<String, AudienceUrls>) {
        self.counted = counted;
    }

    /// The URLs of the section, if it is for some of all URLs.
    pub(super) fn counted(&self, name: &str) -> Option<&AudienceUrls> {
        self.counted.get(name)
    }

    /// The owner of the record of a host with this path.
    pub(super) fn owner_of(&self, host: &str, path: &str) -> Option<&str> {
        self.owners.of(host, path)
    }

    /// The routing of these sections, without `[owners]`.
    #[cfg(test)]
    pub(super) fn of_sections<const N: usize>(sections: [(&str, Audience); N]) -> Self {
        let sections = sections.map(|(name, audience)| (name.to_owned(), audience));
        Self {
            sections: sections.into(),
            ..Self::default()
        }
    }

    /// The URLs of a section.
    pub(super) fn route<'a>(&'a self, audience: &'a Audience) -> Route<'a> {
        let others = self
            .sections
            .iter()
            .filter(|(_, other)| audience.is_rest && !other.is_rest);
        Route {
            audience,
            owners: &self.owners,
            others: others
                .map(|(name, other)| (name.as_str(), self.route(other)))
                .collect(),
        }
    }

    /// Whether there is a section for people that is not of `after`.
    pub(super) fn has_sections(&self) -> bool {
        !self.sections.is_empty()
    }

    /// The routes of the sections that tell people of broken URLs, by name.
    pub(super) fn telling(&self) -> impl Iterator<Item = (&str, Route<'_>)> {
        self.sections
            .iter()
            .filter(|(_, audience)| audience.tells_breaks())
            .map(|(name, audience)| (name.as_str(), self.route(audience)))
    }
}

/// The part of the report that is about the URLs of the audience.
pub(super) fn routed(envelope: &Envelope, route: &Route<'_>) -> Envelope {
    let mut envelope = envelope.clone();
    // A failure of a single run is not broken for long.
    let is_immediate = route.audience.after.is_none();
    envelope.incidents.retain_mut(|incident| {
        let is_mistake = incident.notice_of(NoticeKind::Mistake).is_some();
        if !route.has_state_of(incident) || !is_immediate && !is_mistake {
            return false;
        }
        if let Some(notice) = incident
            .notice
            .as_ref()
            .filter(|_| incident.urls.is_empty())
        {
            return route.has_notice(notice);
        }
        let had_urls = !incident.urls.is_empty();
        incident
            .urls
            .retain(|url| route.has_url(&url.file, &url.categories, &url.url));
        let about = &incident.evidence;
        if !incident.urls.iter().any(|url| about.is_about(url)) {
            incident.evidence = Evidence::default();
        }
        !had_urls || !incident.urls.is_empty()
    });
    envelope.findings.retain(|finding| {
        route.has_url(&finding.file, &finding.categories, &finding.url)
            && route.has_state(finding.state)
    });
    envelope
        .mistakes
        .retain(|mistake| route.has_domain(&mistake.file));
    envelope.fixed.retain(|fixed| route.has_domain(&fixed.file));
    envelope
}

impl Route<'_> {
    /// The section of the route.
    pub(super) fn audience(&self) -> &Audience {
        self.audience
    }

    /// Whether other sections get URLs that this one would get without `else`.
    pub(super) fn leaves_urls(&self) -> bool {
        self.others
            .iter()
            .any(|(_, other)| other.audience.tells_breaks())
    }

    /// The same route for the URLs of an incident: a section that does not tell of it, since its thread does
    /// not begin in this state, leaves its URLs to `else`.
    pub(super) fn of_incident(mut self, name: &str, file: &IncidentFile) -> Option<Self> {
        self.others = self
            .others
            .into_iter()
            .filter_map(|(name, other)| Some((name, other.of_incident(name, file)?)))
            .collect();
        let begins = || {
            let reader = Reader {
                known: 0,
                takes: &|key, member| self.has_member(key, member),
                takes_notice: &|notice| self.has_notice(notice),
                sees_muted: false,
            };
            view(&file.log, &reader)
                .is_none_or(|it| it.is_about_nothing() || self.has_state_of(&it))
        };
        let has_all = self.audience.states.is_empty() || file.notified.contains_key(name);
        (has_all || begins()).then_some(self)
    }

    /// Whether the audience has a URL of an incident.
    pub(super) fn has_member(&self, key: &MemberKey, member: &Member) -> bool {
        self.has_record(&self.record_of(key, member))
    }

    /// Whether `after` holds back the first card of an incident: no URL has been broken for so long, unless somebody
    /// knew of it before.
    pub(super) fn holds_back(&self, file: &IncidentFile, now: Timestamp) -> bool {
        let state = file.log.state();
        let own = state.members.iter();
        let mut own = own.filter(|(key, member)| !member.muted && self.has_member(key, member));
        self.audience.after.is_some() && own.all(|(_, member)| self.early(member, now).is_some())
    }

    /// The reason why `after` holds back a URL.
    pub(super) fn early(&self, member: &Member, now: Timestamp) -> Option<Exclusion<'_>> {
        let after = self.audience.after?;
        (!is_due(member, after, now)).then(|| early(member, after, now))
    }

    /// The record of a URL when it joined an incident. The event of a run before `[owners]` was written has no
    /// owner.
    pub(super) fn record_of<'m>(&'m self, key: &MemberKey, member: &'m Member) -> RoutedRecord<'m> {
        let joining = &member.joining;
        let host = host_of(&joining.file);
        let now = || self.owners.of_url(&host, &key.url);
        RoutedRecord {
            categories: &joining.categories,
            owner: joining.owner.as_deref().or_else(now),
            host: host.into(),
        }
    }

    /// Whether the audience has the URL of a record in this domain file.
    pub(super) fn has_url(&self, file: &str, categories: &[String], url: &str) -> bool {
        let host = host_of(file);
        self.has_record(&RoutedRecord {
            categories,
            owner: self.owners.of_url(&host, url),
            host: host.into(),
        })
    }

    pub(super) fn has_record(&self, record: &RoutedRecord<'_>) -> bool {
        self.exclusion(record).is_none()
    }

    /// The reason why the audience does not have the URL of a record.
    pub(super) fn exclusion(&self, record: &RoutedRecord<'_>) -> Option<Exclusion<'_>> {
        let Audience {
            domains,
            categories,
            owners,
            ..
        } = self.audience;
        let is_wanted = |category: &String| categories.contains(category);
        let is_own = |owner: &str| owners.iter().any(|it| it == owner);
        if !domains.is_empty() && !domains.iter().any(|pattern| pattern.matches(&record.host)) {
            return Some(Exclusion::Domains);
        }
        if !categories.is_empty() && !record.categories.iter().any(is_wanted) {
            return Some(Exclusion::Categories);
        }
        if !owners.is_empty() && !record.owner.is_some_and(is_own) {
            return Some(Exclusion::Owners);
        }
        self.others
            .iter()
            .find(|(_, other)| other.audience.tells_breaks() && other.has_record(record))
            .map(|(name, _)| Exclusion::Other(name))
    }

    /// Whether the audience is told of mistakes in the domain file.
    pub(super) fn has_domain(&self, file: &str) -> bool {
        let Audience {
            domains, owners, ..
        } = self.audience;
        let host = host_of(file);
        let tells_mistakes = |audience: &Audience| audience.tells(Occasion::Mistake);
        (domains.is_empty() || domains.iter().any(|pattern| pattern.matches(&host)))
            && (owners.is_empty() || self.owners.has_host(&host, owners))
            && !self
                .others
                .iter()
                .any(|(_, other)| tells_mistakes(other.audience) && other.has_domain(file))
    }

    /// Whether the audience is told of a notice: by the URLs that are in danger. A section with `else` leaves it
    /// to one that takes all URLs of the host.
    pub(super) fn has_notice(&self, notice: &Notice) -> bool {
        let Audience {
            domains,
            categories,
            owners,
            after,
            ..
        } = self.audience;
        if notice.kind == NoticeKind::Mistake {
            return self.has_domain(&notice.file);
        }
        let tells_warnings = |other: &Self| other.audience.tells(Occasion::Warning);
        if notice.file.is_empty() {
            // An impaired run says nothing about the URLs of any section.
            let is_delivered = |other: &Self| tells_warnings(other) && other.has_notice(notice);
            return after.is_none() && !self.others.iter().any(|(_, other)| is_delivered(other));
        }
        let host = host_of(&notice.file);
        let is_wanted = |category: &String| categories.contains(category);
        let is_delivered = |other: &Self| {
            let takes_all =
                other.audience.categories.is_empty() && other.audience.owners.is_empty();
            tells_warnings(other) && takes_all && other.has_notice(notice)
        };
        after.is_none()
            && (domains.is_empty() || domains.iter().any(|pattern| pattern.matches(&host)))
            && (categories.is_empty() || notice.categories.iter().any(is_wanted))
            && (owners.is_empty() || self.owners.has_host(&host, owners))
            && !self.others.iter().any(|(_, other)| is_delivered(other))
    }

    /// Whether the audience has the state of the incident. A host whose certificate ends becomes unreachable;
    /// other notices have no state.
    fn has_state_of(&self, incident: &Incident) -> bool {
        let kind = incident.notice.as_ref().map(|notice| notice.kind);
        match kind.filter(|_| incident.is_notice()) {
            Some(NoticeKind::CertificateEnds) => self.has_state(State::Unreachable),
            Some(_) => true,
            None => self.has_state(incident.state),
        }
    }

    pub(super) fn has_state(&self, state: State) -> bool {
        self.audience.states.is_empty() || self.audience.states.contains(&state)
    }
}

/// Whether the URL has been broken for this time, before somebody acknowledged it, and before it began to flap.
fn is_due(member: &Member, after: Duration, now: Timestamp) -> bool {
    let Ok(after) = SignedDuration::try_from(after) else {
        return false;
    };
    let since = member.joining.since;
    // As `has_passed`: nothing is known of a time in the future.
    let is_long =
        |by: Timestamp| !is_known(since, now) || by.duration_since(since) >= after - TOLERANCE;
    let ends = [&member.acked, &member.flapping].into_iter().flatten();
    is_long(now) && ends.filter_map(|run| time_of(run)).all(is_long)
}

/// The reason why a URL is not due.
fn early<'a>(member: &Member, after: Duration, now: Timestamp) -> Exclusion<'a> {
    let due = SignedDuration::try_from(after)
        .ok()
        .and_then(|after| member.joining.since.checked_add(after).ok());
    match due.filter(|due| *due > now) {
        Some(due) if member.acked.is_none() && member.flapping.is_none() => Exclusion::Early(due),
        _ => Exclusion::Known,
    }
}

/// The host that a domain file is named after.
fn host_of(file: &str) -> String {
    urldb_format::host_of(Path::new(file))
}
