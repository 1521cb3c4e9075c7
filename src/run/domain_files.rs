//! Reads domain files and plans the jobs of a run.
//!
//! A database may be large, so a run reads its domain files twice. The first reading counts jobs and
//! finds mistakes. The second one hands the jobs to the fetcher while fetching goes on. Only small
//! parts of the files that are read at the moment are in memory. A small database is read once, and
//! its jobs are kept.

use std::collections::BTreeMap;
use std::fs::Metadata as FileMetadata;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use urldb_format::{DomainFile, FilePart, Metadata};
use urldb_protocol::Mistake;
use urldb_text::Finding;
use urldb_verdict::{
    Cnames, FileOptions, Job, PastRuns, PlanOptions, Rehash, Rotation, Selection, Shard,
    SkippedRecords,
};

use super::canonical::OfficialUrls;
use super::outcome::Messages;
use crate::config::Config;
use crate::database::mistakes::mistakes;

/// Most jobs that are kept from the first reading, so that their files are read once.
const MOST_KEPT: usize = 1_024;

/// The paths of all domain files, and the selection among their records.
pub(super) struct DomainFiles<'a> {
    config: &'a Config,
    selection: &'a Selection,
    files: Vec<PathBuf>,
    misnamed: Vec<PathBuf>,
    /// The part of the files; all without one.
    shard: Option<Shard>,
}

/// The options of the plan: of all domain files, or of those of each shard.
#[derive(Debug, Clone)]
pub(super) struct PlanOptionsByHost {
    /// The options of hosts of no shard.
    pub(super) default: PlanOptions,
    /// The options of each shard; none if the run has no shards.
    pub(super) shards: Vec<PlanOptions>,
}

impl From<PlanOptions> for PlanOptionsByHost {
    fn from(default: PlanOptions) -> Self {
        Self {
            default,
            shards: vec![],
        }
    }
}

impl PlanOptionsByHost {
    /// Which static records all shards read in full. Shards that began on different days have no such
    /// days in common, unless they read all records.
    pub(super) fn rehash(&self) -> Rehash {
        let mut plans = self.shards.iter();
        let of_all = plans.next().unwrap_or(&self.default).rehash;
        if plans.all(|plan| plan.rehash == of_all) {
            return of_all;
        }
        Rehash::of_days(of_all.every(), self.default.day, 0)
    }

    /// The options of the domain file of a host.
    fn of(&self, host: &str) -> PlanOptions {
        let count = u32::try_from(self.shards.len()).unwrap_or(u32::MAX);
        let shard = Shard::of_host(host, count);
        let of_shard = self.shards.get(shard.index()).copied();
        of_shard.unwrap_or(self.default)
    }
}

/// The jobs of a run, and what reading the domain files has shown.
pub(super) struct Plan<'a> {
    /// The requests to make.
    pub(super) jobs: PlannedJobs<'a>,
    /// The files that were read.
    pub(super) files: Vec<ReadFile>,
    /// Number of records without jobs.
    pub(super) skipped: SkippedRecords,
}

/// An event of the first reading of the domain files.
pub(super) enum Survey<'a> {
    /// A job, except the one whose turn it is at a cname.
    Job(&'a Job),
    /// The end of a file.
    File(PlannedDomain<'a>),
}

/// A domain file after its first reading.
pub(super) struct PlannedDomain<'a> {
    pub(super) host: &'a str,
    /// Number of jobs.
    pub(super) jobs: u64,
    /// Whether the jobs are in memory; else the file is read again.
    pub(super) are_jobs_kept: bool,
}

/// The requests of a run, file by file.
pub(super) struct PlannedJobs<'a> {
    planner: Planner<'a>,
    /// Number of jobs for each host that is asked.
    by_host: BTreeMap<String, u64>,
    /// Whether a job promises bytes.
    has_static: bool,
    files: Vec<PlannedFile>,
    /// Notes and troubles of the second reading.
    messages: Mutex<Messages>,
}

/// The jobs of one domain file.
struct PlannedFile {
    path: PathBuf,
    name: Arc<str>,
    version: Option<FileVersion>,
    /// Number of jobs that can be made to cnames too.
    turns: u64,
    /// All jobs, if they are kept.
    kept: Option<Vec<Job>>,
}

/// Tells whether a file was changed since: its length, and when it was last written.
type FileVersion = (u64, Option<SystemTime>);

