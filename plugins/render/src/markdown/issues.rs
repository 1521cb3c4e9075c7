//! Issues about incidents, and their comments.

use std::fmt::Write as _;

use jiff::Timestamp;
use urldb_protocol::{ClosedBecause, Envelope, Incident, Phase};

use super::blocks::{block_parts, code_block, facts};
use super::rooms::fitted;
use super::syntax::{code, inline};
use crate::compose::{
    Deliveries, Lookup, Scope, broken_since, checklist, compose, path_of, redirects_home, title,
};
use crate::message::{HostRow, Message};
use crate::numbers::{age_in_words, count, counted, day, moment, number, with_spaces};
use crate::room::Room;
use crate::text::shorten;

/// Largest body of an issue or a comment, in bytes; GitHub takes 65,536 characters.
pub const LARGEST_BODY: usize = 60_000;

/// Longest line by which the notifier finds an issue again, in bytes: the body has one for each incident,
/// with an id and a key of at most 64 characters.
const LONGEST_MARKER: usize = 170;

/// An issue about one incident, or about several that began in one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issue {
    /// The title: plain text.
    pub title: String,
    /// The body: Markdown, without a marker by which the notifier finds the issue again.
    pub body: String,
}

/// The issue about an incident: opened with it, and rewritten while it is open.
pub fn issue(envelope: &Envelope, incident: &Incident) -> Issue {
    shared_issue(envelope, &[incident])
}

/// One issue about several incidents that began in one run. Of an incident that is closed, only its
/// host is shown, with a tick.
pub fn shared_issue(envelope: &Envelope, incidents: &[&Incident]) -> Issue {
    let ids: Vec<&str> = incidents
        .iter()
        .map(|incident| incident.id.as_str())
        .collect();
    let message = compose(envelope, Scope::Issue(&ids), &Deliveries::default());
    let lookup = Lookup::new(envelope);
    let open: Vec<&Incident> = incidents
        .iter()
        .copied()
        .filter(|incident| incident.closed.is_none())
        .collect();
    let headline = format!(
        "**Action needed: {}.**",
        inline(&broken_since(&open, &lookup))
    );
    let room_for_markers = incidents.len() * LONGEST_MARKER;
    let limit = LARGEST_BODY.saturating_sub(room_for_markers);
    let body = if let [_] = incidents {
        fitted(limit, |room| body_of_one(&headline, &room.cut(&message)))
    } else {
        let hosts = checklist(incidents, &lookup);
        fitted(limit, |room| {
            body_of_several(&headline, &message, &hosts, room)
        })
    };
    Issue {
        title: title(&message),
        body,
    }
}

fn body_of_one(headline: &str, message: &Message) -> String {
    let mut parts = vec![headline.to_owned()];
    parts.extend(message.blocks.iter().flat_map(block_parts));
    parts.push(
        "---\nurldb opened this issue and closes it when all its URLs are as promised again. A \
         comment follows only when something changes."
            .to_owned(),
    );
    parts.join("\n\n") + "\n"
}

/// One cause has evidence and commands; several causes are named at their hosts. Each host keeps its
/// line, whatever finds no room.
fn body_of_several(headline: &str, message: &Message, hosts: &[HostRow], room: Room) -> String {
    let cut = room.cut(message);
    let has_one_cause = message.blocks.len() == 1;
    let cause = cut.blocks.first().filter(|_| has_one_cause);
    let mut parts = vec![headline.to_owned()];
    parts.extend(cause.into_iter().flat_map(facts));
    parts.extend(cause.and_then(|block| block.note.as_ref()).map(inline));
    let number = hosts.len();
    parts.push(format!("{}:", counted(number as u64, "host")));
    parts.push(host_list(hosts, !has_one_cause, room));
    parts.extend(cause.and_then(|block| code_block(&block.commands)));
    parts.push(format!(
        "---\nurldb opened this issue for {number} incidents that began in one run. It ticks a host when \
         all its URLs are as promised again, and closes the issue after the last one."
    ));
    parts.join("\n\n") + "\n"
}

/// Longest name of a host where many hosts have little room, in characters.
const LONGEST_HOST: usize = 60;

