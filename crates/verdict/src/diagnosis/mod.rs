//! Explains the failures of a run: the single facts that stand behind many of them.
//!
//! Each URL has a verdict of its own. This step sees all of them before any bad one is confirmed:
//!
//! 1. [`NetworkFacts`] finds out whether our own network is the cause.
//! 2. [`HostFacts`] counts the failures of one host, and [`HostFacts::explain`] finds the facts behind them.
//! 3. [`ProbePlan`] has further requests, which can show or refute such a fact.
//! 4. [`Explained::settle`] makes the verdict of a URL say no more than its explanation allows. It never makes a
//!    verdict good, and never more certain.

mod bucket;
mod content;
mod converted;
mod host;
mod moved;
mod network;
mod probe;
mod replaced;

pub use host::{Explained, HostFacts, HostVotes};
pub use network::NetworkFacts;
pub(crate) use network::registrable_domain;
pub use probe::{HostProbes, ProbePlan, decide_probe};
