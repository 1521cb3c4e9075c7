//! Properties of the notice that the archive lost promised bytes, over random histories: promises that change, records
//! that go, bytes that come back, partial runs, branches, and a reader whose service is down at times.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use urldb_protocol::{Because, EventKind, Incident, LostContent, Notice, NoticeKind, Phase};

use super::*;
use crate::certificates::CertificateFacts;

const URLS: usize = 3;

/// Bytes of a URL, by their number.
type Bytes = u8;

#[derive(Debug, Clone)]
enum Edit {
    Promise(Bytes),
    Serve(Bytes),
    /// The record goes, or comes back.
    Record(bool),
    /// The archive loses all bytes of the URL.
    Lose,
    /// Somebody puts these bytes into the archive.
    PutBack(Bytes),
}

#[derive(Debug, Clone)]
struct Sight {
    hours: i64,
    edits: Vec<(usize, Edit)>,
    /// The URLs of which the run has a result.
    asks: [bool; URLS],
    /// The run is over the whole database.
    is_complete: bool,
    /// The archive has room.
    stores: bool,
    /// Whether the service of the reader works.
    works: bool,
}

#[derive(Debug, Clone)]
enum Step {
    Run(Sight),
    /// After these edits, two branches have a run each and are merged.
    Branches(Vec<(usize, Edit)>, Sight, Sight),
}

fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        2 => (0_u8..3).prop_map(Edit::Promise),
        4 => (0_u8..3).prop_map(Edit::Serve),
        1 => any::<bool>().prop_map(Edit::Record),
        3 => Just(Edit::Lose),
        1 => (0_u8..3).prop_map(Edit::PutBack),
    ]
}

fn edits() -> impl Strategy<Value = Vec<(usize, Edit)>> {
    prop::collection::vec((0..URLS, edit()), 0..4)
}

fn sight() -> impl Strategy<Value = Sight> {
    (
        prop_oneof![6 => 1_i64..60, 1 => -400_i64..200],
        edits(),
        prop::array::uniform3(prop::bool::weighted(0.8)),
        (prop::bool::weighted(0.7), prop::bool::weighted(0.9)),
        prop::bool::weighted(0.7),
    )
        .prop_map(|(hours, edits, asks, (is_complete, stores), works)| Sight {
            hours,
            edits,
            asks,
            is_complete,
            stores,
            works,
        })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => sight().prop_map(Step::Run),
        1 => (edits(), sight(), sight())
            .prop_map(|(edits, one, other)| Step::Branches(edits, one, other)),
    ]
}

/// A URL, its promise and its server, its bytes in the archive, and its entry in the ledger.
#[derive(Debug, Clone)]
struct Url {
    has_record: bool,
    promise: Bytes,
    served: Bytes,
    archived: BTreeSet<Bytes>,
    /// The bytes that were seen last.
    seen: Option<Bytes>,
    /// Their capture was lost.
    is_lost: bool,
    /// The bytes of which people must know that they are lost.
    expected: Option<Bytes>,
    /// How that ended last.
    ended: Option<Because>,
}

#[derive(Debug, Clone)]
struct World {
    now: Timestamp,
    number: u32,
    urls: [Url; URLS],
    /// The bytes of each host that were lost since its notice opened last.
    episodes: BTreeMap<&'static str, BTreeSet<(String, Bytes)>>,
    logs: Vec<IncidentLog>,
}

fn host_of(url: usize) -> &'static str {
    ["a.example", "a.example", "b.example"][url]
}

fn url_of(url: usize) -> String {
    format!("http://{}/{url}", host_of(url))
}

fn digest(bytes: Bytes) -> String {
    format!("sha256:{bytes}")
}

/// The URL and the bytes of a content.
fn named(content: &LostContent) -> (String, Bytes) {
    let bytes = content.digests[0].strip_prefix("sha256:").unwrap();
    (content.url.clone(), bytes.parse().unwrap())
}

impl World {
    fn new() -> Self {
        let url = Url {
            has_record: true,
            promise: 0,
            served: 0,
            archived: BTreeSet::new(),
            seen: None,
            is_lost: false,
            expected: None,
            ended: None,
        };
        Self {
            now: "2026-11-01T04:17:03Z".parse().unwrap(),
            number: 0,
            urls: [url.clone(), url.clone(), url],
            episodes: BTreeMap::new(),
            logs: vec![],
        }
    }

