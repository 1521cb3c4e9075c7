//! Cuts the trees of runs into chains, from the lines of the history.

use std::collections::{BTreeSet, HashMap};

use jiff::Timestamp;
use urldb_files::RootFile;

use super::RunLine;
use super::order::{InOrder, Starts, in_order, is_known};
use super::reading::Lines;
use super::verifications::{Chain, ChainPosition, Change, Run, Start, Verifications};

/// Collects the lines of runs, in any order.
#[derive(Default)]
pub struct VerificationsBuilder {
    runs: Vec<ReadRun>,
    urls: HashMap<String, u32>,
}

/// A run, as its line describes it.
struct ReadRun {
    run: Run,
    base: Option<String>,
    is_whole: bool,
    unverified: Vec<u32>,
    verified: Vec<u32>,
}

impl InOrder for ReadRun {
    fn id(&self) -> &str {
        &self.run.id
    }

    fn at(&self) -> Timestamp {
        self.run.at
    }

    fn base(&self) -> Option<&str> {
        self.base.as_deref()
    }
}

impl VerificationsBuilder {
    pub(super) fn has_runs(&self) -> bool {
        !self.runs.is_empty()
    }

    pub(super) fn add_file(&mut self, file: RootFile) -> anyhow::Result<()> {
        for line in Lines::of_file(file) {
            self.add(&line?);
        }
        Ok(())
    }

    /// Adds the line of a run.
    pub fn add(&mut self, line: &RunLine) {
        let listed = line.unverified.as_ref().unwrap_or(&line.became_unverified);
        let read = ReadRun {
            run: Run {
                at: line.at,
                id: line.run.clone(),
                selection: line.selection.clone(),
                verifies: line.verified > 0,
                rehash: line.rehash,
                place: ChainPosition::default(),
            },
            base: line.base.clone(),
            is_whole: line.unverified.is_some(),
            unverified: self.numbers(listed),
            verified: self.numbers(&line.verified_again),
        };
        self.runs.push(read);
    }

    fn numbers(&mut self, urls: &[String]) -> Vec<u32> {
        let number = |url: &String| {
            if let Some(known) = self.urls.get(url) {
                return *known;
            }
            let next = u32::try_from(self.urls.len()).unwrap_or(u32::MAX);
            self.urls.insert(url.clone(), next);
            next
        };
        let numbers: BTreeSet<u32> = urls.iter().map(number).collect();
        numbers.into_iter().collect()
    }

    /// The verifications as of `now`. A run whose time lies in the future verifies nothing, since the time of
    /// its verifications is unknown.
    pub fn finish(self, now: Timestamp) -> Verifications {
        let Self { runs, urls } = self;
        let mut built = Verifications {
            urls,
            ..Verifications::default()
        };
        built.changes = vec![vec![]; built.urls.len()];
        let mut bases = vec![];
        for (read, base) in in_order(runs) {
            bases.push(base);
            let start = match base {
                _ if read.is_whole => Start::Nothing,
                Some(base) => Start::Run(built.runs[base as usize].place),
                None => Start::Unknown,
            };
            let is_known = is_known(read.run.at, now);
            let run = Run {
                verifies: read.run.verifies && is_known,
                place: built.put(start),
                ..read.run
            };
            for (urls, is_unverified) in [(read.verified, false), (read.unverified, true)] {
                let place = run.place;
                let change = Change {
                    place,
                    is_unverified,
                };
                for url in urls {
                    built.changes[url as usize].push(change);
                }
            }
            built.runs.push(run);
        }
        for changes in &mut built.changes {
            changes.sort_by_key(|change| change.place);
        }
        let mut latest = Timestamp::MIN;
        for chain in &mut built.chains {
            latest = chain
                .runs
                .iter()
                .map(|run| &built.runs[*run as usize])
                .filter(|run| run.verifies)
                .map(|run| run.at)
                .fold(latest, Timestamp::max);
            chain.latest = latest;
        }
        built.starts = Starts::of(built.runs.iter().map(|run| run.at));
        built.present = present(&built.runs, &bases, now);
        built
    }
}

impl Verifications {
    /// Puts the next run into the chain of its base, if the base is the last one there, or else into a new
    /// one.
    fn put(&mut self, start: Start) -> ChainPosition {
        let run = u32::try_from(self.runs.len()).unwrap_or(u32::MAX);
        if let Start::Run(base) = start {
            let chain = &mut self.chains[base.chain as usize];
            let next = u32::try_from(chain.runs.len()).unwrap_or(u32::MAX);
            if base.number + 1 == next {
                chain.runs.push(run);
                return ChainPosition {
                    number: next,
                    ..base
                };
            }
        }
        let chain = u32::try_from(self.chains.len()).unwrap_or(u32::MAX);
        self.chains.push(Chain {
            runs: vec![run],
            start,
            latest: Timestamp::MIN,
        });
        ChainPosition { chain, number: 0 }
    }
}

/// The number of the run before now: the last one whose time is known, or a later one that goes back to
/// it. Without any known time, the last run.
fn present(runs: &[Run], bases: &[Option<u32>], now: Timestamp) -> Option<u32> {
    let mut last = runs
        .iter()
        .rposition(|run| is_known(run.at, now))
        .or_else(|| runs.len().checked_sub(1))?;
    let mut goes_back = vec![false; runs.len()];
    goes_back[last] = true;
    for run in last + 1..runs.len() {
        goes_back[run] = bases[run].is_some_and(|base| goes_back[base as usize]);
        if goes_back[run] {
            last = run;
        }
    }
    u32::try_from(last).ok()
}
