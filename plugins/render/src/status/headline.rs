//! The headline of a status.

use urldb_protocol::{HostOverview, Overview};

use crate::compose::{as_promised, broken_share};
use crate::message::{Headline, Tone};
use crate::numbers::{count, share_of, share_with};

/// Counts that a headline is about.
pub(super) struct Counts {
    urls: u64,
    pub(super) affected: u64,
    muted: u64,
    unconfirmed: u64,
    unknown: u64,
    incidents: u64,
    mistakes: u64,
}

impl Counts {
    /// The counts of the whole database.
    pub(super) fn of(overview: &Overview) -> Self {
        let totals = &overview.totals;
        Self {
            urls: totals.urls,
            affected: totals.affected,
            muted: totals.muted,
            unconfirmed: totals.unconfirmed,
            unknown: totals.unknown,
            incidents: overview.open.len() as u64,
            mistakes: overview.mistakes.len() as u64,
        }
    }

    pub(super) fn of_host(host: &HostOverview, incidents: usize, mistakes: usize) -> Self {
        Self {
            urls: host.urls,
            affected: host.affected,
            muted: host.muted,
            unconfirmed: host.unconfirmed,
            unknown: host.unknown,
            incidents: incidents as u64,
            mistakes: mistakes as u64,
        }
    }

    /// The headline; `possessor` follows a number of URLs: ` of example.org`.
    pub(super) fn headline(&self, possessor: &str, is_checked: bool) -> Headline {
        let urls = self.urls;
        if self.affected > 0 || self.mistakes > 0 || self.incidents > 0 {
            return self.action_needed(possessor);
        }
        if urls == 0 {
            let text = format!("there is no URL{possessor} to check");
            return Headline::new(Tone::Good, "All good", text);
        }
        if !is_checked {
            let urls = count(urls, "URL");
            let text = format!("none of {urls}{possessor} was checked; `urldb run` checks them");
            return Headline::new(Tone::Warn, "Not known yet", text);
        }
        let unsure = if self.unconfirmed > 0 {
            let verbs = ["has", "have"];
            let failed = share_with(self.unconfirmed, urls, "URL", possessor, verbs);
            Some(format!(
                "{failed} failed, and no second run has confirmed it"
            ))
        } else if self.unknown > 0 {
            let unknown = share_of(self.unknown, urls, "URL", possessor);
            Some(format!("nothing is known of {unknown}"))
        } else {
            None
        };
        match unsure {
            Some(text) => Headline::new(Tone::Warn, "Nothing to do yet", text),
            None => Headline::new(Tone::Good, "All good", as_promised(urls, possessor)),
        }
    }

    fn action_needed(&self, possessor: &str) -> Headline {
        let open = [(self.incidents, "incident"), (self.mistakes, "mistake")];
        let open = open.iter().filter(|(number, _)| *number > 0);
        let open: Vec<String> = open.map(|(number, noun)| count(*number, noun)).collect();
        let verb = if self.incidents + self.mistakes == 1 {
            "is"
        } else {
            "are"
        };
        let broken = broken_share(self.affected, self.urls, possessor, "broken", self.muted);
        let text = match open.as_slice() {
            [] => broken,
            open => format!("{} {verb} open, {broken}", open.join(" and ")),
        };
        Headline::new(Tone::Bad, "Action needed", text)
    }
}
