//! The daemon's parts, each through its public face.
#![allow(clippy::disallowed_methods)]

mod child;
mod cron;
mod cron_clocks;
mod cron_oracle;
mod files;
mod lock;
mod looping;
mod stop;
