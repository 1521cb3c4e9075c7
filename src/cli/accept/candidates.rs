//! The question whether answers become promises, and the writing of these: of records that lists own, with the lists,
//! since `urldb sync` would undo an acceptance in the database alone.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use urldb_format::{DomainFile, Mapping, Record, RecordIdentity};
use urldb_protocol::JobResult;
use urldb_text::sanitize;

use super::answer::{renew, show_both};
use super::counts::AcceptCounts;
use crate::cli::Context;
use crate::cli::args::ChangedUrls;
use crate::cli::print::output;
use crate::cli::print::style::{self, BAD, GOOD, count, paint};
use crate::cli::sync::ensure_committed;
use crate::database::edit::Edit;
use crate::stop::Stop;
use crate::sync::{AcceptedRecord, RecordEdits, ValueEdit, changed_lines, edits_of, write_edited};

/// An answer that may become the promise of a record.
pub(super) struct Candidate {
    result: JobResult,
    identity: RecordIdentity,
    record: AcceptedRecord,
    /// None for a record that people wrote.
    edits: RecordEdits,
}

/// The way in which a command accepts.
#[derive(Debug, Clone, Copy)]
pub(super) struct AcceptOptions<'a> {
    /// Without asking.
    pub(super) yes: bool,
    /// Without writing.
    pub(super) is_dry: bool,
    /// The written files become a commit.
    pub(super) is_committed: bool,
    /// Ends the reading of lists.
    pub(super) stop: &'a Stop,
}

/// The result of an acceptance.
#[derive(Default)]
pub(super) struct Accepted {
    /// The written files.
    pub(super) written: Vec<PathBuf>,
    /// The URLs, each with the host of its domain file.
    pub(super) urls: BTreeMap<String, String>,
}

impl Accepted {
    /// The URLs, for the subject of a commit.
    pub(super) fn changed(&self) -> ChangedUrls {
        let mut changed = ChangedUrls::default();
        for (url, host) in &self.urls {
            changed.add(host, || url.clone());
        }
        changed
    }
}

/// Shows the old and the new promise of each record and the edits of lists, and asks once; then writes all at once.
pub(super) fn accept(
    acceptable: Vec<(JobResult, RecordIdentity)>,
    how: AcceptOptions<'_>,
    context: &Context,
    counts: &mut AcceptCounts,
) -> anyhow::Result<Accepted> {
    let mut chosen = vec![];
    // Without an archive, no difference is shown.
    let archive = context.catalogue().ok();
    for candidate in candidates(acceptable, how.stop, context)? {
        let Candidate { result, edits, .. } = &candidate;
        for reason in &edits.refused {
            style::print_warning(sanitize(&format!("{}: {reason}", result.name())));
        }
        if !edits.refused.is_empty() {
            counts.refused += 1;
            continue;
        }
        if !how.yes || !context.quiet {
            show_both(result, archive.as_ref())?;
            show_edits(edits)?;
        }
        chosen.push(candidate);
    }
    let mut accepted = Accepted::default();
    if chosen.is_empty() || how.stop.is_set() {
        return Ok(accepted);
    }
    let number = chosen.len() as u64;
    let question = format!("accept {}?", count(number, "URL"));
    if !how.yes && !how.is_dry && !output::is_wanted(&question)? {
        counts.declined += number;
        return Ok(accepted);
    }
    counts.accepted += number;
    if how.is_dry {
        return Ok(accepted);
    }
    accepted.written = write(&chosen, how, context)?;
    for Candidate { result, record, .. } in chosen {
        if !context.quiet {
            let done = paint(GOOD, "accepted");
            writeln!(output::stdout(), "{done} {}", sanitize(&result.name()))?;
        }
        accepted.urls.insert(result.url, record.domain);
    }
    Ok(accepted)
}

/// The answers with the records that they renew, and the edits of lists.
fn candidates(
    acceptable: Vec<(JobResult, RecordIdentity)>,
    stop: &Stop,
    context: &Context,
) -> anyhow::Result<Vec<Candidate>> {
    let mut records = vec![];
    for (result, identity) in &acceptable {
        let domain = urldb_format::host_of(Path::new(&result.file));
        let path = context.domain_file(&domain);
        let file = DomainFile::read_for_edit(path, &*identity.path..=&*identity.path)?;
        let before = file
            .get(identity)
            .map(|entry| entry.record().clone())
            .with_context(|| format!("{} has no record any more", result.url))?;
        let mut after = before.clone();
        renew(&mut after, result);
        records.push(AcceptedRecord {
            domain,
            metadata: file.metadata().clone(),
            before,
            after,
        });
    }
    let mut sources = records.iter().flat_map(|it| &it.before.source);
    let edits = if sources.next().is_none() || context.config.sources.is_empty() {
        records.iter().map(|_| RecordEdits::default()).collect()
    } else {
        edits_of(&context.config, &records, stop)?
    };
    Ok(acceptable
        .into_iter()
        .zip(records)
        .zip(edits)
        .map(|(((result, identity), record), edits)| Candidate {
            result,
            identity,
            record,
            edits,
        })
        .collect())
}

