//! The examples of the WARC 0.9 draft, Appendix B.
//!
//! With lengths that are true: the draft's are approximate, and the XML of its blocks is lost.

use urldb_warc::{Reader, RecordType, Version};

use crate::common::read_all;

/// Type, subject, date, content type, id, named parameters, block. `RESPONSE` and `IMAGE` are made.
const EXAMPLES: &str = "
warcinfo|filedesc:test-20050708010101-00001-crawl017.archive.org.warc.gz|20050708010101|text/xml|uuid:cbad35b7-e591-4b43-8a67-9d1d8f9ef4cd||<software>Heritrix 1.4.0</software>
request|http://www.archive.org/images/logo.jpg|20050708010101|message/http|uuid:f569983a-ef8c-4e62-b347-295b227c3e51|IP-Address: 207.241.224.241|GET /images/logo.jpg HTTP/1.0
response|http://www.archive.org/images/logo.jpg|20050708010101|message/http|uuid:a4b26b6b-f918-4136-af04-f859d75aebe5|IP-Address: 207.241.224.241;Related-Record-ID: uuid:f569983a-ef8c-4e62-b347-295b227c3e51;Checksum: sha1:2ZWC6JAT6KNXKD37F7MOEKXQMRY75YY4|RESPONSE
resource|file://webserver/htdoc/images/logo.jpg|20050710010101|image/jpeg|uuid:a6c3132b-49b8-4fd5-8072-45ce66d48a4b|Checksum: sha1:37F7MOEKXQMRY75YY42ZWC6JAT6KNXKD|IMAGE
metadata|http://www.archive.org/images/logo.jpg|20050708010101|text/xml|uuid:a4acff63-c213-4f35-9652-41a0e2dfc492|Related-Record-ID: uuid:a4b26b6b-f918-4136-af04-f859d75aebe5|<via>http://www.archive.org</via>
revisit|http://www.archive.org/images/logo.jpg|20050808010101|text/xml|uuid:ad522b3b-d68c-464a-b5e2-38149cfb511d|Related-Record-ID: uuid:a4b26b6b-f918-4136-af04-f859d75aebe5|HTTP/1.x 304 Not Modified
conversion|http://www.archive.org/images/logo.jpg|20150708010101|image/neoimg|uuid:c631da8a-e8db-44a8-84c5-9cc848dff35a|Related-Record-ID: uuid:a4b26b6b-f918-4136-af04-f859d75aebe5;Checksum: sha1:XQMRY75YY42ZWC6JAT6KNXKD37F7MOEK|IMAGE
continuation|http://www.archive.org/images/logo.jpg|20150708010101|message/http|uuid:c0d36ada-af8c-4608-8409-e60818b1d9e9|Segment-Number: 2;Segment-Origin-ID: uuid:a4b26b6b-f918-4136-af04-f859d75aebe5|IMAGE
";

const ORIGIN: &str = "<uuid:a4b26b6b-f918-4136-af04-f859d75aebe5>";

fn block(text: &str) -> Vec<u8> {
    let image = [0xd8; 6958];
    match text {
        "IMAGE" => image.to_vec(),
        "RESPONSE" => {
            let head =
                b"HTTP/1.x 200 OK\r\nContent-Length: 6958\r\nContent-Type: image/jpeg\r\n\r\n";
            [head.as_slice(), &image].concat()
        }
        other => other.as_bytes().to_vec(),
    }
}

/// The examples as a file. The padding between parameters varies, as it may.
fn examples() -> Vec<u8> {
    let mut file = Vec::new();
    for (n, line) in EXAMPLES.trim().lines().enumerate() {
        let parts: Vec<&str> = line.split('|').collect();
        let [kind, uri, date, content_type, id, named, text] = parts[..] else {
            panic!("seven parts: {line}");
        };
        let named: String = named
            .split_inclusive(';')
            .map(|it| it.replace(';', "\r\n"))
            .collect();
        let named = if named.is_empty() {
            named
        } else {
            named + "\r\n"
        };
        let blanks = " ".repeat(1 + n % 3);
        let rest =
            format!(" {kind}{blanks}{uri}\t{date} {content_type}{blanks}{id}\r\n{named}\r\n");
        let block = block(text);
        // The length counts itself, padded to seven characters.
        let length = "warc/0.9 ".len() + 7 + rest.len() + block.len();
        file.extend(format!("warc/0.9 {length:<7}{rest}").bytes());
        file.extend(block);
        file.extend(b"\r\n\r\n");
    }
    file
}

#[test]
fn the_examples_of_the_draft_are_read() {
    let (records, fault) = read_all(&examples());
    assert!(fault.is_none(), "{fault:?}");
    let kinds: Vec<_> = records
        .iter()
        .filter_map(|(header, _)| header.record_type())
        .map(RecordType::name)
        .collect();
    assert_eq!(
        kinds.join(" "),
        "warcinfo request response resource metadata revisit conversion continuation"
    );
    for ((header, content), line) in records.iter().zip(EXAMPLES.trim().lines()) {
        assert_eq!(header.content_length(), Some(content.len() as u64));
        assert_eq!(*content, block(line.rsplit('|').next().expect("a part")));
    }
}

#[test]
fn parameters_have_the_names_of_later_versions() {
    let (records, _) = read_all(&examples());
    let expected = [
        ("WARC-Type", "response"),
        ("WARC-Record-ID", ORIGIN),
        ("WARC-Date", "2005-07-08T01:01:01Z"),
        ("WARC-Target-URI", "http://www.archive.org/images/logo.jpg"),
        ("Content-Type", "message/http"),
        ("WARC-IP-Address", "207.241.224.241"),
        (
            "WARC-Concurrent-To",
            "<uuid:f569983a-ef8c-4e62-b347-295b227c3e51>",
        ),
        ("WARC-Block-Digest", "sha1:2ZWC6JAT6KNXKD37F7MOEKXQMRY75YY4"),
    ];
    assert_eq!(records[2].0.iter().take(8).collect::<Vec<_>>(), expected);
    assert_eq!(records[5].0.get("WARC-Refers-To"), Some(ORIGIN));
    assert_eq!(records[7].0.get("WARC-Segment-Origin-ID"), Some(ORIGIN));
    assert_eq!(records[7].0.get("WARC-Segment-Number"), Some("2"));
}

#[test]
fn nothing_about_the_examples_is_unusual() {
    let file = examples();
    let mut reader = Reader::new(file.as_slice()).expect("readable");
    while let Some(record) = reader.next_record().expect("good") {
        assert_eq!(record.version(), Version::Warc09);
        record.finish().expect("closed");
        assert!(reader.deviations().is_empty());
    }
}
