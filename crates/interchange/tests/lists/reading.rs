//! Files as other programs and people write them.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;

use data_encoding::HEXLOWER;
use flate2::Compression;
use flate2::write::GzEncoder;
use urldb_files::{Root, RootFile};
use urldb_format::{Algorithm, Metadata, Record, Value};
use urldb_interchange::budget::Budget;
use urldb_interchange::table::Columns;
use urldb_interchange::{
    DomainRecord, NoticeSeverity, ReadError, bag, conandata, input, jsonl, list, sums, table,
};

use crate::common::{Taken, digest};

#[test]
fn a_list_has_a_url_a_line() {
    let text = "\u{feff}http://a.test/1\r\n# a comment\n\n  https://B.test:443/2#part \nftp://a.test/\nhttp://u:p@a.test/\nhttp://a.test:443/";
    let taken = Taken::of(|sink| list::read(text.as_bytes(), &"urls".into(), sink));
    assert_eq!(taken.urls(), ["http://a.test/1", "https://b.test/2"]);
    assert_eq!(
        taken.refused(),
        ["urls:5 scheme", "urls:6 userinfo", "urls:7 port"]
    );
}

#[test]
fn a_line_of_a_list_has_nothing_beside_its_url() {
    for line in [
        "http://a.test/1 # a comment",
        "http://a.test/1\t# a comment",
        "http://a.test/1 #",
        "http://a.test/1 ; a comment",
        "http://a.test/1 http://a.test/2",
        "http://a.test/1\u{a0}x",
    ] {
        let text = format!("{line}\n  # http://a.test/3\nhttp://a.test/4#x\n");
        let taken = Taken::of(|sink| list::read(text.as_bytes(), &"urls".into(), sink));
        assert_eq!(taken.refused(), ["urls:1 bad-line"], "{line}");
        assert_eq!(taken.urls(), ["http://a.test/4"], "{line}");
    }
}

#[test]
fn lines_that_cannot_be_read_are_refused_and_passed_over() {
    let mut text = vec![b'x'; (1 << 20) + 1];
    text.extend(b"\n\xff\nhttp://a.test/\n");
    let taken = Taken::of(|sink| list::read(&text[..], &"urls".into(), sink));
    assert_eq!(taken.refused(), ["urls:1 bad-line", "urls:2 bad-line"]);
    assert_eq!(taken.urls(), ["http://a.test/"]);
}

fn rows(text: &str, names: &[(&str, &str)]) -> (Taken, Result<(), ReadError>) {
    let names: BTreeMap<_, _> = names
        .iter()
        .map(|(name, key)| ((*name).to_owned(), (*key).to_owned()))
        .collect();
    Taken::with_result(|sink| {
        table::read(
            text.as_bytes(),
            &"t.csv".into(),
            &Columns::named(names),
            sink,
        )
    })
}

#[test]
fn columns_are_known_by_their_names() {
    let text = format!(
        "Link,Size,SHA256,Owner,category,title\r\nhttp://a.test/,3,{},me,\"b; a\",\"A \"\"title\"\"\n\"\r\nnothing,x,,,,\r\nhttp://a.test/2,x,,,,\r\nhttp://a.test/3\r\n",
        digest('A')
    );
    let (taken, result) = rows(&text, &[("Link", "url")]);
    result.unwrap();
    assert_eq!(taken.urls(), ["http://a.test/", "http://a.test/3"]);
    let record = &taken.items[0].record;
    assert_eq!(
        (record.content_length, record.content_sha256.as_deref()),
        (Some(3), Some(digest('a').as_str()))
    );
    assert_eq!(record.categories, ["b", "a"]);
    assert_eq!(record.name.as_deref(), Some("A \"title\"\n"));
    assert_eq!(
        taken.codes(NoticeSeverity::LeftOut),
        ["t.csv:1 unknown-column"]
    );
    assert_eq!(taken.refused(), ["t.csv:4 bad-cell", "t.csv:5 bad-cell"]);
}

#[test]
fn a_table_without_urls_or_without_end_is_none() {
    assert!(matches!(
        rows("a,b\n1,2\n", &[]).1,
        Err(ReadError::Malformed { .. })
    ));
    let endless = format!("url\n\"{}", "x".repeat(17 << 20));
    let error = rows(&endless, &[]).1.unwrap_err();
    assert!(error.to_string().contains("more than 16 MiB"), "{error}");
    // Many rows are not one long one.
    let row = format!("http://a.test/{}\n", "a".repeat(4000));
    let (taken, result) = rows(&format!("url\n{}", row.repeat(4500)), &[]);
    result.unwrap();
    assert_eq!(taken.items.len(), 4500);
}

