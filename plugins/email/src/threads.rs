//! The mails that a report needs: one for all that is new, and one for each earlier thread with news.

use std::collections::BTreeMap;

use urldb_protocol::{Because, Delivery, Envelope, Incident, NoticeKind, Phase, Remembered, State};
use urldb_render::{has_other_news, tells};

/// The facts that a thread needs in later runs.
const MESSAGE_ID: &str = "message-id";
const SUBJECT: &str = "subject";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Thread {
    /// Identifies the mail within the report: `news`, `reminders`, or the id of an incident.
    pub(crate) key: String,
    /// The mail that this one follows; absent for the first mail of a thread.
    pub(crate) opening: Option<Opening>,
    /// The state that the sender's name shows.
    pub(crate) label: Option<&'static str>,
    /// The ids of the incidents that the mail tells.
    pub(crate) incidents: Vec<String>,
}

impl Thread {
    pub(crate) fn ids(&self) -> Vec<&str> {
        self.incidents.iter().map(String::as_str).collect()
    }
}

/// The first mail of a thread.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Opening {
    /// The Message-ID, without angle brackets.
    pub(crate) message_id: String,
    pub(crate) subject: String,
}

/// The key of the mail about all that is new.
pub(crate) const NEWS: &str = "news";
/// The label of a mail about what is still open.
pub(crate) const REMINDER: &str = "reminder";
/// The key of the mail with the reminders of several threads.
const REMINDERS: &str = "reminders";

/// The key and the label of a weekly report.
pub(crate) const WEEKLY: &str = "weekly";

/// The mails that the report needs, at least one.
pub(crate) fn threads(envelope: &Envelope, notifier: &str) -> Vec<Thread> {
    if envelope.week.is_some() {
        return vec![first_mail(WEEKLY, Some(WEEKLY), &[])];
    }
    let SortedIncidents {
        news,
        followed,
        reminded,
    } = SortedIncidents::new(envelope, notifier);
    let mut threads = vec![];
    if !news.is_empty() || has_other_news(envelope) {
        let label = label_of_news(envelope, &news);
        threads.push(first_mail(NEWS, label, &news));
    }
    for (opening, incidents) in followed {
        let label = label_of(&incidents);
        threads.push(follow_up(opening, &incidents, label));
    }
    if reminded.len() == 1
        && let Some((Some(opening), incidents)) = reminded.first_key_value()
    {
        threads.push(follow_up(opening.clone(), incidents, REMINDER));
    } else if !reminded.is_empty() {
        let incidents: Vec<&Incident> = reminded.into_values().flatten().collect();
        threads.push(first_mail(REMINDERS, Some(REMINDER), &incidents));
    }
    if threads.is_empty() {
        // A notifier that tells every run.
        threads.push(first_mail(NEWS, None, &[]));
    }
    threads
}

/// The incidents of a report, by the mail that tells them.
struct SortedIncidents<'a> {
    /// Incidents of the first mail of a new thread.
    news: Vec<&'a Incident>,
    /// Incidents with news, by their thread.
    followed: BTreeMap<Opening, Vec<&'a Incident>>,
    /// Incidents with a reminder, by their thread, if they have one.
    reminded: BTreeMap<Option<Opening>, Vec<&'a Incident>>,
}

/// The label of a mail about these incidents.
fn label_of(incidents: &[&Incident]) -> &'static str {
    let all = |wanted: fn(&Incident) -> bool| incidents.iter().all(|incident| wanted(incident));
    match () {
        () if all(|it| it.is_notice() && it.phase == Phase::Closed) => "solved",
        () if all(|it| it.notice_of(NoticeKind::Mistake).is_some()) => "mistake",
        () if all(Incident::is_notice) => "warning",
        () if all(|it| matches!(it.end(), Some(Because::Accepted | Because::Removed))) => "closed",
        () if all(|it| it.phase == Phase::Closed) => "recovered",
        () if all(|it| it.phase.is_news() && it.comes_and_goes()) => "comes and goes",
        () => "broken",
    }
}

