//! The daemon: when to look again, because of the time or because of a change to a file.
//!
//! [`Cron`] says when a schedule fires.

mod cron;
mod field;

pub use cron::{Cron, CronError};
