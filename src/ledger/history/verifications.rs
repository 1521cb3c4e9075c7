//! Replays the history: which static URLs were unverified after a run, and when each was verified last.
//!
//! A run refers to the run that it started from. Two runs that start from the same one, on two machines
//! or branches, are two branches of the history, whatever the order of their lines after a merge. So
//! the runs form trees. The trees are cut into chains, and each URL that was ever unverified has the
//! places in the chains where it became unverified, or was verified again.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

use jiff::Timestamp;
use urldb_verdict::{JobKey, Rehash, Selection};

use super::reading::{Lines, PastRun, lines};
use super::{HistoryLine, OLD_FILE, RehashDays, RunLine, file_of};

/// Seconds in a day.
const DAY: i64 = 24 * 60 * 60;

/// When each static URL was verified last.
///
/// Memory grows with the runs (about 200 bytes for each), with the URLs that were ever unverified (each
/// with its text once), and with the times that they became unverified or were verified again (12 bytes
/// for each). It does not grow with the URLs of the database.
#[derive(Debug, Default)]
pub struct Verifications {
    /// In order of time.
    runs: Vec<Run>,
    /// The chains, those with the latest run first.
    chains: Vec<Chain>,
    /// The numbers of the URLs that were ever unverified.
    urls: HashMap<String, u32>,
    /// The changes of each of these URLs, sorted.
    changes: Vec<Vec<Change>>,
}

/// A static URL whose last verification is sought.
#[derive(Debug, Clone, Copy)]
pub struct SoughtUrl<'a> {
    /// The URL, as in the history.
    pub url: &'a str,
    /// Its job. Aliases are not asked in each run, so that their verifications are unknown.
    pub key: &'a JobKey,
    /// The categories of its record.
    pub categories: &'a [String],
    /// When a run first saw the job, from the ledger; earlier runs have not verified it.
    pub added: Option<Timestamp>,
}

/// The run that the next one starts from.
#[derive(Debug, Default)]
pub struct BaseRun {
    /// Its id; absent if the next run is the first of a month, and has to list all unverified URLs.
    pub id: Option<String>,
    /// The unverified URLs after it.
    pub unverified: HashSet<String>,
}

#[derive(Debug)]
struct Run {
    at: Timestamp,
    id: String,
    selection: Option<Selection>,
    /// Whether it verified any URL.
    verifies: bool,
    rehash: Option<RehashDays>,
}

/// Runs, each of which starts from the one before.
#[derive(Debug)]
struct Chain {
    /// Numbers of runs.
    runs: Vec<u32>,
    /// What the first run starts from.
    start: Start,
    /// The start of its latest run.
    latest: Timestamp,
}

#[derive(Debug, Clone, Copy)]
enum Start {
    /// No URL is unverified: the first run lists all that are.
    Nothing,
    /// A run of another chain, by its place there.
    Run(Place),
    /// A run whose line is lost. Of a URL that the chain does not name, nothing is known.
    Unknown,
}

/// A run, by chain and by its number in the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    chain: u32,
    number: u32,
}

/// A run after which a URL is unverified and was not before, or the other way round.
#[derive(Debug, Clone, Copy)]
struct Change {
    place: Place,
    is_unverified: bool,
}

/// What a line says.
struct ReadRun {
    run: Run,
    base: Option<String>,
    is_whole: bool,
    unverified: Vec<u32>,
    verified: Vec<u32>,
}

impl Verifications {
    /// Reads the whole history in the ledger's folder.
    ///
    /// # Errors
    /// As [`lines`].
    pub fn load(folder: &Path) -> anyhow::Result<Self> {
        let mut builder = Builder::default();
        for line in lines(folder)? {
            builder.add(line?);
        }
        Ok(builder.finish())
    }