#[test]
fn a_blank_cell_is_no_value() {
    let (taken, result) = rows(
        "url,type,title,sha256,redirects to\nhttp://a.test/, ,\t,\" \", \n",
        &[],
    );
    result.unwrap();
    assert_eq!(taken.items[0].record, Record::new("/"));
    assert!(taken.items[0].spans.is_empty());
    // A value of blanks is kept all the same.
    let mut record = Record::new("/");
    record.name = Some(" ".to_owned());
    let metadata = Metadata::default();
    let mut text = vec![];
    let mut writer = table::Writer::new(&mut text).unwrap();
    let row = DomainRecord::new("a.test", &metadata, &record).unwrap();
    writer.write(&row).unwrap();
    writer.finish().unwrap();
    let (taken, _) = rows(&String::from_utf8(text).unwrap(), &[]);
    assert_eq!(taken.items[0].record, record);
}

#[test]
fn a_file_that_is_too_large_is_refused_with_the_limit() {
    let text = "#".repeat((256 << 10) + 1);
    let (_, result) =
        Taken::with_result(|sink| conandata::read(text.as_bytes(), &"c.yml".into(), sink));
    let error = result.unwrap_err().to_string();
    assert!(error.contains("more than 256 KiB"), "{error}");
}

#[test]
fn json_lines_are_objects_with_a_url() {
    let text = "{\"url\":\"http://a.test/\",\"record\":{\"status\":204,\"x\":1.50}}\n\n[]\n{\"record\":{}}\n{\"url\":\"http://a.test/\",\"record\":{\"name\":null}}\n{\"url\":\"http://a.test/\",\"domain\":\"../x\"}\n{\"url\":\"http://a.test/\",\"record\":{\"_path\":\".evil.test/\"}}\n";
    let taken = Taken::of(|sink| jsonl::read(text.as_bytes(), &"j".into(), sink));
    assert_eq!(taken.urls(), ["http://a.test/"]);
    assert_eq!(taken.items[0].record.status, Some(204));
    assert_eq!(
        taken.items[0].record.extra.get("x"),
        Some(&Value::Plain("1.5".to_owned()))
    );
    assert_eq!(
        taken.refused(),
        [
            "j:3 bad-line",
            "j:4 bad-line",
            "j:5 bad-line",
            "j:6 bad-line",
            "j:7 bad-path"
        ]
    );
    let deep = format!(
        "{{\"url\":\"http://a.test/\",\"record\":{{\"x\":{}{}}}}}",
        "[".repeat(100),
        "]".repeat(100)
    );
    let taken = Taken::of(|sink| jsonl::read(deep.as_bytes(), &"j".into(), sink));
    assert_eq!(taken.refused(), ["j:1 bad-line"]);
}

#[test]
fn held_uris_are_their_own_path_and_have_no_domain() {
    let text = "{\"url\":\"urn:isbn:1\"}\n\
        {\"url\":\"ftp://a.test/\",\"domain\":\"+uris\",\"record\":{\"_path\":\"ftp://a.test/\",\"name\":\"x\"}}\n\
        {\"url\":\"ftp://a.test/\",\"domain\":\"a.test\"}\n\
        {\"url\":\"ftp://a.test/\",\"record\":{\"_path\":\"ftp://b.test/\"}}\n\
        {\"url\":\"http://a.test/\",\"domain\":\"+uris\"}\n\
        {\"url\":\"http://a.test/\",\"record\":{\"_path\":\"urn:isbn:1\"}}\n\
        {\"url\":\"ftp://ada:secret@a.test/\"}\n{\"url\":\"localhost:8080\"}\n";
    let taken = Taken::of(|sink| jsonl::read(text.as_bytes(), &"j".into(), sink));
    let paths = taken.items.iter().map(|item| item.record.path.as_str());
    assert_eq!(paths.collect::<Vec<_>>(), ["urn:isbn:1", "ftp://a.test/"]);
    assert!(taken.items.iter().all(|item| item.host == "+uris"));
    assert_eq!(
        taken.refused(),
        [
            "j:3 bad-line",
            "j:4 bad-path",
            "j:5 bad-line",
            "j:6 bad-path",
            "j:7 scheme",
            "j:8 not-absolute"
        ]
    );
}