/// A domain file that was read.
pub(super) struct ReadFile {
    /// Its host.
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
            misnamed: database.misnamed().to_vec(),
            shard: None,
        })
    }

    /// The files of one shard.
    pub(super) fn of_shard(mut self, shard: Shard) -> Self {
        let is_of_shard = |path: &PathBuf| shard.has_host(&urldb_format::host_of(path));
        self.files.retain(is_of_shard);
        self.misnamed.retain(is_of_shard);
        self.shard = Some(shard);
        self
    }

    /// The hosts of the selection.
    pub(super) fn hosts(&self) -> Vec<String> {
        // The ledger remembers the mistake of a misnamed file under its whole name.
        let files = self.files.iter().chain(&self.misnamed);
        let hosts = files.map(|path| urldb_format::host_of(path));
        hosts
            .filter(|host| self.selection.wants_domain(host))
            .collect()
    }

    /// Reads one file after the other, and plans its jobs. `see` sees what the reading shows.
    pub(super) fn plan(
        &self,
        options: impl Into<PlanOptionsByHost>,
        past: &impl PastRuns,
        see: impl FnMut(Survey<'_>),
    ) -> anyhow::Result<Plan<'a>> {
        self.plan_with_room(options.into(), past, see, MOST_KEPT)
    }

    /// As [`Self::plan`]; at most `room` jobs are kept.
    #[expect(clippy::too_many_lines)]
    fn plan_with_room(
        &self,
        options: PlanOptionsByHost,
        past: &impl PastRuns,
        mut see: impl FnMut(Survey<'_>),
        mut room: usize,
    ) -> anyhow::Result<Plan<'a>> {
        let planner = Planner {
            config: self.config,
            selection: self.selection,
            options,
            official_urls: OfficialUrls::load(self.config)?,
        };
        let (mut files, mut planned_files) = (vec![], vec![]);
        let (mut skipped, mut by_host) = (SkippedRecords::default(), BTreeMap::new());
        let mut has_static = false;
        for path in &self.files {
            let name: Arc<str> = self.config.relative_name(path).into();
            let version = version_of(path);
            let survey = planner.survey(path, &name, past, room, &mut see);
            skipped += survey.skipped;
            let host = urldb_format::host_of(path);
            if !self.selection.wants_domain(&host) {
                continue;
            }
            see(Survey::File(PlannedDomain {
                host: &host,
                jobs: survey.by_host.values().sum(),
                are_jobs_kept: survey.kept.is_some(),
            }));
            files.push(ReadFile {
                host,
                name: Arc::clone(&name),
                mistakes: survey.mistakes,
            });
            has_static |= survey.has_static;
            room = room.saturating_sub(survey.kept.as_ref().map_or(0, Vec::len));
            if survey.by_host.is_empty() {
                continue;
            }
            for (host, count) in survey.by_host {
                *by_host.entry(host).or_default() += count;
            }
            planned_files.push(PlannedFile {
                path: path.clone(),
                name,
                version,
                turns: survey.turns,
                kept: survey.kept,
            });
        }
        files.extend(self.misnamed_files());
        // A typo in a filter must not look like a good result. Nothing changed is a good result.
        anyhow::ensure!(
            !planned_files.is_empty()
                // Other shards may have the records.
                || self.shard.is_some()
                || files.iter().any(|file| !file.mistakes.is_empty())
                || self.selection.is_everything()
                || self.selection.changed.is_some(),
            "no record is selected; `urldb list` with the same options shows what there is"
        );
        let jobs = PlannedJobs {
            planner,
            by_host,
            has_static,
            files: planned_files,
            messages: Mutex::default(),
        };
        Ok(Plan {
            jobs,
            files,
            skipped,
        })
    }

    fn misnamed_files(&self) -> impl Iterator<Item = ReadFile> {
        self.misnamed.iter().filter_map(|path| {
            let findings = urldb_format::lint_misnamed(path);
            let file = DomainFile::parse(path, b"").file;
            let domain = file.host().trim_end_matches(".yml");
            let name: Arc<str> = self.config.relative_name(path).into();
            self.selection.wants_domain(domain).then(|| ReadFile {
                host: file.host().to_owned(),
                name: Arc::clone(&name),
                mistakes: mistakes(&file, &name, &findings),
            })
        })
    }
}

/// Plans the jobs of parts of domain files.
struct Planner<'a> {
    config: &'a Config,
    selection: &'a Selection,
    options: PlanOptionsByHost,
    official_urls: OfficialUrls<'a>,
}

