//! Comments on issues about incidents.

use std::fmt::Write as _;

use jiff::Timestamp;
use urldb_protocol::{AffectedUrl, Because, Envelope, Incident, Phase, Span};

use super::blocks::{code_block, facts};
use super::rooms::{LARGEST_BODY, LONGEST_MARKER, fitted};
use super::syntax::{code, inline};
use crate::compose::{
    Deliveries, Lookup, Scope, cause_of, cause_of_all, compose, former_cause, new_certificate,
    notice_comment, past, path_of, seen_of,
};
use crate::numbers::{age, age_in_words, count, day, moment, number, with_spaces};
use crate::text::{Text, shorten};

/// Facts that a comment does not repeat: the body of the issue and the comments before have them.
const KNOWN_FACTS: [&str; 4] = ["before", "since", "last good", "promised"];

/// The comment about what this run changed in an incident; absent if it changed nothing.
pub fn comment(envelope: &Envelope, incident: &Incident) -> Option<String> {
    let run = moment(envelope.run.started);
    let since = format!("since the run of {run}");
    if let Some(text) = notice_comment(incident, &since) {
        return Some(with_spaces(&text) + "\n");
    }
    if incident.is_notice() {
        return None;
    }
    let text = match incident.phase {
        phase if phase.is_news() && incident.comes_and_goes() => {
            comes_and_goes(envelope, incident, &run)
        }
        Phase::Grown => return Some(grown(envelope, incident, &since)),
        Phase::Became => return Some(became(envelope, incident, &since)),
        Phase::Reopened => reopened(envelope, incident, &since),
        Phase::Steady => {
            let cause = inline(&cause_of(incident, &Lookup::new(envelope)));
            format!("**Broken, and no longer coming and going: {cause}**, {since}.")
        }
        Phase::Shrunk => shrunk(incident, &since),
        Phase::Closed => match &incident.merged_into {
            Some(into) => continued(into),
            None => solved(envelope, incident, &since),
        },
        _ => return None,
    };
    Some(with_spaces(&text) + "\n")
}

fn verb(number: u64) -> &'static str {
    if number == 1 { "is" } else { "are" }
}

/// Another cause, with its evidence and its commands.
fn became(envelope: &Envelope, incident: &Incident, since: &str) -> String {
    let lookup = Lookup::new(envelope);
    let cause = inline(&cause_of(incident, &lookup));
    let mut lead = format!("**Still broken, with another cause: {cause}**, {since}.");
    if let Some((before, _)) = former_cause(incident) {
        let subject = match incident.affected().count() {
            1 => Text::from("it "),
            _ => Text::new().code(&incident.host).own(" "),
        };
        let before = inline(&subject.and(past(incident, before)));
        let _ = write!(lead, " Before, {before}.");
    }
    let lead = with_spaces(&lead);
    let id = incident.id.as_str();
    let message = compose(envelope, Scope::Issue(&[id]), &Deliveries::default());
    fitted(LARGEST_BODY - LONGEST_MARKER, |room| {
        let mut parts = vec![lead.clone()];
        if let Some(mut block) = room.cut(&message).blocks.into_iter().next() {
            block.facts.retain(|fact| !KNOWN_FACTS.contains(&fact.name));
            block.place = None;
            parts.extend(facts(&block));
            parts.extend(code_block(&block.commands));
        }
        parts.join("\n\n") + "\n"
    })
}

/// URLs that are broken again, and how long they were as promised, if it was the same time for all.
fn reopened(envelope: &Envelope, incident: &Incident, since: &str) -> String {
    let cause = inline(&cause_of(incident, &Lookup::new(envelope)));
    let text = format!("**Broken again: {cause}**, {since}.");
    let good = |url: &AffectedUrl| {
        let Span { to, .. } = *url.before.last()?;
        let was_good = url.last_good.is_some_and(|last| last >= to);
        Some(age(to, url.since?)).filter(|_| was_good)
    };
    let mut times: Vec<Option<String>> = incident.affected().map(good).collect();
    times.dedup();
    match (times.as_slice(), incident.affected().count()) {
        ([Some(time)], 1) => format!("{text} It was as promised for {time}."),
        ([Some(time)], _) => format!("{text} The URLs were as promised for {time}."),
        _ => text,
    }
}

