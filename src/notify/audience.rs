//! The part of a report that one notifier tells: its kinds of news, its URLs, its reminders. Pure.

use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use urldb_protocol::{Delivery, Envelope, Evidence, Incident, Phase, Remembered, State, TOLD};

use crate::config::{Audience, Occasion};
use crate::ledger::is_known;

/// A report as one notifier tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NotifierReport {
    pub(super) envelope: Envelope,
    /// When the notifier told of which incident.
    pub(super) remember: Vec<Remembered>,
}

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

/// The report as the notifier `name` tells it; `None` if there is nothing to tell.
///
/// Of the incidents, those with the phase opened, grown or closed and those with a reminder are to be
/// told. The others are still open.
pub(super) fn report_for(
    envelope: &Envelope,
    name: &str,
    audience: &Audience,
) -> Option<NotifierReport> {
    let mut envelope = routed(envelope, audience);
    let wants =
        |occasion| audience.on.contains(&occasion) || audience.on.contains(&Occasion::EveryRun);
    let now = envelope.run.started;
    envelope.incidents.retain_mut(|incident| {
        let decision = decide(incident, name, now, audience.remind, &wants);
        match decision {
            Some(decision) => {
                (incident.phase, incident.reminder) = decision;
                true
            }
            None => false,
        }
    });
    // Changes of open incidents that are not told are no news.
    let context: HashSet<String> = urls(&envelope, |incident| !is_told(incident));
    let news: HashSet<String> = urls(&envelope, is_told);
    envelope.changes.retain(|change| {
        let occasion = if change.to == State::Ok {
            Occasion::Recovered
        } else {
            Occasion::Broken
        };
        let is_known = context.contains(&change.url) && !news.contains(&change.url);
        wants(occasion) && !change.muted && !is_known
    });
    if !wants(Occasion::Mistake) {
        envelope.fixed.clear();
        for mistake in &mut envelope.mistakes {
            mistake.new = false;
        }
    }
    for finding in &mut envelope.findings {
        finding.new &= wants(Occasion::Intermittent) && !finding.muted;
    }
    let has_news = envelope.incidents.iter().any(is_told)
        || !envelope.changes.is_empty()
        || !envelope.fixed.is_empty()
        || envelope.mistakes.iter().any(|mistake| mistake.new)
        || envelope.findings.iter().any(|finding| finding.new)
        || audience.counts && envelope.incidents.iter().any(is_smaller)
        || audience.on.contains(&Occasion::EveryRun);
    let told = envelope.incidents.iter();
    let told = told.filter(|incident| is_told(incident) && incident.phase != Phase::Closed);
    let remember = told
        .map(|incident| Remembered {
            incident: incident.id.clone(),
            key: TOLD.to_owned(),
            value: Delivery::text(now.to_string()),
        })
        .collect();
    has_news.then_some(NotifierReport { envelope, remember })
}

/// The phase in which the notifier `name` sees the incident, and whether it is reminded of it. `None`
/// for a closed incident that it does not tell.
fn decide(
    incident: &Incident,
    name: &str,
    now: Timestamp,
    remind: Option<Duration>,
    wants: &impl Fn(Occasion) -> bool,
) -> Option<(Phase, bool)> {
    let told = incident.threads.get(name).and_then(|facts| facts.get(TOLD));
    let is_audible = incident.urls.iter().any(|url| !url.muted);
    let open = Some((Phase::Unchanged, false));
    // The notifier was not told of the incident when it opened: its URLs were muted, or the notifier is
    // new.
    let is_untold = told.is_none() && !incident.silent;
    match incident.phase {
        Phase::Unconfirmed | Phase::Unknown => Some((incident.phase, false)),
        Phase::Closed => {
            let was_told = told.is_some() || (is_untold && !wants(Occasion::Broken));
            (wants(Occasion::Recovered) && is_audible && was_told).then_some((Phase::Closed, false))
        }
        _ if !wants(Occasion::Broken) || !is_audible => open,
        Phase::Opened if incident.silent => open,
        _ if is_untold => Some((Phase::Opened, false)),
        Phase::Grown if incident.urls.iter().any(|url| url.new && !url.muted) => {
            Some((Phase::Grown, false))
        }
        Phase::Opened | Phase::Grown | Phase::Shrunk | Phase::Unchanged => {
            let last = told.and_then(|told| told.parse().ok());
            let last = last.or(incident.opened);
            let is_due = |remind| last.is_some_and(|last| has_passed(last, now, remind));
            let phase = match incident.phase {
                Phase::Shrunk => Phase::Shrunk,
                _ => Phase::Unchanged,
            };
            Some((phase, remind.is_some_and(is_due)))
        }
    }
}

