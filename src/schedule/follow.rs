//! How changes to a folder are noticed: by events, or by looking now and then.
//!
//! Events only leave word in [`Hints`] that a look is due; they come from a
//! thread of the notify crate. The folder's parent is followed too, so that a
//! folder that was replaced (as git does when it changes branches) is taken up
//! again at once.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use notify_debouncer_full::file_id::{self, FileId};
use notify_debouncer_full::notify::event::ModifyKind;
use notify_debouncer_full::notify::{self, EventKind, RecommendedWatcher, RecursiveMode};
use notify_debouncer_full::{
    DebounceEventResult, DebouncedEvent, Debouncer, RecommendedCache, new_debouncer,
};
use tokio::sync::Notify;
use urldb_format::is_domain_file;

/// How changes are noticed.
#[derive(Debug)]
pub(super) enum Follow {
    /// By events.
    Events {
        debouncer: Debouncer<RecommendedWatcher, RecommendedCache>,
        /// The folder, absolute.
        directory: PathBuf,
        /// Which folder is followed; none while there is none.
        followed: Option<FileId>,
    },
    /// By looking at everything now and then.
    Polling,
}

/// What the event thread leaves for the watcher.
#[derive(Debug, Default)]
pub(super) struct Hints {
    todo: Mutex<Todo>,
    news: Notify,
}

#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Todo {
    /// Some file may have changed.
    pub(super) look: bool,
    /// The folder may be another one than before.
    pub(super) rearm: bool,
}

impl Follow {
    /// Follows the folder by events, which are told to `hints` once they have paused for the
    /// debounce time.
    pub(super) fn events(
        directory: &Path,
        debounce: Duration,
        hints: &Arc<Hints>,
    ) -> notify::Result<Self> {
        let directory = std::path::absolute(directory)?;
        let sink = Arc::clone(hints);
        let root = directory.clone();
        let debouncer = new_debouncer(debounce, None, move |events| sink.note(&root, events))?;
        let mut follow = Self::Events {
            debouncer,
            directory,
            followed: None,
        };
        follow.arm()?;
        Ok(follow)
    }

    /// Begins to follow the folder that is there now, in place of an earlier one. One that is
    /// not there is no error.
    pub(super) fn arm(&mut self) -> notify::Result<()> {
        let Self::Events {
            debouncer,
            directory,
            followed,
        } = self
        else {
            return Ok(());
        };
        // Taken first: if the folder is replaced in between, this is not the id that the next
        // poll finds.
        *followed = file_id::get_file_id(&*directory).ok();
        for path in directory.ancestors().take(2) {
            // An earlier folder of this name may be gone, and its watch with it: nothing to mind.
            let _ = debouncer.unwatch(path);
            unless_missing(debouncer.watch(path, RecursiveMode::NonRecursive))?;
        }
        Ok(())
    }

    /// Whether another folder than the one followed has come to stand there, or any at all.
    pub(super) fn is_astray(&self) -> bool {
        match self {
            Self::Events {
                directory,
                followed,
                ..
            } => followed.is_none() || file_id::get_file_id(directory).ok() != *followed,
            Self::Polling => false,
        }
    }
}

/// A folder that is not there cannot be followed yet, which is no failure.
fn unless_missing(result: notify::Result<()>) -> notify::Result<()> {
    result.or_else(|error| match &error.kind {
        notify::ErrorKind::PathNotFound => Ok(()),
        notify::ErrorKind::Io(io) if io.kind() == std::io::ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    })
}

impl Hints {
    /// Waits until there is something to do. Dropping the future loses nothing.
    pub(super) async fn news(&self) {
        self.news.notified().await;
    }

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

    /// What there is to do; from now on, nothing.
    pub(super) fn take(&self) -> Todo {
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
        let replaced = !matches!(event.kind, EventKind::Modify(ModifyKind::Metadata(_)));
        Self {
            look: event.paths.iter().any(is_domain_file),
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
