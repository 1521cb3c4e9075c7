//! Text from outside, made safe to show.

use std::borrow::Cow;

use crate::redact;

/// Replaces what could control or deceive the reader's terminal, log, mail program or browser:
/// every character for which [`is_unsafe`] holds becomes U+FFFD, and a tab becomes a space. One
/// character of every workflow command of GitHub becomes U+FFFD too, since a runner reads commands
/// in whatever a step prints: `##[NAME` anywhere, and `::NAME::` where the text begins. The
/// [registered secrets](crate::register_secret) are redacted.
///
/// The result is one line, has as many characters as `text` unless it held a secret, and sanitizing
/// it again changes nothing. Markup is left as it is: HTML and Markdown need escapes of their own.
///
/// A text is sanitized before it is cut: of a cut secret, the beginning would remain.
pub fn sanitize(text: &str) -> Cow<'_, str> {
    let shown = match redact(text) {
        shown if has_unsafe(&shown) => Cow::Owned(shown.chars().map(replacement).collect()),
        shown => shown,
    };
    without_commands(shown)
}

/// Whether [`is_unsafe`] holds for a character of the text.
pub fn has_unsafe(text: &str) -> bool {
    // Without an early end, so that the compiler uses vector instructions.
    let is_plain = |ok, byte: &u8| ok & (b' '..=b'~').contains(byte);
    !text.as_bytes().iter().fold(true, is_plain) && text.contains(is_unsafe)
}

/// [`sanitize`] for a text of several lines: line feeds stay.
pub fn sanitize_lines(text: &str) -> Cow<'_, str> {
    let is_changed = |line| matches!(sanitize(line), Cow::Owned(_));
    if !text.split('\n').any(is_changed) {
        return Cow::Borrowed(text);
    }
    let lines: Vec<_> = text.split('\n').map(sanitize).collect();
    Cow::Owned(lines.join("\n"))
}

/// The text with every workflow command defused.
fn without_commands(mut text: Cow<'_, str>) -> Cow<'_, str> {
    if text.contains("##[") {
        text = Cow::Owned(text.replace("##[", "##\u{fffd}"));
    }
    let command = text.trim_start();
    let name = command.strip_prefix("::").unwrap_or_default();
    if name.starts_with(|char: char| !char.is_whitespace()) && name.contains("::") {
        let at = text.len() - command.len();
        text.to_mut().replace_range(at..=at, "\u{fffd}");
    }
    text
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
