//! The daemon's parts, each through its public face.
#![allow(clippy::disallowed_methods, clippy::too_many_lines)]

mod child;
mod cron;
mod cron_clocks;
mod cron_oracle;
mod files;
mod lock;
mod looping;
mod stop;
