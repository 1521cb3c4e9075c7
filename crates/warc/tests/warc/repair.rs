//! A damaged archive is repaired: nothing is lost, the rest verifies, and a kill does no harm.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::Path;

use urldb_warc::convert::convert;
use urldb_warc::index::{
    INDEX_DIRECTORY, index_lines_of, merge_into_index, rebuild_index, unindexed_files,
};
use urldb_warc::repair::{RepairReport, recover, repair};
use urldb_warc::verify::verify_archive;
use urldb_warc::{Compression, FindingCode, Reader, Writer};

use crate::common::{gzip, named};

const NAME: &str = "a.warc.gz";

fn key(url: &str) -> String {
    format!("key-of-{url}")
}

/// Every file of a directory with its content, without those that keep processes apart.
fn contents(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut contents = BTreeMap::new();
    for entry in fs::read_dir(dir).expect("a directory") {
        let path = entry.expect("an entry").path();
        let name = path
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        if path.is_dir() {
            let inner = self::contents(&path).into_iter();
            contents.extend(inner.map(|(inner, bytes)| (format!("{name}/{inner}"), bytes)));
        } else if !name.starts_with('.') {
            contents.insert(name, fs::read(path).expect("a file"));
        }
    }
    contents
}

fn put(dir: &Path, files: &BTreeMap<String, Vec<u8>>) {
    for (name, bytes) in files {
        let path = dir.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, bytes).expect("written");
    }
}

fn members() -> Vec<Vec<u8>> {
    (1..6).map(|n| gzip(&named("1.1", n * 300))).collect()
}

fn fix(dir: &Path) -> RepairReport {
    repair(dir, &key).expect("repaired")
}

fn codes(dir: &Path) -> Vec<FindingCode> {
    let mut codes = Vec::new();
    verify_archive(dir, &key, &mut |finding| codes.push(finding.code)).expect("a directory");
    codes
}

/// An archive with its index, whose file was then spoiled.
fn spoiled(spoil: impl Fn(Vec<Vec<u8>>) -> Vec<u8>) -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    fs::write(dir.path().join(NAME), members().concat()).expect("written");
    rebuild_index(dir.path(), &key).expect("indexed");
    assert_eq!(codes(dir.path()), []);
    fs::write(dir.path().join(NAME), spoil(members())).expect("written");
    dir
}

#[test]
fn damage_anywhere_is_set_aside_and_the_rest_verifies() {
    type Spoil = fn(Vec<Vec<u8>>) -> Vec<u8>;
    let cases: [(&str, Spoil, u64); 7] = [
        (
            "a flipped byte in the middle",
            |mut it| {
                it[2][40] ^= 8;
                it.concat()
            },
            4,
        ),
        (
            "two of them",
            |mut it| {
                it[0][30] ^= 1;
                it[3][30] ^= 1;
                it.concat()
            },
            3,
        ),
        (
            "the last record cut",
            |it| it.concat()[..it.concat().len() - 20].to_vec(),
            4,
        ),
        (
            "the last checksum cut",
            |it| it.concat()[..it.concat().len() - 5].to_vec(),
            4,
        ),
        (
            "zeros at the end",
            |it| [it.concat(), vec![0; 700]].concat(),
            5,
        ),
        ("nothing left", |_| vec![], 0),
        ("nothing good", |_| vec![7; 100], 0),
    ];
    for (what, spoil, records) in cases {
        let dir = spoiled(spoil);
        let before = contents(dir.path())[NAME].clone();
        assert!(!codes(dir.path()).is_empty(), "{what}");
        let done = fix(dir.path());
        assert_eq!(codes(dir.path()), [], "{what}");
        assert_eq!(done.repaired[0].records, records, "{what}");
        let after = contents(dir.path());
        let aside: usize = after
            .iter()
            .filter(|(name, _)| name.ends_with(".damaged"))
            .map(|(_, it)| it.len())
            .sum();
        let kept = after.get(NAME).map_or(0, Vec::len);
        assert_eq!(kept + aside, before.len(), "{what}");
        assert_eq!(after.contains_key(NAME), records > 0, "{what}");
        // What is whole is left alone.
        assert_eq!(fix(dir.path()), RepairReport::default(), "{what}");
        assert_eq!(contents(dir.path()), after, "{what}");
    }
}