impl Planner<'_> {
    /// The first reading of a file. Its jobs are kept if there are at most `room` of them, or if the
    /// file has to be read whole: that would take the network's thread too long.
    fn survey(
        &self,
        path: &Path,
        name: &Arc<str>,
        past: &impl PastRuns,
        room: usize,
        see: &mut impl FnMut(Survey<'_>),
    ) -> FileSurvey {
        let options = self.options.of(&urldb_format::host_of(path));
        let mut survey = FileSurvey::default();
        let mut metadata = Metadata::default();
        let (mut own_jobs, mut is_kept, mut room) = (vec![], true, room);
        for part in self.read(path) {
            if matches!(part, FilePart::Whole { .. }) {
                survey = FileSurvey::default();
                own_jobs.clear();
                (is_kept, room) = (true, usize::MAX);
            }
            let parsed = part.into_parsed().0;
            let file = parsed.file;
            survey.skipped.count(&file, self.selection);
            if !self.selection.wants_domain(file.host()) {
                continue;
            }
            let mut errors = parsed.findings;
            errors.extend(urldb_format::lint_values(&file, &self.config.lint.keys));
            errors.retain(Finding::is_error);
            survey.mistakes.extend(mistakes(&file, name, &errors));
            metadata = file.metadata().clone();
            let jobs = self.jobs_of_part(&file, name, options, past);
            survey.turns += Rotation::turns_of(&jobs);
            own_jobs.extend(jobs);
            is_kept &= own_jobs.len() <= room;
            if !is_kept {
                // The turns of cnames are known at the end of the file only.
                let mut rotation = Rotation::over(0);
                let jobs = std::mem::take(&mut own_jobs);
                survey.count(
                    &self.with_aliases(jobs, &metadata, options, &mut rotation, past),
                    see,
                );
            }
        }
        if is_kept {
            let mut rotation = Rotation::over(survey.turns);
            let jobs = self.with_aliases(own_jobs, &metadata, options, &mut rotation, past);
            survey.count(&jobs, see);
            survey.kept = (jobs.len() <= room).then_some(jobs);
        } else if self.has_rotation(options) && survey.turns > 0 {
            for cname in metadata.cnames {
                *survey.by_host.entry(cname).or_default() += 1;
            }
        }
        survey
    }

    /// The parts of a file, without those of which no record is selected.
    fn read<'s>(&'s self, path: &'s Path) -> impl Iterator<Item = FilePart> + use<'s> {
        let host = urldb_format::host_of(path);
        let selects_domain = self.selection.wants_domain(&host);
        let wants = move |record: &str| selects_domain && self.selection.wants_path(&host, record);
        DomainFile::read_parts_where_or_report(path, wants)
    }

    /// Whether a record has its turn at each cname.
    fn has_rotation(&self, options: PlanOptions) -> bool {
        options.cnames == Cnames::Rotate && self.selection.records.is_empty()
    }

    /// The jobs of the domain itself for a part of its file.
    fn jobs_of_part(
        &self,
        file: &DomainFile,
        name: &Arc<str>,
        plan: PlanOptions,
        past: &impl PastRuns,
    ) -> Vec<Job> {
        let options = FileOptions {
            name,
            own_keys: &self.config.lint.keys,
            plan,
        };
        let mut jobs = urldb_verdict::plan::jobs_of_part(file, self.selection, options, past);
        for job in &mut jobs {
            self.official_urls.mark(job);
        }
        jobs
    }

    fn with_aliases(
        &self,
        jobs: Vec<Job>,
        metadata: &Metadata,
        options: PlanOptions,
        rotation: &mut Rotation,
        past: &impl PastRuns,
    ) -> Vec<Job> {
        let selection = self.selection;
        urldb_verdict::plan::with_aliases(jobs, metadata, selection, options, rotation, past)
    }
}

/// The results of the first reading of one domain file so far.
#[derive(Default)]
struct FileSurvey {
    mistakes: Vec<Mistake>,
    skipped: SkippedRecords,
    /// Number of jobs for each host that is asked.
    by_host: BTreeMap<String, u64>,
    /// Whether a job promises bytes.
    has_static: bool,
    /// Number of jobs that can be made to cnames too.
    turns: u64,
    /// All jobs, if they are kept.
    kept: Option<Vec<Job>>,
}

