//! Gives the lines of revisits with an empty block the status of the capture whose payload they repeat.
//!
//! A revisit states no status where its block is empty, and programs that read an index expect one. A
//! line with the same key and digest has it: a line of the index, or one of the new lines.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::cursor::{BoxedCursor, LineCursor, MergedLines, SeekCursor};
use super::error::IndexError;
use super::zipnum::key_and_timestamp;
use crate::cdxj::CdxjLine;

/// Lines with one key that are kept in memory to fill in their statuses.
const GROUP: usize = 50_000;

/// Lines without a status that are looked up together.
const PART: usize = 4096;

/// The statuses of the lines with one key, by digest.
type Statuses = HashMap<String, u16>;

/// The lines with one key that lack a status.
#[derive(Default)]
struct LinesWithoutStatus {
    lines: Vec<(Vec<u8>, String)>,
    known: Statuses,
}

impl LinesWithoutStatus {
    fn is_resolved(&self) -> bool {
        let mut digests = self.lines.iter().map(|(_, digest)| digest);
        digests.all(|digest| self.known.contains_key(digest))
    }
}

/// Fills in the statuses of new lines from each other, and then from the segments of the index, which
/// are opened one after another until no status is missing. Of the lines that lack a status, a part is in
/// memory at a time.
pub(super) fn fill<S>(
    new: &mut BTreeSet<Vec<u8>>,
    segments: impl Fn() -> S,
) -> Result<(), IndexError>
where
    S: Iterator<Item = Result<BoxedCursor, IndexError>>,
{
    fill_parts(new, &segments, PART)
}

/// As [`fill`], with about so many lines in a part.
fn fill_parts<S>(
    new: &mut BTreeSet<Vec<u8>>,
    segments: &impl Fn() -> S,
    part: usize,
) -> Result<(), IndexError>
where
    S: Iterator<Item = Result<BoxedCursor, IndexError>>,
{
    let mut start = Some(Vec::new());
    while let Some(from) = start.take() {
        let mut lacking: BTreeMap<Vec<u8>, LinesWithoutStatus> = BTreeMap::new();
        let mut count = 0;
        for line in new.range(from.clone()..) {
            let key = key_of(line);
            if count >= part && !lacking.contains_key(key) {
                start = Some(key.to_vec());
                break;
            }
            if may_lack_status(line)
                && let Some(parsed) = parse(line).filter(|it| it.status.is_none())
            {
                let of_key = lacking.entry(key.to_vec()).or_default();
                of_key.lines.push((line.clone(), parsed.digest));
                count += 1;
            }
        }
        if lacking.is_empty() {
            continue;
        }
        let is_of_part = |line: &&Vec<u8>| start.as_ref().is_none_or(|end| *line < end);
        for line in new.range(from..).take_while(is_of_part) {
            if let Some(of_key) = lacking.get_mut(key_of(line)) {
                add_status(line, &mut of_key.known);
            }
        }
        fill_lacking(new, lacking, segments())?;
    }
    Ok(())
}

fn fill_lacking(
    new: &mut BTreeSet<Vec<u8>>,
    mut lacking: BTreeMap<Vec<u8>, LinesWithoutStatus>,
    mut segments: impl Iterator<Item = Result<BoxedCursor, IndexError>>,
) -> Result<(), IndexError> {
    while !lacking.values().all(LinesWithoutStatus::is_resolved)
        && let Some(cursor) = segments.next()
    {
        look_up(&mut lacking, &mut *cursor?)?;
    }
    for LinesWithoutStatus { lines, known } in lacking.into_values() {
        for (line, _) in lines {
            if let Some(filled) = filled(&line, &known) {
                new.remove(&line);
                new.insert(filled);
            }
        }
    }
    Ok(())
}

/// Looks all keys up, in order, so that each block is read once.
fn look_up(
    lacking: &mut BTreeMap<Vec<u8>, LinesWithoutStatus>,
    cursor: &mut dyn SeekCursor,
) -> Result<(), IndexError> {
    for (key, of_key) in lacking.iter_mut().filter(|(_, it)| !it.is_resolved()) {
        let target = [key, &b" "[..]].concat();
        cursor.seek_forward(&target)?;
        while let Some(line) = cursor.line()
            && line.starts_with(&target)
        {
            add_status(line, &mut of_key.known);
            cursor.advance()?;
        }
    }
    Ok(())
}

/// Passes all merged lines on, those of revisits with their statuses. The lines with one key may be in
/// any of the merged segments, so they are looked at together: all of them, or [`GROUP`] at a time.
pub(super) fn pass_on_filled<C: LineCursor>(
    lines: &mut MergedLines<C>,
    write: &mut dyn FnMut(&[u8]) -> Result<(), IndexError>,
) -> Result<(), IndexError> {
    let mut group = LineGroup::default();
    while let Some((line, _)) = lines.next()? {
        if group.must_end_before(line) {
            group.end(write)?;
        }
        group.add(line);
    }
    group.end(write)
}

#[derive(Default)]
struct LineGroup {
    lines: Vec<Vec<u8>>,
    lacks_status: bool,
    known: Statuses,
    /// The key of the lines in `known`.
    key: Vec<u8>,
}

