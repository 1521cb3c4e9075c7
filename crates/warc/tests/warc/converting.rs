//! From one version to another and back: what the formats share stays.

use std::path::PathBuf;

use proptest::prelude::*;
use urldb_warc::convert::{ConvertError, convert};
use urldb_warc::draft::{IDENTICAL_PAYLOAD_PROFILE, NOT_MODIFIED_PROFILE};
use urldb_warc::{Compression, Header, Reader, RecordType, Version, Writer};

use crate::common::{drafts, id, read_all};

fn converted(bytes: &[u8], to: Version) -> Vec<u8> {
    let mut reader = Reader::new(bytes).expect("readable");
    let mut writer = Writer::new(Vec::new(), Compression::None).with_version(to);
    convert(&mut reader, &mut writer).expect("converted");
    writer.get_ref().clone()
}

/// Fields in order of their names, and blocks. Where a field stands means nothing.
type Records = Vec<(Vec<(String, String)>, Vec<u8>)>;

fn records(bytes: &[u8]) -> Records {
    let (records, fault) = read_all(bytes);
    assert!(fault.is_none(), "{fault:?}");
    let sorted = records.into_iter().map(|(header, block)| {
        let mut fields: Vec<_> = header
            .iter()
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect();
        fields.sort();
        (fields, block)
    });
    sorted.collect()
}

/// What WARC/1.0 does not know is gone.
fn without_fractions(mut records: Records) -> Records {
    let dates = records
        .iter_mut()
        .flat_map(|(fields, _)| fields)
        .filter(|(name, _)| ["warc-date", "warc-refers-to-date"].contains(&name.as_str()));
    for (_, value) in dates {
        if let Some((seconds, _)) = value.split_once('.') {
            *value = format!("{seconds}Z");
        }
    }
    records
}

#[test]
fn a_small_archive_comes_back_from_each_version() {
    let mut writer = Writer::new(Vec::new(), Compression::None);
    for (draft, body) in drafts() {
        writer
            .write_draft(&draft, body, body.len() as u64)
            .expect("written");
    }
    let original = writer.get_ref();
    let by_0_9 = converted(&converted(original, Version::Warc09), Version::Warc11);
    assert_eq!(records(&by_0_9), records(original));
    let by_1_0 = converted(&converted(original, Version::Warc10), Version::Warc11);
    assert_eq!(records(&by_1_0), without_fractions(records(original)));
}

/// The examples of the draft's Appendix B, with their lines put together and their lengths right.
const EXAMPLES: [(&str, &[&str], &str); 8] = [
    (
        "warcinfo filedesc:test-20050708010101-00001-crawl017.archive.org.warc.gz 20050708010101 text/xml uuid:cbad35b7-e591-4b43-8a67-9d1d8f9ef4cd",
        &[],
        "<warcmetadata/>",
    ),
    (
        "request http://www.archive.org/images/logo.jpg 20050708010101   message/http uuid:f569983a-ef8c-4e62-b347-295b227c3e51",
        &["IP-Address: 207.241.224.241"],
        "GET /images/logo.jpg HTTP/1.0\r\nHost: www.archive.org\r\n\r\n",
    ),
    (
        "response http://www.archive.org/images/logo.jpg 20050708010101 message/http uuid:a4b26b6b-f918-4136-af04-f859d75aebe5",
        &[
            "IP-Address: 207.241.224.241",
            "Related-Record-ID: uuid:f569983a-ef8c-4e62-b347-295b227c3e51",
            "Checksum: sha1:2ZWC6JAT6KNXKD37F7MOEKXQMRY75YY4",
            "Segment-Number: 1",
        ],
        "HTTP/1.x 200 OK\r\nContent-Type: image/jpeg\r\n\r\njpeg",
    ),
    (
        "resource file://webserver/htdoc/images/logo.jpg 20050710010101 image/jpeg uuid:a6c3132b-49b8-4fd5-8072-45ce66d48a4b",
        &["Checksum: sha1:37F7MOEKXQMRY75YY42ZWC6JAT6KNXKD"],
        "jpeg",
    ),
    (
        "metadata http://www.archive.org/images/logo.jpg 20050708010101 text/xml uuid:a4acff63-c213-4f35-9652-41a0e2dfc492",
        &["Related-Record-ID: uuid:a4b26b6b-f918-4136-af04-f859d75aebe5"],
        "<via>http://www.archive.org</via>",
    ),
    (
        "revisit http://www.archive.org/images/logo.jpg 20050708010101 text/xml uuid:ad522b3b-d68c-464a-b5e2-38149cfb511d",
        &["Related-Record-ID: uuid:a4b26b6b-f918-4136-af04-f859d75aebe5"],
        "HTTP/1.x 304 Not Modified\r\n\r\n",
    ),
    (
        "conversion http://www.archive.org/images/logo.jpg 20150708010101 image/neoimg uuid:c631da8a-e8db-44a8-84c5-9cc848dff35a",
        &[
            "Related-Record-ID: uuid:a4b26b6b-f918-4136-af04-f859d75aebe5",
            "Checksum: sha1:XQMRY75YY42ZWC6JAT6KNXKD37F7MOEK",
        ],
        "neoimg",
    ),
    (
        "continuation http://www.archive.org/images/logo.jpg 20150708010101 message/http uuid:c0d36ada-af8c-4608-8409-e60818b1d9e9",
        &[
            "Segment-Number: 2",
            "Segment-Origin-ID: uuid:a4b26b6b-f918-4136-af04-f859d75aebe5",
            "End-Length: 4711",
        ],
        "more",
    ),
];

