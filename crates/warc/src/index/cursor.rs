//! Cursors over sorted lines, and their merge.

use std::collections::btree_set;
use std::io::{self, BufRead, Seek, SeekFrom};
use std::path::Path;

use super::error::IndexError;
use super::lines::read_line;
use super::zipnum::invalid;
use crate::fs::at;

/// A position in sorted lines.
pub(crate) trait LineCursor {
    /// The current line, without a line end; `None` at the end, and before the first move.
    fn line(&self) -> Option<&[u8]>;

    /// Moves to the next line. After an error the cursor must not be used.
    fn advance(&mut self) -> Result<(), IndexError>;

    /// The file with the current line and an offset in the file, for messages.
    fn position(&self) -> (&Path, u64);
}

/// A cursor that can be moved.
pub(crate) trait SeekCursor: LineCursor {
    /// Moves to the first line that is not less than `target`.
    fn seek(&mut self, target: &[u8]) -> Result<(), IndexError>;

    /// As [`SeekCursor::seek`], for a target that is not less than that of the last call.
    fn seek_forward(&mut self, target: &[u8]) -> Result<(), IndexError> {
        self.seek(target)
    }
}

impl<C: LineCursor + ?Sized> LineCursor for Box<C> {
    fn line(&self) -> Option<&[u8]> {
        (**self).line()
    }

    fn advance(&mut self) -> Result<(), IndexError> {
        (**self).advance()
    }

    fn position(&self) -> (&Path, u64) {
        (**self).position()
    }
}

pub(super) struct MemoryCursor {
    lines: btree_set::IntoIter<Vec<u8>>,
    line: Option<Vec<u8>>,
}

impl MemoryCursor {
    pub(super) fn new(lines: std::collections::BTreeSet<Vec<u8>>) -> Self {
        let mut lines = lines.into_iter();
        let line = lines.next();
        Self { lines, line }
    }
}

impl LineCursor for MemoryCursor {
    fn line(&self) -> Option<&[u8]> {
        self.line.as_deref()
    }

    fn advance(&mut self) -> Result<(), IndexError> {
        self.line = self.lines.next();
        Ok(())
    }

    fn position(&self) -> (&Path, u64) {
        (Path::new(""), 0)
    }
}

/// The lines of several cursors in order, without duplicates.
pub(crate) struct MergedLines<C> {
    cursors: Vec<C>,
    /// The numbers of the cursors that have a line: a binary heap, the least line first.
    heap: Vec<usize>,
    line: Vec<u8>,
    next: Vec<u8>,
    has_line: bool,
    failure: Option<IndexError>,
    /// The target of the last move; `None` if a cursor may not be used from where it is.
    sought: Option<Vec<u8>>,
}

impl<C: LineCursor> MergedLines<C> {
    /// The lines from the positions of the cursors on.
    pub(crate) fn new(cursors: Vec<C>) -> Self {
        let mut merged = Self {
            cursors,
            heap: Vec::new(),
            line: Vec::new(),
            next: Vec::new(),
            has_line: false,
            failure: None,
            sought: None,
        };
        merged.begin();
        merged
    }

    fn begin(&mut self) {
        self.has_line = false;
        self.heap.clear();
        let with_line = |n: &usize| self.cursors[*n].line().is_some();
        self.heap.extend((0..self.cursors.len()).filter(with_line));
        for place in (0..self.heap.len() / 2).rev() {
            self.sift_down(place);
        }
    }

    /// The next line, and the number of the cursor that had it. After an error, the lines of the other
    /// cursors follow.
    pub(crate) fn next(&mut self) -> Result<Option<(&[u8], usize)>, IndexError> {
        self.next_with_prefix(b"")
    }

    /// As [`MergedLines::next`], but a line that does not begin with `prefix` stays the next one.
    pub(super) fn next_with_prefix(
        &mut self,
        prefix: &[u8],
    ) -> Result<Option<(&[u8], usize)>, IndexError> {
        loop {
            if let Some(failure) = self.failure.take() {
                return Err(failure);
            }
            let Some(&number) = self.heap.first() else {
                return Ok(None);
            };
            let line = self.cursors[number].line().unwrap_or_default();
            if !line.starts_with(prefix) {
                return Ok(None);
            }
            self.next.clear();
            self.next.extend(line);
            self.pass(number);
            if self.has_line && self.next == self.line {
                continue;
            }
            std::mem::swap(&mut self.line, &mut self.next);
            self.has_line = true;
            return Ok(Some((&self.line, number)));
        }
    }

