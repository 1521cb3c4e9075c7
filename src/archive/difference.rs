//! The difference between two archived contents: its place, and the changed lines if both are text.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::time::Duration;

use similar::{ChangeTag, DiffOp, DiffTag, TextDiff};
use urldb_protocol::TextDifference;
use urldb_text::Shown;

use super::{Catalogue, Payload};

/// The largest texts that are compared line by line, in bytes and lines: the comparison takes several
/// times their memory.
pub const LONGEST_TEXT: u64 = 8 << 20;
/// See [`LONGEST_TEXT`].
pub const MOST_TEXT_LINES: usize = 500_000;

/// The largest contents that are copied out of the archive for the evidence of an incident, in bytes.
const LONGEST_CONTENT: u64 = 256 << 20;

/// Most lines of a difference in the evidence, unchanged lines around a change, and characters of a
/// line.
const MOST_LINES: usize = 20;
const CONTEXT: usize = 1;
const LONGEST_LINE: usize = 200;

/// After this time the differences of evidence need not be the smallest.
const PATIENCE: Duration = Duration::from_secs(1);

/// Two contents that the archive may have: the promised and the observed one.
#[derive(Debug)]
pub struct ContentPair {
    /// The URIs under which they may be archived.
    pub uris: Vec<String>,
    /// SHA-256 of the promised bytes.
    pub promised: [u8; 32],
    /// SHA-256 of the observed bytes, as sent.
    pub observed: [u8; 32],
    /// Length of the longer one in bytes.
    pub length: u64,
}

/// The difference between two contents.
#[derive(Debug)]
pub struct Difference {
    /// The first byte that differs, from 0.
    pub first: u64,
    /// The lines that differ, if both contents are text.
    pub text: Option<TextDifference>,
}

impl ContentPair {
    /// Compares the contents; `None` if the archive does not have both, if they are the same, or if they
    /// are too large.
    ///
    /// # Errors
    /// When the archive is damaged, or a file of it is missing.
    pub fn compare(&self, catalogue: &Catalogue) -> anyhow::Result<Option<Difference>> {
        if self.length > LONGEST_CONTENT {
            return Ok(None);
        }
        let promised = catalogue.content_of(&self.uris, self.promised)?;
        let observed = catalogue.content_of(&self.uris, self.observed)?;
        let (Some(promised), Some(observed)) = (promised, observed) else {
            return Ok(None);
        };
        let (mut old, mut new) = (copy_of(&promised)?, copy_of(&observed)?);
        let Some(first) = first_difference(from_start(&mut old)?, from_start(&mut new)?)? else {
            return Ok(None);
        };
        let text = match (content(&mut old)?, content(&mut new)?) {
            (Content::Text(old), Content::Text(new)) => Some(text_difference(&old, &new)),
            _ => None,
        };
        Ok(Some(Difference { first, text }))
    }
}

fn copy_of(payload: &Payload<'_>) -> anyhow::Result<File> {
    payload.from_good_copy(|| {
        let file = urldb_files::unnamed_file()?;
        let mut output = BufWriter::new(&file);
        payload.copy_to(&mut output)?;
        output.flush()?;
        drop(output);
        Ok(file)
    })
}

fn from_start(file: &mut File) -> io::Result<BufReader<&mut File>> {
    file.seek(SeekFrom::Start(0))?;
    Ok(BufReader::new(file))
}

/// The kind of a content: lines, or bytes that are no text.
pub enum Content {
    /// Text of at most [`LONGEST_TEXT`] and [`MOST_TEXT_LINES`].
    Text(String),
    /// Longer than that.
    TooLong,
    /// No text.
    Binary,
}

/// The content of a file, read from its start.
///
/// # Errors
/// When the file cannot be read.
pub fn content(file: &mut File) -> io::Result<Content> {
    if file.metadata()?.len() > LONGEST_TEXT {
        return Ok(Content::TooLong);
    }
    let mut bytes = vec![];
    from_start(file)?.read_to_end(&mut bytes)?;
    let text = String::from_utf8(bytes).ok();
    Ok(match text.filter(|text| !text.contains('\0')) {
        None => Content::Binary,
        Some(text) if text.lines().count() > MOST_TEXT_LINES => Content::TooLong,
        Some(text) => Content::Text(text),
    })
}

/// The offset of the first difference, in bytes.
///
/// # Errors
/// When one of them cannot be read.
pub fn first_difference(mut old: impl BufRead, mut new: impl BufRead) -> io::Result<Option<u64>> {
    let mut offset = 0;
    loop {
        let (one, other) = (old.fill_buf()?, new.fill_buf()?);
        let both = one.len().min(other.len());
        if let Some(at) = one.iter().zip(other).position(|(one, other)| one != other) {
            return Ok(Some(offset + at as u64));
        }
        if both == 0 {
            return Ok((one.len() != other.len()).then_some(offset));
        }
        old.consume(both);
        new.consume(both);
        offset += both as u64;
    }
}

