//! The progress line of long work; drawn on a terminal only.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use urldb_verdict::JudgedJob;

use crate::run::Progress;

/// The number of hosts named in the line.
const NAMED: usize = 3;

/// The message fills what is left of the width and is cut there: a line that wraps could not be
/// taken away again.
const TEMPLATE: &str = "{pos}/{len} {bar:10} {per_sec}, {eta} left{wide_msg}";

/// A progress line on standard error.
pub(crate) struct ProgressLine {
    line: ProgressBar,
    failures: Cell<u64>,
    remaining: RefCell<RemainingJobs>,
}

impl ProgressLine {
    /// Draws on standard error, if that is a terminal.
    pub(crate) fn new(total: u64, quiet: bool) -> Self {
        let target = if quiet {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr()
        };
        let bar = ProgressBar::with_draw_target(Some(total), target);
        if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        Self {
            line: bar,
            failures: Cell::new(0),
            remaining: RefCell::default(),
        }
    }

    pub(crate) fn advance(&self) {
        self.line.inc(1);
    }

    /// Takes the line away while something else is printed.
    pub(crate) fn suspend<T>(&self, work: impl FnOnce() -> T) -> T {
        self.line.suspend(work)
    }

    pub(crate) fn finish(&self) {
        self.line.finish_and_clear();
    }

    fn message(&self) -> String {
        let failures = self.failures.get();
        let failures = if failures == 0 {
            String::new()
        } else {
            format!(", {failures} broken")
        };
        format!("{failures}{}", self.remaining.borrow().names())
    }
}

impl Progress for ProgressLine {
    fn planned(&self, jobs: &BTreeMap<String, u64>) {
        self.line.set_length(jobs.values().sum());
        if !self.line.is_hidden() {
            *self.remaining.borrow_mut() = RemainingJobs::of(jobs);
            self.line.set_message(self.message());
        }
    }

    fn finished(&self, judged: &JudgedJob) {
        let JudgedJob { job, verdict, .. } = judged;
        let broken = u64::from(verdict.state().is_broken());
        self.failures.set(self.failures.get() + broken);
        if !self.line.is_hidden() {
            self.remaining.borrow_mut().take(job.host());
            self.line.set_message(self.message());
        }
        self.line.inc(1);
    }
}

/// The jobs that each host has left. The run waits longest for the hosts with the most jobs.
#[derive(Debug, Default)]
struct RemainingJobs {
    jobs: HashMap<String, u64>,
    ranked: BTreeSet<(u64, String)>,
}

impl RemainingJobs {
    fn of(jobs: &BTreeMap<String, u64>) -> Self {
        let ranked = jobs.iter().map(|(host, jobs)| (*jobs, host.clone()));
        Self {
            ranked: ranked.collect(),
            jobs: jobs.clone().into_iter().collect(),
        }
    }

    fn take(&mut self, host: &str) {
        let Some(jobs) = self.jobs.get_mut(host) else {
            return;
        };
        self.ranked.remove(&(*jobs, host.to_owned()));
        *jobs = jobs.saturating_sub(1);
        if *jobs > 0 {
            self.ranked.insert((*jobs, host.to_owned()));
        }
    }

    /// `; waiting for a.org (12), b.org (3)`.
    fn names(&self) -> String {
        let names: Vec<String> = self
            .ranked
            .iter()
            .rev()
            .take(NAMED)
            .map(|(jobs, host)| format!("{host} ({jobs})"))
            .collect();
        if names.is_empty() {
            String::new()
        } else {
            format!("; waiting for {}", names.join(", "))
        }
    }
}
