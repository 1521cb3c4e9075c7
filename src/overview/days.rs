//! The level of each day: from incidents, not from a record for each check.
//!
//! A day is in UTC, and as bad as its worst run. An incident counts from the first sight of its cause,
//! so that its days agree with its `since`.

use std::collections::BTreeMap;

use jiff::civil::Date;
use urldb_protocol::{Day, DayLevel, Incident};

use super::{date_of, domain_of};

/// Consecutive days.
#[derive(Debug, Clone, Copy)]
pub(super) struct Calendar {
    first: Date,
    days: usize,
}

/// The days of one incident within a calendar.
#[derive(Debug, Clone)]
pub(super) struct IncidentDays {
    /// Index of the first day on which the cause was seen.
    from: usize,
    /// For each day from then on, the largest number of affected URLs.
    affected: Vec<u64>,
}

/// The days of one host, without its incidents.
#[derive(Debug, Clone)]
pub(super) struct HostDays {
    /// Number of URLs that were promised on each day.
    pub(super) promised: Vec<u64>,
    /// Whether a run checked the host.
    pub(super) has_run: Vec<bool>,
    /// Whether a URL failed without being confirmed.
    pub(super) in_doubt: Vec<bool>,
}

impl Calendar {
    /// The calendar of `days` days that ends with `last`.
    pub(super) fn until(last: Date, days: usize) -> Self {
        let back = i64::try_from(days).unwrap_or(i64::MAX) - 1;
        let first = last.checked_sub(jiff::SignedDuration::from_hours(24 * back));
        Self {
            first: first.unwrap_or(Date::MIN),
            days,
        }
    }

    pub(super) fn first(&self) -> Date {
        self.first
    }

    /// The index of a date; `None` before the first day and after the last one.
    pub(super) fn index_of(&self, date: Date) -> Option<usize> {
        let hours = date.duration_since(self.first).as_hours();
        let index = usize::try_from(hours / 24).ok()?;
        (hours >= 0 && index < self.days).then_some(index)
    }

    /// The index of a date, or of the nearest day of the calendar.
    fn clamped(&self, date: Date) -> usize {
        match self.index_of(date) {
            Some(index) => index,
            None if date < self.first => 0,
            None => self.days - 1,
        }
    }

    fn last(&self) -> Date {
        let days = i64::try_from(self.days).unwrap_or(i64::MAX) - 1;
        self.first
            .checked_add(jiff::SignedDuration::from_hours(24 * days))
            .unwrap_or(Date::MAX)
    }

    pub(super) fn dates(&self) -> impl Iterator<Item = Date> {
        self.first.series(jiff::Span::new().days(1)).take(self.days)
    }
}

impl IncidentDays {
    pub(super) fn add_to(&self, affected: &mut [u64]) {
        let days = affected.iter_mut().skip(self.from);
        for (sum, urls) in days.zip(&self.affected) {
            // The history may say anything.
            *sum = sum.saturating_add(*urls);
        }
    }
}

impl HostDays {
    pub(super) fn new(calendar: &Calendar) -> Self {
        Self {
            promised: vec![0; calendar.days],
            has_run: vec![false; calendar.days],
            in_doubt: vec![false; calendar.days],
        }
    }

    /// Adds URLs that are promised from a date on.
    pub(super) fn promise_from(&mut self, date: Date, calendar: &Calendar) {
        if date <= calendar.last() {
            let from = calendar.clamped(date);
            self.promised[from..].iter_mut().for_each(|urls| *urls += 1);
        }
    }

    /// The days of the host with these incidents.
    pub(super) fn levels(&self, incidents: &[IncidentDays], calendar: &Calendar) -> Vec<Day> {
        let mut affected = vec![0_u64; calendar.days];
        for incident in incidents {
            incident.add_to(&mut affected);
        }
        let dates = calendar.dates().enumerate();
        let day = |(index, date): (usize, Date)| {
            let (affected, promised) = (affected[index], self.promised[index]);
            let level = match (promised, affected) {
                (0, _) => DayLevel::Blank,
                _ if !self.has_run[index] => DayLevel::NoRun,
                (_, 0) if self.in_doubt[index] => DayLevel::Doubt,
                (_, 0) => DayLevel::Kept,
                _ if affected >= promised => DayLevel::All,
                _ => DayLevel::Part,
            };
            Day {
                date,
                level,
                affected,
            }
        };
        dates.map(day).collect()
    }
}

/// The days of all incidents within a calendar, each with the host whose domain file has its URLs.
pub(super) fn incident_days(
    incidents: &BTreeMap<String, Incident>,
    calendar: &Calendar,
) -> Vec<(String, IncidentDays)> {
    incidents
        .values()
        .filter_map(|incident| {
            let until = incident.closed.map_or_else(|| calendar.last(), date_of);
            // Dates from which on the incident has a number of affected URLs.
            let steps: Vec<(Date, u64)> = incident
                .chapters
                .iter()
                .filter(|chapter| chapter.affected > 0)
                .map(|chapter| (date_of(chapter.at), chapter.affected))
                .collect();
            let days = days_between(date_of(incident.since), until, &steps, calendar)?;
            Some((domain_of(incident), days))
        })
        .collect()
}

/// The days from `since` to `until` that are in the calendar. Before the first step, the number of
/// affected URLs is that of the first step.
fn days_between(
    since: Date,
    until: Date,
    steps: &[(Date, u64)],
    calendar: &Calendar,
) -> Option<IncidentDays> {
    if until < calendar.first || since > calendar.last() {
        return None;
    }
    let (from, until) = (calendar.clamped(since), calendar.clamped(until));
    let first = steps.first().map_or(0, |(_, urls)| *urls);
    let mut affected = vec![0; (until + 1).saturating_sub(from)];
    let begins: Vec<(Date, u64)> = std::iter::once((since, first))
        .chain(steps.iter().copied())
        .collect();
    for (index, (begin, urls)) in begins.iter().enumerate() {
        let end = begins
            .get(index + 1)
            .map_or(until, |(next, _)| calendar.clamped(*next));
        let begin = calendar.clamped(*begin).max(from);
        for day in begin..=end.min(until) {
            let known = &mut affected[day - from];
            *known = (*known).max(*urls);
        }
    }
    Some(IncidentDays { from, affected })
}