    /// Moves the first cursor of the heap, which has `self.next`, to its next line.
    fn pass(&mut self, number: usize) {
        let cursor = &mut self.cursors[number];
        let advanced = cursor.advance();
        let is_in_order = cursor.line().is_none_or(|line| line >= &*self.next);
        self.failure = match advanced {
            Ok(()) if !is_in_order => {
                let path = cursor.position().0;
                Some(at(path)(invalid("the lines of the index are out of order")).into())
            }
            other => other.err(),
        };
        if self.failure.is_some() {
            self.sought = None;
        }
        if self.failure.is_some() || self.cursors[number].line().is_none() {
            self.heap.swap_remove(0);
        }
        self.sift_down(0);
    }

    fn sift_down(&mut self, mut place: usize) {
        loop {
            let children = [2 * place + 1, 2 * place + 2];
            let is_less = |one: usize, other: usize| {
                let line = |place: usize| self.cursors[self.heap[place]].line();
                line(one) < line(other)
            };
            let mut least = place;
            for child in children {
                if child < self.heap.len() && is_less(child, least) {
                    least = child;
                }
            }
            if least == place {
                return;
            }
            self.heap.swap(place, least);
            place = least;
        }
    }

    pub(crate) fn cursor(&self, number: usize) -> &C {
        &self.cursors[number]
    }
}

/// A cursor over any part of an index.
pub(crate) type BoxedCursor = Box<dyn SeekCursor + Send>;

impl MergedLines<BoxedCursor> {
    /// Moves all cursors to their first line that is not less than `target`. A move forward mostly stays
    /// within the blocks that are read already.
    pub(super) fn seek(&mut self, target: &[u8]) -> Result<(), IndexError> {
        self.failure = None;
        let is_passed = self.has_line && *self.line >= *target;
        let sought = self.sought.take();
        let is_forward = !is_passed && sought.is_some_and(|sought| *sought <= *target);
        for cursor in &mut self.cursors {
            if is_forward {
                cursor.seek_forward(target)?;
            } else {
                cursor.seek(target)?;
            }
        }
        self.sought = Some(target.to_owned());
        self.begin();
        Ok(())
    }
}

/// Bytes that are read line by line, since a binary search of them would read as many.
const WINDOW: u64 = 8 * 1024;

/// Moves to the first line for which `is_before` does not hold, by a binary search: lines for which it
/// holds come first. Returns the offset of the last of these, if there is one.
pub(super) fn seek_after(
    input: &mut (impl BufRead + Seek),
    length: u64,
    is_before: impl Fn(&[u8]) -> bool,
) -> io::Result<Option<u64>> {
    let mut line = Vec::new();
    let mut last_before = None;
    // The wanted line begins at `low`, where a line begins, or later, and no later than the first line
    // from `high` on.
    let (mut low, mut high) = (0, length);
    while low + WINDOW < high {
        let middle = low.midpoint(high);
        let begin = seek_to_line_from(input, middle, &mut line)?;
        let taken = read_line(input, &mut line)?;
        if taken == 0 || !is_before(&line) {
            high = middle;
        } else {
            last_before = Some(begin);
            low = begin + taken;
        }
    }
    input.seek(SeekFrom::Start(low))?;
    loop {
        let taken = read_line(input, &mut line)?;
        if taken == 0 || !is_before(&line) {
            break;
        }
        last_before = Some(low);
        low += taken;
    }
    input.seek(SeekFrom::Start(low))?;
    Ok(last_before)
}

/// Moves to the first line that begins at `offset` or later, and returns its offset.
fn seek_to_line_from(
    input: &mut (impl BufRead + Seek),
    offset: u64,
    scratch: &mut Vec<u8>,
) -> io::Result<u64> {
    // A line begins at `offset` if the byte before is a line end.
    let Some(before) = offset.checked_sub(1) else {
        return input.seek(SeekFrom::Start(0));
    };
    input.seek(SeekFrom::Start(before))?;
    Ok(before + read_line(input, scratch)?)
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Cursor};

    use proptest::prelude::*;

    use super::*;

    proptest! {
        // Lines of a few bytes and of more than a window; files of less than a window and of many.
        #[test]
        fn a_search_finds_what_a_scan_finds(
            lengths in prop::collection::vec(prop_oneof![9 => 0_usize..60, 1 => 0_usize..20_000], 0..300),
            target in 0_usize..310,
        ) {
            let lines = lengths.iter().enumerate();
            let lines: Vec<String> = lines.map(|(n, length)| format!("{n:04} {}\n", "x".repeat(*length))).collect();
            let text = lines.concat();
            let target = format!("{target:04}");
            let before = lines.iter().take_while(|line| line[..4] < *target).count();
            let offset = |n: usize| lines[..n].iter().map(String::len).sum::<usize>() as u64;

            let mut input = BufReader::new(Cursor::new(text.as_bytes()));
            let found = seek_after(&mut input, text.len() as u64, |line| &line[..4] < target.as_bytes()).unwrap();
            prop_assert_eq!(found, before.checked_sub(1).map(offset));
            prop_assert_eq!(input.stream_position().unwrap(), offset(before));
        }
    }
}
