//! Lists the domain files of a run, and reads them for the first time.
//!
//! A database may be large, so a run reads its domain files twice. The first reading counts jobs and
//! finds mistakes. The second one hands the jobs to the fetcher while fetching goes on. Only small
//! parts of the files that are read at the moment are in memory. A small database is read once, and
//! its jobs are kept.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use urldb_format::{HELD_URIS, Record};
use urldb_protocol::Mistake;
use urldb_verdict::{PastRuns, Selection, Shard, SkippedRecords};

use super::plan_options::PlanOptionsByHost;
use super::planned_jobs::{PlannedFile, PlannedJobs};
use super::planner::{PlanEvent, PlannedDomain, Planner};
use crate::config::Config;
use crate::database::held::HeldUris;
use crate::database::mistakes::mistakes;
use crate::notify::{AudienceUrls, FilteredSections};
use crate::sync::ListLocations;

/// Most jobs that are kept from the first reading, so that their files are read once.
const MOST_KEPT: usize = 1_024;

/// The paths of all domain files, and the selection among their records.
pub(super) struct DomainFiles<'a> {
    config: &'a Config,
    selection: &'a Selection,
    files: Vec<PathBuf>,
    /// The file of held URIs, which has no jobs.
    held: Option<PathBuf>,
    misnamed: Vec<PathBuf>,
    /// The part of the files; all without one.
    shard: Option<Shard>,
    sections: FilteredSections,
    lists: Option<&'a ListLocations>,
}

/// The jobs of a run, and the findings of the first reading of the domain files.
pub(super) struct FirstReading<'a> {
    /// The requests to make.
    pub(super) jobs: PlannedJobs<'a>,
    /// The files that were read.
    pub(super) files: Vec<ReadFile>,
    /// Number of records without jobs.
    pub(super) skipped: SkippedRecords,
    /// The URLs of each section that is for some of all URLs.
    pub(super) audiences: Vec<AudienceUrls>,
}

/// A domain file that was read.
pub(super) struct ReadFile {
    pub(super) host: String,
    /// Its path from the root of the repository, with `/`.
    pub(super) name: Arc<str>,
    /// Mistakes in the file. Without mistakes, a record that the file does not have is gone.
    pub(super) mistakes: Vec<Mistake>,
}

impl<'a> DomainFiles<'a> {
    pub(super) fn list(config: &'a Config, selection: &'a Selection) -> anyhow::Result<Self> {
        let database = config.open_database()?;
        Ok(Self {
            config,
            selection,
            files: database.files().to_vec(),
            held: database.held().map(Path::to_owned),
            misnamed: database.misnamed().to_vec(),
            shard: None,
            sections: FilteredSections::default(),
            lists: None,
        })
    }

    /// The same files, whose URLs are counted for these sections too.
    pub(super) fn counting(self, sections: FilteredSections) -> Self {
        Self { sections, ..self }
    }

    /// The same files, whose records are named by their places in lists.
    pub(super) fn of_lists(self, lists: Option<&'a ListLocations>) -> Self {
        Self { lists, ..self }
    }

    pub(super) fn of_shard(mut self, shard: Shard) -> Self {
        let is_of_shard = |path: &PathBuf| shard.has_host(&urldb_format::host_of(path));
        self.files.retain(is_of_shard);
        self.held = self.held.filter(is_of_shard);
        self.misnamed.retain(is_of_shard);
        self.shard = Some(shard);
        self
    }

    pub(super) fn hosts(&self) -> Vec<String> {
        // The ledger remembers the mistake of a misnamed file under its whole name.
        self.files
            .iter()
            .chain(&self.held)
            .chain(&self.misnamed)
            .map(|path| urldb_format::host_of(path))
            .filter(|host| self.selection.wants_domain(host))
            .collect()
    }

    /// Reads one file after the other, and plans its jobs. `see` gets each event.
    pub(super) fn read(
        &self,
        options: impl Into<PlanOptionsByHost>,
        past: &impl PastRuns,
        see: impl FnMut(PlanEvent<'_>),
    ) -> anyhow::Result<FirstReading<'a>> {
        self.read_with_room(options.into(), past, see, MOST_KEPT)
    }