#[test]
fn digests_are_of_files_below_the_base() {
    let a = digest('a');
    let text = format!(
        "{a}  x y?.txt\n{a} *./d/100%.bin\nSHA256 (a (1).txt) = {a}\n\\{a}  line\\nbreak\\\\\n{a}  ../up\n{a}  /root\nabc  short\n{}  upper\n",
        digest('A')
    );
    let taken = Taken::of(|sink| {
        sums::read(
            text.as_bytes(),
            &"SHA256SUMS".into(),
            "https://a.test/d/",
            sink,
        )
    });
    assert_eq!(
        taken.urls(),
        [
            "https://a.test/d/x%20y%3F.txt",
            "https://a.test/d/d/100%25.bin",
            "https://a.test/d/a%20(1).txt",
            "https://a.test/d/line%0Abreak%5C",
            "https://a.test/d/upper",
        ]
    );
    assert!(
        taken
            .items
            .iter()
            .all(|item| item.record.content_sha256.as_deref() == Some(&a))
    );
    assert_eq!(
        taken.refused(),
        [
            "SHA256SUMS:5 bad-name",
            "SHA256SUMS:6 bad-name",
            "SHA256SUMS:7 bad-digest"
        ]
    );
}

fn sums_of(text: &str) -> Taken {
    let file = "SHA256SUMS".into();
    Taken::of(|sink| sums::read(text.as_bytes(), &file, "https://a.test/d/", sink))
}

#[test]
fn names_that_are_no_files_are_refused() {
    let a = digest('a');
    for line in [
        format!("{a}  -"),
        format!("{a} *-"),
        format!("{a} -"),
        format!("\\{a}  -"),
        format!("SHA256 (-) = {a}"),
        format!("SHA2-256(stdin)= {a}"),
        format!("SHA256(stdin)= {a}"),
        format!("(stdin)= {a}"),
    ] {
        let taken = sums_of(&format!("{line}\n"));
        assert_eq!(taken.refused(), ["SHA256SUMS:1 bad-name"], "{line}");
    }
    let taken = sums_of(&format!("{a}  ./-\nSHA256 (stdin) = {a}\n{a}  --\n- {a}\n"));
    assert_eq!(
        taken.urls(),
        [
            "https://a.test/d/-",
            "https://a.test/d/stdin",
            "https://a.test/d/--",
            "https://a.test/d/-"
        ]
    );
}

#[test]
fn names_that_end_with_nul_and_lines_of_an_old_macintosh_are_refused_with_advice() {
    let a = digest('a');
    for (text, advice) in [
        (format!("{a}  x\0{a}  y\0"), "sha256sum -z"),
        (format!("{a}  x\r{a}  y\r"), "save the file with LF"),
        (format!("{a}  x\r\r\n"), "save the file with LF"),
        (format!("{a}  x\u{b}y\n"), "control character"),
    ] {
        let taken = sums_of(&text);
        assert_eq!(taken.refused(), ["SHA256SUMS:1 bad-line"], "{text:?}");
        assert!(taken.notices[0].message.contains(advice), "{text:?}");
        assert!(taken.items.is_empty());
    }
}

#[test]
fn a_registry_of_pooch_may_have_comments_and_files_that_are_named_by_digits() {
    let a = digest('a');
    let md5 = "0123456789abcdef0123456789abcdef";
    for (line, name) in [
        (format!("{md5} {a}"), md5),
        (format!("{md5}\t{a}"), md5),
        (format!("{md5}   {a}"), md5),
        (format!("{md5} sha256:{a}"), md5),
        (format!("{md5} {a} https://b.test/x"), ""),
        (format!("{} {a}", digest('b')), &*digest('b')),
        // As coreutils writes it.
        (format!("{a}  {md5}"), md5),
        (format!("{a} *{md5}"), md5),
    ] {
        let taken = sums_of(&format!("  # comment {a}\n\t; x\n{line}\n"));
        assert_eq!(taken.refused(), [""; 0], "{line}");
        let url = match name {
            "" => "https://b.test/x".to_owned(),
            name => format!("https://a.test/d/{name}"),
        };
        assert_eq!(taken.urls(), [url], "{line}");
        assert_eq!(taken.items[0].record.content_sha256.as_ref(), Some(&a));
        assert!(taken.items[0].record.further_digests.is_empty(), "{line}");
    }
}

