//! Text from outside, made safe to show.

use std::borrow::Cow;

/// Replaces what could control or deceive the reader's terminal, log, mail program or browser:
/// every character for which [`is_unsafe`] holds becomes U+FFFD, and a tab becomes a space.
///
/// The result is one line, has as many characters as `text`, and sanitizing it again changes
/// nothing. Markup is left as it is: HTML, Markdown and workflow commands need escapes of their own.
pub fn sanitize(text: &str) -> Cow<'_, str> {
    if text.contains(is_unsafe) {
        Cow::Owned(text.chars().map(replacement).collect())
    } else {
        Cow::Borrowed(text)
    }
}

/// [`sanitize`] for a text of several lines: line feeds stay.
pub fn sanitize_lines(text: &str) -> Cow<'_, str> {
    let is_kept = |char: char| char == '\n' || !is_unsafe(char);
    if text.chars().all(is_kept) {
        return Cow::Borrowed(text);
    }
    let replaced = |char| {
        if is_kept(char) {
            char
        } else {
            replacement(char)
        }
    };
    Cow::Owned(text.chars().map(replaced).collect())
}

fn replacement(char: char) -> char {
    match char {
        '\t' => ' ',
        char if is_unsafe(char) => char::REPLACEMENT_CHARACTER,
        char => char,
    }
}

/// Whether a character does something else than show itself:
///
/// - the controls C0, DEL and C1 (general category Cc), which move cursors and begin escapes;
/// - line and paragraph separators (Zl, Zp), which begin lines;
/// - `Default_Ignorable_Code_Point`: the bidirectional controls, zero-width characters, fillers,
///   tags and variation selectors, and the places that Unicode reserves for more of them;
/// - the other invisible format characters (of Cf): interlinear annotations and the joiners of
///   Egyptian hieroglyphs.
///
/// Format characters with a glyph, such as U+0600 ARABIC NUMBER SIGN, are safe.
pub fn is_unsafe(char: char) -> bool {
    if char.is_ascii() {
        return char.is_ascii_control();
    }
    matches!(
        char,
        // Cc, Zl, Zp.
        '\u{80}'..='\u{9f}' | '\u{2028}' | '\u{2029}'
        // Default_Ignorable_Code_Point.
        | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
        // The rest of Cf that has no glyph.
        | '\u{fff9}'..='\u{fffb}' | '\u{13430}'..='\u{1343f}'
    )
}
