//! Reads the records of a file on several threads, and hands out what was made of them in the order
//! of the file.
//!
//! Where the records of a file begin is only known to who has read those before. So each thread takes
//! a part of the file, looks for what may be the first record in it, and reads from there to the first
//! that begins behind the part. What it has made counts only if the part before ends right where this
//! one began; what no part covers, such as what comes after damage, is read by the thread that
//! everything is handed out on. So the outcome is that of one thread, however the file was made.

use std::cell::Cell;
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::ops::Range;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crate::reader::{Gap, Note, Problem, ReadError, Reader, Record};
use crate::version::Version;

/// The length of a part, in bytes of the file: a few milliseconds of work.
const PART: u64 = 1024 * 1024;

/// More threads than this would wait for the one that takes what they made.
const MOST_THREADS: usize = 8;

/// What is kept of a part until its turn comes, in bytes.
const MOST_KEPT: usize = 8 * 1024 * 1024;

/// Something that turns up while a file is read.
#[derive(Debug)]
pub(crate) enum Event<T> {
    /// What was made of a record.
    Made(T),
    /// What was tolerated.
    Note(Note),
    /// A record that cannot be read.
    Fault(ReadError),
    /// What was passed over after a fault to find the next record.
    Gap(Gap),
}

/// What is made of records.
pub(crate) trait Product: Send {
    /// How much memory it takes, in bytes, roughly.
    fn weight(&self) -> usize;
}

/// What makes something of a record, or several things. The record has to be finished, if it can be.
pub(crate) trait Make<T>:
    Fn(Record<'_, File>, &mut dyn FnMut(T)) -> Result<(), ReadError>
{
}

impl<T, F: Fn(Record<'_, File>, &mut dyn FnMut(T)) -> Result<(), ReadError>> Make<T> for F {}

/// Takes what was made, in the order of the file, until it has enough.
pub(crate) type Take<'a, T> = dyn FnMut(Event<T>) -> ControlFlow<()> + 'a;

/// How a file is divided.
#[derive(Clone, Copy)]
struct Division {
    part: u64,
    threads: usize,
}

/// Reads all records of a file. Damage is handed out as a fault, and reading goes on behind it if
/// `take` wants to.
///
/// # Errors
/// When the file cannot be read, other than for damage.
pub(crate) fn read<T: Product>(
    path: &Path,
    make: &(impl Make<T> + Sync),
    take: &mut Take<'_, T>,
) -> Result<(), ReadError> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let division = Division {
        part: PART,
        threads: threads.min(MOST_THREADS),
    };
    read_divided(path, division, make, take)
}

fn read_divided<T: Product>(
    path: &Path,
    division: Division,
    make: &(impl Make<T> + Sync),
    take: &mut Take<'_, T>,
) -> Result<(), ReadError> {
    let file = File::open(path).map_err(unreadable)?;
    let length = file.metadata().map_err(unreadable)?.len();
    let mut whole = Whole {
        reader: Reader::new(file)?,
        make,
        take,
        at: Some(0),
        version: None,
    };
    if division.threads < 2 || length < 2 * division.part {
        return whole.cover(u64::MAX);
    }
    let (orders, queue) = channel();
    // It is gone, and nobody waits for it, when all threads are.
    let queue = Arc::new(Mutex::new(queue));
    thread::scope(|scope| {
        let start = |_: &usize| {
            let queue = Arc::clone(&queue);
            let serve = move || serve(path, &queue, make);
            thread::Builder::new().spawn_scoped(scope, serve).is_ok()
        };
        let started = (0..division.threads).take_while(start).count();
        drop(queue);
        let gathered = whole.gather(&orders, parts(length, division.part), started + 2);
        // That is what the threads end by.
        drop(orders);
        gathered
    })
}

fn unreadable(error: io::Error) -> ReadError {
    ReadError {
        offset: 0,
        problem: Problem::Input(error),
    }
}

/// The parts of a file of that length. The last one has all that the file grows by.
fn parts(length: u64, part: u64) -> impl Iterator<Item = Range<u64>> {
    let count = length / part;
    (0..count).map(move |n| match n + 1 {
        next if next == count => n * part..u64::MAX,
        next => n * part..next * part,
    })
}

/// A part to be read, and where to send what was made of it.
struct Order<T> {
    part: Range<u64>,
    answer: Sender<Part<T>>,
}

/// What was made of a part of a file.
struct Part<T> {
    /// Where the first record was found.
    start: u64,
    /// Where a record begins that was not read any more; `None` at the end of the file.
    end: Option<u64>,
    /// The version of its last record.
    version: Option<Version>,
    events: Vec<Event<T>>,
}

/// Reads parts as long as any are ordered. What cannot be read here gets no answer, so it is read
/// again, and reported, where everything is handed out.
fn serve<T: Product>(path: &Path, queue: &Mutex<Receiver<Order<T>>>, make: &impl Make<T>) {
    let mut reader = Reader::open(path);
    loop {
        let order = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(Order { part, answer }) = order else {
            return;
        };
        if let Ok(reader) = &mut reader
            && let Ok(Some(start)) = reader.find_record(&part)
        {
            // Nobody waits for it if reading was ended.
            let _ = answer.send(read_part(reader, start, part.end, make));
        }
    }
}

/// Reads from the record that was found until one begins behind the part, or before damage: what is
/// to be said of that depends on what came before.
fn read_part<T: Product>(
    reader: &mut Reader<File>,
    start: u64,
    until: u64,
    make: &impl Make<T>,
) -> Part<T> {
    let mut kept = Kept::default();
    let mut part = Part {
        start,
        end: Some(start),
        version: None,
        events: Vec::new(),
    };
    while let Ok(next) = to_next(reader, &mut |event| kept.add(event)) {
        let mut is_over = reader.position() >= until;
        if next.is_none() || reader.can_begin_here() {
            part.end = next;
            part.version = reader.version();
            part.events.append(&mut kept.events);
            is_over = next.is_none_or(|next| next >= until);
        }
        if is_over || kept.weight > MOST_KEPT {
            break;
        }
        if make_next(reader, make, &mut |event| kept.add(event)).is_err() {
            break;
        }
    }
    part
}

/// What was made since the last place that reading can begin at.
struct Kept<T> {
    events: Vec<Event<T>>,
    /// Of everything that was kept of the part.
    weight: usize,
}

impl<T: Product> Kept<T> {
    fn add(&mut self, event: Event<T>) {
        self.weight += size_of::<Event<T>>();
        if let Event::Made(made) = &event {
            self.weight += made.weight();
        }
        self.events.push(event);
    }
}

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self {
            events: Vec::new(),
            weight: 0,
        }
    }
}

