//! Open incidents whose URLs the last run that checked them saw as before.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use urldb_protocol::{Incident, Overview, UrlOverview};

/// The URLs of open incidents that were seen as before.
pub(crate) struct Unchanged {
    /// The starts of the last runs with a result for each URL: of other runs, the ledger does not say which URLs had none.
    runs: HashSet<Timestamp>,
    /// The number of URLs that each run saw last, and saw as before, by incident.
    urls: HashMap<String, HashMap<Timestamp, u64>>,
}

impl Unchanged {
    pub(crate) fn new(overview: &Overview) -> Self {
        let runs = overview.since_complete.iter();
        let runs = runs.chain(&overview.last_complete);
        let runs = runs.chain(&overview.last_run);
        let runs = runs.filter(|run| run.inconclusive == 0).map(|run| run.at);
        Self {
            runs: runs.collect(),
            urls: HashMap::new(),
        }
    }

    /// Adds a URL of the overview.
    pub(crate) fn add(&mut self, url: &UrlOverview) {
        let checked = url.checked.filter(|_| url.pending.is_none());
        let checked = checked.filter(|checked| self.runs.contains(checked));
        if let (Some(incident), Some(checked)) = (&url.incident, checked) {
            let runs = self.urls.entry(incident.clone()).or_default();
            *runs.entry(checked).or_default() += 1;
        }
    }

    /// The start of the run that checked the URLs of the incident last, if it saw each as before. A URL that comes and goes
    /// has no result that is as before.
    pub(crate) fn run_of(&self, incident: &Incident) -> Option<Timestamp> {
        let affected = incident.affected().count() as u64;
        let is_steady = incident.affected().all(|url| !url.intermittent);
        let mut runs = self.urls.get(&incident.id)?.iter();
        let (run, _) = runs.find(|(_, urls)| **urls == affected && is_steady)?;
        Some(*run)
    }
}