fn examples() -> String {
    let example = |(line, fields, block): &(&str, &[&str], &str)| {
        let fields: Vec<_> = fields
            .iter()
            .map(|field| [field, "\r\n"].concat())
            .collect();
        let head = [" ", line, "\r\n", &fields.concat(), "\r\n"].concat();
        let length = "warc/0.9 123".len() + head.len() + block.len();
        assert!((100..1000).contains(&length));
        format!("warc/0.9 {length}{head}{block}\r\n\r\n")
    };
    EXAMPLES.iter().map(example).collect()
}

#[test]
fn the_examples_of_the_draft_come_back() {
    let text = examples();
    let modern = converted(text.as_bytes(), Version::Warc11);
    let found = records(&modern);
    let field = |at: usize, name: &str| {
        let fields = &found[at].0;
        fields
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    };
    assert_eq!(
        field(0, "warc-filename"),
        Some("test-20050708010101-00001-crawl017.archive.org.warc.gz")
    );
    assert_eq!(field(0, "warc-target-uri"), None);
    assert_eq!(field(1, "warc-date"), Some("2005-07-08T01:01:01Z"));
    assert_eq!(
        field(1, "content-type"),
        Some("application/http;msgtype=request")
    );
    assert_eq!(
        field(2, "warc-concurrent-to"),
        Some("<uuid:f569983a-ef8c-4e62-b347-295b227c3e51>")
    );
    assert_eq!(
        field(2, "warc-block-digest"),
        Some("sha1:2ZWC6JAT6KNXKD37F7MOEKXQMRY75YY4")
    );
    assert_eq!(
        field(5, "warc-refers-to"),
        Some("<uuid:a4b26b6b-f918-4136-af04-f859d75aebe5>")
    );
    assert_eq!(field(7, "warc-segment-total-length"), Some("4711"));

    let mut reader = Reader::new(modern.as_slice()).expect("readable");
    let mut writer = Writer::new(Vec::new(), Compression::None).with_version(Version::Warc09);
    convert(&mut reader, &mut writer).expect("converted");
    // Nothing but the padding of the second is gone, which its length tells.
    let expected = text
        .replace("   message/http", " message/http")
        .replace("warc/0.9 220 request", "warc/0.9 218 request");
    assert_eq!(String::from_utf8_lossy(writer.get_ref()), expected);
}

/// Named as the formats name it, with ids and dates that all of them can say.
fn any_header() -> impl Strategy<Value = Header> {
    let kinds = [
        RecordType::Warcinfo,
        RecordType::Response,
        RecordType::Resource,
        RecordType::Request,
        RecordType::Metadata,
        RecordType::Revisit,
        RecordType::Conversion,
        RecordType::Continuation,
    ];
    let date = "20[0-9]{2}-0[1-9]-[12][0-8]T[01][0-9]:[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?Z";
    let uri = "https?://[a-z]{1,5}/[!-;=?-~]{0,9}|urn:[a-z]{1,9}|https?://a/[a-z ]{0,5}[a-z]";
    let content_type = "[a-z]{1,5}/[a-z+]{1,5}(; ?[a-z]{1,5}=[a-z]{1,5})?|application/http;msgtype=(request|response)|application/octet-stream";
    let other = "(WARC-(IP-Address|Block-Digest|Payload-Digest|Truncated|Filename|Profile|Segment-Number|Segment-Total-Length)|X-[a-z]{1,5})";
    let related = "WARC-(Concurrent-To|Refers-To|Segment-Origin-ID|Warcinfo-ID)";
    (
        (0..kinds.len(), any::<u8>(), date),
        (prop::option::of(uri), prop::option::of(content_type)),
        prop::collection::btree_map(
            other,
            "[!-;=?-~]{1,20}|http://netpreserve[.]org/warc/1[.]1/revisit/[a-z]{1,5}",
            0..4,
        ),
        prop::collection::vec((related, any::<u8>()), 0..3),
    )
        .prop_map(
            move |((kind, n, date), (uri, content_type), others, related)| {
                let mut header = Header::new(kinds[kind]);
                let mut push = |name: &str, value: &str| header.push(name, value).expect("valid");
                push("WARC-Record-ID", &id(n).bracketed());
                push("WARC-Date", &date);
                // Of `warcinfo` records no version has a URI.
                if let Some(uri) = uri.filter(|_| kind != 0) {
                    push("WARC-Target-URI", &uri);
                }
                if let Some(content_type) = content_type {
                    push("Content-Type", &content_type);
                }
                for (name, value) in others {
                    push(&name, &value);
                }
                for (name, n) in related {
                    push(&name, &id(n).bracketed());
                }
                header
            },
        )
}

