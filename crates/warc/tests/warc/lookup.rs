//! Finding lines in an index, knowing which files it has, and the requests that go into keys.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use proptest::prelude::*;
use urldb_warc::cdxj::{CdxjRequest, SortKeys};
use urldb_warc::draft::{Exchange, OriginalCapture};
use urldb_warc::http::{StoredRequest, render_request_head};
use urldb_warc::index::{
    CdxjIndex, INDEX_DIRECTORY, IndexError, IndexUpdate, index_lines_of, merge_into_index,
    unindexed_files,
};
use urldb_warc::{CdxjLine, Compression, RecordDraft, RecordId, Writer};

use crate::common::{
    URL, date, drafts, fields, id, index_files, index_text, line, original, write_index,
};

fn key(url: &str) -> String {
    url.to_owned()
}

fn found(path: &Path, key: &str) -> Vec<CdxjLine> {
    let mut index = CdxjIndex::open(&path).expect("an index");
    let found = index.captures(key).expect("looked up");
    found.collect::<Result<_, _>>().expect("good lines")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn lookups_find_what_a_full_read_finds(
        lines in prop::collection::vec(("[ab!~]{1,3}", 0..5u64, "[a-z]{0,300}"), 0..60),
        keys in prop::collection::vec("[ab!~]{1,3}", 5),
        chunk in 1..80usize,
    ) {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path();
        let lines: Vec<_> = lines.into_iter().map(|(key, n, url)| CdxjLine { url, ..line(&key, n) }).collect();
        // In one segment, or in several.
        fs::create_dir(path.join(INDEX_DIRECTORY)).expect("made");
        for lines in lines.chunks(chunk) {
            merge_into_index(path, lines).expect("merged");
        }
        for key in keys.iter().chain(lines.iter().map(|line| &line.key)) {
            let expected: BTreeSet<String> = lines.iter().filter(|line| line.key == *key)
                .map(|line| line.render().expect("valid")).collect();
            let found: Vec<String> = found(path, key).iter().map(|line| line.render().expect("valid")).collect();
            prop_assert_eq!(found, Vec::from_iter(expected));
        }
    }
}

#[test]
fn all_of_a_host_is_found() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path();
    let keys = [
        "org,example)/",
        "org,example)/a",
        "org,example,www)/",
        "org,examples)/",
    ];
    let lines: Vec<_> = (0..).zip(keys).map(|(n, key)| line(key, n)).collect();
    merge_into_index(path, &lines).expect("merged");
    let mut index = CdxjIndex::open(&path).expect("an index");
    let mut keys_of = |prefix| -> Vec<String> {
        let found = index.lines_with_prefix(prefix).expect("looked up");
        found.map(|line| line.expect("good").key).collect()
    };
    assert_eq!(
        keys_of("org,example)/"),
        ["org,example)/", "org,example)/a"]
    );
    assert_eq!(
        keys_of("org,example"),
        [
            "org,example)/",
            "org,example)/a",
            "org,example,www)/",
            "org,examples)/"
        ]
    );
    assert!(keys_of("org,examplf").is_empty());
    assert!(keys_of("").len() == 4);
}

#[test]
fn a_bad_line_is_an_error_when_it_is_come_upon() {
    let dir = tempfile::tempdir().expect("a directory");
    write_index(dir.path(), "a)/ 20261120060000 {}\n");
    let mut index = CdxjIndex::open(&dir.path()).expect("an index");
    let lines: Vec<_> = index.captures("a)/").expect("looked up").collect();
    assert!(matches!(lines[..], [Err(IndexError::Line(_))]));
    assert!(matches!(
        CdxjIndex::open(&dir.path().join("none").as_path()),
        Err(IndexError::Io(_))
    ));
}

