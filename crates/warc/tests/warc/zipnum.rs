//! Compressed blocks and segments: other programs read them, a lookup finds every line in them, and
//! neither damage nor a kill loses a line without a word.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};

use flate2::read::{GzDecoder, MultiGzDecoder};
use proptest::prelude::*;
use urldb_warc::files::{ArchiveInput, FileSource};
use urldb_warc::index::{
    CdxjIndex, INDEX_DIRECTORY, IdxDialect, ZipNumWriter, complete_index, merge_index,
    merge_into_index, rebuild_index, unindexed_files,
};
use urldb_warc::verify::verify_archive;
use urldb_warc::{Digest, FindingCode};

use crate::common::{gzip, index_files, index_text, is_named, line, named};

fn key(url: &str) -> String {
    url.replace(':', "!")
}

/// The data and the `.idx` file of these lines.
fn written(lines: &[String], dialect: IdxDialect) -> (Vec<u8>, String) {
    let mut writer = ZipNumWriter::new(Vec::new(), Vec::new(), dialect).expect("begun");
    for line in lines {
        writer.add(line.as_bytes()).expect("in order");
    }
    let (data, idx) = writer.finish().expect("finished");
    (data, String::from_utf8(idx).expect("text"))
}

fn tab() -> IdxDialect {
    IdxDialect::Tab {
        part: "cdxj".to_owned(),
    }
}

fn many_lines(count: u64) -> Vec<String> {
    let lines = (0..count).map(|n| line(&format!("k{:05}", n / 7), n % 7));
    lines.map(|line| line.render().expect("valid")).collect()
}

fn inflated(bytes: &[u8]) -> String {
    let mut text = String::new();
    MultiGzDecoder::new(bytes)
        .read_to_string(&mut text)
        .expect("gzip");
    text
}

#[test]
fn blocks_are_members_that_the_idx_file_leads_to() {
    let lines = many_lines(1000);
    let (data, idx) = written(&lines, tab());
    assert_eq!(inflated(&data), lines.join("\n") + "\n");
    let (mut end, mut found) = (0, Vec::new());
    for (number, block) in (1..).zip(idx.lines()) {
        let fields: Vec<&str> = block.split('\t').collect();
        let [key, "cdxj", offset, length, last] = fields[..] else {
            panic!("{block}");
        };
        let [offset, length, last] =
            [offset, length, last].map(|field| field.parse::<usize>().expect("a number"));
        assert_eq!((offset, last), (end, number));
        end += length;
        let mut text = String::new();
        GzDecoder::new(&data[offset..end])
            .read_to_string(&mut text)
            .expect("a member");
        assert!(text.starts_with(&format!("{key} {{")), "{block}");
        assert!(text.lines().count() <= 300);
        found.push(text);
    }
    assert_eq!(found.concat(), inflated(&data));
    assert_eq!(found.len(), 4);
    assert_eq!(end, data.len());
}

#[test]
fn an_idx_file_of_wacz_has_digests() {
    let lines = many_lines(301);
    let filename = "index.cdx.gz".to_owned();
    let (data, idx) = written(&lines, IdxDialect::Json { filename });
    let blocks: Vec<&str> = idx.lines().collect();
    assert_eq!(
        blocks[0],
        r#"!meta 0 {"format":"cdxj-gzip-1.0","filename":"index.cdx.gz"}"#
    );
    assert_eq!(blocks.len(), 3);
    for block in &blocks[1..] {
        let (key, json) = block.split_once(" {").expect("an object");
        let json: serde_json::Value = serde_json::from_str(&format!("{{{json}")).expect("JSON");
        let field =
            |name: &str| usize::try_from(json[name].as_u64().expect("a number")).expect("small");
        let member = &data[field("offset")..][..field("length")];
        assert_eq!(
            json["digest"],
            Digest::sha256_of(member).expect("in memory").0.to_string()
        );
        assert!(inflated(member).starts_with(&format!("{key} {{")));
    }
}

