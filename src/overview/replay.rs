//! The history, read once from its beginning to its end, one line at a time: the verifications, and the
//! runs.
//!
//! Memory grows with the runs; that of [`Verifications`] comes on top. It does not grow with the URLs of the database.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use jiff::civil::Date;
use urldb_files::Root;
use urldb_protocol::{ImpairedRun, RunSummary, State};
use urldb_verdict::{JobKey, Selection};

use crate::ledger::{
    self, RunLine, SoughtUrl, Starts, Verifications, VerificationsBuilder, take_future,
};
use crate::project::selection_text;

/// Facts from the history.
#[derive(Debug, Default)]
pub(super) struct Replay {
    /// The runs that reached a conclusion about most of their URLs, at a time that is known, in their order.
    runs: Vec<Run>,
    /// The other runs, in their order.
    impaired: Vec<UnseenRun>,
    starts: Starts,
    /// The latest time of a run that lies in the future.
    future_run: Option<Timestamp>,
    /// The different selections of these runs.
    selections: Vec<SelectionRuns>,
    verifications: Verifications,
}

/// A run that reached a conclusion.
#[derive(Debug)]
struct Run {
    id: Box<str>,
    at: Timestamp,
    /// Index of its selection.
    selection: u32,
    due: u64,
    ok: u64,
    inconclusive: u64,
}

/// A run that had a result for fewer than half of its URLs.
#[derive(Debug)]
struct UnseenRun {
    id: Box<str>,
    summary: ImpairedRun,
    /// Number of runs with results before it.
    before: usize,
}

/// A selection, and the indexes of its runs, ascending.
#[derive(Debug)]
pub(super) struct SelectionRuns {
    selection: Option<Selection>,
    runs: Vec<u32>,
}

/// The part of a job that selections look at.
#[derive(Debug, Clone, Copy)]
pub(super) struct Selected<'a> {
    pub(super) key: &'a JobKey,
    pub(super) categories: &'a [String],
}

impl Replay {
    /// Reads the history in the ledger's folder, as of `now`. Lines of other programs are skipped.
    ///
    /// # Errors
    /// When the history exists and cannot be read.
    pub(super) fn read(ledger: &Root, now: Timestamp) -> anyhow::Result<Self> {
        let mut replay = Self::default();
        let mut verifications = VerificationsBuilder::default();
        let mut selections = HashMap::new();
        for line in ledger::lines(ledger)? {
            let line = line?;
            verifications.add(&line);
            replay.add_run(line, &mut selections);
        }
        replay.verifications = verifications.finish(now);
        replay.sort(now);
        Ok(replay)
    }

    fn add_run(&mut self, line: RunLine, selections: &mut HashMap<String, u32>) {
        let of = |state: State| line.states.get(&state).copied().unwrap_or_default();
        let inconclusive = of(State::Inconclusive);
        let results = line
            .states
            .iter()
            .filter(|(state, _)| **state != State::Inconclusive)
            .fold(0_u64, |sum, (_, urls)| sum.saturating_add(*urls));
        // A run without network has checked nothing. A run over an empty database has checked all.
        if results < line.due.div_ceil(2) {
            self.impaired.push(UnseenRun {
                id: line.run.into(),
                summary: ImpairedRun {
                    at: line.at,
                    due: line.due,
                    results,
                },
                before: 0,
            });
            return;
        }
        let known = self.selections.len();
        let name = serde_json::to_string(&line.selection).unwrap_or_default();
        let selection = *selections
            .entry(name)
            .or_insert_with(|| u32::try_from(known).unwrap_or(u32::MAX));
        if selection as usize == known {
            self.selections.push(SelectionRuns {
                selection: line.selection,
                runs: vec![],
            });
        }
        self.runs.push(Run {
            id: line.run.into(),
            at: line.at,
            selection,
            due: line.due,
            ok: of(State::Ok),
            inconclusive,
        });
    }

    /// Brings everything into the order of the runs; a line that a merge doubled counts once.
    fn sort(&mut self, now: Timestamp) {
        let places: HashMap<&str, usize> = self.verifications.ids().zip(0..).collect();
        // A run that began while the history was read is the last one.
        let place = |run: &str| places.get(run).copied().unwrap_or(usize::MAX);
        // Of several lines of one run, the order of runs has the earliest.
        self.runs.sort_by_key(|run| (place(&run.id), run.at));
        self.runs.dedup_by(|a, b| a.id == b.id);
        self.future_run = take_future(&mut self.runs, now, |run| run.at);
        take_future(&mut self.impaired, now, |run| run.summary.at);
        for impaired in &mut self.impaired {
            let key = (place(&impaired.id), impaired.summary.at);
            let before = |run: &Run| (place(&run.id), run.at) < key;
            impaired.before = self.runs.partition_point(before);
        }
        self.impaired
            .sort_by_key(|run| (run.before, run.summary.at));
        self.starts = Starts::of(self.runs.iter().map(|run| run.at));
        for (index, run) in (0..).zip(&self.runs) {
            self.selections[run.selection as usize].runs.push(index);
        }
    }