    fn run(&mut self, sight: &Sight) {
        self.now += SignedDuration::from_hours(sight.hours);
        self.number += 1;
        let time = self.now.strftime("%Y%m%dT%H%M%SZ");
        let id = format!("{time}-{:08x}", self.number);
        for (url, edit) in &sight.edits {
            self.urls[*url].edit(edit);
        }
        let facts = self.facts(sight);
        let is_gone = |key: &MemberKey, _: &str| {
            let index = (0..URLS).find(|url| url_of(*url) == key.url).unwrap();
            sight.is_complete && !self.urls[index].has_record
        };
        let run = RunFacts {
            id: &id,
            project: "sky-urls",
            started: self.now,
            is_gone: &is_gone,
            is_taken: &|_| false,
            last_good: &|_, _| None,
            host_urls: &|_| 2,
            has_answered: &|_| true,
            // No host has URLs over https.
            has_no_url: &|_, _| true,
            certificates: CertificateFacts {
                seen: &[],
                warning: Duration::ZERO,
                is_complete: sight.is_complete,
            },
            impaired: &ImpairedFacts::default(),
            evidence: &facts,
            files: FileFacts {
                read: &[],
                is_gone: &|_| false,
            },
        };
        let appended = append(std::mem::take(&mut self.logs), &[], &run);
        self.logs = appended.incidents.into_iter().map(|(log, _)| log).collect();
    }

    /// The facts of a run, and what becomes of each URL.
    fn facts(&mut self, sight: &Sight) -> EvidenceFacts {
        let open = self.open();
        let expected = self.expected();
        let mut facts = EvidenceFacts::default();
        for (index, url) in self.urls.iter_mut().enumerate() {
            if !url.has_record {
                if sight.is_complete && url.expected.take().is_some() {
                    url.ended = Some(Because::Removed);
                }
                continue;
            }
            if !sight.asks[index] {
                continue;
            }
            let name = url_of(index);
            let had_lost = url.is_lost && url.seen == Some(url.promise);
            if sight.stores {
                url.archived.insert(url.served);
                (url.seen, url.is_lost) = (Some(url.served), false);
            }
            let has_promised = url.archived.contains(&url.promise);
            let promise = url.promise;
            let end = |bytes: Bytes| match () {
                () if bytes != promise => Some(Because::Accepted),
                () if has_promised => Some(Because::Recovered),
                () => None,
            };
            if let Some(because) = url.expected.and_then(end) {
                (url.expected, url.ended) = (None, Some(because));
            }
            for (_, bytes) in open.iter().filter(|(open, _)| *open == name) {
                let Some(because) = end(*bytes) else {
                    continue;
                };
                let key = MemberKey {
                    url: name.clone(),
                    request: None,
                    variant: None,
                };
                facts.ended.insert(key, because);
            }
            if had_lost && url.served != url.promise && !has_promised {
                url.expected = Some(url.promise);
                let begin = format!("http://{}/", host_of(index));
                let episode = self.episodes.entry(host_of(index)).or_default();
                if !expected.iter().any(|(url, _)| url.starts_with(&begin))
                    && facts.lost.iter().all(|it| it.host != host_of(index))
                {
                    episode.clear();
                }
                episode.retain(|(url, _)| *url != name);
                episode.insert((name.clone(), url.promise));
                facts.lost.push(LostEvidence {
                    host: host_of(index).to_owned(),
                    file: format!("urldb/{}.yaml", host_of(index)),
                    categories: vec![],
                    content: LostContent {
                        url: name,
                        request: None,
                        variant: None,
                        digests: vec![digest(url.promise)],
                        lost: self.now,
                        left: None,
                    },
                });
            }
        }
        facts
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
        for (url, other) in self.urls.iter_mut().zip(other.urls) {
            url.archived.extend(other.archived);
            url.expected = url.expected.or(other.expected);
        }
        self.now = self.now.max(other.now);
    }

    /// The lost bytes of the open notices.
    fn open(&self) -> BTreeSet<(String, Bytes)> {
        let states = self.logs.iter().map(IncidentLog::state);
        let open = states.flat_map(|state| {
            let notice = state.open_notice();
            notice.map_or_else(Vec::new, |it| lacking(it).map(named).collect())
        });
        open.collect()
    }

    fn events(&self) -> usize {
        self.logs.iter().map(|log| log.events.len()).sum()
    }

    fn expected(&self) -> BTreeSet<(String, Bytes)> {
        let urls = self.urls.iter().enumerate();
        let expected = urls.filter_map(|(index, url)| Some((url_of(index), url.expected?)));
        expected.collect()
    }
}

