//! Findings: what is wrong with a user's data, as data.

use std::fmt;

pub use urldb_canon::rules::Severity;

/// Declares [`Code`] with its names and descriptions in one place.
macro_rules! codes {
    ($($variant:ident $name:literal $description:literal,)*) => {
        /// The stable code of a finding.
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

            /// One line that says what the code means.
            pub fn description(self) -> &'static str {
                match self { $(Self::$variant => $description,)* }
            }
        }
    };
}

codes! {
    AnchorOrTag "anchor-or-tag" "an anchor, alias or tag, which the format does not have",
    BadCname "bad-cname" "a cname that is not a valid host name, or repeats the file's own",
    BadContentLength "bad-content-length" "a `content-length` that is not a number of bytes",
    BadDigest "bad-digest" "a `content-sha256` that is not 64 lower-case hexadecimal digits",
    BadFileName "bad-file-name" "a file name that is not a host name in lower case plus `.yaml`",
    BadPath "bad-path" "a `_path` that no HTTP request could carry as it stands",
    BadStatus "bad-status" "a `status` that is not an HTTP status code",
    BadValue "bad-value" "a value of the wrong kind for its key",
    ByteOrderMark "byte-order-mark" "a byte order mark at the start of the file",
    ConflictMarker "conflict-marker" "a conflict marker left by a merge",
    DuplicateKey "duplicate-key" "a key that occurs twice in one mapping",
    DuplicateRecord "duplicate-record" "two records for the same request",
    InvalidUtf8 "invalid-utf8" "bytes that are not UTF-8",
    MissingMetadata "missing-metadata" "a file that does not start with a metadata document",
    MissingPath "missing-path" "a record without `_path`",
    NotAMapping "not-a-mapping" "a document that is not a mapping of keys to values",
    NotCanonical "not-canonical" "formatting that differs from the canonical form",
    PathNotCanonical "path-not-canonical" "a `_path` that `add` would spell in another way",
    SyntaxError "syntax-error" "text that is not YAML",
    UnknownKey "unknown-key" "a key that looks like a misspelling of a known one",
    UnsortedKeys "unsorted-keys" "keys that are not in sorted order",
    UnsortedList "unsorted-list" "a list that is not sorted, or repeats an item",
    UnsortedRecords "unsorted-records" "records that are not in the order of their paths",
}

impl Code {
    /// How bad a finding with this code is.
    pub fn severity(self) -> Severity {
        match self {
            Self::PathNotCanonical | Self::UnknownKey => Severity::Warning,
            _ => Severity::Error,
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Something wrong in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What it is.
    pub code: Code,
    /// How bad it is.
    pub severity: Severity,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// What is wrong, for people.
    pub message: String,
    /// What to do about it, when the message does not say.
    pub help: Option<String>,
}

impl Finding {
    /// A finding at the start of a line, with the severity of its code.
    pub fn new(code: Code, line: usize, message: impl Into<String>) -> Self {
        Self {
            code,
            severity: code.severity(),
            line,
            column: 1,
            message: message.into(),
            help: None,
        }
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
        self.help = Some(help.into());
        self
    }
}

impl fmt::Display for Finding {
    /// `12:1: error[bad-path]: message (help)`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            code,
            severity,
            line,
            column,
            message,
            help,
        } = self;
        write!(f, "{line}:{column}: {severity}[{code}]: {message}")?;
        match help {
            Some(help) => write!(f, " ({help})"),
            None => Ok(()),
        }
    }
}