#[test]
fn which_files_are_indexed_is_known_without_reading_the_lines() {
    let dir = tempfile::tempdir().expect("a directory");
    for name in ["a.warc.gz", "b.warc.gz"] {
        fs::write(dir.path().join(name), "").expect("written");
    }
    merge_into_index(dir.path(), &[line("a", 1)]).expect("merged");
    let only_b = [dir.path().join("b.warc.gz")];
    assert_eq!(unindexed_files(dir.path()).expect("read"), only_b);

    // Other bytes of the same length: only a lookup notices.
    let data = dir
        .path()
        .join(INDEX_DIRECTORY)
        .join(&index_files(dir.path())[0]);
    let before = fs::read(&data).expect("there");
    fs::write(&data, vec![b'x'; before.len()]).expect("written");
    assert_eq!(unindexed_files(dir.path()).expect("read"), only_b);
    let mut index = CdxjIndex::open(&dir.path()).expect("an index");
    let damaged = index.captures("a").err().expect("damaged");
    assert!(damaged.is_damaged_index(), "{damaged}");

    // A segment of another length does not count.
    fs::write(&data, &before[..before.len() - 1]).expect("written");
    assert_eq!(unindexed_files(dir.path()).expect("read").len(), 2);
}

fn write(dir: &Path, name: &str, records: &[(RecordDraft, &[u8])]) {
    let mut writer = Writer::new(Vec::new(), Compression::Gzip);
    for (draft, body) in records {
        writer
            .write_draft(draft, *body, body.len() as u64)
            .expect("written");
    }
    fs::write(dir.join(name), writer.get_ref()).expect("written");
}

/// A file in which there is nothing to index is read once, and not by every run.
#[test]
fn a_file_without_captures_is_listed_too() {
    let dir = tempfile::tempdir().expect("a directory");
    write(dir.path(), "a.warc.gz", &drafts()[..1]);
    write(dir.path(), "b.warc.gz", &drafts());
    let mut update = IndexUpdate::new(dir.path());
    for file in unindexed_files(dir.path()).expect("read") {
        update.add_file(&file, &key).expect("good");
    }
    update.finish().expect("merged");
    assert!(unindexed_files(dir.path()).expect("read").is_empty());
    let text = index_text(dir.path());
    assert_eq!(text.lines().count(), 2);
    assert!(text.lines().all(|line| line.contains("\"b.warc.gz\"")));
}

#[test]
fn what_can_be_read_of_a_damaged_file_is_indexed() {
    let dir = tempfile::tempdir().expect("a directory");
    write(dir.path(), "a.warc.gz", &drafts());
    let path = dir.path().join("a.warc.gz");
    let mut bytes = fs::read(&path).expect("there");
    bytes.pop();
    fs::write(&path, bytes).expect("written");
    let mut update = IndexUpdate::new(dir.path());
    update.add_file(&path, &key).expect_err("damaged");
    update.finish().expect("merged");
    assert_eq!(found(dir.path(), URL).len(), 1);
}

/// Several processes write files of their own; in what order ever they index them, nothing is lost.
#[test]
fn files_indexed_at_once_are_all_there() {
    let dir = tempfile::tempdir().expect("a directory");
    std::thread::scope(|scope| {
        for n in 0..6 {
            let dir = dir.path();
            scope.spawn(move || {
                let name = format!("{n}.warc.gz");
                write(dir, &name, &drafts());
                let mut update = IndexUpdate::new(dir);
                update.add_file(&dir.join(name), &key).expect("good");
                update.finish().expect("merged");
            });
        }
    });
    assert_eq!(found(dir.path(), URL).len(), 12);
    assert!(unindexed_files(dir.path()).expect("read").is_empty());
}

/// Keys with the method and the body in them, in a form of this test's own.
struct WithRequests;

impl SortKeys for WithRequests {
    fn key(&self, url: &str) -> String {
        url.to_owned()
    }

    fn key_of_request(&self, url: &str, request: &StoredRequest) -> Option<(String, String)> {
        let body = String::from_utf8_lossy(&request.body).into_owned();
        let key = format!("{url}?{}&{}&{body}", request.method, request.content_type);
        Some((key, body))
    }
}

fn exchange(when: &urldb_warc::WarcDate) -> Exchange<'_> {
    Exchange {
        target_uri: URL,
        date: when,
        ip_address: None,
        protocols: &[],
    }
}

fn asked(method: &str, request: u8, answer: &RecordId) -> RecordDraft {
    let sent = fields(&[("content-type", "text/plain")]);
    let head = render_request_head(method, "/", &sent).expect("a head");
    let when = date("2026-11-20T06:00:00Z");
    exchange(&when)
        .request(&id(request), answer, head)
        .expect("valid")
}

