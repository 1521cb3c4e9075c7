//! Groups the incidents of a report by the issue that they belong to.

use std::collections::BTreeMap;

use urldb_protocol::{Envelope, Incident, Phase};

use crate::marker::is_name;

/// The fact that the notifier remembers about an incident: the number of its issue.
pub(crate) const ISSUE: &str = "issue";

/// So many new incidents of one run have an issue each; more share one.
pub(crate) const MOST_SINGLE_ISSUES: usize = 5;

/// Most incidents of one issue, so that its body has room for a line about each.
const MOST_INCIDENTS: usize = 200;

/// The news of one run for one issue.
#[derive(Debug, Clone)]
pub(crate) struct Thread<'a> {
    /// The ids of its deliveries, which are ids of incidents. A shared issue is opened by one
    /// delivery. Later, each incident is a delivery: whether two of them have one issue is not always
    /// known before, and must not change the ids.
    pub(crate) deliveries: Vec<String>,
    /// Whether the incidents began in this run, and have no issue yet.
    pub(crate) opened: bool,
    /// The incidents, in the order of the report. Never empty.
    pub(crate) incidents: Vec<&'a Incident>,
    /// The number of the issue, if it is known.
    pub(crate) number: Option<u64>,
}

/// The threads of a report, new ones first.
pub(crate) fn threads<'a>(envelope: &'a Envelope, name: &str) -> Vec<Thread<'a>> {
    let incidents = envelope
        .incidents
        .iter()
        .filter(|it| is_delivered(it, name) && !continues(envelope, it, name));
    let (opened, known): (Vec<_>, Vec<_>) =
        incidents.partition(|it| it.phase == Phase::Opened && number(it, name).is_none());
    let size = if opened.len() > MOST_SINGLE_ISSUES {
        MOST_INCIDENTS
    } else {
        1
    };
    let mut threads: Vec<_> = opened
        .chunks(size)
        .map(|part| thread(part.to_vec(), true, None))
        .collect();
    let mut by_number: BTreeMap<u64, Vec<&Incident>> = BTreeMap::new();
    for incident in known {
        match number(incident, name) {
            Some(number) => by_number.entry(number).or_default().push(incident),
            None => threads.push(thread(vec![incident], false, None)),
        }
    }
    let known = by_number
        .into_iter()
        .map(|(number, part)| thread(part, false, Some(number)));
    threads.extend(known);
    threads
}

fn thread(incidents: Vec<&Incident>, opened: bool, number: Option<u64>) -> Thread<'_> {
    let mut deliveries: Vec<_> = incidents
        .iter()
        .map(|incident| incident.id.clone())
        .collect();
    if opened {
        deliveries.sort();
        deliveries.truncate(1);
    }
    Thread {
        deliveries,
        opened,
        incidents,
        number,
    }
}

/// Whether another incident has taken over the URLs, and there is no issue of this one alone.
fn continues(envelope: &Envelope, incident: &Incident, name: &str) -> bool {
    let number = number(incident, name);
    let is_alone = || {
        let mut open = envelope.incidents.iter().filter(|other| other.is_open());
        number.is_some() && !open.any(|other| self::number(other, name) == number)
    };
    incident.phase == Phase::Closed && incident.merged_into.is_some() && !is_alone()
}

/// Whether the run did something to the incident that its issue should show.
fn is_delivered(incident: &Incident, name: &str) -> bool {
    let has_id = is_name(&incident.id) && is_name(&incident.key);
    let is_changed = match incident.phase {
        // Without an issue there is nothing to correct.
        Phase::Changed if incident.quiet => number(incident, name).is_some(),
        phase => phase.is_news() || phase == Phase::Closed,
    };
    has_id && (is_changed || incident.reminder)
}

/// The remembered number of the incident's issue.
fn number(incident: &Incident, name: &str) -> Option<u64> {
    incident.threads.get(name)?.get(ISSUE)?.parse().ok()
}
