//! Sentences about urldb itself.

use jiff::Timestamp;
use urldb_protocol::Overview;

use crate::numbers::{count, day, moment, number};
use crate::text::{capitalized, one_line};

/// `a run has a time in the future (2027-06-01): its clock was wrong`
pub fn wrong_clock(run: Timestamp) -> String {
    let day = day(run);
    format!("a run has a time in the future ({day}): its clock was wrong")
}

/// Sentences about urldb itself: a wrong clock, messages that wait, and faults of the archive.
pub fn remarks(overview: &Overview) -> impl Iterator<Item = String> {
    let clock = overview
        .future_run
        .map(wrong_clock)
        .map(|text| format!("{}.", capitalized(&text)));
    let waiting = overview.waiting.iter().map(|waiting| {
        let messages = count(waiting.messages, "message");
        let verb = if waiting.messages == 1 {
            "waits"
        } else {
            "wait"
        };
        let since = waiting
            .since
            .map(|since| format!(" since {}", moment(since)))
            .unwrap_or_default();
        let tries = match waiting.tries {
            0 => String::new(),
            1 => ", after one try".to_owned(),
            tries => format!(", after {} tries", number(tries.into())),
        };
        let fault = waiting.fault.as_ref();
        let fault = fault.map_or_else(String::new, |fault| format!(": {fault}"));
        format!(
            "{messages} of the notifier {} {verb}{since}{tries}{fault}.",
            waiting.notifier
        )
    });
    let archive = overview
        .archive_faults
        .iter()
        .map(|fault| format!("Archive: {}.", one_line(fault)));
    clock.into_iter().chain(waiting).chain(archive)
}
