//! The scenarios, as tables of what runs see.

use std::ops::Range;

/// An invented history of the URLs of one host.
#[derive(Debug)]
pub(in crate::notify) struct Scenario {
    pub(super) number: &'static str,
    pub(super) title: &'static str,
    /// The paths of the URLs: before and after the number of each; one URL has no number.
    pub(super) paths: (&'static str, &'static str),
    pub(super) urls: usize,
    /// Hours from the beginning until the certificate of the host ends, if the scenario is about it.
    pub(super) certificate: Option<i64>,
    pub(super) steps: &'static [Step],
}

/// The part of a scenario that is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::notify) enum Extent {
    /// The first message.
    Opening,
    /// The first message and the last one, which closes what the first one has opened.
    Ends,
    /// All messages.
    Whole,
}

/// A run, or several in a row that see the same.
#[derive(Debug)]
pub(super) struct Step {
    /// Hours since the run before.
    pub(super) hours: i64,
    pub(super) runs: usize,
    /// The answers that are new, of some of the URLs.
    pub(super) changes: &'static [(Range<usize>, SeenState)],
    pub(super) event: Option<StepEvent>,
}

/// A record as a run sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SeenState {
    /// The promised bytes.
    Kept,
    /// Other bytes.
    Grown,
    /// 404 Not Found.
    Gone,
    /// No record.
    Removed,
    /// The other bytes, which a person has accepted.
    Accepted,
    /// A certificate that has ended.
    Expired,
}

/// An event besides the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StepEvent {
    /// Messages of the run cannot be sent.
    ServiceIsDown,
    /// A person acknowledges the incident for so many days, before the run.
    Ack { days: i64 },
    /// The host has a new certificate.
    Renewed,
    /// A weekly report is due after the run.
    WeekIsOver,
}

use SeenState::{Accepted, Expired, Gone, Grown, Kept, Removed};

const fn runs(hours: i64, runs: usize, changes: &'static [(Range<usize>, SeenState)]) -> Step {
    Step {
        hours,
        runs,
        changes,
        event: None,
    }
}

const fn run(hours: i64, changes: &'static [(Range<usize>, SeenState)]) -> Step {
    runs(hours, 1, changes)
}

const fn with(hours: i64, changes: &'static [(Range<usize>, SeenState)], event: StepEvent) -> Step {
    Step {
        hours,
        runs: 1,
        changes,
        event: Some(event),
    }
}

const STARS: (&str, &str) = ("/tables/stars.csv", "");