    /// As [`Self::read`]; at most `room` jobs are kept.
    pub(super) fn read_with_room(
        &self,
        options: PlanOptionsByHost,
        past: &impl PastRuns,
        mut see: impl FnMut(PlanEvent<'_>),
        mut room: usize,
    ) -> anyhow::Result<FirstReading<'a>> {
        let sections = self.sections.clone();
        let mut audiences = sections.none();
        let planner =
            Planner::new(self.config, self.selection, options, sections)?.of_lists(self.lists);
        let mut jobs = PlannedJobs::new(planner);
        let (mut files, mut skipped) = (vec![], SkippedRecords::default());
        for path in &self.files {
            let host = urldb_format::host_of(path);
            let name: Arc<str> = self.config.relative_name(path).into();
            let file = PlannedFile::new(path, &name);
            let mut survey = jobs.planner().survey(path, &name, past, room, &mut see);
            skipped += std::mem::take(&mut survey.skipped);
            let of_file = std::mem::take(&mut survey.audiences);
            for (all, of_file) in audiences.iter_mut().zip(of_file) {
                *all += of_file;
            }
            if !self.selection.wants_domain(&host) {
                continue;
            }
            see(PlanEvent::File(PlannedDomain {
                host: &host,
                jobs: survey.by_host.values().sum(),
                are_jobs_kept: survey.kept.is_some(),
            }));
            room = room.saturating_sub(survey.kept.as_ref().map_or(0, Vec::len));
            files.push(ReadFile {
                host,
                name,
                mistakes: std::mem::take(&mut survey.mistakes),
            });
            jobs.add(file, survey);
        }
        files.extend(self.held_uris(&mut skipped));
        files.extend(self.misnamed_files());
        // A typo in a filter must not look like a good result. Nothing changed is a good result.
        anyhow::ensure!(
            !jobs.is_empty()
                // Other shards may have the records.
                || self.shard.is_some()
                || files.iter().any(|file| !file.mistakes.is_empty())
                || !skipped.held.is_empty()
                // Contradictions are not asked.
                || self.lists.is_some()
                || self.selection.is_everything()
                || self.selection.changed.is_some(),
            "no record is selected; `urldb list` with the same options shows what there is"
        );
        Ok(FirstReading {
            jobs,
            files,
            skipped,
            audiences,
        })
    }

    /// The file of held URIs, if it is selected. Counts them.
    fn held_uris(&self, skipped: &mut SkippedRecords) -> Option<ReadFile> {
        let path = self
            .held
            .as_ref()
            .filter(|_| self.selection.wants_domain(HELD_URIS))?;
        let wants = |record: &Record| self.selection.wants_record(HELD_URIS, record);
        let read = HeldUris::read(self.config, path, wants);
        skipped.held = read.kinds;
        Some(ReadFile {
            host: HELD_URIS.to_owned(),
            name: self.config.relative_name(path).into(),
            mistakes: read.mistakes,
        })
    }

