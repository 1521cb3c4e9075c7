//! The report as one notifier tells it: the news since the newest card of each incident, and what is true now. Pure.

use std::collections::BTreeSet;

use data_encoding::HEXLOWER;
use jiff::Timestamp;
use sha2::{Digest, Sha256};
use urldb_protocol::{Envelope, Incident, NoticeKind, Phase};
use urldb_verdict::incident::{Reader, lacking, view};

use super::audience::{Section, routed};
use super::intervals::is_over;
use super::reminders::Reminders;
use crate::config::Occasion;
use crate::ledger::{IncidentFile, NewestCard};

/// A report as one notifier tells it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NotifierReport {
    pub(super) envelope: Envelope,
    /// Whether there is anything to tell.
    pub(super) has_news: bool,
    /// The newest card of each incident that is told, once it is delivered, by its id.
    pub(super) delivered: Vec<(String, NewestCard)>,
    /// The same of incidents of which the notifier does not want to hear.
    pub(super) passed: Vec<(String, NewestCard)>,
}

/// The decision about one incident.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
    /// It is told now.
    Tell,
    /// It is repeated.
    Remind,
    /// It waits for a later message.
    Wait,
    /// The notifier does not want to hear of it.
    Pass,
}

/// An incident as a section sees it, beside its newest card.
pub(super) struct SeenIncident {
    pub(super) incident: Incident,
    pub(super) newest: NewestCard,
    /// The card of the incident as it is.
    card: NewestCard,
}

/// The report as a section tells it. `incidents` are those that are open, or closed within 30 days, after the
/// run.
///
/// Of the incidents in the report, those with the phase unchanged are not told: they are still open.
pub(super) fn report_for(
    envelope: &Envelope,
    incidents: &[IncidentFile],
    section: Section<'_>,
) -> NotifierReport {
    let run = envelope;
    let audience = section.audience;
    let mut envelope = routed(envelope, &section.routing.route(audience));
    let wants = |occasion| audience.tells(occasion);
    let cards = delivered_incidents(run, incidents, section, &wants);
    envelope.incidents.retain(|incident| incident.id.is_empty());
    envelope.incidents.extend(cards.incidents);
    envelope.incidents.sort_by(|a, b| a.order().cmp(&b.order()));
    envelope.incidents.sort_by_key(Incident::importance);
    let delivered = cards.delivered;
    envelope.add_unread_mistakes();
    envelope.take_mistakes_of_notices();
    let has_news = !delivered.is_empty()
        || envelope.incidents.iter().any(|incident| incident.quiet)
        || audience.on.contains(&Occasion::EveryRun);
    section.count_urls(&mut envelope, incidents);
    envelope.next_reminder = cards.next_reminder;
    envelope.tells = tells(&envelope, incidents, section.name, &delivered);
    NotifierReport {
        envelope,
        has_news,
        delivered,
        passed: cards.passed,
    }
}

/// Identifies what the report tells: a later run that tells the same cards, after the same ones, has the same.
/// `None` for what belongs to the run: a reminder, a report without incidents.
fn tells(
    envelope: &Envelope,
    known: &[IncidentFile],
    name: &str,
    delivered: &[(String, NewestCard)],
) -> Option<String> {
    let is_reminder = envelope.incidents.iter().any(|incident| incident.reminder);
    if is_reminder {
        return None;
    }
    let mut hasher = Sha256::new();
    let mut last = None;
    for (id, card) in delivered {
        let file = known.iter().find(|file| file.log.id == *id)?;
        let before = file.notified.get(name);
        let at = before.and_then(|before| before.at);
        let at = at.map_or_else(String::new, |at| at.to_string());
        let before = before.and_then(|before| before.digest.as_deref());
        let digest = card.digest.as_deref();
        for part in [
            id,
            &at,
            before.unwrap_or_default(),
            digest.unwrap_or_default(),
        ] {
            add(&mut hasher, part);
        }
        last = last.max(file.log.events.last().map(|event| event.id.as_str()));
    }
    let time = last?.split('-').next().unwrap_or_default();
    let digest = HEXLOWER.encode(&hasher.finalize()[..4]);
    Some(format!("{time}-{digest}"))
}

fn add(hasher: &mut Sha256, part: &str) {
    hasher.update((part.len() as u64).to_le_bytes());
    hasher.update(part);
}

/// The incidents of a report, as the notifier sees them.
#[derive(Default)]
struct DeliveredIncidents {
    incidents: Vec<Incident>,
    /// The newest card of each that is told.
    delivered: Vec<(String, NewestCard)>,
    /// The same of those of which the notifier does not want to hear.
    passed: Vec<(String, NewestCard)>,
    /// The time from which on the next reminder comes, if the report has one.
    next_reminder: Option<Timestamp>,
}

