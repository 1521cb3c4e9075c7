//! Histories that were played, and hostile ones.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use jiff::SignedDuration;
use proptest::prelude::*;
use urldb_canon::Scheme;
use urldb_verdict::{JobKey, NamedRecord, Rehash};

use super::verifications::DAY;
use super::*;

/// The answer that a run got from a URL.
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
    /// Whether its line lists all unverified URLs.
    is_whole: bool,
}

const EVERY: u64 = 3;

fn keys() -> Vec<JobKey> {
    let key = |number: usize| JobKey {
        domain: ["a.example", "b.example"][number % 2].to_owned(),
        path: format!("/{number}"),
        request: None,
        variant: None,
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
fn play(runs: &[TrueRun]) -> (Vec<BTreeSet<String>>, Vec<RunLine>, Vec<Option<Timestamp>>) {
    let keys = keys();
    let mut after: Vec<BTreeSet<String>> = vec![];
    let (mut lines, mut last) = (vec![], vec![None; keys.len()]);
    for (number, run) in runs.iter().enumerate() {
        let before = run.base.map(|base| after[base].clone()).unwrap_or_default();
        let with = |wanted| {
            let urls = keys.iter().enumerate();
            let urls = urls.filter(move |(url, key)| run.found(number, *url, key) == Some(wanted));
            urls.map(|(_, key)| url_of(key))
                .collect::<BTreeSet<String>>()
        };
        let (good, bad) = (with(Found::AsPromised), with(Found::Otherwise));
        let unmodified = with(Found::NotModified);
        let now: BTreeSet<String> = if good.is_empty() {
            before.clone()
        } else {
            before
                .union(&bad)
                .filter(|url| !good.contains(*url))
                .cloned()
                .collect()
        };
        for (url, key) in keys.iter().enumerate() {
            let counts = unmodified.is_empty() || rehash(number).is_due(key);
            if counts && run.found(number, url, key) == Some(Found::AsPromised) {
                last[url] = Some(at(number));
            }
        }
        let is_delta = !run.is_whole && run.base.is_some();
        let difference = |a: &BTreeSet<String>, b: &BTreeSet<String>| -> Vec<String> {
            a.difference(b).filter(|_| is_delta).cloned().collect()
        };
        lines.push(RunLine {
            run: id(number),
            at: at(number),
            selection: run.selection.clone(),
            base: run.base.filter(|_| is_delta).map(id),
            due: keys.len() as u64,
            verified: good.len() as u64,
            not_modified: unmodified.len() as u64,
            rehash: (!unmodified.is_empty()).then_some(RehashDays {
                every: EVERY,
                days: 1,
            }),
            unverified: (!is_delta).then(|| now.iter().cloned().collect()),
            became_unverified: difference(&now, &before),
            verified_again: difference(&before, &now),
            ..RunLine::default()
        });
        after.push(now);
    }
    (after, lines, last)
}

fn any_selection() -> impl Strategy<Value = Option<Selection>> {
    let of = |domains: &[&str], categories: &[&str], prefix: Option<&str>, record: Option<&str>| {
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
        prop::bool::weighted(0.15),
    );
    prop::collection::vec(run, 1..14).prop_map(|runs| {
        let runs = runs.into_iter().enumerate();
        let runs = runs.map(|(number, (back, selection, found, is_whole))| TrueRun {
            base: number.checked_sub(back),
            selection,
            found,
            is_whole,
        });
        runs.collect()
    })
}

fn replay(lines: impl Iterator<Item = RunLine>, now: Timestamp) -> Verifications {
    let mut builder = VerificationsBuilder::default();
    for line in lines {
        builder.add(&line);
    }
    builder.finish(now)
}

fn read(lines: &[RunLine]) -> Verifications {
    let texts = lines.iter().map(|line| serde_json::to_vec(line).unwrap());
    let lines = texts.map(|text| serde_json::from_slice(&text).unwrap());
    replay(lines, Timestamp::MAX)
}

fn after_run(verifications: &Verifications, id: &str) -> Option<HashSet<String>> {
    let mut runs = verifications.runs.iter();
    verifications.unverified_after(runs.find(|run| run.id == id)?)
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

/// Points in time that a clock may have shown at `now`.
pub(crate) fn any_time(now: Timestamp) -> impl Strategy<Value = Timestamp> {
    let near = (-400..400_i64).prop_map(move |hours| now + SignedDuration::from_hours(hours));
    prop_oneof![
        1 => Just(Timestamp::MIN),
        1 => Just(Timestamp::UNIX_EPOCH),
        1 => Just(Timestamp::MAX),
        2 => Just(now),
        6 => near,
    ]
}

fn any_number() -> impl Strategy<Value = u64> {
    prop_oneof![3 => 0..5_u64, 1 => any::<u64>(), 1 => Just(u64::MAX)]
}

/// Lines of runs as no program writes them: of any time, from any run, with any lists.
pub(crate) fn hostile_lines(now: Timestamp) -> impl Strategy<Value = Vec<RunLine>> {
    let list = || prop::collection::vec(0..6_usize, 0..3);
    let urls = |list: Vec<usize>| list.into_iter().map(|url| url_of(&keys()[url])).collect();
    let run = (
        0..16_usize,
        any_time(now),
        prop::option::weighted(0.8, 0..18_usize),
        any_selection(),
        (prop::option::weighted(0.2, list()), list(), list()),
        (0..2_u64, prop::option::of((any_number(), any_number()))),
    );
    let line = run.prop_map(
        move |(run, at, base, selection, lists, (verified, rehash))| {
            let (unverified, became_unverified, verified_again) = lists;
            RunLine {
                run: id(run),
                at,
                selection,
                base: base.map(id),
                due: 1,
                verified,
                rehash: rehash.map(|(every, days)| RehashDays { every, days }),
                unverified: unverified.map(urls),
                became_unverified: urls(became_unverified),
                verified_again: urls(verified_again),
                ..RunLine::default()
            }
        },
    );
    prop::collection::vec(line, 0..40)
}

proptest! {
    #[test]
    fn every_reader_of_any_history_ends(
        lines in hostile_lines(at(100)),
        added in prop::option::of(any_time(at(100))),
        months in any::<u64>(),
    ) {
        let now = at(100);
        let folder = tempfile::tempdir().unwrap();
        let ledger = Root::new(folder.path(), "the ledger");
        let mut files: BTreeMap<RootFile, Vec<String>> = BTreeMap::new();
        for (number, line) in lines.iter().enumerate() {
            // A merge by hand may put a line into any file.
            let month = if months >> (number % 64) & 1 == 0 { line.at } else { now };
            let line = serde_json::to_string(line).unwrap();
            files.entry(file_of(&ledger, month)).or_default().push(line);
        }
        for (file, lines) in files {
            file.replace(lines.join("\n").as_bytes()).unwrap();
        }
        let past = past_runs(&ledger, now).unwrap();
        prop_assert!(past.known.iter().all(|run| is_known(run.at, now)));
        prop_assert!(past.future.is_none_or(|future| !is_known(future, now)));
        let base = BaseRun::load(&ledger, now).unwrap();
        let verifications = replay(super::lines(&ledger).unwrap().map(Result::unwrap), now);
        prop_assert!(base.id.is_none_or(|base| verifications.ids().any(|run| run == base)));
        for (url, key) in keys().iter().enumerate() {
            let sought = SoughtUrl {
                url: &url_of(key),
                key,
                categories: &categories(url),
                added,
            };
            let (last, since) = (verifications.last(&sought), verifications.since(&sought));
            for time in [last, since].into_iter().flatten() {
                prop_assert!(is_known(time, now), "{} is not known at {}", time, now);
            }
        }
        for run in &verifications.runs {
            verifications.unverified_after(run);
        }
    }

    #[test]
    fn wrong_clocks_do_not_change_what_is_unverified(
        runs in any_runs(),
        clocks in prop::collection::vec(any_time(at(100)), 14),
    ) {
        // Each run starts from the one before, in one month.
        let follow = |(number, run): (usize, TrueRun)| TrueRun {
            base: number.checked_sub(1),
            is_whole: false,
            ..run
        };
        let runs: Vec<TrueRun> = runs.into_iter().enumerate().map(follow).collect();
        let (after, mut lines, _) = play(&runs);
        for (line, clock) in lines.iter_mut().zip(clocks) {
            line.at = clock;
        }
        let verifications = read(&lines);
        let order: Vec<String> = (0..runs.len()).map(id).collect();
        prop_assert_eq!(verifications.ids().collect::<Vec<_>>(), order);
        for (number, after) in after.iter().enumerate() {
            let replayed = after_run(&verifications, &id(number)).unwrap();
            prop_assert_eq!(&replayed.into_iter().collect::<BTreeSet<_>>(), after);
        }
    }

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
            let replayed = after_run(&verifications, &id(number));
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

fn run_line(run: &str, base: Option<&str>) -> RunLine {
    let base = base
        .map(|base| format!(r#","base":"{base}""#))
        .unwrap_or_default();
    let line = format!(
        r#"{{"run":"{run}","at":"2026-11-01T00:00:00Z"{base},"due":1,"verified":1,"states":{{"ok":1}}}}"#
    );
    serde_json::from_str(&line).unwrap()
}

#[test]
fn runs_that_start_from_each_other_verify_nothing() {
    let verifications = read(&[
        run_line("a", Some("b")),
        run_line("b", Some("a")),
        run_line("c", Some("c")),
    ]);
    assert_eq!(after_run(&verifications, "a"), None);
    assert_eq!(last(&verifications, 0, &keys()[0]), None);
}

#[test]
fn a_url_is_verified_only_by_runs_that_can_have_seen_it() {
    let runs = vec![
        TrueRun {
            base: None,
            selection: None,
            found: vec![Found::AsPromised; 6],
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
