//! Files are joined without some of their records: what is kept is kept byte for byte, and a kill at any
//! step loses and doubles nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use urldb_warc::draft::{Exchange, OriginalCapture, warcinfo};
use urldb_warc::files::archive_files;
use urldb_warc::index::{CdxjIndex, INDEX_DIRECTORY, complete_index, rebuild_index};
use urldb_warc::join::{FileJoiner, JoinError, JoinRequest, JoinSource, JoinedFile};
use urldb_warc::verify::verify_archive;
use urldb_warc::writer::WriteOptions;
use urldb_warc::{CdxjLine, Compression, RecordDraft, Writer};

use crate::common::{BODY, URL, date, gzip, id, index_text, named, original};

const NEW: &str = "urldb-joined-20261201000000-00000-test.warc.gz";

fn key(url: &str) -> String {
    url.replace(':', "!")
}

fn write(dir: &Path, name: &str, drafts: &[(RecordDraft, &[u8])]) {
    let mut writer = Writer::new(Vec::new(), Compression::Gzip);
    for (draft, body) in drafts {
        let length = body.len() as u64;
        writer.write_draft(draft, *body, length).expect("written");
    }
    fs::write(dir.join(name), writer.get_ref()).expect("written");
}

fn info(n: u8, name: &str) -> RecordDraft {
    warcinfo(&id(n), &date("2026-12-01T00:00:00Z"), name, &[]).expect("valid")
}

/// A revisit with a request of its own.
fn revisit(n: u8) -> [(RecordDraft, &'static [u8]); 2] {
    let original = OriginalCapture {
        record_id: id(2),
        ..original()
    };
    let when = date(&format!("2026-11-{n:02}T06:00:00Z"));
    let exchange = Exchange {
        target_uri: URL,
        date: &when,
        ip_address: None,
        protocols: &[],
    };
    let head = b"GET /catalogue.csv HTTP/1.1\r\n\r\n".to_vec();
    [
        (
            exchange
                .revisit_identical(&id(n), &original, vec![])
                .expect("valid"),
            b"",
        ),
        (
            exchange.request(&id(n + 100), &id(n), head).expect("valid"),
            b"",
        ),
    ]
}

/// Three files: a capture, and four revisits in two files.
fn archive() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    let original = original();
    let exchange = Exchange {
        target_uri: URL,
        date: &original.date,
        ip_address: None,
        protocols: &[],
    };
    let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/csv\r\n\r\n".to_vec();
    let capture = exchange
        .response(&id(2), head, &original.payload_digest, None)
        .expect("valid");
    write(
        dir.path(),
        "urldb-1.warc.gz",
        &[(info(50, "urldb-1.warc.gz"), b""), (capture, BODY)],
    );
    for (file, days) in [(2, [21, 22]), (3, [23, 24])] {
        let name = format!("urldb-{file}.warc.gz");
        let mut drafts = vec![(info(50 + file, &name), &b""[..])];
        drafts.extend(days.into_iter().flat_map(revisit));
        write(dir.path(), &name, &drafts);
    }
    rebuild_index(dir.path(), &key).expect("indexed");
    dir
}

fn codes(dir: &Path) -> Vec<String> {
    let mut codes = Vec::new();
    verify_archive(dir, &key, &mut |finding| codes.push(finding.to_string())).expect("verified");
    codes
}

fn lines(dir: &Path) -> Vec<CdxjLine> {
    let index = CdxjIndex::open(&dir).expect("an index");
    let mut index = index;
    let found = index.captures(&key(URL)).expect("looked up");
    found.collect::<Result<_, _>>().expect("good lines")
}

fn timestamps(dir: &Path) -> Vec<String> {
    lines(dir).into_iter().map(|line| line.timestamp).collect()
}

fn names(dir: &Path) -> Vec<String> {
    let files = archive_files(dir).expect("read");
    let name = |path: &std::path::PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
    files.iter().map(name).collect()
}

/// The sources, and the offsets of the revisits with these timestamps.
fn join(dir: &Path, sources: &[&str], left_out: &[&str]) -> Result<JoinedFile, JoinError> {
    let work = FileJoiner::begin(dir, WriteOptions::default())?;
    let mut offsets: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for line in lines(dir) {
        if left_out.iter().any(|day| line.timestamp.starts_with(day)) {
            offsets
                .entry(line.filename)
                .or_default()
                .push(line.extent.offset);
        }
    }
    let paths: Vec<_> = sources.iter().map(|name| dir.join(name)).collect();
    let sources: Vec<_> = sources
        .iter()
        .zip(&paths)
        .map(|(name, path)| JoinSource { name, path })
        .collect();
    let request = JoinRequest {
        name: NEW,
        warcinfo: &info(60, NEW),
        sources: &sources,
        left_out: &|name| offsets.get(name).map_or(&[], Vec::as_slice),
    };
    let joined = work.prepare(&request, &key)?.commit()?;
    work.finish(&BTreeSet::new())?;
    Ok(joined)
}