    /// Reads the month of the last run of the past. `started` is the beginning of the next run.
    ///
    /// # Errors
    /// As [`lines`].
    pub fn base(
        folder: &Path,
        last: Option<&PastRun>,
        started: Timestamp,
    ) -> anyhow::Result<BaseRun> {
        let Some(last) = last else {
            return Ok(BaseRun::default());
        };
        let month = file_of(folder, last.at);
        let read = |path| {
            let mut builder = Builder::default();
            for line in Lines::of_file(path) {
                builder.add(line?);
            }
            anyhow::Ok(builder.finish().unverified_after(&last.id))
        };
        let known = read(month.clone())?;
        let is_same_month = known.is_some() && month == file_of(folder, started);
        let unverified = match known {
            Some(known) => Some(known),
            None => read(folder.join(OLD_FILE))?,
        };
        Ok(BaseRun {
            id: is_same_month.then(|| last.id.clone()),
            unverified: unverified.unwrap_or_default(),
        })
    }

    /// The unverified URLs after a run; `None` if the history does not tell.
    fn unverified_after(&self, run: &str) -> Option<HashSet<String>> {
        let place = self.place_of(run)?;
        let mut start = place;
        loop {
            match self.chains[start.chain as usize].start {
                Start::Unknown => return None,
                Start::Nothing => break,
                Start::Run(earlier) => start = earlier,
            }
        }
        let urls = self.urls.iter();
        let unverified = urls.filter(|(_, url)| self.is_unverified(**url, place));
        Some(unverified.map(|(text, _)| text.clone()).collect())
    }

    fn place_of(&self, run: &str) -> Option<Place> {
        self.chains.iter().zip(0..).find_map(|(chain, number)| {
            let mut runs = chain.runs.iter();
            let at = runs.position(|index| self.runs[*index as usize].id == run)?;
            Some(Place {
                chain: number,
                number: u32::try_from(at).ok()?,
            })
        })
    }

    /// When the last run began that read all bytes of this URL and found them as promised. With
    /// `rehash-every`, a run with 304s counts only for the URLs whose turn it was: a URL that was read in
    /// full without need may have been verified later.
    pub fn last(&self, sought: &SoughtUrl<'_>) -> Option<Timestamp> {
        if sought.key.alias.is_some() {
            return None;
        }
        let first = sought.added.map(|added| self.first_since(added));
        let url = self.urls.get(sought.url).copied();
        let mut best: Option<Timestamp> = None;
        for (chain, number) in self.chains.iter().zip(0..) {
            if best.is_some_and(|best| best >= chain.latest) {
                break;
            }
            best = best.max(self.last_in(chain, number, url, sought, first));
        }
        best
    }

    /// When the first run of the present series began: each run since then that read all bytes of this URL
    /// found them as promised. `None` if the last such run did not, or if none did.
    pub fn since(&self, sought: &SoughtUrl<'_>) -> Option<Timestamp> {
        if sought.key.alias.is_some() {
            return None;
        }
        let first = sought.added.map(|added| self.first_since(added));
        let url = self.urls.get(sought.url).copied();
        let changes = url.map_or(&[][..], |url| &self.changes[url as usize]);
        let mut end = self.end_of(0)?;
        let mut since = None;
        loop {
            let chain = &self.chains[end.chain as usize];
            let until = changes.partition_point(|change| change.place <= end);
            let last = changes[..until].last();
            let last = last.filter(|last| last.place.chain == end.chain);
            if last.is_some_and(|last| last.is_unverified) {
                return since;
            }
            let begin = last.map_or(0, |last| last.place.number as usize);
            let runs = chain.runs[begin..=end.number as usize].iter();
            let mut runs = runs.map(|run| &self.runs[*run as usize]);
            let read =
                runs.find(|run| first.is_none_or(|first| run.at >= first) && run.has_read(sought));
            since = read.map(|run| run.at).or(since);
            if last.is_some() {
                return since;
            }
            end = match chain.start {
                Start::Unknown => return since,
                Start::Run(earlier) => earlier,
                // The first run of a month lists all unverified URLs, and this one is not among them.
                Start::Nothing => match self.chain_before(end.chain) {
                    Some(earlier) => earlier,
                    None => return since,
                },
            };
        }
    }

    /// The last run of a chain.
    fn end_of(&self, chain: u32) -> Option<Place> {
        let runs = self.chains.get(chain as usize)?.runs.len();
        let number = u32::try_from(runs.checked_sub(1)?).ok()?;
        Some(Place { chain, number })
    }

