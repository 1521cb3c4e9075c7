//! The parts of a report that messages tell: the whole report, or an incident each.

use std::collections::HashSet;

use urldb_protocol::{
    Delay, Delivery, DeliveryOutcome, Envelope, Incident, NoticeKind, Phase, PlannedDelivery,
    ReportDelivery,
};

/// The number of messages that a notifier makes of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Each {
    /// One message for each run with news.
    Run,
    /// One message for each incident with news, and one for all other news. More messages than
    /// [`MOST_INCIDENTS`] are joined to one.
    Incident,
    /// The same without a limit, for a service that opens and closes something for each incident.
    EveryIncident,
}

/// Most messages of [`Each::Incident`] in a run.
pub const MOST_INCIDENTS: usize = 5;

/// The part of a report that one message tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// The whole report.
    Run,
    /// The news of the incident with this id.
    Incident(String),
    /// All news that belong to no incident.
    Others,
    /// The week before the run.
    Week,
}

/// The id of the delivery of [`Part::Others`]; no id of an incident.
const OTHERS: &str = "others";

/// The id of the delivery of [`Part::Week`].
const WEEKLY: &str = "weekly";

/// The messages that the report needs, at least one.
pub fn parts(envelope: &Envelope, each: Each) -> Vec<Part> {
    if envelope.week.is_some() {
        return vec![Part::Week];
    }
    let mut parts: Vec<Part> = envelope
        .incidents
        .iter()
        .filter(|it| has_news(it))
        .map(|it| Part::Incident(it.id.clone()))
        .collect();
    if has_other_news(envelope) {
        parts.push(Part::Others);
    }
    let is_joined = match each {
        Each::Run => true,
        Each::Incident => parts.len() > MOST_INCIDENTS,
        Each::EveryIncident => false,
    };
    if is_joined || parts.is_empty() {
        parts = vec![Part::Run];
    }
    parts
}

/// The deliveries of the messages that the report needs, to one destination.
pub fn planned(envelope: &Envelope, each: Each, to: &str) -> Vec<PlannedDelivery> {
    parts(envelope, each)
        .into_iter()
        .map(|part| part.planned(envelope, to.to_owned()))
        .collect()
}

/// The messages of the report whose deliveries are pending.
pub fn due(envelope: &Envelope, each: Each, pending: &[String]) -> Vec<Part> {
    let mut parts = parts(envelope, each);
    parts.retain(|part| pending.iter().any(|id| id == part.delivery()));
    parts
}

/// Reports a delivery. Returns whether another one makes sense now: a service that is busy or away is no better a
/// moment later.
pub fn goes_on(delivery: Delivery, report: ReportDelivery<'_>) -> bool {
    let is_away = delivery.outcome == DeliveryOutcome::Retry;
    report(if is_away {
        delivery.of_notifier()
    } else {
        delivery
    });
    !is_away
}

impl Part {
    /// The id of the incident, if the part is about one.
    pub fn thread(&self) -> Option<&str> {
        match self {
            Self::Incident(id) => Some(id),
            Self::Run | Self::Others | Self::Week => None,
        }
    }

    /// Identifies the delivery of the part within its report.
    pub fn delivery(&self) -> &str {
        match self {
            Self::Run => PlannedDelivery::REPORT,
            Self::Incident(id) => id,
            Self::Others => OTHERS,
            Self::Week => WEEKLY,
        }
    }

    /// The delivery of the part to the destination.
    fn planned(&self, envelope: &Envelope, to: String) -> PlannedDelivery {
        let whole = PlannedDelivery::of_report(envelope, to);
        PlannedDelivery {
            id: self.delivery().to_owned(),
            about: match self {
                Self::Run | Self::Others => whole.about,
                Self::Week => format!("week before the {}", whole.about),
                Self::Incident(id) => format!("incident {id} in the {}", whole.about),
            },
            // Without its own, the delivery would count as that of the other incidents too. `OTHERS` is none.
            incidents: match self {
                Self::Run | Self::Week => whole.incidents,
                Self::Incident(_) | Self::Others => vec![self.delivery().to_owned()],
            },
            ..whole
        }
    }

