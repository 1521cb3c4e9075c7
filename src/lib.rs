//! `urldb`: these URLs stay up and serve exactly these bytes.
//!
//! Data flows one way: domain files are read by `urldb_format`, [`plan`] makes
//! jobs of the records, [`fetch`] observes, and so on; ARCHITECTURE.md has the
//! whole picture.
#![forbid(unsafe_code)]

pub mod ambient;
pub mod archive;
pub mod cli;
pub mod config;
pub mod database;
pub mod exit;
mod explain;
pub mod git;
pub mod ledger;
pub mod notify;
pub mod report;
pub mod run;
pub mod schedule;
pub mod stop;
