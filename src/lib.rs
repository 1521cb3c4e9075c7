//! `urldb`: these URLs stay up and serve exactly these bytes.
//!
//! Data flows one way: [`run`] reads domain files with `urldb_format`, plans jobs and judges them
//! with `urldb_verdict`, and lets `urldb_fetch` observe URLs. ARCHITECTURE.md shows all stages.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::too_many_lines))]

pub mod ambient;
pub mod archive;
pub mod bundle;
pub mod cli;
pub mod config;
pub mod copies;
pub mod database;
pub mod doctor;
mod environment;
pub mod exit;
mod explain;
pub mod git;
pub mod ledger;
mod limits;
pub mod notify;
pub mod overview;
mod project;
pub mod report;
pub mod run;
pub mod schedule;
pub mod seek;
pub mod stop;
pub mod sync;
mod targets;
