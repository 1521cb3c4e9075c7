//! The blocking entry point: owns the async runtime and hands finished jobs to the caller's thread.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;
use urldb_verdict::{Decision, Job, JudgedJob, Observation, VerdictOptions};

use crate::chain::FetchContext;
use crate::driver::drive;
use crate::hosts::Hosts;
use crate::limits::Limits;
use crate::open_files::{self, Capacity};
use crate::options::{FetchOptions, NetworkOptions};
use crate::pending::Rule;
use crate::resolve::{Lookup, SystemLookup};
use crate::setting::SetupError;
use crate::slots::Slots;
use crate::stop::Stop;

/// Capacity of the channel from the network's thread to the caller's, in finished jobs.
const CHANNEL_CAPACITY: usize = 64;

/// Fewest files that a fetcher must be able to open: the runtime, the certificate authorities, a
/// lookup and a connection.
const SPARE_FILES: usize = 12;

/// Most lookups of names at the same time: each takes a thread.
const MAX_LOOKUPS: usize = 64;

/// Longest wait for lookups at the end. The threads of lookups that are done end at once.
const LOOKUP_END: Duration = Duration::from_millis(50);

/// Pause of the caller's thread after a small batch of finished jobs: a wake-up for each job would
/// cost more than handling the job.
const BATCH_PAUSE: Duration = Duration::from_millis(1);

/// Fetches jobs under one configuration.
#[derive(Debug)]
pub struct Fetcher {
    context: FetchContext,
    /// `None` only inside `drop`.
    runtime: Option<Runtime>,
}

impl Fetcher {
    /// Creates a fetcher that resolves names with the system's resolver.
    ///
    /// # Errors
    /// When the configuration names an unreadable `ca-file`, a missing password variable of the proxy, or a
    /// header that cannot be sent; when the system has no certificate authorities, or the process cannot
    /// open enough files.
    pub fn new(options: &FetchOptions, network: &NetworkOptions) -> Result<Self, SetupError> {
        Self::with_lookup(options, network, Arc::new(SystemLookup))
    }

    /// Creates a fetcher that resolves names with `lookup`.
    ///
    /// # Errors
    /// As [`Fetcher::new`].
    pub fn with_lookup(
        options: &FetchOptions,
        network: &NetworkOptions,
        lookup: Arc<dyn Lookup>,
    ) -> Result<Self, SetupError> {
        open_files::ensure_spare(SPARE_FILES).map_err(SetupError::in_step(open_files::ADVICE))?;
        let runtime = Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(MAX_LOOKUPS)
            .build()
            .map_err(SetupError::in_step("the network runtime cannot be started"))?;
        Ok(Self {
            context: FetchContext {
                options: options.clone(),
                hosts: Hosts::new(options, network, lookup)?,
                slots: Slots::new(Capacity::new(options.concurrency)),
            },
            runtime: Some(runtime),
        })
    }

    /// Fetches every job; returns when all jobs are finished or given up. As
    /// [`Fetcher::fetch_sources`], with every job as a source of its own.
    pub fn fetch_all(
        &self,
        jobs: impl Iterator<Item = Job> + Send,
        decide: impl Fn(&Job, &[Observation], &VerdictOptions) -> Decision + Sync,
        options: &VerdictOptions,
        done: impl FnMut(JudgedJob),
        stop: &Stop,
    ) {
        self.fetch_sources(jobs.map(std::iter::once), decide, options, done, stop);
    }

    /// Fetches every job of every source; returns when all jobs are finished or given up.
    ///
    /// The network's thread reads a source, as a rule the jobs of one domain file, only as the queue
    /// of its host gets short: at most 64 sources at a time, with 64 waiting jobs for each host (or
    /// its `host-concurrency`), and at most 16,384 jobs in all.
    ///
    /// `decide` is pure: from a job and all its observations so far, oldest first, `decide` gives the
    /// verdict, or asks for another fetch, for which the bytes of the bodies so far are dropped. `done`
    /// receives each job when the job finishes, on the calling thread, with the verdict; that on a job
    /// which is given up is `undecided`, unless `decide` has one.
    ///
    /// Once `stop` is set or the deadline of the configuration has passed, every remaining job gets
    /// a [`RunEnded`] observation at once. Once the byte budget is used up, every job without a
    /// request under way gets one.
    ///
    /// The call blocks: async code makes it through `spawn_blocking`.
    ///
    /// [`RunEnded`]: urldb_verdict::FailureKind::RunEnded
    pub fn fetch_sources<J: Iterator<Item = Job> + Send>(
        &self,
        sources: impl Iterator<Item = J> + Send,
        decide: impl Fn(&Job, &[Observation], &VerdictOptions) -> Decision + Sync,
        options: &VerdictOptions,
        mut done: impl FnMut(JudgedJob),
        stop: &Stop,
    ) {
        let Some(runtime) = &self.runtime else { return };
        let (sender, mut finished) = mpsc::channel(CHANNEL_CAPACITY);
        let limits = Limits::new(stop, &self.context.options);
        std::thread::scope(|threads| {
            let decide = &decide;
            let rule = Rule { decide, options };
            let run = drive(&self.context, sources, rule, sender, limits);
            threads.spawn(move || runtime.block_on(run));
            let mut batch = Vec::with_capacity(CHANNEL_CAPACITY);
            while finished.blocking_recv_many(&mut batch, CHANNEL_CAPACITY) > 0 {
                let is_small = batch.len() < CHANNEL_CAPACITY / 2;
                for fetched in batch.drain(..) {
                    done(fetched);
                }
                if is_small {
                    std::thread::sleep(BATCH_PAUSE);
                }
            }
            // A panic in `done` drops the receiver, and the closed channel ends the network thread.
        });
    }
}

impl Drop for Fetcher {
    /// Abandons name lookups that hang: nothing can interrupt a lookup.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(LOOKUP_END);
        }
    }
}
