//! Numbers of URLs by their results.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// Counts of URLs: each URL is in one of `ok`, `broken`, `flapping`, `unconfirmed`, `unknown` and `muted`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Counts {
    /// URLs of all records that are not deprecated, and of open incidents.
    pub urls: u64,
    /// URLs that are ok.
    pub ok: u64,
    /// URLs of open incidents, those included that were not tried because their host was silent, and URLs that are
    /// confirmed to be broken.
    pub broken: u64,
    /// URLs of open incidents that flap, which `broken` does not count.
    pub flapping: u64,
    /// URLs that failed and that no second run has confirmed yet.
    pub unconfirmed: u64,
    /// URLs that were never checked, or about which nothing is known.
    pub unknown: u64,
    /// URLs of open incidents that are muted, which neither `broken` nor `flapping` counts.
    pub muted: u64,
    /// Those of `broken` that joined an incident in this run; 0 in a status.
    pub new: u64,
    /// URLs that left an incident in this run, since it saw them as promised; 0 in a status.
    pub recovered: u64,
    /// Warnings; in a status, the notices that hold too.
    pub warnings: u64,
    /// Mistakes in domain files.
    pub mistakes: u64,
}

impl Counts {
    /// The counts with all other URLs of `urls` as [`Counts::ok`].
    #[must_use]
    pub fn of_all(self, urls: u64) -> Self {
        let others = self.affected() + self.unconfirmed + self.unknown;
        Self {
            urls: urls.max(others),
            ok: urls.saturating_sub(others),
            ..self
        }
    }

    /// Counts a URL that is broken, or else flapping or muted; `is_new` if it joined its incident in this run.
    pub fn add_affected(&mut self, is_flapping: bool, is_muted: bool, is_new: bool) {
        match (is_muted, is_flapping) {
            (true, _) => self.muted += 1,
            (false, true) => self.flapping += 1,
            (false, false) => {
                self.broken += 1;
                self.new += u64::from(is_new);
            }
        }
    }

    /// Number of URLs that are broken, flapping or muted.
    pub const fn affected(&self) -> u64 {
        self.broken + self.flapping + self.muted
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.urls += other.urls;
        self.ok += other.ok;
        self.broken += other.broken;
        self.flapping += other.flapping;
        self.unconfirmed += other.unconfirmed;
        self.unknown += other.unknown;
        self.muted += other.muted;
        self.new += other.new;
        self.recovered += other.recovered;
        self.warnings += other.warnings;
        self.mistakes += other.mistakes;
    }
}
