//! Standard output and standard error for people: the boundary that all text of urldb passes on its
//! way to a terminal or to the log of a runner. And standard output for bytes, which pass it as they are.
//!
//! Values from outside are sanitized where they enter a message. [`SafeOutput`] holds where that was
//! forgotten: no line of urldb can control a terminal, give a command to GitHub's runner, or show a
//! registered secret.

use std::borrow::Cow;
use std::io::{self, BufWriter, Write};

use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter};
use urldb_text::{has_unsafe, is_unsafe, sanitize};

use crate::cli::report_file;
use crate::stop::while_asking;

/// Standard output, or the file of `-o`. Colours are left out where there is no terminal.
pub(crate) fn stdout() -> SafeOutput<impl Write> {
    SafeOutput::new(report_file::text())
}

/// Standard output for what a quiet command does not say.
pub(crate) fn stdout_unless(is_quiet: bool) -> SafeOutput<Box<dyn Write>> {
    SafeOutput::new(if is_quiet {
        Box::new(io::sink())
    } else {
        report_file::text()
    })
}

/// Standard error. Colours are left out where there is no terminal.
#[expect(clippy::disallowed_methods, reason = "this is the one place")]
pub(crate) fn stderr() -> SafeOutput<impl Write> {
    SafeOutput::new(anstream::stderr())
}

/// The buffer of [`ByteOutput`], large enough that nothing waits for the kernel.
const BUFFER: usize = 256 << 10;

/// Standard output for bytes: promised files, lists and scripts for other programs. Nothing is replaced.
pub(crate) struct ByteOutput(BufWriter<Box<dyn Write>>);

/// Writes bytes to standard output, and all of them: an error is told, also one of the last byte.
pub(crate) fn write_bytes<T>(
    write: impl FnOnce(&mut ByteOutput) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let mut out = ByteOutput(BufWriter::with_capacity(BUFFER, report_file::bytes()));
    write(&mut out)
        .and_then(|written| {
            out.flush()?;
            Ok(written)
        })
        .map_err(named)
}

/// The error with the name of the output, if it is an error of writing alone: other files have names already.
pub(crate) fn named(error: anyhow::Error) -> anyhow::Error {
    if error
        .chain()
        .next()
        .is_some_and(<dyn std::error::Error>::is::<io::Error>)
    {
        return error.context("cannot write to standard output");
    }
    error
}

impl Write for ByteOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Writes lines of text, in which only colours and tabs remain of all control characters. A line
/// that holds a workflow command of GitHub is sanitized, and loses its colours.
pub(crate) struct SafeOutput<W: Write> {
    out: W,
    /// The line that is not complete yet.
    pending: Vec<u8>,
}

impl<W: Write> SafeOutput<W> {
    fn new(out: W) -> Self {
        Self {
            out,
            pending: Vec::new(),
        }
    }
}

impl<W: Write> Write for SafeOutput<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(end) = bytes.iter().rposition(|byte| *byte == b'\n') else {
            self.pending.extend_from_slice(bytes);
            return Ok(bytes.len());
        };
        let (complete, rest) = bytes.split_at(end + 1);
        self.pending.extend_from_slice(complete);
        let safe = safe_lines(&self.pending);
        self.pending.clear();
        self.pending.extend_from_slice(rest);
        self.out.write_all(safe.as_bytes())?;
        Ok(bytes.len())
    }

    /// Writes an incomplete line too: a question waits for its answer on the same line.
    fn flush(&mut self) -> io::Result<()> {
        let safe = safe_lines(&self.pending);
        self.pending.clear();
        self.out.write_all(safe.as_bytes())?;
        self.out.flush()
    }
}

impl<W: Write> Drop for SafeOutput<W> {
    fn drop(&mut self) {
        if !self.pending.is_empty() {
            // A closed output is no error here: the next write returns it.
            let _ = self.flush();
        }
    }
}

fn safe_lines(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (line, end) = match line.strip_suffix('\n') {
            Some(line) => (line, "\n"),
            None => (line, ""),
        };
        lines.push_str(&safe_line(line));
        lines.push_str(end);
    }
    lines
}

fn safe_line(line: &str) -> Cow<'_, str> {
    if let Cow::Borrowed(safe) = sanitize(line) {
        return Cow::Borrowed(safe);
    }
    let (mut plain, mut styled) = (String::new(), String::new());
    let mut rest = line;
    while let Some(char) = rest.chars().next() {
        if let Some(length) = style_length(rest) {
            let (style, after) = rest.split_at(length);
            styled.push_str(style);
            rest = after;
            continue;
        }
        let safe = match char {
            '\t' => '\t',
            char if is_unsafe(char) => char::REPLACEMENT_CHARACTER,
            char => char,
        };
        plain.push(safe);
        styled.push(safe);
        rest = &rest[char.len_utf8()..];
    }
    // Without its colours: a style may stand within a command.
    let without_tabs = plain.replace('\t', " ");
    let sanitized = sanitize(&without_tabs);
    Cow::Owned(if sanitized == without_tabs {
        styled
    } else {
        sanitized.into_owned()
    })
}

