//! Damage: what is noticed, and what is found after it.

use std::cell::Cell;
use std::fs;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::Path;
use std::rc::Rc;

use urldb_warc::verify::Verifier;
use urldb_warc::{Compression, DigestAlgorithm, Reader, Record, Writer};

use crate::common::{drafts, gzip, named, read_all, read_around};

#[test]
fn records_after_a_damaged_one_are_found() {
    let records: Vec<Vec<u8>> = (1..5).map(|n| named("1.1", n * 100)).collect();
    let zipped: Vec<Vec<u8>> = records.iter().map(|it| gzip(it)).collect();
    for files in [&records, &zipped] {
        let offset = files[0].len();
        for (at, with) in [(0, b"XXXX"), (3, b"\0\0\0\0"), (140, b"\xff\xff\xff\xff")] {
            let mut file = files.concat();
            file.splice(
                offset + at.min(files[1].len() - 5)..offset + at.min(files[1].len() - 5) + 4,
                with.iter().copied(),
            );
            let (ids, faults) = read_around(&file);
            let lost = usize::from(!faults.is_empty());
            assert!(ids.len() == 4 - lost, "{at}: {ids:?} {faults:?}");
            assert_eq!(ids.last().map(String::as_str), Some("<urn:x:400>"));
        }
    }
}

/// A file that says how much was read of it.
struct Counted {
    file: Cursor<Vec<u8>>,
    read: Rc<Cell<u64>>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.read.set(self.read.get() + read as u64);
        Ok(read)
    }
}

impl Seek for Counted {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

/// Reads a file in which nothing is good to its end, in vain. Returns how many records were tried, and
/// how many bytes were read; but reads no more than ten times the bound.
fn read_baits(bytes: Vec<u8>) -> (usize, u64) {
    let bound = CREDIT + bytes.len() as u64;
    let (file, read) = (Cursor::new(bytes), Rc::new(Cell::new(0)));
    let counted = Rc::clone(&read);
    let mut reader = Reader::new(Counted { file, read }).expect("readable");
    let mut faults = 0;
    while counted.get() < 10 * bound {
        let next = reader.next_record();
        let Err(error) = next.and_then(|record| record.map(Record::finish).transpose()) else {
            break;
        };
        assert!(error.is_damage(), "{error}");
        faults += 1;
        let gap = reader.skip_damage().expect("in memory");
        assert!(gap.expect("damage").length > 0);
    }
    (faults, counted.get())
}

/// How much may be read twice besides the length of the file: as reader/resync.rs has it.
const CREDIT: u64 = 64 << 20;

/// Records within records, each of which says that it goes on to the end: each is tried, and read to
/// the end to no avail. It must not take the square of the time.
#[test]
fn a_file_made_to_be_read_again_and_again_is_not() {
    let bait = b"\nWARC/1.1\r\nContent-Length: 99999999\r\n\r\n";
    let bytes = bait.repeat(40_000)[1..].to_vec();
    let length = bytes.len() as u64;
    let (faults, read) = read_baits(bytes);
    // Once for itself, and twice for what is read ahead.
    assert!(
        read <= CREDIT + 4 * length,
        "{read} bytes read, {faults} faults"
    );
    assert!(read > CREDIT, "{read} bytes were no temptation");
}

/// The same in gzip: each bait begins a member that is stored as it is, and has the next ones in it.
#[test]
fn members_within_members_are_not_read_again_and_again() {
    let header = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
    let stored = [0, 0xff, 0xff, 0, 0];
    let record = b"WARC/1.1\r\nContent-Length: 99999999\r\n\r\n";
    let bytes = [&header[..], &stored, record].concat().repeat(60_000);
    let length = bytes.len() as u64;
    let (faults, read) = read_baits(bytes);
    assert!(
        read <= CREDIT + 4 * length,
        "{read} bytes read, {faults} faults"
    );
    // Each is decompressed up to 64 KiB: that counts as reading.
    assert!((1000..3000).contains(&faults), "{faults} faults");
}

/// What became of a file that was changed.
#[derive(Debug, Default, PartialEq, Eq)]
struct Figures {
    /// There is an error or a warning.
    detected: usize,
    /// The same records come out, and nothing is said.
    harmless: usize,
    /// Other records come out, and nothing is said.
    missed: usize,
}

/// A response and a revisit, with a digest for each block.
fn small(compression: Compression) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), compression);
    for (mut draft, body) in drafts().split_off(2) {
        draft
            .add_block_digest(DigestAlgorithm::Sha256, &mut Cursor::new(body))
            .expect("in memory");
        writer
            .write_draft(&draft, body, body.len() as u64)
            .expect("written");
    }
    writer.get_ref().clone()
}

fn key(url: &str) -> String {
    url.to_owned()
}

fn judge(path: &Path, good: &[u8], bad: &[u8], figures: &mut Figures) {
    fs::write(path, bad).expect("written");
    let mut found = 0;
    let mut count = |_| found += 1;
    let dir = path.parent().expect("a file in a directory");
    let name = path
        .file_name()
        .and_then(|name| name.to_str())
        .expect("text");
    let mut verifier = Verifier::new(&dir, &key, &mut count);
    verifier.file(name, path);
    verifier.finish();
    if found > 0 {
        figures.detected += 1;
    } else if read_all(bad).0 == read_all(good).0 {
        figures.harmless += 1;
    } else {
        figures.missed += 1;
    }
}

/// What cuts and flips of one bit do to an archive.
fn figures(compression: Compression) -> (Figures, Figures) {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("a.warc.gz");
    let good = small(compression);
    let (mut cuts, mut flips) = (Figures::default(), Figures::default());
    for length in 0..good.len() {
        judge(&path, &good, &good[..length], &mut cuts);
    }
    for bit in 0..good.len() * 8 {
        let mut bad = good.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        judge(&path, &good, &bad, &mut flips);
    }
    println!(
        "{compression:?}, {} bytes: cut {cuts:?}, flipped {flips:?}",
        good.len()
    );
    (cuts, flips)
}

/// Between two records a cut leaves an archive that is whole; where its last records went no file can
/// say. Of the bits of a gzip member some mean nothing: its time, its system.
#[test]
fn cuts_and_flips_of_a_gzip_archive_are_detected_or_harmless() {
    let (cuts, flips) = figures(Compression::Gzip);
    assert_eq!((cuts.missed, cuts.harmless), (1, 0));
    assert_eq!(flips.missed, 0);
}

/// Without gzip nothing protects the header of a record but its form: a date may turn into another.
#[test]
fn cuts_of_a_plain_archive_are_detected() {
    let (cuts, flips) = figures(Compression::None);
    assert_eq!((cuts.missed, cuts.harmless), (1, 0));
    assert!(flips.missed < flips.detected / 2, "{flips:?}");
}
