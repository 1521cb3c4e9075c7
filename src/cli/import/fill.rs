//! `import --static`: fetches the URLs without a digest, and writes their digests in batches.
//!
//! After an interruption, the same import goes on: URLs that have a digest by then are not fetched
//! again.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use urldb_canon::Identity as Url;
use urldb_format::{DomainFile, Record, RecordIdentity};
use urldb_text::sanitize;
use urldb_verdict::Job;

use crate::cli::Context;
use crate::cli::args::ChangedUrls;
use crate::cli::print::output;
use crate::cli::print::progress::ProgressLine;
use crate::cli::print::style::{self, count};
use crate::database::edit::Edit;
use crate::database::lookup::url_text;
use crate::exit::ExitCode;
use crate::run::{self, PromisedKeys, ServedPromise};
use crate::stop::{Stop, stop_on_signals};

/// Number of answers after which a batch is written.
const BATCH: usize = 500;

/// Time after which a batch is written, however small it is.
const LONGEST: Duration = Duration::from_secs(20);

/// The answers of a host that become promises, by path.
type Promises = BTreeMap<String, ServedPromise>;

/// The result of fetching URLs without a digest.
pub(super) struct FillResult {
    pub(super) exit: ExitCode,
    /// The URLs that got a digest.
    pub(super) promised: ChangedUrls,
    /// The written domain files.
    pub(super) written: BTreeSet<PathBuf>,
}

/// Fetches the URLs `lacking`, which have no digest. `exit` is the exit code of the import so far.
pub(super) fn fill(
    context: &Context,
    lacking: &[Url],
    exit: ExitCode,
) -> anyhow::Result<FillResult> {
    let stop = Stop::new();
    stop_on_signals(&stop)?;
    let mut batch = Batch::new(context);
    let refused = fetch(context, lacking, &stop, &mut batch)?;
    batch.write()?;
    if !context.quiet {
        let promised = count(batch.promised.len(), "URL");
        writeln!(
            output::stdout(),
            "{promised} of {} promised from what is served",
            lacking.len()
        )?;
    }
    let exit = if stop.is_set() {
        style::print_warning("interrupted; the same import goes on where this one ended");
        ExitCode::Interrupted
    } else if refused > 0 {
        ExitCode::Findings
    } else {
        exit
    };
    Ok(FillResult {
        exit,
        promised: batch.promised,
        written: batch.written,
    })
}

/// Fetches the URLs into batches, and writes each batch that is due. Returns the number of URLs that cannot
/// be promised; a warning names each.
fn fetch(
    context: &Context,
    lacking: &[Url],
    stop: &Stop,
    batch: &mut Batch<'_>,
) -> anyhow::Result<u64> {
    let keys = PromisedKeys {
        bytes: true,
        ..PromisedKeys::default()
    };
    let jobs = lacking
        .iter()
        .filter_map(|url| run::unpromised_job(url, &Record::default(), keys, &context.config));
    let mut outcome = Ok(());
    let mut refused = 0;
    let bar = ProgressLine::new(lacking.len() as u64, context.quiet);
    let fetched = run::fetch_served(&context.config, keys, stop, &bar, jobs, |judged, served| {
        match served {
            Ok(served) => batch.push(judged.job, served),
            Err(_) if stop.is_set() => {}
            Err(problem) => {
                refused += 1;
                let text = format!("{} has no digest: {problem}", judged.job.url);
                style::print_warning(sanitize(&text));
            }
        }
        if outcome.is_ok() && batch.is_due() {
            outcome = batch.write();
            if outcome.is_err() {
                stop.set();
            }
        }
    });
    bar.finish();
    fetched?;
    outcome?;
    Ok(refused)
}

/// Digests that are not written yet.
struct Batch<'a> {
    context: &'a Context,
    domains: BTreeMap<String, Promises>,
    size: usize,
    since: Instant,
    promised: ChangedUrls,
    /// The files that batches were written to.
    written: BTreeSet<PathBuf>,
}

impl<'a> Batch<'a> {
    fn new(context: &'a Context) -> Self {
        Self {
            context,
            domains: BTreeMap::new(),
            size: 0,
            since: Instant::now(),
            promised: ChangedUrls::default(),
            written: BTreeSet::new(),
        }
    }

    fn push(&mut self, job: Job, served: ServedPromise) {
        self.domains
            .entry(job.key.domain)
            .or_default()
            .insert(job.key.path, served);
        self.size += 1;
    }

    fn is_due(&self) -> bool {
        self.size >= BATCH || (self.size > 0 && self.since.elapsed() >= LONGEST)
    }

    /// Writes the digests into the records that still promise no bytes.
    fn write(&mut self) -> anyhow::Result<()> {
        let mut edit = Edit::begin(&self.context.database())?;
        for (domain, promises) in std::mem::take(&mut self.domains) {
            let mut file = DomainFile::read(self.context.domain_file(&domain))?.file;
            let mut changed = vec![];
            for entry in file.records().filter(|entry| !entry.record().is_static()) {
                let record = entry.record();
                let Some(served) = promises.get(&record.path) else {
                    continue;
                };
                if file.metadata().exact_identity_of(record) == RecordIdentity::get(&*record.path) {
                    let mut record = record.clone();
                    served.complete(&mut record);
                    changed.push(record);
                }
            }
            for record in &changed {
                let scheme = file.metadata().scheme_of(record);
                let url = || url_text(scheme, &domain, &record.path);
                self.promised.add(&domain, url);
            }
            if !changed.is_empty() {
                file.put_all(changed)?;
                edit.prepare(&file)?;
            }
        }
        self.written.extend(edit.commit()?);
        (self.size, self.since) = (0, Instant::now());
        Ok(())
    }
}