#[test]
fn lines_that_no_lookup_would_find_are_refused() {
    let mut writer = ZipNumWriter::new(Vec::new(), Vec::new(), tab()).expect("begun");
    writer.add(b"b 2026 {}").expect("in order");
    writer.add(b"b 2026 {}").expect("the same again");
    for bad in [
        &b"a 2026 {}"[..],
        b"c",
        b"c 2026",
        b" 2026 {}",
        b"c\t 2026 {}",
        b"c 2026 {}\nd",
    ] {
        writer.add(bad).expect_err(&String::from_utf8_lossy(bad));
    }
    let (data, _) = writer.finish().expect("finished");
    assert_eq!(inflated(&data), "b 2026 {}\n");
}

/// Files in memory.
struct Files(BTreeMap<String, Vec<u8>>);

impl Files {
    /// An archive with an index of these segments.
    fn with_segments(parts: Vec<(Vec<u8>, Vec<u8>)>) -> Self {
        let mut files = BTreeMap::new();
        for (n, (data, idx)) in parts.into_iter().enumerate() {
            files.insert(format!("index/{n}.cdxj.gz"), data);
            files.insert(format!("index/{n}.idx"), idx);
        }
        Self(files)
    }
}

impl FileSource for Files {
    fn names(&self) -> io::Result<Vec<String>> {
        let names = self.0.keys().cloned().chain(["index".to_owned()]);
        Ok(names.collect())
    }

    fn open_file(&self, name: &str) -> io::Result<Box<dyn ArchiveInput>> {
        let bytes = self.0.get(name).ok_or(io::ErrorKind::NotFound)?;
        Ok(Box::new(Cursor::new(bytes.clone())))
    }

    fn path_of(&self, name: &str) -> PathBuf {
        name.into()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    /// Lookups in several segments find what a sorted plain file has.
    #[test]
    fn segments_are_as_one_sorted_file(
        lines in prop::collection::vec(("[a-c!]{1,3}", 0..400u64, 0..4usize), 0..1500),
        prefixes in prop::collection::vec("[a-c! ]{0,4}", 8),
    ) {
        let mut all = BTreeSet::new();
        let mut parts = vec![BTreeSet::new(); 4];
        for (key, n, part) in &lines {
            let text = line(key, *n).render().expect("valid");
            all.insert(text.clone());
            parts[*part].insert(text);
        }
        let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty())
            .map(|part| written(&Vec::from_iter(part), tab()))
            .map(|(data, idx)| (data, idx.into_bytes())).collect();
        let mut index = CdxjIndex::open(&Files::with_segments(parts)).expect("an index");
        let keys = lines.iter().take(20).map(|(key, _, _)| format!("{key} "));
        for prefix in prefixes.into_iter().chain(keys) {
            let expected: Vec<&String> = all.iter().filter(|line| line.starts_with(&prefix)).collect();
            let found = index.lines_with_prefix(&prefix).expect("looked up");
            let found: Vec<String> = found
                .map(|line| line.expect("good").render().expect("valid")).collect();
            prop_assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{:?}", prefix);
        }
    }

    /// Any bytes in the place of a segment are read to an end, with an error or with lines.
    #[test]
    fn no_bytes_make_a_lookup_panic(
        at in any::<prop::sample::Index>(), bytes in prop::collection::vec(any::<u8>(), 1..6),
        in_idx in any::<bool>(), key in "k0000[0-9]",
    ) {
        let (mut data, idx) = written(&many_lines(400), tab());
        let mut idx = idx.into_bytes();
        let target = if in_idx { &mut idx } else { &mut data };
        let at = at.index(target.len());
        let end = target.len().min(at + bytes.len());
        target.splice(at..end, bytes);
        let files = Files::with_segments(vec![(data, idx)]);
        if let Ok(mut index) = CdxjIndex::open(&files) {
            if let Ok(found) = index.captures(&key) {
                prop_assert!(found.count() <= 400);
            }
            if let Ok(lines) = index.into_lines() {
                // A damaged block may decode to further line ends before its checksum tells.
                prop_assert!(lines.take(10_000).count() < 10_000);
            }
        }
    }
}

