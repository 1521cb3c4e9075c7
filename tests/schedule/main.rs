//! The daemon's parts, each through its public face.

mod child;
mod cron;
mod files;
mod looping;
mod owner;
mod stop;
