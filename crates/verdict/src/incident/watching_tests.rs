//! Properties of the notices about mistakes in files and about our own network, over random histories: partial runs,
//! removed files, steps of the clock, branches, and a reader whose service is down at times.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use urldb_protocol::{Incident, Mistake, NoticeKind, Phase, Shown};

use super::*;
use crate::certificates::CertificateFacts;

const FILES: [&str; 2] = ["urldb/a.example.yaml", "urldb/b.example.yaml"];

/// The mistakes of a file; absent if there is no file.
type Content = Option<BTreeSet<u8>>;

#[derive(Debug, Clone)]
struct Sight {
    hours: i64,
    /// The new content of a file, before the run.
    edit: Option<(usize, Content)>,
    /// The files that the run reads; one that reads all is complete.
    reads: [bool; 2],
    network: u8,
    /// Whether the service of the reader works.
    works: bool,
}

#[derive(Debug, Clone)]
enum Step {
    Run(Sight),
    /// Two branches with a run each are merged.
    Branches(Sight, Sight),
}

fn sight() -> impl Strategy<Value = Sight> {
    let content = prop::option::weighted(0.9, prop::collection::btree_set(0_u8..4, 0..4));
    (
        prop_oneof![6 => 1_i64..60, 1 => -400_i64..200],
        prop::option::of((0_usize..2, content)),
        prop_oneof![3 => Just([true, true]), 1 => Just([true, false]), 1 => Just([false, true])],
        0_u8..3,
        prop::bool::weighted(0.7),
    )
        .prop_map(|(hours, edit, reads, network, works)| Sight {
            hours,
            edit,
            reads,
            network,
            works,
        })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => sight().prop_map(Step::Run),
        1 => (sight(), sight()).prop_map(|(one, other)| Step::Branches(one, other)),
    ]
}

/// The database, and what runs of it know.
#[derive(Debug, Clone)]
struct World {
    now: Timestamp,
    number: u32,
    files: [Content; 2],
    /// The mistakes in each file as a run saw it last.
    seen: [BTreeSet<u8>; 2],
    is_impaired: bool,
    logs: Vec<IncidentLog>,
}

impl World {
    fn new() -> Self {
        Self {
            now: "2026-11-01T04:17:03Z".parse().unwrap(),
            number: 0,
            files: [Some(BTreeSet::new()), Some(BTreeSet::new())],
            seen: [BTreeSet::new(), BTreeSet::new()],
            is_impaired: false,
            logs: vec![],
        }
    }

    fn run(&mut self, sight: &Sight) {
        self.now += SignedDuration::from_hours(sight.hours);
        self.number += 1;
        let time = self.now.strftime("%Y%m%dT%H%M%SZ");
        let id = format!("{time}-{:08x}", self.number);
        if let Some((file, content)) = &sight.edit {
            self.files[*file].clone_from(content);
        }
        let is_complete = sight.reads == [true, true];
        let mut read = vec![];
        for (index, name) in FILES
            .iter()
            .enumerate()
            .filter(|(index, _)| sight.reads[*index])
        {
            match &self.files[index] {
                Some(content) => {
                    read.push(FileMistakes::new(
                        "a.example",
                        name,
                        &mistakes(name, content),
                    ));
                    self.seen[index].clone_from(content);
                }
                None if is_complete => self.seen[index].clear(),
                None => {}
            }
        }
        let mut impaired = ImpairedFacts::default();
        if sight.network == 1 {
            impaired.ended.insert(String::new());
        } else if sight.network == 2 {
            let notice = urldb_protocol::Notice {
                kind: NoticeKind::Impaired,
                since: Some(self.now),
                ..Default::default()
            };
            impaired.notices.insert(String::new(), notice);
        }
        if sight.network > 0 {
            self.is_impaired = sight.network == 2;
        }
        let is_gone = |file: &str| {
            let index = FILES.iter().position(|it| *it == file).unwrap();
            is_complete && self.files[index].is_none()
        };
        let facts = RunFacts {
            id: &id,
            project: "sky-urls",
            started: self.now,
            is_gone: &|_, _| false,
            is_taken: &|_| false,
            last_good: &|_, _| None,
            host_urls: &|_| 10,
            has_answered: &|_| true,
            has_no_url: &|_, _| false,
            certificates: CertificateFacts {
                seen: &[],
                warning: Duration::ZERO,
                is_complete,
            },
            impaired: &impaired,
            evidence: &EvidenceFacts::default(),
            files: FileFacts {
                read: &read,
                is_gone: &is_gone,
            },
        };
        let appended = append(std::mem::take(&mut self.logs), &[], &facts);
        self.logs = appended.incidents.into_iter().map(|(log, _)| log).collect();
    }

    /// As the merge of files: the shared events, then both tails by their runs.
    fn merge(&mut self, shared: &[IncidentLog], other: Self) {
        for log in other.logs {
            let known = shared.iter().find(|it| it.id == log.id);
            let prefix = known.map_or(0, |it| it.events.len());
            match self.logs.iter_mut().find(|it| it.id == log.id) {
                Some(own) => {
                    let mut tail = own.events.split_off(prefix);
                    tail.extend_from_slice(&log.events[prefix..]);
                    tail.sort_by(|one, other| one.id.cmp(&other.id));
                    own.events.extend(tail);
                }
                None => self.logs.push(log),
            }
        }
        self.now = self.now.max(other.now);
    }

    /// The open notices of a kind, about a file if one is named.
    fn open(&self, kind: NoticeKind, file: &str) -> usize {
        let states = self.logs.iter().map(IncidentLog::state);
        let open = states.filter(|state| {
            let notice = state.open_notice();
            notice.is_some_and(|it| it.kind == kind && it.file == file)
        });
        open.count()
    }
}

