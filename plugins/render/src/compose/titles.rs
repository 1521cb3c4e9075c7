//! Titles of open incidents and of warnings, without their evidence: for a list.

use jiff::Timestamp;
use urldb_protocol::{AffectedUrl, Evidence, Finding, Incident, Phase};

use super::causes::{Group, is_muted};
use super::lookup::Lookup;
use super::notices::{has_just_ended, notice_title};
use super::{blocks, warnings};
use crate::numbers::{age, count, moment, number, share};
use crate::sentences::{Cause, Subject};
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
    let (notices, incidents): (Vec<&Incident>, Vec<&Incident>) = incidents
        .iter()
        .copied()
        .partition(|incident| incident.is_notice());
    let groups = Group::all(&incidents, lookup).into_iter();
    let notices = notices.into_iter().map(|incident| IncidentTitle {
        title: notice_title(incident),
        since: incident.since,
        is_muted: false,
    });
    groups
        .map(|group| IncidentTitle {
            title: blocks::title(&group),
            since: group.since(),
            is_muted: group.incidents.iter().all(|incident| is_muted(incident)),
        })
        .chain(notices)
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
        .any(|incident| incident.phase != Phase::Opened && !has_just_ended(incident));
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

/// Subject and sentence of an incident, for a page: in the past if it is closed.
pub(crate) fn page_title(incident: &Incident, envelope: &Lookup<'_>) -> Text {
    let is_closed = incident.closed.is_some();
    if incident.is_notice() {
        let title = notice_title(&Incident {
            phase: Phase::Unchanged,
            ..incident.clone()
        });
        return if is_closed { title.in_past() } else { title };
    }
    let mut shown = Incident {
        phase: Phase::Unchanged,
        closed: None,
        ..incident.clone()
    };
    if is_closed {
        for url in &mut shown.urls {
            url.left = None;
        }
    }
    let group = Group::one(&shown, envelope);
    if let Some(text) = two_causes(&group, is_closed) {
        return text;
    }
    let cause = group.cause();
    let sentence = match (is_closed, group.comes_and_goes()) {
        (true, true) => Text::from("came and went"),
        (true, false) => cause.sentence().in_past(),
        (false, _) => return blocks::title(&group),
    };
    let text = blocks::subject(&group, &cause).own(" ").and(sentence);
    if cause.subject == Subject::Url || cause.counts_urls() {
        return text;
    }
    let share = share(group.urls_of_title(), group.host_urls(), "URL");
    text.own(format!(" ({})", share.replace('\u{a0}', " ")))
}

/// `On data.example.org, one URL answers 404 Not Found and one serves other bytes`: absent unless the URLs are
/// broken in two ways.
fn two_causes(group: &Group<'_>, is_past: bool) -> Option<Text> {
    let mut others = group.urls().filter_map(|url| url.state);
    let state = others.next()?;
    let is_two = others.all(|other| other == state) && !group.urls().any(|url| url.intermittent);
    let other = group.urls().filter(|url| url.state.is_some()).count() as u64;
    let first = group.urls_now() - other;
    if !is_two || first == 0 {
        return None;
    }
    let part = |cause: Cause<'_>, urls: u64, noun: &str| {
        let (subject, urls) = match urls {
            1 => (Subject::Url, format!("one{noun}")),
            urls => (Subject::Hosts(urls), number(urls)),
        };
        let noun = if subject == Subject::Url || noun.is_empty() {
            ""
        } else {
            " URLs"
        };
        let sentence = Cause { subject, ..cause }.sentence();
        let sentence = if is_past {
            sentence.in_past()
        } else {
            sentence
        };
        Text::from(format!("{urls}{noun} ")).and(sentence)
    };
    let evidence = Evidence::default();
    let cause = group.cause();
    let second = Cause {
        state,
        reason: None,
        redirect: None,
        to_home_page: false,
        evidence: &evidence,
        ..cause
    };
    let text = Text::from("On ").code(&group.first().host).own(", ");
    let text = text.and(part(cause, first, " URL")).own(" and ");
    Some(text.and(part(second, other, "")))
}