fn delivered_incidents(
    run: &Envelope,
    incidents: &[IncidentFile],
    section: Section<'_>,
    wants: &impl Fn(Occasion) -> bool,
) -> DeliveredIncidents {
    let now = run.run.started;
    let reminders = Reminders::new(section.audience, now);
    let mut seen = vec![];
    for file in incidents {
        let Some(mut it) = SeenIncident::of(file, section, now) else {
            continue;
        };
        if let Some(of_run) = run
            .incidents
            .iter()
            .find(|of_run| of_run.id == it.incident.id)
        {
            it.incident.take_run(of_run);
        }
        let decision = match (&it.incident.merged_into, &it.incident.notice) {
            // The other incident tells of the same notice.
            (Some(_), Some(_)) => Decision::Pass,
            _ => it.decide(now, wants),
        };
        seen.push((file, it, decision));
    }
    let is_due = |(_, it, decision): &(_, SeenIncident, Decision)| {
        *decision == Decision::Wait && reminders.is_due(&it.incident, &it.newest)
    };
    let is_reminder = seen.iter().any(is_due);
    let mut delivered = DeliveredIncidents::default();
    for (file, it, mut decision) in seen {
        let is_named = || reminders.names(&it.incident, &it.newest);
        if is_reminder && decision == Decision::Wait && is_named() {
            decision = Decision::Remind;
        }
        let (mut incident, card) = it.delivered(file, decision, now);
        let card = (incident.id.clone(), card);
        match decision {
            Decision::Tell | Decision::Remind => delivered.delivered.push(card),
            Decision::Pass => delivered.passed.push(card),
            Decision::Wait => {}
        }
        if decision != Decision::Tell {
            match incident.phase {
                Phase::Closed => continue,
                _ if incident.is_notice() && !wants(occasion(&incident)) => continue,
                // A view of the present shows news that is held back.
                Phase::Changed if section.audience.counts => incident.quiet = true,
                _ => incident.phase = Phase::Unchanged,
            }
        }
        incident.reminder = decision == Decision::Remind;
        delivered.incidents.push(incident);
    }
    delivered.next_reminder = reminders.after_this().filter(|_| is_reminder);
    delivered
}

impl SeenIncident {
    /// The incident as the section sees it at this time: its phase is the news since the newest card. `None` if it has
    /// none of its URLs, and had none.
    pub(super) fn of(file: &IncidentFile, section: Section<'_>, now: Timestamp) -> Option<Self> {
        let route = section.route_of(file)?;
        let newest = file.newest(section.name);
        let reader = Reader {
            known: match &newest.through {
                Some(through) if newest.urls > 0 => file.events_until(through),
                _ => file.log.last_opening(),
            },
            takes: &|key, member| route.has_member(key, member),
            takes_notice: &|notice| route.has_notice(notice),
            sees_muted: false,
        };
        let mut incident = view(&file.log, &reader)?;
        let card = NewestCard::of(&incident);
        let is_open = incident.phase != Phase::Closed;
        // A notifier that had to tell of an incident, and could not, tells that it began and ended.
        let is_expected = file.notified.contains_key(section.name) && newest.digest.is_none();
        incident.phase = match (newest.urls > 0, is_open) {
            (false, true) if route.holds_back(file, now) => return None,
            (false, true) => Phase::Opened,
            (true, true) if newest.digest == card.digest => Phase::Unchanged,
            (true, true) => Phase::Changed,
            (true, false) => Phase::Closed,
            (false, false) if is_expected && !incident.is_about_nothing() => Phase::Closed,
            (false, false) => return None,
        };
        incident.threads = file.facts();
        Some(Self {
            incident,
            newest,
            card,
        })
    }

    /// Whether the notifier is told of the incident now.
    pub(super) fn decide(&self, now: Timestamp, wants: &impl Fn(Occasion) -> bool) -> Decision {
        let (newest, card) = (&self.newest, &self.card);
        let is_urgent = match self.incident.phase {
            Phase::Opened | Phase::Closed => true,
            Phase::Changed => {
                let is_other = !card.states.is_subset(&newest.states);
                let is_much = card.urls >= newest.urls * 2 || card.urls * 2 <= newest.urls;
                is_other || is_much || is_over(newest.at, now)
            }
            Phase::Unchanged | Phase::Unconfirmed | Phase::Unknown => return Decision::Wait,
        };
        match (wants(occasion(&self.incident)), is_urgent) {
            (true, true) => Decision::Tell,
            (false, _) => Decision::Pass,
            (true, false) => Decision::Wait,
        }
    }

    /// The incident, and its newest card after it was told, repeated, or passed over.
    fn delivered(
        self,
        file: &IncidentFile,
        decision: Decision,
        now: Timestamp,
    ) -> (Incident, NewestCard) {
        let Self {
            incident,
            newest,
            mut card,
        } = self;
        if newest.urls > 0 && card.urls > 0 {
            card.states.extend(newest.states);
        }
        card.at = match decision {
            Decision::Pass => newest.at,
            _ => Some(now),
        };
        card.through = file.log.events.last().map(|event| event.id.clone());
        (incident, card)
    }
}

