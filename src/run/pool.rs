//! A pool of threads for work that takes longer than preparing it.

use std::thread::{self, Scope};

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};

/// Most threads of a pool.
const MOST_THREADS: usize = 4;

/// Most tasks that wait for a thread: a task holds a body, in memory or in a temporary file.
const MOST_WAITING: usize = 16;

/// Threads that turn tasks into results, in any order.
pub(super) struct Pool<T, R, W> {
    tasks: Sender<T>,
    results: Receiver<R>,
    /// Does the work in the caller's thread if there is no other.
    own_worker: W,
}

impl<T, R, W> Pool<T, R, W>
where
    T: Send,
    R: Send,
    W: FnMut(T) -> R + Send,
{
    /// Starts the threads in `scope`, each with a worker of its own.
    ///
    /// On a single processor the caller does all the work, since threads would only take turns.
    pub(super) fn start<'scope>(
        scope: &'scope Scope<'scope, '_>,
        new_worker: impl Fn() -> W,
    ) -> Self
    where
        T: 'scope,
        R: 'scope,
        W: 'scope,
    {
        let threads = match thread::available_parallelism().map_or(1, usize::from) {
            1 => 0,
            several => several.min(MOST_THREADS),
        };
        let (tasks, queue) = bounded(MOST_WAITING);
        let (sender, results) = unbounded();
        for _ in 0..threads {
            let (queue, sender) = (queue.clone(), sender.clone());
            let mut worker = new_worker();
            let work = move || {
                for task in queue {
                    if sender.send(worker(task)).is_err() {
                        return;
                    }
                }
            };
            if thread::Builder::new().spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        Self {
            tasks,
            results,
            own_worker: new_worker(),
        }
    }

    /// Hands a task to a thread, and waits while too many tasks wait. Returns the result if there
    /// is no thread, and the caller's thread has done the work.
    pub(super) fn submit(&mut self, task: T) -> Option<R> {
        let error = self.tasks.send(task).err()?;
        Some((self.own_worker)(error.0))
    }

    /// The results that are ready now.
    pub(super) fn ready(&self) -> impl Iterator<Item = R> {
        self.results.try_iter()
    }

    /// The results of all tasks that are still under way; waits for them.
    pub(super) fn finish(self) -> impl Iterator<Item = R> {
        drop(self.tasks);
        self.results.into_iter()
    }
}
