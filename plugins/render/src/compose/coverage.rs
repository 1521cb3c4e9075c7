//! The last line: how much was checked, and what was not and why.

use urldb_protocol::{Envelope, Incident, Phase, Reason};

use super::scope::Scope;
use crate::numbers::{count, elapsed, number, ratio, share, share_of, size};
use crate::sentences::{possessor, readers_counts, readers_coverage};
use crate::site::held_uris;
use crate::text::Text;

/// `Checked 1,246 of 1,247 URLs, 1,175 of 1,180 byte for byte (2.30 GB), in 52 s. Not checked: 1 with a
/// mistake.`
pub(super) fn coverage(envelope: &Envelope, incidents: &[Incident], scope: Scope<'_>) -> Text {
    if envelope.run.test {
        return Text::from(
            "A test by `urldb notify test` checks no URL, and nothing has happened.",
        );
    }
    let coverage = readers_coverage(&envelope.summary);
    let mut text = Text::from("Checked ");
    if let Scope::PullRequest { only_adds, .. } = scope {
        let what = if only_adds {
            "added URL"
        } else {
            "added or changed URL"
        };
        text = text.own(share(coverage.checked, coverage.due, what));
    } else {
        let all = readers_counts(&envelope.summary)
            .urls
            .max(coverage.due + coverage.not_selected);
        let possessor = possessor(&envelope.summary);
        text = text.own(share_of(coverage.checked, all, "URL", &possessor));
        if let Some(selection) = &envelope.run.selection {
            text = text.own(" (").outside(selection).own(")");
        }
    }
    if coverage.static_due > 0 {
        let compared = ratio(coverage.static_verified, coverage.static_due);
        let read = size(coverage.bytes);
        text = text.own(format!(", {compared} byte for byte ({read})"));
    }
    let time = elapsed(coverage.milliseconds);
    text = text.own(format!(", in\u{a0}{time}."));
    let not_tried = not_tried(incidents);
    if not_tried > 0 {
        text = text.own(format!(" Not tried: {}.", number(not_tried)));
    }
    let left_out = left_out(envelope);
    if !left_out.is_empty() {
        text = text.own(format!(" Not checked: {}.", left_out.join(", ")));
    }
    if let Some(held) = held_uris(&coverage.held) {
        text = text.own(" ").own(held);
    }
    if coverage.not_modified > 0 {
        let urls = count(coverage.not_modified, "URL");
        text = text.own(format!(" Unchanged by the server's word: {urls}."));
    }
    text
}

/// URLs that were not asked because their host was silent.
fn not_tried(incidents: &[Incident]) -> u64 {
    incidents
        .iter()
        .filter(|incident| incident.phase != Phase::Closed)
        .flat_map(|incident| &incident.urls)
        .filter(|url| url.not_tried && url.left.is_none())
        .count() as u64
}

/// Numbers of URLs that were not checked, each with the cause: `1 with a mistake`.
fn left_out(envelope: &Envelope) -> Vec<String> {
    let with = |reasons: &[Reason]| envelope.unsure_because(reasons);
    let mistakes = envelope
        .mistakes
        .iter()
        .filter(|it| !it.is_of_list())
        .count() as u64;
    let deprecated = readers_coverage(&envelope.summary).deprecated;
    [
        (
            mistakes,
            if mistakes == 1 {
                "with a mistake"
            } else {
                "with mistakes"
            },
        ),
        (deprecated, "deprecated"),
        (
            with(&[Reason::UnsafeMethod]),
            "that may change something on the server",
        ),
        (with(&[Reason::Refused]), "that the rules of urldb forbid"),
        (
            with(&[Reason::RunEnded]),
            if envelope.run.interrupted {
                "when the run was interrupted"
            } else {
                "when the run ended"
            },
        ),
        (with(&[Reason::NotAsked]), "of shards without a result"),
        (with(&[Reason::TooLarge]), "too large to compare"),
        (with(&[Reason::OwnLimit]), "for lack of open files"),
    ]
    .into_iter()
    .filter(|(urls, _)| *urls > 0)
    .map(|(urls, cause)| format!("{}\u{a0}{cause}", number(urls)))
    .collect()
}