    fn misnamed_files(&self) -> impl Iterator<Item = ReadFile> {
        self.misnamed.iter().filter_map(|path| {
            let findings = urldb_format::lint_misnamed(path);
            let host = urldb_format::host_of(path);
            let domain = host.trim_end_matches(".yml");
            let name: Arc<str> = self.config.relative_name(path).into();
            self.selection.wants_domain(domain).then(|| ReadFile {
                mistakes: mistakes("", 1, &name, &findings),
                name,
                host,
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fmt::Write;
    use std::fs;
    use std::path::Path;

    use urldb_verdict::{Cnames, Job, KeptBodies, NamedRecord, PlanOptions, Rehash};

    use super::*;
    use crate::run::outcome::Messages;

    const OPTIONS: PlanOptions = PlanOptions {
        max_body: 100,
        max_capture: 7,
        whole: false,
        kept_bodies: KeptBodies::None,
        cnames: Cnames::Rotate,
        day: 7,
        rehash: Rehash::ALWAYS,
    };

    /// A repository whose domain files have several parts: in order, not in order, with cnames, with
    /// a mistake, and a small one.
    fn repository() -> (tempfile::TempDir, Config) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::write(root.join("urldb.toml"), "").unwrap();
        fs::create_dir(root.join("urldb")).unwrap();
        let records = |numbers: &mut dyn Iterator<Item = u32>| {
            numbers.fold(String::new(), |mut text, number| {
                writeln!(text, "---\n_path: /{number:06}\ncontent-length: {number}").unwrap();
                text
            })
        };
        let ascending = records(&mut (0..1200));
        let mistaken = ascending.replacen("content-length: 1100", "content-length: many", 1);
        for (host, text) in [
            (
                "aliased",
                format!("---\ncnames:\n- a.org\n- b.org\nhttps: true\n{ascending}"),
            ),
            ("mistaken", format!("---\n{mistaken}")),
            ("ordered", format!("---\n{ascending}")),
            ("small", "---\n---\n_path: /a\n".to_owned()),
            ("twice", format!("---\n{ascending}---\n_path: /000001\n")),
            (
                "unordered",
                format!("---\n{}", records(&mut (0..1200).rev())),
            ),
        ] {
            fs::write(root.join(format!("urldb/{host}.example.org.yaml")), text).unwrap();
        }
        let config = crate::config::load(&root.join("urldb.toml")).unwrap();
        (folder, config)
    }

    /// URL and line of each job, sorted, and the number of jobs by host as it was foretold.
    fn planned(config: &Config, room: usize) -> (Vec<(String, usize)>, BTreeMap<String, u64>) {
        let selection = Selection::default();
        let files = DomainFiles::list(config, &selection).unwrap();
        let mut plan = files
            .read_with_room(OPTIONS.into(), &(), |_| {}, room)
            .unwrap();
        assert_eq!(
            plan.files
                .iter()
                .map(|file| file.mistakes.len())
                .sum::<usize>(),
            2
        );
        let jobs = plan.jobs.sources(&()).flatten();
        let mut jobs: Vec<_> = jobs.map(|job| (job.url.to_string(), job.line)).collect();
        jobs.sort();
        (jobs, plan.jobs.by_host().clone())
    }

    /// Plans the jobs of the repository, most of whose files are to be read again.
    fn read_again(test: impl FnOnce(&Path, PlannedJobs<'_>)) {
        let (folder, config) = repository();
        let selection = Selection::default();
        let files = DomainFiles::list(&config, &selection).unwrap();
        let plan = files.read_with_room(OPTIONS.into(), &(), |_| {}, 0);
        test(folder.path(), plan.unwrap().jobs);
    }

    #[test]
    fn a_second_reading_plans_what_the_first_one_planned() {
        let (_folder, config) = repository();
        let (kept, by_host) = planned(&config, 100_000);
        // 1200 of each large file but the mistaken record, two schemes of `aliased`, one of `small`,
        // and one for each cname.
        assert_eq!(kept.len(), 6 * 1200 - 1 + 1 + 2);
        assert_eq!(by_host.values().sum::<u64>(), kept.len() as u64);
        assert_eq!(by_host["a.org"], 1);
        for room in [0, 1_300] {
            assert_eq!(
                planned(&config, room),
                (kept.clone(), by_host.clone()),
                "{room}"
            );
        }
    }

    #[test]
    fn a_file_that_changes_between_the_readings_is_checked_as_it_is_and_named() {
        read_again(|root, mut jobs| {
            let path = root.join("urldb/small.example.org.yaml");
            fs::write(path, "---\n---\n_path: /b\n---\n_path: /c\n").unwrap();
            let asked: Vec<Job> = jobs.sources(&()).flatten().collect();
            let asked = asked.iter().filter(|job| job.host() == "small.example.org");
            let paths: Vec<&str> = asked.map(|job| job.key.path.as_str()).collect();
            assert_eq!(paths, ["/b", "/c"]);
            let Messages { troubles, notes } = jobs.messages();
            assert!(troubles.is_empty(), "{troubles:?}");
            assert_eq!(
                notes,
                [
                    "urldb/small.example.org.yaml was changed during the run; its records were checked \
                 as they are now, and the next run reports mistakes in them"
                ]
            );
        });
    }

    #[test]
    fn a_file_that_cannot_be_read_again_is_a_trouble_and_a_removed_one_is_a_change() {
        read_again(|root, mut jobs| {
            let planned = jobs.count();
            let path = |name: &str| root.join(format!("urldb/{name}.example.org.yaml"));
            fs::remove_file(path("small")).unwrap();
            fs::remove_file(path("ordered")).unwrap();
            fs::create_dir(path("ordered")).unwrap();
            let asked = jobs.sources(&()).flatten().count() as u64;
            assert_eq!(asked, planned - 1 - 1200);
            let Messages { troubles, notes } = jobs.messages();
            assert_eq!(notes.len(), 2, "{notes:?}");
            assert_eq!(
                troubles,
                [
                    "urldb/ordered.example.org.yaml was read before the first request, and not a second \
                 time: the file cannot be read: it is a folder, not a regular file; some or all of its URLs were \
                 not checked"
                ]
            );
        });
    }

    #[test]
    fn records_that_are_not_named_are_counted_without_their_jobs() {
        let (_folder, config) = repository();
        let selection = Selection {
            records: vec![NamedRecord {
                domain: "ordered.example.org".to_owned(),
                path: "/000700".to_owned(),
                alias: None,
            }],
            ..Selection::default()
        };
        let files = DomainFiles::list(&config, &selection).unwrap();
        let mut plan = files.read(OPTIONS, &(), |_| {}).unwrap();
        let others = |host: &str| plan.skipped.urls_not_selected.get(host).copied();
        assert_eq!(others("ordered.example.org"), Some(1199));
        // With https, and without the record that is mistaken.
        assert_eq!(others("aliased.example.org"), Some(2 * 1200));
        assert_eq!(others("mistaken.example.org"), Some(1200));
        assert_eq!(plan.skipped.not_selected, 3 * 1200 + 1201 + 1 + 1199);
        let jobs: Vec<Job> = plan.jobs.sources(&()).flatten().collect();
        assert_eq!(jobs.len(), 1);
        assert_eq!((jobs[0].key.path.as_str(), jobs[0].line), ("/000700", 2103));
    }

    #[test]
    fn a_file_is_not_read_again_before_its_source_is_asked() {
        read_again(|root, mut jobs| {
            fs::remove_dir_all(root.join("urldb")).unwrap();
            // The jobs of the two files that had to be read whole are kept.
            assert_eq!(jobs.sources(&()).flatten().count(), 2 * 1200);
            assert_eq!(jobs.messages().notes.len(), 4);
        });
    }

    /// The URLs of all jobs, sorted.
    fn urls(files: &DomainFiles<'_>, options: impl Into<PlanOptionsByHost>) -> Vec<String> {
        let mut plan = files.read(options, &(), |_| {}).unwrap();
        let jobs = plan.jobs.sources(&()).flatten();
        let mut urls: Vec<String> = jobs.map(|job| job.url.to_string()).collect();
        urls.sort();
        urls
    }

    #[test]
    fn shards_have_all_jobs_between_them() {
        let (_folder, config) = repository();
        let selection = Selection::default();
        let list = || DomainFiles::list(&config, &selection).unwrap();
        let shards = Shard::all(3).unwrap().into_iter();
        let parts = shards.map(|shard| urls(&list().of_shard(shard), OPTIONS));
        let parts: Vec<Vec<String>> = parts.collect();
        assert!(parts.iter().filter(|part| !part.is_empty()).count() > 1);
        let mut all = parts.concat();
        all.sort();
        assert_eq!(all, urls(&list(), OPTIONS));
    }

    #[test]
    fn a_collecting_run_plans_each_host_as_its_shard_did() {
        let (_folder, config) = repository();
        let selection = Selection::default();
        let files = DomainFiles::list(&config, &selection).unwrap();
        let of_aliased = Shard::of_host("aliased.example.org", 2).index();
        let without = PlanOptions {
            cnames: Cnames::None,
            ..OPTIONS
        };
        for index in 0..2 {
            let mut shards = vec![OPTIONS; 2];
            shards[index] = without;
            let default = OPTIONS;
            let urls = urls(&files, PlanOptionsByHost { default, shards });
            let has_alias = urls.iter().any(|url| url.contains("a.org"));
            assert_eq!(has_alias, index != of_aliased, "{index}");
        }
    }

    #[test]
    fn shards_of_two_days_claim_no_day_on_which_records_were_read() {
        let of_day = |day| PlanOptions {
            day,
            rehash: Rehash::new(7, day, Some(day - 1)),
            ..OPTIONS
        };
        let rehash = |days: &[u64]| {
            let shards = days.iter().map(|day| of_day(*day)).collect();
            let default = of_day(100);
            PlanOptionsByHost { default, shards }.rehash()
        };
        assert_eq!(rehash(&[]), of_day(100).rehash);
        assert_eq!(rehash(&[100, 100]), of_day(100).rehash);
        assert_eq!(rehash(&[100, 101]), Rehash::of_days(7, 100, 0));
    }
}
