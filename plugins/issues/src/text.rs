//! The texts of issues and comments, by the renderer that all outputs share.

use urldb_protocol::{Envelope, Incident, Phase};
use urldb_render::{LARGEST_BODY, code, one_line};

use crate::marker::Marker;

/// The begin of a host's line in an issue of several incidents, and the same when all its URLs are as
/// promised again.
const OPEN_ROW: &str = "- [ ] ";
const CLOSED_ROW: &str = "- [x] ";

/// The begin of the first line of a body.
const HEADLINE: &str = "**Action needed: ";

/// The title of an issue. Some services look for mentions and references in titles too.
pub(crate) fn title(envelope: &Envelope, incidents: &[&Incident]) -> String {
    let title = urldb_render::shared_issue(envelope, incidents).title;
    title.replace('@', "%40").replace('#', "%23")
}

/// The body of an issue, without its markers. The body of several incidents has a line for each of
/// them, in their order.
pub(crate) fn body(envelope: &Envelope, incidents: &[&Incident]) -> String {
    urldb_render::shared_issue(envelope, incidents).body
}

/// The body of an issue of several incidents as of this run: the headline, and the lines of the
/// incidents that the report has, are new.
pub(crate) fn body_again(envelope: &Envelope, markers: &[Marker], old: &str) -> String {
    let find = |marker: &Marker| {
        let mut incidents = envelope.incidents.iter();
        incidents.find(|incident| incident.id == marker.id)
    };
    let present: Vec<&Incident> = markers.iter().filter_map(find).collect();
    // A body of one incident has no lines to take.
    let new = if present.len() > 1 {
        body(envelope, &present)
    } else {
        String::new()
    };
    let mut new_rows = rows(&new).map(|(_, line)| line);
    let new_rows: Vec<Option<&str>> = markers
        .iter()
        .map(|marker| find(marker).and_then(|_| new_rows.next()))
        .collect();
    let is_open = |marker: &&Marker| !marker.closed;
    let is_complete = markers
        .iter()
        .filter(is_open)
        .all(|marker| find(marker).is_some());
    let some_open = markers.iter().any(|marker| !marker.closed);
    let headline = new.lines().next().filter(|_| is_complete && some_open);

    let mut lines: Vec<String> = old.lines().map(str::to_owned).collect();
    for (index, (at, line)) in rows(old).enumerate() {
        match (new_rows.get(index), markers.get(index)) {
            (Some(Some(new)), _) => (*new).clone_into(&mut lines[at]),
            (_, Some(marker)) if marker.closed => {
                lines[at] = line.replacen(OPEN_ROW, CLOSED_ROW, 1);
            }
            _ => {}
        }
    }
    if let (Some(first), Some(headline)) = (lines.first_mut(), headline)
        && first.starts_with(HEADLINE)
    {
        headline.clone_into(first);
    }
    lines.join("\n") + "\n"
}

/// The lines about hosts, with their positions. A line of a code block is none.
fn rows(body: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    body.lines().enumerate().filter(move |(_, line)| {
        is_code ^= line.starts_with("```");
        !is_code && (line.starts_with(OPEN_ROW) || line.starts_with(CLOSED_ROW))
    })
}

/// The comment about the news of an issue, or the reminder of it; `None` if there is none. Of several incidents, each has a
/// paragraph that begins with its host.
pub(crate) fn comment(
    envelope: &Envelope,
    incidents: &[&Incident],
    shared: bool,
) -> Option<String> {
    let paragraphs: Vec<_> = incidents
        .iter()
        .filter_map(|incident| {
            let text = match incident.phase {
                phase if phase.is_news() || phase == Phase::Closed => {
                    urldb_render::comment(envelope, incident)?
                }
                Phase::Shrunk if !incident.quiet => urldb_render::comment(envelope, incident)?,
                _ if incident.reminder => urldb_render::reminder_comment(envelope, incident),
                _ => return None,
            };
            Some(if shared {
                format!("{}: {text}", host_code(&incident.host))
            } else {
                text
            })
        })
        .collect();
    (!paragraphs.is_empty()).then(|| paragraphs.join("\n"))
}

/// A host as bodies and comments show it.
fn host_code(host: &str) -> String {
    code(&one_line(host))
}

/// A text that is cut at a line, if it is too long for an issue: people have added to it. What is open
/// there, a code block or a fold, is closed.
pub(crate) fn within_limit(text: String) -> String {
    const REST: &str = "\n\nThe rest is too long for an issue.\n";
    /// Room for what closes the open parts.
    const CLOSING: usize = 200;
    if text.len() <= LARGEST_BODY {
        return text;
    }
    let end = text.floor_char_boundary(LARGEST_BODY - REST.len() - CLOSING);
    let end = text[..end].rfind('\n').unwrap_or(end);
    let kept = &text[..end];
    let (mut fence, mut folds) = ("", 0_usize);
    for line in kept.lines() {
        let begin = &line[..line.len() - line.trim_start_matches('`').len()];
        if fence.is_empty() {
            fence = if begin.len() >= 3 { begin } else { "" };
            folds += usize::from(line.starts_with("<details>"));
            folds = folds.saturating_sub(usize::from(line.starts_with("</details>")));
        } else if line == fence {
            fence = "";
        }
    }
    let mut closing = String::new();
    if !fence.is_empty() && fence.len() < CLOSING / 2 {
        closing = format!("\n{fence}");
    }
    if folds > 0 {
        closing += "\n\n</details>";
    }
    format!("{kept}{closing}{REST}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXAMPLE: &str = include_str!("../../../docs/envelope.example.json");

    #[test]
    fn a_long_text_ends_at_a_line() {
        let cut = within_limit("0123456789é\n".repeat(10_000));
        assert!(cut.len() <= LARGEST_BODY && cut.len() > LARGEST_BODY - 300);
        assert!(cut.contains("0123456789é\n\nThe rest is too long"));
        assert_eq!(within_limit("short".to_owned()), "short");
        let long = "0123456789\n".repeat(10_000);
        let cut = within_limit(format!(
            "<details><summary>x</summary>\n\n````sh\n```\n{long}"
        ));
        let end = "\n0123456789\n````\n\n</details>\n\nThe rest is too long for an issue.\n";
        assert!(cut.ends_with(end), "{}", &cut[cut.len() - 100..]);
    }

    #[test]
    fn the_line_of_a_closed_incident_is_ticked() {
        let old = "**Action needed: x.**\n\n```diff\n- [ ] code\n```\n- [ ] `a`: 1\n- [ ] `b`: 2\n\n---\nend\n";
        let marker = |id: &str, closed| Marker {
            id: id.to_owned(),
            key: String::new(),
            closed,
        };
        let mut envelope = serde_json::from_str::<Envelope>(EXAMPLE).unwrap();
        envelope.incidents.clear();
        let new = body_again(&envelope, &[marker("1", false), marker("2", true)], old);
        assert_eq!(new, old.replace("- [ ] `b`", "- [x] `b`"));
    }
}