impl FileSurvey {
    fn count(&mut self, jobs: &[Job], see: &mut impl FnMut(Survey<'_>)) {
        for job in jobs {
            see(Survey::Job(job));
            self.has_static |= job.promise.is_static();
            match self.by_host.get_mut(job.host()) {
                Some(count) => *count += 1,
                None => {
                    self.by_host.insert(job.host().to_owned(), 1);
                }
            }
        }
    }
}

impl PlannedJobs<'_> {
    /// Number of jobs for each host that is asked.
    pub(super) fn by_host(&self) -> &BTreeMap<String, u64> {
        &self.by_host
    }

    /// Number of all jobs.
    pub(super) fn count(&self) -> u64 {
        self.by_host.values().sum()
    }

    /// Whether a job promises bytes.
    pub(super) fn has_static(&self) -> bool {
        self.has_static
    }

    /// The jobs of each file, which are read as the iterators go on.
    pub(super) fn sources<'s, P: PastRuns>(
        &'s mut self,
        past: &'s P,
    ) -> impl Iterator<Item = impl Iterator<Item = Job>> {
        let (planner, messages) = (&self.planner, &self.messages);
        self.files.iter_mut().map(move |file| {
            let kept = file.kept.take();
            let read = kept.is_none().then(|| {
                if file.version != version_of(&file.path) {
                    let note = format!(
                        "{} was changed during the run; its records were checked as they are now, \
                         and the next run reports mistakes in them",
                        file.name
                    );
                    lock(messages).notes.push(note);
                }
                planner.read_again(file, past, messages)
            });
            kept.into_iter().flatten().chain(read.into_iter().flatten())
        })
    }

    /// A note on each file that others changed between the two readings, and a trouble for each that could
    /// not be read again.
    pub(super) fn messages(self) -> Messages {
        let messages = self.messages.into_inner();
        messages.unwrap_or_else(PoisonError::into_inner)
    }
}

fn lock(messages: &Mutex<Messages>) -> MutexGuard<'_, Messages> {
    messages.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Planner<'_> {
    /// The jobs of the second reading, part by part.
    fn read_again<'s, P: PastRuns>(
        &'s self,
        file: &'s PlannedFile,
        past: &'s P,
        messages: &'s Mutex<Messages>,
    ) -> impl Iterator<Item = Job> {
        let options = self.options.of(&urldb_format::host_of(&file.path));
        let mut rotation = Rotation::over(file.turns);
        self.read(&file.path).flat_map(move |part| {
            let is_whole = matches!(part, FilePart::Whole { .. });
            let (content, known_lines) = part.into_parsed();
            if is_whole {
                rotation = Rotation::over(file.turns);
                let mut findings = content.findings.iter();
                let unreadable = findings.find(|finding| finding.code.hides_file());
                // A file that is gone was changed, which a note says.
                if let Some(finding) = unreadable.filter(|_| urldb_files::is_there(&file.path)) {
                    let trouble = format!(
                        "{} was read before the first request, and not a second time: {}; some or all \
                         of its URLs were not checked",
                        file.name, finding.message
                    );
                    lock(messages).troubles.push(trouble);
                }
            }
            let read = content.file;
            let jobs = self.jobs_of_part(&read, &file.name, options, past);
            let mut jobs = self.with_aliases(jobs, read.metadata(), options, &mut rotation, past);
            jobs.retain(|job| job.line > known_lines);
            jobs
        })
    }
}

fn version_of(path: &Path) -> Option<FileVersion> {
    let version = |metadata: FileMetadata| (metadata.len(), metadata.modified().ok());
    let file = urldb_files::open(path).ok()?;
    file.metadata().ok().map(version)
}

/// The hosts whose files have no mistakes: a record that such a file does not have is gone.
pub(super) fn understood(files: &[ReadFile]) -> Vec<String> {
    let whole = files.iter().filter(|file| file.mistakes.is_empty());
    whole.map(|file| file.host.clone()).collect()
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;
    use std::fs;

    use urldb_verdict::{KeptBodies, NamedRecord};

    use super::*;

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
            .plan_with_room(OPTIONS.into(), &(), |_| {}, room)
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
        let plan = files.plan_with_room(OPTIONS.into(), &(), |_| {}, 0);
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
        let mut plan = files.plan(OPTIONS, &(), |_| {}).unwrap();
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
        let mut plan = files.plan(options, &(), |_| {}).unwrap();
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