impl Url {
    fn edit(&mut self, edit: &Edit) {
        match edit {
            Edit::Promise(bytes) => self.promise = *bytes,
            Edit::Serve(bytes) => self.served = *bytes,
            Edit::Record(has_record) => self.has_record = *has_record,
            Edit::Lose => {
                self.archived.clear();
                self.is_lost = self.seen.is_some();
            }
            Edit::PutBack(bytes) => {
                self.archived.insert(*bytes);
            }
        }
    }
}

/// Knows only the messages.
#[derive(Debug, Default)]
struct Person {
    heard: BTreeMap<String, String>,
    lost: BTreeMap<String, BTreeSet<(String, Bytes)>>,
}

impl Person {
    /// Delivers what is news, and returns the messages.
    fn hear(&mut self, logs: &[IncidentLog]) -> Vec<Incident> {
        let mut told = vec![];
        for log in logs {
            let through = self.heard.get(&log.id);
            let last = |id: &String| log.events.iter().rposition(|event| event.id == *id);
            let heard = through.and_then(last).map_or(0, |last| last + 1);
            let Some(incident) = view_since(log, heard) else {
                continue;
            };
            if incident.phase == Phase::Unchanged {
                continue;
            }
            let last = log.events.last().unwrap().id.clone();
            self.heard.insert(log.id.clone(), last);
            if incident.merged_into.is_none() {
                let notice = incident.notice_of(NoticeKind::EvidenceLost).unwrap();
                let named = lacking(notice).map(named).collect();
                self.lost.insert(incident.host.clone(), named);
                told.push(incident);
            }
        }
        told
    }
}

proptest! {
    #[test]
    fn a_reader_knows_which_promised_bytes_are_lost(steps in prop::collection::vec(step(), 1..40)) {
        let (mut world, mut person) = (World::new(), Person::default());
        let mut has_branched = false;
        for step in &steps {
            let works = match step {
                Step::Run(sight) => {
                    let before = (world.expected(), world.events());
                    world.run(sight);
                    let after = (world.expected(), world.events());
                    prop_assert_eq!(before.0 == after.0, before.1 == after.1, "{:?}", world.logs);
                    sight.works
                }
                Step::Branches(edits, one, other) => {
                    has_branched = true;
                    for (url, edit) in edits {
                        world.urls[*url].edit(edit);
                    }
                    // Merges of domain files are another matter.
                    let of_servers = |sight: &Sight| {
                        let mut sight = sight.clone();
                        sight.edits.retain(|(_, edit)| {
                            !matches!(edit, Edit::Promise(_) | Edit::Record(_))
                        });
                        sight
                    };
                    let shared = world.logs.clone();
                    let mut branch = world.clone();
                    branch.number += 1000;
                    branch.run(&of_servers(other));
                    world.run(&of_servers(one));
                    world.merge(&shared, branch);
                    // The first run after a merge brings it in order.
                    let sight = Sight {
                        edits: vec![],
                        asks: [true; URLS],
                        is_complete: true,
                        stores: true,
                        ..one.clone()
                    };
                    world.run(&sight);
                    sight.works
                }
            };
            prop_assert_eq!(world.open(), world.expected());
            for host in ["a.example", "b.example"] {
                let open = world.logs.iter().filter(|log| log.host == host && log.state().is_open());
                prop_assert!(open.count() <= 1, "two open notices about {}", host);
            }
            let closed = world.logs.iter().filter(|log| log.state().closed.is_some());
            prop_assert!(closed.clone().all(|log| !log.state().is_open()), "a file is closed and open");
            if !works {
                continue;
            }
            let before = person.lost.clone();
            let told = person.hear(&world.logs);
            let ends: HashMap<String, Option<Because>> =
                world.urls.iter().enumerate().map(|(url, it)| (url_of(url), it.ended)).collect();
            for host in ["a.example", "b.example"] {
                let begin = format!("http://{host}/");
                let mut now = world.expected();
                now.retain(|(url, _)| url.starts_with(&begin));
                let before = before.get(host).cloned().unwrap_or_default();
                let known = person.lost.get(host).cloned().unwrap_or_default();
                prop_assert_eq!(&now, &known, "{}", host);
                if has_branched {
                    continue;
                }
                let about: Vec<&Incident> = told.iter().filter(|it| it.host == host).collect();
                // While nothing was delivered, bytes may have come back and been lost again.
                prop_assert!(about.len() == 1 || about.is_empty() && now == before, "{about:?}");
                for incident in about {
                    let notice = incident.notice.as_ref().unwrap();
                    let new = now.difference(&before).count();
                    prop_assert_eq!(notice.added, Some(new as u64));
                    let all: BTreeSet<_> = notice.lost.iter().map(named).collect();
                    prop_assert_eq!(&all, &world.episodes[host]);
                    let first: BTreeSet<_> = notice.lost[..new].iter().map(named).collect();
                    prop_assert_eq!(first, now.difference(&before).cloned().collect());
                    for content in notice.lost.iter().filter(|it| it.left.is_some()) {
                        prop_assert_eq!(content.left, ends[&content.url], "{:?}", content);
                    }
                }
            }
        }
    }
}

