//! The report as one notifier tells it: what it has not heard, and what is true now. Pure.

use std::collections::HashSet;

use data_encoding::HEXLOWER;
use jiff::Timestamp;
use sha2::{Digest, Sha256};
use urldb_protocol::{Envelope, EventKind, Incident, NoticeKind, Phase, State};
use urldb_verdict::incident::{Member, MemberKey, Reader, ended, told_elsewhere, view};

use super::audience::{Section, routed};
use super::intervals::is_over;
use super::reminders::Reminders;
use super::told_by::{ToldBy, move_filter};
use crate::config::Occasion;
use crate::ledger::{Heard, IncidentFile};

/// A report as one notifier tells it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NotifierReport {
    pub(super) envelope: Envelope,
    /// Whether there is anything to tell.
    pub(super) has_news: bool,
    /// The new position of the notifier in each incident that is told, by its id.
    pub(super) heard: Vec<(String, Heard)>,
    /// The same of incidents of which the notifier does not want to hear.
    pub(super) passed: Vec<(String, Heard)>,
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
    let Section { name, audience, .. } = section;
    let mut envelope = routed(envelope, &section.routing.route(audience));
    let wants = |occasion| audience.tells(occasion);
    let told = told_incidents(run, incidents, section, &wants);
    envelope.incidents.retain(|incident| incident.id.is_empty());
    envelope.incidents.extend(told.incidents);
    envelope.incidents.sort_by(|a, b| a.order().cmp(&b.order()));
    envelope.incidents.sort_by_key(Incident::importance);
    let heard = told.heard;
    let is_told = |incident: &Incident| {
        heard
            .iter()
            .any(|(id, _): &(String, Heard)| *id == incident.id)
    };
    keep_news(&mut envelope, run, &wants, &is_told);
    envelope.add_unread_mistakes();
    envelope.take_mistakes_of_notices();
    let has_shrunk = |incident: &Incident| incident.phase == Phase::Shrunk;
    let has_news = !heard.is_empty()
        || !envelope.changes.is_empty()
        || audience.counts && envelope.incidents.iter().any(has_shrunk)
        || audience.on.contains(&Occasion::EveryRun);
    for incident in &mut envelope.incidents {
        if has_shrunk(incident) && !audience.counts && !is_told(incident) {
            incident.phase = Phase::Unchanged;
        }
    }
    section.count_urls(&mut envelope, incidents);
    envelope.next_reminder = told.next_reminder;
    envelope.tells = tells(&envelope, incidents, name, &heard);
    NotifierReport {
        envelope,
        has_news,
        heard,
        passed: told.passed,
    }
}

