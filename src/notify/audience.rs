//! The URLs, hosts and states that each section of urldb.toml is for. Pure.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use urldb_protocol::{Envelope, Evidence, Incident, Notice, NoticeKind, State};
use urldb_verdict::incident::{Member, MemberKey, Reader, time_of, view};

use super::audience_urls::AudienceUrls;
use super::intervals::TOLERANCE;
use crate::config::{Audience, Config, DomainPattern, NotifierKind, Occasion, Owners};
use crate::ledger::{Filter, IncidentFile, is_known};

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
    /// Whether each incident has a place of its own, such as an issue, which ends with it.
    pub(super) keeps_threads: bool,
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
    /// Somebody acknowledged it, or it began to come and go, before that time.
    Known,
}

impl<'a> Section<'a> {
    /// The URLs of the section in an incident; `None` if its thread does not begin in one of `states`.
    pub(super) fn route_of(self, file: &IncidentFile) -> Option<Route<'a>> {
        let route = self.routing.route(self.audience);
        route.of_incident(self.name, file)
    }
}

impl Routing {
    pub(super) fn new(config: &Config) -> Self {
        let sections = config.notifiers.iter();
        let sections = sections.filter(|(_, notify)| {
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
        let others = self.sections.iter();
        let others = others.filter(|(_, other)| audience.is_rest && !other.is_rest);
        Route {
            audience,
            owners: &self.owners,
            others: others
                .map(|(name, other)| (name.as_str(), self.route(other)))
                .collect(),
        }
    }

    /// The section with this filter, among the sections to which it left URLs.
    pub(super) fn of_filter(&self, filter: &Filter) -> (Audience, Self) {
        let others = filter.except.iter().enumerate();
        let routing = Self {
            owners: self.owners.clone(),
            sections: others
                .map(|(number, other)| (number.to_string(), audience_of(other)))
                .collect(),
            counted: BTreeMap::new(),
        };
        (audience_of(filter), routing)
    }

    /// Whether there is a section for people that is not of `after`.
    pub(super) fn has_sections(&self) -> bool {
        !self.sections.is_empty()
    }

    /// The routes of the sections that tell people of broken URLs, by name.
    pub(super) fn telling(&self) -> impl Iterator<Item = (&str, Route<'_>)> {
        let sections = self.sections.iter();
        let telling = sections.filter(|(_, audience)| audience.tells_breaks());
        telling.map(|(name, audience)| (name.as_str(), self.route(audience)))
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
    envelope.changes.retain(|change| {
        is_immediate
            && route.has_url(&change.file, &change.categories, &change.url)
            && (route.has_state(change.from) || route.has_state(change.to))
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
        let mut others = self.others.iter();
        others.any(|(_, other)| other.audience.tells_breaks())
    }

    /// The URLs of the route, as the ledger stores them.
    pub(super) fn filter(&self) -> Filter {
        let Audience {
            domains,
            categories,
            owners,
            after,
            ..
        } = self.audience;
        let domains = domains.iter().map(|pattern| pattern.as_str().to_owned());
        let others = self.others.iter();
        let others = others.filter(|(_, other)| other.audience.tells_breaks());
        Filter {
            domains: sorted(domains),
            categories: sorted(categories.iter().cloned()),
            owners: sorted(owners.iter().cloned()),
            after: after.map(|after| after.as_secs().to_string()),
            except: sorted(others.map(|(_, other)| other.filter())),
        }
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
                takes: &|key, member, _| self.has_record(&self.record_of(key, member)),
                takes_notice: &|notice| self.has_notice(notice),
                sees_muted: false,
                ..Reader::of_all(0)
            };
            let incident = view(&file.log, &reader);
            incident.is_none_or(|incident| self.has_state_of(&incident))
        };
        let has_all = self.audience.states.is_empty() || file.notified.contains_key(name);
        (has_all || begins()).then_some(self)
    }

    /// Whether the audience has a URL of an incident now, or had it at any time until the given one.
    pub(super) fn has_member(
        &self,
        member: (&MemberKey, &Member),
        until: Option<Timestamp>,
        now: Timestamp,
    ) -> bool {
        self.exclusion_of_member(member, until, now).is_none()
    }

    /// The reason why the audience does not have a URL of an incident now, or had it at no time until the given
    /// one. With `after`, it has only a URL that had been broken for so long, unless somebody had acknowledged it
    /// before.
    pub(super) fn exclusion_of_member(
        &self,
        (key, member): (&MemberKey, &Member),
        until: Option<Timestamp>,
        now: Timestamp,
    ) -> Option<Exclusion<'_>> {
        // Whether a section with `states` told of the incident by then is not known.
        let counts = |other: &Self| until.is_none() || other.audience.states.is_empty();
        let excluded = self.exclusion(&self.record_of(key, member), counts);
        excluded.or_else(|| {
            let after = self.audience.after?;
            let is_due = is_due(member, after, until.unwrap_or(now), now);
            (!is_due).then(|| early(member, after, now))
        })
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
        self.exclusion(record, |_| true).is_none()
    }

    /// The reason why the audience does not have the URL of a record. `counts` says which of the sections count
    /// to which `else` leaves their URLs.
    fn exclusion(
        &self,
        record: &RoutedRecord<'_>,
        counts: impl Fn(&Self) -> bool,
    ) -> Option<Exclusion<'_>> {
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
        let mut others = self.others.iter();
        let other = others.find(|(_, other)| {
            other.audience.tells_breaks() && counts(other) && other.has_record(record)
        });
        other.map(|(name, _)| Exclusion::Other(name))
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
        if notice.kind == NoticeKind::Blind {
            // A run without results says nothing about the URLs of any section.
            let is_told = |other: &Self| tells_warnings(other) && other.has_notice(notice);
            return after.is_none() && !self.others.iter().any(|(_, other)| is_told(other));
        }
        let host = host_of(&notice.file);
        let is_wanted = |category: &String| categories.contains(category);
        let is_told = |other: &Self| {
            let takes_all =
                other.audience.categories.is_empty() && other.audience.owners.is_empty();
            tells_warnings(other) && takes_all && other.has_notice(notice)
        };
        after.is_none()
            && (domains.is_empty() || domains.iter().any(|pattern| pattern.matches(&host)))
            && (categories.is_empty() || notice.categories.iter().any(is_wanted))
            && (owners.is_empty() || self.owners.has_host(&host, owners))
            && !self.others.iter().any(|(_, other)| is_told(other))
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

fn sorted<T: Ord>(values: impl Iterator<Item = T>) -> Vec<T> {
    let values: BTreeSet<T> = values.collect();
    values.into_iter().collect()
}

/// A section for all news about the URLs that a filter takes.
fn audience_of(filter: &Filter) -> Audience {
    let domains = filter.domains.iter();
    let after = filter.after.as_ref();
    Audience {
        domains: domains.filter_map(|it| DomainPattern::parse(it)).collect(),
        categories: filter.categories.clone(),
        owners: filter.owners.clone(),
        after: after.and_then(|it| Some(Duration::from_secs(it.parse().ok()?))),
        is_rest: !filter.except.is_empty(),
        ..Audience::news()
    }
}

/// Whether the URL had been broken for this time by then, before somebody acknowledged it, and before it began
/// to come and go.
fn is_due(member: &Member, after: Duration, by: Timestamp, now: Timestamp) -> bool {
    let Ok(after) = SignedDuration::try_from(after) else {
        return false;
    };
    let since = member.joining.since;
    // As `has_passed`: nothing is known of a time in the future.
    let is_long =
        |by: Timestamp| !is_known(since, now) || by.duration_since(since) >= after - TOLERANCE;
    let ends = [&member.acked, &member.intermittent].into_iter().flatten();
    is_long(by) && ends.filter_map(|run| time_of(run)).all(is_long)
}

/// The reason why a URL is not due.
fn early<'a>(member: &Member, after: Duration, now: Timestamp) -> Exclusion<'a> {
    let due = SignedDuration::try_from(after).ok();
    let due = due.and_then(|after| member.joining.since.checked_add(after).ok());
    match due.filter(|due| *due > now) {
        Some(due) if member.acked.is_none() && member.intermittent.is_none() => {
            Exclusion::Early(due)
        }
        _ => Exclusion::Known,
    }
}

/// The host that a domain file is named after.
fn host_of(file: &str) -> String {
    urldb_format::host_of(Path::new(file))
}