/// Whether the time has passed but for a twentieth: a daily run begins a few seconds earlier or later
/// each day. Since a time in the future, which a wrong clock has written, it always has.
fn has_passed(since: Timestamp, now: Timestamp, time: Duration) -> bool {
    let passed = Duration::try_from(now.duration_since(since)).unwrap_or_default();
    !is_known(since, now) || passed.saturating_add(time / 20) >= time
}

/// Whether the incident is to be told.
fn is_told(incident: &Incident) -> bool {
    matches!(incident.phase, Phase::Opened | Phase::Grown | Phase::Closed) || incident.reminder
}

/// Whether URLs have left the incident, which is still open.
fn is_smaller(incident: &Incident) -> bool {
    incident.phase == Phase::Shrunk
}

/// The URLs of some incidents.
fn urls(envelope: &Envelope, wanted: impl Fn(&Incident) -> bool) -> HashSet<String> {
    let incidents = envelope.incidents.iter();
    let incidents = incidents.filter(|incident| !incident.id.is_empty() && wanted(incident));
    incidents
        .flat_map(|incident| incident.urls.iter().map(|url| url.url.clone()))
        .collect()
}

/// The routes of an audience.
struct Route<'a>(&'a Audience);

/// Whether the audience has URLs of the domain file with this name and these categories.
pub(super) fn has_url(audience: &Audience, file: &str, categories: &[String]) -> bool {
    Route(audience).has_url(file, categories)
}

/// Whether the audience is told that the incident has opened or grown.
pub(super) fn hears(audience: &Audience, incident: &Incident) -> bool {
    let route = Route(audience);
    let mut urls = incident.urls.iter().filter(|url| !url.muted);
    let mut occasions = [Occasion::Broken, Occasion::EveryRun].iter();
    occasions.any(|occasion| audience.on.contains(occasion))
        && route.has_state(incident.state)
        && urls.any(|url| route.has_url(&url.file, &url.categories))
}

