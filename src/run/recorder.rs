//! Takes in each judged job of a run: archives what was seen, remembers it, and reports it.
//!
//! Archiving costs more than all the rest, so other threads do it, while this one goes on with what
//! comes next. What was archived comes back in any order, and only then is it remembered.

use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use urldb_protocol::State;

use crate::ambient::Ambient;
use crate::archive::{Archive, Archivist};
use crate::explain::explain;
use crate::ledger::{Content, Entry, Ledger};
use crate::report::{Report, ReportedJob};
use urldb_verdict::Observation;
use urldb_verdict::{BodyUse, Job};
use urldb_verdict::{JudgedJob, UrlStatus, Verdict, VerdictOptions};

/// Threads that archive, at most.
const MOST_THREADS: usize = 4;

/// Jobs that wait to be archived, at most: their bodies are in memory.
const MOST_WAITING: usize = 16;

const NO_ROOM: &str = "there was no room for its body in the folder of temporary files";

/// What takes in each judged job of a run.
pub(super) struct Recorder<'a> {
    pub(super) options: &'a VerdictOptions,
    pub(super) ambient: Ambient,
    pub(super) ledger: &'a mut Ledger,
    pub(super) report: Report,
    /// The first thing that went wrong with the archive; the rest would say the same.
    pub(super) trouble: Option<String>,
    /// The names of the files that captures went into.
    pub(super) files: BTreeSet<String>,
}

/// A job to archive, and what was known of its content.
struct Task {
    judged: JudgedJob,
    known: Option<Content>,
}

/// A job that is done with.
struct Kept {
    judged: JudgedJob,
    /// What is to be remembered of its content.
    content: Option<Content>,
    trouble: Option<String>,
}

impl Recorder<'_> {
    /// Takes in all that `observe` hands on.
    pub(super) fn keep_all<R>(
        &mut self,
        archive: &Archive,
        observe: impl FnOnce(&mut dyn FnMut(JudgedJob)) -> R,
    ) -> R {
        // On a single processor they would only take turns with this one.
        let threads = match thread::available_parallelism().map_or(1, usize::from) {
            1 => 0,
            several => several.min(MOST_THREADS),
        };
        let mut own = archive.archivist();
        let (tasks, queue) = sync_channel(MOST_WAITING);
        let (sender, done) = channel();
        // It is gone, and nobody waits for it, when all threads are.
        let queue = Arc::new(Mutex::new(queue));
        thread::scope(|scope| {
            for _ in 0..threads {
                let (queue, sender) = (Arc::clone(&queue), sender.clone());
                let work = move || work(archive.archivist(), &queue, &sender);
                if thread::Builder::new().spawn_scoped(scope, work).is_err() {
                    break;
                }
            }
            drop((queue, sender));
            let observed = observe(&mut |judged| {
                self.keep(judged, &mut own, &tasks);
                for kept in done.try_iter() {
                    self.take_in(kept);
                }
            });
            drop(tasks);
            for kept in done {
                self.take_in(kept);
            }
            observed
        })
    }

    fn keep(&mut self, judged: JudgedJob, own: &mut Archivist<'_>, tasks: &SyncSender<Task>) {
        let JudgedJob {
            job,
            observations,
            verdict,
        } = &judged;
        let entry = self.ledger.get(&job.key);
        let is_repeated = entry.is_some_and(|entry| entry.url_status.has_seen(verdict.state()));
        let known = entry.and_then(|entry| entry.content.clone());
        let seen = observations.get(verdict.observation);
        if !seen.is_some_and(|seen| is_worth_keeping(job, seen, verdict, is_repeated)) {
            self.take_in(Kept {
                judged,
                content: known,
                trouble: None,
            });
        } else if let Err(error) = tasks.send(Task { judged, known }) {
            // There is no other thread.
            self.take_in(error.0.archive(own));
        }
    }

    fn take_in(&mut self, kept: Kept) {
        let Kept {
            judged,
            content,
            trouble,
        } = kept;
        if self.trouble.is_none() {
            self.trouble = trouble;
        }
        let JudgedJob { job, verdict, .. } = &judged;
        let known = self.ledger.get(&job.key);
        let (url_status, transition) = UrlStatus::after(
            known.map(|entry| &entry.url_status),
            verdict,
            self.ambient.now_in_seconds(),
            self.options,
        );
        let was_known = known.is_some();
        let captured = content
            .as_ref()
            .and_then(|content| content.capture.as_ref());
        let capture = known.and_then(|known| known.content.as_ref()?.capture.as_ref());
        if let Some(captured) = captured.filter(|captured| capture != Some(*captured))
            && !self.files.contains(&captured.file)
        {
            self.files.insert(captured.file.clone());
        }
        if job.key.alias.is_some() && url_status.is_untroubled() {
            // Every day another one has its turn: only what is wrong with them is remembered.
            self.ledger.forget(&job.key);
        } else if was_known || content.is_some() || verdict.state() != State::Inconclusive {
            // Of what was never seen nothing is known.
            let url_status = url_status.clone();
            self.ledger.set(
                &job.key,
                Entry {
                    url_status,
                    content,
                },
            );
        }
        let url_status = (url_status, transition);
        self.report
            .add(&ReportedJob::new(&judged, Some(&url_status)));
    }
}

/// Archives as long as there is anything to archive.
fn work(mut archivist: Archivist<'_>, queue: &Mutex<Receiver<Task>>, done: &Sender<Kept>) {
    loop {
        let task = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(task) = task else { return };
        if done.send(task.archive(&mut archivist)).is_err() {
            return;
        }
    }
}

impl Task {
    /// Archives what the assessment rests on. A full disk must not keep people from hearing what
    /// was seen.
    fn archive(self, archivist: &mut Archivist<'_>) -> Kept {
        let Self { mut judged, known } = self;
        let JudgedJob {
            job,
            observations,
            verdict,
        } = &mut judged;
        let stored = match observations.get_mut(verdict.observation) {
            Some(seen) => archivist.store(job, seen, known.as_ref()),
            None => Ok(None),
        };
        let (stored, trouble) = match stored {
            Ok(content) => {
                let trouble = lacks_its_body(job, content.as_ref()).then(|| NO_ROOM.to_owned());
                (content, trouble)
            }
            Err(error) => (None, Some(explain(&error))),
        };
        let trouble = trouble.map(|what| format!("{}: cannot be archived: {what}", job.url));
        Kept {
            trouble,
            judged,
            content: stored.or(known),
        }
    }
}

/// Whether there was no room for the bytes that were to be archived, while they came.
fn lacks_its_body(job: &Job, content: Option<&Content>) -> bool {
    let is_kept = matches!(job.body, BodyUse::Hash { keep: true, .. });
    is_kept && content.is_some_and(|content| content.capture.is_none())
}

/// Whether an observation is archived. Of an error page or half a body, the first is evidence
/// enough; and where nobody could be asked there is nothing to keep.
fn is_worth_keeping(job: &Job, seen: &Observation, verdict: &Verdict, is_repeated: bool) -> bool {
    let is_good =
        seen.is_whole() || seen.is_not_modified() || seen.is_proven(job.promise.sha256.as_ref());
    let says_something = verdict.state() != State::Inconclusive || seen.body.is_some();
    is_good || !is_repeated && says_something
}
