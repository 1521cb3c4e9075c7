//! Messages in Markdown: job summaries, issues and comments of GitHub, GitLab and Forgejo.
//!
//! Text from outside is inert: it stands in code spans, or holds only characters without a meaning in
//! Markdown and none of the forms that a service turns into links or mentions.

use std::fmt::Write as _;

use jiff::Timestamp;
use urldb_protocol::{ClosedBecause, Envelope, Incident, Phase};

use crate::compose::{
    Deliveries, Lookup, Scope, broken_since, checklist, compose, path_of, redirects_home, title,
};
use crate::message::{Block, Command, Fact, HostRow, KeptPromise, Message, Place, UrlList, UrlRow};
use crate::numbers::{age_in_words, bytes, count, day, moment, number, with_spaces};
use crate::room::Room;
use crate::text::{Span, Text, shorten};

/// Largest job summary, in bytes; GitHub takes 1 MiB of all steps.
pub const LARGEST_SUMMARY: usize = 900_000;

/// Largest body of an issue or a comment, in bytes; GitHub takes 65,536 characters.
pub const LARGEST_BODY: usize = 60_000;

/// Longest line by which the notifier finds an issue again, in bytes: the body has one for each incident,
/// with an id and a key of at most 64 characters.
const LONGEST_MARKER: usize = 170;

/// Most URLs that are as promised in a summary.
const MOST_KEPT: usize = 100;

/// A list of more URLs is folded.
const FOLDED: u64 = 10;

/// An issue about one incident, or about several that began in one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issue {
    /// The title: plain text.
    pub title: String,
    /// The body: Markdown, without a marker by which the notifier finds the issue again.
    pub body: String,
}

/// What a text leaves out to stay below its limit: differences first, then URLs, then the evidence of all
/// blocks but the first.
const ROOMS: [Room; 10] = {
    const ALL: Room = Room {
        diffs: true,
        urls: usize::MAX,
        urls_with_prefix: usize::MAX,
        hosts: usize::MAX,
        blocks: usize::MAX,
        lines: usize::MAX,
        longest: 2_000,
    };
    const NO_DIFFS: Room = Room {
        diffs: false,
        ..ALL
    };
    const NO_URLS: Room = Room {
        urls: 0,
        ..NO_DIFFS
    };
    const FULL: Room = Room {
        blocks: 20,
        lines: 1_000,
        hosts: 1_000,
        ..NO_URLS
    };
    const FEW: Room = Room {
        blocks: 5,
        lines: 50,
        hosts: 100,
        longest: 500,
        ..NO_URLS
    };
    const FEWEST: Room = Room {
        blocks: 1,
        lines: 20,
        hosts: 10,
        longest: 200,
        ..FEW
    };
    [
        ALL,
        NO_DIFFS,
        Room {
            urls: 100,
            ..NO_DIFFS
        },
        Room {
            urls: 10,
            ..NO_DIFFS
        },
        NO_URLS,
        FULL,
        FEW,
        FEWEST,
        Room {
            blocks: 0,
            ..FEWEST
        },
        Room {
            blocks: 0,
            lines: 0,
            ..FEWEST
        },
    ]
};

/// The fullest text that is not larger than `limit`, in bytes.
fn fitted(limit: usize, render: impl Fn(Room) -> String) -> String {
    let mut text = String::new();
    for room in ROOMS {
        text = render(room);
        if text.len() <= limit {
            break;
        }
    }
    text
}

/// The job summary of a run.
pub fn markdown(message: &Message) -> String {
    fitted(LARGEST_SUMMARY, |room| {
        let most_kept = room.urls.min(MOST_KEPT);
        summary(&room.cut(message), most_kept)
    })
}

fn summary(message: &Message, most_kept: usize) -> String {
    let headline = &message.headline;
    let mut parts = vec![format!("## {}: {}", headline.call, inline(&headline.text))];
    for block in message.stuck.iter().chain(&message.blocks) {
        parts.push(block_title(block));
        parts.extend(block_parts(block));
    }
    for list in [&message.more, &message.also_open].into_iter().flatten() {
        let items = list.items.iter().map(|item| format!("- {}", inline(item)));
        parts.push(format!("**{}:**", inline(&list.heading)));
        parts.push(items.collect::<Vec<_>>().join("\n"));
    }
    parts.extend(kept_list(&message.kept, most_kept));
    parts.push(inline(&message.coverage));
    if let Some(notified) = notified(message) {
        parts.push(notified);
    }
    parts.extend(message.remark.as_ref().map(inline));
    parts.join("\n\n") + "\n"
}