/// Closes the record before, and says where the next one begins; `None` at the end of the file.
fn to_next<T>(
    reader: &mut Reader<File>,
    add: &mut dyn FnMut(Event<T>),
) -> Result<Option<u64>, ReadError> {
    let next = reader.next_start();
    hand_on_notes(reader, add);
    next
}

/// Makes something of the next record, which is there.
fn make_next<T>(
    reader: &mut Reader<File>,
    make: &impl Make<T>,
    add: &mut dyn FnMut(Event<T>),
) -> Result<(), ReadError> {
    let outcome = match reader.next_record() {
        Ok(Some(record)) => make(record, &mut |made| add(Event::Made(made))),
        Ok(None) => Ok(()),
        Err(error) => Err(error),
    };
    hand_on_notes(reader, add);
    outcome
}

fn hand_on_notes<T>(reader: &Reader<File>, add: &mut dyn FnMut(Event<T>)) {
    reader
        .notes()
        .iter()
        .for_each(|note| add(Event::Note(*note)));
}

/// The file as a whole, as far as it was handed out.
struct Whole<'a, T, M> {
    reader: Reader<File>,
    make: &'a M,
    take: &'a mut Take<'a, T>,
    /// Where what comes next begins; `None` when nothing does.
    at: Option<u64>,
    /// The version of the last record.
    version: Option<Version>,
}

impl<T: Product, M: Make<T>> Whole<'_, T, M> {
    /// Hands out the parts in order, each if it begins where those before have ended.
    fn gather(
        &mut self,
        orders: &Sender<Order<T>>,
        mut parts: impl Iterator<Item = Range<u64>>,
        ahead: usize,
    ) -> Result<(), ReadError> {
        let mut ordered = VecDeque::new();
        while let Some(at) = self.at {
            while ordered.len() < ahead
                // Of a part that a record goes over, nothing is made.
                && let Some(part) = parts.find(|part| part.end > at)
            {
                let (answer, made) = channel();
                ordered.push_back((part.end, made));
                // What nobody takes is read here.
                let _ = orders.send(Order { part, answer });
            }
            let Some((end, made)) = ordered.pop_front() else {
                return Ok(());
            };
            // A record that began in a part before may go on behind this one.
            if at < end {
                if let Ok(part) = made.recv()
                    && part.start == at
                {
                    self.hand_out(part);
                }
                self.cover(end)?;
            }
        }
        Ok(())
    }

    fn hand_out(&mut self, part: Part<T>) {
        self.at = part.end;
        self.version = part.version.or(self.version);
        if part
            .events
            .into_iter()
            .try_for_each(&mut *self.take)
            .is_break()
        {
            self.at = None;
        }
    }

    /// Reads what is left before `until`.
    fn cover(&mut self, until: u64) -> Result<(), ReadError> {
        let Some(at) = self.at.filter(|at| *at < until) else {
            return Ok(());
        };
        self.reader.go_to(at, self.version)?;
        loop {
            match self.read_until(until) {
                Err(error) if error.is_damage() => self.pass_over(error)?,
                other => break other?,
            }
            if self.at.is_none() {
                break;
            }
        }
        self.version = self.reader.version();
        Ok(())
    }

    fn read_until(&mut self, until: u64) -> Result<(), ReadError> {
        let Self {
            reader, make, take, ..
        } = self;
        let is_enough = Cell::new(false);
        let mut add = |event| {
            if !is_enough.get() && take(event).is_break() {
                is_enough.set(true);
            }
        };
        while let Some(next) = to_next(reader, &mut add)? {
            if is_enough.get() {
                break;
            }
            if next >= until && reader.can_begin_here() {
                self.at = Some(next);
                return Ok(());
            }
            make_next(reader, *make, &mut add)?;
        }
        self.at = None;
        Ok(())
    }

    fn pass_over(&mut self, error: ReadError) -> Result<(), ReadError> {
        if (self.take)(Event::Fault(error)).is_break() {
            self.at = None;
        } else if let Some(gap) = self.reader.skip_damage()?
            && (self.take)(Event::Gap(gap)).is_break()
        {
            self.at = None;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
