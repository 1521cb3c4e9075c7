//! The source of changes to a folder: file events, or scans at intervals.
//!
//! Events come on a thread of the notify crate, and only mark in [`EventSignal`]
//! that a scan is due. The folder's parent is followed too, so that a replaced
//! folder (git replaces it when it changes branches) is followed at once.

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
use urldb_format::{is_domain_file, is_misnamed};

/// The source of changes to a folder.
#[derive(Debug)]
pub(super) enum ChangeSource {
    /// File events.
    Events {
        debouncer: Debouncer<RecommendedWatcher, RecommendedCache>,
        /// The folder, absolute.
        directory: PathBuf,
        /// The id of the followed folder; `None` while there is no folder.
        followed: Option<FileId>,
    },
    /// Scans at intervals.
    Polling,
}

/// The requests of the event thread to the watcher.
#[derive(Debug, Default)]
pub(super) struct EventSignal {
    pending: Mutex<PendingActions>,
    notify: Notify,
}

/// The effect of events.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct PendingActions {
    /// A file may have changed.
    pub(super) scan: bool,
    /// The folder may have been replaced.
    pub(super) rearm: bool,
}

impl ChangeSource {
    /// Follows the folder by events. They reach `signal` when no more came for the debounce time.
    pub(super) fn events(
        directory: &Path,
        debounce: Duration,
        signal: &Arc<EventSignal>,
    ) -> notify::Result<Self> {
        let directory = std::path::absolute(directory)?;
        let sink = Arc::clone(signal);
        let root = directory.clone();
        let debouncer = new_debouncer(debounce, None, move |events| sink.record(&root, events))?;
        let mut follow = Self::Events {
            debouncer,
            directory,
            followed: None,
        };
        follow.arm()?;
        Ok(follow)
    }

    /// Follows the folder that is there now, in place of an earlier one. A missing folder is no error.
    pub(super) fn arm(&mut self) -> notify::Result<()> {
        let Self::Events {
            debouncer,
            directory,
            followed,
        } = self
        else {
            return Ok(());
        };
        // The id is taken first: if the folder is replaced in between, the next poll finds another id.
        *followed = file_id::get_file_id(&*directory).ok();
        for path in directory.ancestors().take(2) {
            // An earlier folder of this name may be gone, and its watch with it: no error.
            let _ = debouncer.unwatch(path);
            unless_missing(debouncer.watch(path, RecursiveMode::NonRecursive))?;
        }
        Ok(())
    }

    /// Whether the path now names another folder than the followed one, or names one for the first time.
    pub(super) fn folder_was_replaced(&self) -> bool {
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

/// Ignores the error about a missing folder, which cannot be followed yet.
fn unless_missing(result: notify::Result<()>) -> notify::Result<()> {
    result.or_else(|error| match &error.kind {
        notify::ErrorKind::PathNotFound => Ok(()),
        notify::ErrorKind::Io(io) if io.kind() == std::io::ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    })
}

impl EventSignal {
    /// Waits until an action is pending. Dropping the future loses nothing.
    pub(super) async fn wait(&self) {
        self.notify.notified().await;
    }

    /// Records the actions for a batch of events. Compares names only, since systems write paths
    /// differently: a false match costs one scan.
    fn record(&self, root: &Path, events: DebounceEventResult) {
        let actions = match events {
            Ok(events) => events
                .iter()
                .map(|event| PendingActions::from_event(root, event))
                .fold(PendingActions::default(), PendingActions::or),
            Err(_) => PendingActions::ALL,
        };
        if actions.scan || actions.rearm {
            let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
            *pending = pending.or(actions);
            self.notify.notify_one();
        }
    }

    /// Takes the pending actions, and leaves none.
    pub(super) fn take(&self) -> PendingActions {
        std::mem::take(&mut self.pending.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl PendingActions {
    const ALL: Self = Self {
        scan: true,
        rearm: true,
    };

    fn from_event(root: &Path, event: &DebouncedEvent) -> Self {
        if event.need_rescan() {
            return Self::ALL;
        }
        // A scan accesses files too: an access must not lead to another scan.
        if matches!(event.kind, EventKind::Access(_)) {
            return Self::default();
        }
        let is_named = |path: &PathBuf| is_domain_file(path) || is_misnamed(path);
        let is_root = |path: &PathBuf| path.file_name() == root.file_name();
        // A folder's own times change with every file in it.
        let replaced = !matches!(event.kind, EventKind::Modify(ModifyKind::Metadata(_)));
        Self {
            scan: event.paths.iter().any(is_named),
            rearm: replaced && event.paths.iter().any(is_root),
        }
    }

    fn or(self, other: Self) -> Self {
        Self {
            scan: self.scan || other.scan,
            rearm: self.rearm || other.rearm,
        }
    }
}