fn mistakes(file: &str, content: &BTreeSet<u8>) -> Vec<Mistake> {
    // Line numbers say nothing.
    let mistake = |(line, name): (usize, &u8)| Mistake {
        code: "bad-digest".to_owned(),
        file: file.to_owned(),
        line: line + content.len(),
        column: 1,
        message: Shown::new("it is wrong", 20),
        help: None,
        text: Shown::new(&name.to_string(), 20),
        new: false,
    };
    content.iter().enumerate().map(mistake).collect()
}

/// Knows only the messages.
#[derive(Debug, Default)]
struct Person {
    heard: BTreeMap<String, String>,
    mistakes: BTreeMap<String, BTreeSet<u8>>,
    is_impaired: bool,
}

impl Person {
    /// Delivers what is news, and returns the messages.
    fn hear(&mut self, logs: &[IncidentLog]) -> Vec<Incident> {
        let mut told = vec![];
        // The end of one notice comes before the beginning of another.
        let mut incidents: Vec<(&IncidentLog, Incident)> = logs
            .iter()
            .filter_map(|log| {
                let through = self.heard.get(&log.id);
                let last = |id: &String| log.events.iter().rposition(|event| event.id == *id);
                let heard = through.and_then(last).map_or(0, |last| last + 1);
                Some((log, view_since(log, heard)?))
            })
            .collect();
        incidents.sort_by_key(|(_, incident)| incident.phase != Phase::Closed);
        for (log, incident) in incidents {
            if incident.phase == Phase::Unchanged {
                continue;
            }
            let last = log.events.last().unwrap().id.clone();
            self.heard.insert(log.id.clone(), last);
            if incident.merged_into.is_some() {
                // Another one tells of it.
                continue;
            }
            let notice = incident.notice.as_ref().unwrap();
            let is_closed = incident.phase == Phase::Closed;
            if notice.kind == NoticeKind::Impaired {
                self.is_impaired = !is_closed;
            } else {
                assert_eq!(notice.mistakes.is_empty(), is_closed, "{incident:?}");
                let names = notice.mistakes.iter().map(|it| it.text.parse().unwrap());
                self.mistakes.insert(notice.file.clone(), names.collect());
            }
            told.push(incident);
        }
        told
    }

    fn of(&self, file: &str) -> BTreeSet<u8> {
        self.mistakes.get(file).cloned().unwrap_or_default()
    }
}

proptest! {
    #[test]
    fn a_reader_knows_each_mistake_and_whether_runs_see(
        steps in prop::collection::vec(step(), 1..40),
    ) {
        let (mut world, mut person) = (World::new(), Person::default());
        let mut has_branched = false;
        for step in &steps {
            let works = match step {
                Step::Run(sight) => {
                    world.run(sight);
                    sight.works
                }
                Step::Branches(one, other) => {
                    has_branched = true;
                    let shared = world.logs.clone();
                    let mut branch = world.clone();
                    branch.number += 1000;
                    branch.run(other);
                    world.run(one);
                    world.merge(&shared, branch);
                    // The first run after a merge brings it in order.
                    let sight = Sight { edit: None, reads: [true, true], network: 1, ..one.clone() };
                    world.run(&sight);
                    sight.works
                }
            };
            prop_assert_eq!(world.open(NoticeKind::Impaired, ""), usize::from(world.is_impaired));
            for (file, seen) in FILES.iter().zip(&world.seen) {
                prop_assert_eq!(world.open(NoticeKind::Mistake, file), usize::from(!seen.is_empty()));
            }
            if !works {
                continue;
            }
            let before = FILES.map(|file| person.of(file));
            let was_impaired = person.is_impaired;
            let told = person.hear(&world.logs);
            prop_assert_eq!(person.is_impaired, world.is_impaired);
            for ((file, seen), before) in FILES.iter().zip(&world.seen).zip(&before) {
                let known = person.of(file);
                prop_assert_eq!(seen, &known, "{}", file);
                let is_news = seen != before;
                let about = told.iter().filter_map(|it| it.notice_of(NoticeKind::Mistake));
                let about: Vec<_> = about.filter(|notice| notice.file == *file).collect();
                if !has_branched {
                    // While nothing was delivered, mistakes may have gone and come back.
                    prop_assert!(about.len() == 1 || about.is_empty() && !is_news, "{about:?}");
                }
                for notice in about {
                    let new = notice.mistakes.iter().filter(|mistake| mistake.new);
                    let new: BTreeSet<u8> = new.map(|it| it.text.parse().unwrap()).collect();
                    if !has_branched {
                        prop_assert_eq!(new, seen.difference(before).copied().collect());
                    }
                }
            }
            let impaired = told.iter().filter(|it| it.notice_of(NoticeKind::Impaired).is_some()).count();
            prop_assert!(has_branched || impaired == 1 || was_impaired == world.is_impaired);
        }
    }
}

/// Of more mistakes than a notice lists, a higher number is news, and a lower one is not.
#[test]
fn of_very_many_mistakes_the_number_is_news() {
    let many = |count: u8, file: &str| {
        let all: BTreeSet<u8> = (0..count).collect();
        FileMistakes::new("a.example", file, &mistakes(file, &all))
    };
    let notice = |mistakes: FileMistakes| urldb_protocol::Notice {
        kind: NoticeKind::Mistake,
        count: Some(mistakes.count),
        mistakes: mistakes.first,
        ..Default::default()
    };
    let told = notice(many(30, FILES[0]));
    for (count, is_news) in [(29, false), (30, false), (31, true), (19, false)] {
        let now = notice(many(count, FILES[0]));
        let compared = super::mistakes::compared(Some(&told), &now);
        assert_eq!(compared.added > Some(0), is_news, "{count}");
    }
}