#[test]
fn a_bag_says_where_its_files_are_fetched_from() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (digest('a'), digest('b'));
    fs::write(folder.path().join("fetch.txt"), "http://a.test/1 3 data/one%0Atwo\nhttp://a.test/2\t-\tdata/2\nftp://a.test/3 1 data/3\nbad\n").unwrap();
    fs::write(
        folder.path().join("manifest-sha256.txt"),
        format!("{a}  data/one%0Atwo\n{b} data/here 1.txt\n"),
    )
    .unwrap();
    let bag = Root::new(folder.path(), "the bag");
    let read = |base| Taken::of(|sink| bag::read(&bag, "bag", base, &Budget::default(), sink));
    let taken = read(None);
    assert_eq!(taken.urls(), ["http://a.test/1", "http://a.test/2"]);
    assert_eq!(
        (
            taken.items[0].record.content_length,
            taken.items[0].record.content_sha256.as_ref()
        ),
        (Some(3), Some(&a))
    );
    assert!(!taken.items[1].record.is_static());
    assert_eq!(
        taken.refused(),
        ["bag/fetch.txt:3 scheme", "bag/fetch.txt:4 bad-line"]
    );
    assert_eq!(
        taken.codes(NoticeSeverity::LeftOut),
        ["bag/manifest-sha256.txt:1 no-url"]
    );
    assert_eq!(
        read(Some("http://b.test/bag/")).urls()[1],
        "http://b.test/bag/data/here%201.txt"
    );
    let empty = tempfile::tempdir().unwrap();
    let bag = Root::new(empty.path(), "the bag");
    let (_, result) =
        Taken::with_result(|sink| bag::read(&bag, "bag", None, &Budget::default(), sink));
    let error = result.unwrap_err().to_string();
    assert!(error.contains("SHA-256 manifest"), "{error}");
}

#[test]
fn a_bag_may_have_several_manifests_and_several_urls_of_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    let md5 = "a".repeat(32);
    let sha512 = "b".repeat(128);
    write(
        "fetch.txt",
        "http://a.test/1 3 data/1\nhttp://b.test/1 3 data/1\nhttp://a.test/2 - data/2\n",
    );
    write(
        "manifest-md5.txt",
        &format!("{md5}  data/1\n{md5}  data/3\n"),
    );
    write(
        "manifest-sha512.txt",
        &format!("{sha512}  data/1\n{sha512}  data/2\n{sha512}  data/3\n"),
    );
    let bag = Root::new(folder.path(), "the bag");
    let read = |base| Taken::of(|sink| bag::read(&bag, "bag", base, &Budget::default(), sink));
    let taken = read(None);
    let facts = |taken: &Taken| {
        let facts = taken.items.iter().map(|item| {
            let record = &item.record;
            let has = |algorithm| u8::from(record.digest(algorithm).is_some());
            let (md5, sha512) = (has(Algorithm::Md5), has(Algorithm::Sha512));
            format!("{} {md5} {sha512}", item.url().unwrap())
        });
        facts.collect::<Vec<_>>()
    };
    let fetched = [
        "http://a.test/1 1 1",
        "http://b.test/1 1 1",
        "http://a.test/2 0 1",
    ];
    assert_eq!(facts(&taken), fetched);
    assert_eq!(
        taken.codes(NoticeSeverity::LeftOut),
        ["bag/manifest-md5.txt:1 no-url"]
    );
    assert!(taken.notices[0].message.starts_with("1 file"));
    let mut found = facts(&read(Some("http://c.test/")));
    found.sort_by_key(|it| !it.contains("c.test"));
    let based = ["http://c.test/data/3 1 0", "http://c.test/data/3 0 1"];
    assert_eq!(found, [&based[..], &fetched].concat());
    // Two lines of a manifest contradict each other.
    write(
        "manifest-md5.txt",
        &format!("{md5}  data/1\n{}  data/1\n", "c".repeat(32)),
    );
    let taken = read(None);
    assert_eq!(taken.refused(), ["bag/manifest-md5.txt:2 contradiction"]);
    assert_eq!(facts(&taken), fetched[2..]);
}

