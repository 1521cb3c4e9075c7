//! Something wrong in a text file.

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;

use crate::{Code, REDACTED, Severity, redact, sanitize};

/// Something wrong in a text file of the user: a domain file, site rules, the configuration.
///
/// Message and help are sanitized when they are given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The code of the finding.
    pub code: Code,
    /// The severity.
    pub severity: Severity,
    /// The file that has to change. `None` for a reader that is given text only.
    pub file: Option<PathBuf>,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The mistake, for people: lower case, without a full stop.
    pub message: String,
    /// The remedy, if the message does not contain it.
    pub help: Option<String>,
    /// The text at the place, if the message needs it.
    pub excerpt: Option<Excerpt>,
}

impl Finding {
    /// A finding at the start of a line, with the severity of its code.
    pub fn new(code: Code, line: usize, message: impl Into<String>) -> Self {
        Self {
            code,
            severity: code.severity(),
            file: None,
            line,
            column: 1,
            message: sanitized(message.into()),
            help: None,
            excerpt: None,
        }
    }

    /// The same finding, in a file.
    #[must_use]
    pub fn in_file(mut self, file: impl Into<PathBuf>) -> Self {
        self.file = Some(file.into());
        self
    }

    /// The same finding, at a column.
    #[must_use]
    pub fn at_column(mut self, column: usize) -> Self {
        self.column = column;
        self
    }

    /// The same finding, with advice.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(sanitized(help.into()));
        self
    }

    /// The same finding, with its line, of which `length` characters from the column on are marked.
    /// `line` is the text of that line alone.
    #[must_use]
    pub fn with_excerpt(mut self, line: &str, length: usize) -> Self {
        self.excerpt = Some(Excerpt::new(line, self.column, length));
        self
    }

    /// Whether the file has to change.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

fn sanitized(text: String) -> String {
    match sanitize(&text) {
        Cow::Owned(safe) => safe,
        Cow::Borrowed(_) => text,
    }
}

/// `FILE:LINE:COLUMN: CODE: MESSAGE`, without the file where none is known. The alternate form
/// (`{:#}`) has help and excerpt below, indented by two spaces.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            code,
            line,
            column,
            message,
            ..
        } = self;
        if let Some(file) = &self.file {
            write!(f, "{}:", sanitize(&file.to_string_lossy()))?;
        }
        write!(f, "{line}:{column}: {code}: {message}")?;
        if !f.alternate() {
            return Ok(());
        }
        if let Some(help) = &self.help {
            write!(f, "\n  help: {help}")?;
        }
        if let Some(excerpt) = &self.excerpt {
            for line in excerpt.lines() {
                write!(f, "\n  {line}")?;
            }
        }
        Ok(())
    }
}

/// A line of a file, cut where it is long, of which a part is marked. The text is sanitized; a line with a
/// secret is not shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    /// The line, or at most 120 characters of it.
    pub text: String,
    /// The number of characters of `text` before the marked ones.
    pub before: usize,
    /// The number of marked characters, at least 1. The mark may extend behind `text`.
    pub length: usize,
}

impl Excerpt {
    /// The length of an excerpt in characters, and the part of it before the mark.
    const SHOWN: usize = 120;
    const BEFORE: usize = 60;

    /// An excerpt of a line with `length` characters marked, from `column` on (from 1).
    fn new(line: &str, column: usize, length: usize) -> Self {
        if let Cow::Owned(_) = redact(line) {
            return Self {
                text: REDACTED.to_owned(),
                before: 0,
                length: REDACTED.len(),
            };
        }
        let start = column.saturating_sub(1);
        let cut = start.saturating_sub(Self::BEFORE);
        let shown: String = line.chars().skip(cut).take(Self::SHOWN).collect();
        Self {
            text: sanitize(&shown).into_owned(),
            before: start - cut,
            length: length.max(1),
        }
    }

    /// The text, and a line with carets below the marked characters.
    pub fn lines(&self) -> [String; 2] {
        let carets = "^".repeat(self.length.min(Self::SHOWN - self.before));
        let indent = self.before;
        [self.text.clone(), format!("{:indent$}{carets}", "")]
    }
}