#[test]
fn a_repair_that_was_cut_short_is_finished_by_the_next() {
    let dir = spoiled(|mut it| {
        it[1][40] ^= 8;
        it.concat()
    });
    let before = contents(dir.path());
    fix(dir.path());
    let after = contents(dir.path());
    let damaged = after
        .keys()
        .find(|name| name.ends_with(".damaged"))
        .expect("set aside")
        .clone();
    let mixed = |changed: &[&str]| -> BTreeMap<String, Vec<u8>> {
        let pick = |name: &String| {
            if changed.contains(&name.as_str()) {
                after.get(name)
            } else {
                before.get(name)
            }
        };
        let names = before.keys().chain(after.keys());
        names
            .filter_map(|name| Some((name.clone(), pick(name)?.clone())))
            .collect()
    };
    let is_of_index = |name: &String| name.starts_with("index/");
    let mut without_lines = mixed(&[&damaged]);
    without_lines.retain(|name, _| !is_of_index(name));
    let mut without_index = mixed(&[&damaged, NAME]);
    without_index.retain(|name, _| !is_of_index(name));
    let mut with_leftovers = mixed(&[&damaged]);
    for name in [
        "added.idx.tmp",
        "merged.cdxj.gz.tmp",
        "merged-3.tmp",
        "20260101000000-ab.cdxj.gz",
        "x.loc",
    ] {
        with_leftovers.insert(format!("index/{name}"), b"half".to_vec());
    }
    with_leftovers.insert(format!("{NAME}.tmp"), b"half".to_vec());
    for state in [
        mixed(&[]),
        mixed(&[&damaged]),
        without_lines,
        without_index,
        with_leftovers,
    ] {
        let dir = tempfile::tempdir().expect("a directory");
        put(dir.path(), &state);
        fix(dir.path());
        assert_eq!(contents(dir.path()), after);
        assert_eq!(codes(dir.path()), []);
    }
}

/// A run does not repair, but indexes what a repair that was cut short has left out of the index.
#[test]
fn a_run_indexes_what_a_repair_left() {
    let dir = spoiled(|mut it| {
        it[1][40] ^= 8;
        it.concat()
    });
    fix(dir.path());
    fs::remove_dir_all(dir.path().join(INDEX_DIRECTORY)).expect("there");
    recover(dir.path()).expect("nothing to do");
    let left = unindexed_files(dir.path()).expect("read");
    assert_eq!(left, [dir.path().join(NAME)]);
    let lines = index_lines_of(&left[0], &key).expect("good");
    merge_into_index(dir.path(), &lines).expect("merged");
    assert_eq!(codes(dir.path()), []);
}

/// Records with blocks of these lengths, in one gzip member.
fn shared(lengths: &[usize]) -> Vec<u8> {
    gzip(
        &lengths
            .iter()
            .flat_map(|n| named("1.1", *n))
            .collect::<Vec<u8>>(),
    )
}

/// The records of a file, each of which has to be alone in its gzip member.
fn alone(dir: &Path) -> Vec<Vec<u8>> {
    let bytes = fs::read(dir.join(NAME)).expect("there");
    let lines = index_lines_of(&dir.join(NAME), &key).expect("good");
    let members = lines.iter().map(|line| {
        let (from, length) = (line.extent.offset, line.extent.length);
        let member = &bytes[usize::try_from(from).expect("small")..]
            [..usize::try_from(length).expect("small")];
        let mut text = Vec::new();
        flate2::read::GzDecoder::new(member)
            .read_to_end(&mut text)
            .expect("whole");
        text
    });
    members.collect()
}

#[test]
fn records_that_share_a_damaged_member_get_their_own() {
    let lengths = [10, 20, 3000];
    let whole = shared(&lengths);
    let end = whole.len();
    let twice = [&whole[..], &shared(&[40, 50])[..], &gzip(&named("1.1", 60))].concat();
    let mut broken = twice.clone();
    // Within the second member, whose first record is good.
    let second = shared(&[40, 50]).len();
    broken[end + second - 20] ^= 0xff;
    for (what, bytes, kept) in [
        (
            "the last checksum is cut",
            whole[..end - 5].to_vec(),
            &lengths[..],
        ),
        (
            "the last checksum is wrong",
            {
                let mut it = whole.clone();
                it[end - 6] ^= 1;
                it
            },
            &lengths[..],
        ),
        (
            "the last record is cut",
            whole[..end - 20].to_vec(),
            &lengths[..2],
        ),
        (
            "there are zeros at the end",
            [&whole[..], &[0; 600]].concat(),
            &lengths[..],
        ),
        (
            "the second of three members is damaged",
            broken,
            &[10, 20, 3000, 40, 60],
        ),
    ] {
        let dir = tempfile::tempdir().expect("a directory");
        fs::write(dir.path().join(NAME), &bytes).expect("written");
        let done = fix(dir.path());
        let aside = format!("{NAME}.at-0.damaged");
        assert_eq!(
            done.repaired[0].damaged,
            [dir.path().join(&aside)],
            "{what}"
        );
        assert_eq!(done.repaired[0].records, kept.len() as u64, "{what}");
        assert_eq!(contents(dir.path())[&aside], bytes, "{what}");
        let records: Vec<Vec<u8>> = kept.iter().map(|n| named("1.1", *n)).collect();
        assert_eq!(alone(dir.path()), records, "{what}");
        assert_eq!(codes(dir.path()), [], "{what}");
        assert_eq!(fix(dir.path()), RepairReport::default(), "{what}");
    }
}