    /// Identifies the message of a notifier in all runs: the same whenever it is delivered again.
    pub fn message_id(&self, envelope: &Envelope, notifier: &str) -> String {
        let tells = envelope.tells();
        match self {
            Self::Run => format!("{tells}.{notifier}"),
            Self::Incident(_) | Self::Others | Self::Week => {
                format!("{tells}.{}.{notifier}", self.delivery())
            }
        }
    }
}

/// Whether a message tells of incidents in the phase.
pub fn tells(phase: Phase) -> bool {
    phase.is_news() || phase == Phase::Closed
}

/// Whether the incident has a message of its own.
fn has_news(incident: &Incident) -> bool {
    let is_delivered = tells(incident.phase) && !incident.quiet;
    !incident.id.is_empty() && (is_delivered || incident.reminder)
}

/// Whether the report has news that belong to no incident.
pub fn has_other_news(envelope: &Envelope) -> bool {
    let noticed = envelope.files_with_notice();
    let is_other = |file: &str| !noticed.contains(file);
    envelope
        .mistakes
        .iter()
        .any(|mistake| mistake.new && is_other(&mistake.file))
        || envelope.fixed.iter().any(|fixed| is_other(&fixed.file))
        || envelope.findings.iter().any(|finding| finding.new)
}

/// The report as a message tells it that is about these incidents only: other incidents are only open. News
/// without an incident stay if the message tells them.
pub fn part(envelope: &Envelope, delivered: &[&str], tells_others: bool) -> Envelope {
    let is_delivered = |incident: &Incident| delivered.contains(&incident.id.as_str());
    let mut part = envelope.clone();
    part.delay = delay(envelope, delivered, tells_others);
    part.incidents.retain_mut(|incident| {
        match incident.phase {
            _ if incident.id.is_empty() || is_delivered(incident) => return true,
            Phase::Closed => return false,
            phase if tells(phase) => incident.phase = Phase::Unchanged,
            _ => {}
        }
        incident.reminder = false;
        true
    });
    let elsewhere: HashSet<&str> = envelope
        .incidents
        .iter()
        .filter(|it| !is_delivered(it))
        .filter_map(|it| it.notice_of(NoticeKind::Mistake))
        .map(|notice| notice.file.as_str())
        .collect();
    let noticed = envelope.files_with_notice();
    let tells_file = |file: &str| {
        let is_own = noticed.contains(file) || tells_others;
        is_own && !elsewhere.contains(file)
    };
    part.fixed.retain(|fixed| tells_file(&fixed.file));
    for mistake in &mut part.mistakes {
        mistake.new &= tells_file(&mistake.file);
    }
    for finding in &mut part.findings {
        finding.new &= tells_others;
    }
    part
}

/// The delay of a message: none if no earlier try could have told any of its events.
fn delay(envelope: &Envelope, delivered: &[&str], tells_others: bool) -> Option<Delay> {
    let delay = envelope.delay.clone()?;
    let first = envelope
        .incidents
        .iter()
        .filter(|incident| delivered.contains(&incident.id.as_str()))
        .flat_map(|incident| incident.chapters.iter().filter(|it| it.new))
        .map(|chapter| chapter.at)
        .min();
    let Some(first) = first else {
        return Some(delay);
    };
    let is_late = first <= delay.last_tried || tells_others && has_other_news(envelope);
    is_late.then(|| Delay {
        first_tried: delay.first_tried.max(first),
        ..delay
    })
}

/// The URLs of incidents.
pub(crate) fn urls_of(envelope: &Envelope, wanted: impl Fn(&Incident) -> bool) -> HashSet<&str> {
    envelope
        .incidents
        .iter()
        .filter(|incident| !incident.id.is_empty() && wanted(incident))
        .flat_map(|incident| &incident.urls)
        .map(|affected| affected.url.as_str())
        .collect()
}
