//! Cursors over sorted lines, and their merge.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
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
    /// Moves to the first line that is not less than `target`. A move forward is one to a target that is not less than
    /// that of the last move.
    fn seek(&mut self, target: &[u8], is_forward: bool) -> Result<(), IndexError>;
}

/// The lines of several cursors in order, without duplicates.
pub(crate) struct MergedLines<C> {
    cursors: Vec<C>,
    /// The current line of each cursor that has one, and the number of the cursor.
    heap: BinaryHeap<Reverse<(Vec<u8>, usize)>>,
    line: Vec<u8>,
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
            heap: BinaryHeap::new(),
            line: Vec::new(),
            has_line: false,
            failure: None,
            sought: None,
        };
        merged.begin();
        merged
    }

    fn begin(&mut self) {
        self.has_line = false;
        self.heap = (0..)
            .zip(&self.cursors)
            .filter_map(|(number, cursor)| Some(Reverse((cursor.line()?.to_owned(), number))))
            .collect();
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
            let Some(mut first) = self.heap.peek_mut() else {
                return Ok(None);
            };
            let Reverse((next, number)) = &mut *first;
            if !next.starts_with(prefix) {
                return Ok(None);
            }
            let (number, is_repeated) = (*number, self.has_line && *next == self.line);
            std::mem::swap(&mut self.line, next);
            self.has_line = true;
            match following(&mut self.cursors[number], &self.line) {
                Ok(Some(line)) => {
                    next.clear();
                    next.extend(line);
                }
                Ok(None) => drop(PeekMut::pop(first)),
                Err(failure) => {
                    PeekMut::pop(first);
                    (self.failure, self.sought) = (Some(failure), None);
                }
            }
            if !is_repeated {
                return Ok(Some((&self.line, number)));
            }
        }
    }

    pub(crate) fn cursor(&self, number: usize) -> &C {
        &self.cursors[number]
    }
}

/// The line of a cursor after this one.
fn following<'a>(
    cursor: &'a mut impl LineCursor,
    line: &[u8],
) -> Result<Option<&'a [u8]>, IndexError> {
    cursor.advance()?;
    if cursor.line().is_some_and(|next| next < line) {
        let path = cursor.position().0;
        return Err(at(path)(invalid("the lines of the index are out of order")).into());
    }
    Ok(cursor.line())
}

impl<C: SeekCursor> MergedLines<C> {
    /// Moves all cursors to their first line that is not less than `target`. A move forward mostly stays
    /// within the blocks that are read already.
    pub(super) fn seek(&mut self, target: &[u8]) -> Result<(), IndexError> {
        self.failure = None;
        let is_passed = self.has_line && *self.line >= *target;
        let sought = self.sought.take();
        let is_forward = !is_passed && sought.is_some_and(|sought| *sought <= *target);
        for cursor in &mut self.cursors {
            cursor.seek(target, is_forward)?;
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
