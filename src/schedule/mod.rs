//! The daemon: starts work at scheduled times and after changes to files.
//!
//! [`watch`] is the loop. [`Cron`] computes the times of a schedule, the watcher
//! lists domain files with new contents, and [`RepositoryLock`] keeps a second
//! urldb off the repository meanwhile.

mod cron;
mod daemon;
mod field;
mod lock;
mod watcher;

pub use cron::{Cron, CronError};
pub use daemon::{Clock, Handlers, SystemClock, WatchEvent, WatchOptions, watch};
pub use field::FieldError;
pub use lock::{LockError, LockHolder, RepositoryLock};
