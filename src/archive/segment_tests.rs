//! Records of any length, in segments of any size and files of any size and order, come back as they were.

use std::collections::BTreeMap;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::Path;

use proptest::prelude::*;
use urldb_warc::cdxj::CONTINUATION_MIME;
use urldb_warc::draft::{Exchange, TruncationReason};
use urldb_warc::index::index_lines_of;
use urldb_warc::index::rebuild_index;
use urldb_warc::segment::{SegmentPosition, StoredSegments};
use urldb_warc::verify::verify_archive;
use urldb_warc::{Digest, DigestAlgorithm, Reader, RecordId, RecordType, Version};

use super::output_files::{OutputFiles, Provenance};
use super::pending_record::{PendingRecord, RecordOptions, RecordPacker};
use super::{ArchiveFiles, CaptureQuery, Catalogue, Keys, VariantChoice};
use crate::ambient::Ambient;
use crate::config::{self, Config};

const DATE: &str = "2026-11-20T06:00:00Z";

/// An exchange: the lengths of both bodies, and whether the response broke off.
#[derive(Clone, Debug)]
struct Case {
    response: usize,
    request: usize,
    is_truncated: bool,
}

/// Bytes that do not compress, so that files grow.
fn bytes(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_be_bytes()[0]
    };
    std::iter::repeat_with(next).take(length).collect()
}

fn url(number: usize) -> String {
    format!("http://a.test/{number}")
}

fn head(length: usize) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n").into_bytes()
}

/// Writes the exchanges, and returns the block of each record by its id.
fn write(config: &Config, cases: &[Case]) -> anyhow::Result<BTreeMap<String, Vec<u8>>> {
    let (options, folder) = (&config.archive, config.archive_root());
    let (mut files, _) =
        OutputFiles::open(&folder, options, Provenance::default(), Ambient::SYSTEM)?;
    let mut packer = RecordPacker::new(RecordOptions::new(options));
    let mut blocks = BTreeMap::new();
    for (number, case) in cases.iter().enumerate() {
        let seed = number as u64 * 2;
        let bodies = [bytes(case.response, seed), bytes(case.request, seed + 1)];
        let ids = [(); 2].map(|()| RecordId::from_random((Ambient::SYSTEM.random)()));
        let (uri, date) = (url(number), DATE.parse()?);
        let exchange = Exchange {
            target_uri: &uri,
            date: &date,
            ip_address: None,
            protocols: &[],
        };
        let payload = Digest::of(options.digest, bodies[0].as_slice())?.0;
        let truncated = case.is_truncated.then_some(TruncationReason::Disconnect);
        let response = exchange.response(&ids[0], head(case.response), &payload, truncated)?;
        let request = exchange.request(&ids[1], &ids[0], b"GET / HTTP/1.1\r\n\r\n".to_vec())?;
        for ((id, draft), body) in ids.iter().zip([&response, &request]).zip(&bodies) {
            blocks.insert(id.as_str().to_owned(), [&*draft.head, body].concat());
        }
        let length = case.response as u64;
        let response = PendingRecord {
            block_digest: Some(options.digest),
            ..PendingRecord::new(response, Cursor::new(&bodies[0]), length)
        };
        let request = PendingRecord::of_bytes(request, &bodies[1]);
        let records = [response, request].map(|record| packer.pack(record));
        files.append(records.into_iter().collect::<anyhow::Result<_>>()?)?;
    }
    files.finish()?;
    Ok(blocks)
}

fn archive_files(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("readable");
    let names = entries.map(|entry| {
        let name = entry.expect("readable").file_name();
        name.into_string().expect("plain")
    });
    let mut names: Vec<_> = names.filter(|name| name.ends_with(".warc.gz")).collect();
    names.sort();
    names
}

/// Puts the files into another order, by names of which `order` has the first letters.
fn rename(folder: &Path, order: &[u8]) {
    for (at, name) in archive_files(folder).iter().enumerate() {
        let first = order.get(at).copied().unwrap_or_default();
        let new = format!("urldb-{first:03}-{at}.warc.gz");
        std::fs::rename(folder.join(name), folder.join(new)).expect("renamed");
    }
}

/// The positions of all continuations.
fn continuations(folder: &Path, names: &[String]) -> Vec<SegmentPosition> {
    let lines = names.iter().flat_map(|name| {
        let lines = index_lines_of(&folder.join(name), &Keys);
        lines.expect("good")
    });
    let continuations = lines.filter(|line| line.mime == CONTINUATION_MIME);
    continuations
        .map(|line| (line.filename, line.extent.offset))
        .collect()
}

/// The blocks of all records that are no continuations, joined.
fn joined(folder: &Path, names: &[String]) -> BTreeMap<String, Vec<u8>> {
    let mut blocks = BTreeMap::new();
    for name in names {
        let mut reader = Reader::open(&folder.join(name)).expect("an archive");
        while let Some(mut record) = reader.next_record().expect("good") {
            let kind = record.record_type();
            let id = record.header().get("WARC-Record-ID").expect("an id");
            let id = id.trim_matches(['<', '>']).to_owned();
            let (offset, mut block) = (record.offset(), vec![]);
            record.read_to_end(&mut block).expect("good");
            record.finish().expect("good");
            if matches!(kind, Some(RecordType::Warcinfo | RecordType::Continuation)) {
                continue;
            }
            let segments =
                StoredSegments::read(&folder, continuations(folder, names), name, offset);
            let segments = segments.expect("readable");
            if let Some(segments) = segments {
                assert_eq!(segments.problem(), None);
                block.clear();
                let mut all = segments.blocks(&folder).expect("readable");
                all.read_to_end(&mut block).expect("good");
            }
            blocks.insert(id, block);
        }
    }
    blocks
}