/// A record that has bytes and says no type is one of unknown type, and a revisit has a profile.
fn with_type(header: &Header, block: &[u8]) -> Header {
    let mut header = header.clone();
    if header.record_type() == Some(RecordType::Revisit) && header.get("WARC-Profile").is_none() {
        let profile = match header.get("WARC-Payload-Digest") {
            Some(_) => IDENTICAL_PAYLOAD_PROFILE,
            None => NOT_MODIFIED_PROFILE,
        };
        header.push("WARC-Profile", profile).expect("valid");
    }
    let needs_one = !block.is_empty() && header.record_type() != Some(RecordType::Continuation);
    if needs_one && header.get("Content-Type").is_none() {
        header
            .push("Content-Type", "application/octet-stream")
            .expect("valid");
    }
    header
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn any_record_comes_back(header in any_header(), block in prop::collection::vec(any::<u8>(), 0..40)) {
        let header = with_type(&header, &block);
        // Without bytes, unknown is what no type is.
        prop_assume!(!block.is_empty() && header.record_type() != Some(RecordType::Continuation)
            || header.get("Content-Type") != Some("application/octet-stream"));
        let mut writer = Writer::new(Vec::new(), Compression::None);
        writer.write_record(&header, block.as_slice(), block.len() as u64).expect("written");
        let original = writer.get_ref();

        let old = converted(original, Version::Warc09);
        let back = converted(&old, Version::Warc11);
        prop_assert_eq!(records(&back), records(original));
        prop_assert_eq!(converted(&back, Version::Warc09), old);

        let older = converted(original, Version::Warc10);
        let back = converted(&older, Version::Warc11);
        prop_assert_eq!(records(&back), without_fractions(records(original)));
        prop_assert_eq!(converted(&back, Version::Warc10), older);
    }
}

#[test]
fn damage_is_told_from_a_failing_output() {
    let text = examples();
    let cut = &text.as_bytes()[..text.len() - 6];
    let mut reader = Reader::new(cut).expect("readable");
    let mut writer = Writer::new(Vec::new(), Compression::None);
    let error = convert(&mut reader, &mut writer).expect_err("clipped");
    assert!(matches!(error, ConvertError::Read(_)), "{error}");
    let mut reader = Reader::new(text.as_bytes()).expect("readable");
    let mut room = [0; 100];
    let mut writer = Writer::new(room.as_mut_slice(), Compression::None);
    let error = convert(&mut reader, &mut writer).expect_err("no room");
    assert!(
        matches!(error, ConvertError::Write { from: 0, .. }),
        "{error}"
    );
}

/// Whatever other programs wrote, as far as it can be read.
#[test]
fn archives_of_others_come_back() {
    let samples = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/warc-samples");
    if !samples.is_dir() {
        eprintln!("skipped: there is no {}", samples.display());
        return;
    }
    let mut tried = 0;
    for entry in std::fs::read_dir(samples).expect("a directory") {
        let path = entry.expect("an entry").path();
        let bytes = if path.is_file() {
            std::fs::read(&path).expect("there")
        } else {
            continue;
        };
        if read_all(&bytes).1.is_some() {
            continue;
        }
        let modern = converted(&bytes, Version::Warc11);
        for version in [Version::Warc10, Version::Warc09] {
            let back = converted(&converted(&modern, version), Version::Warc11);
            assert_eq!(records(&back), records(&modern), "{}", path.display());
        }
        tried += 1;
    }
    assert!(tried >= 15, "only {tried}");
}