fn lost(url: usize) -> LostContent {
    LostContent {
        url: url_of(url),
        request: None,
        variant: None,
        digests: vec![digest(0)],
        lost: Timestamp::UNIX_EPOCH,
        left: None,
    }
}

/// An event with which a run of this number tells of the lost bytes of a URL, or of its end.
fn event(number: u32, kind: EventKind, url: usize) -> Event {
    let notice = Notice {
        kind: NoticeKind::EvidenceLost,
        file: "urldb/a.example.yaml".to_owned(),
        lost: vec![lost(url)],
        ..Notice::default()
    };
    let is_end = kind == EventKind::Shrunk;
    Event {
        id: format!("20261101T0417{number:02}Z-00000001"),
        event: kind,
        notice: Some(notice).filter(|_| !is_end && kind != EventKind::Closed),
        because: is_end.then_some(Because::Recovered),
        urls: if is_end {
            vec![EventUrl::of(&key_of_content(&lost(url)))]
        } else {
            vec![]
        },
        ..Event::default()
    }
}

/// The URLs of a notice, with their ends.
fn urls_of(state: &IncidentState) -> Vec<(String, Option<Because>)> {
    let notice = state.notice.as_ref().unwrap();
    let urls = notice.lost.iter();
    urls.map(|content| (content.url.clone(), content.left))
        .collect()
}

#[test]
fn a_notice_that_opens_again_is_about_new_losses() {
    use EventKind::{Closed, Opened, Reopened, Shrunk};
    let mut events = vec![
        event(1, Opened, 0),
        event(2, Shrunk, 0),
        event(2, Closed, 0),
    ];
    let state = fold(&events);
    assert_eq!(urls_of(&state), [(url_of(0), Some(Because::Recovered))]);
    assert!(!state.is_open() && state.closed.is_some());
    events.push(event(3, Reopened, 1));
    assert_eq!(urls_of(&fold(&events)), [(url_of(1), None)]);
}

/// The same loss in the events of two branches is one loss, also beside another one.
#[test]
fn a_loss_that_two_branches_found_counts_once() {
    let mut other = event(2, EventKind::Noticed, 0);
    other.notice.as_mut().unwrap().lost.push(lost(1));
    let state = fold(&[event(1, EventKind::Opened, 0), other]);
    assert_eq!(urls_of(&state), [(url_of(0), None), (url_of(1), None)]);
}

/// One branch ended the notice, and the other one found another loss, before or after that.
#[test]
fn a_loss_beside_the_end_of_a_notice_keeps_it_open() {
    use EventKind::{Closed, Noticed, Opened, Shrunk};
    for [end, loss] in [[2, 3], [3, 2]] {
        let mut events = vec![
            event(1, Opened, 0),
            event(end, Shrunk, 0),
            event(end, Closed, 0),
            event(loss, Noticed, 1),
        ];
        events.sort_by_key(|event| event.id.clone());
        let state = fold(&events);
        assert!(state.is_open() && state.closed.is_none(), "{loss}");
        let left = [(url_of(0), Some(Because::Recovered)), (url_of(1), None)];
        assert_eq!(urls_of(&state), left);
    }
}

#[test]
fn of_two_notices_about_a_host_one_takes_over_the_losses() {
    let mut world = World::new();
    for (number, urls) in [[0, 1].as_slice(), [1].as_slice()].iter().enumerate() {
        world.logs.push(IncidentLog {
            id: format!("0000000{number}"),
            key: "a1".to_owned(),
            host: host_of(0).to_owned(),
            events: urls
                .iter()
                .map(|url| event(u32::try_from(2 - number).unwrap(), EventKind::Opened, *url))
                .collect(),
        });
    }
    let sight = Sight {
        hours: 1,
        edits: vec![],
        asks: [false; URLS],
        is_complete: false,
        stores: true,
        works: true,
    };
    world.run(&sight);
    let open: Vec<_> = world.logs.iter().map(IncidentLog::state).collect();
    let open: Vec<_> = open.iter().filter(|state| state.is_open()).collect();
    assert_eq!(open.len(), 1);
    assert_eq!(urls_of(open[0]), [(url_of(1), None), (url_of(0), None)]);
}
