//! The codes of findings about archives. A code never changes its meaning.

use std::fmt;

pub use urldb_text::Severity;

macro_rules! codes {
    ($($variant:ident $severity:ident $name:literal $meaning:literal)*) => {
        /// The kind of a finding.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum FindingCode {
            $(#[doc = $meaning] $variant,)*
        }

        impl FindingCode {
            /// All codes, in the order of docs/warc-verify.md.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The code as text: lower case, words joined by hyphens.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The meaning, as a sentence without its full stop.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)* }
            }

            /// The severity.
            pub fn severity(self) -> Severity {
                match self { $(Self::$variant => Severity::$severity,)* }
            }
        }
    };
}

codes! {
    // The file and its records.
    EmptyFile Error "empty-file" "there is no record in the file"
    NotAnArchive Error "not-an-archive" "the file is neither WARC nor ARC"
    Unreadable Error "unreadable" "the file cannot be read"
    FileKind Error "file-kind" "the file is of a kind that is not read, so its records are not verified"
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
    // What a record says.
    TypeUnknown Warning "type-unknown" "the type of the record is none that is known"
    FieldMissing Error "field-missing" "a field that the record must have is not there"
    FieldInvalid Error "field-invalid" "a field does not have the form that it must have"
    FieldRepeated Error "field-repeated" "a field that may be there once is there more often"
    Date Error "date" "the date is none"
    IdRepeated Error "id-repeated" "another record has the same id"
    // Whether its content is what it says.
    DigestUnknown Warning "digest-unknown" "the digest is of a kind that is not known, and was not checked"
    BlockDigest Error "block-digest" "the block does not have the digest that the record says"
    PayloadDigest Error "payload-digest" "the payload does not have the digest that the record says"
    PayloadDigestRaw Warning "payload-digest-raw" "the payload has the digest that the record says only with its chunks, which do not belong to it"
    HttpHead Warning "http-head" "the block should begin with an HTTP head, and does not"
    HttpLength Warning "http-length" "the HTTP head has a Content-Length that is not that of the body"
    HttpFraming Warning "http-framing" "the HTTP head says that the body comes in chunks, and it does not, or not to its end"
    // What belongs together.
    RevisitUnresolved Error "revisit-unresolved" "the revisit refers to a capture that is not there"
    RevisitDigest Error "revisit-digest" "the capture that the revisit refers to has another digest"
    RevisitOfRevisit Error "revisit-of-revisit" "the revisit refers to a revisit, where replay does not look"
    RevisitEmptyDigest Error "revisit-empty-digest" "the revisit has the digest of no bytes at all, not that of the capture it stands for"
    RevisitProfile Warning "revisit-profile" "the profile of the revisit is none that is known"
    SegmentMissing Error "segment-missing" "a segment of the record is missing, or is there twice"
    SegmentLength Error "segment-length" "the segments are not as long as the last one says"
    SegmentUnchecked Warning "segment-unchecked" "the payload digest of the record was not checked, for segments of it share a gzip member"
    // The index.
    IndexUnreadable Error "index-unreadable" "the index cannot be read to its end"
    IndexLine Error "index-line" "a line of the index cannot be read"
    IndexOrder Error "index-order" "a line of the index comes before the one it should follow"
    IndexRepeated Warning "index-repeated" "a record has more than one line in the index"
    IndexMissing Error "index-missing" "a record has no line in the index"
    IndexStale Error "index-stale" "a line of the index names a place where no such record begins"
    IndexDiffers Error "index-differs" "a line of the index says something else than its record"
    IndexKey Error "index-key" "a line of the index has another key than its record, so that no lookup finds it"
}

impl fmt::Display for FindingCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
