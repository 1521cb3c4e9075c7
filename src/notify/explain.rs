//! The part of each section in an incident: the decisions of delivery, in words. Pure.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use urldb_protocol::{Incident, Phase};
use urldb_render::numbers::{count, moment, with_spaces};

use super::audience::{Exclusion, Routing, Section};
use super::intervals::DAY;
use super::reminders::Reminders;
use super::report::{Decision, decide_for, seen_by};
use crate::config::{Config, NotifierKind};
use crate::ledger::{Heard, IncidentFile};

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
    pub told: Option<Timestamp>,
    /// The effect of the next run if it sees no change; absent if the section has nothing to tell.
    pub next: Option<String>,
}

/// The part of each section in an open incident, for one of its URLs or for all. `incidents` are all that a run
/// knows.
pub fn explain(
    config: &Config,
    incidents: &[IncidentFile],
    file: &IncidentFile,
    url: Option<&str>,
    now: Timestamp,
) -> Vec<SectionExplanation> {
    let routing = Routing::new(config);
    let sections = config.notifiers.iter();
    let sections = sections.map(|(name, notify)| {
        if matches!(notify.kind, NotifierKind::Html(_)) {
            let excluded = "it is a site, which shows all URLs and sends no message";
            return SectionExplanation {
                section: name.clone(),
                urls: 0,
                excluded: vec![excluded.to_owned()],
                told: None,
                next: None,
            };
        }
        let section = Section {
            name,
            audience: &notify.audience,
            routing: &routing,
            // Closed incidents are not explained.
            keeps_threads: false,
        };
        of_section(section, incidents, file, url, now)
    });
    sections.collect()
}

fn of_section(
    section: Section<'_>,
    incidents: &[IncidentFile],
    file: &IncidentFile,
    url: Option<&str>,
    now: Timestamp,
) -> SectionExplanation {
    let Section { name, audience, .. } = section;
    let route = section.route_of(file);
    let members = file.log.state().members;
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
                let exclusion = route.exclusion_of_member((key, member), None, now);
                exclusion.map(phrase)
            }
        };
        match reason {
            Some(reason) => _ = excluded.insert(reason),
            None => urls += 1,
        }
    }
    let heard = file.notified.get(name).cloned().unwrap_or_default();
    let incident = seen_by(file, incidents, section, now);
    let reminders = Reminders::new(audience, now);
    let next = incident.map(|incident| {
        let decision = decide_for(section, file, &incident, now);
        let is_undelivered = file.notified.contains_key(name) && heard.through.is_none();
        match decision {
            Decision::Tell if is_undelivered => {
                "a message could not be delivered; the next run sends one".to_owned()
            }
            Decision::Tell => "the next run tells it".to_owned(),
            Decision::Remind => REMINDED.to_owned(),
            Decision::Wait if reminders.is_due(&incident, &heard) => REMINDED.to_owned(),
            Decision::Pass => PASSED.to_owned(),
            Decision::Wait if heard.through.is_some() && heard.run_at.is_none() => {
                PASSED.to_owned()
            }
            Decision::Wait => hold(&incident, &heard, &reminders),
        }
    });
    SectionExplanation {
        section: name.to_owned(),
        urls,
        excluded: excluded.into_iter().collect(),
        told: heard.told_at(),
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
            "before `after` was over, it was acknowledged or began to come and go".to_owned()
        }
    }
}

/// The reason why news waits.
fn hold(incident: &Incident, heard: &Heard, reminders: &Reminders) -> String {
    let at = |time: SignedDuration| heard.run_at.and_then(|told| told.checked_add(time).ok());
    match incident.phase {
        Phase::Grown => {
            let until = at(DAY).map_or_else(String::new, |at| format!(", or until {}", time(at)));
            let added = count(incident.added, "new URL");
            format!("{added} wait until half as many again are broken{until}")
        }
        Phase::Shrunk => {
            let left = count(incident.left, "URL");
            format!("{left} recovered: the message waits for half of them")
        }
        Phase::Became => "another cause was told less than a day before".to_owned(),
        _ => match reminders.next(incident, heard) {
            Some(at) => format!("nothing is new; a reminder may come from {} on", time(at)),
            None => "nothing is new".to_owned(),
        },
    }
}

fn time(time: Timestamp) -> String {
    with_spaces(&moment(time))
}
