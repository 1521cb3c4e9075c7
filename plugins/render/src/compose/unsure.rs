//! URLs that a run did not see as promised, though none of them is believed to be broken.

use super::report::Report;
use crate::numbers::share_of;

impl Report<'_> {
    /// Number of URLs that got no result. Those whose file could not be read again have no incident.
    pub(super) fn without_result(&self) -> u64 {
        let coverage = self.envelope.summary.readers_coverage();
        let missing = coverage.due.saturating_sub(coverage.checked);
        self.urls_of(&self.unknown).max(missing)
    }

    /// `20 of 1,100 URLs got no result`.
    pub(super) fn missing_results(&self) -> String {
        let urls = share_of(self.without_result(), self.all(), "URL", &self.possessor());
        format!("{urls} got no result")
    }

    /// `3 of 20 URLs failed for the first time`, if any did and no later run has confirmed it.
    pub(super) fn failed_first(&self) -> Option<String> {
        let unconfirmed = self.urls_of(&self.unconfirmed);
        let urls = share_of(unconfirmed, self.all(), "URL", &self.possessor());
        (unconfirmed > 0).then(|| format!("{urls} failed for the first time"))
    }

    /// The URLs that the run did not see as promised, though none is believed to be broken.
    pub(super) fn unsure(&self) -> Option<String> {
        let missing = (self.without_result() > 0).then(|| self.missing_results());
        missing.or_else(|| self.failed_first())
    }
}