/// The lines that differ, at most [`MOST_LINES`] of them, and their number.
fn text_difference(old: &str, new: &str) -> TextDifference {
    let diff = TextDiff::configure().timeout(PATIENCE).diff_lines(old, new);
    let (mut added, mut removed) = (0, 0);
    for change in diff.iter_all_changes() {
        match change.tag() {
            ChangeTag::Insert => added += 1,
            ChangeTag::Delete => removed += 1,
            ChangeTag::Equal => {}
        }
    }
    let lines_before = old.lines().count() as u64;
    let is_whole_line = old.is_empty() || old.ends_with('\n');
    let is_appended = is_whole_line && new.starts_with(old);
    let context = if is_appended { 0 } else { CONTEXT };
    let groups = diff.grouped_ops(context);
    // Of lines in place of others, both are shown.
    let most_of = |op: &DiffOp| match op.tag() {
        DiffTag::Replace => MOST_LINES / 2,
        _ => MOST_LINES,
    };
    let ops = groups.iter().flatten();
    let changes = ops.flat_map(|op| {
        let (mut old, mut new) = (0, 0);
        diff.iter_changes(op).filter(move |change| {
            let count = match change.tag() {
                ChangeTag::Insert => &mut new,
                _ => &mut old,
            };
            *count += 1;
            *count <= most_of(op)
        })
    });
    let lines = changes.take(MOST_LINES).map(|change| {
        let mark = match change.tag() {
            ChangeTag::Insert => '+',
            ChangeTag::Delete => '-',
            ChangeTag::Equal => ' ',
        };
        shown(mark, change.value())
    });
    TextDifference {
        added,
        removed,
        appended_after: is_appended.then_some(lines_before),
        lines: lines.collect(),
    }
}

/// A line of a server, cut where it is long.
fn shown(mark: char, line: &str) -> Shown {
    let line = Shown::new(line.trim_end_matches(['\n', '\r']), LONGEST_LINE + 1);
    match line.char_indices().nth(LONGEST_LINE) {
        Some((end, _)) => Shown::new(&format!("{mark}{}…", &line[..end]), LONGEST_LINE + 2),
        None => Shown::new(&format!("{mark}{line}"), LONGEST_LINE + 2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn appended_lines_are_told_apart_from_others() {
        let appended = text_difference("a\nb\n", "a\nb\nc\nd\n");
        assert_eq!(appended.appended_after, Some(2));
        assert_eq!(appended.lines, ["+c", "+d"]);
        assert_eq!((appended.added, appended.removed), (2, 0));
        let changed = text_difference("a\nb\nc\n", "a\nx\tz\nc\n");
        assert_eq!(changed.appended_after, None);
        assert_eq!(changed.lines, [" a", "-b", "+x\tz", " c"]);
        let cut = text_difference("a", "ab\n");
        assert_eq!((cut.appended_after, cut.added, cut.removed), (None, 1, 1));
    }

    #[test]
    fn long_differences_are_cut_and_counted() {
        let new = format!("{}\n", "x".repeat(900)).repeat(100);
        let difference = text_difference("", &new);
        assert_eq!(
            (difference.added, difference.lines.len()),
            (100, MOST_LINES)
        );
        assert!(
            difference
                .lines
                .iter()
                .all(|line| line.chars().count() <= LONGEST_LINE + 2)
        );
        let (old, new) = ("old\n".repeat(30), "new\n".repeat(30));
        let rewritten = text_difference(&old, &new);
        assert_eq!((rewritten.removed, rewritten.lines.len()), (30, MOST_LINES));
        let is_new = |line: &&Shown| line.starts_with('+');
        assert_eq!(
            rewritten.lines.iter().filter(is_new).count(),
            MOST_LINES / 2
        );
        let evil = text_difference("", "\u{1b}[2Jx\n");
        assert!(!evil.lines[0].contains('\u{1b}'), "{:?}", evil.lines);
    }

    #[test]
    fn the_first_difference_is_found() {
        let first =
            |old: &str, new: &str| first_difference(old.as_bytes(), new.as_bytes()).unwrap();
        assert_eq!(first("abc", "abd"), Some(2));
        assert_eq!(first("abc", "abcd"), Some(3));
        assert_eq!(first("abc", "abc"), None);
        assert_eq!(first("", "a"), Some(0));
    }
}
