//! `--static`: what has no digest is fetched, and written as it comes. Whoever interrupts it runs the
//! import again: what has a digest by then is not fetched again.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use urldb_canon::Identity as Url;
use urldb_format::{DomainFile, Identity, Record};

use crate::cli::add::job;
use crate::cli::edit::Edit;
use crate::cli::progress::Bar;
use crate::cli::style::{self, count, plain};
use crate::cli::{Context, Exit};
use crate::fetch::{Fetcher, Next, Observation};
use crate::plan::{BodyUse, Job};
use crate::run::policy;
use crate::stop::{Stop, stop_on_signals};
use crate::verdict::{self, Judgement, Policy};

/// After so many answers they are written.
const BATCH: usize = 500;

/// After so long they are written, however few they are.
const LONGEST: Duration = Duration::from_secs(20);

/// Length and digest of a URL's bytes, by its path.
type Promises = BTreeMap<String, (u64, [u8; 32])>;

/// Fetches all URLs. `exit` is how the import without it ends.
pub(super) fn fill(context: &Context, lacking: &[Url], exit: Exit) -> anyhow::Result<Exit> {
    if lacking.is_empty() {
        return Ok(exit);
    }
    let check = &context.config.check;
    let policy = policy(check);
    let body = BodyUse::Hash {
        at_most: check.largest_body(),
        keep: false,
    };
    let stop = Stop::new();
    stop_on_signals(&stop)?;
    let get = Record::default();
    let bar = Bar::new(lacking.len() as u64, context.quiet);
    let mut batch = Batch::new(context);
    let mut outcome = Ok(());
    let mut refused = 0;
    Fetcher::new(check, &context.config.network)?.fetch_all(
        lacking.iter().map(|url| job(url, &get, body)),
        |job, seen| match verdict::judge(job, seen, &policy) {
            Judgement::Again { wait, fresh } => Next::Again { wait, fresh },
            Judgement::Settled(_) => Next::Done,
        },
        |job, seen| {
            bar.advance();
            match bytes(&job, &seen, &policy) {
                Ok(bytes) => batch.push(job, bytes),
                Err(_) if stop.is_set() => {}
                Err(problem) => {
                    refused += 1;
                    let problem = plain(&problem);
                    style::print_warning(format!("{} has no digest: {problem}", job.url));
                }
            }
            if outcome.is_ok() && batch.is_due() {
                outcome = batch.write();
                if outcome.is_err() {
                    stop.set();
                }
            }
        },
        &stop,
    );
    bar.finish();
    outcome?;
    batch.write()?;
    if !context.quiet {
        let promised = count(batch.written, "URL");
        anstream::println!(
            "{promised} of {} promised from what is served",
            lacking.len()
        );
    }
    if stop.is_set() {
        style::print_warning("interrupted; the same import goes on where this one ended");
        return Ok(Exit::Interrupted);
    }
    Ok(if refused > 0 { Exit::Findings } else { exit })
}

/// What is served, if it is good and came whole.
fn bytes(job: &Job, seen: &[Observation], policy: &Policy) -> Result<(u64, [u8; 32]), String> {
    match verdict::judge(job, seen, policy) {
        Judgement::Again { .. } => Err("interrupted".to_owned()),
        Judgement::Settled(it) if it.state().is_broken() || it.state().is_unsure() => {
            Err(it.sight.message())
        }
        Judgement::Settled(_) => {
            let body = seen.last().and_then(Observation::complete_body);
            let body = body.ok_or("its body did not arrive whole")?;
            Ok((body.length, body.sha256))
        }
    }
}

/// What was fetched and is not written yet.
struct Batch<'a> {
    context: &'a Context,
    domains: BTreeMap<String, Promises>,
    size: usize,
    since: Instant,
    written: u64,
}

impl<'a> Batch<'a> {
    fn new(context: &'a Context) -> Self {
        Self {
            context,
            domains: BTreeMap::new(),
            size: 0,
            since: Instant::now(),
            written: 0,
        }
    }

    fn push(&mut self, job: Job, bytes: (u64, [u8; 32])) {
        self.domains
            .entry(job.key.domain)
            .or_default()
            .insert(job.key.path, bytes);
        self.size += 1;
    }

    fn is_due(&self) -> bool {
        self.size >= BATCH || (self.size > 0 && self.since.elapsed() >= LONGEST)
    }

    /// Writes it into records that still promise no bytes; they may have changed meanwhile.
    fn write(&mut self) -> anyhow::Result<()> {
        let folder = self.context.database();
        let _edit = Edit::begin(&folder)?;
        for (domain, promises) in std::mem::take(&mut self.domains) {
            let mut file = DomainFile::read(folder.join(format!("{domain}.yaml")))?.file;
            let mut changed = vec![];
            for entry in file.records().filter(|entry| !entry.record().is_static()) {
                let record = entry.record();
                let Some((length, sha256)) = promises.get(&record.path) else {
                    continue;
                };
                if record.identity() == Identity::get(&*record.path) {
                    let mut record = record.clone();
                    record.content_length = Some(*length);
                    record.content_sha256 = Some(crate::hex::encode(sha256));
                    changed.push(record);
                }
            }
            self.written += changed.len() as u64;
            file.put_all(changed)?;
            file.write()?;
        }
        (self.size, self.since) = (0, Instant::now());
        Ok(())
    }
}
