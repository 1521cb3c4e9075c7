//! What other programs wrote, read or refused with a reason.

use std::path::PathBuf;

use urldb_warc::reader::ReadError;
use urldb_warc::{FindingCode, Reader, Version};

/// `None`, with a message, where the samples are not.
fn samples() -> Option<PathBuf> {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/warc-samples");
    if here.is_dir() {
        return Some(here);
    }
    eprintln!("skipped: there is no {}", here.display());
    None
}

/// Type and version of each record, what was noted, and what it ended with.
#[derive(Debug, Default)]
struct Read {
    records: Vec<String>,
    versions: Vec<Version>,
    deviations: Vec<FindingCode>,
    faults: Vec<FindingCode>,
}

fn read(path: &std::path::Path) -> Read {
    let mut reader = Reader::open(path).expect("readable");
    let mut read = Read::default();
    loop {
        match step(&mut reader, &mut read) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => {
                read.faults.push(error.kind.code());
                reader.skip_damage().expect("readable");
            }
        }
    }
    read
}

fn step(reader: &mut Reader<std::fs::File>, read: &mut Read) -> Result<bool, ReadError> {
    let Some(record) = reader.next_record()? else {
        return Ok(false);
    };
    let kind = record.header().get("WARC-Type").unwrap_or("?").to_owned();
    let version = record.version();
    record.finish()?;
    read.records.push(kind);
    read.versions.push(version);
    for note in reader.deviations() {
        if !read.deviations.contains(&note.code) {
            read.deviations.push(note.code);
        }
    }
    Ok(true)
}

/// The file, the first letters of the types of its records, what was noted, what could not be read.
type Row = (
    &'static str,
    &'static str,
    &'static [FindingCode],
    &'static [FindingCode],
);

const TABLE: &[Row] = &[
    ("20130729-heritrix-original.warc.gz", "resp", &[], &[]),
    (
        "20130729-heritrix-revisit-with-http-headers.warc.gz",
        "revi",
        &[],
        &[],
    ),
    (
        "20141124-heritrix-server-not-modified.warc.gz",
        "revi",
        &[FindingCode::LineEnds],
        &[],
    ),
    ("20141129-heritrix-original.warc.gz", "resp", &[], &[]),
    (
        "20141129-heritrix-revisit-with-http-headers-and-new-warc-headers.warc.gz",
        "revi",
        &[],
        &[],
    ),
    ("README.md", "", &[], &[FindingCode::NotAnArchive]),
    // Lengths of -1 and abc.
    (
        "bad.arc",
        "reso",
        &[],
        &[
            FindingCode::NoLength,
            FindingCode::NoLength,
            FindingCode::NoLength,
        ],
    ),
    ("cdx.unsorted.out", "", &[], &[FindingCode::NotAnArchive]),
    (
        "example-bad-non-chunked.warc.gz",
        "warc warc resp requ revi requ",
        &[FindingCode::SharedMember],
        &[],
    ),
    (
        "example-bad.warc.gz.bad",
        "warc resp requ revi requ resp",
        &[FindingCode::SharedMember],
        &[],
    ),
    ("example-digest.warc", "requ requ requ requ", &[], &[]),
    ("example-iana.org-chunked.warc", "warc resp requ", &[], &[]),
    ("example-resource.warc.gz", "warc warc reso", &[], &[]),
    (
        "example-space-in-target-uri.warc.gz",
        "warc reso",
        &[FindingCode::UriSpace],
        &[],
    ),
    // Its line ends were changed, so the record is shorter than it says.
    (
        "example-space-in-url.arc",
        "warc",
        &[FindingCode::LineEnds],
        &[FindingCode::CutOff],
    ),
    (
        "example-trunc.warc",
        "warc warc requ",
        &[],
        &[FindingCode::NotClosed],
    ),
    (
        "example-wget-bad-target-uri.warc.gz",
        "warc requ resp meta reso reso",
        &[],
        &[],
    ),
    (
        "example-wrong-chunks.warc.gz",
        "resp requ",
        &[
            FindingCode::SplitMember,
            FindingCode::LineEnds,
            FindingCode::SharedMember,
        ],
        &[],
    ),
    ("example.arc", "warc resp", &[FindingCode::LineEnds], &[]),
    ("example.arc.gz", "warc resp", &[FindingCode::LineEnds], &[]),
    ("example.warc", "warc warc resp requ revi requ", &[], &[]),
    ("example.warc.gz", "warc warc resp requ revi requ", &[], &[]),
    ("gzip_extra_sl.warc.gz", "warc", &[], &[]),
    (
        "hello-world.warc",
        "warc requ resp meta reso reso",
        &[],
        &[],
    ),
    (
        "hello-world.warc.cdx",
        "",
        &[],
        &[FindingCode::NotAnArchive],
    ),
    (
        "hello-world.warc.gz",
        "warc requ resp meta reso reso",
        &[],
        &[],
    ),
    (
        "post-test.warc.gz",
        "resp requ resp requ resp requ",
        &[],
        &[],
    ),
];

#[test]
fn every_sample_is_read_or_refused_with_a_reason() {
    let Some(dir) = samples() else { return };
    let entries = std::fs::read_dir(&dir).expect("a directory");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("an entry"))
        .filter(|entry| entry.path().is_file())
        .map(|entry| entry.file_name().into_string().expect("text"))
        .collect();
    names.sort();
    assert_eq!(names, TABLE.iter().map(|row| row.0).collect::<Vec<_>>());
    for (name, types, deviations, faults) in TABLE {
        let found = read(&dir.join(name));
        let short: Vec<&str> = found.records.iter().map(|it| &it[..4]).collect();
        assert_eq!(short.join(" "), *types, "{name}");
        assert_eq!(
            (&found.deviations[..], &found.faults[..]),
            (*deviations, *faults),
            "{name}"
        );
        let arc = found.versions.iter().all(|it| *it == Version::Arc);
        let warc = found.versions.iter().all(|it| *it == Version::Warc10);
        assert!(if name.contains(".arc") { arc } else { warc }, "{name}");
    }
}
