//! The parts of pages after a run that had a result for fewer than half of its URLs.

use serde::Serialize;
use urldb_protocol::{HostOverview, ImpairedRun};
use urldb_render::{Command, impaired_sentence, shown_host};

use super::Views;
use super::values::Time;

/// Facts about a run without results, for the overview.
#[derive(Debug, Serialize)]
pub(super) struct ImpairedFacts {
    /// The last run before it; absent if there was none.
    last: Option<Time>,
    /// `As of 21 November; not checked since.`
    incidents: String,
    commands: Vec<Command>,
    at: Time,
    /// The sentence of the last 30 days.
    event: String,
    day: String,
}

impl Views<'_> {
    pub(super) fn impaired_facts(&self, impaired: &ImpairedRun) -> ImpairedFacts {
        let overview = self.overview;
        let last = overview.last_run.as_ref().map(|run| run.at);
        let day = last.map(|at| at.strftime("%-d %B").to_string());
        let sentence = impaired_sentence(impaired);
        ImpairedFacts {
            last: last.map(Time::day),
            incidents: match (impaired.results, day) {
                (0, Some(day)) => format!("As of {day}; not checked since."),
                _ => "Most of these URLs were not checked in the last run.".to_owned(),
            },
            commands: commands(&overview.hosts),
            at: Time::day(impaired.at),
            event: match sentence.split_once(" on ") {
                Some((short, _)) => format!("{short}."),
                None => sentence,
            },
            day: self.day(impaired.at),
        }
    }

    /// Whether no run with results checked the host after the last run.
    pub(super) fn is_impaired(&self, host: &HostOverview) -> bool {
        self.overview
            .impaired
            .as_ref()
            .is_some_and(|impaired| host.checked.is_none_or(|checked| checked < impaired.at))
    }
}

/// Commands that check one host, and then all URLs again.
fn commands(hosts: &[HostOverview]) -> Vec<Command> {
    let host = hosts.first().and_then(|host| {
        let purpose = "See whether this machine reaches a host";
        Command::new(purpose, &["urldb", "check", "-d", &shown_host(&host.host)])
    });
    let run = Command::new("When it does, check all again", &["urldb", "run"]);
    host.into_iter().chain(run).collect()
}
