//! Reads domain files and plans the jobs of a run.
//!
//! A database may be large, so a run reads its domain files twice. The first reading counts jobs and
//! finds mistakes. The second one hands the jobs to the fetcher while fetching goes on. Only small
//! parts of the files that are read at the moment are in memory. A small database is read once, and
//! its jobs are kept.

use std::collections::BTreeMap;
use std::fs::Metadata as FileMetadata;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use urldb_format::{DomainFile, FilePart, Metadata};
use urldb_protocol::Mistake;
use urldb_text::Finding;
use urldb_verdict::{
    Cnames, FileOptions, Job, PastRuns, PlanOptions, Rotation, Selection, SkippedRecords,
};

use super::canonical::OfficialUrls;
use crate::config::Config;
use crate::database::mistakes::mistakes;

/// Most jobs that are kept from the first reading, so that their files are read once.
const MOST_KEPT: usize = 16_384;

/// The paths of all domain files, and the selection among their records.
pub(super) struct DomainFiles<'a> {
    config: &'a Config,
    selection: &'a Selection,
    files: Vec<PathBuf>,
    misnamed: Vec<PathBuf>,
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

/// The requests of a run, file by file.
pub(super) struct PlannedJobs<'a> {
    planner: Planner<'a>,
    /// Number of jobs for each host that is asked.
    by_host: BTreeMap<String, u64>,
    /// Whether a job promises bytes.
    has_static: bool,
    files: Vec<PlannedFile>,
    /// Names of the files that others changed between the two readings.
    changed: Mutex<Vec<Arc<str>>>,
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
        })
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

    /// Reads one file after the other, and plans its jobs. `see` sees each job, except the one whose
    /// turn it is at a cname.
    pub(super) fn plan(
        &self,
        options: PlanOptions,
        past: &impl PastRuns,
        see: impl FnMut(&Job),
    ) -> anyhow::Result<Plan<'a>> {
        self.plan_with_room(options, past, see, MOST_KEPT)
    }

    /// As [`Self::plan`]; at most `room` jobs are kept.
    fn plan_with_room(
        &self,
        options: PlanOptions,
        past: &impl PastRuns,
        mut see: impl FnMut(&Job),
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
            changed: Mutex::default(),
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
    options: PlanOptions,
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
        see: &mut impl FnMut(&Job),
    ) -> Survey {
        let mut survey = Survey::default();
        let mut metadata = Metadata::default();
        let (mut own_jobs, mut is_kept, mut room) = (vec![], true, room);
        for part in DomainFile::read_parts_or_report(path) {
            if matches!(part, FilePart::Whole { .. }) {
                survey = Survey::default();
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
            let jobs = self.jobs_of_part(&file, name, past);
            survey.turns += Rotation::turns_of(&jobs);
            own_jobs.extend(jobs);
            is_kept &= own_jobs.len() <= room;
            if !is_kept {
                // The turns of cnames are known at the end of the file only.
                let mut rotation = Rotation::over(0);
                let jobs = std::mem::take(&mut own_jobs);
                survey.count(
                    &self.with_aliases(jobs, &metadata, &mut rotation, past),
                    see,
                );
            }
        }
        if is_kept {
            let mut rotation = Rotation::over(survey.turns);
            let jobs = self.with_aliases(own_jobs, &metadata, &mut rotation, past);
            survey.count(&jobs, see);
            survey.kept = (jobs.len() <= room).then_some(jobs);
        } else if self.has_rotation() && survey.turns > 0 {
            for cname in metadata.cnames {
                *survey.by_host.entry(cname).or_default() += 1;
            }
        }
        survey
    }

    /// Whether a record has its turn at each cname.
    fn has_rotation(&self) -> bool {
        self.options.cnames == Cnames::Rotate && self.selection.records.is_empty()
    }

    /// The jobs of the domain itself for a part of its file.
    fn jobs_of_part(&self, file: &DomainFile, name: &Arc<str>, past: &impl PastRuns) -> Vec<Job> {
        let options = FileOptions {
            name,
            own_keys: &self.config.lint.keys,
            plan: self.options,
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
        rotation: &mut Rotation,
        past: &impl PastRuns,
    ) -> Vec<Job> {
        let (selection, options) = (self.selection, self.options);
        urldb_verdict::plan::with_aliases(jobs, metadata, selection, options, rotation, past)
    }
}

/// The results of the first reading of one domain file so far.
#[derive(Default)]
struct Survey {
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

impl Survey {
    fn count(&mut self, jobs: &[Job], see: &mut impl FnMut(&Job)) {
        for job in jobs {
            see(job);
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

    /// Whether a job promises bytes.
    pub(super) fn has_static(&self) -> bool {
        self.has_static
    }

    /// The jobs of each file, which are read as the iterators go on.
    pub(super) fn sources<'s, P: PastRuns>(
        &'s mut self,
        past: &'s P,
    ) -> impl Iterator<Item = impl Iterator<Item = Job>> {
        let (planner, changed) = (&self.planner, &self.changed);
        self.files.iter_mut().map(move |file| {
            let kept = file.kept.take();
            let read = kept.is_none().then(|| {
                if file.version != version_of(&file.path) {
                    let mut changed = changed.lock().unwrap_or_else(PoisonError::into_inner);
                    changed.push(Arc::clone(&file.name));
                }
                planner.read_again(file, past)
            });
            kept.into_iter().flatten().chain(read.into_iter().flatten())
        })
    }

    /// A note on each file that others changed between the two readings.
    pub(super) fn notes(self) -> Vec<String> {
        let changed = self.changed.into_inner();
        let changed = changed.unwrap_or_else(PoisonError::into_inner);
        let note = |name| {
            format!(
                "{name} was changed during the run; its records were checked as they are now, and \
                 the next run reports mistakes in them"
            )
        };
        changed.into_iter().map(note).collect()
    }
}

impl Planner<'_> {
    /// The jobs of the second reading, part by part.
    fn read_again<'s, P: PastRuns>(
        &'s self,
        file: &'s PlannedFile,
        past: &'s P,
    ) -> impl Iterator<Item = Job> {
        let mut rotation = Rotation::over(file.turns);
        DomainFile::read_parts_or_report(&file.path).flat_map(move |part| {
            let is_whole = matches!(part, FilePart::Whole { .. });
            let (content, known_lines) = part.into_parsed();
            if is_whole {
                rotation = Rotation::over(file.turns);
            }
            let read = content.file;
            let jobs = self.jobs_of_part(&read, &file.name, past);
            let mut jobs = self.with_aliases(jobs, read.metadata(), &mut rotation, past);
            jobs.retain(|job| job.line > known_lines);
            jobs
        })
    }
}

fn version_of(path: &Path) -> Option<FileVersion> {
    let version = |metadata: FileMetadata| (metadata.len(), metadata.modified().ok());
    std::fs::metadata(path).ok().map(version)
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

    use urldb_verdict::{KeptBodies, Rehash};

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
        let mut plan = files.plan_with_room(OPTIONS, &(), |_| {}, room).unwrap();
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
        let (folder, config) = repository();
        let selection = Selection::default();
        let files = DomainFiles::list(&config, &selection).unwrap();
        let mut plan = files.plan_with_room(OPTIONS, &(), |_| {}, 0).unwrap();
        let path = folder.path().join("urldb/small.example.org.yaml");
        fs::write(path, "---\n---\n_path: /b\n---\n_path: /c\n").unwrap();
        let jobs: Vec<Job> = plan.jobs.sources(&()).flatten().collect();
        let jobs = jobs.iter().filter(|job| job.host() == "small.example.org");
        let paths: Vec<&str> = jobs.map(|job| job.key.path.as_str()).collect();
        assert_eq!(paths, ["/b", "/c"]);
        assert_eq!(
            plan.jobs.notes(),
            [
                "urldb/small.example.org.yaml was changed during the run; its records were checked \
                 as they are now, and the next run reports mistakes in them"
            ]
        );
    }

    #[test]
    fn a_file_is_not_read_again_before_its_source_is_asked() {
        let (_folder, config) = repository();
        let selection = Selection::default();
        let files = DomainFiles::list(&config, &selection).unwrap();
        let mut plan = files.plan_with_room(OPTIONS, &(), |_| {}, 0).unwrap();
        fs::remove_dir_all(config.root.join("urldb")).unwrap();
        // The jobs of the two files that had to be read whole are kept.
        assert_eq!(plan.jobs.sources(&()).flatten().count(), 2 * 1200);
        assert_eq!(plan.jobs.notes().len(), 4);
    }
}
