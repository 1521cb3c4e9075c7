//! The evidence of a closed incident.

use std::collections::BTreeMap;

use jiff::Timestamp;
use urldb_protocol::{AffectedUrl, Because, Envelope, Incident, Promised, Span};

use super::cause::promised_content;
use super::story::{run_of, runs, span_text, ways};
use crate::compose::causes::Group;
use crate::compose::notices;
use crate::message::Fact;
use crate::numbers::{age, count, moment, number};
use crate::sentences::Subject;
use crate::text::Text;

/// The evidence of a closed incident.
pub(super) fn closed_facts(group: &Group<'_>, envelope: &Envelope) -> Vec<Fact> {
    let first = group.first();
    if first.urls.is_empty() {
        return vec![continued(first)];
    }
    let mut facts = match group.end() {
        Because::Removed => vec![removed(group, envelope)],
        Because::Accepted => accepted(group),
        Because::Recovered | Because::Steady => first
            .notice
            .as_ref()
            .filter(|_| notices::is_end(first))
            .and_then(notices::renewal)
            .into_iter()
            .chain(served(group, &first.evidence.promised))
            .collect(),
    };
    facts.push(Fact::new("broken", broken(group, envelope)));
    facts.extend(others(group));
    facts
}

/// The end of an incident whose URLs are no longer the reader's.
fn continued(incident: &Incident) -> Fact {
    let text = match &incident.merged_into {
        Some(into) => Text::from("in incident ").outside(into),
        None => Text::from("this section takes none of its URLs any more"),
    };
    Fact::new("goes on", text)
}

fn removed(group: &Group<'_>, envelope: &Envelope) -> Fact {
    let run = moment(closed_at(group.first(), envelope));
    let text = match group.urls().next() {
        Some(url) if group.incidents.len() == 1 => Text::from("from ").code(&url.file).own(", "),
        _ => Text::new(),
    };
    let them = if group.urls_now() == 1 {
        "the URL"
    } else {
        "the URLs"
    };
    let text = text.own(format!(
        "before the run of {run}, which did not request {them}"
    ));
    Fact::new("removed", text)
}

/// The promise after its change and before, as far as the events tell them.
fn accepted(group: &Group<'_>) -> Vec<Fact> {
    let first = group.first();
    if group.cause().subject != Subject::Url {
        return Vec::new();
    }
    let last = first
        .chapters
        .iter()
        .rev()
        .find(|it| it.because == Some(Because::Accepted) && it.evidence.is_some());
    let text_of = promised_content;
    let before = text_of(&first.evidence.promised);
    let Some(evidence) = last.and_then(|chapter| chapter.evidence.as_ref()) else {
        let before = before.map(|it| Text::from("changed; until then ").and(it));
        return before
            .map(|it| Fact::new("promised", it))
            .into_iter()
            .collect();
    };
    let is_other = text_of(&evidence.promised) != before;
    let promised = match (text_of(&evidence.promised).filter(|_| is_other), before) {
        (Some(now), Some(before)) => Some(now.own("; until then ").and(before)),
        (now, _) => now,
    };
    let mut facts: Vec<Fact> = promised
        .map(|it| Fact::new("promised", it))
        .into_iter()
        .collect();
    facts.extend(served(group, &evidence.promised));
    facts
}

/// The promised bytes, which the URLs serve.
fn served(group: &Group<'_>, promised: &Promised) -> Option<Fact> {
    let content = promised_content(promised)?;
    let text = match group.urls_at_end() {
        _ if group.cause().subject == Subject::Url => content.own(", as promised"),
        1 => Text::from("the promised bytes, at 1 URL"),
        urls => Text::from(format!("the promised bytes, at all {} URLs", number(urls))),
    };
    Some(Fact::new("served", text))
}

/// The URLs that left for another reason than most.
fn others(group: &Group<'_>) -> Vec<Fact> {
    [
        (
            Because::Accepted,
            "accepted",
            "as promised, by a changed promise",
        ),
        (
            Because::Removed,
            "removed",
            "no longer in the database, and not requested",
        ),
    ]
    .into_iter()
    .filter_map(|(because, name, what)| {
        let urls: u64 = group
            .incidents
            .iter()
            .map(|it| it.left_because(because))
            .sum();
        let is_delivered = urls == 0 || because == group.end();
        (!is_delivered)
            .then(|| Fact::new(name, Text::from(format!("{}: {what}", count(urls, "URL")))))
    })
    .collect()
}

