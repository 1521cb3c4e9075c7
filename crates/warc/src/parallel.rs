//! Reads the records of a file on several threads and returns the results in the order of the file.
//!
//! The beginning of a record is certain only to a reader of all records before it. So each thread takes
//! a range of the file, searches for bytes that look like the first record in it, and reads from there
//! to the first record that begins after the range. Its results count only if the results of the range
//! before end exactly where they begin. The calling thread reads everything else itself, such as the
//! bytes after damage. So the outcome is that of a single thread, for every file.

use std::cell::Cell;
use std::collections::VecDeque;
use std::fs::File;
use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::{io, thread};

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};

use crate::fs;
use crate::header::Version;
use crate::reader::{Deviation, ReadError, ReadErrorKind, Reader, Record, SkippedRange};

/// The length of a range, in bytes of the file: a few milliseconds of work.
const RANGE_LENGTH: u64 = 1024 * 1024;

/// Limit of the number of threads. More threads would wait for the one that consumes the results.
const MAX_THREADS: usize = 8;

/// Limit of the memory for the results of one range, in bytes.
const MAX_PENDING: usize = 8 * 1024 * 1024;

/// An event while a file is read.
#[derive(Debug)]
pub(crate) enum ScanEvent<T> {
    /// A result from a record.
    Item(T),
    /// A tolerated deviation.
    Deviation(Deviation),
    /// A record that cannot be read.
    Fault(ReadError),
    /// The bytes skipped after a fault to find the next record.
    Skipped(SkippedRange),
}

/// A value with a known memory use.
pub(crate) trait MemorySize: Send {
    /// The approximate memory use, in bytes.
    fn memory_size(&self) -> usize;
}

