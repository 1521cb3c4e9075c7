//! Follows the domain files: says which of them have other contents than before.
//!
//! What the operating system reports is only a hint to look again, since events
//! get lost, come twice, or tell of a touch; [`Contents`] decides. The folder's
//! parent is followed too, so that a folder that was replaced (as git does when
//! it changes branches) is taken up again. Where the system offers no events,
//! the folder is looked at from time to time.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use notify_debouncer_full::notify::{self, EventKind, RecommendedWatcher, RecursiveMode};
use notify_debouncer_full::{
    DebounceEventResult, DebouncedEvent, Debouncer, RecommendedCache, new_debouncer,
};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::contents::{Contents, is_domain_file};

/// How often a folder that gives no events is looked at.
const POLL: Duration = Duration::from_secs(5);

/// What is asked for is kept within these bounds: no spinning, no overflow.
const SHORTEST: Duration = Duration::from_millis(10);
const LONGEST: Duration = Duration::from_hours(24);

/// The files of one database, followed.
#[derive(Debug)]
pub(super) struct Watcher {
    directory: PathBuf,
    contents: Contents,
    hints: Arc<Hints>,
    follow: Follow,
    next_poll: Instant,
    poll: Duration,
}

/// How changes are noticed.
#[derive(Debug)]
enum Follow {
    /// By events.
    Events {
        debouncer: Debouncer<RecommendedWatcher, RecommendedCache>,
        /// The folder, absolute.
        directory: PathBuf,
        /// Whether the folder was there to be followed.
        armed: bool,
    },
    /// By looking at everything now and then.
    Polling,
}

/// What the event thread leaves for the watcher.
#[derive(Debug, Default)]
struct Hints {
    todo: Mutex<Todo>,
    news: Notify,
}

#[derive(Debug, Default, Clone, Copy)]
struct Todo {
    /// Some file may have changed.
    look: bool,
    /// The folder may be another one than before.
    rearm: bool,
}

/// What a look brought.
#[derive(Debug, Default)]
pub(super) struct Look {
    /// Files changed, added or removed, sorted.
    pub(super) changed: Vec<PathBuf>,
    /// What went wrong, for people.
    pub(super) problem: Option<String>,
}

impl Watcher {
    /// Starts following; `polling` asks for looks that far apart in place of events. Also gives
    /// a warning, when events were wanted and are not to be had.
    ///
    /// # Errors
    /// When the folder is there and cannot be listed.
    pub(super) fn start(
        directory: &Path,
        debounce: Duration,
        polling: Option<Duration>,
    ) -> std::io::Result<(Self, Option<String>)> {
        let hints = Arc::<Hints>::default();
        let (follow, warning) = match polling {
            Some(_) => (Follow::Polling, None),
            None => match Follow::events(directory, debounce, &hints) {
                Ok(follow) => (follow, None),
                Err(error) => (Follow::Polling, Some(no_events(&error))),
            },
        };
        let mut contents = Contents::default();
        // After the events have begun, so that nothing falls in between.
        contents.look_again(directory)?;
        let poll = polling.unwrap_or(POLL).clamp(SHORTEST, LONGEST);
        let watcher = Self {
            directory: directory.to_owned(),
            contents,
            hints,
            follow,
            next_poll: Instant::now() + poll,
            poll,
        };
        Ok((watcher, warning))
    }

    /// How many domain files there are.
    pub(super) fn files(&self) -> usize {
        self.contents.len()
    }

    /// Waits until there is a reason to look. Dropping the future loses nothing.
    pub(super) async fn hint(&self) {
        tokio::select! {
            () = self.hints.news.notified() => {}
            () = tokio::time::sleep_until(self.next_poll) => {}
        }
    }