/// The lines of a text without their ends, which are LF, CR or both.
pub fn lines(source: &str) -> impl Iterator<Item = &str> {
    source
        .split('\n')
        .map(|line| line.strip_suffix('\r').unwrap_or(line))
        .flat_map(|line| line.split('\r'))
}

/// A position in a text that moves forward only, so that many positions cost one reading.
///
/// Lines end with LF, CR or both.
#[derive(Debug, Default)]
pub struct Cursor {
    at: usize,
    /// The offset at which the line begins.
    start: usize,
    line: usize,
    column: usize,
}

impl Cursor {
    /// Line and column, in characters, of the byte `at` of `source`; both from 1.
    ///
    /// `source` must be the same text in every call. A position before that of the last call gives
    /// the place of the last call; one that is behind the end or within a character is not moved to.
    pub fn place(&mut self, source: &str, at: usize) -> (usize, usize) {
        self.advance(source, at);
        (self.line + 1, self.column + 1)
    }

    /// The text of the line that the cursor is in, without its end.
    pub fn line<'a>(&self, source: &'a str) -> &'a str {
        source
            .get(self.start..)
            .unwrap_or("")
            .split(['\r', '\n'])
            .next()
            .unwrap_or("")
    }

    fn advance(&mut self, source: &str, to: usize) {
        let passed = source.get(self.at..to).unwrap_or("");
        for (at, c) in passed.char_indices() {
            // A CR ends a line, unless an LF follows that will.
            let before_lf = source.as_bytes().get(self.at + at + 1) == Some(&b'\n');
            if c == '\n' || (c == '\r' && !before_lf) {
                self.line += 1;
                self.column = 0;
                self.start = self.at + at + 1;
            } else {
                self.column += 1;
            }
        }
        self.at = self.at.max(to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn excerpt(line: &str, column: usize, length: usize) -> String {
        Excerpt::new(line, column, length).lines().join("\n")
    }

    #[test]
    fn excerpts_mark_what_is_meant() {
        assert_eq!(excerpt("a\tb = 'c';", 3, 1), "a b = 'c';\n  ^");
        assert_eq!(
            excerpt("\u{1b}[2J\u{202e}x", 6, 1),
            "\u{fffd}[2J\u{fffd}x\n     ^"
        );
        assert_eq!(excerpt("", 1, 0), "\n^");
    }

    #[test]
    fn long_lines_are_cut_around_what_is_meant() {
        let line = format!("{}XYZ{}", "a".repeat(1000), "b".repeat(1000));
        let [text, carets] = Excerpt::new(&line, 1001, 3).lines();
        assert_eq!(text.chars().count(), 120);
        assert_eq!(text.find("XYZ"), carets.find("^^^"));
        let [_, carets] = Excerpt::new(&line, 1001, 5000).lines();
        assert_eq!(carets.len(), 120);
    }

    #[test]
    fn shows_place_code_and_message_and_more_if_asked() {
        let finding = Finding::new(Code::BadPath, 12, "a\u{1b}path")
            .in_file("urldb/a\n.yaml")
            .at_column(3)
            .with_help("write\r/a")
            .with_excerpt("_path: x", 2);
        assert_eq!(
            finding.to_string(),
            "urldb/a\u{fffd}.yaml:12:3: bad-path: a\u{fffd}path"
        );
        assert_eq!(
            format!("{finding:#}"),
            "urldb/a\u{fffd}.yaml:12:3: bad-path: a\u{fffd}path\n  help: write\u{fffd}/a\n  _path: x\n    ^^"
        );
        assert!(finding.is_error());
    }

    #[test]
    fn counts_lines_and_characters() {
        let source = "é=1\r\nb\rc\n";
        let mut cursor = Cursor::default();
        assert_eq!(cursor.place(source, 0), (1, 1));
        assert_eq!(cursor.place(source, 2), (1, 2));
        assert_eq!(cursor.place(source, 6), (2, 1));
        assert_eq!(cursor.place(source, 8), (3, 1));
        assert_eq!(cursor.line(source), "c");
        assert_eq!(cursor.place(source, source.len()), (4, 1));
        assert_eq!(cursor.line(source), "");
        assert_eq!(lines(source).collect::<Vec<_>>(), ["é=1", "b", "c", ""]);
    }
}