impl LineGroup {
    fn must_end_before(&self, line: &[u8]) -> bool {
        let Some(last) = self.lines.last() else {
            return false;
        };
        // Lines of one second may change their order when they get a status.
        let is_of_same_second = key_and_timestamp(last) == key_and_timestamp(line);
        key_of(last) != key_of(line)
            || self.lines.len() >= GROUP && !is_of_same_second
            || self.lines.len() >= 4 * GROUP
    }

    fn add(&mut self, line: &[u8]) {
        self.lacks_status |= may_lack_status(line);
        self.lines.push(line.to_vec());
    }

    fn end(
        &mut self,
        write: &mut dyn FnMut(&[u8]) -> Result<(), IndexError>,
    ) -> Result<(), IndexError> {
        let Some(first) = self.lines.first() else {
            return Ok(());
        };
        if self.key != key_of(first) {
            self.key = key_of(first).to_vec();
            self.known.clear();
        }
        let is_short = self.lines.len() < 4 * GROUP;
        if self.lacks_status && is_short {
            for line in &self.lines {
                add_status(line, &mut self.known);
            }
            for line in &mut self.lines {
                if let Some(filled) = filled(line, &self.known) {
                    *line = filled;
                }
            }
            self.lines.sort_unstable();
            self.lines.dedup();
        }
        self.lacks_status = false;
        self.lines.drain(..).try_for_each(|line| write(&line))
    }
}

/// Whether the line is that of a revisit without a status, as this crate and pywb render it.
fn may_lack_status(line: &[u8]) -> bool {
    let has = |text: &str| memchr::memmem::find(line, text.as_bytes()).is_some();
    has("\"mime\": \"warc/revisit\"") && !has("\"status\": \"")
}

fn key_of(line: &[u8]) -> &[u8] {
    let end = memchr::memchr(b' ', line).unwrap_or(line.len());
    &line[..end]
}

fn parse(line: &[u8]) -> Option<CdxjLine> {
    CdxjLine::parse(std::str::from_utf8(line).ok()?).ok()
}

/// Adds the status of a line with this key. Captures have it, and so have revisits that were filled in.
fn add_status(line: &[u8], known: &mut Statuses) {
    if let Some(line) = parse(line)
        && let Some(status) = line.status
    {
        known.insert(line.digest, status);
    }
}

fn filled(line: &[u8], known: &Statuses) -> Option<Vec<u8>> {
    if !may_lack_status(line) {
        return None;
    }
    let mut parsed = parse(line).filter(|line| line.status.is_none())?;
    parsed.status = Some(*known.get(&parsed.digest)?);
    Some(parsed.render().ok()?.into_bytes())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use super::*;
    use crate::index::cursor::MemoryCursor;

    /// The lines of an index.
    struct Known {
        lines: BTreeSet<Vec<u8>>,
        rest: MemoryCursor,
    }

    impl LineCursor for Known {
        fn line(&self) -> Option<&[u8]> {
            self.rest.line()
        }

        fn advance(&mut self) -> Result<(), IndexError> {
            self.rest.advance()
        }

        fn position(&self) -> (&Path, u64) {
            self.rest.position()
        }
    }

    impl SeekCursor for Known {
        fn seek(&mut self, target: &[u8]) -> Result<(), IndexError> {
            let rest = self.lines.range(target.to_vec()..).cloned();
            self.rest = MemoryCursor::new(rest.collect());
            Ok(())
        }
    }

    /// A line of a capture or of a revisit without a status.
    fn line() -> impl Strategy<Value = Vec<u8>> {
        (0..6u8, 0..4u8, 0..3u8, any::<bool>()).prop_map(|(key, second, digest, is_revisit)| {
            let digest = ["sha256:AA", "sha256:BB", "sha256:CC"][usize::from(digest)];
            let what = if is_revisit {
                r#""mime": "warc/revisit""#
            } else {
                r#""mime": "text/csv", "status": "200""#
            };
            format!(
                r#"org,example)/{key} 2026112006000{second} {{"url": "http://example.org/{key}", {what}, "digest": "{digest}", "length": "9", "offset": "0", "filename": "a.warc.gz"}}"#
            )
            .into_bytes()
        })
    }

    fn is_filled(line: &[u8]) -> bool {
        parse(line).unwrap().status.is_some()
    }

    proptest! {
        #[test]
        fn parts_of_any_size_give_the_same(
            new in prop::collection::btree_set(line(), 0..30),
            known in prop::collection::btree_set(line(), 0..30),
            part in 1..8usize,
        ) {
            let filled_by = |part| {
                let mut lines = new.clone();
                let segments = || {
                    let cursor = Known {
                        lines: known.clone(),
                        rest: MemoryCursor::new(BTreeSet::new()),
                    };
                    std::iter::once(Ok(Box::new(cursor) as BoxedCursor))
                };
                fill_parts(&mut lines, &segments, part).unwrap();
                lines
            };
            let at_once = filled_by(usize::MAX);
            prop_assert_eq!(&filled_by(part), &at_once);
            let with_status: BTreeSet<&Vec<u8>> = new.iter().chain(&known).filter(|it| is_filled(it)).collect();
            for line in at_once.iter().filter(|line| !is_filled(line)) {
                let digest = parse(line).unwrap().digest;
                let mut same = with_status.iter().filter(|known| key_of(known) == key_of(line));
                prop_assert!(same.all(|known| parse(known).unwrap().digest != digest));
            }
        }
    }
}
