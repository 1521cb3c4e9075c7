//! Mistakes in domain files, as reports name them.

use urldb_protocol::{Mistake, Shown};
use urldb_text::Finding;

/// Most characters of a line in a mistake.
const MOST_TEXT: usize = 100;

/// Converts findings for the report. They are in `text`, whose first line is `first_line` of the file. `name` is
/// the path of the file for people.
pub(crate) fn mistakes(
    text: &str,
    first_line: usize,
    name: &str,
    findings: &[Finding],
) -> Vec<Mistake> {
    if findings.is_empty() {
        return vec![];
    }
    let lines: Vec<&str> = text.lines().collect();
    let text_of = |line: usize| {
        let text = lines
            .get(line.saturating_sub(first_line))
            .map_or("", |text| text.trim());
        Shown::new(text, MOST_TEXT)
    };
    let shown = |text: &str| Shown::new(text, Shown::LONGEST);
    findings
        .iter()
        .map(|finding| Mistake {
            code: finding.code.to_string(),
            file: name.to_owned(),
            line: finding.line,
            column: finding.column,
            message: shown(&finding.message),
            help: finding.help.as_deref().map(shown),
            text: text_of(finding.line),
            new: false,
        })
        .collect()
}