impl NewestCard {
    /// The card of an incident: its URLs and their states.
    fn of(incident: &Incident) -> Self {
        let mut hasher = Sha256::new();
        let mut states = BTreeSet::new();
        let mut urls = 0;
        for url in incident.affected() {
            let state = url.state.unwrap_or(incident.state).as_str();
            let flaps = if url.flapping { "flapping" } else { "" };
            let request = url.request.as_deref().unwrap_or_default();
            let variant = url.variant.as_deref().unwrap_or_default();
            for part in [&url.url, request, variant, state, flaps] {
                add(&mut hasher, part);
            }
            states.insert(if url.flapping { flaps } else { state }.to_owned());
            urls += 1;
        }
        let notice = incident.notice.as_ref();
        if let Some(notice) = notice.filter(|_| incident.phase != Phase::Closed && urls == 0) {
            let hours = notice
                .within_hours
                .map_or_else(String::new, |it| it.to_string());
            let end = notice
                .certificate
                .as_ref()
                .map_or_else(String::new, |it| it.not_after.to_string());
            let count = notice.count.unwrap_or_default().to_string();
            for part in [notice.kind.as_str(), &hours, &end, &count] {
                add(&mut hasher, part);
            }
            for mistake in &notice.mistakes {
                add(&mut hasher, &mistake.code);
                add(&mut hasher, &mistake.text);
            }
            let mut lost: Vec<_> = lacking(notice).map(|it| (&it.url, &it.digests)).collect();
            lost.sort();
            for (url, digests) in lost {
                add(&mut hasher, url);
                for digest in digests {
                    add(&mut hasher, digest);
                }
            }
            states.insert(format!("{} {hours}", notice.kind.as_str()));
            urls = match notice.kind {
                NoticeKind::Mistake => notice.count.unwrap_or_default(),
                NoticeKind::EvidenceLost => notice.endangered.unwrap_or_default(),
                _ => 1,
            };
        }
        Self {
            digest: Some(HEXLOWER.encode(&hasher.finalize()[..8])),
            urls,
            states,
            ..Self::default()
        }
    }
}