fn add(dir: &Path, n: u64) {
    let name = format!("{n:03}.warc.gz");
    let mut line = line(&format!("k{:02}", n % 10), n % 60);
    line.filename = name;
    line.extent.offset = n;
    merge_into_index(dir, &[line]).expect("added");
}

#[test]
fn the_number_of_segments_stays_small() {
    let dir = tempfile::tempdir().expect("a directory");
    for n in 0..200 {
        add(dir.path(), n);
        let names = index_files(dir.path());
        assert!(names.len() <= 3 * 16, "{names:?}");
    }
    let lines = index_text(dir.path());
    assert_eq!(lines.lines().count(), 200);
    let before = merge_index(dir.path()).expect("merged");
    assert!((2..=16).contains(&before), "{before}");
    assert_eq!(index_text(dir.path()), lines);
    let names = index_files(dir.path());
    assert_eq!(names.len(), 3, "{names:?}");
    // The names of the archive files are there, too.
    let loc = fs::read_to_string(dir.path().join(INDEX_DIRECTORY).join(&names[2])).expect("there");
    assert!(loc.starts_with(&format!("cdxj\t{}\n", names[0])), "{loc}");
    assert_eq!(loc.lines().count(), 201);
    assert!(loc.contains("\n007.warc.gz\t../007.warc.gz\n"));
}

/// A merge writes the new segment before it removes the old ones: whatever is there twice counts once.
#[test]
fn a_merge_that_was_killed_doubles_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    let archive = dir.path();
    for n in 1..6 {
        let name = format!("{n}.warc.gz");
        fs::write(archive.join(&name), gzip(&named("1.1", n))).expect("written");
        complete_index(archive, &key).expect("indexed");
    }
    let (lines, old) = (index_text(archive), contents(archive));
    merge_index(archive).expect("merged");
    let new = contents(archive);
    assert_eq!((old.len(), new.len()), (15, 3));
    let with = |files: &[&BTreeMap<String, Vec<u8>>], without: &[&str]| {
        let files = files.iter().flat_map(|files| files.iter());
        let is_wanted = |name: &str| !without.iter().any(|end| name.ends_with(end));
        put(archive, files.filter(|(name, _)| is_wanted(name)));
        let mut codes = Vec::new();
        verify_archive(archive, &key, &mut |finding| codes.push(finding.code)).expect("verified");
        codes
    };
    // New and old at once.
    assert_eq!(with(&[&old, &new], &[]), []);
    assert_eq!(index_text(archive), lines);
    assert_eq!(unindexed_files(archive).expect("read"), [] as [&Path; 0]);
    // The new one is not whole yet.
    let [data, idx, loc] = [0, 1, 2].map(|n| new.keys().nth(n).expect("three").as_str());
    assert!(is_named(idx, ".idx"));
    for missing in [&[idx][..], &[idx, loc], &[idx, data]] {
        assert_eq!(with(&[&old, &new], missing), [], "{missing:?}");
        complete_index(archive, &key).expect("cleaned");
        assert_eq!(index_text(archive), lines);
        assert_eq!(contents(archive), old, "{missing:?}");
    }
    // Some of the old ones are gone, one in part.
    let part: BTreeMap<_, _> = old.clone().into_iter().skip(3).collect();
    let idx = old.keys().nth(4).expect("of the second").as_str();
    assert_eq!(with(&[&part, &new], &[idx]), []);
    assert_eq!(index_text(archive), lines);
}