fn get(catalogue: &Catalogue, url: &str) -> anyhow::Result<Vec<u8>> {
    let payload = catalogue.find_payload(CaptureQuery {
        url,
        request: None,
        variant: VariantChoice::Like(None),
        at: None,
        sha256: None,
        any: true,
    })?;
    let mut bytes = vec![];
    payload.copy_to(&mut bytes)?;
    Ok(bytes)
}

fn check(config: &Config, cases: &[Case], blocks: &BTreeMap<String, Vec<u8>>) {
    let folder = config.archive_root().path().to_owned();
    let mut findings = vec![];
    let mut note = |finding| findings.push(finding);
    let verified = verify_archive(&folder, &Keys, &mut note).expect("readable");
    assert!(findings.is_empty(), "{findings:?} {verified:?}");
    assert_eq!(&joined(&folder, &archive_files(&folder)), blocks);
    let files = ArchiveFiles::on_this_machine(config).expect("an archive");
    let catalogue = Catalogue::open(files).expect("an index");
    for (number, case) in cases.iter().enumerate() {
        let got = get(&catalogue, &url(number)).expect("archived");
        assert!(got == bytes(case.response, number as u64 * 2), "{case:?}");
    }
}

fn length() -> impl Strategy<Value = usize> {
    prop_oneof![4 => 0..4_000usize, 1 => 65_000..70_000usize]
}

fn case() -> impl Strategy<Value = Case> {
    (length(), length(), any::<bool>()).prop_map(|(response, request, is_truncated)| Case {
        response,
        request,
        is_truncated,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn every_record_comes_back(
        cases in prop::collection::vec(case(), 1..6),
        segment_size in prop_oneof![60..300u64, 300..40_000u64],
        max_size in 1..100_000u64,
        version in prop_oneof![Just(Version::Warc11), Just(Version::Warc10), Just(Version::Warc09)],
        digest in prop_oneof![Just(DigestAlgorithm::Sha256), Just(DigestAlgorithm::Sha1)],
        skip_lengths in any::<bool>(),
        order in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let root = tempfile::tempdir().expect("a folder");
        // Many tiny segments take long, and show no more than a few hundred.
        let most = cases.iter().map(|it| it.response.max(it.request)).max().unwrap_or_default();
        let archive = config::Archive {
            segment_size: Some(segment_size.max(most as u64 / 100)),
            max_size: max_size.max(most as u64 / 20),
            version,
            digest,
            skip_lengths,
            ..config::Archive::default()
        };
        let config = Config { root: root.path().to_owned(), archive, ..Config::default() };
        let blocks = write(&config, &cases).expect("written");
        prop_assert_eq!(blocks.len(), 2 * cases.len());
        check(&config, &cases, &blocks);
        let folder = config.archive_root().path().to_owned();
        rename(&folder, &order);
        std::fs::remove_dir_all(folder.join("index")).expect("removed");
        rebuild_index(&folder, &Keys).expect("an index");
        check(&config, &cases, &blocks);
    }
}

/// A body of which only the beginning can be read, such as one on a disk that fails.
struct Failing(Cursor<Vec<u8>>);

impl Read for Failing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read(buffer)?;
        if self.0.position() > 2_500 {
            return Err(io::Error::other("the disk failed"));
        }
        Ok(read)
    }
}

impl Seek for Failing {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        self.0.seek(position)
    }
}

/// The segments before the failure are cut off, and the file goes on with the next record.
#[test]
fn a_record_that_fails_leaves_no_segment() {
    let root = tempfile::tempdir().expect("a folder");
    let archive = config::Archive {
        segment_size: Some(1_000),
        ..config::Archive::default()
    };
    let (options, root) = (archive.clone(), root.path().to_owned());
    let config = Config {
        root,
        archive,
        ..Config::default()
    };
    let folder = config.archive_root();
    let opened = OutputFiles::open(&folder, &options, Provenance::default(), Ambient::SYSTEM);
    let (mut files, _) = opened.expect("opened");
    let mut packer = RecordPacker::new(RecordOptions::new(&options));
    let mut blocks = BTreeMap::new();
    for number in 0..3 {
        let (id, body) = (RecordId::from_random([number; 16]), bytes(5_000, 7));
        let (uri, date) = (url(number.into()), DATE.parse().expect("a date"));
        let exchange = Exchange {
            target_uri: &uri,
            date: &date,
            ip_address: None,
            protocols: &[],
        };
        let payload = Digest::of(options.digest, body.as_slice()).expect("in memory");
        let draft = exchange.response(&id, head(5_000), &payload.0, None);
        let draft = draft.expect("valid");
        let block = [&*draft.head, &body].concat();
        let fails = number == 1;
        let record = if fails {
            PendingRecord::new(draft, Failing(Cursor::new(body)), 5_000)
        } else {
            blocks.insert(id.as_str().to_owned(), block);
            PendingRecord::new(draft, Cursor::new(body), 5_000)
        };
        let records = vec![packer.pack(record).expect("segmented")];
        assert_eq!(files.append(records).is_err(), fails);
    }
    files.finish().expect("finished");
    check(&config, &[], &blocks);
}
