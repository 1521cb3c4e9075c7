//! The state of all promises, from the domain files, the ledger and the history: what `status`,
//! `log` and the site show.
//!
//! - `sources`: the files that an overview comes from.
//! - `whole_database`: the overview of the whole database.
//! - `replay`: the history.
//! - [`site`]: the status site.
//! - `hosts`: the promises of one domain file; `condition`: one URL of it.
//! - `days`: the level of each day.
//! - `events`: the events of one incident with their evidence.
//! - `urls`: the facts on the page of one URL.
//!
//! Nothing here contacts a host, and only [`site`] writes files. One domain file and its ledger file are in memory at
//! a time; of the history, one line at a time and what `replay` keeps.

mod condition;
mod days;
mod events;
mod hosts;
mod replay;
pub mod site;
mod sources;
#[cfg(test)]
mod tests;
mod whole_database;

use std::path::Path;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use urldb_protocol::Incident;

pub use hosts::HostUrls;
pub use sources::Sources;

/// The day of a point in time, in UTC.
fn date_of(time: Timestamp) -> Date {
    time.to_zoned(TimeZone::UTC).date()
}

/// The host whose domain file has the URLs of an incident.
pub fn domain_of(incident: &Incident) -> String {
    let notice = incident.notice.as_ref().map(|notice| &notice.file);
    incident
        .urls
        .first()
        .map(|url| &url.file)
        .or(notice)
        .map(Path::new)
        .map_or_else(|| incident.host.clone(), urldb_format::host_of)
}
