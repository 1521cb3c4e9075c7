//! The texts of issues and comments, by the renderer that all outputs share.

use urldb_protocol::{Envelope, Incident, Phase};
use urldb_render::{LARGEST_BODY, code, one_line};

use crate::marker;

/// The begin of a host's line in an issue of several incidents, and the same when all its URLs are as
/// promised again.
const OPEN_ROW: &str = "- [ ] ";
const CLOSED_ROW: &str = "- [x] ";

/// What begins the last part of a text: what urldb does with the issue.
const FOOTER: &str = "\n---\n";

/// The heading of the hosts that are as promised again.
const SOLVED: &str = "\nAs promised again:\n\n";

/// The title of an issue. Some services look for mentions and references in titles too.
pub(crate) fn title(envelope: &Envelope, incidents: &[&Incident]) -> String {
    let title = urldb_render::shared_issue(envelope, incidents).title;
    title.replace('@', "%40").replace('#', "%23")
}

/// The body of an issue, without its markers.
pub(crate) fn body(envelope: &Envelope, incidents: &[&Incident]) -> String {
    let body = urldb_render::shared_issue(envelope, incidents).body;
    marker::split(&body).1.to_owned()
}

/// The body of an issue of several incidents as of this run. Lines about hosts that closed in earlier
/// runs stay, and so does the footer, which counts all incidents.
pub(crate) fn body_again(envelope: &Envelope, incidents: &[&Incident], old: &str) -> String {
    let new = body(envelope, incidents);
    let is_kept =
        |line: &&str| line.starts_with(CLOSED_ROW) && !new.lines().any(|own| own == *line);
    let kept: String = old
        .lines()
        .filter(is_kept)
        .map(|line| format!("{line}\n"))
        .collect();
    let (new_text, new_footer) = new.rsplit_once(FOOTER).unwrap_or((&new, ""));
    let footer = old
        .rsplit_once(FOOTER)
        .map_or(new_footer, |(_, footer)| footer);
    let text = match (kept.is_empty(), new_text.split_once(SOLVED)) {
        (true, _) => new_text.to_owned(),
        (false, Some((before, after))) => format!("{before}{SOLVED}{kept}{after}"),
        (false, None) => format!("{new_text}{SOLVED}{kept}"),
    };
    format!("{text}{FOOTER}{footer}")
}

/// The body with the lines of these hosts ticked.
pub(crate) fn ticked(body: &str, hosts: &[&str]) -> String {
    let begins: Vec<_> = hosts
        .iter()
        .map(|host| format!("{OPEN_ROW}{}:", host_code(host)))
        .collect();
    let lines = body.split_inclusive('\n').map(|line| {
        if begins.iter().any(|begin| line.starts_with(begin)) {
            line.replacen(OPEN_ROW, CLOSED_ROW, 1)
        } else {
            line.to_owned()
        }
    });
    lines.collect()
}

/// The comment about the news of an issue; `None` if there is none. Of several incidents, each has a
/// paragraph that begins with its host.
pub(crate) fn comment(
    envelope: &Envelope,
    incidents: &[&Incident],
    shared: bool,
) -> Option<String> {
    let is_news = |incident: &&&Incident| matches!(incident.phase, Phase::Grown | Phase::Closed);
    let paragraphs: Vec<_> = incidents
        .iter()
        .filter(is_news)
        .filter_map(|incident| {
            let text = urldb_render::comment(envelope, incident)?;
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
    fn a_long_text_ends_at_a_line() {
        let cut = within_limit("0123456789é\n".repeat(10_000));
        assert!(cut.len() <= LARGEST_BODY && cut.len() > LARGEST_BODY - 100);
        assert!(cut.contains("0123456789é\n\nThe rest is too long"));
        assert_eq!(within_limit("short".to_owned()), "short");
    }

    #[test]
    fn only_the_line_of_the_host_is_ticked() {
        let body = "- [ ] `a.test`: 1\n- [ ] `a.test.b`: 2\n- [ ] `c`: `a.test`:\n";
        let expected = "- [x] `a.test`: 1\n- [ ] `a.test.b`: 2\n- [ ] `c`: `a.test`:\n";
        assert_eq!(ticked(body, &["a.test"]), expected);
    }
}
