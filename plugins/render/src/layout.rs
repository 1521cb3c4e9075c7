//! Lines of bounded width, for the terminal and the text part of a mail.

use unicode_width::UnicodeWidthStr;
use urldb_text::sanitize;

use crate::message::Fact;
use crate::text::Text;

/// Narrowest column of the names of facts, without the space behind it.
const NAMES: usize = 8;

/// Breaks a text into lines of at most `width` columns. The first line begins in column `first`, the
/// others in column `rest`; the lines have no indent. Words are never cut: a longer word has a line
/// of its own.
pub fn wrap(text: &Text, width: usize, first: usize, rest: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut column = first;
    for word in text.words() {
        let length = columns(&word);
        let Some(line) = lines.last_mut() else {
            break;
        };
        if line.is_empty() {
            line.push_str(&word);
            column += length;
        } else if column + 1 + length <= width {
            line.push(' ');
            line.push_str(&word);
            column += 1 + length;
        } else {
            lines.push(word);
            column = rest + length;
        }
    }
    // A line may begin where the text did not, and so with a workflow command.
    lines
        .iter()
        .map(|line| sanitize(line).into_owned())
        .collect()
}

/// Width of a text in columns of a terminal: a Chinese character takes two, an accent none.
pub(crate) fn columns(text: &str) -> usize {
    text.width()
}

/// The text with spaces behind it, in `width` columns.
pub(crate) fn padded(text: &str, width: usize) -> String {
    let spaces = width.saturating_sub(columns(text));
    format!("{text}{:spaces$}", "")
}

/// Width of the column of names, with the space behind it.
pub(crate) fn name_column<'a>(names: impl Iterator<Item = &'a str>) -> usize {
    names.map(columns).max().unwrap_or_default().max(NAMES) + 2
}

/// [`name_column`] of facts.
pub(crate) fn fact_column(facts: &[Fact]) -> usize {
    name_column(facts.iter().map(|fact| fact.name))
}
