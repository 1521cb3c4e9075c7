//! Diagnostics: mistakes in a script, with their positions.

use std::fmt;
use std::ops::Range;

/// The severity of a diagnostic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// A mistake: the script is not used.
    Error,
    /// The script works, but perhaps not as intended.
    Warning,
}

impl Severity {
    /// `error` or `warning`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Declares [`Code`] with names, severities and descriptions in one place.
macro_rules! codes {
    ($($variant:ident $severity:ident $name:literal $description:literal,)*) => {
        /// The stable code of a diagnostic.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $(#[doc = $description] $variant,)*
        }

        impl Code {
            /// Every code, in alphabetical order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The code in kebab case, as users see it.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The meaning of the code, in one line.
            pub fn description(self) -> &'static str {
                match self { $(Self::$variant => $description,)* }
            }

            /// The severity, which is the same for all diagnostics of a code.
            pub fn severity(self) -> Severity {
                match self { $(Self::$variant => Severity::$severity,)* }
            }
        }
    };
}

codes! {
    RuleAnchor Warning "rule-anchor" "an anchor or word boundary in a pattern, which is anchored anyway",
    RuleControlCharacter Warning "rule-control-character" "a control character in a pattern, such as the backspace that `\\b` is in a string",
    RuleDuplicate Error "rule-duplicate" "a rule, variable or setting that is there twice",
    RuleEmpty Error "rule-empty" "a script without rules, or a rule or namespace with nothing in it",
    RuleEscape Error "rule-escape" "an escape in a string that stands for no character",
    RuleNamespace Error "rule-namespace" "a namespace that does not exist",
    RuleOfficial Error "rule-official" "two official positions for one name",
    RulePattern Error "rule-pattern" "a pattern that is not a regular expression, is too large, or captures more than once",
    RulePort Error "rule-port" "a port that is not a number from 1 to 65535",
    RuleProtocol Error "rule-protocol" "a protocol other than HTTP, HTTPS, HTTP|HTTPS and any",
    RuleReplacement Error "rule-replacement" "a replacement that cannot stand in a host or path",
    RuleReplacementUnmatched Warning "rule-replacement-unmatched" "a replacement that its own pattern does not match",
    RuleRequiredDefault Error "rule-required-default" "a default for a flag that is required",
    RuleRequiredFlag Warning "rule-required-flag" "a required flag, without which the page is not admitted",
    RuleSemicolon Warning "rule-semicolon" "a semicolon missing after the closing brace of a rule",
    RuleSeparator Warning "rule-separator" "a pattern that does not end in a separator",
    RuleSyntax Error "rule-syntax" "text that is not in the language of site rules",
    RuleTooLarge Error "rule-too-large" "a script over 64 KiB, more than 64 rules, or more than 32 variables in a rule",
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A mistake in a script; displayed as `LINE:COLUMN: CODE: MESSAGE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The kind of mistake.
    pub code: Code,
    /// Line, from 1.
    pub line: usize,
    /// Column, in characters from 1.
    pub column: usize,
    /// The number of affected characters, at least 1; all are on that line.
    pub length: usize,
    /// The mistake and its correction: lower case, no trailing dot.
    pub message: String,
}

impl Diagnostic {
    /// The severity of the code.
    pub fn severity(&self) -> Severity {
        self.code.severity()
    }

    /// The affected line of `source`, and a line with carets under the affected characters. A long
    /// line is cut; a character that is not printable is shown as U+FFFD.
    pub fn excerpt(&self, source: &str) -> String {
        let line = lines(source).nth(self.line - 1).unwrap_or("");
        let cut = self.column.saturating_sub(EXCERPT_BEFORE + 1);
        let shown: String = line.chars().skip(cut).take(EXCERPT).map(harmless).collect();
        let indent = self.column - 1 - cut;
        let carets = "^".repeat(self.length.clamp(1, EXCERPT - indent));
        format!("{shown}\n{:indent$}{carets}", "")
    }
}

/// The most characters in an excerpt, and the most of them before the affected ones.
const EXCERPT: usize = 120;
const EXCERPT_BEFORE: usize = 60;

fn harmless(c: char) -> char {
    match c {
        '\t' => ' ',
        c if c.is_control() => '\u{fffd}',
        c => c,
    }
}

/// The lines of `source`, without their ends: LF, CR or both.
fn lines(source: &str) -> impl Iterator<Item = &str> {
    source
        .split('\n')
        .map(|line| line.strip_suffix('\r').unwrap_or(line))
        .flat_map(|line| line.split('\r'))
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            code,
            line,
            column,
            message,
            ..
        } = self;
        write!(f, "{line}:{column}: {code}: {message}")
    }
}

/// Collects mistakes by their byte ranges.
#[derive(Debug, Default)]
pub(crate) struct Report {
    found: Vec<(Range<usize>, Code, String)>,
    /// The number of errors among them.
    pub(crate) errors: usize,
}

impl Report {
    pub(crate) fn add(&mut self, code: Code, span: Range<usize>, message: impl Into<String>) {
        self.errors += usize::from(code.severity() == Severity::Error);
        self.found.push((span, code, message.into()));
    }

    /// The diagnostics in the order of `source`, with lines and columns.
    pub(crate) fn finish(mut self, source: &str) -> Vec<Diagnostic> {
        self.found.sort_by_key(|(span, ..)| span.start);
        let mut cursor = Cursor::default();
        let diagnostic = |(span, code, message): (Range<usize>, Code, String)| {
            let (line, column) = cursor.place(source, span.start);
            let meant = source.get(span).unwrap_or("");
            let on_line = meant.split(['\r', '\n']).next().unwrap_or("");
            Diagnostic {
                code,
                line,
                column,
                length: on_line.chars().count().max(1),
                message,
            }
        };
        self.found.into_iter().map(diagnostic).collect()
    }
}

/// A position in a text that only moves forward, so that many positions need only one pass.
#[derive(Debug, Default)]
pub(crate) struct Cursor {
    at: usize,
    line: usize,
    column: usize,
}

impl Cursor {
    /// Line and column of the byte `at`, from 1.
    pub(crate) fn place(&mut self, source: &str, at: usize) -> (usize, usize) {
        self.advance(source, at);
        (self.line + 1, self.column + 1)
    }

    /// Moves to the byte `to`.
    fn advance(&mut self, source: &str, to: usize) {
        let passed = source.get(self.at..to).unwrap_or("");
        for (at, c) in passed.char_indices() {
            // A CR ends a line, unless an LF follows that will.
            let before_lf = source.as_bytes().get(self.at + at + 1) == Some(&b'\n');
            if c == '\n' || (c == '\r' && !before_lf) {
                self.line += 1;
                self.column = 0;
            } else {
                self.column += 1;
            }
        }
        self.at = self.at.max(to);
    }
}