/// A function that makes any number of items from a record, and finishes the record if possible.
pub(crate) trait ReadItems<T>:
    Fn(Record<'_, File>, &mut dyn FnMut(T)) -> Result<(), ReadError>
{
}

impl<T, F: Fn(Record<'_, File>, &mut dyn FnMut(T)) -> Result<(), ReadError>> ReadItems<T> for F {}

/// Receives events in the order of the file, until it breaks.
pub(crate) type EventSink<'a, T> = dyn FnMut(ScanEvent<T>) -> ControlFlow<()> + 'a;

/// The division of a file among threads.
#[derive(Clone, Copy)]
struct Division {
    range_length: u64,
    threads: usize,
}

/// Reads all records of a file. Damage is a [`ScanEvent::Fault`]; reading continues after it unless
/// `sink` breaks.
///
/// # Errors
/// When the file cannot be read, for another reason than damage.
pub(crate) fn read_records<T: MemorySize>(
    path: &Path,
    read_items: &(impl ReadItems<T> + Sync),
    sink: &mut EventSink<'_, T>,
) -> Result<(), ReadError> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let division = Division {
        range_length: RANGE_LENGTH,
        threads: threads.min(MAX_THREADS),
    };
    read_divided(path, division, read_items, sink)
}

fn read_divided<T: MemorySize>(
    path: &Path,
    division: Division,
    read_items: &(impl ReadItems<T> + Sync),
    sink: &mut EventSink<'_, T>,
) -> Result<(), ReadError> {
    let file = fs::file(path).open().map_err(unreadable)?;
    let length = file.metadata().map_err(unreadable)?.len();
    let mut collector = Collector {
        reader: Reader::new_at(file, 0)?,
        read_items,
        sink,
        position: Some(0),
        version: None,
    };
    if division.threads < 2 || length < 2 * division.range_length {
        return collector.read_sequentially(u64::MAX);
    }
    let (jobs, queue) = unbounded();
    thread::scope(|scope| {
        let start = |_: &usize| {
            let queue = queue.clone();
            let work = move || run_worker(path, &queue, read_items);
            thread::Builder::new().spawn_scoped(scope, work).is_ok()
        };
        let started = (0..division.threads).take_while(start).count();
        drop(queue);
        let collected =
            collector.collect(&jobs, ranges(length, division.range_length), started + 2);
        // The workers end when the job channel closes.
        drop(jobs);
        collected
    })
}

fn unreadable(error: io::Error) -> ReadError {
    ReadError {
        offset: 0,
        kind: ReadErrorKind::Input(error),
    }
}

/// The ranges of a file of this length. The last range includes bytes added to the file later.
fn ranges(length: u64, range_length: u64) -> impl Iterator<Item = Range<u64>> {
    let count = length / range_length;
    (0..count).map(move |n| match n + 1 {
        next if next == count => n * range_length..u64::MAX,
        next => n * range_length..next * range_length,
    })
}

/// A range to read, and the channel for its result.
struct RangeJob<T> {
    range: Range<u64>,
    result: Sender<RangeResult<T>>,
}

struct RangeResult<T> {
    /// The offset of the first record found.
    start: u64,
    /// The offset of the first record not read; `None` at the end of the file.
    end: Option<u64>,
    /// The version of the last record.
    version: Option<Version>,
    events: Vec<ScanEvent<T>>,
}

/// Reads ranges until the job channel closes. A range that cannot be read gets no result; the collector
/// then reads it again and reports the error.
fn run_worker<T: MemorySize>(
    path: &Path,
    queue: &Receiver<RangeJob<T>>,
    read_items: &impl ReadItems<T>,
) {
    let mut reader = Reader::open(path);
    for RangeJob { range, result } in queue {
        if let Ok(reader) = &mut reader
            && let Ok(Some(start)) = reader.find_record(&range)
        {
            // Sending fails if the collector has stopped early.
            let _ = result.send(read_range(reader, start, range.end, read_items));
        }
    }
}

/// Reads from the found record to the first record after the range, or to damage. Events at damage
/// depend on what precedes the range, so only the collector can report them.
fn read_range<T: MemorySize>(
    reader: &mut Reader<File>,
    start: u64,
    until: u64,
    read_items: &impl ReadItems<T>,
) -> RangeResult<T> {
    let mut pending = PendingEvents::default();
    let mut result = RangeResult {
        start,
        end: Some(start),
        version: None,
        events: Vec::new(),
    };
    while let Ok(next) = next_start(reader, &mut |event| pending.add(event)) {
        let mut is_over = reader.position() >= until;
        if next.is_none() || reader.can_begin_here() {
            result.end = next;
            result.version = reader.version();
            result.events.append(&mut pending.events);
            is_over = next.is_none_or(|next| next >= until);
        }
        if is_over || pending.memory_size > MAX_PENDING {
            break;
        }
        if read_next(reader, read_items, &mut |event| pending.add(event)).is_err() {
            break;
        }
    }
    result
}

/// The events since the last position at which reading could begin.
struct PendingEvents<T> {
    events: Vec<ScanEvent<T>>,
    /// The memory use of all events of the range, in bytes.
    memory_size: usize,
}

impl<T: MemorySize> PendingEvents<T> {
    fn add(&mut self, event: ScanEvent<T>) {
        self.memory_size += size_of::<ScanEvent<T>>();
        if let ScanEvent::Item(item) = &event {
            self.memory_size += item.memory_size();
        }
        self.events.push(event);
    }
}

impl<T> Default for PendingEvents<T> {
    fn default() -> Self {
        Self {
            events: Vec::new(),
            memory_size: 0,
        }
    }
}

/// Ends the previous record and returns the offset of the next; `None` at the end of the file.
fn next_start<T>(
    reader: &mut Reader<File>,
    add: &mut dyn FnMut(ScanEvent<T>),
) -> Result<Option<u64>, ReadError> {
    let next = reader.next_start();
    add_deviations(reader, add);
    next
}

/// Reads the items of the next record.
fn read_next<T>(
    reader: &mut Reader<File>,
    read_items: &impl ReadItems<T>,
    add: &mut dyn FnMut(ScanEvent<T>),
) -> Result<(), ReadError> {
    let outcome = match reader.next_record() {
        Ok(Some(record)) => read_items(record, &mut |item| add(ScanEvent::Item(item))),
        Ok(None) => Ok(()),
        Err(error) => Err(error),
    };
    add_deviations(reader, add);
    outcome
}

fn add_deviations<T>(reader: &Reader<File>, add: &mut dyn FnMut(ScanEvent<T>)) {
    reader
        .deviations()
        .iter()
        .for_each(|deviation| add(ScanEvent::Deviation(*deviation)));
}

/// Passes the events of all ranges to the sink, in the order of the file.
struct Collector<'a, T, M> {
    reader: Reader<File>,
    read_items: &'a M,
    sink: &'a mut EventSink<'a, T>,
    /// The end of what the sink has received; `None` when nothing follows.
    position: Option<u64>,
    /// The version of the last record.
    version: Option<Version>,
}

