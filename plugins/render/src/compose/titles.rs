//! Titles of open incidents and of warnings, without their evidence: for a list.

use jiff::Timestamp;
use urldb_protocol::{AffectedUrl, Finding, Incident, Phase};

use super::causes::{Group, is_muted};
use super::lookup::Lookup;
use super::{blocks, warnings};
use crate::numbers::{age, count, moment};
use crate::text::Text;

/// The title of incidents with one cause.
pub(crate) struct IncidentTitle {
    /// `docs.example.org answers 404 Not Found (3 of 120 URLs)`.
    pub(crate) title: Text,
    /// When the cause was first seen.
    pub(crate) since: Timestamp,
    /// Nobody is notified about any URL.
    pub(crate) is_muted: bool,
}

/// The titles of open incidents, those with the most URLs first. Several hosts with one cause share one.
pub(crate) fn open_groups(incidents: &[&Incident], lookup: &Lookup<'_>) -> Vec<IncidentTitle> {
    let groups = Group::all(incidents, lookup).into_iter();
    groups
        .map(|group| IncidentTitle {
            title: blocks::title(&group),
            since: group.since(),
            is_muted: group.incidents.iter().all(|incident| is_muted(incident)),
        })
        .collect()
}

/// The titles of warnings, one for each code and host.
pub(crate) fn warning_titles(findings: &[&Finding], lookup: &Lookup<'_>) -> Vec<Text> {
    let blocks = warnings::of_findings(findings, lookup);
    blocks.iter().map(crate::message::Block::title).collect()
}

/// The first line of an issue: `100 URLs have been broken since 2026-11-18 04:17 UTC (4 days)`.
pub(crate) fn broken_since(incidents: &[&Incident], envelope: &Lookup<'_>) -> Text {
    let groups: Vec<Group<'_>> = incidents
        .iter()
        .map(|incident| Group::one(incident, envelope))
        .collect();
    let urls: u64 = groups.iter().map(Group::urls_now).sum();
    let since = groups.iter().map(Group::since).min().unwrap_or_default();
    let has = if urls == 1 { "has" } else { "have" };
    let mut text = Text::from(count(urls, "URL"));
    if incidents.iter().all(|incident| incident.comes_and_goes()) {
        return text.own(" ").own(comes_and_goes(urls));
    }
    let is_since = |url: &AffectedUrl| url.since.is_none_or(|it| moment(it) == moment(since));
    if !groups.iter().flat_map(Group::urls).all(is_since) {
        let are = if urls == 1 { "is" } else { "are" };
        return text.own(format!(" {are} broken, the first since {}", moment(since)));
    }
    if incidents.len() > 1 {
        text = text.own(format!(" of {}", count(incidents.len() as u64, "host")));
    }
    text = text.own(format!(" {has} been broken since {}", moment(since)));
    let is_known = incidents
        .iter()
        .any(|incident| incident.phase != Phase::Opened);
    if is_known {
        text = text.own(format!(" ({})", age(since, envelope.run.started)));
    }
    text
}

/// The verb of URLs that come and go.
pub(super) fn comes_and_goes(urls: u64) -> &'static str {
    if urls == 1 {
        "comes and goes"
    } else {
        "come and go"
    }
}
