//! The texts of issues and comments, as Markdown.
//!
//! Text from outside stands in code spans, where no service sees a mention, a reference, a command or
//! markup.

use urldb_protocol::{Envelope, Incident, Phase};
use urldb_render::one_line;

/// Most characters of a title, on GitHub.
const LONGEST_TITLE: usize = 256;

/// Most bytes of a body or a comment, below GitHub's 65,536 characters.
pub(crate) const LARGEST_BODY: usize = 60_000;

/// The begin of a host's line in an issue of several incidents, and the same line when the incident
/// has closed.
pub(crate) const OPEN_ROW: &str = "- [ ] ";
pub(crate) const CLOSED_ROW: &str = "- [x] ";

/// The title of an issue.
pub(crate) fn title(incidents: &[&Incident]) -> String {
    let text = if let [incident] = incidents {
        format!("{}: {} ({})", incident.host, incident.state, urls(incident))
    } else {
        let hosts: Vec<_> = incidents
            .iter()
            .map(|incident| incident.host.as_str())
            .collect();
        format!("{} incidents: {}", incidents.len(), hosts.join(", "))
    };
    // A title is no Markdown, but may mention people.
    urldb_render::shorten(&one_line(&text).replace('@', "%40"), LONGEST_TITLE)
}

/// The body of an issue for one incident, without its marker.
pub(crate) fn body(_envelope: &Envelope, incident: &Incident) -> String {
    let mut lines = vec![
        format!(
            "**Action needed: {} of {} broken since {}.**",
            urls(incident),
            code(&incident.host),
            incident.since
        ),
        String::new(),
        format!("- **state:** {}", incident.state),
    ];
    if let Some(redirect) = &incident.redirect {
        lines.push(format!("- **redirect:** {}", code(redirect)));
    }
    if !incident.evidence.detail.is_empty() {
        lines.push(format!("- **seen:** {}", code(&incident.evidence.detail)));
    }
    lines.push(String::new());
    let mut room = LARGEST_BODY / 2;
    for (index, affected) in incident.urls.iter().filter(|url| !url.left).enumerate() {
        let line = format!(
            "- {} ({}, line {})",
            code(&affected.url),
            code(&affected.file),
            affected.line
        );
        let Some(rest) = room.checked_sub(line.len() + 1) else {
            lines.push(format!("- and {} more", incident.urls.len() - index));
            break;
        };
        room = rest;
        lines.push(line);
    }
    lines.push(String::new());
    lines.push(FOOTER.to_owned());
    lines.join("\n") + "\n"
}

const FOOTER: &str = "---\nurldb opened this issue and closes it when all its URLs are as promised again. \
                      A comment follows only when something changes.";

/// The body of an issue for several incidents that began in one run, without its markers. Each
/// incident has one line that begins with [`OPEN_ROW`], in the order of the incidents, and no other
/// line begins so.
pub(crate) fn group_body(envelope: &Envelope, incidents: &[&Incident]) -> String {
    let mut text = format!(
        "**Action needed: {} incidents began in the run of {}.**\n\n",
        incidents.len(),
        envelope.run.started,
    );
    for incident in incidents {
        text.push_str(OPEN_ROW);
        text.push_str(&row(incident));
        text.push('\n');
    }
    text.push_str(
        "\n---\nurldb opened this issue for all of them. It ticks a line when the URLs behind it are as promised \
         again, and closes the issue after the last one.\n",
    );
    text
}

/// The line of an incident in an issue of several, without its begin.
pub(crate) fn row(incident: &Incident) -> String {
    format!(
        "{}: {}, {}",
        code(&incident.host),
        incident.state,
        urls(incident)
    )
}

/// The comment about what is new in an issue; `None` if nothing is.
pub(crate) fn comment(envelope: &Envelope, incidents: &[&Incident]) -> Option<String> {
    let sentences: Vec<_> = incidents
        .iter()
        .filter_map(|incident| {
            let host = code(&incident.host);
            match incident.phase {
                Phase::Grown => Some(format!(
                    "**Action needed:** {host}: {} broken now, {} more than before.",
                    urls(incident),
                    incident.added,
                )),
                Phase::Closed => Some(format!(
                    "**Solved:** {host}: all URLs are as promised again."
                )),
                _ => None,
            }
        })
        .collect();
    if sentences.is_empty() {
        return None;
    }
    Some(format!(
        "{}\n\nRun of {}.\n",
        sentences.join("\n"),
        envelope.run.started
    ))
}

fn urls(incident: &Incident) -> String {
    let count = incident.urls.iter().filter(|url| !url.left).count();
    if count == 1 {
        "1 URL".to_owned()
    } else {
        format!("{count} URLs")
    }
}

/// A code span with the text as one harmless line. The fence is longer than every run of backticks in
/// the text.
fn code(text: &str) -> String {
    let text = one_line(text);
    let longest = text
        .split(|char| char != '`')
        .map(str::len)
        .max()
        .unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let space = if text.starts_with('`') || text.ends_with('`') || text.is_empty() {
        " "
    } else {
        ""
    };
    format!("{fence}{space}{text}{space}{fence}")
}

/// A text that is cut at a line, if it is too long for an issue.
pub(crate) fn within_limit(text: String) -> String {
    const REST: &str = "\n\nThe rest is too long for an issue.\n";
    if text.len() <= LARGEST_BODY {
        return text;
    }
    let end = text.floor_char_boundary(LARGEST_BODY - REST.len());
    let end = text[..end].rfind('\n').unwrap_or(end);
    format!("{}{REST}", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_span_holds_any_text() {
        assert_eq!(code("plain"), "`plain`");
        assert_eq!(code("a`b``c"), "```a`b``c```");
        assert_eq!(code("`"), "`` ` ``");
        assert_eq!(code("x\n/close @all"), "`x\u{fffd}/close @all`");
    }

    #[test]
    fn a_long_text_ends_at_a_line() {
        let cut = within_limit("0123456789é\n".repeat(10_000));
        assert!(cut.len() <= LARGEST_BODY && cut.len() > LARGEST_BODY - 100);
        assert!(cut.contains("0123456789é\n\nThe rest is too long"));
        assert_eq!(within_limit("short".to_owned()), "short");
    }
}