/// Nothing is wrong with them: a conversion gives each record a member of its own.
#[test]
fn records_that_share_a_good_member_are_left_where_they_are() {
    let dir = tempfile::tempdir().expect("a directory");
    fs::write(dir.path().join(NAME), shared(&[10, 20])).expect("written");
    assert_eq!(fix(dir.path()), RepairReport::default());
    assert_eq!(codes(dir.path()), [FindingCode::SharedMember]);
    let mut reader = Reader::open(&dir.path().join(NAME)).expect("there");
    let mut writer = Writer::new(Vec::new(), Compression::Gzip);
    convert(&mut reader, &mut writer).expect("converted");
    fs::write(dir.path().join(NAME), writer.get_ref()).expect("written");
    rebuild_index(dir.path(), &key).expect("indexed");
    assert_eq!(alone(dir.path()).len(), 2);
    assert_eq!(codes(dir.path()), []);
}

/// Records closed with these bytes, of which the last record has those of `last` instead.
fn closed_with(line_ends: &str, last: &str) -> Vec<u8> {
    let mut file = Vec::new();
    for n in 1..5 {
        let record = named("1.1", n * 10);
        let record = record.strip_suffix(b"\r\n\r\n").expect("closed");
        file.extend(record);
        file.extend(if n < 4 { line_ends } else { last }.bytes());
    }
    file
}

/// Some programs close each record with one line end (node-warc), and a killed program may write none.
#[test]
fn a_complete_block_without_its_line_ends_is_kept() {
    for (line_ends, last) in [
        ("\r\n", "\r\n"),
        ("\r\n", ""),
        ("\r\n\r\n", "\r\n"),
        ("\r\n\r\n", "\r\n\r"),
        ("\r\n\r\n", "\r"),
        ("\r\n\r\n", ""),
        ("\n", "\n"),
    ] {
        let bytes = closed_with(line_ends, last);
        let dir = tempfile::tempdir().expect("a directory");
        fs::write(dir.path().join("a.warc"), &bytes).expect("written");
        let case = format!("{line_ends:?}, {last:?}");
        for _ in 0..3 {
            assert_eq!(fix(dir.path()), RepairReport::default(), "{case}");
        }
        let found = codes(dir.path());
        assert!(found.contains(&FindingCode::LineEnds), "{case}");
        assert!(
            found.iter().all(|code| *code == FindingCode::LineEnds),
            "{case}: {found:?}"
        );
        let lines = index_lines_of(&dir.path().join("a.warc"), &key).expect("good");
        assert_eq!(lines.len(), 4, "{case}");
        assert_eq!(contents(dir.path())["a.warc"], bytes, "{case}");
    }
}

/// A repair of other damage in such a file loses no further record, then or later.
#[test]
fn a_second_repair_loses_nothing_more() {
    let good = closed_with("\r\n", "\r\n");
    let second = position(&good, b"<urn:x:20>");
    let mut bytes = good;
    let length = position(&bytes[second..], b"Content-Length: 140") + second;
    bytes[length + 16..length + 19].copy_from_slice(b"9x9");
    let dir = tempfile::tempdir().expect("a directory");
    fs::write(dir.path().join("a.warc"), &bytes).expect("written");
    let done = fix(dir.path());
    assert_eq!(done.repaired[0].records, 3);
    let after = contents(dir.path());
    for _ in 0..2 {
        assert_eq!(fix(dir.path()), RepairReport::default());
        assert_eq!(contents(dir.path()), after);
    }
}

fn position(bytes: &[u8], wanted: &[u8]) -> usize {
    let mut windows = bytes.windows(wanted.len());
    windows.position(|window| window == wanted).expect("there")
}