/// URLs that come and go, and the days on which one of them broke last.
fn comes_and_goes(envelope: &Envelope, incident: &Incident, run: &str) -> String {
    const NEXT: &str = "The next comment comes when the URL is broken in another way, stays broken, or \
                        stays as promised for a week.";
    let urls: Vec<&AffectedUrl> = incident.affected().collect();
    let [url] = urls.as_slice() else {
        let urls = count(urls.len() as u64, "URL");
        let host = code(&incident.host);
        let next = NEXT.replace("the URL is", "a URL is");
        return format!("**{urls} of {host} come and go**, since the run of {run}. {next}");
    };
    let days: Vec<String> = url.breaks.iter().map(|at| day(*at)).collect();
    let mut text = match days.as_slice() {
        [] => format!("**The URL comes and goes**, since the run of {run}."),
        days => {
            let times = count(days.len() as u64, "time");
            let days = days.join(", ");
            format!("**The URL comes and goes: it broke {times}** ({days}).")
        }
    };
    if let Some(seen) = seen_of(incident, &Lookup::new(envelope)) {
        let _ = write!(text, " In the run of {run} it {}.", inline(&seen));
    }
    format!("{text} {NEXT}")
}

/// URLs that have left an open incident.
fn shrunk(incident: &Incident, since: &str) -> String {
    let open = incident.affected().count() as u64;
    let all = incident.urls.len() as u64;
    let removed = incident.left_because(Because::Removed);
    let good = all - open - removed;
    let mut phrases = vec![];
    if good > 0 {
        let of = format!("{} of {}", number(good), count(all, "URL"));
        phrases.push(format!("{of} {} as promised again", verb(good)));
    }
    if removed > 0 {
        let of = format!("{} of {}", number(removed), count(all, "URL"));
        phrases.push(format!("{of} {} no longer in the database", verb(removed)));
    }
    phrases.push(format!("{} {} still broken", number(open), verb(open)));
    format!("**{}**, {since}.", phrases.join(", "))
}

fn grown(envelope: &Envelope, incident: &Incident, since: &str) -> String {
    let lookup = Lookup::new(envelope);
    let open = incident.affected().count() as u64;
    let (urls, are) = (count(open, "URL"), verb(open));
    let added = number(incident.added);
    let mut lead = with_spaces(&format!(
        "**Action needed: {urls} {are} broken, {added} more than before**, {since}."
    ));
    if let Some(cause) = cause_of_all(incident, &lookup) {
        let all = format!(" All {} {}.", number(open), inline(&cause));
        lead += &with_spaces(&all);
    }
    let new: Vec<String> = incident
        .urls
        .iter()
        .filter(|url| url.new)
        .map(|url| format!("{}{}", path_of(&url.url), url.variant_suffix()))
        .collect();
    fitted(LARGEST_BODY - LONGEST_MARKER, |room| {
        let shown = new.iter().take(room.urls);
        let mut list: Vec<String> = shown
            .map(|path| format!("- {}", code(&shorten(path, room.longest))))
            .collect();
        let more = new.len() - list.len();
        if more > 0 {
            list.push(format!("- and {} more", number(more as u64)));
        }
        format!("{lead}\n\n{}\n", list.join("\n"))
    })
}

/// Branches were merged that had each told of the URLs.
fn continued(into: &str) -> String {
    format!(
        "**Closed: incident {} has these URLs too**, and continues after branches were merged.",
        code(into)
    )
}