/// All scenarios. Each begins with a run that sees all promises kept, and ends without an open incident.
pub(super) const SCENARIOS: [Scenario; 12] = [
    Scenario {
        number: "01",
        title: "one URL changes, is gone, and is as promised again",
        paths: STARS,
        urls: 1,
        certificate: None,
        steps: &[
            run(24, &[]),
            run(24, &[(0..1, Grown)]),
            run(24, &[]),
            run(24, &[(0..1, Gone)]),
            run(24, &[]),
            run(48, &[(0..1, Kept)]),
        ],
    },
    Scenario {
        number: "02",
        title: "30 URLs are gone, four more in each run",
        paths: ("/p/", ".dat"),
        urls: 30,
        certificate: None,
        steps: &[
            run(12, &[]),
            run(12, &[(0..4, Gone)]),
            run(12, &[(4..8, Gone)]),
            run(12, &[(8..12, Gone)]),
            run(12, &[(12..16, Gone)]),
            run(12, &[(16..20, Gone)]),
            run(12, &[(20..24, Gone)]),
            run(12, &[(24..28, Gone)]),
            run(12, &[(28..30, Gone)]),
            run(24, &[]),
            run(24, &[(0..30, Kept)]),
        ],
    },
    Scenario {
        number: "03",
        title: "one URL flaps",
        paths: ("/p/07.dat", ""),
        urls: 1,
        certificate: None,
        steps: &[
            run(24, &[]),
            run(24, &[(0..1, Gone)]),
            run(24, &[(0..1, Kept)]),
            run(24, &[(0..1, Gone)]),
            run(24, &[(0..1, Kept)]),
            run(24, &[(0..1, Gone)]),
            run(24, &[(0..1, Kept)]),
            run(24, &[(0..1, Gone)]),
            runs(24, 7, &[(0..1, Kept)]),
        ],
    },
    Scenario {
        number: "04",
        title: "20 URLs are gone; half of them recover first",
        paths: ("/manual/v1/", ".html"),
        urls: 20,
        certificate: None,
        steps: &[
            run(24, &[]),
            run(24, &[(0..20, Gone)]),
            run(48, &[(0..10, Kept)]),
            run(48, &[(10..20, Kept)]),
        ],
    },
    Scenario {
        number: "05",
        title: "one URL is gone again within a day, and again after five weeks",
        paths: ("/v1/catalog.json", ""),
        urls: 1,
        certificate: None,
        steps: &[
            run(1, &[]),
            run(1, &[(0..1, Gone)]),
            run(1, &[(0..1, Kept)]),
            runs(1, 3, &[(0..1, Gone)]),
            run(1, &[(0..1, Kept)]),
            runs(24, 34, &[]),
            run(24, &[(0..1, Gone)]),
            run(1, &[(0..1, Kept)]),
        ],
    },
    Scenario {
        number: "06",
        title: "break and recovery while no message can be sent, told when it can",
        paths: STARS,
        urls: 1,
        certificate: None,
        steps: &[
            run(24, &[]),
            with(24, &[(0..1, Grown)], StepEvent::ServiceIsDown),
            with(24, &[], StepEvent::ServiceIsDown),
            with(24, &[(0..1, Kept)], StepEvent::ServiceIsDown),
            run(24, &[]),
        ],
    },
    Scenario {
        number: "07",
        title: "a certificate ends, of which warnings told, and is renewed",
        paths: ("/isos/", ".iso"),
        urls: 20,
        // An hour before the run of its last day.
        certificate: Some(24 + 15 * 24 - 1),
        steps: &[
            run(24, &[]),
            run(48, &[]),
            run(240, &[]),
            run(48, &[]),
            run(24, &[(0..20, Expired)]),
            with(24, &[(0..20, Kept)], StepEvent::Renewed),
        ],
    },
    Scenario {
        number: "08",
        title: "30 files are replaced and come back; the small step is not told",
        paths: ("/assets/", ".js"),
        urls: 30,
        certificate: None,
        steps: &[
            run(24, &[]),
            run(24, &[(0..30, Grown)]),
            run(24, &[(0..10, Kept)]),
            run(24, &[(10..30, Kept)]),
        ],
    },
    Scenario {
        number: "09",
        title: "a broken URL leaves the database, which is no recovery",
        paths: ("/old/list.txt", ""),
        urls: 1,
        certificate: None,
        steps: &[
            run(24, &[]),
            run(24, &[(0..1, Gone)]),
            run(48, &[(0..1, Removed)]),
        ],
    },
    Scenario {
        number: "10",
        title: "a person accepts other bytes, which is no recovery",
        paths: STARS,
        urls: 1,
        certificate: None,
        steps: &[
            run(24, &[]),
            run(24, &[(0..1, Grown)]),
            run(48, &[(0..1, Accepted)]),
        ],
    },
    Scenario {
        number: "11",
        title: "an acknowledgement holds reminders, and no news",
        paths: ("/p/", ".dat"),
        urls: 6,
        certificate: None,
        steps: &[
            run(24, &[]),
            run(24, &[(0..2, Gone)]),
            with(48, &[], StepEvent::Ack { days: 7 }),
            run(48, &[(2..3, Gone)]),
            run(96, &[]),
            run(48, &[(0..3, Kept)]),
        ],
    },
    Scenario {
        number: "12",
        title: "two weekly reports: a week without trouble, and one with",
        paths: ("/p/", ".dat"),
        urls: 4,
        certificate: None,
        steps: &[
            runs(24, 6, &[]),
            with(24, &[], StepEvent::WeekIsOver),
            run(24, &[(0..3, Gone)]),
            run(24, &[(3..4, Grown)]),
            runs(24, 2, &[]),
            run(24, &[(3..4, Kept)]),
            run(24, &[]),
            with(24, &[], StepEvent::WeekIsOver),
            run(24, &[(0..3, Kept)]),
        ],
    },
];
