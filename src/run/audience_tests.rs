//! The counts of the URLs of each section, compared with a count by hand.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;

use proptest::prelude::*;
use urldb_verdict::{Cnames, KeptBodies, PlanOptions, Rehash, Selection};

use super::domain_files::DomainFiles;
use super::plan_options::PlanOptionsByHost;
use crate::config::Config;
use crate::notify::Notifiers;

const HOSTS: [&str; 3] = ["a.example", "b.example", "www.b.example"];
const PATHS: [&str; 3] = ["/gaia/", "/gaia/deep/", "/tess/"];
const CATEGORIES: [&str; 3] = ["core", "deprecated", "old"];
const CNAMES: [&str; 2] = ["m.example", "n.example"];

const OWNERS: &str = "[owners]\n\"a.example/gaia/\" = \"gaia\"\n\"a.example/gaia/deep/\" = \"deep\"\n\
                      \"b.example\" = \"bee\"\n";

#[derive(Debug, Clone)]
struct File {
    records: Vec<Record>,
    has_https: bool,
    cnames: usize,
    is_sorted: bool,
}

#[derive(Debug, Clone)]
struct Record {
    path: usize,
    categories: BTreeSet<usize>,
    is_mistaken: bool,
}

#[derive(Debug, Clone)]
struct Filter {
    domains: BTreeSet<usize>,
    categories: BTreeSet<usize>,
    owners: BTreeSet<usize>,
    is_rest: bool,
}

const PATTERNS: [&str; 3] = ["a.example", "*.b.example", "b.example"];
const OWNER_NAMES: [&str; 3] = ["bee", "deep", "gaia"];

fn some() -> impl Strategy<Value = BTreeSet<usize>> {
    prop_oneof![
        2 => Just(BTreeSet::new()),
        2 => prop::collection::btree_set(0_usize..3, 1..3),
    ]
}

fn file() -> impl Strategy<Value = File> {
    let record = (0_usize..3, some(), prop::bool::weighted(0.1));
    let record = record.prop_map(|(path, categories, is_mistaken)| Record {
        path,
        categories,
        is_mistaken,
    });
    let records = prop::collection::vec(record, 0..30);
    let file = (records, any::<bool>(), 0..=CNAMES.len(), any::<bool>());
    file.prop_map(|(records, has_https, cnames, is_sorted)| File {
        records,
        has_https,
        cnames,
        is_sorted,
    })
}

fn filter() -> impl Strategy<Value = Filter> {
    let filter = (some(), some(), some(), prop::bool::weighted(0.3));
    filter.prop_map(|(domains, categories, owners, is_rest)| Filter {
        domains,
        categories,
        owners,
        is_rest,
    })
}

fn selection() -> impl Strategy<Value = Selection> {
    (some(), some(), prop::option::of(0_usize..3)).prop_map(|(domains, categories, prefix)| {
        Selection {
            domains: domains.iter().map(|it| HOSTS[*it].to_owned()).collect(),
            categories: categories
                .iter()
                .map(|it| CATEGORIES[*it].to_owned())
                .collect(),
            path_prefix: prefix.map(|it| PATHS[it].to_owned()),
            ..Selection::default()
        }
    })
}

fn names(of: &[&str], chosen: &BTreeSet<usize>) -> Vec<String> {
    chosen.iter().map(|it| of[*it].to_owned()).collect()
}

impl Record {
    fn path(&self, number: usize) -> String {
        format!("{}{number:03}", PATHS[self.path])
    }

    fn has(&self, category: &str) -> bool {
        self.categories.iter().any(|it| CATEGORIES[*it] == category)
    }

    fn owner(&self, host: &str) -> Option<&'static str> {
        match (host, self.path) {
            ("a.example", 0) => Some("gaia"),
            ("a.example", 1) => Some("deep"),
            ("b.example", _) => Some("bee"),
            _ => None,
        }
    }
}

impl File {
    fn text(&self) -> String {
        let mut text = "---\n".to_owned();
        if self.cnames > 0 {
            text += "cnames:\n";
            for cname in &CNAMES[..self.cnames] {
                writeln!(text, "- {cname}").unwrap();
            }
        }
        if self.has_https {
            text += "https: true\n";
        }
        let mut records: Vec<(String, &Record)> = self
            .records
            .iter()
            .enumerate()
            .map(|(number, record)| (record.path(number), record))
            .collect();
        records.sort_by(|a, b| a.0.cmp(&b.0));
        if !self.is_sorted {
            records.reverse();
        }
        for (path, record) in records {
            writeln!(text, "---\n_path: {path}").unwrap();
            if !record.categories.is_empty() {
                text += "categories:\n";
                for category in &record.categories {
                    writeln!(text, "- {}", CATEGORIES[*category]).unwrap();
                }
            }
            if record.is_mistaken {
                text += "content-length: many\n";
            }
        }
        text
    }
}

impl Filter {
    /// Whether the filter alone lets the record through.
    fn lets(&self, host: &str, record: &Record) -> bool {
        let fits = |pattern: &usize| match PATTERNS[*pattern] {
            "*.b.example" => host == "www.b.example",
            exact => host == exact,
        };
        let is_own = |owner: &usize| record.owner(host) == Some(OWNER_NAMES[*owner]);
        (self.domains.is_empty() || self.domains.iter().any(fits))
            && (self.categories.is_empty() || !self.categories.is_disjoint(&record.categories))
            && (self.owners.is_empty() || self.owners.iter().any(is_own))
    }

