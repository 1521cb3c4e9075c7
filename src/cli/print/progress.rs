//! The progress line of long work; drawn on a terminal only.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use urldb_render::numbers::bytes;
use urldb_text::sanitize;
use urldb_verdict::JudgedJob;

use crate::run::Progress;

/// The number of hosts named in the line.
const NAMED: usize = 3;

/// The message fills what is left of the width and is cut there: a line that wraps could not be
/// taken away again.
const TEMPLATE: &str = "{pos}/{len} {bar:10} {rate}, {eta} left{wide_msg}";

/// The line of one body.
const BODY: &str = "{read} from {wide_msg}";

/// A rate with two digits or more, none of them finer than people can see: `1.1/s`, `214/s`, `3/min`.
fn rate(per_second: f64) -> String {
    match per_second {
        ..0.095 => format!("{:.0}/min", per_second * 60.0),
        ..9.95 => format!("{per_second:.1}/s"),
        _ => format!("{per_second:.0}/s"),
    }
}

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
        let bar = ProgressBar::with_draw_target((total > 0).then_some(total), target);
        if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
            bar.set_style(
                style.with_key("rate", |state: &ProgressState, out: &mut dyn Write| {
                    let _ = out.write_str(&rate(state.per_sec()));
                }),
            );
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        Self {
            line: bar,
            failures: Cell::new(0),
            remaining: RefCell::default(),
        }
    }

    /// The line of one body of `total` bytes, of which `read` counts those that have come.
    pub(crate) fn of_body(read: Arc<AtomicU64>, total: Option<u64>, quiet: bool) -> Self {
        let line = Self::new(0, quiet);
        if let Ok(style) = ProgressStyle::with_template(BODY) {
            line.line.set_style(style.with_key(
                "read",
                move |_: &ProgressState, out: &mut dyn Write| {
                    let read = bytes(read.load(Ordering::Relaxed));
                    let _ = match total {
                        Some(total) => write!(out, "{read} of {}", bytes(total)),
                        None => out.write_str(&read),
                    };
                },
            ));
        }
        line
    }

    /// Shows what the work is about.
    pub(crate) fn say(&self, text: &str) {
        self.line.set_message(sanitize(text).into_owned());
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
            *self.remaining.borrow_mut() = RemainingJobs::new(jobs);
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
    fn new(jobs: &BTreeMap<String, u64>) -> Self {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_rounded() {
        for (per_second, text) in [
            (0.0, "0/min"),
            (0.05, "3/min"),
            (0.1, "0.1/s"),
            (1.0675, "1.1/s"),
            (9.96, "10/s"),
            (213.9, "214/s"),
            (12_345.6, "12346/s"),
        ] {
            assert_eq!(rate(per_second), text);
        }
    }
}