    /// The last run of the latest chain that ended before this one began.
    fn chain_before(&self, chain: u32) -> Option<Place> {
        let first = *self.chains[chain as usize].runs.first()?;
        let begin = self.runs[first as usize].at;
        let mut later = (chain + 1)..u32::try_from(self.chains.len()).ok()?;
        self.end_of(later.find(|earlier| self.chains[*earlier as usize].latest < begin)?)
    }

    /// The start of the first run that can have seen a job which was added then.
    fn first_since(&self, added: Timestamp) -> Timestamp {
        let earlier = self.runs.partition_point(|run| run.at <= added);
        let before = earlier.checked_sub(1).and_then(|last| self.runs.get(last));
        before.map_or(Timestamp::MIN, |run| run.at)
    }

    /// The same within one chain.
    fn last_in(
        &self,
        chain: &Chain,
        number: u32,
        url: Option<u32>,
        sought: &SoughtUrl<'_>,
        first: Option<Timestamp>,
    ) -> Option<Timestamp> {
        let verified = |runs: &[u32]| {
            let runs = runs.iter().rev().map(|run| &self.runs[*run as usize]);
            let mut runs = runs.filter(|run| first.is_none_or(|first| run.at >= first));
            runs.find(|run| run.has_read(sought)).map(|run| run.at)
        };
        let Some(url) = url else {
            let is_unverified = self.is_unverified_at(chain.start, None);
            return if is_unverified {
                None
            } else {
                verified(&chain.runs)
            };
        };
        let changes = &self.changes[url as usize];
        let from = changes.partition_point(|change| change.place.chain < number);
        let until = changes.partition_point(|change| change.place.chain <= number);
        let mut end = chain.runs.len();
        for change in changes[from..until].iter().rev() {
            let begin = change.place.number as usize;
            if !change.is_unverified
                && let Some(found) = verified(&chain.runs[begin..end])
            {
                return Some(found);
            }
            end = begin;
        }
        let is_unverified = self.is_unverified_at(chain.start, Some(url));
        if is_unverified {
            None
        } else {
            verified(&chain.runs[..end])
        }
    }

    /// Whether a URL is unverified after the run at this place.
    fn is_unverified(&self, url: u32, place: Place) -> bool {
        self.is_unverified_at(Start::Run(place), Some(url))
    }

    fn is_unverified_at(&self, mut start: Start, url: Option<u32>) -> bool {
        let changes = url.map_or(&[][..], |url| &self.changes[url as usize]);
        loop {
            match start {
                Start::Nothing => return false,
                Start::Unknown => return true,
                Start::Run(place) => {
                    let until = changes.partition_point(|change| change.place <= place);
                    let last = changes[..until].last();
                    if let Some(last) = last.filter(|last| last.place.chain == place.chain) {
                        return last.is_unverified;
                    }
                    start = self.chains[place.chain as usize].start;
                }
            }
        }
    }
}

impl Run {
    /// Whether the run asked for a URL, and read all its bytes if they were not as promised before.
    fn has_read(&self, sought: &SoughtUrl<'_>) -> bool {
        let selects = |selection: &Selection| selection.wants_job(sought.key, sought.categories);
        let is_due = |rehash: RehashDays| {
            let day = u64::try_from(self.at.as_second() / DAY).unwrap_or_default();
            Rehash::of_days(rehash.every, day, rehash.days).is_due(sought.key)
        };
        self.verifies
            && self.selection.as_ref().is_none_or(selects)
            && self.rehash.is_none_or(is_due)
    }
}

/// Collects the lines of runs.
#[derive(Default)]
struct Builder {
    runs: Vec<ReadRun>,
    urls: HashMap<String, u32>,
}

impl Builder {
    fn add(&mut self, line: HistoryLine) {
        let HistoryLine::Run(line) = line else {
            return;
        };
        let RunLine {
            run: id,
            at,
            selection,
            base,
            verified,
            rehash,
            unverified,
            became_unverified,
            verified_again,
            due: _,
            not_modified: _,
            states: _,
        } = *line;
        let is_whole = unverified.is_some();
        let listed = unverified.unwrap_or(became_unverified);
        let read = ReadRun {
            run: Run {
                at,
                id,
                selection,
                verifies: verified != Some(0),
                rehash,
            },
            base,
            is_whole,
            unverified: self.numbers(listed),
            verified: self.numbers(verified_again),
        };
        self.runs.push(read);
    }

