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
    EmptyFile Error "empty-file" "the file has no record"
    NotAnArchive Error "not-an-archive" "the file is neither WARC nor ARC"
    Unreadable Error "unreadable" "the file cannot be read"
    FileKind Error "file-kind" "the file is of a kind that is not read, so its records are not verified"
    CutOff Error "cut-off" "the file, or the gzip member of the record, ends within the record"
    GzipHeader Error "gzip-header" "a gzip member is expected here, and is missing or has a damaged header"
    GzipData Error "gzip-data" "the compressed bytes are damaged"
    ZstdData Error "zstd-data" "a zstd frame, or the dictionary of the file, is damaged"
    GzipChecksum Error "gzip-checksum" "the checksum or length at the end of the gzip member differs from that of its content"
    GzipTrailer Error "gzip-trailer" "the file ends before the checksum of the gzip member"
    Zeros Error "zeros" "zero bytes stand where a record should begin"
    NoRecord Error "no-record" "a record is expected here, and these bytes are none"
    HeaderTooLong Error "header-too-long" "the header of the record exceeds the limit of the reader"
    NoLength Error "no-length" "the record does not state its length"
    NotClosed Error "not-closed" "the record does not end where its length says"
    PassedOver Error "passed-over" "the reader skipped bytes to find the next record"
    // Deviations, in spite of which the record is read.
    GzipHeaderChecksum Error "gzip-header-checksum" "the checksum in the header of the gzip member is wrong"
    SkipLength Warning "skip-length" "the skip lengths in the header of the gzip member are wrong"
    EmptyMember Warning "empty-member" "one or more gzip members in a row are empty"
    SharedMember Warning "shared-member" "the record shares a gzip member with another record, so it has no offset of its own"
    SplitMember Warning "split-member" "the record is spread over several gzip members"
    LineEnds Warning "line-ends" "the record is not closed by exactly two line ends"
    UnknownVersion Warning "unknown-version" "the version is unknown; the record was read as WARC 1.1"
    HeaderLine Warning "header-line" "a line of the header is not a field; the reader ignores the line"
    BareLineFeed Warning "bare-line-feed" "lines of the header end with a line feed only"
    NotUtf8 Warning "header-not-utf8" "the header is not UTF-8"
    UriBrackets Warning "uri-brackets" "angle brackets enclose the target URI, which WARC 1.1 does not allow"
    UriSpace Warning "uri-space" "the target URI contains a blank"
    DateForm Warning "date-form" "the date has the form of another version"
    // The fields of a record.
    TypeUnknown Warning "type-unknown" "the type of the record is unknown"
    FieldMissing Error "field-missing" "a required field is missing"
    FieldInvalid Error "field-invalid" "a field has an invalid form"
    FieldRepeated Error "field-repeated" "a field that is allowed once is repeated"
    Date Error "date" "the value is not a date"
    IdRepeated Error "id-repeated" "another record has the same id"
    // The content of a record.
    DigestUnknown Warning "digest-unknown" "the algorithm of the digest is unknown, so the digest was not checked"
    BlockDigest Error "block-digest" "the digest of the block differs from the one that the record states"
    PayloadDigest Error "payload-digest" "the digest of the payload differs from the one that the record states"
    PayloadDigestRaw Warning "payload-digest-raw" "the stated payload digest covers the chunked body; the chunks do not belong to the payload"
    HttpHead Warning "http-head" "the block should begin with an HTTP head, and does not"
    HttpLength Warning "http-length" "the Content-Length of the HTTP head differs from the length of the body"
    HttpFraming Warning "http-framing" "the HTTP head announces chunks, and the body has none, or ends within them"
    // References between records.
    RevisitUnresolved Error "revisit-unresolved" "the revisit refers to a capture that is missing"
    RevisitElsewhere Warning "revisit-elsewhere" "the revisit refers to a capture that is missing; another capture of the URI has its content"
    RevisitDigest Error "revisit-digest" "the capture that the revisit refers to has another digest"
    RevisitUncompared Warning "revisit-uncompared" "the revisit and the capture that it refers to have no digests of one algorithm, so their digests cannot be compared"
    RevisitOfRevisit Error "revisit-of-revisit" "the revisit refers to another revisit, which replay does not follow"
    RevisitEmptyDigest Error "revisit-empty-digest" "the revisit has the digest of an empty payload instead of that of its capture"
    RevisitProfile Warning "revisit-profile" "the profile of the revisit is unknown"
    SegmentMissing Error "segment-missing" "a segment of the record is missing or repeated"
    SegmentLength Error "segment-length" "the length of all segments differs from the one that the last segment states"
    SegmentUnchecked Warning "segment-unchecked" "the payload digest of the record was not checked, because its segments share a gzip member"
    // The index.
    IndexUnreadable Error "index-unreadable" "the index cannot be read to its end"
    IndexLine Error "index-line" "a line of the index cannot be read"
    IndexRepeated Warning "index-repeated" "a record has more than one line in the index"
    IndexMissing Error "index-missing" "a record has no line in the index"
    IndexStale Error "index-stale" "a line of the index names an offset where no such record begins"
    IndexDiffers Error "index-differs" "a line of the index differs from its record"
    IndexKey Error "index-key" "a line of the index has the wrong key for its record, so no lookup finds the record"
    // The places of the archive.
    FileMissing Error "file-missing" "a place lacks a file that the archive has"
    FileDamaged Error "file-damaged" "a copy of the file has other bytes than the manifest says"
    FileLost Error "file-lost" "no good copy of the file is anywhere"
    FileNotStored Warning "file-not-stored" "the file is only on this machine"
    FileNeverStored Warning "file-never-stored" "captures of the ledger are in a file that no place ever had"
    ManifestMissing Error "manifest-missing" "a place of the archive has lost its manifest"
    ManifestDamaged Error "manifest-damaged" "the manifest of a place cannot be read"
    ManifestOlder Error "manifest-older" "the manifest of the first store is older than another one that is known"
    ObjectUnnamed Warning "object-unnamed" "a place has an archive file that no manifest names"
    ListIncomplete Error "list-incomplete" "a place does not list all its objects"
    PlaceAway Error "place-away" "a place of the archive does not answer"
}

impl fmt::Display for FindingCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
