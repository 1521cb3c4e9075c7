//! The part of each section in an incident: the decisions of delivery, in words. Pure.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::Serialize;
use urldb_protocol::{Incident, Phase};
use urldb_render::numbers::{moment, with_spaces};

use super::audience::{Exclusion, Routing, Section};
use super::intervals::DAY;
use super::reminders::Reminders;
use super::report::{Decision, SeenIncident};
use crate::config::{Config, NotifierKind};
use crate::ledger::{IncidentFile, NewestCard};

/// The effect of `on` on news that it does not have.
const PASSED: &str = "`on` leaves this news out";

/// The effect of an incident that is to be repeated.
const REMINDED: &str = "the next run reminds of it";

/// The part of one section of urldb.toml in an incident.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SectionExplanation {
    /// The name of the section.
    pub section: String,
    /// Number of URLs that the section gets.
    pub urls: u64,
    /// The reasons for not getting the others, a phrase each.
    pub excluded: Vec<String>,
    /// The start of the run whose message told the incident last; absent before the first message.
    pub delivered: Option<Timestamp>,
    /// The effect of the next run if it sees no change; absent if the section has nothing to tell.
    pub next: Option<String>,
}

/// The part of each section in an open incident, for one of its URLs or for all.
pub fn explain(
    config: &Config,
    file: &IncidentFile,
    url: Option<&str>,
    now: Timestamp,
) -> Vec<SectionExplanation> {
    let routing = Routing::new(config);
    config
        .notifiers
        .iter()
        .map(|(name, notify)| {
            if matches!(notify.kind, NotifierKind::Html(_)) {
                let excluded = "it is a site, which shows all URLs and sends no message";
                return SectionExplanation {
                    section: name.clone(),
                    urls: 0,
                    excluded: vec![excluded.to_owned()],
                    delivered: None,
                    next: None,
                };
            }
            let section = Section {
                name,
                audience: &notify.audience,
                routing: &routing,
            };
            of_section(section, file, url, now)
        })
        .collect()
}

fn of_section(
    section: Section<'_>,
    file: &IncidentFile,
    url: Option<&str>,
    now: Timestamp,
) -> SectionExplanation {
    let Section { name, audience, .. } = section;
    let route = section.route_of(file);
    let members = file.log.state().members;
    let newest = file.newest(name);
    let mut excluded: BTreeSet<String> = BTreeSet::new();
    let mut urls = 0;
    for (key, member) in &members {
        if url.is_some_and(|url| key.url != url) {
            continue;
        }
        let reason = match &route {
            None => Some("the incident does not begin in one of `states`".to_owned()),
            Some(_) if member.muted => Some("it is muted".to_owned()),
            Some(route) => {
                let excluded = route.exclusion(&route.record_of(key, member));
                let early = || route.early(member, now).filter(|_| newest.urls == 0);
                excluded.or_else(early).map(phrase)
            }
        };
        match reason {
            Some(reason) => _ = excluded.insert(reason),
            None => urls += 1,
        }
    }
    let reminders = Reminders::new(audience, now);
    let next = SeenIncident::of(file, section, now).map(|seen| {
        let wants = |occasion| audience.tells(occasion);
        let is_undelivered = file.notified.contains_key(name) && newest.digest.is_none();
        match seen.decide(now, &wants) {
            Decision::Tell if is_undelivered => {
                "a message could not be delivered; the next run sends one".to_owned()
            }
            Decision::Tell => "the next run tells it".to_owned(),
            Decision::Remind => REMINDED.to_owned(),
            Decision::Wait if reminders.is_due(&seen.incident, &newest) => REMINDED.to_owned(),
            Decision::Pass => PASSED.to_owned(),
            Decision::Wait if newest.at.is_none() => PASSED.to_owned(),
            Decision::Wait => hold(&seen.incident, &newest, &reminders),
        }
    });
    SectionExplanation {
        section: name.to_owned(),
        urls,
        excluded: excluded.into_iter().collect(),
        delivered: newest.at,
        next,
    }
}

fn phrase(exclusion: Exclusion<'_>) -> String {
    match exclusion {
        Exclusion::Domains => "its host is none of `domains`".to_owned(),
        Exclusion::Categories => "its record has none of `categories`".to_owned(),
        Exclusion::Owners => "its owner is none of `owners`".to_owned(),
        Exclusion::Other(section) => format!("[notify.{section}] gets it, so `else` does not"),
        Exclusion::Early(due) => format!("`after` is over on {}", time(due)),
        Exclusion::Known => {
            "before `after` was over, it was acknowledged or began to flap".to_owned()
        }
    }
}

/// The reason why news waits.
fn hold(incident: &Incident, newest: &NewestCard, reminders: &Reminders) -> String {
    if incident.phase == Phase::Changed {
        let until = newest
            .at
            .and_then(|delivered| delivered.checked_add(DAY).ok())
            .map_or_else(String::new, |at| format!(" until {}", time(at)));
        return format!(
            "the message had {} of its URLs; another waits{until}",
            newest.urls
        );
    }
    match reminders.next(incident, newest) {
        Some(at) => format!("nothing is new; a reminder may come from {} on", time(at)),
        None => "nothing is new".to_owned(),
    }
}

fn time(time: Timestamp) -> String {
    with_spaces(&moment(time))
}
