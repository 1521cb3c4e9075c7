//! The daemon: when to look again, because of the time or because of a change to a file.
//!
//! [`watch`] is the loop. [`Cron`] says when a schedule fires, the watcher says
//! which domain files have new contents, and [`Owner`] keeps a second urldb off
//! the repository meanwhile.

mod contents;
mod cron;
mod daemon;
mod field;
mod follow;
mod owner;
mod watcher;

pub use cron::{Cron, CronError};
pub use daemon::{Clock, Handlers, Notice, Settings, SystemClock, watch};
pub use owner::{Holder, Owner, OwnerError};