    fn numbers(&mut self, urls: Vec<String>) -> Vec<u32> {
        let number = |url: String| {
            let next = u32::try_from(self.urls.len()).unwrap_or(u32::MAX);
            *self.urls.entry(url).or_insert(next)
        };
        let numbers: BTreeSet<u32> = urls.into_iter().map(number).collect();
        numbers.into_iter().collect()
    }

    fn finish(self) -> Verifications {
        let Self { mut runs, urls } = self;
        runs.sort_by(|a, b| (a.run.at, &a.run.id).cmp(&(b.run.at, &b.run.id)));
        let mut known = HashSet::new();
        runs.retain(|read| known.insert(read.run.id.clone()));
        let mut chains = chains(&runs);
        let latest = |chain: &Chain| {
            chain
                .runs
                .iter()
                .map(|run| runs[*run as usize].run.at)
                .max()
        };
        for chain in &mut chains {
            chain.latest = latest(chain).unwrap_or(Timestamp::MIN);
        }
        sort(&mut chains);
        let mut changes = vec![vec![]; urls.len()];
        for (chain, at) in chains.iter().zip(0..) {
            for (run, number) in chain.runs.iter().zip(0..) {
                let ReadRun {
                    unverified,
                    verified,
                    ..
                } = &runs[*run as usize];
                let place = Place { chain: at, number };
                for (urls, is_unverified) in [(verified, false), (unverified, true)] {
                    let change = Change {
                        place,
                        is_unverified,
                    };
                    for url in urls {
                        changes[*url as usize].push(change);
                    }
                }
            }
        }
        Verifications {
            runs: runs.into_iter().map(|read| read.run).collect(),
            chains,
            urls,
            changes,
        }
    }
}

/// Cuts the trees of runs into chains.
fn chains(runs: &[ReadRun]) -> Vec<Chain> {
    let numbered = runs.iter().zip(0_u32..);
    let by_id: HashMap<&str, u32> = numbered
        .clone()
        .map(|(read, number)| (&*read.run.id, number))
        .collect();
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    let mut begins = vec![];
    for (read, number) in numbered {
        let base = read.base.as_deref().filter(|_| !read.is_whole);
        match base.map(|base| by_id.get(base)) {
            Some(Some(base)) => children.entry(*base).or_default().push(number),
            None if read.is_whole => begins.push((number, Start::Nothing)),
            Some(None) | None => begins.push((number, Start::Unknown)),
        }
    }
    let mut chains = vec![];
    let mut is_placed = vec![false; runs.len()];
    let mut rest = 0_u32..;
    loop {
        // Runs that start from each other in a circle are left over, and nothing is known of them.
        let begin = begins.pop().or_else(|| {
            let left = rest.find(|run| is_placed.get(*run as usize) != Some(&true))?;
            is_placed.get(left as usize)?;
            Some((left, Start::Unknown))
        });
        let Some((begin, start)) = begin else {
            return chains;
        };
        let mut chain = Chain {
            runs: vec![],
            start,
            latest: Timestamp::MIN,
        };
        let chain_number = u32::try_from(chains.len()).unwrap_or(u32::MAX);
        let mut next = Some(begin);
        while let Some(run) = next.take() {
            if std::mem::replace(&mut is_placed[run as usize], true) {
                break;
            }
            let place = Place {
                chain: chain_number,
                number: u32::try_from(chain.runs.len()).unwrap_or(u32::MAX),
            };
            chain.runs.push(run);
            let mut others = children.remove(&run).unwrap_or_default().into_iter();
            next = others.next();
            begins.extend(others.map(|other| (other, Start::Run(place))));
        }
        chains.push(chain);
    }
}

