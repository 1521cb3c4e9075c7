//! Plans the jobs of one domain file after the other, as a run first reads them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use urldb_canon::rules::SiteRules;
use urldb_canon::{RequestUrl, host_of};
use urldb_fetch::FetchOptions;
use urldb_format::{DocumentRef, Linter, Metadata, fold};
use urldb_protocol::Mistake;
use urldb_text::Finding;
use urldb_verdict::{
    Cnames, DomainPlan, FileOptions, Job, JobKey, PastRuns, PlanOptions, Rotation, Selection,
    SkippedRecords,
};

use super::plan_options::PlanOptionsByHost;
use crate::config::Config;
use crate::database::mistakes::mistakes;
use crate::database::site_rules;
use crate::notify::{AudienceUrls, FilteredSections};
use crate::sync::ListLocations;

/// Number of jobs of a domain to which those of its cnames are added at once.
pub(super) const JOBS_AT_ONCE: usize = 256;

/// An event of the first reading of the domain files.
pub(super) enum PlanEvent<'a> {
    /// A job, except the one whose turn it is at a cname.
    Job(&'a Job),
    /// The end of a file.
    File(PlannedDomain<'a>),
}

/// A domain file after its first reading.
pub(super) struct PlannedDomain<'a> {
    pub(super) host: &'a str,
    pub(super) jobs: u64,
    /// Whether the jobs are in memory; else the file is read again.
    pub(super) are_jobs_kept: bool,
}

/// Plans the jobs of domain files.
pub(super) struct Planner<'a> {
    config: &'a Config,
    selection: &'a Selection,
    options: PlanOptionsByHost,
    official_urls: OfficialUrls<'a>,
    sections: FilteredSections,
    lists: Option<&'a ListLocations>,
}

impl<'a> Planner<'a> {
    pub(super) fn new(
        config: &'a Config,
        selection: &'a Selection,
        options: PlanOptionsByHost,
        sections: FilteredSections,
    ) -> anyhow::Result<Self> {
        Ok(Self {
            config,
            selection,
            options,
            official_urls: OfficialUrls::load(config)?,
            sections,
            lists: None,
        })
    }

    /// The same plan, whose jobs are named by their places in lists.
    pub(super) fn of_lists(self, lists: Option<&'a ListLocations>) -> Self {
        Self { lists, ..self }
    }

