//! Follows the domain files: says which of them have other contents than before.
//!
//! What the operating system reports is only a hint to look again, since events
//! get lost, come twice, or tell of a touch; [`Contents`] decides.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::contents::Contents;
use super::follow::{Follow, Hints, Todo};

/// How often a folder that gives no events is looked at; and one that does, to see that it is
/// still the same one.
const POLL: Duration = Duration::from_secs(3);

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
    /// Why the folder could not be listed the last time.
    unlistable: Option<String>,
}

/// What a look brought.
#[derive(Debug, Default)]
pub(super) struct Look {
    /// Files changed, added or removed, sorted.
    pub(super) changed: Vec<PathBuf>,
    /// What went wrong, for people.
    pub(super) problems: Vec<String>,
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
            None => match Follow::events(directory, debounce.clamp(SHORTEST, LONGEST), &hints) {
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
            unlistable: None,
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
            () = self.hints.news() => {}
            () = tokio::time::sleep_until(self.next_poll) => {}
        }
    }

    /// Looks, if there is a reason to.
    pub(super) fn look(&mut self) -> Look {
        let todo = self.todo();
        let mut look = Look::default();
        if todo.rearm
            && let Err(error) = self.follow.arm()
        {
            self.follow = Follow::Polling;
            look.problems.push(no_events(&error));
        }
        if todo.look || todo.rearm {
            let before = self.unlistable.take();
            match self.contents.look_again(&self.directory) {
                Ok(changed) => look.changed = changed,
                Err(error) => {
                    let problem = format!("cannot list {}: {error}", self.directory.display());
                    // Said once, however often it is tried again.
                    if before.as_ref() != Some(&problem) {
                        look.problems.push(problem.clone());
                    }
                    self.unlistable = Some(problem);
                }
            }
        }
        look
    }

    /// What the events have left to do, and, now and then, what they may have missed.
    fn todo(&mut self) -> Todo {
        let mut todo = self.hints.take();
        let now = Instant::now();
        if now >= self.next_poll {
            self.next_poll = now + self.poll;
            todo.look |= matches!(self.follow, Follow::Polling);
            todo.rearm |= self.follow.is_astray();
        }
        todo
    }
}

fn no_events(error: &notify::Error) -> String {
    let seconds = POLL.as_secs();
    format!("no file events ({error}); looking at the files every {seconds} seconds instead")
}