/// The kind of news that the incident is.
fn occasion(incident: &Incident) -> Occasion {
    match incident.phase {
        _ if incident.notice_of(NoticeKind::Mistake).is_some() => Occasion::Mistake,
        _ if incident.is_notice() => Occasion::Warning,
        Phase::Closed => Occasion::Recovered,
        _ if incident.is_flapping() => Occasion::Flapping,
        _ => Occasion::Broken,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::ops::Range;
    use std::sync::Arc;
    use std::time::Duration;

    use jiff::SignedDuration;
    use proptest::prelude::*;
    use urldb_protocol::{Ack, EventKind, Evidence, Notice, Observed, State};
    use urldb_verdict::incident::{
        Event, EventUrl, EvidenceFacts, FileFacts, ImpairedFacts, IncidentLog, MemberKey, RunFacts,
        RunResult, UrlOutcome, append, time_of,
    };
    use urldb_verdict::{CertificateFacts, UrlStatus};

    use super::*;
    use crate::config::Audience;
    use crate::notify::audience::Routing;
    use crate::notify::audience_urls::AudienceUrls;

    const EXAMPLE: &str = include_str!("../../docs/envelope.example.json");
    const URLS: usize = 6;
    /// Number of URLs of each section with a filter.
    const OWN_URLS: u64 = 2;

    /// A notifier whose service may be down, and its reader, who keeps only the newest card of each incident.
    struct Notifier {
        audience: Audience,
        /// The URLs of the newest card of each incident, and the run that told it.
        cards: BTreeMap<String, (BTreeSet<String>, Timestamp)>,
        messages: usize,
    }

    impl Notifier {
        /// The URLs that the reader believes to be broken.
        fn believes(&self) -> BTreeSet<String> {
            let cards = self.cards.values();
            cards.flat_map(|(urls, _)| urls.iter().cloned()).collect()
        }
    }

    /// The database of six URLs of one host: two without owner and category, two of the owner `gaia`, two with
    /// the category `core`.
    struct World {
        now: Timestamp,
        states: Vec<State>,
        /// Since when each URL is broken.
        since: Vec<Option<Timestamp>>,
        routing: Routing,
        /// The URLs that are muted.
        muted: BTreeSet<usize>,
        logs: Vec<IncidentLog>,
        notified: BTreeMap<String, BTreeMap<String, NewestCard>>,
    }

    /// The time after which `head` is told.
    const AFTER: SignedDuration = SignedDuration::from_hours(72);

    fn url_of(index: usize) -> String {
        format!("https://example.org/{index}")
    }

    /// The URLs of a section.
    fn own(name: &str) -> Range<usize> {
        match name {
            "rest" => 0..2,
            "gaia" => 2..4,
            "core" => 4..6,
            _ => 0..URLS,
        }
    }

    /// The six URLs, of which these are broken.
    fn gone(urls: &[usize]) -> Vec<State> {
        let state = |url| {
            if urls.contains(&url) {
                State::Gone
            } else {
                State::Ok
            }
        };
        (0..URLS).map(state).collect()
    }

    impl World {
        fn new() -> Self {
            Self {
                now: "2026-11-02T04:17:03Z".parse().unwrap(),
                states: vec![State::Ok; URLS],
                since: vec![None; URLS],
                routing: routing(),
                muted: BTreeSet::new(),
                logs: vec![],
                notified: BTreeMap::new(),
            }
        }

        /// A run that sees these states, a day after the one before.
        fn run(&mut self, states: &[State]) {
            self.run_after(24, states);
        }

        fn run_after(&mut self, hours: i64, states: &[State]) {
            self.now += SignedDuration::from_hours(hours);
            for (since, state) in self.since.iter_mut().zip(states) {
                *since = (*state != State::Ok).then(|| since.unwrap_or(self.now));
            }
            let run = self.run_id(0);
            let outcomes: Vec<UrlOutcome> = (0..URLS)
                .map(|url| self.outcome(url, states[url]))
                .collect();
            let facts = RunFacts {
                id: &run,
                project: "sky-urls",
                started: self.now,
                is_gone: &|_, _| false,
                is_taken: &|_| false,
                last_good: &|_, _| None,
                host_urls: &|_| URLS as u64,
                has_answered: &|_| true,
                has_no_url: &|_, _| false,
                certificates: CertificateFacts {
                    seen: &[],
                    warning: Duration::ZERO,
                    is_complete: true,
                },
                impaired: &ImpairedFacts::default(),
                evidence: &EvidenceFacts::default(),
                files: FileFacts {
                    read: &[],
                    is_gone: &|_| false,
                },
            };
            let appended = append(std::mem::take(&mut self.logs), &outcomes, &facts);
            self.logs = appended.incidents.into_iter().map(|(log, _)| log).collect();
            self.states = states.to_vec();
        }

        fn run_id(&self, number: u32) -> String {
            format!("{}-{number:08x}", self.now.strftime("%Y%m%dT%H%M%SZ"))
        }

        /// Somebody acknowledges all open incidents, for two days.
        fn acknowledge(&mut self) {
            let id = self.run_id(1);
            for log in self.logs.iter_mut().filter(|log| log.state().is_open()) {
                let members = log.state().members;
                log.events.push(Event {
                    id: id.clone(),
                    event: EventKind::Acked,
                    urls: members.keys().map(EventUrl::of).collect(),
                    ack: Some(Ack {
                        until: self.now + SignedDuration::from_hours(47),
                        because: "known".to_owned(),
                        by: String::new(),
                    }),
                    ..Event::default()
                });
            }
        }

        fn outcome(&self, index: usize, state: State) -> UrlOutcome {
            let is_core = index + 2 >= URLS;
            UrlOutcome {
                key: MemberKey {
                    url: url_of(index),
                    ..MemberKey::default()
                },
                record: (Arc::from("example.org"), format!("/{index}")),
                file: Arc::from("urldb/example.org.yaml"),
                line: index + 1,
                categories: Arc::from(if is_core {
                    vec!["core".to_owned()]
                } else {
                    vec![]
                }),
                owner: own("gaia").contains(&index).then(|| "gaia".to_owned()),
                host: "example.org".to_owned(),
                muted: self.muted.contains(&index),
                promise: String::new(),
                known_since: None,
                was_good: self.states[index] == State::Ok,
                status: UrlStatus {
                    state,
                    since: self.now,
                    reason: None,
                    pending: None,
                },
                result: Some(if state == State::Ok {
                    RunResult::Good
                } else {
                    RunResult::Bad
                }),
                breaks: vec![],
                seen: state,
                seen_reason: None,
                redirect: None,
                evidence: (state != State::Ok).then(|| Box::new(evidence(index))),
            }
        }

        fn files(&self) -> Vec<IncidentFile> {
            let file = |log: &IncidentLog| IncidentFile {
                log: log.clone(),
                notified: self.notified.get(&log.id).cloned().unwrap_or_default(),
            };
            self.logs.iter().map(file).collect()
        }

        /// The URLs of the section that are broken, and those of them of which it has to be told.
        fn broken(&self, name: &str) -> [BTreeSet<String>; 2] {
            let own = own(name);
            let broken = || {
                let own = own.clone();
                own.filter(|index| self.states[*index] != State::Ok)
            };
            // Somebody knew of them before they were broken for long.
            let acked = self.logs.iter().flat_map(|log| {
                let members = log.state().members.into_iter();
                members.filter(|(_, member)| {
                    let acked = member.acked.as_deref().and_then(time_of);
                    acked.is_some_and(|at| at.duration_since(member.joining.since) < AFTER)
                })
            });
            let acked: BTreeSet<String> = acked.map(|(key, _)| key.url).collect();
            let due = broken().filter(|index| {
                let age = self.now.duration_since(self.since[*index].unwrap());
                name != "head" || age >= AFTER && !acked.contains(&url_of(*index))
            });
            [broken().map(url_of).collect(), due.map(url_of).collect()]
        }

        /// Delivers the message of this run to the reader, if there is one and the service works.
        fn deliver(
            &mut self,
            name: &str,
            notifier: &mut Notifier,
            works: bool,
        ) -> Option<Envelope> {
            let mut run: Envelope = serde_json::from_str(EXAMPLE).unwrap();
            run.incidents.clear();
            run.fixed.clear();
            run.mistakes.clear();
            run.findings.clear();
            run.run.started = self.now;
            let section = Section {
                name,
                audience: &notifier.audience,
                routing: &self.routing,
            };
            let report = report_for(&run, &self.files(), section);
            let mut note = |cards: Vec<(String, NewestCard)>, only_new: bool| {
                for (id, card) in cards {
                    let of_incident = self.notified.entry(id).or_default();
                    if only_new {
                        of_incident.entry(name.to_owned()).or_insert(card);
                    } else {
                        of_incident.insert(name.to_owned(), card);
                    }
                }
            };
            note(report.passed, false);
            if !report.has_news {
                return None;
            }
            if !works {
                let expected = report.delivered.into_iter();
                let expected = expected.map(|(id, _)| (id, NewestCard::default()));
                note(expected.collect(), true);
                return None;
            }
            note(report.delivered.clone(), false);
            let all = report.envelope.incidents.iter();
            for incident in all.filter(|it| report.delivered.iter().any(|(id, _)| *id == it.id)) {
                let urls = incident.affected().map(|url| url.url.clone()).collect();
                let card = (urls, self.now);
                notifier.cards.insert(incident.id.clone(), card);
            }
            notifier.messages += 1;
            Some(report.envelope)
        }
    }

    fn routing() -> Routing {
        let sections = ["core", "gaia", "rest"];
        let mut routing = Routing::of_sections(sections.map(|it| (it, notifier(it).audience)));
        let mut urls = AudienceUrls::default();
        urls.add("example.org", OWN_URLS);
        let counted = sections.map(|name| (name.to_owned(), urls.clone()));
        routing.set_counted(counted.into());
        routing
    }

    /// The evidence of a URL: its length says which.
    fn evidence(index: usize) -> Evidence {
        Evidence {
            url: url_of(index),
            observed: Observed {
                length: Some(index as u64),
                ..Observed::default()
            },
            ..Evidence::default()
        }
    }

    /// The evidence of a message is that of the reader's own URLs.
    fn check_evidence(name: &str, incident: &Incident) {
        let own: Vec<Evidence> = own(name).map(evidence).collect();
        let chapters = incident.chapters.iter();
        let of_chapters = chapters.filter_map(|chapter| chapter.evidence.as_ref());
        for evidence in of_chapters.chain([&incident.evidence]) {
            let delivered = (&evidence.url, evidence.observed.length);
            let mut own = own.iter();
            let is_own = own.any(|own| (&own.url, own.observed.length) == delivered);
            assert!(is_own, "{name}: {evidence:?}");
        }
    }

    /// The begin of the headline of a reader of two URLs.
    fn beginning(name: &str, broken: usize) -> String {
        let of = match name {
            "core" => "category core",
            "rest" => "this section",
            owner => owner,
        };
        match broken {
            0 => format!("URLs of {of}: 2 ok"),
            broken => format!("URLs of {of}: {broken} broken"),
        }
    }

    /// Compares the numbers of a message with the URLs of its reader.
    fn check_numbers(name: &str, message: &Envelope, broken: &BTreeSet<String>) {
        let Some(audience) = &message.summary.audience else {
            assert!(["all", "head"].contains(&name), "{name}");
            return;
        };
        let counts = &audience.counts;
        let counted = (counts.urls, counts.affected());
        assert_eq!(counted, (OWN_URLS, broken.len() as u64), "{name}");
        let deliveries = urldb_render::Deliveries::default();
        let composed = urldb_render::compose(message, urldb_render::Scope::News, &deliveries);
        let headline = composed.headline.text;
        let beginning = beginning(name, broken.len());
        assert!(
            headline.starts_with(&beginning),
            "{headline:?} {beginning:?}"
        );
        for incident in &message.incidents {
            assert_eq!(incident.host_urls, OWN_URLS);
            check_evidence(name, incident);
            let affected = incident.affected().count() as u64;
            let last = incident.chapters.last().unwrap();
            assert_eq!(last.affected, affected, "{name}: {incident:?}");
            let first = &incident.chapters[0];
            assert_eq!(first.event, EventKind::Opened);
        }
    }

    fn state() -> impl Strategy<Value = State> {
        prop_oneof![3 => Just(State::Ok), 2 => Just(State::Gone), 1 => Just(State::Changed)]
    }

    /// The notifier of a section: `all`, `core`, `gaia`, `rest`, `head`.
    fn notifier(name: &str) -> Notifier {
        let only = |own: &str| {
            let is_own = name == own;
            is_own.then(|| own.to_owned()).into_iter().collect()
        };
        Notifier {
            audience: Audience {
                categories: only("core"),
                owners: only("gaia"),
                is_rest: name == "rest",
                after: (name == "head").then(|| AFTER.try_into().unwrap()),
                ..Audience::news()
            },
            cards: BTreeMap::new(),
            messages: 0,
        }
    }

    /// The hours between two runs.
    fn hours() -> impl Strategy<Value = i64> {
        prop_oneof![3 => Just(24), 1 => Just(1)]
    }

    /// The newest card of an incident has exactly the URLs that are affected, no later than a day after it was
    /// delivered; until then more than half of them, and less than twice as many.
    fn check_reader(name: &str, world: &World, reader: &Notifier) {
        for log in &world.logs {
            let own: BTreeSet<String> = own(name).map(url_of).collect();
            let members = log.state().members.into_keys().map(|key| key.url);
            let members: BTreeSet<String> = members.filter(|url| own.contains(url)).collect();
            let card = reader.cards.get(&log.id);
            let card = card.filter(|(urls, _)| name != "head" || !urls.is_empty());
            let Some((urls, at)) = card else {
                assert!(name == "head" || members.is_empty(), "{name}: {members:?}");
                continue;
            };
            let (delivered, now) = (urls.len(), members.len());
            let is_recent = world.now.duration_since(*at) < SignedDuration::from_hours(23);
            let is_close = now < delivered * 2 && now * 2 > delivered;
            assert!(
                *urls == members || is_recent && is_close,
                "{name}: {urls:?} {members:?}"
            );
        }
    }

    proptest! {
        /// Whoever keeps only the newest card of each incident knows what is broken, whenever his service works. A
        /// reader of `after` hears of it once a URL is broken for long that was not acknowledged.
        #[test]
        fn a_reader_knows_what_is_broken(
            runs in prop::collection::vec(
                (
                    hours(),
                    prop::collection::vec(state(), URLS),
                    any::<[bool; 5]>(),
                    prop::bool::weighted(0.2),
                ),
                1..30,
            ),
        ) {
            let mut world = World::new();
            let names = ["all", "core", "gaia", "rest", "head"];
            let mut readers = names.map(notifier);
            let mut states = vec![State::Ok; URLS];
            for (hours, seen, works, is_acked) in runs {
                // Half of the runs see no change, so that URLs are broken for long.
                if works[0] != works[1] {
                    states = seen;
                }
                world.run_after(hours, &states);
                for ((name, reader), works) in names.iter().zip(&mut readers).zip(works) {
                    let before = reader.believes();
                    let message = world.deliver(name, reader, works);
                    let [broken, due] = world.broken(name);
                    if let Some(message) = &message {
                        check_numbers(name, message, &broken);
                    }
                    if message.is_none() {
                        prop_assert_eq!(reader.believes(), before.clone());
                    }
                    if works {
                        check_reader(name, &world, reader);
                        let believed = reader.believes();
                        prop_assert!(*name != "head" || due.is_subset(&believed), "{due:?} {believed:?}");
                    }
                }
                if is_acked {
                    world.acknowledge();
                }
            }
        }
    }

    proptest! {
        /// The filter of a section changes between runs, and the section is gone for a while. Its reader hears of the
        /// URLs that it takes now, and that it takes others no longer.
        #[test]
        fn a_reader_of_changing_filters_knows_what_is_broken(
            runs in prop::collection::vec(
                (prop::collection::vec(state(), URLS), any::<[bool; 2]>(), 0_usize..6, prop::bool::weighted(0.8)),
                1..30,
            ),
        ) {
            let mut world = World::new();
            let mut reader = notifier("all");
            let (mut states, mut filter) = (vec![State::Ok; URLS], "all");
            for (seen, [changes, stays], other, works) in runs {
                if changes {
                    states = seen;
                }
                world.run(&states);
                if !stays {
                    filter = ["all", "core", "gaia", "rest", "all", ""][other];
                }
                if filter.is_empty() {
                    // The section is removed.
                    continue;
                }
                reader.audience = notifier(filter).audience;
                let message = world.deliver("mail", &mut reader, works);
                let own: BTreeSet<String> = own(filter).map(url_of).collect();
                let delivered = message.iter().flat_map(|message| &message.incidents);
                for url in delivered.flat_map(|incident| &incident.urls) {
                    prop_assert!(own.contains(&url.url), "{filter}: {url:?}");
                }
                if works {
                    let [broken, _] = world.broken(filter);
                    prop_assert_eq!(reader.believes(), broken, "{}", filter);
                }
            }
        }
    }

    /// The phase and the URLs of each message: those that are broken, and those that are not any more.
    fn delivered(
        world: &mut World,
        reader: &mut Notifier,
        filter: &str,
    ) -> Option<(Phase, usize, usize)> {
        reader.audience = notifier(filter).audience;
        let message = world.deliver("mail", reader, true)?;
        let incident = &message.incidents[0];
        let affected = incident.affected().count();
        Some((incident.phase, affected, incident.urls.len() - affected))
    }

    #[test]
    fn a_changed_filter_is_a_card() {
        let (mut world, mut reader) = (World::new(), notifier("all"));
        world.run(&gone(&[2, 3]));
        assert_eq!(
            delivered(&mut world, &mut reader, "gaia"),
            Some((Phase::Opened, 2, 0))
        );
        world.run(&gone(&[0, 2, 3]));
        assert_eq!(delivered(&mut world, &mut reader, "gaia"), None);
        assert_eq!(
            delivered(&mut world, &mut reader, "all"),
            Some((Phase::Changed, 3, 0))
        );
        // The section takes none of the broken URLs, though the incident goes on.
        assert_eq!(
            delivered(&mut world, &mut reader, "core"),
            Some((Phase::Closed, 0, 0))
        );
        world.run(&gone(&[0, 2, 3, 4]));
        assert_eq!(
            delivered(&mut world, &mut reader, "core"),
            Some((Phase::Opened, 1, 0))
        );
        world.run(&gone(&[1]));
        assert_eq!(
            delivered(&mut world, &mut reader, "core"),
            Some((Phase::Closed, 0, 1))
        );
        world.run(&gone(&[]));
        assert_eq!(delivered(&mut world, &mut reader, "core"), None);
    }

    #[test]
    fn a_section_that_returns_tells_what_ended_in_between() {
        let (mut world, mut reader) = (World::new(), notifier("all"));
        world.run(&gone(&[0, 2]));
        assert_eq!(
            delivered(&mut world, &mut reader, "all"),
            Some((Phase::Opened, 2, 0))
        );
        world.run(&gone(&[2]));
        world.run(&gone(&[]));
        assert_eq!(
            delivered(&mut world, &mut reader, "all"),
            Some((Phase::Closed, 0, 2))
        );
        assert_eq!(delivered(&mut world, &mut reader, "all"), None);
    }

    /// Two URLs are told, one is muted, both recover: nobody who was told of a break misses its end.
    #[test]
    fn a_mute_is_a_card_and_swallows_no_end() {
        let (mut world, mut reader) = (World::new(), notifier("all"));
        world.run(&gone(&[0, 1]));
        assert_eq!(
            delivered(&mut world, &mut reader, "all"),
            Some((Phase::Opened, 2, 0))
        );
        world.muted = BTreeSet::from([0]);
        world.run(&gone(&[0, 1]));
        assert_eq!(
            delivered(&mut world, &mut reader, "all"),
            Some((Phase::Changed, 1, 0))
        );
        world.run(&gone(&[]));
        assert_eq!(
            delivered(&mut world, &mut reader, "all"),
            Some((Phase::Closed, 0, 2))
        );
        // All of it is muted: the end of it for the section.
        world.muted.clear();
        world.run(&gone(&[0]));
        assert_eq!(
            delivered(&mut world, &mut reader, "all"),
            Some((Phase::Opened, 1, 0))
        );
        world.muted = BTreeSet::from([0]);
        world.run(&gone(&[0]));
        assert_eq!(
            delivered(&mut world, &mut reader, "all"),
            Some((Phase::Closed, 0, 0))
        );
        world.run(&gone(&[]));
        assert_eq!(delivered(&mut world, &mut reader, "all"), None);
    }

    proptest! {
        /// Two branches tell one reader. After they are merged, he knows what is broken, and each end.
        #[test]
        fn a_reader_of_two_branches_knows_what_is_broken(
            branches in prop::collection::vec(prop::collection::vec(state(), URLS), 2),
            after in prop::collection::vec((prop::collection::vec(state(), URLS), any::<bool>()), 1..6),
        ) {
            let mut world = World::new();
            let mut reader = notifier("all");
            let mut merged = (vec![], BTreeMap::new());
            let mut known = BTreeSet::new();
            for states in branches {
                let mut branch = World { now: world.now, ..World::new() };
                branch.run(&states);
                branch.deliver("all", &mut reader, true);
                let [broken, _] = branch.broken("all");
                known.extend(broken);
                world.now = branch.now;
                (world.states, world.since) = (branch.states, branch.since);
                merged.0.extend(branch.logs);
                merged.1.extend(branch.notified);
            }
            prop_assert_eq!(reader.believes(), known);
            (world.logs, world.notified) = merged;
            for (states, works) in after {
                world.run(&states);
                let members = world.logs.iter().flat_map(|log| log.state().members.into_keys());
                let mut members: Vec<_> = members.map(|key| key.url).collect();
                members.sort();
                let affected: Vec<_> = members.iter().cloned().collect::<BTreeSet<_>>().into_iter().collect();
                prop_assert_eq!(members, affected, "a URL of two incidents");
                let before = reader.believes();
                let message = world.deliver("all", &mut reader, works);
                let ([broken, _], believed) = (world.broken("all"), reader.believes());
                if message.is_none() {
                    prop_assert_eq!(&believed, &before);
                }
                if works {
                    prop_assert_eq!(believed, broken);
                }
            }
        }
    }

    proptest! {
        /// Each open incident is repeated within a week, and a reader gets one reminder a week at most.
        #[test]
        fn reminders_name_all_that_is_open_once_a_week(
            runs in prop::collection::vec((prop::collection::vec(state(), URLS), prop::bool::weighted(0.1)), 1..60),
        ) {
            const WEEK: SignedDuration = SignedDuration::from_hours(7 * 24);
            let mut world = World::new();
            let mut reader = notifier("all");
            let mut states = vec![State::Ok; URLS];
            let mut last = None;
            for (seen, changes) in runs {
                if changes {
                    states = seen;
                }
                world.run(&states);
                let message = world.deliver("all", &mut reader, true);
                if message.is_some_and(|it| it.incidents.iter().any(|incident| incident.reminder)) {
                    prop_assert!(last.is_none_or(|last| world.now.duration_since(last) >= WEEK));
                    last = Some(world.now);
                }
                for log in world.logs.iter().filter(|log| log.state().is_open()) {
                    let age = reader.cards.get(&log.id).map(|(_, delivered)| world.now.duration_since(*delivered));
                    prop_assert!(age.is_some_and(|age| age < WEEK), "{} was told {age:?} before", log.id);
                }
            }
        }
    }

    /// An open notice as a file has it.
    fn noticed(notice: Notice) -> IncidentFile {
        IncidentFile {
            log: IncidentLog {
                id: "1f2e3d4c".to_owned(),
                key: "77aa20c1b3e0d914".to_owned(),
                host: "example.org".to_owned(),
                events: vec![Event {
                    id: "20261102T041703Z-5de248cc".to_owned(),
                    notice: Some(notice),
                    ..Event::default()
                }],
            },
            notified: BTreeMap::new(),
        }
    }

    /// A network that fails concerns all readers, mistakes those of the file; each section has the kinds of news that
    /// it wants, and `else` has what no other section tells.
    #[test]
    fn a_notice_reaches_the_sections_that_want_it() {
        let on = |occasions: &[Occasion]| Audience {
            on: occasions.iter().copied().collect(),
            ..Audience::news()
        };
        let impaired = Notice {
            kind: NoticeKind::Impaired,
            ..Notice::default()
        };
        let mistake = Notice {
            kind: NoticeKind::Mistake,
            file: "urldb/example.org.yaml".to_owned(),
            ..Notice::default()
        };
        let owners = Audience {
            owners: vec!["gaia".to_owned()],
            states: vec![State::Gone],
            ..Audience::news()
        };
        let rest = Audience {
            is_rest: true,
            ..Audience::news()
        };
        let late = Audience {
            after: Some(Duration::from_hours(1)),
            ..on(&[Occasion::Broken, Occasion::Warning])
        };
        let run = |notice: &Notice| {
            let mut run: Envelope = serde_json::from_str(EXAMPLE).unwrap();
            run.incidents.clear();
            (run, noticed(notice.clone()))
        };
        for (audience, others, [hears_impaired, hears_mistake]) in [
            (Audience::news(), None, [true, true]),
            (on(&[Occasion::Warning]), None, [true, false]),
            (on(&[Occasion::Mistake]), None, [false, true]),
            (
                on(&[Occasion::Broken, Occasion::Recovered]),
                None,
                [false, false],
            ),
            (owners, None, [true, false]),
            (rest.clone(), None, [true, true]),
            (rest.clone(), Some(Audience::news()), [false, false]),
            (rest, Some(on(&[Occasion::Broken])), [true, true]),
            (late, None, [false, false]),
        ] {
            let routing = match others {
                Some(other) => Routing::of_sections([("other", other)]),
                None => Routing::default(),
            };
            for (notice, hears) in [(&impaired, hears_impaired), (&mistake, hears_mistake)] {
                let (run, file) = run(notice);
                let section = Section {
                    name: "all",
                    audience: &audience,
                    routing: &routing,
                };
                let report = report_for(&run, &[file], section);
                let kind = notice.kind.as_str();
                assert_eq!(report.has_news, hears, "{kind}: {audience:?}");
                assert_eq!(
                    report.delivered.len(),
                    usize::from(hears),
                    "{kind}: {audience:?}"
                );
            }
        }
    }

    #[test]
    fn a_late_message_begins_with_the_end() {
        let mut world = World::new();
        let mut reader = notifier("all");
        world.run(&gone(&[0]));
        assert!(world.deliver("mail", &mut reader, false).is_none());
        world.run(&gone(&[0]));
        assert!(world.deliver("mail", &mut reader, false).is_none());
        world.run(&gone(&[]));
        let late = world.deliver("mail", &mut reader, true).unwrap();
        let [incident] = &late.incidents[..] else {
            panic!("{late:?}");
        };
        assert_eq!(incident.phase, Phase::Closed);
        // Nobody had to hear of it from a notifier that is new.
        assert!(world.deliver("new", &mut notifier("all"), true).is_none());
        world.run(&gone(&[]));
        assert!(world.deliver("mail", &mut reader, true).is_none());
        assert_eq!(reader.messages, 1);
    }

    #[test]
    fn a_section_with_after_hears_of_nothing_that_somebody_knew_before() {
        let mut world = World::new();
        let mut reader = notifier("head");
        let mut phases = vec![];
        for (run, count) in [1, 1, 1, 1, 1, 0].into_iter().enumerate() {
            let mut states = vec![State::Ok; URLS];
            states[..count].fill(State::Gone);
            world.run(&states);
            let message = world.deliver("head", &mut reader, true);
            phases.push(message.map(|it| it.incidents[0].phase));
            // The third run sees the URL broken for two days. The acknowledgement ends with the fifth.
            if run == 2 {
                world.acknowledge();
            }
        }
        let delivered = [Some(Phase::Opened), Some(Phase::Closed)];
        assert_eq!(phases, [[None; 4].as_slice(), &delivered].concat());
    }

    #[test]
    fn changes_wait_for_twice_or_half_as_many() {
        let mut world = World::new();
        let mut reader = notifier("all");
        let mut phases = vec![];
        for count in [2, 3, 4, 3, 2, 0] {
            let mut states = vec![State::Ok; URLS];
            states[..count].fill(State::Gone);
            world.run_after(1, &states);
            let message = world.deliver("mail", &mut reader, true);
            let phase = message.map(|it| (it.incidents[0].phase, it.incidents[0].urls.len()));
            phases.push(phase);
        }
        assert_eq!(
            phases,
            [
                Some((Phase::Opened, 2)),
                None,
                Some((Phase::Changed, 4)),
                None,
                Some((Phase::Changed, 4)),
                Some((Phase::Closed, 4)),
            ]
        );
    }

    /// A URL that is broken in another way is news at once, for the first time.
    #[test]
    fn another_state_is_told_once_a_day_after_the_first_time() {
        let mut world = World::new();
        let mut reader = notifier("all");
        let mut delivered = vec![];
        for state in [State::Gone, State::Changed, State::Gone, State::Changed] {
            let mut states = vec![State::Gone; URLS];
            states[0] = state;
            world.run_after(1, &states);
            delivered.push(world.deliver("mail", &mut reader, true).is_some());
        }
        assert_eq!(delivered, [true, true, false, false]);
        world.run_after(24, &world.states.clone());
        // The newest card has this already.
        assert!(world.deliver("mail", &mut reader, true).is_none());
    }
}