/// Sorts the chains by their latest run, the last one first.
fn sort(chains: &mut Vec<Chain>) {
    let mut order: Vec<usize> = (0..chains.len()).collect();
    order.sort_by_key(|chain| std::cmp::Reverse(chains[*chain].latest));
    let mut new_numbers = vec![0; chains.len()];
    for (chain, number) in order.iter().zip(0..) {
        new_numbers[*chain] = number;
    }
    for chain in chains.iter_mut() {
        if let Start::Run(place) = &mut chain.start {
            place.chain = new_numbers[place.chain as usize];
        }
    }
    let mut sorted: Vec<(u32, Chain)> = new_numbers.into_iter().zip(chains.drain(..)).collect();
    sorted.sort_by_key(|(number, _)| *number);
    chains.extend(sorted.into_iter().map(|(_, chain)| chain));
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use jiff::SignedDuration;
    use proptest::prelude::*;
    use urldb_canon::Scheme;
    use urldb_verdict::NamedRecord;

    use super::super::reading::parse;
    use super::*;

    /// How a run found a URL.
    #[derive(Debug, Clone, Copy, PartialEq)]
    enum Found {
        AsPromised,
        Otherwise,
        NotModified,
    }

    /// A run as it was: what it started from, and how it found each of the URLs that it asked for.
    #[derive(Debug, Clone)]
    struct TrueRun {
        base: Option<usize>,
        selection: Option<Selection>,
        found: Vec<Found>,
        /// Whether its line is of an older version, or lists all unverified URLs.
        is_old: bool,
        is_whole: bool,
    }

    const EVERY: u64 = 3;

    fn keys() -> Vec<JobKey> {
        let key = |number: usize| JobKey {
            domain: ["a.example", "b.example"][number % 2].to_owned(),
            path: format!("/{number}"),
            request: None,
            alias: None,
            scheme: Scheme::Http,
        };
        (0..6).map(key).collect()
    }

    fn categories(url: usize) -> Vec<String> {
        if url < 2 {
            vec!["core".to_owned()]
        } else {
            vec![]
        }
    }

    fn url_of(key: &JobKey) -> String {
        format!("http://{}{}", key.domain, key.path)
    }

    fn at(run: usize) -> Timestamp {
        let hours = i64::try_from(run).unwrap() * 13;
        Timestamp::UNIX_EPOCH + SignedDuration::from_hours(hours)
    }

    fn id(run: usize) -> String {
        format!("run-{run}")
    }

    fn rehash(run: usize) -> Rehash {
        Rehash::of_days(EVERY, u64::try_from(at(run).as_second() / DAY).unwrap(), 1)
    }

    impl TrueRun {
        fn asks(&self, url: usize, key: &JobKey) -> bool {
            let selection = self.selection.as_ref();
            selection.is_none_or(|selection| selection.wants_job(key, &categories(url)))
        }

        /// A record whose turn it is never gets a 304.
        fn found(&self, run: usize, url: usize, key: &JobKey) -> Option<Found> {
            let found = match self.found[url] {
                Found::NotModified if rehash(run).is_due(key) => Found::AsPromised,
                found => found,
            };
            self.asks(url, key).then_some(found)
        }
    }

    /// The unverified URLs after each run, the line of each run, and when each URL was verified last.
    fn play(
        runs: &[TrueRun],
    ) -> (
        Vec<BTreeSet<String>>,
        Vec<HistoryLine>,
        Vec<Option<Timestamp>>,
    ) {
        let keys = keys();
        let mut after: Vec<BTreeSet<String>> = vec![];
        let (mut lines, mut last) = (vec![], vec![None; keys.len()]);
        for (number, run) in runs.iter().enumerate() {
            let before = run.base.map(|base| after[base].clone()).unwrap_or_default();
            let with = |wanted| {
                let urls = keys.iter().enumerate();
                let urls =
                    urls.filter(move |(url, key)| run.found(number, *url, key) == Some(wanted));
                urls.map(|(_, key)| url_of(key))
                    .collect::<BTreeSet<String>>()
            };
            let (good, bad) = (with(Found::AsPromised), with(Found::Otherwise));
            let unmodified = with(Found::NotModified);
            let now: BTreeSet<String> = if run.is_old {
                bad.union(&unmodified).cloned().collect()
            } else if good.is_empty() {
                before.clone()
            } else {
                before
                    .union(&bad)
                    .filter(|url| !good.contains(*url))
                    .cloned()
                    .collect()
            };
            for (url, key) in keys.iter().enumerate() {
                let counts = run.is_old || unmodified.is_empty() || rehash(number).is_due(key);
                if counts && run.found(number, url, key) == Some(Found::AsPromised) {
                    last[url] = Some(at(number));
                }
            }
            let is_delta = !run.is_old && !run.is_whole && run.base.is_some();
            let difference = |a: &BTreeSet<String>, b: &BTreeSet<String>| -> Vec<String> {
                a.difference(b).filter(|_| is_delta).cloned().collect()
            };
            lines.push(HistoryLine::Run(Box::new(RunLine {
                run: id(number),
                at: at(number),
                selection: run.selection.clone(),
                base: run.base.filter(|_| is_delta).map(id),
                due: keys.len() as u64,
                verified: (!run.is_old).then_some(good.len() as u64),
                not_modified: unmodified.len() as u64,
                rehash: (!run.is_old && !unmodified.is_empty()).then_some(RehashDays {
                    every: EVERY,
                    days: 1,
                }),
                states: BTreeMap::default(),
                unverified: (!is_delta).then(|| now.iter().cloned().collect()),
                became_unverified: difference(&now, &before),
                verified_again: difference(&before, &now),
            })));
            after.push(now);
        }
        (after, lines, last)
    }

    fn any_selection() -> impl Strategy<Value = Option<Selection>> {
        let of =
            |domains: &[&str], categories: &[&str], prefix: Option<&str>, record: Option<&str>| {
                let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
                Selection {
                    domains: texts(domains),
                    categories: texts(categories),
                    path_prefix: prefix.map(str::to_owned),
                    records: record
                        .map(|path| NamedRecord {
                            domain: "a.example".to_owned(),
                            path: path.to_owned(),
                            alias: None,
                        })
                        .into_iter()
                        .collect(),
                    changed: None,
                }
            };
        prop::option::weighted(
            0.4,
            prop::sample::select(vec![
                of(&["a.example"], &[], None, None),
                of(&[], &["core"], None, None),
                of(&[], &[], Some("/1"), None),
                of(&[], &[], None, Some("/2")),
            ]),
        )
    }

    fn any_runs() -> impl Strategy<Value = Vec<TrueRun>> {
        let found = prop_oneof![
            4 => Just(Found::AsPromised),
            3 => Just(Found::Otherwise),
            1 => Just(Found::NotModified),
        ];
        // Most runs start from the run before, some from an earlier one: another machine or branch.
        let back = prop_oneof![3 => Just(1_usize), 1 => 2..4_usize];
        let run = (
            back,
            any_selection(),
            prop::collection::vec(found, 6),
            prop::bool::weighted(0.1),
            prop::bool::weighted(0.15),
        );
        prop::collection::vec(run, 1..14).prop_map(|runs| {
            let runs = runs.into_iter().enumerate();
            let runs = runs.map(
                |(number, (back, selection, found, is_old, is_whole))| TrueRun {
                    base: number.checked_sub(back),
                    selection,
                    found,
                    is_old,
                    is_whole,
                },
            );
            runs.collect()
        })
    }

    fn read(lines: &[HistoryLine]) -> Verifications {
        let mut builder = Builder::default();
        for line in lines {
            let bytes = serde_json::to_vec(line).unwrap();
            builder.add(parse(&bytes).unwrap());
        }
        builder.finish()
    }

    fn last(verifications: &Verifications, url: usize, key: &JobKey) -> Option<Timestamp> {
        verifications.last(&SoughtUrl {
            url: &url_of(key),
            key,
            categories: &categories(url),
            added: None,
        })
    }

    /// The begin of the present series of verifications of each URL, of runs of which each starts from the
    /// one before: given the unverified URLs after each, and when each was verified last after the first
    /// so many runs.
    fn series(runs: &[TrueRun]) -> Vec<Option<Timestamp>> {
        let keys = keys();
        let (after, ..) = play(runs);
        let mut since = vec![None; keys.len()];
        for (number, unverified) in after.iter().enumerate() {
            let (_, _, last) = play(&runs[..=number]);
            for (url, key) in keys.iter().enumerate() {
                let is_verified = last[url] == Some(at(number));
                since[url] = match since[url] {
                    _ if unverified.contains(&url_of(key)) => None,
                    None if is_verified => last[url],
                    known => known,
                };
            }
        }
        since
    }

    proptest! {
        #[test]
        fn lines_in_any_order_replay_as_the_runs_were(
            runs in any_runs(),
            order in any::<prop::sample::Index>(),
            seed in any::<u64>(),
        ) {
            let (after, mut lines, verified) = play(&runs);
            let twice = order.get(&lines).clone();
            lines.push(twice);
            let mut state = seed;
            lines.sort_by_cached_key(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                state >> 33
            });
            let verifications = read(&lines);
            for (number, after) in after.iter().enumerate() {
                let replayed = verifications.unverified_after(&id(number));
                let replayed = replayed.map(|urls| urls.into_iter().collect());
                prop_assert_eq!(replayed.as_ref(), Some(after), "after run {}", number);
            }
            for (url, key) in keys().iter().enumerate() {
                prop_assert_eq!(last(&verifications, url, key), verified[url], "{:?}", key);
            }
        }

        #[test]
        fn a_series_of_verifications_begins_after_the_last_failure(runs in any_runs()) {
            let follow = |(number, run): (usize, TrueRun)| TrueRun {
                base: number.checked_sub(1),
                ..run
            };
            let runs: Vec<TrueRun> = runs.into_iter().enumerate().map(follow).collect();
            let verifications = read(&play(&runs).1);
            let expected = series(&runs);
            for (url, key) in keys().iter().enumerate() {
                let since = verifications.since(&SoughtUrl {
                    url: &url_of(key),
                    key,
                    categories: &categories(url),
                    added: None,
                });
                prop_assert_eq!(since, expected[url], "{:?}", key);
            }
        }

        #[test]
        fn a_lost_line_never_makes_a_verification(
            runs in any_runs(),
            lost in any::<prop::sample::Index>(),
        ) {
            let (_, mut lines, verified) = play(&runs);
            lines.remove(lost.index(lines.len()));
            let verifications = read(&lines);
            for (url, key) in keys().iter().enumerate() {
                prop_assert!(last(&verifications, url, key) <= verified[url], "{:?}", key);
            }
        }
    }

    fn run_line(run: &str, base: Option<&str>) -> HistoryLine {
        let base = base
            .map(|base| format!(r#","base":"{base}""#))
            .unwrap_or_default();
        let line = format!(
            r#"{{"kind":"run","run":"{run}","at":"2026-11-01T00:00:00Z"{base},"due":1,"states":{{"ok":1}}}}"#
        );
        parse(line.as_bytes()).unwrap()
    }

    #[test]
    fn runs_that_start_from_each_other_verify_nothing() {
        let verifications = read(&[
            run_line("a", Some("b")),
            run_line("b", Some("a")),
            run_line("c", Some("c")),
        ]);
        assert_eq!(verifications.unverified_after("a"), None);
        assert_eq!(last(&verifications, 0, &keys()[0]), None);
    }

    #[test]
    fn a_url_is_verified_only_by_runs_that_can_have_seen_it() {
        let runs = vec![
            TrueRun {
                base: None,
                selection: None,
                found: vec![Found::AsPromised; 6],
                is_old: false,
                is_whole: true,
            };
            3
        ];
        let (_, lines, _) = play(&runs);
        let verifications = read(&lines[..2]);
        let key = &keys()[0];
        let since = |added| {
            verifications.last(&SoughtUrl {
                url: &url_of(key),
                key,
                categories: &[],
                added: Some(added),
            })
        };
        let minute = SignedDuration::from_mins(1);
        assert_eq!(since(at(1) + minute), Some(at(1)), "the run that added it");
        assert_eq!(since(at(0)), Some(at(1)));
        let alias = JobKey {
            alias: Some("b.example".to_owned()),
            ..key.clone()
        };
        assert_eq!(last(&verifications, 0, &alias), None);
    }
}