    /// Looks, if there is a reason to.
    pub(super) fn look(&mut self) -> Look {
        let mut todo = self.hints.take();
        if Instant::now() >= self.next_poll {
            self.next_poll = Instant::now() + self.poll;
            match self.follow {
                Follow::Events { armed, .. } => todo.rearm |= !armed,
                Follow::Polling => todo.look = true,
            }
        }
        let mut look = Look::default();
        if todo.rearm {
            todo.look = true;
            if let Err(error) = self.follow.arm() {
                self.follow = Follow::Polling;
                look.problem = Some(no_events(&error));
            }
        }
        if todo.look {
            match self.contents.look_again(&self.directory) {
                Ok(changed) => look.changed = changed,
                Err(error) => {
                    let directory = self.directory.display();
                    look.problem = Some(format!("cannot list {directory}: {error}"));
                }
            }
        }
        look
    }
}

impl Follow {
    fn events(directory: &Path, debounce: Duration, hints: &Arc<Hints>) -> notify::Result<Self> {
        let directory = match directory.canonicalize() {
            Ok(directory) => directory,
            Err(_) => std::path::absolute(directory)?,
        };
        let debounce = debounce.clamp(SHORTEST, LONGEST);
        let sink = Arc::clone(hints);
        let root = directory.clone();
        let debouncer = new_debouncer(debounce, None, move |events| sink.note(&root, events))?;
        let mut follow = Self::Events {
            debouncer,
            directory,
            armed: false,
        };
        follow.arm()?;
        Ok(follow)
    }

    /// Begins to follow the folder that is there now, in place of an earlier one. One that is
    /// not there is no error.
    fn arm(&mut self) -> notify::Result<()> {
        let Self::Events {
            debouncer,
            directory,
            armed,
        } = self
        else {
            return Ok(());
        };
        if let Some(parent) = directory.parent() {
            unless_missing(debouncer.watch(parent, RecursiveMode::NonRecursive))?;
        }
        // An earlier folder of this name may be gone, and its watch with it: nothing to mind.
        let _ = debouncer.unwatch(&*directory);
        *armed = unless_missing(debouncer.watch(&*directory, RecursiveMode::NonRecursive))?;
        Ok(())
    }
}

/// Whether it worked, where it may fail only because there is no such folder.
fn unless_missing(result: notify::Result<()>) -> notify::Result<bool> {
    match result {
        Ok(()) => Ok(true),
        Err(error) => match &error.kind {
            notify::ErrorKind::PathNotFound => Ok(false),
            notify::ErrorKind::Io(io) if io.kind() == std::io::ErrorKind::NotFound => Ok(false),
            _ => Err(error),
        },
    }
}

fn no_events(error: &notify::Error) -> String {
    let seconds = POLL.as_secs();
    format!("no file events ({error}); looking at the files every {seconds} seconds instead")
}

impl Hints {
    /// Notes what a batch of events asks for. Works by names, since the systems differ in how
    /// they write paths: a hint too many costs one look.
    fn note(&self, root: &Path, events: DebounceEventResult) {
        let wanted = match events {
            Ok(events) => events
                .iter()
                .map(|event| Todo::of(root, event))
                .fold(Todo::default(), Todo::and),
            Err(_) => Todo::EVERYTHING,
        };
        if wanted.look || wanted.rearm {
            let mut todo = self.todo.lock().unwrap_or_else(PoisonError::into_inner);
            *todo = todo.and(wanted);
            self.news.notify_one();
        }
    }

    fn take(&self) -> Todo {
        std::mem::take(&mut self.todo.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Todo {
    const EVERYTHING: Self = Self {
        look: true,
        rearm: true,
    };

    fn of(root: &Path, event: &DebouncedEvent) -> Self {
        if event.need_rescan() {
            return Self::EVERYTHING;
        }
        // Looking at a file is an access, too: it must not lead to another look.
        if matches!(event.kind, EventKind::Access(_)) {
            return Self::default();
        }
        let is_root = |path: &PathBuf| path.file_name() == root.file_name();
        // A folder's own times change with every file in it.
        let replaced = !matches!(
            event.kind,
            EventKind::Modify(notify::event::ModifyKind::Metadata(_))
        );
        Self {
            look: event.paths.iter().any(|path| is_domain_file(path)),
            rearm: replaced && event.paths.iter().any(is_root),
        }
    }

    fn and(self, other: Self) -> Self {
        Self {
            look: self.look || other.look,
            rearm: self.rearm || other.rearm,
        }
    }
}
