//! Writes one scalar: chooses its style, and folds long lines.
//!
//! `PyYAML` defines both: plain style if YAML reads that back as the same text, else single quotes,
//! else double quotes; a line is folded at the first single space beyond column 80.

use crate::resolve::reads_as_text;
use crate::text_writer::TextWriter;

/// A text is folded at the first space beyond this column.
const WIDTH: usize = 80;

/// The styles that the canonical form uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScalarStyle {
    Plain,
    SingleQuoted,
    DoubleQuoted,
}

/// The role of a scalar in its document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScalarRole {
    /// A key on one line with its value; never folded.
    Key,
    /// A value, a list item, or a key in the long form.
    Value,
}

/// Whether a key fits on one line with its value, or needs the long form (`? key`).
///
/// `PyYAML` counts the five characters of the implied tag `!!str` towards its limit of 128.
pub(crate) fn is_simple_key(text: &str) -> bool {
    !text.is_empty() && !text.contains(is_break) && text.chars().count() < 128 - 5
}

/// Writes `text` in the style that it needs.
pub(crate) fn write(out: &mut TextWriter, text: &str, role: ScalarRole) {
    match style(text, role) {
        ScalarStyle::Plain => write_plain(out, text, role),
        ScalarStyle::SingleQuoted => write_single_quoted(out, text, role),
        ScalarStyle::DoubleQuoted => write_double_quoted(out, text, role),
    }
}

fn is_break(char: char) -> bool {
    matches!(char, '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// The style that `text` needs.
pub(crate) fn style(text: &str, role: ScalarRole) -> ScalarStyle {
    if is_harmless(text) {
        return if reads_as_text(text) {
            ScalarStyle::Plain
        } else {
            ScalarStyle::SingleQuoted
        };
    }
    if needs_escapes(text) {
        return ScalarStyle::DoubleQuoted;
    }
    let multiline = text.contains('\n');
    if multiline && (role == ScalarRole::Key || has_space_at_break(text)) {
        return ScalarStyle::DoubleQuoted;
    }
    let padded = text.starts_with(' ') || text.ends_with(' ');
    if multiline || padded || has_indicator(text) || !reads_as_text(text) {
        ScalarStyle::SingleQuoted
    } else {
        ScalarStyle::Plain
    }
}

/// Whether the text has only characters without a special meaning in YAML: the fast path for most
/// texts.
fn is_harmless(text: &str) -> bool {
    let starts =
        text.starts_with(|char: char| char.is_ascii_alphanumeric() || matches!(char, '/' | '_'));
    starts
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'_' | b'-' | b'.'))
}

/// Whether the text has other characters than printable ASCII and line feeds.
fn needs_escapes(text: &str) -> bool {
    text.bytes()
        .any(|byte| byte != b'\n' && !(b' '..=b'~').contains(&byte))
}

/// Whether a space is next to a line feed: folding would lose the space.
fn has_space_at_break(text: &str) -> bool {
    text.contains(" \n") || text.contains("\n ")
}

/// Whether the text has a character that is a YAML indicator at its position.
fn has_indicator(text: &str) -> bool {
    let bytes = text.as_bytes();
    let Some(&first) = bytes.first() else {
        return true;
    };
    let alone = |index: usize| {
        bytes
            .get(index + 1)
            .is_none_or(|next| matches!(next, b' ' | b'\n'))
    };
    let at_start = match first {
        b'#' | b',' | b'[' | b']' | b'{' | b'}' | b'&' | b'*' | b'!' | b'|' | b'>' | b'\''
        | b'"' | b'%' | b'@' | b'`' => true,
        b'?' | b':' | b'-' => alone(0),
        _ => false,
    };
    at_start
        || text.starts_with("---")
        || text.starts_with("...")
        || text.contains(" #")
        || text.contains("\n#")
        || bytes
            .iter()
            .enumerate()
            .any(|(index, byte)| *byte == b':' && alone(index))
}

/// Splits the text into runs of spaces, runs of line feeds, and runs of other characters.
fn runs(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let same = |char: char| match first {
            ' ' | '\n' => char == first,
            _ => char != ' ' && char != '\n',
        };
        let end = rest.find(|char| !same(char)).unwrap_or(rest.len());
        let (run, tail) = rest.split_at(end);
        rest = tail;
        Some(run)
    })
}

fn write_plain(out: &mut TextWriter, text: &str, role: ScalarRole) {
    out.space();
    for run in runs(text) {
        // A plain text never ends in a space, so other text follows each space.
        if run == " " && out.column > WIDTH && role == ScalarRole::Value {
            out.fold();
        } else {
            out.text(run);
        }
    }
}

fn write_single_quoted(out: &mut TextWriter, text: &str, role: ScalarRole) {
    out.indicator("'");
    let mut done = 0;
    for run in runs(text) {
        let start = done;
        done += run.len();
        let inside = start > 0 && done < text.len();
        if run == " " && inside && out.column > WIDTH && role == ScalarRole::Value {
            out.fold();
        } else if run.starts_with('\n') {
            // YAML reads a single break as a space, so one more break is written.
            out.line_break();
            for _ in run.chars() {
                out.line_break();
            }
            out.fold();
        } else {
            write_doubling_quotes(out, run);
        }
    }
    out.text("'");
}

fn write_doubling_quotes(out: &mut TextWriter, run: &str) {
    for (index, part) in run.split('\'').enumerate() {
        if index > 0 {
            out.text("''");
        }
        out.text(part);
    }
}

/// Writes in double quotes, with escapes; folds with `\` at a space or right after an escape.
fn write_double_quoted(out: &mut TextWriter, text: &str, role: ScalarRole) {
    out.indicator("\"");
    let length = text.chars().count();
    // The bytes of `text` from `start` on are not written yet.
    let mut start = 0;
    for (number, (index, char)) in text.char_indices().enumerate() {
        let printable = (' '..='~').contains(&char) && char != '"' && char != '\\';
        // The column of the last character, written or not.
        let mut column = out.column + (index - start);
        if !printable {
            out.text(&text[start..index]);
            write_escape(out, char);
            start = index + char.len_utf8();
            column = out.column - 1;
        }
        let end = index.max(start);
        let may_fold = number > 0 && number + 1 < length && role == ScalarRole::Value;
        if may_fold && (char == ' ' || start == end) && column > WIDTH {
            out.text(&text[start..end]);
            start = end;
            out.text("\\");
            out.fold();
            if text[start..].starts_with(' ') {
                out.text("\\");
            }
        }
    }
    out.text(&text[start..]);
    out.text("\"");
}

fn write_escape(out: &mut TextWriter, char: char) {
    let short = match char {
        '\0' => "\\0",
        '\x07' => "\\a",
        '\x08' => "\\b",
        '\t' => "\\t",
        '\n' => "\\n",
        '\x0B' => "\\v",
        '\x0C' => "\\f",
        '\r' => "\\r",
        '\x1B' => "\\e",
        '"' => "\\\"",
        '\\' => "\\\\",
        '\u{85}' => "\\N",
        '\u{A0}' => "\\_",
        '\u{2028}' => "\\L",
        '\u{2029}' => "\\P",
        _ => return out.text(&hexadecimal(u32::from(char))),
    };
    out.text(short);
}

fn hexadecimal(code: u32) -> String {
    match code {
        0..=0xFF => format!("\\x{code:02X}"),
        0x100..=0xFFFF => format!("\\u{code:04X}"),
        _ => format!("\\U{code:08X}"),
    }
}