/// The times at which the URLs were broken, and in which ways.
fn broken(group: &Group<'_>, envelope: &Envelope) -> Text {
    let first = group.first();
    if group.end() == Because::Removed {
        let ways = group.cause().sentence();
        return Text::from(format!("since {}: ", moment(group.since()))).and(ways);
    }
    // A URL whose record was removed has no end.
    let with_end = |url: &&AffectedUrl| url.left != Some(Because::Removed);
    let spans = group.urls().filter(with_end).map(|url| Span {
        from: url.since.unwrap_or(first.since),
        to: url.until.unwrap_or_else(|| closed_at(first, envelope)),
    });
    let spans = counted(&spans.collect::<Vec<_>>());
    let mut text = spans_text(&spans);
    if let [incident] = group.incidents.as_slice()
        && let Some(ways) = ways(incident)
    {
        text = text.own(": ").and(ways);
    }
    let before = group.urls().find_map(|url| url.before.last());
    if let Some(before) = before.filter(|_| group.cause().subject == Subject::Url) {
        text = text.own("; before, ").own(span_text(before));
    }
    text
}

/// The different spans and the number of URLs that have each. Times of one run count as its first one.
fn counted(spans: &[Span]) -> Vec<(Span, u64)> {
    let begins = runs(spans.iter().map(|span| span.from));
    let ends = runs(spans.iter().map(|span| span.to));
    let mut counts: BTreeMap<(Timestamp, Timestamp), u64> = BTreeMap::new();
    for Span { from, to } in spans {
        let from = run_of(&begins, *from);
        let span = (from, run_of(&ends, *to).max(from));
        *counts.entry(span).or_default() += 1;
    }
    let span = |((from, to), urls)| (Span { from, to }, urls);
    counts.into_iter().map(span).collect()
}

/// The times of URLs that were broken together. Two times share the begin or the end that they have in common.
fn spans_text(spans: &[(Span, u64)]) -> Text {
    let age_of = |span: &Span| age(span.from, span.to);
    match spans {
        [(only, _)] => Text::from(span_text(only)),
        [(one, urls), (other, others)] => {
            let (urls, others) = (count(*urls, "URL"), count(*others, "URL"));
            let (from, to) = (moment(other.from), moment(other.to));
            let age = age_of(other);
            Text::from(if one.from == other.from {
                format!("{urls} {}, {others} to {to} ({age})", span_text(one))
            } else if one.to == other.to {
                let first = format!("{urls} from {} ({})", moment(one.from), age_of(one));
                format!("{first}, {others} from {from} ({age}), to {to}")
            } else {
                format!("{urls} {}, {others} {}", span_text(one), span_text(other))
            })
        }
        _ => {
            let from = spans.iter().map(|(span, _)| span.from).min();
            let to = spans.iter().map(|(span, _)| span.to).max();
            let length = |(span, _): &&(Span, u64)| span.to.duration_since(span.from);
            let shortest = spans.iter().min_by_key(length);
            let longest = spans.iter().max_by_key(length);
            let age = |it: Option<&(Span, u64)>| it.map_or_else(String::new, |it| age_of(&it.0));
            Text::from(format!(
                "for {} to {}, between {} and {}",
                age(shortest),
                age(longest),
                moment(from.unwrap_or_default()),
                moment(to.unwrap_or_default())
            ))
        }
    }
}

fn closed_at(incident: &Incident, envelope: &Envelope) -> Timestamp {
    incident.closed.unwrap_or(envelope.run.started)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_that_broke_in_one_run_have_one_span() {
        let at = |text: &str| format!("2026-11-{text}Z").parse().unwrap();
        let span = |from, to| Span {
            from: at(from),
            to: at(to),
        };
        let text = |spans: &[Span]| spans_text(&counted(spans)).plain();
        // A run asks its URLs one after the other, here over the end of a minute.
        let together = ["02T04:17:02", "02T04:17:58", "02T04:18:01"];
        let together = together.map(|from| span(from, "03T04:17:00"));
        assert_eq!(
            text(&together),
            "from 2026-11-02 04:17 UTC to 2026-11-03 04:17 UTC (1 day)"
        );
        let later = span("03T04:17:10", "04T04:17:00");
        assert_eq!(counted(&[together[2], later, together[0]])[1], (later, 1));
    }
}