impl<'a> SortedIncidents<'a> {
    fn new(envelope: &'a Envelope, notifier: &str) -> Self {
        let mut sorted = Self {
            news: vec![],
            followed: BTreeMap::new(),
            reminded: BTreeMap::new(),
        };
        let incidents = envelope.incidents.iter();
        for incident in incidents.filter(|incident| !incident.id.is_empty()) {
            let opening = opening(incident, notifier);
            match (incident.phase, opening) {
                (Phase::Opened, _) => sorted.news.push(incident),
                (phase, opening) if tells(phase) => match opening {
                    Some(opening) => sorted.followed.entry(opening).or_default().push(incident),
                    None => sorted.news.push(incident),
                },
                (_, opening) if incident.reminder => {
                    sorted.reminded.entry(opening).or_default().push(incident);
                }
                _ => {}
            }
        }
        // A thread gets one mail in a run: a reminder joins the news of its thread.
        sorted.reminded.retain(|opening, incidents| {
            let opening = opening.as_ref();
            let thread = opening.and_then(|opening| sorted.followed.get_mut(opening));
            match thread {
                Some(thread) => thread.append(incidents),
                None => return true,
            }
            false
        });
        sorted
    }
}

/// The first mail of a thread.
fn first_mail(key: &str, label: Option<&'static str>, incidents: &[&Incident]) -> Thread {
    Thread {
        key: key.to_owned(),
        opening: None,
        label,
        incidents: ids(incidents),
    }
}

fn follow_up(opening: Opening, incidents: &[&Incident], label: &'static str) -> Thread {
    let incidents = ids(incidents);
    Thread {
        key: incidents.iter().min().cloned().unwrap_or_default(),
        opening: Some(opening),
        label: Some(label),
        incidents,
    }
}

fn ids(incidents: &[&Incident]) -> Vec<String> {
    let ids = incidents.iter().map(|incident| incident.id.clone());
    ids.collect()
}

/// The first mail about the incident, if there was one.
fn opening(incident: &Incident, notifier: &str) -> Option<Opening> {
    let facts = incident.threads.get(notifier)?;
    let message_id = facts.get(MESSAGE_ID)?;
    // People can edit the ledger, and the id becomes a part of a header.
    let is_id = |char: char| char.is_ascii_graphic() && !matches!(char, '<' | '>');
    if message_id.is_empty() || !message_id.contains('@') || !message_id.chars().all(is_id) {
        return None;
    }
    Some(Opening {
        message_id: message_id.to_string(),
        subject: facts.get(SUBJECT)?.to_string(),
    })
}

/// The facts that later mails of the thread need.
pub(crate) fn remember(thread: &Thread, message_id: &str, subject: &str) -> Vec<Remembered> {
    if thread.opening.is_some() {
        return vec![];
    }
    let fact = |incident: &String, key: &str, value: &str| Remembered {
        incident: incident.clone(),
        key: key.to_owned(),
        value: Delivery::text(value),
    };
    let facts = thread.incidents.iter().flat_map(|incident| {
        [
            fact(incident, MESSAGE_ID, message_id),
            fact(incident, SUBJECT, subject),
        ]
    });
    facts.collect()
}

fn label_of_news(envelope: &Envelope, incidents: &[&Incident]) -> Option<&'static str> {
    let is_closed = |incident: &&Incident| incident.phase == Phase::Closed;
    let is_danger = |incident: &&Incident| incident.is_notice();
    let is_broken = !incidents.iter().all(|it| is_closed(it) || is_danger(it))
        || envelope.changes.iter().any(|change| change.to.is_broken());
    let is_recovered =
        !incidents.is_empty() || envelope.changes.iter().any(|change| change.to == State::Ok);
    let has_mistake = envelope.mistakes.iter().any(|mistake| mistake.new);
    let is_warned = incidents.iter().any(|it| is_danger(it) && !is_closed(it));
    let has_warning = is_warned || envelope.findings.iter().any(|finding| finding.new);
    let is_solved = !incidents.is_empty() && incidents.iter().all(is_danger);
    let is_unsteady = !incidents.is_empty() && incidents.iter().all(|it| it.comes_and_goes());
    let labels = [
        (is_unsteady, "comes and goes"),
        (is_broken, "broken"),
        (has_mistake, "mistake"),
        (has_warning, "warning"),
        (is_solved, "solved"),
        (is_recovered, "recovered"),
        (!envelope.fixed.is_empty(), "recovered"),
    ];
    let label = labels.into_iter().find(|(applies, _)| *applies);
    label.map(|(_, label)| label)
}