/// Before the answer or after it, and of a revisit too.
#[test]
fn a_request_goes_into_the_key_of_its_answer() {
    let when = date("2026-11-20T06:00:00Z");
    let answer = |n| {
        exchange(&when)
            .response(
                &id(n),
                b"HTTP/1.1 200 OK\r\n\r\n".to_vec(),
                &original().payload_digest,
                None,
            )
            .expect("valid")
    };
    let mut linked_back = answer(3);
    linked_back
        .header
        .push("WARC-Concurrent-To", id(13).bracketed())
        .expect("valid");
    let of_other = asked("PUT", 13, &id(99));
    let revisit = exchange(&when)
        .revisit_identical(&id(4), &OriginalCapture { ..original() }, Vec::new())
        .expect("valid");
    let none: &[u8] = b"";
    let dir = tempfile::tempdir().expect("a directory");
    let records = [
        (asked("POST", 11, &id(1)), &b"a"[..]),
        (answer(1), none),
        (answer(2), none),
        (linked_back, none),
        (asked("GET", 12, &id(2)), none),
        (of_other, b"b"),
        (revisit, none),
        (asked("DELETE", 14, &id(4)), b"c"),
    ];
    write(dir.path(), "a.warc.gz", &records);
    let lines = index_lines_of(&dir.path().join("a.warc.gz"), &WithRequests).expect("good");
    let keys: Vec<_> = lines
        .iter()
        .map(|line| line.key.strip_prefix(URL).expect("the URL"))
        .collect();
    assert_eq!(
        keys,
        [
            "?POST&text/plain&a",
            "",
            "?PUT&text/plain&b",
            "?DELETE&text/plain&c"
        ]
    );
    let post = CdxjRequest {
        method: "POST".to_owned(),
        body: "a".to_owned(),
    };
    assert_eq!(lines[0].request, Some(post));
    assert!(
        lines[0]
            .render()
            .expect("valid")
            .ends_with(r#""filename": "a.warc.gz", "requestBody": "a", "method": "POST"}"#)
    );
    assert_eq!(lines[1].request, None);
}

/// Others may compress a file as a whole: of its records only the first has an offset.
#[test]
fn records_without_a_place_of_their_own_have_no_line() {
    use std::io::Write;
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("a.warc.gz");
    let mut writer = Writer::new(Vec::new(), Compression::None);
    for (draft, body) in &drafts()[2..] {
        writer
            .write_draft(draft, *body, body.len() as u64)
            .expect("written");
    }
    let file = fs::File::create(&path).expect("created");
    let mut encoder = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    encoder.write_all(writer.get_ref()).expect("written");
    encoder.finish().expect("written");
    let lines = index_lines_of(&path, &key).expect("good");
    let mimes: Vec<_> = lines.iter().map(|line| line.mime.as_str()).collect();
    assert_eq!(mimes, ["text/csv"]);
}

/// SHA-1 of the content, as other programs give it where a record states no digest; chunks are none.
#[test]
fn a_payload_without_a_digest_is_digested() {
    let block = |head: &str, body: &str| format!("HTTP/1.1 200 OK\r\n{head}\r\n{body}");
    let blocks = [
        block("", "hello"),
        block(
            "Transfer-Encoding: chunked\r\n",
            "2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
        ),
    ];
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("a.warc");
    let record = |block: &String| {
        let length = block.len();
        format!(
            "WARC/1.0\r\nWARC-Type: response\r\nWARC-Date: 2026-11-20T06:00:00Z\r\n\
            WARC-Target-URI: {URL}\r\nContent-Length: {length}\r\n\r\n{block}\r\n\r\n"
        )
    };
    let text = blocks.each_ref().map(record).concat();
    fs::write(&path, text).expect("written");
    let lines = index_lines_of(&path, &key).expect("good");
    assert_eq!(lines.len(), 2);
    for line in lines {
        assert_eq!(line.digest, "sha1:VL2MMHO4YXUKFWV63YHTWSBM3GXKSQ2N");
    }
}
