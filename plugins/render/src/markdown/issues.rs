//! Issues about incidents.

use urldb_protocol::{Envelope, Incident, NoticeKind};

use super::blocks::{block_parts, code_block, facts};
use super::size_limits::{LARGEST_BODY, LONGEST_MARKER, fitted};
use super::syntax::{code, inline};
use crate::compose::{Deliveries, Lookup, Scope, checklist, compose, incident_line, title};
use crate::message::{Block, HostRow, Message};
use crate::numbers::counted;
use crate::size_limit::SizeLimit;
use crate::text::{Text, shorten};

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
    shared_issue(envelope, &[incident], 1)
}

/// The issue about `all` incidents that began in one run, of which the report has these. Of an incident that is closed,
/// only its host is shown, with a tick.
pub fn shared_issue(envelope: &Envelope, incidents: &[&Incident], all: usize) -> Issue {
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
    let headline = match open.as_slice() {
        [] => Text::from("closed: all its incidents are over"),
        [only] => incident_line(only, &lookup),
        _ => Text::from(format!("broken: {} hosts", open.len())),
    };
    let headline = format!("**{}**", inline(&headline));
    let limit = LARGEST_BODY.saturating_sub(all * LONGEST_MARKER);
    let body = if let ([only], 1) = (incidents, all) {
        fitted(limit, |size| {
            let message = size.cut(&message);
            let end = if envelope.run.test {
                TEST
            } else {
                &purpose(only)
            };
            body_of_one(
                &headline,
                message.blocks.iter().flat_map(|block| titled(block, only)),
                end,
            )
        })
    } else {
        let hosts = checklist(incidents, &lookup);
        fitted(limit, |size| {
            body_of_several(&headline, &message, (&hosts, all), size)
        })
    };
    Issue {
        title: title(&message, envelope.run.test),
        body,
    }
}

/// The last line of an issue about one incident: when it is closed, and when a comment follows.
fn purpose(incident: &Incident) -> String {
    let notice = incident.notice.as_ref().filter(|_| incident.is_notice());
    let end = match notice.map(|notice| notice.kind) {
        Some(NoticeKind::Mistake) => "the file has no mistakes any more",
        Some(NoticeKind::Impaired) => "a run is no longer impaired",
        Some(NoticeKind::UnsupportedTls) => "it can check the host again",
        Some(NoticeKind::EvidenceLost) => {
            "the archive lacks no promised bytes of the host any more"
        }
        Some(NoticeKind::CertificateEnds) => "the host has a new certificate",
        None => "all its URLs are as promised again",
    };
    format!(
        "urldb opened this issue and closes it when {end}. A comment follows only when something changes, or as a \
         reminder."
    )
}

/// The parts of a block. Each mistake in a file has a title, since the issue is about the file.
fn titled(block: &Block, incident: &Incident) -> Vec<String> {
    let is_mistake = incident.notice_of(NoticeKind::Mistake).is_some();
    let title = || format!("**{}: {}**", block.class.as_str(), inline(&block.title()));
    is_mistake
        .then(title)
        .into_iter()
        .chain(block_parts(block))
        .collect()
}

/// The last line of an issue that `urldb notify test` keeps.
const TEST: &str = "A person ran `urldb notify test`: nothing has happened. urldb keeps this issue as it keeps \
                    others.";

/// The last body of the issue about one incident: its end, and its history.
pub fn closing_body(envelope: &Envelope, incident: &Incident) -> String {
    let ids = [incident.id.as_str()];
    let message = compose(envelope, Scope::Changes(&ids), &Deliveries::default());
    let line = incident_line(incident, &Lookup::new(envelope));
    let headline = format!("**{}**", inline(&line));
    let limit = LARGEST_BODY.saturating_sub(LONGEST_MARKER);
    fitted(limit, |size| {
        let message = size.cut(&message);
        let own = message
            .blocks
            .iter()
            .filter(|block| block.ids.contains(&incident.id));
        let end = "urldb closed this issue.";
        body_of_one(&headline, own.flat_map(block_parts), end)
    })
}

fn body_of_one(headline: &str, blocks: impl Iterator<Item = String>, end: &str) -> String {
    let mut parts = vec![headline.to_owned()];
    parts.extend(blocks);
    parts.push(format!("---\n{end}"));
    parts.join("\n\n") + "\n"
}

/// One cause has evidence and commands; several causes are named at their hosts. Each host keeps its
/// line, whatever finds no room.
fn body_of_several(
    headline: &str,
    message: &Message,
    (hosts, all): (&[HostRow], usize),
    size: SizeLimit,
) -> String {
    let cut = size.cut(message);
    let has_one_cause = message.blocks.len() == 1;
    let cause = cut.blocks.first().filter(|_| has_one_cause);
    let mut parts = vec![headline.to_owned()];
    parts.extend(cause.into_iter().flat_map(facts));
    parts.extend(cause.and_then(|block| block.note.as_ref()).map(inline));
    parts.push(format!("{}:", counted(hosts.len() as u64, "host")));
    parts.push(host_list(hosts, !has_one_cause, size));
    parts.extend(cause.and_then(|block| code_block(&block.commands)));
    parts.push(format!(
        "---\nurldb opened this issue for {all} incidents that began in one run, and closes it after the last one. \
         The hosts are those of the last report; a tick is an end."
    ));
    parts.join("\n\n") + "\n"
}

/// Longest name of a host where many hosts have little room, in characters.
const LONGEST_HOST: usize = 60;

/// One line for each incident, in their order; no other line of a body begins with `- [`. With little
/// room, the lines have no links and no causes.
fn host_list(hosts: &[HostRow], with_cause: bool, size: SizeLimit) -> String {
    let has_room = size.lines >= hosts.len();
    let row = |row: &HostRow| {
        let tick = if row.solved { "x" } else { " " };
        let host = code(&shorten(
            &row.host,
            if has_room { size.longest } else { LONGEST_HOST },
        ));
        let what = if with_cause && has_room {
            format!(" {}", inline(&row.sentence.shortened(size.longest)))
        } else {
            format!(": {} URLs", inline(&row.share))
        };
        let link = row
            .place
            .as_ref()
            .and_then(|place| place.link.as_deref())
            .filter(|url| has_room && url.len() <= size.longest);
        let file = link.map_or_else(String::new, |url| {
            format!(" ({})", super::syntax::link("file", url))
        });
        format!("- [{tick}] {host}{what}{file}")
    };
    let rows: Vec<String> = hosts.iter().map(row).collect();
    rows.join("\n")
}