/// The report as this mail tells it: news without an incident belong to the mail about all that is new.
pub(crate) fn part(envelope: &Envelope, thread: &Thread) -> Envelope {
    urldb_render::part(envelope, &thread.ids(), thread.key == NEWS)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use urldb_protocol::{AffectedUrl, Chapter, Delay};

    use super::*;

    fn incident(id: &str, phase: Phase, thread: Option<&str>) -> Incident {
        let facts = thread.map(|thread| {
            let facts = [
                ("message-id", format!("{thread}@example.org")),
                ("subject", "x".to_owned()),
            ];
            let facts = facts.map(|(key, value)| (key.to_owned(), Delivery::text(value)));
            ("mail".to_owned(), BTreeMap::from(facts))
        });
        Incident {
            id: id.to_owned(),
            runs: 1,
            host_urls: 1,
            urls: vec![AffectedUrl {
                file: "urldb/example.org.yaml".to_owned(),
                line: 1,
                left: (phase == Phase::Closed).then_some(Because::Recovered),
                ..AffectedUrl::of(&format!("https://example.org/{id}"))
            }],
            threads: facts.into_iter().collect(),
            ..Incident::group(
                phase,
                "example.org".to_owned(),
                State::Gone,
                jiff::Timestamp::UNIX_EPOCH,
            )
        }
    }

    fn reminded(id: &str, thread: Option<&str>) -> Incident {
        Incident {
            reminder: true,
            ..incident(id, Phase::Unchanged, thread)
        }
    }

    fn envelope(incidents: Vec<Incident>) -> Envelope {
        let example = include_str!("../../../docs/envelope.example.json");
        let mut envelope: Envelope = serde_json::from_str(example).unwrap();
        envelope.changes.clear();
        envelope.findings.clear();
        envelope.fixed.clear();
        envelope.mistakes.clear();
        envelope.incidents = incidents;
        envelope
    }

    /// For each mail: its key, the thread that it follows, the label, and its incidents.
    fn mails(incidents: Vec<Incident>) -> Vec<String> {
        let threads = threads(&envelope(incidents), "mail");
        let text = |thread: &Thread| {
            let opening = thread.opening.as_ref();
            let opening = opening.map_or("-", |opening| opening.message_id.as_str());
            let label = thread.label.unwrap_or("-");
            format!(
                "{} {opening} {label} {}",
                thread.key,
                thread.incidents.join(",")
            )
        };
        threads.iter().map(text).collect()
    }

    #[test]
    fn all_that_is_new_is_one_mail_and_each_thread_gets_one() {
        use Phase as P;
        for (incidents, expected) in [
            (vec![], vec!["news - - "]),
            (
                vec![
                    incident("a", P::Opened, None),
                    incident("b", P::Opened, None),
                    incident("c", P::Unchanged, Some("r1")),
                ],
                vec!["news - broken a,b"],
            ),
            (
                vec![
                    incident("a", P::Opened, None),
                    incident("b", P::Grown, Some("r1")),
                    incident("c", P::Closed, Some("r2")),
                    incident("d", P::Closed, Some("r1")),
                ],
                vec![
                    "news - broken a",
                    "b r1@example.org broken b,d",
                    "c r2@example.org recovered c",
                ],
            ),
            // Without a thread: no mail has told of the incident.
            (vec![incident("a", P::Grown, None)], vec!["news - broken a"]),
            (
                vec![incident("a", P::Closed, None)],
                vec!["news - recovered a"],
            ),
            (
                vec![reminded("a", Some("r1"))],
                vec!["a r1@example.org reminder a"],
            ),
            (
                vec![reminded("a", Some("r1")), reminded("b", Some("r2"))],
                vec!["reminders - reminder a,b"],
            ),
            (vec![reminded("a", None)], vec!["reminders - reminder a"]),
            (
                vec![
                    reminded("a", Some("r1")),
                    incident("b", P::Closed, Some("r1")),
                ],
                vec!["a r1@example.org broken b,a"],
            ),
            (
                vec![incident("a", P::Grown, Some("r1\r\nBcc: eve"))],
                vec!["news - broken a"],
            ),
        ] {
            assert_eq!(mails(incidents), expected);
        }
    }

    #[test]
    fn a_mail_is_late_only_if_an_earlier_try_could_have_told_it() {
        let at = |day: i64| jiff::Timestamp::from_second(day * 86_400).unwrap();
        let event = |day: i64, new: bool| Chapter {
            run: String::new(),
            at: at(day),
            event: urldb_protocol::EventKind::Opened,
            state: None,
            reason: None,
            redirect: None,
            because: None,
            sure: false,
            again: false,
            new,
            ack: None,
            notice: None,
            urls: 1,
            affected: 1,
            evidence: None,
        };
        let delayed = |phase, thread, unheard, chapters: Vec<Chapter>| {
            let incident = Incident {
                chapters,
                unheard,
                ..incident("a", phase, thread)
            };
            let mut envelope = envelope(vec![incident]);
            envelope.delay = Some(Delay {
                first_tried: at(1),
                last_tried: at(3),
                now: at(4),
                reason: Delivery::text("no connection"),
            });
            let thread = threads(&envelope, "mail").remove(0);
            let delay = part(&envelope, &thread).delay;
            delay.map(|delay| delay.first_tried)
        };
        let (opened, closed) = (Phase::Opened, Phase::Closed);
        assert_eq!(
            delayed(opened, None, false, vec![event(1, true)]),
            Some(at(1))
        );
        assert_eq!(delayed(opened, None, false, vec![event(4, true)]), None);
        let told = || vec![event(0, false), event(2, true)];
        assert_eq!(delayed(closed, Some("r1"), false, told()), Some(at(2)));
        let unheard = || vec![event(1, false), event(4, true)];
        assert_eq!(delayed(closed, None, true, unheard()), Some(at(1)));
        assert_eq!(delayed(closed, Some("r1"), false, unheard()), None);
    }

    #[test]
    fn the_label_says_what_happened() {
        let closed = |because| {
            let mut incident = incident("a", Phase::Closed, None);
            incident.urls[0].left = Some(because);
            incident
        };
        let unsteady = |phase| {
            let mut incident = incident("a", phase, None);
            incident.urls[0].intermittent = true;
            incident
        };
        for (incident, label) in [
            (closed(Because::Recovered), "recovered"),
            (closed(Because::Steady), "recovered"),
            (closed(Because::Accepted), "closed"),
            (closed(Because::Removed), "closed"),
            (unsteady(Phase::Intermittent), "comes and goes"),
            (unsteady(Phase::Reopened), "comes and goes"),
            (incident("a", Phase::Reopened, None), "broken"),
            (incident("a", Phase::Became, None), "broken"),
        ] {
            assert_eq!(label_of(&[&incident]), label);
        }
    }

    #[test]
    fn a_mail_tells_its_own_incidents_as_news() {
        let envelope = envelope(vec![
            incident("a", Phase::Opened, None),
            incident("b", Phase::Grown, Some("r1")),
            incident("c", Phase::Closed, Some("r2")),
        ]);
        let phases: Vec<Vec<(String, Phase)>> = threads(&envelope, "mail")
            .iter()
            .map(|thread| {
                let incidents = part(&envelope, thread).incidents.into_iter();
                incidents
                    .map(|incident| (incident.id, incident.phase))
                    .collect()
            })
            .collect();
        let a = |phase| ("a".to_owned(), phase);
        let b = |phase| ("b".to_owned(), phase);
        assert_eq!(
            phases,
            [
                vec![a(Phase::Opened), b(Phase::Unchanged)],
                vec![a(Phase::Unchanged), b(Phase::Grown)],
                vec![
                    a(Phase::Unchanged),
                    b(Phase::Unchanged),
                    ("c".to_owned(), Phase::Closed)
                ],
            ]
        );
    }
}
