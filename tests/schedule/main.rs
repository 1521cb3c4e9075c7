//! The daemon's parts, each through its public face.

mod cron;