fn block_title(block: &Block) -> String {
    format!("### {}: {}", block.class.as_str(), inline(&block.title()))
}

/// `Notified: mail to 2 recipients; issue #38 opened. [Incident a986cfd9](…)`
fn notified(message: &Message) -> Option<String> {
    let mut text = String::new();
    if let Some(notified) = &message.notified {
        text = format!("Notified: {}.", inline(notified));
        text = text.replace("nobody: nothing", "nobody, nothing");
    }
    let stuck = message.stuck.iter().map(|block| inline(&block.subject));
    let stuck: Vec<String> = stuck.filter(|name| !name.is_empty()).collect();
    if !stuck.is_empty() {
        let _ = write!(text, " Not notified: {}.", stuck.join(", "));
    }
    if let Some(site) = &message.site {
        let _ = write!(text, " {}", link(&site.short_label, &site.url));
    }
    (!text.is_empty()).then(|| text.trim_start().to_owned())
}

/// The parts of a block below its title, between empty lines.
fn block_parts(block: &Block) -> Vec<String> {
    let mut parts = Vec::new();
    if !block.hosts.is_empty() {
        parts.push(host_table(block));
    }
    parts.extend(facts(block));
    parts.extend(block.note.as_ref().map(inline));
    if let Some(urls) = &block.urls {
        parts.extend(url_list(urls, block));
    }
    parts.extend(code_block(&block.commands));
    parts
}

/// The evidence as a list, and the difference behind it.
fn facts(block: &Block) -> Vec<String> {
    let mut lines: Vec<String> = block.facts.iter().map(fact_line).collect();
    if let Some(place) = &block.place {
        lines.push(place_line(place));
    }
    let mut parts = Vec::new();
    if !lines.is_empty() {
        parts.push(lines.join("\n"));
    }
    let diffs = block.facts.iter().filter(|fact| !fact.diff.is_empty());
    parts.extend(diffs.map(|fact| fenced("diff", &fact.diff.join("\n"))));
    parts
}

fn fact_line(fact: &Fact) -> String {
    format!("- **{}:** {}", fact.name, inline(&fact.text))
}

fn place_line(place: &Place) -> String {
    let name = if place.line.is_some() {
        "record"
    } else {
        "file"
    };
    let line = place
        .line
        .map_or_else(String::new, |line| format!(", line {line}"));
    let label = format!("{}{line}", name_span(&place.file));
    match &place.link {
        Some(url) => format!("- **{name}:** {}", link(&label, url)),
        None => format!("- **{name}:** {label}"),
    }
}

fn host_table(block: &Block) -> String {
    let mut table = "| host | URLs |\n|---|---:|".to_owned();
    for row in &block.hosts {
        let host = code(&row.host).replace('|', "\\|");
        let _ = write!(table, "\n| {host} | {} |", inline(&row.share));
    }
    if block.more_hosts > 0 {
        let _ = write!(table, "\n| and {} more | |", number(block.more_hosts));
    }
    table
}

fn url_list(urls: &UrlList, block: &Block) -> Vec<String> {
    let mut rows: Vec<String> = urls.rows.iter().map(url_line).collect();
    let more = urls.total.saturating_sub(rows.len() as u64);
    if more > 0 {
        rows.push(format!("- and {} more", number(more)));
    }
    let is_grown = urls.total < block.urls_total;
    let new = if is_grown { "new " } else { "" };
    let total = with_spaces(&count(urls.total, &format!("{new}URL")));
    let rows = rows.join("\n");
    if urls.total > FOLDED {
        let summary = format!("<details><summary>{total}</summary>");
        vec![summary, rows, "</details>".to_owned()]
    } else {
        vec![format!("{total}:"), rows]
    }
}

fn url_line(row: &UrlRow) -> String {
    format!("- {}{}", code(&row.shown), line_of(&row.place))
}

/// ` (line 49)`, with a link where there is one.
fn line_of(place: &Place) -> String {
    let line = place.line.map(|line| format!("line {line}"));
    match (line, &place.link) {
        (Some(line), Some(url)) => format!(" ({})", link(&line, url)),
        (Some(line), None) => format!(" ({line})"),
        (None, _) => String::new(),
    }
}

