//! The texts of issues and comments, by the renderer that all outputs share.

use urldb_protocol::{Envelope, Incident, Phase};
use urldb_render::LARGEST_BODY;

use crate::marker::Marker;

/// The title of an issue. Some services look for mentions and references in titles too.
pub(crate) fn title(envelope: &Envelope, incidents: &[&Incident]) -> String {
    urldb_render::shared_issue(envelope, incidents, incidents.len())
        .title
        .replace('@', "%40")
        .replace('#', "%23")
}

/// The body of an issue with these markers, without them: of several incidents, the report has each that is open. `None` if
/// the report has none of the issue.
pub(crate) fn body(envelope: &Envelope, markers: &[Marker]) -> Option<String> {
    let find = |marker: &Marker| {
        envelope
            .incidents
            .iter()
            .find(|incident| incident.id == marker.id)
    };
    let incidents: Vec<&Incident> = markers.iter().filter_map(find).collect();
    let issue = || urldb_render::shared_issue(envelope, &incidents, markers.len());
    (!incidents.is_empty()).then(|| issue().body)
}

/// The comment about the news of an issue, or the reminder of it; `None` if there is none. Each incident has a paragraph.
pub(crate) fn comment(envelope: &Envelope, incidents: &[&Incident]) -> Option<String> {
    let paragraphs: Vec<String> = incidents
        .iter()
        .filter_map(|incident| match incident.phase {
            _ if incident.quiet => None,
            Phase::Unchanged if incident.reminder => {
                Some(urldb_render::reminder_comment(envelope, incident))
            }
            _ => urldb_render::comment(envelope, incident),
        })
        .collect();
    (!paragraphs.is_empty()).then(|| paragraphs.join("\n"))
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
}