/// Makes the directory of the index have these files only.
fn put<'a>(dir: &Path, files: impl Iterator<Item = (&'a String, &'a Vec<u8>)>) {
    let index = dir.join(INDEX_DIRECTORY);
    fs::remove_dir_all(&index).expect("there");
    fs::create_dir(&index).expect("made");
    for (name, bytes) in files {
        fs::write(index.join(name), bytes).expect("written");
    }
}

fn contents(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let read = |name: String| {
        let bytes = fs::read(dir.join(INDEX_DIRECTORY).join(&name)).expect("there");
        (name, bytes)
    };
    index_files(dir).into_iter().map(read).collect()
}

#[test]
fn a_damaged_segment_is_found_and_replaced() {
    let dir = tempfile::tempdir().expect("a directory");
    let archive = dir.path();
    for n in 1..4 {
        fs::write(archive.join(format!("{n}.warc.gz")), gzip(&named("1.1", n))).expect("written");
        complete_index(archive, &key).expect("indexed");
    }
    let (lines, good) = (index_text(archive), contents(archive));
    let path = |name: &str| archive.join(INDEX_DIRECTORY).join(name);
    for (name, bytes) in &good {
        for damaged in [
            bytes[..bytes.len() - 1].to_vec(),
            bytes[..bytes.len() / 2].to_vec(),
            [bytes.as_slice(), b"x"].concat(),
            b"garbage\n".to_vec(),
            vec![],
        ] {
            fs::write(path(name), &damaged).expect("written");
            // A list that is one byte shorter is still a list.
            let is_seen = !is_named(name, ".loc") || damaged.starts_with(b"garbage");
            let mut codes = Vec::new();
            verify_archive(archive, &key, &mut |finding| codes.push(finding.code)).expect("read");
            if !is_named(name, ".loc") {
                let unreadable = [FindingCode::IndexUnreadable, FindingCode::IndexMissing];
                assert_eq!(codes, unreadable, "{name}");
                let error = CdxjIndex::open(&archive).expect_err("damaged");
                assert!(error.is_damaged_index(), "{error}");
            }
            if is_seen {
                assert_eq!(unindexed_files(archive).expect("read").len(), 1, "{name}");
            }
            complete_index(archive, &key).expect("indexed");
            assert_eq!(index_text(archive), lines, "{name}");
            put(archive, good.iter());
        }
    }
    // A flipped bit in the lines is found by those who read them.
    let name = good.keys().next().expect("a segment");
    let mut flipped = good[name].clone();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 1;
    fs::write(path(name), flipped).expect("written");
    let error = merge_index(archive).expect_err("damaged");
    assert!(error.is_damaged_index(), "{error}");
    assert!(
        index_files(archive)
            .iter()
            .all(|name| !is_named(name, ".tmp"))
    );
    rebuild_index(archive, &key).expect("rebuilt");
    assert_eq!(index_text(archive), lines);
}

/// Files without captures are known by their names alone, and cost lookups nothing.
#[test]
fn a_segment_without_lines_is_a_list_of_files() {
    let dir = tempfile::tempdir().expect("a directory");
    let info = "WARC/1.1\r\nWARC-Type: warcinfo\r\nContent-Length: 0\r\n\r\n\r\n\r\n";
    fs::write(dir.path().join("b.warc.gz"), gzip(info.as_bytes())).expect("written");
    complete_index(dir.path(), &key).expect("indexed");
    let names = index_files(dir.path());
    assert!(
        matches!(&names[..], [name] if is_named(name, ".loc")),
        "{names:?}"
    );
    assert_eq!(unindexed_files(dir.path()).expect("read"), [] as [&Path; 0]);
    assert_eq!(index_text(dir.path()), "");
    merge_into_index(dir.path(), &[line("a", 1)]).expect("added");
    merge_index(dir.path()).expect("merged");
    assert_eq!(unindexed_files(dir.path()).expect("read"), [] as [&Path; 0]);
    assert_eq!(index_files(dir.path()).len(), 3);
}
