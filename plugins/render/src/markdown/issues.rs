//! Issues about incidents.

use urldb_protocol::{Envelope, Incident, NoticeKind};

use super::blocks::block_parts;
use super::size_limits::{LARGEST_BODY, LONGEST_MARKER, fitted};
use super::syntax::inline;
use crate::compose::{Deliveries, Lookup, Scope, compose, incident_line, title};
use crate::message::Block;
use crate::numbers::day;
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

/// The issue about `all` incidents that began in one run, of which the report has these.
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
    let title = title(&message, envelope.run.test);
    let headline = match open.as_slice() {
        [] => Text::from("closed: all its incidents are over"),
        [only] => incident_line(only, &lookup),
        _ => Text::new().outside(&title),
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
        fitted(limit, |size| {
            body_of_several(&headline, (incidents, all), &lookup, size)
        })
    };
    Issue { title, body }
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

/// Longest name of a host where many incidents have little room, in characters.
const LONGEST_HOST: usize = 60;

/// A line for each incident: its title, and since when it is open; with little room, the host alone.
fn body_of_several(
    headline: &str,
    (incidents, all): (&[&Incident], usize),
    lookup: &Lookup<'_>,
    size: SizeLimit,
) -> String {
    let item = |incident: &&Incident| {
        let since = match incident.closed {
            Some(_) => String::new(),
            None => format!(", since {}", day(incident.since)),
        };
        let line = if size.lines >= incidents.len() {
            incident_line(incident, lookup).shortened(size.longest)
        } else {
            Text::new().host(&shorten(&incident.host, LONGEST_HOST))
        };
        format!("- {}{since}", inline(&line))
    };
    let items: Vec<String> = incidents.iter().map(item).collect();
    format!(
        "{headline}\n\n{}\n\n---\nurldb opened this issue for {all} incidents that began in one run, and closes it \
         after the last one.\n",
        items.join("\n")
    )
}