impl<T: MemorySize, M: ReadItems<T>> Collector<'_, T, M> {
    /// Sends jobs for at most `ahead` ranges at a time, and uses each result that begins where the
    /// results before it ended.
    fn collect(
        &mut self,
        jobs: &Sender<RangeJob<T>>,
        mut ranges: impl Iterator<Item = Range<u64>>,
        ahead: usize,
    ) -> Result<(), ReadError> {
        let mut pending = VecDeque::new();
        while let Some(position) = self.position {
            while pending.len() < ahead
                // A range within one record has no result.
                && let Some(range) = ranges.find(|range| range.end > position)
            {
                let (result, receiver) = bounded(1);
                pending.push_back((range.end, receiver));
                // Without a worker, the range is read sequentially below.
                let _ = jobs.send(RangeJob { range, result });
            }
            let Some((end, receiver)) = pending.pop_front() else {
                return Ok(());
            };
            // A record of an earlier range may end after this range.
            if position < end {
                if let Ok(result) = receiver.recv()
                    && result.start == position
                {
                    self.use_result(result);
                }
                self.read_sequentially(end)?;
            }
        }
        Ok(())
    }

    fn use_result(&mut self, result: RangeResult<T>) {
        self.position = result.end;
        self.version = result.version.or(self.version);
        if result
            .events
            .into_iter()
            .try_for_each(&mut *self.sink)
            .is_break()
        {
            self.position = None;
        }
    }

    /// Reads what is left before `until`.
    fn read_sequentially(&mut self, until: u64) -> Result<(), ReadError> {
        let Some(position) = self.position.filter(|position| *position < until) else {
            return Ok(());
        };
        self.reader.go_to(position, self.version)?;
        loop {
            match self.read_until(until) {
                Err(error) if error.is_damage() => self.skip_damage(error)?,
                other => break other?,
            }
            if self.position.is_none() {
                break;
            }
        }
        self.version = self.reader.version();
        Ok(())
    }

    fn read_until(&mut self, until: u64) -> Result<(), ReadError> {
        let Self {
            reader,
            read_items,
            sink,
            ..
        } = self;
        let is_stopped = Cell::new(false);
        let mut add = |event| {
            if !is_stopped.get() && sink(event).is_break() {
                is_stopped.set(true);
            }
        };
        while let Some(next) = next_start(reader, &mut add)? {
            if is_stopped.get() {
                break;
            }
            if next >= until && reader.can_begin_here() {
                self.position = Some(next);
                return Ok(());
            }
            read_next(reader, *read_items, &mut add)?;
        }
        self.position = None;
        Ok(())
    }

    fn skip_damage(&mut self, error: ReadError) -> Result<(), ReadError> {
        if (self.sink)(ScanEvent::Fault(error)).is_break() {
            self.position = None;
        } else if let Some(skipped) = self.reader.skip_damage()?
            && (self.sink)(ScanEvent::Skipped(skipped)).is_break()
        {
            self.position = None;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
