//! Broken URLs that no section of urldb.toml tells anybody of.

use std::collections::BTreeMap;

use urldb_render::numbers::count;

use super::audience::{Route, Routing};
use crate::config::Config;
use crate::ledger::IncidentFile;

/// Most hosts that a line names.
const MOST_HOSTS: usize = 5;

/// The advice about URLs that no section gets.
pub const UNROUTED_ADVICE: &str = "add \"else = true\" to a section";

/// The broken URLs that no section gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unrouted {
    /// Number of URLs by host; not empty.
    by_host: BTreeMap<String, u64>,
}

/// The broken URLs of these incidents that no section tells anybody of, muted ones aside; `None` if there are
/// none, or all sections are of sites or have `after`.
pub fn unrouted(config: &Config, incidents: &[IncidentFile]) -> Option<Unrouted> {
    Routing::new(config).unrouted(incidents)
}

impl Routing {
    pub(super) fn unrouted(&self, incidents: &[IncidentFile]) -> Option<Unrouted> {
        if !self.has_sections() {
            return None;
        }
        let mut by_host: BTreeMap<String, u64> = BTreeMap::new();
        for file in incidents {
            let routes: Vec<Route<'_>> = self
                .telling()
                .filter_map(|(name, route)| route.of_incident(name, file))
                .collect();
            let state = file.log.state();
            let members = state.members.iter().filter(|(_, member)| !member.muted);
            let lost = members.filter(|(key, member)| {
                let mut routes = routes.iter();
                !routes.any(|route| route.has_member(key, member))
            });
            match lost.count() as u64 {
                0 => {}
                lost => *by_host.entry(file.log.host.clone()).or_default() += lost,
            }
        }
        (!by_host.is_empty()).then_some(Unrouted { by_host })
    }
}

impl Unrouted {
    /// Number of URLs.
    pub fn urls(&self) -> u64 {
        self.by_host.values().sum()
    }

    /// The warning, as one line.
    pub fn line(&self) -> String {
        format!("warning[unrouted]: {}", self.sentence())
    }

    /// The warning without its code.
    pub fn sentence(&self) -> String {
        let hosts: Vec<&str> = self.by_host.keys().map(String::as_str).collect();
        let first = hosts.get(..MOST_HOSTS).unwrap_or(&hosts).join(", ");
        let more = match hosts.len().saturating_sub(MOST_HOSTS) as u64 {
            0 => String::new(),
            more => format!(" and {}", count(more, "other host")),
        };
        let urls = count(self.urls(), "broken URL").replace('\u{a0}', " ");
        format!("no section [notify.NAME] gets {urls} of {first}{more}: {UNROUTED_ADVICE}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_hosts_the_first_are_named() {
        let by_host = (1..8).map(|host| (format!("{host}.test"), 2)).collect();
        let sentence = Unrouted { by_host }.sentence();
        let named = "1.test, 2.test, 3.test, 4.test, 5.test and 2\u{a0}other hosts:";
        assert!(sentence.contains(named), "{sentence}");
    }
}