/// The end of an incident. URLs that left for another reason than the others have a sentence of their own.
fn solved(envelope: &Envelope, incident: &Incident, since: &str) -> String {
    let urls = incident.urls.len() as u64;
    let run = moment(envelope.run.started);
    let removed = incident.left_because(Because::Removed);
    let good = urls - removed;
    let text = match (incident.end(), urls) {
        (Some(Because::Removed), 0 | 1) => {
            return "**Closed: the URL is no longer in the database.** It was broken when it was last \
                    requested."
                .to_owned();
        }
        (Some(Because::Removed), _) if removed == urls => {
            return "**Closed: the URLs are no longer in the database.** They were broken when they were \
                    last requested."
                .to_owned();
        }
        (Some(Because::Accepted), 0 | 1) => {
            return format!(
                "**Closed: the promise was changed to what the URL serves**, before the run of {run}."
            );
        }
        (Some(Because::Accepted), _) => {
            return format!(
                "**Closed: the promises were changed to what the URLs serve**, before the run of {run}."
            );
        }
        (Some(Because::Removed), _) => format!(
            "**Closed: {} of {} {} no longer in the database.**",
            number(removed),
            count(urls, "URL"),
            verb(removed)
        ),
        (Some(Because::Steady), 0 | 1) => {
            return "**Solved: the URL has been as promised for a week.**".to_owned();
        }
        (_, 0 | 1) => format!(
            "**Solved: the URL is as promised again**, {since}. It was broken for {}.",
            ages(envelope, incident)
        ),
        (_, _) => {
            let all = match removed {
                0 => format!("all {} are", count(urls, "URL")),
                _ => format!("{} of {} {}", number(good), count(urls, "URL"), verb(good)),
            };
            let ages = ages(envelope, incident);
            let they = if good == 1 { "It was" } else { "They were" };
            let all = match new_certificate(incident) {
                Some(renewed) => format!("{renewed}, and {all}"),
                None => all,
            };
            format!("**Solved: {all} as promised again**, {since}. {they} broken for {ages}.")
        }
    };
    let rest = match (incident.end(), good, removed) {
        (_, _, 0) => return text,
        (Some(Because::Removed), 1, _) => "The promise of the other one was changed.",
        (Some(Because::Removed), ..) => "The promises of the others were changed.",
        (_, _, 1) => "The other one is no longer in the database.",
        _ => "The others are no longer in the database.",
    };
    format!("{text} {rest}")
}

/// The time for which the URLs that are as promised again were broken: `6 days`, or `2 to 4 days`.
fn ages(envelope: &Envelope, incident: &Incident) -> String {
    let end = incident.closed.unwrap_or(envelope.run.started);
    let times = incident.urls.iter();
    let times = times.filter(|url| url.left != Some(Because::Removed));
    let times = times.map(|url| {
        (
            url.since.unwrap_or(incident.since),
            url.until.unwrap_or(end),
        )
    });
    let length = |(from, to): &(Timestamp, Timestamp)| to.duration_since(*from);
    let shortest = times.clone().min_by_key(length);
    let longest = times.max_by_key(length);
    let words = |time: Option<(Timestamp, Timestamp)>| {
        let (from, to) = time.unwrap_or((incident.since, end));
        with_spaces(&age_in_words(from, to))
    };
    let (shortest, longest) = (words(shortest), words(longest));
    if shortest == longest {
        return longest;
    }
    match (shortest.split_once(' '), longest.split_once(' ')) {
        (Some((number, unit)), Some((_, other)))
            if unit.trim_end_matches('s') == other.trim_end_matches('s') =>
        {
            format!("{number} to {longest}")
        }
        _ => format!("{shortest} to {longest}"),
    }
}

/// The comment that an incident is still open.
pub fn reminder_comment(envelope: &Envelope, incident: &Incident) -> String {
    let open = incident.affected().count() as u64;
    let age = age_in_words(incident.since, envelope.run.started);
    let (urls, are) = (count(open, "URL"), verb(open));
    let mut text = format!("**Reminder: still open after {age}.** {urls} {are} broken.");
    if let Some(next) = envelope.next_reminder {
        let _ = write!(text, " The next reminder comes on {}.", day(next));
    }
    with_spaces(&text) + "\n"
}