#[test]
fn records_are_copied_byte_for_byte() {
    let dir = archive();
    let old: Vec<Vec<u8>> = names(dir.path())
        .iter()
        .map(|name| fs::read(dir.path().join(name)).unwrap())
        .collect();
    assert_eq!(codes(dir.path()), [] as [&str; 0]);
    let all = ["urldb-1.warc.gz", "urldb-2.warc.gz", "urldb-3.warc.gz"];
    let joined = join(dir.path(), &all, &[]).expect("joined");
    assert_eq!((joined.records, joined.left_out), (12, 0));
    assert_eq!(names(dir.path()), [NEW]);
    let new = fs::read(dir.path().join(NEW)).expect("there");
    // The new file begins with a record of its own.
    assert!(new.ends_with(&old.concat()));
    assert_eq!(joined.bytes, new.len() as u64);
    assert_eq!(joined.bytes_before, old.concat().len() as u64);
    assert_eq!(codes(dir.path()), [] as [&str; 0]);
    assert_eq!(timestamps(dir.path()).len(), 5);
    assert!(lines(dir.path()).iter().all(|line| line.filename == NEW));
    // It is the index that is made of the files alone.
    let index = index_text(dir.path());
    rebuild_index(dir.path(), &key).expect("rebuilt");
    assert_eq!(index_text(dir.path()), index);
}

#[test]
fn records_are_left_out_with_what_belongs_to_them() {
    let dir = archive();
    let joined = join(
        dir.path(),
        &["urldb-2.warc.gz", "urldb-3.warc.gz"],
        &["20261122", "20261123", "20261124"],
    );
    let joined = joined.expect("joined");
    // Three revisits and their requests, and the description of a file of which nothing is left.
    assert_eq!((joined.records, joined.left_out), (3, 7));
    assert_eq!(names(dir.path()), ["urldb-1.warc.gz", NEW]);
    assert_eq!(timestamps(dir.path()), ["20261120060000", "20261121060000"]);
    assert_eq!(codes(dir.path()), [] as [&str; 0]);
}

fn contents(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut contents = BTreeMap::new();
    for folder in [dir.to_owned(), dir.join(INDEX_DIRECTORY)] {
        for entry in fs::read_dir(folder).expect("there") {
            let path = entry.expect("there").path();
            let name = path
                .strip_prefix(dir)
                .unwrap()
                .to_string_lossy()
                .into_owned();
            if path.is_file() && !name.split('/').any(|part| part.starts_with('.')) {
                contents.insert(name, fs::read(path).expect("there"));
            }
        }
    }
    contents
}