/// Identifies what the report tells: a later run that tells the same events, after the same ones, has the same.
/// `None` for what belongs to the run: a reminder, a report without incidents.
fn tells(
    envelope: &Envelope,
    known: &[IncidentFile],
    name: &str,
    heard: &[(String, Heard)],
) -> Option<String> {
    let is_reminder = envelope.incidents.iter().any(|incident| incident.reminder);
    if is_reminder {
        return None;
    }
    let mut hasher = Sha256::new();
    for (id, heard) in heard {
        let before = known.iter().find(|file| file.log.id == *id);
        let before = before.and_then(|file| file.notified.get(name)?.through.as_deref());
        for part in [Some(id.as_str()), before, heard.through.as_deref()] {
            let part = part.unwrap_or_default();
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
    }
    let last = heard
        .iter()
        .filter_map(|(_, heard)| heard.through.as_deref())
        .max()?;
    let time = last.split('-').next().unwrap_or_default();
    Some(format!(
        "{time}-{}",
        HEXLOWER.encode(&hasher.finalize()[..4])
    ))
}

/// The incidents of a report, as the notifier sees them.
#[derive(Default)]
struct ToldIncidents {
    incidents: Vec<Incident>,
    /// The new position of the notifier in each that is told.
    heard: Vec<(String, Heard)>,
    /// The same of those of which it does not want to hear.
    passed: Vec<(String, Heard)>,
    /// The time from which on the next reminder comes, if the report has one.
    next_reminder: Option<Timestamp>,
}

fn told_incidents(
    run: &Envelope,
    incidents: &[IncidentFile],
    section: Section<'_>,
    wants: &impl Fn(Occasion) -> bool,
) -> ToldIncidents {
    let now = run.run.started;
    let name = section.name;
    let reminders = Reminders::new(section.audience, now);
    let mut seen = vec![];
    for file in incidents {
        let Some(mut incident) = seen_by(file, incidents, section, now) else {
            continue;
        };
        if let Some(seen) = run.incidents.iter().find(|it| it.id == incident.id) {
            incident.take_run(seen);
        }
        let known = file.notified.get(name).cloned().unwrap_or_default();
        // Another incident tells of the URLs. Only the place of this one ends, unless both have one place.
        let has_place = |into: &String| {
            let mut others = incidents.iter();
            let shares = others.any(|it| it.log.id == *into && it.log.key == incident.key);
            section.keeps_threads && !shares
        };
        let decision = match &incident.merged_into {
            Some(into) if !has_place(into) => Decision::Pass,
            _ => decide_for(section, file, &incident, now),
        };
        seen.push((file, incident, known, decision));
    }
    let is_due = |(_, incident, known, decision): &(_, _, _, Decision)| match decision {
        Decision::Remind => true,
        Decision::Wait => reminders.is_due(incident, known),
        Decision::Tell | Decision::Pass => false,
    };
    let is_reminder = seen.iter().any(is_due);
    let mut told = ToldIncidents::default();
    for (file, mut incident, known, mut decision) in seen {
        if is_reminder && decision == Decision::Wait && reminders.names(&incident, &known) {
            decision = Decision::Remind;
        }
        let heard = || {
            (
                incident.id.clone(),
                known.after((section, file), &incident, decision, now),
            )
        };
        match decision {
            Decision::Tell | Decision::Remind => told.heard.push(heard()),
            Decision::Pass => told.passed.push(heard()),
            Decision::Wait => {}
        }
        if decision != Decision::Tell {
            match incident.phase {
                Phase::Closed => continue,
                _ if incident.is_notice() && !wants(occasion(&incident)) => continue,
                Phase::Shrunk => incident.quiet = true,
                _ => incident.phase = Phase::Unchanged,
            }
        }
        incident.reminder = decision == Decision::Remind;
        told.incidents.push(incident);
    }
    told.next_reminder = reminders.after_this().filter(|_| is_reminder);
    told
}

/// The incident as the section sees it at this time. `incidents` are all that the run knows.
pub(super) fn seen_by(
    file: &IncidentFile,
    incidents: &[IncidentFile],
    section: Section<'_>,
    now: Timestamp,
) -> Option<Incident> {
    let name = section.name;
    let route = section.route_of(file)?;
    let heard = file.heard(name);
    let takes = |key: &MemberKey, member: &Member, until: Option<Timestamp>| {
        route.has_member((key, member), until, now)
    };
    let told_by = ToldBy::of(section, &route, file);
    let took = |key: &MemberKey, member: &Member, until: Option<Timestamp>| {
        told_by.took(&route, file, (key, member), (until, now))
    };
    let of_id = |id: &str| {
        let file = incidents.iter().find(|file| file.log.id == id)?;
        Some((&file.log, file.heard(name)))
    };
    let elsewhere = told_elsewhere(&file.log, heard, of_id);
    let known = file.notified.get(name);
    let reader = Reader {
        heard,
        heard_at: known.and_then(|known| known.run_at),
        takes: &takes,
        took: &took,
        takes_notice: &|notice| route.has_notice(notice),
        took_notice: &|notice| told_by.took_notice(&route, notice),
        sees_muted: false,
        elsewhere: &elsewhere,
    };
    // A notifier that had to hear of an incident, and did not, hears that it began and ended.
    let is_unheard = known.is_some() && heard == 0;
    let ended = || ended(&file.log, &reader).filter(|_| is_unheard);
    let mut incident = view(&file.log, &reader).or_else(ended)?;
    incident.unheard = is_unheard && incident.phase == Phase::Closed;
    incident.threads = file.facts();
    Some(incident)
}

impl Heard {
    /// The position of the notifier after it was told the incident, or passed it over.
    fn after(
        &self,
        (section, file): (Section<'_>, &IncidentFile),
        incident: &Incident,
        decision: Decision,
        now: Timestamp,
    ) -> Self {
        let mut heard = Self { ..self.clone() };
        if decision == Decision::Remind && incident.phase != Phase::Unchanged {
            // Waiting news is told later, as of the last message that told anything.
            heard.reminded = Some(now);
            return heard;
        }
        if let Some(route) = section.route_of(file) {
            move_filter(&mut heard, (section, &route), file, now);
        }
        heard.through = file.log.events.last().map(|event| event.id.clone());
        if decision != Decision::Pass {
            (heard.run_at, heard.reminded) = (Some(now), None);
            if incident.phase == Phase::Became {
                heard.became = Some(now);
            }
        }
        heard
    }
}

/// Whether the section is told of the incident now. After a change of its filter, it is told at once of the URLs
/// that it had not before.
pub(super) fn decide_for(
    section: Section<'_>,
    file: &IncidentFile,
    incident: &Incident,
    now: Timestamp,
) -> Decision {
    let wants = |occasion| section.audience.tells(occasion);
    let heard = file.notified.get(section.name).cloned().unwrap_or_default();
    let is_news = || {
        let route = section.route_of(file);
        let has_changed = |route| ToldBy::of(section, &route, file).has_changed();
        incident.affected().any(|url| url.new)
            && wants(Occasion::Broken)
            && route.is_some_and(has_changed)
    };
    match decide(incident, &heard, now, &wants) {
        Decision::Wait if is_news() => Decision::Tell,
        decision => decision,
    }
}

/// Whether the notifier is told of the incident now.
fn decide(
    incident: &Incident,
    heard: &Heard,
    now: Timestamp,
    wants: &impl Fn(Occasion) -> bool,
) -> Decision {
    let occasion = occasion(incident);
    let new = || incident.chapters.iter().filter(|chapter| chapter.new);
    let has_new = |event| new().any(|chapter| chapter.event == event);
    let told = incident.urls.iter().filter(|url| !url.new).count() as u64;
    let open = incident.affected().count() as u64;
    let has_grown = incident.affected().any(|url| url.new)
        && (open * 2 >= told * 3 || has_new(EventKind::Unmuted) || is_over(heard.run_at, now));
    let has_shrunk = incident.left > 0 && incident.left * 2 >= told;
    let is_urgent = match incident.phase {
        Phase::Unchanged if has_new(EventKind::AckEnded) => return Decision::Remind,
        Phase::Unchanged => return Decision::Wait,
        Phase::Unconfirmed | Phase::Unknown => false,
        Phase::Grown | Phase::Shrunk => has_grown || has_shrunk,
        // The danger has become a breakage, or is nearer.
        Phase::Became if incident.is_notice() || told == 0 => true,
        Phase::Became => {
            let became = || new().filter(|chapter| chapter.event == EventKind::Became);
            let is_sure = became().any(|chapter| chapter.sure);
            let is_other = became().any(|chapter| !chapter.again);
            let is_unsteady = incident.affected().any(|url| url.intermittent);
            // It ended and began again, of which the notifier has not heard.
            let is_again = has_new(EventKind::Reopened);
            let is_news =
                is_sure || is_again || is_other && (is_unsteady || is_over(heard.became, now));
            is_news || has_grown || has_shrunk
        }
        Phase::Opened | Phase::Reopened | Phase::Closed | Phase::Intermittent | Phase::Steady => {
            true
        }
    };
    match (wants(occasion), is_urgent) {
        (true, true) => Decision::Tell,
        (false, _) => Decision::Pass,
        (true, false) => Decision::Wait,
    }
}

/// The kind of news that the incident is.
fn occasion(incident: &Incident) -> Occasion {
    match incident.phase {
        _ if incident.notice_of(NoticeKind::Mistake).is_some() => Occasion::Mistake,
        _ if incident.is_notice() => Occasion::Warning,
        Phase::Closed | Phase::Shrunk => Occasion::Recovered,
        Phase::Intermittent => Occasion::Intermittent,
        _ => Occasion::Broken,
    }
}

/// Leaves out the news that the notifier does not want, or knows.
fn keep_news(
    envelope: &mut Envelope,
    run: &Envelope,
    wants: &impl Fn(Occasion) -> bool,
    is_told: &impl Fn(&Incident) -> bool,
) {
    // Changes of URLs of incidents are told with these.
    let covered = run.incidents.iter();
    let covered: HashSet<&str> = covered
        .filter(|incident| !incident.id.is_empty() && !is_told(incident))
        .flat_map(|incident| incident.urls.iter().map(|url| url.url.as_str()))
        .collect();
    envelope.changes.retain(|change| {
        let occasion = if change.to == State::Ok {
            Occasion::Recovered
        } else {
            Occasion::Broken
        };
        wants(occasion) && !change.muted && !covered.contains(change.url.as_str())
    });
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::ops::Range;
    use std::sync::Arc;
    use std::time::Duration;

    use jiff::SignedDuration;
    use proptest::prelude::*;
    use urldb_protocol::{Ack, AffectedUrl, Because, Evidence, Notice, Observed};
    use urldb_verdict::incident::{
        Event, EventUrl, EvidenceFacts, FileFacts, IncidentLog, LimitFacts, OwnNetwork, RunFacts,
        RunResult, Runs, UrlOutcome, append, time_of,
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

    /// A notifier whose service may be down, and its reader, who knows only the messages.
    struct Notifier {
        audience: Audience,
        /// The URLs that the reader believes to be broken, and since when.
        believed: BTreeMap<String, Option<Timestamp>>,
        messages: usize,
    }

    impl Notifier {
        fn believes(&self) -> BTreeSet<String> {
            self.believed.keys().cloned().collect()
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
        /// The owner of two URLs.
        owner: &'static str,
        logs: Vec<IncidentLog>,
        notified: BTreeMap<String, BTreeMap<String, Heard>>,
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
                owner: "gaia",
                logs: vec![],
                notified: BTreeMap::new(),
            }
        }

        /// A run that sees these states.
        fn run(&mut self, states: &[State]) {
            self.now += SignedDuration::from_hours(24);
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
                runs: Runs {
                    past: &[],
                    now: self.now,
                    counts: &|_, _, _| true,
                },
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
                limits: &LimitFacts::default(),
                evidence: &EvidenceFacts::default(),
                network: OwnNetwork::Unknown,
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
                owner: own("gaia").contains(&index).then(|| self.owner.to_owned()),
                host: "example.org".to_owned(),
                muted: false,
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
                mark: None,
                seen: state,
                seen_reason: None,
                redirect: None,
                agreement: None,
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
            run.changes.clear();
            run.fixed.clear();
            run.mistakes.clear();
            run.findings.clear();
            run.run.started = self.now;
            let section = Section {
                name,
                audience: &notifier.audience,
                routing: &self.routing,
                keeps_threads: name == "threads",
            };
            let report = report_for(&run, &self.files(), section);
            let mut hear = |heard: Vec<(String, Heard)>, only_new: bool| {
                for (id, heard) in heard {
                    let of_incident = self.notified.entry(id).or_default();
                    if only_new {
                        of_incident.entry(name.to_owned()).or_insert(heard);
                    } else {
                        of_incident.insert(name.to_owned(), heard);
                    }
                }
            };
            hear(report.passed, false);
            if !report.has_news {
                return None;
            }
            if !works {
                let expected = report
                    .heard
                    .into_iter()
                    .map(|(id, _)| (id, Heard::default()));
                hear(expected.collect(), true);
                return None;
            }
            hear(report.heard.clone(), false);
            let told = report.envelope.incidents.iter().filter(|incident| {
                let is_told = report.heard.iter().any(|(id, _)| *id == incident.id);
                is_told && !incident.reminder
            });
            let urls: Vec<&AffectedUrl> = told.flat_map(|incident| &incident.urls).collect();
            // A URL may be broken again, in another incident: the dates tell which is later.
            for url in urls.iter().filter(|url| url.left.is_some()) {
                // Nobody edits here: a URL that has left was seen as promised.
                assert_eq!(url.left, Some(Because::Recovered));
                let known = notifier.believed.get(&url.url);
                if known.is_some_and(|since| *since < url.until) {
                    notifier.believed.remove(&url.url);
                }
            }
            let affected = urls.iter().filter(|url| url.left.is_none());
            let affected = affected.map(|url| (url.url.clone(), url.since));
            notifier.believed.extend(affected);
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
            let told = (&evidence.url, evidence.observed.length);
            let mut own = own.iter();
            let is_own = own.any(|own| (&own.url, own.observed.length) == told);
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
            believed: BTreeMap::new(),
            messages: 0,
        }
    }

    proptest! {
        /// Whoever gets only his messages knows what is broken, whenever his service works; what is held
        /// back is growth by less than half, and recovery of less than half. A reader of `after` hears of what
        /// is broken for long and was not acknowledged, and the end of it.
        #[test]
        fn a_reader_knows_what_is_broken(
            runs in prop::collection::vec(
                (
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
            for (seen, works, is_acked) in runs {
                // Half of the runs see no change, so that URLs are broken for long.
                if works[0] != works[1] {
                    states = seen;
                }
                world.run(&states);
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
                    if !works {
                        continue;
                    }
                    let believed = reader.believes();
                    let unheard: BTreeSet<_> = due.difference(&believed).collect();
                    let stale: BTreeSet<_> = believed.difference(&broken).collect();
                    prop_assert!(unheard.is_empty() || unheard.len() * 2 < before.len(), "{name}: {unheard:?}");
                    prop_assert!(stale.is_empty() || stale.len() * 2 < before.len(), "{name}: {stale:?}");
                    prop_assert!(!broken.is_empty() || believed.is_empty());
                }
                if is_acked {
                    world.acknowledge();
                }
            }
        }
    }

    proptest! {
        /// The filter of a section changes between runs, and the section is gone for a while. Its reader hears of
        /// URLs that it takes, and the end of all of which he has heard.
        #[test]
        fn whoever_was_told_of_a_break_is_told_its_end(
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
                let before = reader.believes();
                let message = world.deliver("mail", &mut reader, works);
                let own: BTreeSet<String> = own(filter).map(url_of).collect();
                let told = message.iter().flat_map(|message| &message.incidents);
                for url in told.flat_map(|incident| &incident.urls) {
                    let is_own = own.contains(&url.url) || before.contains(&url.url);
                    prop_assert!(is_own, "{filter}: {url:?}");
                }
                if !works {
                    continue;
                }
                let ([all, _], [broken, _]) = (world.broken("all"), world.broken(filter));
                let believed = reader.believes();
                let unheard: BTreeSet<_> = broken.difference(&believed).collect();
                let stale: BTreeSet<_> = believed.difference(&all).collect();
                prop_assert!(unheard.is_empty() || unheard.len() * 2 < before.len(), "{filter}: {unheard:?}");
                prop_assert!(stale.is_empty() || stale.len() * 2 < before.len(), "{filter}: {stale:?}");
                prop_assert!(!all.is_empty() || believed.is_empty(), "{believed:?}");
            }
        }
    }

    /// The phase and the URLs of each message: those that are broken, and those that are not any more.
    fn told(
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
    fn a_changed_filter_is_told_at_once_what_is_open_and_each_end() {
        let (mut world, mut reader) = (World::new(), notifier("all"));
        world.run(&gone(&[2, 3]));
        assert_eq!(
            told(&mut world, &mut reader, "gaia"),
            Some((Phase::Opened, 2, 0))
        );
        world.run(&gone(&[0, 2, 3]));
        assert_eq!(told(&mut world, &mut reader, "gaia"), None);
        assert_eq!(
            told(&mut world, &mut reader, "all"),
            Some((Phase::Grown, 3, 0))
        );
        // At once: without the change, four URLs where three were told wait for a day. Nothing of a URL that no
        // filter takes.
        world.run(&gone(&[0, 2, 3, 4, 1]));
        world.now -= SignedDuration::from_hours(23);
        assert_eq!(
            told(&mut world, &mut reader, "core"),
            Some((Phase::Grown, 4, 0))
        );
        world.run(&gone(&[1]));
        assert_eq!(
            told(&mut world, &mut reader, "core"),
            Some((Phase::Closed, 0, 4))
        );
        world.run(&gone(&[]));
        assert_eq!(told(&mut world, &mut reader, "core"), None);
        let mut kept = world
            .notified
            .values()
            .map(|notified| &notified["mail"].former);
        assert!(kept.all(Vec::is_empty));
    }

    #[test]
    fn a_section_that_returns_tells_what_ended_in_between() {
        let (mut world, mut reader) = (World::new(), notifier("all"));
        world.run(&gone(&[0, 2]));
        assert_eq!(
            told(&mut world, &mut reader, "all"),
            Some((Phase::Opened, 2, 0))
        );
        world.run(&gone(&[2]));
        world.run(&gone(&[]));
        assert_eq!(
            told(&mut world, &mut reader, "core"),
            Some((Phase::Closed, 0, 2))
        );
        assert_eq!(told(&mut world, &mut reader, "all"), None);
    }

    #[test]
    fn a_former_owner_is_told_the_end() {
        let (mut world, mut reader) = (World::new(), notifier("gaia"));
        world.run(&gone(&[2]));
        assert_eq!(
            told(&mut world, &mut reader, "gaia"),
            Some((Phase::Opened, 1, 0))
        );
        world.owner = "tess";
        world.run(&gone(&[2, 3]));
        // Nothing of the URL that broke later.
        assert_eq!(told(&mut world, &mut reader, "gaia"), None);
        world.run(&gone(&[3]));
        assert_eq!(
            told(&mut world, &mut reader, "gaia"),
            Some((Phase::Closed, 0, 1))
        );
    }

    proptest! {
        /// Two branches tell one reader. After they are merged, he hears of no URL a second time, and of each end.
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
                for incident in message.iter().flat_map(|message| &message.incidents) {
                    let is_news = matches!(incident.phase, Phase::Opened | Phase::Reopened);
                    let is_told = incident.urls.iter().all(|url| before.contains(&url.url));
                    prop_assert!(!is_news || !is_told, "told again: {incident:?}");
                    prop_assert!(incident.merged_into.is_none(), "{incident:?}");
                }
                if works {
                    prop_assert!(!broken.is_empty() || believed.is_empty(), "{believed:?}");
                    let unheard: BTreeSet<_> = broken.difference(&believed).collect();
                    prop_assert!(unheard.is_empty() || unheard.len() * 2 < before.len(), "{unheard:?}");
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
            let mut told: BTreeMap<String, Timestamp> = BTreeMap::new();
            let mut last = None;
            for (seen, changes) in runs {
                if changes {
                    states = seen;
                }
                world.run(&states);
                let message = world.deliver("all", &mut reader, true);
                let incidents = message.iter().flat_map(|message| &message.incidents);
                let repeated = incidents.filter(|it| it.reminder || it.phase != Phase::Unchanged);
                told.extend(repeated.map(|incident| (incident.id.clone(), world.now)));
                if message.is_some_and(|it| it.incidents.iter().any(|incident| incident.reminder)) {
                    prop_assert!(last.is_none_or(|last| world.now.duration_since(last) >= WEEK));
                    last = Some(world.now);
                }
                for log in &world.logs {
                    let is_open = log.state().members.values().any(|it| it.intermittent.is_none());
                    let age = told.get(&log.id).map(|told| world.now.duration_since(*told));
                    prop_assert!(!is_open || age.is_some_and(|age| age < WEEK), "{} was told {age:?} before", log.id);
                }
            }
        }
    }

    /// A section with a place for each incident, such as an issue, ends that of a merged one, unless both
    /// incidents have one place.
    #[test]
    fn the_place_of_a_merged_incident_ends() {
        for (second, ends) in [(State::Gone, false), (State::Changed, true)] {
            let mut world = World::new();
            let mut reader = notifier("threads");
            for state in [State::Gone, second] {
                let mut branch = World {
                    now: world.now,
                    ..World::new()
                };
                let mut states = vec![State::Ok; URLS];
                states[0] = state;
                branch.run(&states);
                branch.deliver("threads", &mut reader, true).unwrap();
                (world.now, world.states) = (branch.now, branch.states);
                world.logs.extend(branch.logs);
                world.notified.extend(branch.notified);
            }
            world.run(&world.states.clone());
            let message = world.deliver("threads", &mut reader, true);
            let incidents = message.iter().flat_map(|message| &message.incidents);
            let merged = incidents.filter(|it| it.merged_into.is_some());
            assert_eq!(merged.count(), usize::from(ends), "{second}");
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
        let blind = Notice {
            kind: NoticeKind::Blind,
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
            run.changes.clear();
            (run, noticed(notice.clone()))
        };
        for (audience, others, [hears_blind, hears_mistake]) in [
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
            for (notice, hears) in [(&blind, hears_blind), (&mistake, hears_mistake)] {
                let (run, file) = run(notice);
                let section = Section {
                    name: "all",
                    audience: &audience,
                    routing: &routing,
                    keeps_threads: false,
                };
                let report = report_for(&run, &[file], section);
                let kind = notice.kind.as_str();
                assert_eq!(report.has_news, hears, "{kind}: {audience:?}");
                assert_eq!(
                    report.heard.len(),
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
        assert_eq!((incident.phase, incident.unheard), (Phase::Closed, true));
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
        let told = [Some(Phase::Opened), Some(Phase::Closed)];
        assert_eq!(phases, [[None; 4].as_slice(), &told].concat());
    }

    #[test]
    fn growth_and_recovery_wait_for_half() {
        let mut world = World::new();
        let mut reader = notifier("all");
        let mut phases = vec![];
        for count in [4, 5, 6, 4, 3, 0] {
            let mut states = vec![State::Ok; URLS];
            states[..count].fill(State::Gone);
            world.run(&states);
            // Less than a day after the message before.
            world.now -= SignedDuration::from_hours(23);
            let message = world.deliver("mail", &mut reader, true);
            let phase = message.map(|it| (it.incidents[0].phase, it.incidents[0].urls.len()));
            phases.push(phase);
        }
        assert_eq!(
            phases,
            [
                Some((Phase::Opened, 4)),
                None,
                Some((Phase::Grown, 6)),
                None,
                Some((Phase::Shrunk, 6)),
                Some((Phase::Closed, 6)),
            ]
        );
    }
}