    /// The ids of the runs that certainly checked the URL, the latest first.
    pub(super) fn runs_of(&self, url: Selected<'_>) -> impl Iterator<Item = &str> {
        let covers: Vec<bool> = self.selections.iter().map(|it| it.covers(url)).collect();
        self.runs
            .iter()
            .rev()
            .filter(move |run| covers[run.selection as usize])
            .map(|run| &*run.id)
    }

    /// The start of the last run that checked the URL, which a run saw first at `added`.
    pub(super) fn last_checked(
        &self,
        url: Selected<'_>,
        added: Option<Timestamp>,
    ) -> Option<Timestamp> {
        let first = added.map_or(0, |added| self.starts.first_since(added));
        let last = self
            .selections
            .iter()
            .filter(|it| it.covers(url))
            .filter_map(|it| it.runs.last())
            .max()
            .copied()?;
        (last as usize >= first).then(|| self.runs[last as usize].at)
    }

    /// The start of the last run that verified the bytes at a URL, which a run saw first at `added`.
    pub(super) fn last_verified(
        &self,
        url: &str,
        selected: Selected<'_>,
        added: Option<Timestamp>,
    ) -> Option<Timestamp> {
        self.verifications.last(&SoughtUrl {
            url,
            key: selected.key,
            categories: selected.categories,
            added,
        })
    }

    /// The start of the first of the runs that verified the bytes at a URL without interruption until now.
    pub(super) fn verified_since(
        &self,
        url: &str,
        selected: Selected<'_>,
        added: Option<Timestamp>,
    ) -> Option<Timestamp> {
        self.verifications.since(&SoughtUrl {
            url,
            key: selected.key,
            categories: selected.categories,
            added,
        })
    }

    /// The latest time of a run that lies in the future.
    pub(super) fn future_run(&self) -> Option<Timestamp> {
        self.future_run
    }

    /// The latest run over at least half of so many promises, if it had a result for fewer than half of its URLs.
    pub(super) fn impaired_run(&self, promises: u64) -> Option<ImpairedRun> {
        let is_large = |due: u64| due >= promises.div_ceil(2);
        let last = self
            .impaired
            .iter()
            .rev()
            .find(|run| is_large(run.summary.due))?;
        let mut later = self.runs[last.before..].iter();
        (!later.any(|run| is_large(run.due))).then_some(last.summary)
    }

    pub(super) fn last_run(&self) -> Option<RunSummary> {
        self.runs.last().map(|run| self.summary(run))
    }

    /// The latest run over everything.
    pub(super) fn last_complete(&self) -> Option<RunSummary> {
        let run = self.runs.iter().rev().find(|run| self.is_complete(run))?;
        Some(self.summary(run))
    }

    /// The runs after the latest one over everything; of several with one selection, the latest.
    pub(super) fn since_complete(&self) -> Vec<RunSummary> {
        let later = self
            .runs
            .iter()
            .rev()
            .take_while(|run| !self.is_complete(run));
        let mut known = HashSet::new();
        let mut later: Vec<_> = later
            .filter(|run| known.insert(run.selection))
            .map(|run| self.summary(run))
            .collect();
        later.reverse();
        later
    }

    fn is_complete(&self, run: &Run) -> bool {
        self.selections[run.selection as usize].selection.is_none()
    }

    fn summary(&self, run: &Run) -> RunSummary {
        let selection = &self.selections[run.selection as usize].selection;
        RunSummary {
            id: run.id.to_string(),
            at: run.at,
            selection: selection.as_ref().and_then(selection_text),
            due: run.due,
            ok: run.ok,
            inconclusive: run.inconclusive,
        }
    }

    /// The starts of the runs, in their order.
    pub(super) fn starts(&self) -> impl DoubleEndedIterator<Item = Timestamp> {
        self.runs.iter().map(|run| run.at)
    }

    pub(super) fn selections(&self) -> &[SelectionRuns] {
        &self.selections
    }

    /// The days on which a run with this selection began.
    pub(super) fn days_of<'a>(
        &'a self,
        selection: &'a SelectionRuns,
    ) -> impl Iterator<Item = Date> {
        selection
            .runs
            .iter()
            .map(|run| super::date_of(self.runs[*run as usize].at))
    }
}

impl SelectionRuns {
    /// Whether the runs with the selection check this URL.
    pub(super) fn covers(&self, url: Selected<'_>) -> bool {
        let selection = self.selection.as_ref();
        selection.is_none_or(|selection| selection.wants_job(url.key, url.categories))
    }
}