    /// The first reading of a file. Its jobs are kept if there are at most `room` of them, or if the
    /// file has to be read whole: that would take the network's thread too long.
    pub(super) fn survey(
        &self,
        path: &Path,
        name: &Arc<str>,
        past: &impl PastRuns,
        room: usize,
        see: &mut impl FnMut(PlanEvent<'_>),
    ) -> FileSurvey {
        let host = urldb_format::host_of(path);
        let options = self.options_of(&host);
        let start = || FileReading {
            linter: Linter::of_values(path, &self.config.lint.keys),
            plan: None,
            survey: FileSurvey {
                audiences: self.sections.none(),
                ..FileSurvey::default()
            },
            own_jobs: vec![],
            is_kept: true,
            room,
        };
        let FileReading {
            plan,
            mut survey,
            own_jobs,
            is_kept,
            room,
            ..
        } = fold(path, start, |file, document| {
            self.survey_document(file, document, (&host, name), past, see);
        });
        let Some(plan) = plan else {
            return survey;
        };
        let metadata = plan.metadata();
        if is_kept {
            let mut rotation = Rotation::over(survey.turns);
            let jobs = self.with_aliases(own_jobs, metadata, options, &mut rotation, past);
            survey.count(&jobs, &self.sections, see);
            survey.kept = (jobs.len() <= room).then_some(jobs);
        } else {
            self.count_without_turns(own_jobs, metadata, &mut survey, past, see);
            if self.has_rotation(options) && survey.turns > 0 {
                survey.count_turns(&metadata.cnames);
            }
        }
        survey.skipped = plan.into_skipped();
        survey
    }

    /// The first reading of a document.
    fn survey_document<'s>(
        &'s self,
        file: &mut FileReading<'s>,
        document: &DocumentRef<'_>,
        (host, name): (&str, &'s Arc<str>),
        past: &impl PastRuns,
        see: &mut impl FnMut(PlanEvent<'_>),
    ) {
        if let Some(metadata) = document.metadata() {
            file.plan = Some(self.domain_plan(host, metadata, name));
        }
        if document.may_repeat() {
            file.room = usize::MAX;
        }
        if self.selection.wants_domain(host) {
            let mut errors = file.linter.see(document);
            errors.retain(Finding::is_error);
            let (text, line) = (document.text(), document.start().line);
            let new = mistakes(text, line, name, &errors);
            file.survey.mistakes.extend(new);
        }
        let Some(plan) = &mut file.plan else {
            return;
        };
        let before = (!self.sections.is_empty()).then(|| plan.skipped().clone());
        let jobs = self.jobs_of(plan, document, past);
        if let Some(before) = before.filter(|before| before != plan.skipped()) {
            let skipped = (&before, plan.skipped());
            let survey = &mut file.survey;
            survey.count_skipped(host, document, skipped, &self.sections);
        }
        file.survey.turns += Rotation::turns_of(&jobs);
        file.own_jobs.extend(jobs);
        file.is_kept &= file.own_jobs.len() <= file.room;
        if !file.is_kept && file.own_jobs.len() >= JOBS_AT_ONCE {
            let jobs = std::mem::take(&mut file.own_jobs);
            self.count_without_turns(jobs, plan.metadata(), &mut file.survey, past, see);
        }
    }

    /// Counts jobs that are not kept. The turns of cnames are known at the end of the file only.
    fn count_without_turns(
        &self,
        jobs: Vec<Job>,
        metadata: &Metadata,
        survey: &mut FileSurvey,
        past: &impl PastRuns,
        see: &mut impl FnMut(PlanEvent<'_>),
    ) {
        let options = jobs.first().map(|job| self.options_of(&job.key.domain));
        let Some(options) = options else { return };
        let mut rotation = Rotation::over(0);
        let jobs = self.with_aliases(jobs, metadata, options, &mut rotation, past);
        survey.count(&jobs, &self.sections, see);
    }

    /// The options of the domain file of a host.
    pub(super) fn options_of(&self, host: &str) -> PlanOptions {
        self.options.of(host)
    }

    /// Whether a record has its turn at each cname.
    fn has_rotation(&self, options: PlanOptions) -> bool {
        options.cnames == Cnames::Rotate && self.selection.records.is_empty()
    }

    /// The plan of the domain `host` with these metadata.
    pub(super) fn domain_plan<'s>(
        &'s self,
        host: &str,
        metadata: &Metadata,
        name: &'s Arc<str>,
    ) -> DomainPlan<'s> {
        let options = FileOptions {
            name,
            own_keys: &self.config.lint.keys,
            plan: self.options_of(host),
        };
        DomainPlan::new(host, metadata, self.selection, options)
    }

    /// The jobs of the domain itself for a document of its file.
    pub(super) fn jobs_of(
        &self,
        plan: &mut DomainPlan<'_>,
        document: &DocumentRef<'_>,
        past: &impl PastRuns,
    ) -> Vec<Job> {
        let mut jobs = plan.jobs(document, past);
        let excluded = &self.config.check.exclude;
        jobs.retain(|job| {
            let is_excluded = excluded.iter().any(|glob| glob.is_match(job.url.as_str()));
            if is_excluded {
                plan.skip(false, 1);
            }
            !is_excluded
        });
        for job in &mut jobs {
            self.official_urls.mark(job);
            if let Some(lists) = self.lists {
                lists.locate(job, self.options.default.max_body);
            }
        }
        jobs
    }

    pub(super) fn with_aliases(
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

/// A domain file in its first reading.
struct FileReading<'a> {
    linter: Linter<'a>,
    /// `None` before the metadata.
    plan: Option<DomainPlan<'a>>,
    survey: FileSurvey,
    /// The jobs of the domain itself that are not counted yet.
    own_jobs: Vec<Job>,
    /// Whether `own_jobs` has all jobs.
    is_kept: bool,
    /// Most jobs to keep.
    room: usize,
}

/// The results of the first reading of one domain file.
#[derive(Default)]
pub(super) struct FileSurvey {
    pub(super) mistakes: Vec<Mistake>,
    pub(super) skipped: SkippedRecords,
    /// Number of jobs for each host that is asked.
    pub(super) by_host: BTreeMap<String, u64>,
    /// Whether a job promises bytes.
    pub(super) has_static: bool,
    /// Number of jobs that can be made to cnames too.
    pub(super) turns: u64,
    /// All jobs, if they are kept.
    pub(super) kept: Option<Vec<Job>>,
    /// The URLs of each section that is for some of all URLs.
    pub(super) audiences: Vec<AudienceUrls>,
}

impl FileSurvey {
    fn count(
        &mut self,
        jobs: &[Job],
        sections: &FilteredSections,
        see: &mut impl FnMut(PlanEvent<'_>),
    ) {
        for job in jobs {
            see(PlanEvent::Job(job));
            for section in taking(sections, job) {
                self.audiences[section].add(job.host(), 1);
                self.audiences[section].planned += 1;
            }
            self.has_static |= job.promise.is_static();
            match self.by_host.get_mut(job.host()) {
                Some(count) => *count += 1,
                None => {
                    self.by_host.insert(job.host().to_owned(), 1);
                }
            }
        }
    }

    /// Counts the turn of each cname, whose record is not known: for a section, if it takes all of the file.
    fn count_turns(&mut self, cnames: &[String]) {
        let all: u64 = self.by_host.values().sum();
        for audience in &mut self.audiences {
            if audience.planned == all {
                audience.planned += cnames.len() as u64;
                for cname in cnames {
                    audience.add(cname, 1);
                }
            }
        }
        for cname in cnames {
            *self.by_host.entry(cname.clone()).or_default() += 1;
        }
    }

    /// Counts a record of the host without jobs, by the skipped records before and after it.
    fn count_skipped(
        &mut self,
        host: &str,
        document: &DocumentRef<'_>,
        (before, after): (&SkippedRecords, &SkippedRecords),
        sections: &FilteredSections,
    ) {
        let of_host = |skipped: &SkippedRecords| {
            skipped
                .urls_not_selected
                .get(host)
                .copied()
                .unwrap_or_default()
        };
        let entry = document.to_entry();
        let categories = entry.as_ref().map(|entry| &entry.record().categories[..]);
        let path = document.path().unwrap_or_default();
        for section in sections.taking(host, path, categories.unwrap_or_default()) {
            let audience = &mut self.audiences[section];
            audience.add(host, of_host(after) - of_host(before));
            audience.coverage.deprecated += after.deprecated - before.deprecated;
            audience.coverage.not_selected += after.not_selected - before.not_selected;
        }
    }
}

/// The positions of the sections that take the URL of a job. An alias has the owner of its record.
pub(super) fn taking(sections: &FilteredSections, job: &Job) -> Vec<usize> {
    sections.taking(&job.key.domain, &job.key.path, &job.categories)
}

/// The official URLs of the pages whose canonical URL is compared.
pub(super) struct OfficialUrls<'a> {
    options: &'a FetchOptions,
    /// `None` if no host has `canonical = true`.
    rules: Option<SiteRules>,
}

impl<'a> OfficialUrls<'a> {
    /// Reads the site rules, if a host has `canonical = true`.
    ///
    /// # Errors
    /// When the site rules cannot be read, or have errors.
    pub(super) fn load(config: &'a Config) -> anyhow::Result<Self> {
        let options = &config.check.fetch;
        let rules = options
            .hosts
            .values()
            .chain([&options.default_host])
            .any(|host| host.canonical)
            .then(|| site_rules::load(config))
            .transpose()?;
        Ok(Self { options, rules })
    }

    /// Marks the job with its official URL, at hosts with `canonical = true`. A URL that the site
    /// rules do not admit is not marked, since `lint` reports it.
    pub(super) fn mark(&self, job: &mut Job) {
        let JobKey {
            domain,
            path,
            scheme,
            request,
            ..
        } = &job.key;
        // Only a GET request fetches a page.
        let is_wanted = request.is_none() && self.options.of_host(host_of(domain)).canonical;
        let Some(rules) = self.rules.as_ref().filter(|_| is_wanted) else {
            return;
        };
        // An alias serves the page of its domain.
        job.promise.canonical = RequestUrl::new(*scheme, domain, path)
            .and_then(|url| rules.resolve(url.as_str()).ok())
            .and_then(|resolution| resolution.official.ok())
            .map(String::into_boxed_str);
    }
}
