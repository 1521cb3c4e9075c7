//! The sizes up to which domain files are read. Files are read in chunks of a few records, so none of these
//! sizes is ever in memory, unless the records of a file are not in order.

use std::io;

use urldb_files::Limit;

use crate::split::LineKind;

/// Most bytes of a domain file.
pub const LARGEST_FILE: Limit = Limit::mib(512);

/// Most records of a domain file.
pub(crate) const MOST_RECORDS: u64 = 3_000_000;

/// Most bytes of a line, without its line break.
pub(crate) const LONGEST_LINE: usize = 1 << 20;

/// Most bytes of a document, with the comments above it.
pub(crate) const LONGEST_RECORD: usize = 4_000_000;

/// A size beyond a limit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TooLarge {
    #[error("it has {0} bytes, and urldb reads at most {LARGEST_FILE}")]
    File(u64),
    #[error("it has {0} records or more, and urldb reads at most 3000000")]
    Records(u64),
    #[error("line {0} is longer than 1 MiB")]
    Line(usize),
    #[error("the record at line {0} is longer than 4 MB, with the comments above it")]
    Record(usize),
}

impl From<TooLarge> for io::Error {
    fn from(too_large: TooLarge) -> Self {
        Self::new(io::ErrorKind::FileTooLarge, too_large)
    }
}

impl TooLarge {
    /// The exceeded limit behind `error`, if there is one.
    pub(crate) fn of(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }

    /// The same in a text that has these lines before.
    fn after(self, lines: usize) -> Self {
        match self {
            Self::Line(line) => Self::Line(line + lines),
            Self::Record(line) => Self::Record(line + lines),
            other => other,
        }
    }
}

/// Checks the length of a file.
pub(crate) fn check_file(bytes: u64) -> Result<(), TooLarge> {
    if bytes > LARGEST_FILE.get() {
        return Err(TooLarge::File(bytes));
    }
    Ok(())
}

/// Checks the number of records up to now.
pub(crate) fn check_records(records: u64) -> Result<(), TooLarge> {
    if records > MOST_RECORDS {
        return Err(TooLarge::Records(records));
    }
    Ok(())
}

/// Checks lines and records of whole documents with these lines before.
pub(crate) fn check(bytes: &[u8], lines_before: usize) -> Result<(), TooLarge> {
    if bytes.len() <= LONGEST_LINE {
        return Ok(());
    }
    check_lines(bytes)
        .and_then(|documents| check_records(documents.saturating_sub(1)))
        .map_err(|too_large| too_large.after(lines_before))
}

/// Checks each line and each document. Returns the number of documents.
fn check_lines(bytes: &[u8]) -> Result<u64, TooLarge> {
    /// A line, from 1, and its offset.
    type Place = (usize, usize);
    let (mut document, mut offset, mut documents): (Place, usize, u64) = ((1, 0), 0, 0);
    // The first of the comments after the last content; they belong to the next document.
    let mut comment: Option<Place> = None;
    let ends = |(line, start): Place, end: usize| match end - start {
        ..=LONGEST_RECORD => Ok(()),
        _ => Err(TooLarge::Record(line)),
    };
    for (index, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let here = (index + 1, offset);
        offset += line.len();
        if line.trim_ascii_end().len() > LONGEST_LINE {
            return Err(TooLarge::Line(here.0));
        }
        match LineKind::of(line) {
            LineKind::Comment => comment = comment.or(Some(here)),
            LineKind::Blank => {}
            LineKind::Marker => {
                let start = comment.take().unwrap_or(here);
                ends(document, start.1)?;
                document = start;
                documents += 1;
            }
            LineKind::Content => comment = None,
        }
    }
    if let Some(comment) = comment {
        ends(document, comment.1)?;
        document = comment;
    }
    ends(document, offset)?;
    Ok(documents)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use urldb_text::{Code, Finding};

    use super::*;
    use crate::{DomainFile, fold};

    /// Code and line of the only finding, if there is one: of the bytes, of the file read whole, and of its
    /// documents.
    fn found(text: &str) -> Option<(Code, usize)> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("example.org.yaml");
        std::fs::write(&path, text).unwrap();
        let of = |findings: &[Finding]| {
            assert!(findings.len() <= 1, "{findings:?}");
            findings.first().map(|finding| (finding.code, finding.line))
        };
        let parsed = of(&DomainFile::parse(&path, text.as_bytes()).findings);
        assert_eq!(of(&DomainFile::read_or_report(&path).findings), parsed);
        let seen = fold(&path, Vec::new, |findings, document| {
            findings.extend_from_slice(document.findings());
        });
        assert_eq!(of(&seen), parsed);
        let is_clean = DomainFile::is_clean(&path, text.as_bytes(), &[]);
        assert!(parsed.is_none() || !is_clean);
        parsed
    }

    /// A record of this length.
    fn record(path: &str, length: usize) -> String {
        let mut text = format!("---\n_path: {path}\n");
        while length - text.len() > 1000 {
            let number = text.len();
            writeln!(text, "key-{number:07}: {}", "v".repeat(800)).unwrap();
        }
        let rest = length - text.len() - "z: \n".len();
        writeln!(text, "z: {}", "v".repeat(rest)).unwrap();
        text
    }

    #[test]
    fn each_limit_is_exact() {
        let small = "---\n---\n_path: /\n";
        for (over, is_over) in [(0, false), (1, true)] {
            let expect = |text: &str, code, line| {
                assert_eq!(
                    found(text),
                    is_over.then_some((code, line)),
                    "{over}: {text:.60}"
                );
            };
            let name = "n".repeat(LONGEST_LINE - "name: ".len() + over);
            for end in ["", "\r\n"] {
                expect(&format!("{small}name: {name}{end}"), Code::LineTooLong, 4);
            }
            let large = record("/a", LONGEST_RECORD + over);
            expect(&format!("{small}{large}"), Code::RecordTooLong, 4);
            let end = "---\n_path: /b\n";
            expect(&format!("{small}{large}{end}"), Code::RecordTooLong, 4);
            let comments = "# c\n".repeat(250_000);
            let rest = record("/a", LONGEST_RECORD - comments.len() + over);
            expect(&format!("{small}{comments}{rest}"), Code::RecordTooLong, 4);
            let footer = "# c\n".repeat(LONGEST_RECORD / 4) + &"#".repeat(over);
            expect(&format!("{small}{footer}"), Code::RecordTooLong, 4);
            assert_eq!(check_records(MOST_RECORDS + over as u64).is_err(), is_over);
            assert_eq!(
                check_file(LARGEST_FILE.get() + over as u64).is_err(),
                is_over
            );
        }
    }
}
