use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use urldb_warc::RecordDraft;
use urldb_warc::files::archive_file_name;
use urldb_warc::repair::{RecoverError, RecoveredFile, recover};
use urldb_warc::writer::{ArchiveFile, ArchiveFileError, Packer, WriteOptions};

use crate::common::{BODY, date, drafts, read_all};

const NAME: &str = "urldb-20261120060000-00001-host.warc.gz";

fn create(dir: &Path) -> ArchiveFile {
    ArchiveFile::create(dir, NAME, &drafts()[0].0).expect("created")
}

fn append_all(file: &mut ArchiveFile) {
    for (draft, body) in &drafts()[1..] {
        file.append(draft, *body, body.len() as u64)
            .expect("appended");
    }
}

/// What a killed process leaves: an `.open` file with four good records, and then `tail`.
fn leave(dir: &Path, tail: &[u8]) -> u64 {
    let mut file = create(dir);
    append_all(&mut file);
    let length = file.length();
    drop(file);
    let mut bytes = fs::read(open_path(dir)).expect("left");
    bytes.extend(tail);
    fs::write(open_path(dir), bytes).expect("written");
    length
}

fn open_path(dir: &Path) -> PathBuf {
    dir.join(format!("{NAME}.open"))
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).expect("a directory");
    let mut names: Vec<String> = entries
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .into_string()
                .expect("text")
        })
        .collect();
    names.retain(|name| name != ".lock");
    names.sort();
    names
}

#[test]
fn a_file_is_open_until_it_is_finished() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut file = create(dir.path());
    assert_eq!(names(dir.path()), [format!("{NAME}.open")]);
    append_all(&mut file);
    let length = file.length();
    let path = file.finish().expect("finished");
    assert_eq!(names(dir.path()), [NAME]);
    let bytes = fs::read(path).expect("there");
    assert_eq!(bytes.len() as u64, length);
    assert_eq!(read_all(&bytes).0.len(), 4);
}

#[test]
fn what_is_packed_elsewhere_is_as_if_it_had_been_written() {
    for skip_lengths in [false, true] {
        let dirs = [(); 2].map(|()| tempfile::tempdir().expect("a directory"));
        let style = WriteOptions {
            skip_lengths,
            ..WriteOptions::default()
        };
        let create =
            |at: usize| ArchiveFile::create_with(style, dirs[at].path(), NAME, &drafts()[0].0);
        let [mut written, mut added] = [0, 1].map(|at| create(at).expect("created"));
        let mut packer = Packer::new(style);
        for (draft, body) in &drafts()[1..] {
            let length = body.len() as u64;
            // One that fails leaves nothing behind.
            assert!(packer.pack(draft, *body, length + 1).is_err());
            let record = packer.pack(draft, *body, length).expect("packed");
            let extent = added.append_packed(&record).expect("added");
            assert_eq!(
                extent,
                written.append(draft, *body, length).expect("written")
            );
        }
        let [written, added] = [written, added].map(|file| file.finish().expect("finished"));
        assert_eq!(
            fs::read(written).expect("there"),
            fs::read(added).expect("there")
        );
    }
}

#[test]
fn no_file_is_overwritten() {
    let dir = tempfile::tempdir().expect("a directory");
    let first = create(dir.path());
    let second = ArchiveFile::create(dir.path(), NAME, &drafts()[0].0);
    assert!(matches!(second, Err(ArchiveFileError::Exists { .. })));
    first.finish().expect("finished");
    let third = ArchiveFile::create(dir.path(), NAME, &drafts()[0].0);
    assert!(matches!(third, Err(ArchiveFileError::Exists { .. })));
}

/// Gives some bytes, then fails.
struct Failing(usize);

impl Read for Failing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.0 == 0 {
            return Err(io::Error::other("connection lost"));
        }
        let read = self.0.min(buffer.len());
        // Bytes that do not compress, so that they reach the file before the failure.
        let mut state = self.0 as u64 | 1;
        buffer[..read].fill_with(|| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            state.to_be_bytes()[0]
        });
        self.0 -= read;
        Ok(read)
    }
}

#[test]
fn a_failed_record_is_cut_off_and_the_file_goes_on() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut file = create(dir.path());
    let before = file.length();
    let failed = file.append(&drafts()[2].0, Failing(300_000), 400_000);
    assert!(
        matches!(failed, Err(ArchiveFileError::Record(error)) if error.source.offset == before)
    );
    assert_eq!(
        fs::metadata(open_path(dir.path())).expect("there").len(),
        before
    );
    append_all(&mut file);
    let (records, fault) = read_all(&fs::read(file.finish().expect("finished")).expect("there"));
    assert!(fault.is_none());
    assert_eq!(records.len(), 4);
}

#[test]
fn hostile_names_stay_in_the_directory() {
    let when = date("2026-11-20T06:00:00Z");
    let long = "h".repeat(5000);
    for host in [
        "../../etc/passwd",
        "a/b\\c",
        "evil\0host\n",
        "",
        "..",
        "ünï",
        "C:\\x",
        long.as_str(),
    ] {
        let name = archive_file_name("urldb", &when, 7, host);
        assert!(
            name.starts_with("urldb-20261120060000-00007-") && name.ends_with(".warc.gz"),
            "{name}"
        );
        assert!(
            name.bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b)),
            "{name}"
        );
        assert!(name.len() < 128);
        let dir = tempfile::tempdir().expect("a directory");
        ArchiveFile::create(dir.path(), &name, &drafts()[0].0).expect("usable");
    }
    let dir = tempfile::tempdir().expect("a directory");
    for name in [
        "../x.warc.gz",
        "/x.warc.gz",
        ".warc.gz",
        "x.txt",
        "a b.warc.gz",
    ] {
        let refused = ArchiveFile::create(dir.path(), name, &drafts()[0].0);
        assert!(
            matches!(refused, Err(ArchiveFileError::Name { .. })),
            "{name}"
        );
    }
}

