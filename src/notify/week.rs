//! The weekly report of a notifier: when it comes, and the week that it tells. Pure.

use jiff::civil::Weekday;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use urldb_protocol::{Envelope, Incident, Phase, Week};
use urldb_verdict::incident::{Reader, view};

use super::audience::{Section, routed};
use super::report::NotifierReport;
use crate::ledger::{IncidentFile, RunLine};

/// The time that a weekly report tells.
const WEEK: SignedDuration = SignedDuration::from_hours(7 * 24);

/// Whether a run is the first one since 00:00 UTC of the weekday. `past` are the runs before it.
pub(super) fn is_due(day: Weekday, past: &[RunLine], now: Timestamp) -> bool {
    let date = now.to_zoned(TimeZone::UTC).date();
    let days = SignedDuration::from_hours(24 * i64::from(date.weekday().since(day)));
    let begin = now
        .checked_sub(days)
        .map(|at| at.to_zoned(TimeZone::UTC).date())
        .and_then(|date| date.to_zoned(TimeZone::UTC));
    // Close to the first year that can be written, there is no week before.
    begin.is_ok_and(|begin| !past.iter().any(|run| run.at >= begin.timestamp()))
}

/// The week before a run, without incidents. `past` are the runs before it.
pub(super) fn week_before(run: &Envelope, past: &[RunLine]) -> Week {
    let now = run.run.started;
    let from = now.checked_sub(WEEK).unwrap_or(now);
    let earlier = past.iter().filter(|run| run.at > from);
    let has_answers = run.summary.coverage.checked > 0;
    let is_complete = !run.run.interrupted && has_answers;
    Week {
        from,
        runs: 1 + earlier.clone().count() as u64,
        complete: u64::from(is_complete) + earlier.filter(|run| run.has_results()).count() as u64,
        closed: vec![],
        waiting: vec![],
    }
}

/// The weekly report as a section tells it. `base` has the week; `incidents` are those that are open, or closed
/// within 30 days.
pub(super) fn weekly_report(
    base: &Envelope,
    incidents: &[IncidentFile],
    section: Section<'_>,
) -> NotifierReport {
    let mut envelope = routed(base, &section.routing.route(section.audience));
    let now = base.run.started;
    let open = incidents
        .iter()
        .filter_map(|file| seen(file, section, now, None));
    envelope.incidents = open.collect();
    if let Some(week) = &mut envelope.week {
        let from = week.from;
        let closed = incidents
            .iter()
            .filter_map(|file| seen(file, section, now, Some(from)));
        week.closed = closed.collect();
        for incidents in [&mut envelope.incidents, &mut week.closed] {
            incidents.sort_by(|a, b| a.order().cmp(&b.order()));
        }
    }
    section.count_urls(&mut envelope, incidents);
    envelope.fixed.clear();
    NotifierReport {
        envelope,
        has_news: true,
        delivered: vec![],
        passed: vec![],
    }
}

/// The incident as a whole: an open one, or one that was closed since a time.
fn seen(
    file: &IncidentFile,
    section: Section<'_>,
    now: Timestamp,
    closed_since: Option<Timestamp>,
) -> Option<Incident> {
    let route = section.route_of(file)?;
    let reader = Reader {
        known: file.log.events.len(),
        takes: &|key, member| route.has_member(key, member),
        takes_notice: &|notice| route.has_notice(notice),
        sees_muted: false,
    };
    let incident = view(&file.log, &reader).filter(|it| !it.is_about_nothing())?;
    let is_delivered = match (incident.closed, closed_since) {
        (Some(at), Some(since)) => at >= since && at <= now,
        (None, None) => incident.phase != Phase::Closed && !route.holds_back(file, now),
        _ => false,
    };
    is_delivered.then_some(incident)
}

#[cfg(test)]
mod tests {
    use urldb_protocol::State;

    use super::*;

    fn run(at: &str) -> RunLine {
        RunLine {
            run: at.to_owned(),
            at: at.parse().unwrap(),
            states: [(State::Ok, 1)].into(),
            ..RunLine::default()
        }
    }

    #[test]
    fn a_weekly_report_comes_with_the_first_run_since_its_day() {
        let past = [
            run("2026-11-06T04:17:03Z"),
            run("2026-11-08T23:59:59Z"),
            run("2026-11-09T00:00:00Z"),
            run("2026-11-10T04:17:03Z"),
        ];
        for (before, now, due) in [
            (0, "2026-11-09T04:17:03Z", true),
            (2, "2026-11-09T00:00:00Z", true),
            (2, "2026-11-10T04:17:03Z", true),
            (3, "2026-11-09T04:17:03Z", false),
            (3, "2026-11-15T23:59:59Z", false),
            (4, "2026-11-16T00:00:00Z", true),
            // Days without a run.
            (4, "2026-11-19T04:17:03Z", true),
            (2, "2026-11-08T23:59:59Z", false),
        ] {
            let past = &past[..before];
            let now = now.parse().unwrap();
            assert_eq!(is_due(Weekday::Monday, past, now), due, "{before} {now}");
        }
    }
}
