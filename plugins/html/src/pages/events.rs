//! The incidents of the last days on the overview: one row for each, however often it changed.

use std::cmp::Reverse;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use urldb_protocol::IncidentOverview;
use urldb_render::short_day;

use super::Views;
use super::values::{Time, date, first_seen};

/// Most rows on the overview.
const MOST_EVENTS: usize = 30;

/// Number of days whose incidents the overview has.
const RECENT: SignedDuration = SignedDuration::from_hours(24 * 30);

/// An incident of the last days.
#[derive(Debug, Serialize)]
pub(super) struct EventRow {
    at: Time,
    /// `22 Nov`, `since 15 Nov`, or `8 to 10 Nov`
    day: String,
    /// Class of the mark.
    class: &'static str,
    /// The id of the incident, whose page has more.
    incident: String,
    text: String,
}

impl Views<'_> {
    /// The incidents that changed in the last days, and the number of rows that are left out. The latest date that is
    /// shown comes first.
    pub(super) fn events(&self) -> (Vec<EventRow>, u64) {
        let now = self.as_of().unwrap_or(self.overview.now);
        let from = now.checked_sub(RECENT).unwrap_or(Timestamp::MIN);
        let mut recent: Vec<&IncidentOverview> = self
            .overview
            .all_incidents()
            .filter(|IncidentOverview { incident, .. }| {
                let mut chapters = incident.chapters.iter();
                !incident.is_notice() && chapters.any(|chapter| chapter.at >= from)
            })
            .collect();
        recent.sort_by_key(|it| Reverse(date(first_seen(&it.incident))));
        let more = recent.len().saturating_sub(MOST_EVENTS);
        recent.truncate(MOST_EVENTS);
        let rows = recent.into_iter().map(|it| self.incident_event(it));
        (rows.collect(), more as u64)
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
            incident: incident.id.clone(),
            text: self.title(it),
        }
    }
}