/// The length of the colour or style that the text begins with: `ESC [ digits and semicolons m`.
fn style_length(text: &str) -> Option<usize> {
    let parameters = text.strip_prefix("\x1b[")?;
    let end = parameters.find(|char: char| !char.is_ascii_digit() && char != ';')?;
    parameters[end..].starts_with('m').then_some(2 + end + 1)
}

/// Asks a question on the terminal.
pub(crate) fn is_wanted(question: &str) -> io::Result<bool> {
    let mut out = stdout();
    write!(out, "{question} [y/N] ")?;
    out.flush()?;
    let mut answer = String::new();
    while_asking(|| io::stdin().read_line(&mut answer))?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Writes a value as indented JSON, in which text from outside is as harmless as in a line for people.
pub(crate) fn write_json_pretty(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    let formatter = SafeJson(PrettyFormatter::new());
    value.serialize(&mut serde_json::Serializer::with_formatter(
        &mut *out, formatter,
    ))?;
    writeln!(out)
}

/// A value as JSON on one line, without a line end.
pub(crate) fn json(value: &impl Serialize) -> io::Result<String> {
    let mut line = Vec::new();
    write_json_line(&mut line, value)?;
    line.pop();
    String::from_utf8(line).map_err(io::Error::other)
}

/// Writes a value as JSON on one line.
pub(crate) fn write_json_line(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    let formatter = SafeJson(serde_json::ser::CompactFormatter);
    value.serialize(&mut serde_json::Serializer::with_formatter(
        &mut *out, formatter,
    ))?;
    writeln!(out)
}

/// JSON in which unsafe characters and workflow commands are escaped: the same document.
struct SafeJson<F>(F);

macro_rules! delegate {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => {$(
        fn $name<W: ?Sized + Write>(&mut self, out: &mut W $(, $argument: $type)*) -> io::Result<()> {
            self.0.$name(out $(, $argument)*)
        }
    )*};
}

impl<F: Formatter> Formatter for SafeJson<F> {
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        out: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        if !has_unsafe(fragment) && !fragment.contains("##[") {
            return out.write_all(fragment.as_bytes());
        }
        let fragment = fragment.replace("##[", "##\\u005b");
        for char in fragment.chars() {
            let mut units = [0; 2];
            if is_unsafe(char) {
                for unit in char.encode_utf16(&mut units) {
                    write!(out, "\\u{unit:04x}")?;
                }
            } else {
                write!(out, "{char}")?;
            }
        }
        Ok(())
    }

    delegate! {
        begin_array();
        end_array();
        begin_array_value(first: bool);
        end_array_value();
        begin_object();
        end_object();
        begin_object_key(first: bool);
        end_object_key();
        begin_object_value();
        end_object_value();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn colours_stay_and_commands_do_not() {
        for (line, safe) in [
            ("\x1b[1;31mred\x1b[0m\ttab", "\x1b[1;31mred\x1b[0m\ttab"),
            ("\x1b]0;title\x07", "\u{fffd}]0;title\u{fffd}"),
            ("\x1b[2J", "\u{fffd}[2J"),
            ("a##[set-env name=A]b", "a##\u{fffd}set-env name=A]b"),
            ("a##\x1b[0m[error]b", "a##\u{fffd}error]b"),
            ("  ::error::x", "  \u{fffd}:error::x"),
            ("\x1b[0m::error::x", "\u{fffd}:error::x"),
            ("\t::error::x", " \u{fffd}:error::x"),
            ("x \u{202e}y", "x \u{fffd}y"),
            ("host ::1 and http://[::1]/", "host ::1 and http://[::1]/"),
        ] {
            assert_eq!(safe_line(line), safe, "{line:?}");
        }
    }

    proptest! {
        #[test]
        fn json_says_the_same_and_is_safe(text in "(##\\[|::|\\PC|[\\x00-\\x1f]|\u{202e}|\u{e0001}){0,20}") {
            let mut out = Vec::new();
            write_json_line(&mut out, &[&text]).unwrap();
            let line = String::from_utf8(out).unwrap();
            prop_assert_eq!(serde_json::from_str::<[String; 1]>(&line).unwrap(), [text]);
            prop_assert!(!line.trim_end().contains(is_unsafe) && !line.contains("##["), "{}", line);
        }

        #[test]
        fn no_line_controls_anything(parts in prop::collection::vec("##\\[|::a::|\x1b\\[1m|\x1b|.{0,3}|\n", 0..12)) {
            let mut out = SafeOutput::new(Vec::new());
            for part in &parts {
                out.write_all(part.as_bytes()).unwrap();
            }
            out.flush().unwrap();
            let text = String::from_utf8(std::mem::take(&mut out.out)).unwrap();
            let text = anstream::adapter::strip_str(&text).to_string();
            prop_assert!(!text.contains("##["), "{text:?}");
            for line in text.split('\n') {
                prop_assert!(!line.contains(|char| is_unsafe(char) && char != '\t'), "{line:?}");
                prop_assert!(!line.trim_start().starts_with("::a::"), "{line:?}");
            }
        }
    }
}
