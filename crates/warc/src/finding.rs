//! What can be wrong with an archive: a code for each, which never changes its meaning.

use std::fmt;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// Readable, and not as the standard or practice would have it.
    Warning,
    /// Something is lost, wrong, or cannot be trusted.
    Error,
}

impl Severity {
    /// `warning` or `error`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

macro_rules! codes {
    ($($variant:ident $severity:ident $name:literal $meaning:literal)*) => {
        /// What is wrong.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Code {
            $(#[doc = $meaning] $variant,)*
        }

        impl Code {
            /// All codes, in the order of docs/warc-verify.md.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The code as text: lower case, words joined by hyphens.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// What it means, as a sentence without its full stop.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)* }
            }

            /// How bad it is.
            pub fn severity(self) -> Severity {
                match self { $(Self::$variant => Severity::$severity,)* }
            }
        }
    };
}

codes! {
    // The file and its records.
    EmptyFile Error "empty-file" "the file is empty"
    NotAnArchive Error "not-an-archive" "the file is neither WARC nor ARC"
    Unreadable Error "unreadable" "the file cannot be read"
    CutOff Error "cut-off" "the file, or the gzip member of the record, ends within the record"
    GzipHeader Error "gzip-header" "where a gzip member should begin is none, or one whose header is damaged"
    GzipData Error "gzip-data" "the compressed bytes are damaged"
    GzipChecksum Error "gzip-checksum" "the checksum or length that closes the gzip member is not that of its content"
    GzipTrailer Error "gzip-trailer" "the file ends before the checksum that closes the gzip member"
    Zeros Error "zeros" "zero bytes stand where a record should begin"
    NoRecord Error "no-record" "what stands where a record should begin is none"
    HeaderTooLong Error "header-too-long" "the record's header is longer than any that is read"
    NoLength Error "no-length" "the record does not say how long it is"
    NotClosed Error "not-closed" "where the record should end is no end of a record"
    PassedOver Error "passed-over" "bytes were passed over to find the next record"
    // Read all the same.
    GzipHeaderChecksum Error "gzip-header-checksum" "the checksum in the header of the gzip member is wrong"
    SkipLength Warning "skip-length" "the skip lengths in the header of the gzip member are wrong"
    EmptyMember Warning "empty-member" "a gzip member has nothing in it"
    SharedMember Warning "shared-member" "the record shares a gzip member, so it has no place of its own"
    SplitMember Warning "split-member" "the record is spread over several gzip members"
    LineEnds Warning "line-ends" "the record is not closed by exactly two line ends"
    UnknownVersion Warning "unknown-version" "the version is none that is known, and was read as WARC 1.1"
    HeaderLine Warning "header-line" "a line of the header is no field, and was left out"
    BareLineFeed Warning "bare-line-feed" "lines of the header end with a line feed only"
    NotUtf8 Warning "header-not-utf8" "the header is not UTF-8"
    UriBrackets Warning "uri-brackets" "the target URI stands in angle brackets, which WARC 1.1 has not"
    UriSpace Warning "uri-space" "the target URI has a blank in it"
    DateForm Warning "date-form" "the date is written in the way of another version"
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
