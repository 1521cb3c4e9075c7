//! Fetches jobs: the only module, besides notifiers, that knows the HTTP library.
//!
//! [`Fetcher::fetch_all`] takes jobs as it has room for them and hands them out,
//! finished, with all that was observed. Behind it: `driver` runs jobs, `queue`
//! says which host's turn it is, `hosts` how it is treated, `silence` when it is
//! given up, `places` how much goes on at once, `ending` when all is over,
//! `chain` makes one fetch of redirects and a body, `client` knows the HTTP
//! library, and the rest are pure: `policy` (which addresses; `resolve` asks
//! it), `redirect` (where next), `headers`, `body` and `decode` (what came),
//! `certificate` (who answered), `failure` (what went wrong).
//!
//! Async stays in here: one thread runs all connections, and finished jobs go
//! to the caller's thread through a bounded channel, so that slow archiving
//! slows fetching down instead of filling memory.

mod body;
mod certificate;
mod chain;
mod client;
mod decode;
mod driver;
mod failure;
mod headers;
mod hosts;
mod limits;
mod mapping;
mod options;
pub mod policy;
mod proxy;
mod queue;
mod redirect;
mod resolve;
mod slots;
mod stop;
mod unresponsive;

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;
use urldb_verdict::{Job, Observation};

pub use mapping::{InvalidMapping, Mapping};
pub use options::{FetchOptions, HostOptions, NetworkOptions};
pub use proxy::{Proxy, ProxyAddress};
pub use resolve::{Lookup, System};
pub use stop::Stop;

/// Finished jobs between the network's thread and the caller's.
const CHANNEL: usize = 64;

/// How long the caller's thread lets finished jobs gather where few come at once: waking it for each
/// would cost more than what it does with one.
const GATHER: Duration = Duration::from_millis(1);

/// The next step of a job after a fetch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next<D> {
    /// The job is finished, for this decision of the caller's.
    Done(D),
    /// The job is fetched once more.
    Retry {
        /// Time until then; the job takes no slot meanwhile.
        wait: Duration,
        /// Whether the fetch uses a new connection, past all caches, and keeps the body.
        fresh: bool,
    },
}

/// A finished job.
#[derive(Debug)]
pub struct FetchedJob<D> {
    /// The job.
    pub job: Job,
    /// All observations of the job, oldest first.
    pub observations: Vec<Observation>,
    /// The decision that finished the job; absent when the job was given up instead: its last
    /// observation says why.
    pub decision: Option<D>,
}

/// Fetches jobs as one configuration says.
#[derive(Debug)]
pub struct Fetcher {
    shared: chain::Shared,
    /// `None` only while it is being dropped.
    runtime: Option<Runtime>,
}

impl Fetcher {
    /// Sets up clients; fails on what the configuration asks for and cannot be had.
    pub fn new(check: &FetchOptions, network: &NetworkOptions) -> anyhow::Result<Self> {
        Self::with_lookup(check, network, Arc::new(System))
    }

    /// The same, with another lookup of names than the system's.
    pub fn with_lookup(
        check: &FetchOptions,
        network: &NetworkOptions,
        lookup: Arc<dyn Lookup>,
    ) -> anyhow::Result<Self> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .context("the network cannot be used")?;
        Ok(Self {
            shared: chain::Shared {
                check: check.clone(),
                hosts: hosts::Hosts::new(check, network, lookup)?,
                slots: slots::Slots::default(),
            },
            runtime: Some(runtime),
        })
    }

    /// Fetches every job, and returns when all are finished or given up.
    ///
    /// `next` is pure: it looks at a job and all its observations so far, oldest
    /// first, and says whether to fetch it again. `done` gets each job as it
    /// finishes, on the calling thread. The last three bodies of a job are kept.
    /// Once `stop` is set, or the deadline of the configuration has passed, every
    /// job that is left gets an observation that says so, at once; once its byte
    /// budget is used up, every job that no request is under way for.
    ///
    /// Blocks: async code calls it through `spawn_blocking`.
    pub fn fetch_all<D: Send>(
        &self,
        jobs: impl Iterator<Item = Job> + Send,
        next: impl Fn(&Job, &[Observation]) -> Next<D> + Sync,
        mut done: impl FnMut(FetchedJob<D>),
        stop: &Stop,
    ) {
        let Some(runtime) = &self.runtime else { return };
        let (sender, mut finished) = mpsc::channel(CHANNEL);
        let end = limits::Limits::new(stop, &self.shared.check);
        std::thread::scope(|threads| {
            let next = &next;
            let run = driver::drive(&self.shared, jobs, next, sender, end);
            threads.spawn(move || runtime.block_on(run));
            let mut some = Vec::with_capacity(CHANNEL);
            while finished.blocking_recv_many(&mut some, CHANNEL) > 0 {
                let are_few = some.len() < CHANNEL / 2;
                for fetched in some.drain(..) {
                    done(fetched);
                }
                if are_few {
                    std::thread::sleep(GATHER);
                }
            }
            // A `done` that panics drops the receiver, which ends the thread too.
        });
    }
}

impl Drop for Fetcher {
    /// Does not wait for name lookups that hang: nothing can interrupt them.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Longer than any run; clocks cannot count to where a configuration may point.
const AGES: Duration = Duration::from_hours(24 * 365);

/// The time after this much of it.
fn after(wait: Duration) -> Instant {
    Instant::now() + wait.min(AGES)
}