#[test]
fn an_undamaged_left_over_is_recovered_whole() {
    let dir = tempfile::tempdir().expect("a directory");
    let length = leave(dir.path(), b"");
    let file = Some(dir.path().join(NAME));
    let expected = RecoveredFile {
        file,
        records: 4,
        damaged: None,
        fault: None,
    };
    assert_eq!(recover(dir.path()).expect("recovered"), [expected]);
    assert_eq!(
        fs::metadata(dir.path().join(NAME)).expect("there").len(),
        length
    );
    assert_eq!(recover(dir.path()).expect("nothing left"), []);
}

#[test]
fn a_damaged_tail_is_set_aside() {
    for tail in [
        &b"\x1f\x8b\x08\0\0"[..],
        &[0; 100],
        b"\x1f\x8b\x08\0\0\0\0\0\0\xff garbage",
    ] {
        let dir = tempfile::tempdir().expect("a directory");
        let good = leave(dir.path(), tail);
        let recovered = recover(dir.path()).expect("recovered");
        let damaged = dir.path().join(format!("{NAME}.at-{good}.damaged"));
        assert_eq!(recovered[0].records, 4);
        assert_eq!(recovered[0].damaged.as_ref(), Some(&damaged));
        assert!(
            recovered[0]
                .fault
                .as_ref()
                .is_some_and(|fault| fault.contains(&format!("byte {good}")))
        );
        assert_eq!(fs::read(damaged).expect("set aside"), tail);
        let (records, fault) = read_all(&fs::read(dir.path().join(NAME)).expect("kept"));
        assert!(fault.is_none() && records.len() == 4);
    }
}

/// Whatever the moment of the kill, every byte is in one of the two files afterwards.
#[test]
fn nothing_is_lost_wherever_the_file_was_cut() {
    let whole = tempfile::tempdir().expect("a directory");
    leave(whole.path(), b"");
    let bytes = fs::read(open_path(whole.path())).expect("left");
    for cut in (0..bytes.len()).step_by(17) {
        let dir = tempfile::tempdir().expect("a directory");
        fs::write(open_path(dir.path()), &bytes[..cut]).expect("written");
        let recovered = recover(dir.path()).expect("recovered").remove(0);
        let mut found = Vec::new();
        for path in recovered.file.iter().chain(&recovered.damaged) {
            found.extend(fs::read(path).expect("there"));
        }
        assert_eq!(found, bytes[..cut], "cut at {cut}");
        assert!(!open_path(dir.path()).exists());
    }
}

#[test]
fn a_living_file_is_left_alone() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = create(dir.path());
    assert_eq!(recover(dir.path()).expect("looked"), []);
    file.finish().expect("finished");
}

#[test]
fn recovery_does_not_overwrite_a_finished_file() {
    let dir = tempfile::tempdir().expect("a directory");
    leave(dir.path(), b"");
    fs::write(dir.path().join(NAME), "another").expect("written");
    assert!(matches!(
        recover(dir.path()),
        Err(RecoverError::Exists { .. })
    ));
    assert_eq!(fs::read(dir.path().join(NAME)).expect("there"), b"another");

    // With nothing in it there is nothing to keep.
    fs::write(open_path(dir.path()), "").expect("written");
    let recovered = recover(dir.path()).expect("recovered");
    assert_eq!((recovered.len(), recovered[0].records), (1, 0));
    assert_eq!(fs::read(dir.path().join(NAME)).expect("there"), b"another");
    assert!(!open_path(dir.path()).exists());
}

#[test]
fn a_body_of_any_size_is_streamed() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut file = create(dir.path());
    let draft: &RecordDraft = &drafts()[2].0;
    let size = 2 << 20;
    let extent = file
        .append(draft, io::repeat(BODY[0]).take(size), size)
        .expect("appended");
    assert!(extent.length < size / 100);
    let path = file.finish().expect("finished");
    let mut reader = urldb_warc::Reader::open_at(&path, extent.offset).expect("readable");
    let record = reader.next_record().expect("good").expect("there");
    assert_eq!(
        record.header().content_length(),
        Some(size + draft.head.len() as u64)
    );
    assert_eq!(record.finish().expect("closed"), extent);
}

/// Finishes a file, many times, while another process does something again and again.
fn while_a_file_is_finished(mut other: impl FnMut(&Path)) {
    for _ in 0..100 {
        let dir = tempfile::tempdir().expect("a directory");
        let file = create(dir.path());
        std::thread::scope(|scope| {
            let finishing = scope.spawn(|| file.finish().expect("finished"));
            while !finishing.is_finished() {
                other(dir.path());
            }
        });
        let (records, fault) = read_all(&fs::read(dir.path().join(NAME)).expect("there"));
        assert!(records.len() == 1 && fault.is_none());
    }
}

/// Two that begin within one second may want the same name: also just when the one gives its file the
/// final name, the other does not get it.
#[test]
fn the_name_of_a_file_that_is_being_finished_is_taken() {
    while_a_file_is_finished(|dir| {
        let taken = ArchiveFile::create(dir, NAME, &drafts()[0].0).err();
        assert!(
            matches!(taken, Some(ArchiveFileError::Exists { .. })),
            "{taken:?}"
        );
    });
}

/// Who looks for dead files does not take one for dead that has just been finished.
#[test]
fn a_file_that_is_being_finished_is_not_recovered() {
    while_a_file_is_finished(|dir| assert_eq!(recover(dir).expect("looked"), []));
}
