//! Follows the domain files, and lists those whose contents have changed.
//!
//! An event of the operating system only starts a scan, since events get lost,
//! come twice, or report a touch; [`Contents`] decides.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::change_source::{ChangeSource, EventSignal, PendingActions};
use super::contents::Contents;

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
    /// Why the folder could not be listed the last time.
    unlistable: Option<String>,
}

/// The result of a scan.
#[derive(Debug, Default)]
pub(super) struct ScanResult {
    /// Files changed, added or removed, sorted.
    pub(super) changed: Vec<PathBuf>,
    /// Errors, for people.
    pub(super) problems: Vec<String>,
}

impl Watcher {
    /// Starts to follow the folder; `polling` asks for scans at this interval in place of events.
    /// Also returns a warning when events are not available.
    ///
    /// # Errors
    /// When the folder is there and cannot be listed.
    pub(super) fn start(
        directory: &Path,
        debounce: Duration,
        polling: Option<Duration>,
    ) -> std::io::Result<(Self, Option<String>)> {
        let signal = Arc::<EventSignal>::default();
        let (follow, warning) = match polling {
            Some(_) => (ChangeSource::Polling, None),
            None => {
                match ChangeSource::events(directory, debounce.clamp(SHORTEST, LONGEST), &signal) {
                    Ok(follow) => (follow, None),
                    Err(error) => (ChangeSource::Polling, Some(no_events(&error))),
                }
            }
        };
        let mut contents = Contents::default();
        // The scan comes after the start of events, so that no change is lost in between.
        contents.rescan(directory)?;
        let poll = polling.unwrap_or(POLL).clamp(SHORTEST, LONGEST);
        let watcher = Self {
            directory: directory.to_owned(),
            contents,
            signal,
            follow,
            next_poll: Instant::now() + poll,
            poll,
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
            actions.scan |= matches!(self.follow, ChangeSource::Polling);
            actions.rearm |= self.follow.folder_was_replaced();
        }
        actions
    }
}

fn no_events(error: &notify::Error) -> String {
    let seconds = POLL.as_secs();
    format!("no file events ({error}); looking at the files every {seconds} seconds instead")
}