impl Route<'_> {
    fn has_url(&self, file: &str, categories: &[String]) -> bool {
        let wanted = &self.0.categories;
        let has_category =
            wanted.is_empty() || categories.iter().any(|category| wanted.contains(category));
        has_category && self.has_domain(file)
    }

    /// Whether the audience has the host that the domain file is named after.
    fn has_domain(&self, file: &str) -> bool {
        let wanted = &self.0.domains;
        let host = Path::new(file).file_stem().unwrap_or_default();
        let host = host.to_string_lossy();
        wanted.is_empty() || wanted.iter().any(|pattern| pattern.matches(&host))
    }

    fn has_state(&self, state: State) -> bool {
        self.0.states.is_empty() || self.0.states.contains(&state)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use urldb_protocol::AffectedUrl;

    use super::*;

    const EXAMPLE: &str = include_str!("../../docs/envelope.example.json");

    /// The example without news, with these incidents.
    fn envelope(incidents: Vec<Incident>) -> Envelope {
        let mut envelope: Envelope = serde_json::from_str(EXAMPLE).unwrap();
        envelope.changes.clear();
        envelope.fixed.clear();
        envelope.mistakes.clear();
        envelope.findings.clear();
        envelope.incidents = incidents;
        envelope.run.started = "2026-11-26T04:17:02Z".parse().unwrap();
        envelope
    }

    fn url(name: &str) -> AffectedUrl {
        AffectedUrl {
            url: format!("https://example.org/{name}"),
            file: "urldb/example.org.yaml".to_owned(),
            line: 3,
            request: None,
            categories: vec!["core".to_owned()],
            new: false,
            not_tried: false,
            muted: false,
            left: false,
        }
    }

    /// An incident that `mail` was told of on 19 November.
    fn incident(phase: Phase) -> Incident {
        let told = Delivery::text("2026-11-19T04:17:05Z");
        let facts = BTreeMap::from([("told".to_owned(), told)]);
        Incident {
            id: "edf77159".to_owned(),
            key: String::new(),
            phase,
            host: "example.org".to_owned(),
            state: State::Gone,
            reason: None,
            redirect: None,
            since: "2026-11-18T04:17:02Z".parse().unwrap(),
            opened_by: "20261119T041705Z-91c0aa17".to_owned(),
            opened: Some("2026-11-19T04:17:05Z".parse().unwrap()),
            closed: None,
            closed_because: None,
            merged_into: None,
            last_good: None,
            runs: 1,
            host_urls: 10,
            urls: vec![url("a"), url("b")],
            added: 0,
            left: 0,
            evidence: Evidence::default(),
            threads: BTreeMap::from([("mail".to_owned(), facts)]),
            reminder: false,
            silent: false,
        }
    }

    fn untold(phase: Phase) -> Incident {
        Incident {
            threads: BTreeMap::new(),
            ..incident(phase)
        }
    }

    /// The phase and the reminder of the only incident for `mail`.
    fn seen(incident: Incident, audience: &Audience) -> Option<(Phase, bool)> {
        let report = report_for(&envelope(vec![incident]), "mail", audience)?;
        let incident = report.envelope.incidents.first();
        incident.map(|incident| (incident.phase, incident.reminder))
    }

    #[test]
    fn each_kind_of_news_is_told_to_those_who_want_it() {
        let grown = || {
            let mut grown = incident(Phase::Grown);
            grown.urls[1].new = true;
            grown
        };
        let on = |occasions: &[Occasion]| Audience {
            on: occasions.iter().copied().collect(),
            ..Audience::news()
        };
        let (broken, recovered) = (on(&[Occasion::Broken]), on(&[Occasion::Recovered]));
        let all = Audience::news();
        for (incident, audience, expected) in [
            (untold(Phase::Opened), &all, Some(Phase::Opened)),
            (untold(Phase::Opened), &recovered, None),
            (grown(), &broken, Some(Phase::Grown)),
            (incident(Phase::Grown), &broken, None),
            (incident(Phase::Shrunk), &all, None),
            (incident(Phase::Unchanged), &all, None),
            (
                incident(Phase::Unchanged),
                &Audience::every_run(),
                Some(Phase::Unchanged),
            ),
            (incident(Phase::Closed), &all, Some(Phase::Closed)),
            (incident(Phase::Closed), &broken, None),
            (untold(Phase::Closed), &recovered, Some(Phase::Closed)),
            (untold(Phase::Closed), &all, None),
            (untold(Phase::Unconfirmed), &all, None),
        ] {
            let phase = incident.phase;
            let seen = seen(incident, audience);
            assert_eq!(
                seen.map(|(phase, _)| phase),
                expected,
                "{phase:?} {audience:?}"
            );
        }
    }

    #[test]
    fn a_silent_incident_is_told_when_it_grows() {
        let silent = |phase| Incident {
            silent: true,
            ..untold(phase)
        };
        let all = Audience::news();
        for phase in [Phase::Opened, Phase::Unchanged, Phase::Closed] {
            assert_eq!(seen(silent(phase), &all), None, "{phase:?}");
        }
        let mut grown = silent(Phase::Grown);
        grown.urls[0].new = true;
        assert_eq!(seen(grown, &all), Some((Phase::Grown, false)));
    }

    #[test]
    fn muted_urls_are_told_when_they_are_muted_no_more() {
        let muted = |phase| {
            let mut incident = untold(phase);
            incident.urls.iter_mut().for_each(|url| url.muted = true);
            incident
        };
        let all = Audience::news();
        for phase in [Phase::Opened, Phase::Unchanged, Phase::Closed] {
            assert_eq!(seen(muted(phase), &all), None, "{phase:?}");
        }
        let mut expired = muted(Phase::Unchanged);
        expired.urls[0].muted = false;
        assert_eq!(seen(expired, &all), Some((Phase::Opened, false)));
        // Growth by muted URLs is no news.
        let mut grown = incident(Phase::Grown);
        grown.urls[1].new = true;
        grown.urls[1].muted = true;
        assert_eq!(seen(grown, &all), None);
    }

    #[test]
    fn reminders_come_after_their_time_and_not_before() {
        let remind = |days: u64| Audience {
            remind: Some(Duration::from_hours(24 * days)),
            ..Audience::news()
        };
        let open = || incident(Phase::Unchanged);
        assert_eq!(seen(open(), &remind(8)), None);
        // Three seconds less than seven days: the run began a little earlier than a week ago.
        assert_eq!(seen(open(), &remind(7)), Some((Phase::Unchanged, true)));
        let report = report_for(&envelope(vec![open()]), "mail", &remind(7)).unwrap();
        assert_eq!(
            report.remember,
            [Remembered {
                incident: "edf77159".to_owned(),
                key: "told".to_owned(),
                value: Delivery::text("2026-11-26T04:17:02Z"),
            }]
        );
        // A silent incident counts from the run that opened it.
        let silent = Incident {
            silent: true,
            ..untold(Phase::Unchanged)
        };
        assert_eq!(seen(silent.clone(), &remind(8)), None);
        assert_eq!(seen(silent, &remind(7)), Some((Phase::Unchanged, true)));
        let mut muted = open();
        muted.urls.iter_mut().for_each(|url| url.muted = true);
        assert_eq!(seen(muted, &remind(7)), None);
    }

    #[test]
    fn routes_leave_what_they_name() {
        let envelope: Envelope = serde_json::from_str(EXAMPLE).unwrap();
        let audience = |text: &str| {
            let section = format!(
                "[notify.x]\ntype = \"email\"\nfrom = \"a@example.org\"\n\
                 to = [\"b@example.org\"]\nfolder = \"mail\"\n{text}"
            );
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("urldb.toml");
            std::fs::write(&file, section).unwrap();
            let mut config = crate::config::load(&file).unwrap();
            config.notifiers.remove("x").unwrap().audience
        };
        assert_eq!(routed(&envelope, &audience("")), envelope);

        let only = routed(&envelope, &audience("domains = [\"data.example.org\"]"));
        let files = |envelope: &Envelope| {
            let findings = envelope.findings.iter().map(|finding| &finding.file);
            let changes = envelope.changes.iter().map(|change| &change.file);
            let mistakes = envelope.mistakes.iter().map(|mistake| &mistake.file);
            let all: HashSet<String> = findings.chain(changes).chain(mistakes).cloned().collect();
            all
        };
        assert_eq!(
            files(&only),
            HashSet::from(["urldb/data.example.org.yaml".to_owned()])
        );
        let below = routed(&envelope, &audience("domains = [\"*.example.org\"]"));
        assert!(files(&below).contains("urldb/data.example.org.yaml"));
        assert!(
            files(&below)
                .iter()
                .all(|file| file.ends_with(".example.org.yaml"))
        );

        let gone = routed(&envelope, &audience("states = [\"gone\"]"));
        assert!(
            gone.findings
                .iter()
                .all(|finding| finding.state == State::Gone)
        );
        let has_gone = |change: &urldb_protocol::Change| {
            change.to == State::Gone || change.from == State::Gone
        };
        assert!(gone.changes.iter().all(has_gone));
        assert_eq!(gone.mistakes, envelope.mistakes);

        let mut two = envelope.clone();
        two.incidents = vec![incident(Phase::Opened)];
        two.incidents[0].urls[1].categories = vec!["rest".to_owned()];
        let core = routed(&two, &audience("categories = [\"core\"]"));
        assert_eq!(core.incidents[0].urls, [url("a")]);
        assert!(
            routed(&two, &audience("categories = [\"x\"]"))
                .incidents
                .is_empty()
        );
    }
}
