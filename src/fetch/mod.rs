//! Fetches jobs: the only module, besides notifiers, that knows the HTTP library.

mod observation;
mod spool;

pub use observation::{Body, BodyEnd, Decoded, Failure, FailureKind, Hop, Observation};
pub use spool::Spool;
