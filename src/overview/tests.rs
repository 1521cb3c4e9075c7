//! Every reader of the ledger ends, and believes no time in the future, whatever the clocks were.

use std::fs;
use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use urldb_files::Root;
use urldb_protocol::{Overview, State};

use super::{Sources, site};
use crate::config::{self, Config};
use crate::ledger::{RunLine, any_time, append, hostile_lines, is_known, past_runs};
use crate::run::overdue;

fn now() -> Timestamp {
    "2026-11-23T04:17:00Z".parse().unwrap()
}

/// A project with three files, of which the ledger believes these times.
fn project(folder: &Path, times: &[Timestamp]) -> Config {
    let write = |name: &str, text: String| {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("urldb.toml", String::new());
    let record = |url: usize| format!("---\n_path: /{url}\ncontent-length: 5\n");
    let records: String = (0..3).map(record).collect();
    write(
        "urldb/a.example.yaml",
        format!("---\nhttp: true\n{records}"),
    );
    let entry = |url: usize| {
        let [added, since, pending] = [0, 1, 2].map(|key| times[(url + key) % times.len()]);
        format!(
            "---\n_path: /{url}\nadded: '{added}'\npending: gone\npending-count: 1\n\
             pending-since: '{pending}'\nsince: '{since}'\nstate: ok\nupdated: '{since}'\n"
        )
    };
    let entries: String = (0..3).map(entry).collect();
    write("status/a.example.yaml", format!("---\n{entries}"));
    config::load(&folder.join("urldb.toml")).unwrap()
}

/// The lines, with sums that are beyond any number.
fn with_large_sums(mut lines: Vec<RunLine>) -> Vec<RunLine> {
    for line in &mut lines {
        line.states.insert(State::Ok, u64::MAX);
        line.states.insert(State::Gone, 1);
        line.states.insert(State::Inconclusive, u64::MAX);
    }
    lines
}

/// The times of runs that an overview says.
fn times(overview: &Overview) -> Vec<Timestamp> {
    let runs = [&overview.last_run, &overview.last_complete];
    let runs = runs.into_iter().flatten().chain(&overview.since_complete);
    let hosts = overview.hosts.iter();
    let hosts = hosts.flat_map(|host| [host.checked, host.verified, host.all_checked]);
    runs.map(|run| run.at).chain(hosts.flatten()).collect()
}

/// Runs, each with its number of URLs and of results, and the number of promises.
fn some_runs() -> impl Strategy<Value = (Vec<(u64, u64)>, u64)> {
    let run = (1_u64..9).prop_flat_map(|due| (Just(due), 0..=due));
    (prop::collection::vec(run, 0..6), 1_u64..9)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_last_large_run_decides_whether_anything_is_known((runs, promises) in some_runs()) {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Root::new(folder.path(), "the ledger");
        let start = |number: usize| now() - SignedDuration::from_hours(24) * (9 - i32::try_from(number).unwrap());
        let id = |number: usize| format!("{number:08x}");
        for (number, (due, results)) in runs.iter().enumerate() {
            let text = format!(
                "{{\"run\":\"{}\",\"at\":\"{}\",\"due\":{due},\"verified\":0,\"states\":\
                 {{\"ok\":{results},\"inconclusive\":{}}},\"unverified\":[]}}",
                id(number), start(number), due - results
            );
            append(&ledger, &serde_json::from_str(&text).unwrap()).unwrap();
        }
        let replay = super::replay::Replay::read(&ledger, now()).unwrap();
        let mut large = runs.iter().enumerate().filter(|(_, (due, _))| *due * 2 >= promises);
        let last = large.next_back().filter(|(_, (due, results))| *results * 2 < *due);
        let expected = last.map(|(number, (due, results))| (start(number), *due, *results));
        let impaired = replay.impaired_run(promises).map(|run| (run.at, run.due, run.results));
        prop_assert_eq!(impaired, expected);
        let seen = runs.iter().enumerate().filter(|(_, (due, results))| *results * 2 >= *due);
        let last = seen.map(|(number, _)| start(number)).next_back();
        prop_assert_eq!(replay.last_run().map(|run| run.at), last);
    }

    #[test]
    fn an_overview_of_any_history_ends(
        runs in hostile_lines(now()),
        clocks in prop::collection::vec(any_time(now()), 1..8),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let config = project(folder.path(), &clocks);
        let lines: Vec<String> = with_large_sums(runs)
            .iter()
            .map(|line| serde_json::to_string(line).unwrap())
            .collect();
        let history = folder.path().join("status/history");
        fs::create_dir(&history).unwrap();
        fs::write(history.join("2026-11.jsonl"), lines.join("\n")).unwrap();
        let sources = Sources::read(&config, now()).unwrap();
        let overview = sources.overview(|_| true, |host| {
            let known = |time: Option<Timestamp>| time.is_none_or(|time| is_known(time, now()));
            for url in &host.urls {
                assert!(known(url.checked) && known(url.verified), "{url:?}");
                assert!(known(url.known_since) && known(url.verified_since), "{url:?}");
            }
            Ok(())
        });
        let overview = overview.unwrap();
        for time in times(&overview) {
            prop_assert!(is_known(time, now()), "{}", time);
        }
        // All of them mean the same run.
        let past = past_runs(&config.ledger_root(), now()).unwrap().known;
        let starts: Vec<Timestamp> = past.iter().map(|run| run.at).collect();
        let last = starts.last().copied();
        prop_assert_eq!(overview.last_run.as_ref().map(|run| run.at), last);
        for later in [now(), now() + SignedDuration::from_hours(24 * 400)] {
            let overdue = overdue(&starts, later);
            prop_assert!(overdue.is_none_or(|overdue| Some(overdue.last) == last));
        }
        let templates = site::sources(|_, ours| Ok(ours.to_owned())).unwrap();
        let templates = site::templates(templates).unwrap();
        let public = Root::new(folder.path().join("public"), "the site");
        site::build(&config, &templates, &public, now(), vec![]).unwrap();
        let index = fs::read_to_string(public.path().join("index.html")).unwrap();
        let run = index.split("data-run=\"").nth(1);
        let run = run.and_then(|rest| rest.split('"').next()?.parse().ok());
        // A year before our era has another form there.
        if last.is_none_or(|last| last >= Timestamp::UNIX_EPOCH) {
            let seconds = |time: Option<Timestamp>| time.map(Timestamp::as_second);
            prop_assert_eq!(seconds(run), seconds(last));
        }
    }
}
