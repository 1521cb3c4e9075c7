//! The events of the last days on the overview: one row for each incident, however often it changed.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use serde::Serialize;
use urldb_protocol::{IncidentOverview, LogEntry, LogEvent};
use urldb_render::numbers::number;
use urldb_render::{event_sentence, short_day, shown_host};

use super::Views;
use super::results::marks_of;
use super::values::{Time, date, first_seen};

/// Most events on the overview.
const MOST_EVENTS: usize = 30;

/// An incident, or another change of the last days.
#[derive(Debug, Serialize)]
pub(super) struct EventRow {
    at: Time,
    /// `22 Nov`, `since 15 Nov`, or `8 to 10 Nov`
    day: String,
    /// Class of the mark.
    class: &'static str,
    /// The id of the incident whose page has more.
    incident: Option<String>,
    text: String,
    detail: String,
    /// The results of the last runs of a flapping URL.
    marks: String,
}

/// Changes of one URL or host that belong to no incident.
struct Changes<'a> {
    latest: &'a LogEntry,
    first: Timestamp,
    number: u64,
}

impl Views<'_> {
    /// Events of the last days, and the number of rows that are left out. The latest date that is shown comes first.
    pub(super) fn events(&self) -> (Vec<EventRow>, u64) {
        let mut rows: Vec<(Timestamp, EventRow)> = vec![];
        let mut seen = HashSet::new();
        let mut others: Vec<Changes<'_>> = vec![];
        let mut known: HashMap<_, usize> = HashMap::new();
        let of_urls = self.incidents_of_urls();
        let news = self.events.iter().filter(|entry| is_news(entry.event));
        for entry in news {
            let id = entry.incident.as_deref();
            let named = id.and_then(|id| self.incident(id));
            // A flapping URL changes without a change of its incident.
            let of_url = || {
                of_urls
                    .get(entry.url.as_deref()?)?
                    .iter()
                    .copied()
                    .find(|it| was_open(it, entry.at))
            };
            if let Some(it) = named.or_else(of_url) {
                if seen.insert(&it.incident.id) {
                    rows.push((first_seen(&it.incident), self.incident_event(it)));
                }
                continue;
            }
            // The latest entry comes first.
            let key = (&entry.host, &entry.url, id);
            let index = *known.entry(key).or_insert(others.len());
            match others.get_mut(index) {
                Some(changes) => {
                    changes.first = entry.at;
                    changes.number += 1;
                }
                None => others.push(Changes {
                    latest: entry,
                    first: entry.at,
                    number: 1,
                }),
            }
        }
        let others = others.iter().map(|it| (it.latest.at, self.changes(it)));
        rows.extend(others);
        rows.sort_by_key(|(at, _)| Reverse(date(*at)));
        let more = rows.len().saturating_sub(MOST_EVENTS);
        rows.truncate(MOST_EVENTS);
        (rows.into_iter().map(|(_, row)| row).collect(), more as u64)
    }

    /// The incidents of each URL.
    fn incidents_of_urls(&self) -> HashMap<&str, Vec<&IncidentOverview>> {
        let mut of_urls: HashMap<&str, Vec<&IncidentOverview>> = HashMap::new();
        let all = self.overview.all_incidents();
        for (it, url) in all.flat_map(|it| it.incident.urls.iter().map(move |url| (it, url))) {
            of_urls.entry(&url.url).or_default().push(it);
        }
        of_urls
    }

    pub(super) fn day(&self, time: Timestamp) -> String {
        short_day(date(time), self.overview.now)
    }

    fn incident_event(&self, it: &IncidentOverview) -> EventRow {
        let incident = &it.incident;
        let since = self.day(first_seen(incident));
        let day = match incident.closed.map(|closed| self.day(closed)) {
            None => format!("since {since}"),
            Some(closed) if closed == since => since,
            Some(closed) => match (since.split_once(' '), closed.split_once(' ')) {
                (Some((day, month)), Some((_, same))) if month == same => {
                    format!("{day} to {closed}")
                }
                _ => format!("{since} to {closed}"),
            },
        };
        let is_open = incident.closed.is_none();
        EventRow {
            at: Time::day(first_seen(incident)),
            day,
            class: match (is_open, incident.is_flapping()) {
                (false, _) => "k",
                (true, true) => "w",
                (true, false) => "b",
            },
            incident: Some(incident.id.clone()),
            detail: String::new(),
            text: self.title(it),
            marks: marks_of(it),
        }
    }

    fn changes(&self, changes: &Changes<'_>) -> EventRow {
        let entry = changes.latest;
        let sentence = event_sentence(entry, None).plain();
        let detail = match changes.number {
            1 => String::new(),
            more => format!("{} changes since {}", number(more), self.day(changes.first)),
        };
        EventRow {
            at: Time::day(entry.at),
            day: self.day(entry.at),
            class: match entry.event {
                LogEvent::Recovered | LogEvent::PromisesChanged => "k",
                _ => "b",
            },
            incident: None,
            text: format!("{}: {sentence}", shown_host(&entry.host)),
            detail,
            marks: String::new(),
        }
    }
}

/// Whether the incident was open at this time, or had opened and was to open again.
fn was_open(it: &IncidentOverview, at: Timestamp) -> bool {
    let incident = &it.incident;
    // A line of the history has the end of the run, a file the start.
    let closes = incident.closed.map(date);
    first_seen(incident) <= at && closes.is_none_or(|closed| date(at) <= closed)
}

/// Whether people should hear of the event: an incident opened, changed or closed.
fn is_news(event: LogEvent) -> bool {
    matches!(
        event,
        LogEvent::Broken | LogEvent::Recovered | LogEvent::PromisesChanged
    )
}