    fn takes(&self, all: &[Filter], host: &str, record: &Record) -> bool {
        let mut others = all.iter().filter(|other| !other.is_rest);
        self.lets(host, record) && (!self.is_rest || !others.any(|other| other.lets(host, record)))
    }

    fn section(&self, number: usize) -> String {
        let lists = [
            ("domains", names(&PATTERNS, &self.domains)),
            ("categories", names(&CATEGORIES, &self.categories)),
            ("owners", names(&OWNER_NAMES, &self.owners)),
        ];
        let lists = lists.iter().filter(|(_, list)| !list.is_empty());
        let lists: Vec<String> = lists
            .map(|(key, list)| format!("{key} = {list:?}\n"))
            .collect();
        let lists = lists.concat();
        let rest = if self.is_rest { "else = true\n" } else { "" };
        format!(
            "[notify.n{number}]\ntype = \"email\"\nfrom = \"a@b.example\"\nto = [\"a@b.example\"]\n\
             folder = \"mail\"\n{lists}{rest}"
        )
    }
}

fn options(cnames: Cnames) -> PlanOptionsByHost {
    PlanOptions {
        max_body: 100,
        max_capture: 7,
        whole: false,
        kept_bodies: KeptBodies::None,
        cnames,
        day: 7,
        rehash: Rehash::ALWAYS,
    }
    .into()
}

/// The URLs of a record by hand, by host, and whether they are due.
fn urls_of(
    file: &File,
    host: &str,
    record: &Record,
    (selection, cnames): (&Selection, Cnames),
) -> (BTreeMap<String, u64>, bool) {
    let schemes = if file.has_https { 2 } else { 1 };
    let is_selected = (selection.domains.is_empty()
        || selection.domains.iter().any(|it| it == host))
        && (selection.categories.is_empty()
            || selection.categories.iter().any(|it| record.has(it)))
        && selection
            .path_prefix
            .as_ref()
            .is_none_or(|prefix| PATHS[record.path].starts_with(prefix.as_str()));
    let mut urls = BTreeMap::new();
    let is_left_out = record.has("deprecated") || is_selected && record.is_mistaken;
    if !is_left_out {
        urls.insert(host.to_owned(), schemes);
        if is_selected && cnames == Cnames::All {
            let aliases = CNAMES[..file.cnames].iter();
            urls.extend(aliases.map(|cname| ((*cname).to_owned(), schemes)));
        }
    }
    (urls, is_selected)
}

fn config(files: &[File], filters: &[Filter]) -> (tempfile::TempDir, Config) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let sections = filters.iter().enumerate();
    let sections: String = sections.map(|(index, it)| it.section(index)).collect();
    fs::write(root.join("urldb.toml"), format!("{OWNERS}{sections}")).unwrap();
    fs::create_dir(root.join("urldb")).unwrap();
    for (host, file) in HOSTS.iter().zip(files) {
        fs::write(root.join(format!("urldb/{host}.yaml")), file.text()).unwrap();
    }
    let config = crate::config::load(&root.join("urldb.toml")).unwrap();
    (folder, config)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Each section counts its URLs as the whole total does: host by host, selected or not, whether the jobs are
    /// kept or the file is read again, and in whatever order it is.
    #[test]
    fn a_section_counts_the_urls_that_its_filters_take(
        files in prop::collection::vec(file(), 3),
        filters in prop::collection::vec(filter(), 1..5),
        selection in selection(),
        asks_all in any::<bool>(),
        room in prop_oneof![Just(0), Just(10), Just(1_000)],
    ) {
        let cnames = if asks_all { Cnames::All } else { Cnames::None };
        let (_folder, config) = config(&files, &filters);
        let notifiers = Notifiers::new(&config);
        let sections = notifiers.filtered_sections();
        let list = DomainFiles::list(&config, &selection).unwrap().counting(sections.clone());
        let Ok(reading) = list.read_with_room(options(cnames), &(), |_| {}, room) else {
            // No record is selected.
            return Ok(());
        };
        let mut counted = reading.audiences.iter();
        for filter in &filters {
            let mut expected: BTreeMap<String, u64> = BTreeMap::new();
            let (mut planned, mut deprecated, mut is_whole) = (0, 0, true);
            for (host, file) in HOSTS.iter().zip(&files) {
                for record in &file.records {
                    if !filter.takes(&filters, host, record) {
                        is_whole = false;
                        continue;
                    }
                    let (urls, is_selected) = urls_of(file, host, record, (&selection, cnames));
                    if is_selected {
                        planned += urls.values().sum::<u64>();
                        deprecated += u64::from(record.has("deprecated"));
                    }
                    for (host, urls) in urls {
                        *expected.entry(host).or_default() += urls;
                    }
                }
            }
            let has_filter = !(filter.domains.is_empty() && filter.categories.is_empty()
                && filter.owners.is_empty());
            let has_others = filters.iter().any(|other| !other.is_rest);
            let is_filtered = has_filter || filter.is_rest && has_others;
            if !is_filtered {
                prop_assert!(is_whole);
                continue;
            }
            let urls = counted.next().unwrap();
            let mut by_host = urls.by_host.clone();
            by_host.retain(|_, urls| *urls > 0);
            prop_assert_eq!(by_host, expected, "{:?}", filter);
            prop_assert_eq!((urls.planned, urls.coverage.deprecated), (planned, deprecated));
        }
        prop_assert!(counted.next().is_none());
    }
}