/// One line for each incident, in their order; no other line of a body begins with `- [`. With little
/// room, the lines have no links and no causes.
fn host_list(hosts: &[HostRow], with_cause: bool, room: Room) -> String {
    let has_room = room.lines >= hosts.len();
    let row = |row: &HostRow| {
        let tick = if row.solved { "x" } else { " " };
        let host = code(&shorten(
            &row.host,
            if has_room { room.longest } else { LONGEST_HOST },
        ));
        let what = if with_cause && has_room {
            format!(" {}", inline(&row.sentence.shortened(room.longest)))
        } else {
            format!(": {} URLs", inline(&row.share))
        };
        let link = row.place.as_ref().and_then(|place| place.link.as_deref());
        let link = link.filter(|url| has_room && url.len() <= room.longest);
        let file = link.map_or_else(String::new, |url| {
            format!(" ({})", super::syntax::link("file", url))
        });
        format!("- [{tick}] {host}{what}{file}")
    };
    let rows: Vec<String> = hosts.iter().map(row).collect();
    rows.join("\n")
}

/// The comment about what this run changed in an incident; absent if it changed nothing.
pub fn comment(envelope: &Envelope, incident: &Incident) -> Option<String> {
    let run = moment(envelope.run.started);
    let since = format!("since the run of {run}");
    let open = incident.urls.iter().filter(|url| !url.left).count() as u64;
    let text = match incident.phase {
        Phase::Grown => return Some(grown(envelope, incident, &since, open)),
        Phase::Shrunk => {
            let left = incident.urls.iter().filter(|url| url.left).count() as u64;
            let (is, are) = (verb(left), verb(open));
            let left = count(left, "URL");
            format!(
                "**{left} {is} as promised again, {} {are} still broken**, {since}.",
                number(open)
            )
        }
        Phase::Closed => solved(envelope, incident, &since),
        _ => return None,
    };
    Some(with_spaces(&text) + "\n")
}

fn verb(number: u64) -> &'static str {
    if number == 1 { "is" } else { "are" }
}

fn grown(envelope: &Envelope, incident: &Incident, since: &str, open: u64) -> String {
    let lookup = Lookup::new(envelope);
    let (urls, are) = (count(open, "URL"), verb(open));
    let added = number(incident.added);
    let mut lead = with_spaces(&format!(
        "**Action needed: {urls} {are} broken now, {added} more than before**, {since}."
    ));
    if redirects_home(incident, &lookup) {
        let _ = write!(lead, " All {} redirect to the home page.", number(open));
    }
    let new: Vec<String> = incident
        .urls
        .iter()
        .filter(|url| url.new)
        .map(|url| path_of(&url.url))
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

fn solved(envelope: &Envelope, incident: &Incident, since: &str) -> String {
    let urls = incident.urls.len() as u64;
    let end = incident.closed.unwrap_or(envelope.run.started);
    let age = age_in_words(incident.since, end);
    let (what, they) = match (incident.closed_because, urls) {
        (Some(ClosedBecause::PromisesChanged), 0 | 1) => {
            ("the record was changed or removed".to_owned(), "It was")
        }
        (Some(ClosedBecause::PromisesChanged), _) => (
            "the records were changed or removed".to_owned(),
            "They were",
        ),
        (_, 0 | 1) => ("the URL is as promised again".to_owned(), "It was"),
        (_, urls) => (
            format!("all {} are as promised again", count(urls, "URL")),
            "They were",
        ),
    };
    format!("**Solved: {what}**, {since}. {they} broken for {age}.")
}

/// The comment that an incident is still open. `next` is the time of the next reminder.
pub fn reminder_comment(
    envelope: &Envelope,
    incident: &Incident,
    next: Option<Timestamp>,
) -> String {
    let open = incident.urls.iter().filter(|url| !url.left).count() as u64;
    let age = age_in_words(incident.since, envelope.run.started);
    let (urls, are) = (count(open, "URL"), verb(open));
    let mut text = format!("**Reminder: still open after {age}.** {urls} {are} broken.");
    if let Some(next) = next {
        let _ = write!(text, " The next reminder comes on {}.", day(next));
    }
    with_spaces(&text) + "\n"
}