#[test]
fn what_is_gzip_is_unpacked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("urls.gz");
    let mut packed = Vec::new();
    for url in ["http://a.test/1\n", "http://a.test/2\n"] {
        let mut encoder = GzEncoder::new(&mut packed, Compression::fast());
        encoder.write_all(url.as_bytes()).unwrap();
        encoder.finish().unwrap();
    }
    fs::write(&path, &packed).unwrap();
    let open = || input::open(&RootFile::at(&path, "the folder"), &Budget::default());
    let taken = Taken::of(|sink| list::read(open().unwrap(), &"urls.gz".into(), sink));
    assert_eq!(taken.items.len(), 2);
    fs::write(&path, &packed[..packed.len() - 9]).unwrap();
    let (_, result) =
        Taken::with_result(|sink| list::read(open().unwrap(), &"urls.gz".into(), sink));
    assert!(matches!(result, Err(ReadError::Input { .. })));
}

#[test]
fn a_command_reads_so_many_bytes_and_lines() {
    let lines = b"\n".repeat(1 << 20);
    let packed = gzip(&lines.repeat(17));
    let read = |budget: &Budget| {
        let input = input::unpacked(std::io::Cursor::new(packed.clone()), budget).unwrap();
        let file = "SHA256SUMS.gz".into();
        let (_, result) =
            Taken::with_result(|sink| sums::read(input, &file, "http://a.test/", sink));
        result.map_err(|error| error.to_string())
    };
    let error = read(&Budget::default()).unwrap_err();
    assert!(
        error.starts_with("cannot read SHA256SUMS.gz: ") && error.contains("sixteen million lines"),
        "{error}"
    );
    // All files of a command share the budget.
    let packed = gzip(&lines.repeat(9));
    let budget = Budget::default();
    let read = || {
        let input = input::unpacked(std::io::Cursor::new(packed.clone()), &budget).unwrap();
        Taken::with_result(|sink| list::read(input, &"urls.gz".into(), sink)).1
    };
    assert!(read().is_ok());
    assert!(matches!(read(), Err(ReadError::Input { .. })));
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(vec![], Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Lists in xz, from Python's `lzma`: the first has SHA-256 as its check, the third and the fourth may repeat what was
/// 64 and 128 MiB before.
const XZ: [&str; 4] = [
    "fd377a585a00000ae1fb0ca10200210116000000742fe5a301000f687474703a2f2f612e746573742f310a00503d984958a4ce615ee1735fb682c4f912c5f4c28355d5abe39d8317b35d497b000140104aea48cd189b4b9a01000000000a595a",
    "fd377a585a000004e6d6b4460200210116000000742fe5a301000f687474703a2f2f612e746573742f320a0024017b7f9814fe9500012810e50b6c601fb6f37d010000000004595a",
    "fd377a585a000004e6d6b446020021011c00000010cf58cc01000f687474703a2f2f612e746573742f330a0029f0ab230a6d17c100012810e50b6c601fb6f37d010000000004595a",
    "fd377a585a000004e6d6b446020021011e0000009b07516601000f687474703a2f2f612e746573742f330a0029f0ab230a6d17c100012810e50b6c601fb6f37d010000000004595a",
];

fn unpacked_list(bytes: Vec<u8>) -> (Taken, Result<(), ReadError>) {
    let input = input::unpacked(std::io::Cursor::new(bytes), &Budget::default()).unwrap();
    Taken::with_result(|sink| list::read(input, &"urls.xz".into(), sink))
}

#[test]
fn what_is_xz_is_unpacked_within_bounds() {
    let [one, two, far, too_far] = XZ.map(|hex| HEXLOWER.decode(hex.as_bytes()).unwrap());
    let (taken, result) = unpacked_list([one.clone(), two, far].concat());
    result.unwrap();
    assert_eq!(taken.items.len(), 3);
    let (_, result) = unpacked_list(too_far);
    let error = result.unwrap_err().to_string();
    assert!(error.contains("needed memory too big"), "{error}");
    for (name, bytes) in [
        ("cut off", one[..one.len() - 30].to_vec()),
        ("only a start", one[..10].to_vec()),
        ("with bytes behind it", [&one[..], b"word"].concat()),
        ("damaged", {
            let mut damaged = one.clone();
            damaged[40] ^= 1;
            damaged
        }),
    ] {
        let (_, result) = unpacked_list(bytes);
        assert!(matches!(result, Err(ReadError::Input { .. })), "{name}");
    }
}
