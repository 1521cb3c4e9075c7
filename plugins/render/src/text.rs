//! Sanitizes text from the network, and shortens it.

use urldb_text::sanitize;

/// Longest text in a view, in characters.
const LONGEST: usize = 2_000;

/// The text on one line, at most 2,000 characters long. `U+FFFD` replaces every character that
/// could start a line, move a cursor or change the direction of writing.
pub fn one_line(text: &str) -> String {
    let text: String = text.chars().take(LONGEST + 1).collect();
    shorten(&sanitize(&text), LONGEST)
}

/// The text, cut to at most `limit` characters. A cut text ends in `…`. The cut is at a space, if
/// there is one in the last third.
pub fn shorten(text: &str, limit: usize) -> String {
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    let kept: String = text.chars().take(limit.saturating_sub(1)).collect();
    let kept = match kept.rfind(' ') {
        Some(space) if space * 3 > kept.len() * 2 => &kept[..space],
        _ => &kept,
    };
    format!("{}…", kept.trim_end_matches([' ', ',', ':']))
}