/// Prints the lines of lists that change, and the number of other URLs that they promise.
fn show_edits(edits: &RecordEdits) -> anyhow::Result<()> {
    let mut out = output::stdout();
    for line in changed_lines(&edits.values)? {
        let arrow = paint(style::DIM, "-->");
        writeln!(out, "  {arrow} {}:{}", sanitize(&line.file), line.line)?;
        for (style, sign, text) in [(BAD, '-', &line.old), (GOOD, '+', &line.new)] {
            let text = format!("{sign} {}", sanitize(text));
            writeln!(out, "    {}", paint(style, text))?;
        }
    }
    let urls: BTreeSet<&str> = edits.sharing.iter().map(|it| &*it.url).collect();
    match urls.len() {
        0 => Ok(()),
        1 => writeln!(out, "  also the promise of 1 other URL"),
        more => writeln!(out, "  also the promise of {more} other URLs"),
    }
    .map_err(io::Error::into)
}

/// Writes the lists, and then the domain files.
fn write(
    chosen: &[Candidate],
    how: AcceptOptions<'_>,
    context: &Context,
) -> anyhow::Result<Vec<PathBuf>> {
    let mut edit = Edit::begin(&context.database())?;
    let values: BTreeSet<&ValueEdit> = chosen.iter().flat_map(|it| &it.edits.values).collect();
    let values: Vec<&ValueEdit> = values.into_iter().collect();
    if how.is_committed && !values.is_empty() {
        let lists = values.iter().map(|value| value.path.clone());
        ensure_committed(&lists.collect(), context)?;
    }
    for of_file in values.chunk_by(|one, other| one.path == other.path) {
        edit.prepare_list(&of_file[0].path, |out| write_edited(of_file, out))?;
    }
    let mut files = files_of(chosen, context)?;
    for candidate in chosen {
        if let Some(own) = files.get_mut(&*candidate.record.domain) {
            own.update(&candidate.identity, |it| renew(it, &candidate.result))?;
        }
        for sharing in &candidate.edits.sharing {
            let Some(file) = files.get_mut(&*sharing.domain) else {
                continue;
            };
            let identity = file.metadata().identity_of(&sharing.stated);
            if file.get(&identity).is_some() {
                let after = &candidate.record.after;
                file.update(&identity, |it| take_over(it, after, &sharing.keys))?;
            }
        }
    }
    for file in files.values() {
        edit.prepare(file)?;
    }
    edit.commit()
}

/// The domain files of the records, by host: of a large one, only the part that changes.
fn files_of<'a>(
    chosen: &'a [Candidate],
    context: &Context,
) -> anyhow::Result<BTreeMap<&'a str, DomainFile>> {
    let mut paths: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for candidate in chosen {
        paths
            .entry(&candidate.record.domain)
            .or_default()
            .insert(&candidate.identity.path);
    }
    let mut files = BTreeMap::new();
    for (domain, paths) in paths {
        if let (Some(first), Some(last)) = (paths.first(), paths.last()) {
            let path = context.domain_file(domain);
            files.insert(domain, DomainFile::read_for_edit(path, *first..=*last)?);
        }
    }
    // A list may spell the path of such a record in another way.
    let domains: BTreeSet<&str> = chosen
        .iter()
        .flat_map(|it| &it.edits.sharing)
        .map(|it| &*it.domain)
        .collect();
    for domain in domains {
        let file = DomainFile::read(context.domain_file(domain))?.file;
        files.insert(domain, file);
    }
    Ok(files)
}

/// Gives a record the values of some keys of another.
fn take_over(record: &mut Record, from: &Record, keys: &BTreeSet<&'static str>) {
    let new = from.to_mapping();
    let mapping = record.to_mapping().into_iter().map(|(key, value)| {
        let value = keys
            .contains(&*key)
            .then(|| new.get(&key))
            .flatten()
            .cloned()
            .unwrap_or(value);
        (key, value)
    });
    if let Some(changed) = Record::from_mapping(mapping.collect::<Mapping>()) {
        *record = changed;
    }
}