/// At each step the archive is as before or as after, and the next command completes or undoes the rest.
#[test]
fn a_kill_at_any_step_loses_and_doubles_nothing() {
    let dir = archive();
    let before = contents(dir.path());
    let sources = ["urldb-2.warc.gz", "urldb-3.warc.gz"];
    join(dir.path(), &sources, &["20261122", "20261123"]).expect("joined");
    let after = contents(dir.path());
    // The lines of the new file in a segment of their own.
    let alone = tempfile::tempdir().expect("a directory");
    fs::write(alone.path().join(NEW), &after[NEW]).expect("written");
    rebuild_index(alone.path(), &key).expect("indexed");
    let mut segment = contents(alone.path());
    segment.remove(NEW);
    let list = (format!("{NEW}.replaces"), sources.join("\n").into_bytes());
    let joining = (format!("{NEW}.joining"), after[NEW].clone());
    let half = (format!("{NEW}.joining"), after[NEW][..40].to_vec());
    let done = (NEW.to_owned(), after[NEW].clone());
    let with =
        |extra: &[&(String, Vec<u8>)], segment: &BTreeMap<String, Vec<u8>>, gone: &[&str]| {
            let mut state = before.clone();
            state.extend(extra.iter().map(|entry| (*entry).clone()));
            state.extend(segment.clone());
            state.retain(|name, _| !gone.contains(&name.as_str()));
            state
        };
    let none = BTreeMap::new();
    let undone = [
        with(&[&list], &none, &[]),
        with(&[&list, &half], &none, &[]),
        with(&[&list, &joining], &none, &[]),
        with(&[&list, &joining], &segment, &[]),
        with(&[&list], &segment, &[]),
        with(&[&half], &none, &[]),
        with(
            &[&(format!("{NEW}.replaces.tmp"), b"urldb-1".to_vec())],
            &none,
            &[],
        ),
    ];
    let completed = [
        with(&[&list, &done], &segment, &[]),
        with(&[&list, &done], &segment, &sources[..1]),
        with(&[&list, &done], &segment, &sources),
    ];
    let expected = [
        [
            "20261120060000",
            "20261121060000",
            "20261122060000",
            "20261123060000",
            "20261124060000",
        ]
        .as_slice(),
        &["20261120060000", "20261121060000", "20261124060000"],
    ];
    let states = undone
        .map(|state| (state, 0))
        .into_iter()
        .chain(completed.map(|state| (state, 1)));
    for (state, outcome) in states {
        let dir = tempfile::tempdir().expect("a directory");
        fs::create_dir(dir.path().join(INDEX_DIRECTORY)).expect("made");
        for (name, bytes) in &state {
            fs::write(dir.path().join(name), bytes).expect("written");
        }
        let what: Vec<&String> = state.keys().collect();
        // As the kill has left it, for those who only read.
        assert_eq!(codes(dir.path()), [] as [&str; 0], "{what:?}");
        assert_eq!(timestamps(dir.path()), expected[outcome], "{what:?}");
        // And after the next run.
        complete_index(dir.path(), &key).expect("completed");
        assert_eq!(codes(dir.path()), [] as [&str; 0], "{what:?}");
        assert_eq!(timestamps(dir.path()), expected[outcome], "{what:?}");
        let is_file = |name: &&String| !name.starts_with("index/");
        let left = contents(dir.path());
        let whole = if outcome == 0 { &before } else { &after };
        assert!(
            left.keys().filter(is_file).eq(whole.keys().filter(is_file)),
            "{what:?}"
        );
        for name in whole.keys().filter(is_file) {
            assert_eq!(left[name], whole[name], "{name}");
        }
    }
}

#[test]
fn files_that_cannot_be_joined_stay() {
    let dir = archive();
    let shared = [named("1.1", 1), named("1.1", 2)].concat();
    fs::write(dir.path().join("urldb-4.warc.gz"), gzip(&shared)).expect("written");
    fs::write(dir.path().join("urldb-5.warc.gz"), named("1.1", 3)).expect("written");
    let mut cut = fs::read(dir.path().join("urldb-1.warc.gz")).expect("there");
    cut.pop();
    fs::write(dir.path().join("urldb-6.warc.gz"), cut).expect("written");
    rebuild_index(dir.path(), &key).expect("indexed");
    let before = contents(dir.path());
    for bad in ["urldb-4.warc.gz", "urldb-5.warc.gz", "urldb-6.warc.gz"] {
        let error = join(dir.path(), &["urldb-2.warc.gz", bad], &[]).expect_err(bad);
        assert!(matches!(error, JoinError::Unsuitable { .. }), "{error}");
        assert_eq!(contents(dir.path()), before);
    }
    // One process at a time.
    let _joiner = FileJoiner::begin(dir.path(), WriteOptions::default()).expect("free");
    let busy = FileJoiner::begin(dir.path(), WriteOptions::default()).err();
    assert!(matches!(busy, Some(JoinError::Busy { .. })));
}

/// A list of replaced files leads to no other folder, and to no other kind of file.
#[test]
fn a_list_of_replaced_files_cannot_name_other_files() {
    let dir = archive();
    let outside = dir.path().join("sub");
    fs::create_dir(&outside).expect("made");
    fs::write(outside.join("a.warc.gz"), "x").expect("written");
    fs::write(dir.path().join("notes.txt"), "x").expect("written");
    let list = "sub/a.warc.gz\n../a.warc.gz\nnotes.txt\nurldb-1.warc.gz\n";
    fs::write(dir.path().join("urldb-1.warc.gz.replaces"), list).expect("written");
    complete_index(dir.path(), &key).expect("completed");
    assert!(outside.join("a.warc.gz").exists() && dir.path().join("notes.txt").exists());
    assert_eq!(names(dir.path()).len(), 3);
    assert_eq!(codes(dir.path()), [] as [&str; 0]);
}
