//! Follows the domain files, and lists those whose contents have changed.
//!
//! An event of the operating system only starts a scan, since events get lost,
//! come twice, or report a touch; [`Contents`] decides. Changes without an event are found by a scan at intervals.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use notify_debouncer_full::file_id::{self, FileId};
use notify_debouncer_full::notify::event::ModifyKind;
use notify_debouncer_full::notify::{self, EventKind, RecommendedWatcher, RecursiveMode};
use notify_debouncer_full::{
    DebounceEventResult, DebouncedEvent, Debouncer, RecommendedCache, new_debouncer,
};
use sha2::{Digest, Sha256};
use tokio::sync::Notify;
use tokio::time::Instant;
use urldb_files::{Kind, Root, RootFile};
use urldb_format::{is_domain_file, is_misnamed};

/// Interval between scans of a folder without events, and between comparisons of the identity of a
/// followed folder.
const POLL: Duration = Duration::from_secs(3);

/// Bounds of the configured times: no busy loop, no overflow.
const SHORTEST: Duration = Duration::from_millis(10);
const LONGEST: Duration = Duration::from_hours(24);

/// The files of one database, followed.
#[derive(Debug)]
pub(super) struct Watcher {
    directory: PathBuf,
    contents: Contents,
    signal: Arc<EventSignal>,
    follow: ChangeSource,
    next_poll: Instant,
    poll: Duration,
    last_scan: Instant,
    rescan: Duration,
    /// Why the folder could not be listed the last time.
    unlistable: Option<String>,
}

#[derive(Debug, Default)]
pub(super) struct ScanResult {
    /// Files changed, added or removed, sorted.
    pub(super) changed: Vec<PathBuf>,
    /// Errors, for people.
    pub(super) problems: Vec<String>,
}

impl Watcher {
    /// Starts to follow the folder, and scans it at least at the interval `rescan`.
    /// Also returns a warning when events are not available.
    ///
    /// # Errors
    /// When the folder is there and cannot be listed.
    pub(super) fn start(
        directory: &Path,
        debounce: Duration,
        rescan: Duration,
    ) -> std::io::Result<(Self, Option<String>)> {
        let signal = Arc::<EventSignal>::default();
        let events = ChangeSource::events(directory, debounce.clamp(SHORTEST, LONGEST), &signal);
        let (follow, warning) = match events {
            Ok(follow) => (follow, None),
            Err(error) => (ChangeSource::Polling, Some(no_events(&error))),
        };
        let mut contents = Contents::default();
        // The scan comes after the start of events, so that no change is lost in between.
        contents.rescan(directory)?;
        let rescan = rescan.clamp(SHORTEST, LONGEST);
        let (now, poll) = (Instant::now(), POLL.min(rescan));
        let watcher = Self {
            directory: directory.to_owned(),
            contents,
            signal,
            follow,
            next_poll: now + poll,
            poll,
            last_scan: now,
            rescan,
            unlistable: None,
        };
        Ok((watcher, warning))
    }

    /// The number of domain files.
    pub(super) fn files(&self) -> usize {
        self.contents.len()
    }

    /// Waits until a scan is due. Dropping the future loses nothing.
    pub(super) async fn wait(&self) {
        tokio::select! {
            () = self.signal.wait() => {}
            () = tokio::time::sleep_until(self.next_poll) => {}
        }
    }

    /// Scans the folder, if a scan is due.
    pub(super) fn scan(&mut self) -> ScanResult {
        let actions = self.pending_actions();
        let mut result = ScanResult::default();
        if actions.rearm
            && let Err(error) = self.follow.arm()
        {
            self.follow = ChangeSource::Polling;
            result.problems.push(no_events(&error));
        }
        if actions.scan || actions.rearm {
            self.last_scan = Instant::now();
            let before = self.unlistable.take();
            match self.contents.rescan(&self.directory) {
                Ok(changed) => result.changed = changed,
                Err(error) => {
                    let problem = format!("cannot list {}: {error}", self.directory.display());
                    // Reported once, however often the scan is tried again.
                    if before.as_ref() != Some(&problem) {
                        result.problems.push(problem.clone());
                    }
                    self.unlistable = Some(problem);
                }
            }
        }
        result
    }

    /// The actions that events asked for; at intervals, also scans for changes without events.
    fn pending_actions(&mut self) -> PendingActions {
        let mut actions = self.signal.take();
        let now = Instant::now();
        if now >= self.next_poll {
            self.next_poll = now + self.poll;
            actions.scan |= matches!(self.follow, ChangeSource::Polling)
                || now.duration_since(self.last_scan) >= self.rescan;
            actions.rearm |= self.follow.folder_was_replaced();
        }
        actions
    }
}

fn no_events(error: &notify::Error) -> String {
    let seconds = POLL.as_secs();
    format!("no file events ({error}); looking at the files every {seconds} seconds instead")
}

/// The domain files of a folder, and those that end in `.yml`, each with a digest of its bytes.
#[derive(Debug, Default)]
pub(super) struct Contents {
    files: BTreeMap<PathBuf, FileContent>,
}

/// The content of one file at the last scan.
#[derive(Debug, PartialEq, Eq)]
enum FileContent {
    Digest([u8; 32]),
    Unreadable,
}

impl Contents {
    /// Scans the folder again; returns the files that were changed, added or removed since the
    /// last scan, sorted. A missing folder counts as empty.
    ///
    /// # Errors
    /// When the folder cannot be listed; the last scan then still counts.
    pub(super) fn rescan(&mut self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        let now = scan(directory)?;
        let differs = |path: &&PathBuf| self.files.get(*path) != now.get(*path);
        let gone = self.files.keys().filter(|path| !now.contains_key(*path));
        let mut changed: Vec<PathBuf> = now.keys().chain(gone).filter(differs).cloned().collect();
        changed.sort();
        self.files = now;
        Ok(changed)
    }

    /// The number of domain files.
    pub(super) fn len(&self) -> usize {
        self.files
            .keys()
            .filter(|path| is_domain_file(path))
            .count()
    }
}

fn scan(directory: &Path) -> io::Result<BTreeMap<PathBuf, FileContent>> {
    let mut files = BTreeMap::new();
    for file in Root::new(directory, "the database").files()? {
        let path = file.path();
        if is_domain_file(&path) || is_misnamed(&path) {
            if file.kind() == Some(Kind::Folder) {
                continue;
            }
            match digest(&file) {
                Ok(digest) => files.insert(path, FileContent::Digest(digest)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                Err(_) => files.insert(path, FileContent::Unreadable),
            };
        }
    }
    Ok(files)
}

fn digest(file: &RootFile) -> io::Result<[u8; 32]> {
    let mut file = file.open()?;
    let mut hasher = Sha256::new();
    let mut buffer = [0; 16 * 1024];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hasher.finalize().into()),
            length => hasher.update(&buffer[..length]),
        }
    }
}

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
