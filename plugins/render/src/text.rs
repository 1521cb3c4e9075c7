//! Sanitizes text from the network, and shortens it.

/// Longest text in a view, in characters.
const LONGEST: usize = 2_000;

/// The text on one line, at most 2,000 characters long. `U+FFFD` replaces every character that
/// could start a line, move a cursor or change the direction of writing.
pub fn one_line(text: &str) -> String {
    let harmless: String = text
        .chars()
        .take(LONGEST + 1)
        .map(|char| if is_harmful(char) { '\u{fffd}' } else { char })
        .collect();
    shorten(&harmless, LONGEST)
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

fn is_harmful(char: char) -> bool {
    char.is_control()
        || matches!(
            char,
            // Line and paragraph separator; marks, embeddings and isolates of direction.
            '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}' | '\u{61c}'
            | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}
