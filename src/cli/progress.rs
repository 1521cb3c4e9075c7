//! A line that shows long work going on; there is none where nobody looks at it.

use std::cell::Cell;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::plan::Job;
use crate::run::Progress;
use crate::verdict::Assessment;

/// The progress of a known number of things.
pub(super) struct Bar {
    bar: ProgressBar,
    failures: Cell<u64>,
}

impl Bar {
    /// Draws on standard error, if that is a terminal.
    pub(super) fn new(total: u64, quiet: bool) -> Self {
        let target = if quiet {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr()
        };
        let bar = ProgressBar::with_draw_target(Some(total), target);
        if let Ok(style) =
            ProgressStyle::with_template("{pos}/{len} {bar:30} {per_sec}, {eta} left{msg}")
        {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        Self {
            bar,
            failures: Cell::new(0),
        }
    }

    pub(super) fn advance(&self) {
        self.bar.inc(1);
    }

    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Progress for Bar {
    fn planned(&self, jobs: u64) {
        self.bar.set_length(jobs);
    }

    fn finished(&self, _job: &Job, assessment: &Assessment) {
        self.bar.inc(1);
        if assessment.state().is_broken() {
            self.failures.set(self.failures.get() + 1);
            self.bar
                .set_message(format!(", {} broken", self.failures.get()));
        }
    }
}