/// The URLs of a pull request that are as promised.
fn kept_list(kept: &[KeptPromise], most: usize) -> Vec<String> {
    let shown = kept.len().min(most);
    let rows = kept[..shown].iter().map(|promise| {
        let length = promise
            .length
            .map(|length| format!(": {}", with_spaces(&bytes(length))));
        let place = line_of(&promise.place);
        format!(
            "- {}{}{place}",
            code(&promise.url),
            length.unwrap_or_default()
        )
    });
    let mut rows: Vec<String> = rows.collect();
    let more = kept.len() - shown;
    if more > 0 {
        rows.push(format!("- and {} more", number(more as u64)));
    }
    if rows.is_empty() {
        return rows;
    }
    vec!["As promised:".to_owned(), rows.join("\n")]
}

/// The commands as a script, each with its purpose as a comment.
fn code_block(commands: &[Command]) -> Option<String> {
    let lines = commands
        .iter()
        .map(|command| format!("# {}\n{}", command.purpose, command.line));
    let lines: Vec<String> = lines.collect();
    (!lines.is_empty()).then(|| fenced("sh", &lines.join("\n")))
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
    parts.push(format!("{}:", with_spaces(&count(number as u64, "host"))));
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
        let file = link.map_or_else(String::new, |url| format!(" ({})", self::link("file", url)));
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

/// Text in Markdown.
pub(crate) fn inline(text: &Text) -> String {
    let span = |span: &Span| match span {
        Span::Own(text) => with_spaces(text),
        Span::Outside(text) | Span::Path(text) => name_span(&with_spaces(text)),
        Span::Code(text) => code(text),
    };
    text.spans().iter().map(span).collect()
}

/// Text from outside: as it is where every character is harmless, else in a code span.
fn name_span(text: &str) -> String {
    if is_inert(text) {
        text.to_owned()
    } else {
        code(text)
    }
}

/// Whether no service takes any part of the text for markup, a link, a mention or a reference.
fn is_inert(text: &str) -> bool {
    let is_harmless = |char: char| char.is_ascii_alphanumeric() || " /.,:;+-()%=".contains(char);
    let lower = text.to_ascii_lowercase();
    let colons = text.split(':').skip(1);
    let no_emoji = colons
        .into_iter()
        .all(|after| after.is_empty() || after.starts_with(' '));
    text.chars().all(is_harmless)
        && no_emoji
        && !["www.", "gh-", "://", "mailto"]
            .iter()
            .any(|part| lower.contains(part))
        && text.trim() == text
}

/// A code span, whose fence is longer than any run of backticks in the text.
pub fn code(text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let fence = "`".repeat(longest_run(text) + 1);
    let padding = if text.starts_with(['`', ' ']) || text.ends_with(['`', ' ']) {
        " "
    } else {
        ""
    };
    format!("{fence}{padding}{text}{padding}{fence}")
}

/// A code block, whose fence is longer than any run of backticks in the text.
fn fenced(language: &str, text: &str) -> String {
    let fence = "`".repeat((longest_run(text) + 1).max(3));
    format!("{fence}{language}\n{text}\n{fence}")
}

fn longest_run(text: &str) -> usize {
    let runs = text.split(|char| char != '`').map(str::len);
    runs.max().unwrap_or_default()
}

/// A link. The address comes from a parsed URL: only parentheses are left to escape.
fn link(label: &str, url: &str) -> String {
    let url = url.replace('(', "%28").replace(')', "%29");
    format!("[{label}]({url})")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_harmless_text_stands_without_a_code_span() {
        for text in [
            "text/html",
            "/manual/v1/",
            "Example CA R3",
            "no route: gave up after 10 s",
        ] {
            assert_eq!(name_span(text), text);
        }
        for text in [
            "a_b_",
            "*",
            "<b>",
            "[x](y)",
            "#12",
            "@team",
            "gh-12",
            "www.a.test",
            "x://y",
            "a|b",
            "&amp;",
            ":tada:",
            "~~x~~",
            "\\",
            "!",
            " x",
        ] {
            assert!(name_span(text).starts_with('`'), "{text}");
        }
        assert_eq!(code("a`b``c"), "```a`b``c```");
        assert_eq!(code("`x`"), "`` `x` ``");
        assert_eq!(fenced("sh", "a\n````"), "`````sh\na\n````\n`````");
    }

    proptest! {
        #[test]
        fn no_text_ends_its_code_span(text in "[`a ]{1,12}") {
            let span = code(&text);
            let fence = span.bytes().take_while(|byte| *byte == b'`').count();
            let inner = &span[fence..span.len() - fence];
            prop_assert!(longest_run(inner) < fence, "{}", span);
            prop_assert!(!inner.starts_with('`') && !inner.ends_with('`'), "{}", span);
            prop_assert!(span.ends_with(&"`".repeat(fence)));
        }
    }
}
