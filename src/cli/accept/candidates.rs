//! Accepted records of lists: the lists are edited with the database, since `urldb sync` would undo an acceptance in the
//! database alone.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::PathBuf;

use urldb_format::{DomainFile, Mapping, Record};
use urldb_protocol::JobResult;
use urldb_text::sanitize;

use super::answer::{renew, show_both};
use super::counts::AcceptCounts;
use crate::cli::Context;
use crate::cli::args::ChangedUrls;
use crate::cli::print::output;
use crate::cli::print::style::{self, BAD, GOOD, paint};
use crate::cli::sync::ensure_committed;
use crate::database::edit::Edit;
use crate::stop::Stop;
use crate::sync::{AcceptedRecord, RecordEdits, ValueEdit, changed_lines, edits_of, write_edited};

/// An answer that becomes the promise of a record of lists.
pub(super) struct ListedResult {
    pub(super) result: JobResult,
    pub(super) record: AcceptedRecord,
}

/// The way in which a command accepts.
#[derive(Debug, Clone, Copy)]
pub(super) struct ListedOptions<'a> {
    /// Without asking.
    pub(super) yes: bool,
    /// The written files become a commit.
    pub(super) is_committed: bool,
    /// Ends the reading of lists.
    pub(super) stop: &'a Stop,
}

/// Shows the edits of each record and asks; then writes all of them at once. Returns the written files.
pub(super) fn accept(
    listed: Vec<ListedResult>,
    how: ListedOptions<'_>,
    context: &Context,
    counts: &mut AcceptCounts,
    changed: &mut ChangedUrls,
) -> anyhow::Result<Vec<PathBuf>> {
    let (results, records): (Vec<JobResult>, Vec<AcceptedRecord>) =
        listed.into_iter().map(|it| (it.result, it.record)).unzip();
    let edits = edits_of(&context.config, &records, how.stop)?;
    let mut chosen = vec![];
    for ((result, record), edits) in results.iter().zip(records).zip(edits) {
        if !edits.refused.is_empty() {
            for reason in &edits.refused {
                style::print_warning(sanitize(&format!("{}: {reason}", result.name())));
            }
            counts.refused += 1;
            continue;
        }
        if !how.yes || !context.quiet {
            show_both(result)?;
            show_edits(&edits)?;
        }
        if how.yes || output::is_wanted("accept?")? {
            changed.add(&record.domain, || result.url.clone());
            counts.accepted += 1;
            chosen.push((result, record, edits));
        } else {
            counts.declined += 1;
        }
    }
    let written = write(&chosen, how, context)?;
    if !context.quiet {
        for (result, ..) in &chosen {
            let accepted = paint(GOOD, "accepted");
            writeln!(output::stdout(), "{accepted} {}", sanitize(&result.name()))?;
        }
    }
    Ok(written)
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

type Chosen<'a> = (&'a JobResult, AcceptedRecord, RecordEdits);

/// Writes the lists, and then the domain files.
fn write(
    chosen: &[Chosen<'_>],
    how: ListedOptions<'_>,
    context: &Context,
) -> anyhow::Result<Vec<PathBuf>> {
    let mut edit = Edit::begin(&context.database())?;
    let values = chosen.iter().flat_map(|(_, _, edits)| &edits.values);
    let values: BTreeSet<&ValueEdit> = values.collect();
    let values: Vec<&ValueEdit> = values.into_iter().collect();
    if how.is_committed {
        let lists = values.iter().map(|value| value.path.clone());
        ensure_committed(&lists.collect(), context)?;
    }
    for of_file in values.chunk_by(|one, other| one.path == other.path) {
        edit.prepare_list(&of_file[0].path, |out| write_edited(of_file, out))?;
    }
    let mut files: BTreeMap<&str, DomainFile> = BTreeMap::new();
    for (result, record, edits) in chosen {
        let own = renewed(&record.domain, &mut files, context)?;
        let identity = record.metadata.identity_of(&record.before);
        own.update(&identity, |record| renew(record, result))?;
        for sharing in &edits.sharing {
            let file = renewed(&sharing.domain, &mut files, context)?;
            let identity = file.metadata().identity_of(&sharing.stated);
            if file.get(&identity).is_some() {
                file.update(&identity, |it| take_over(it, &record.after, &sharing.keys))?;
            }
        }
    }
    for file in files.values() {
        edit.prepare(file)?;
    }
    edit.commit()
}

/// The domain file with the changes so far.
fn renewed<'a, 'b>(
    domain: &'b str,
    files: &'a mut BTreeMap<&'b str, DomainFile>,
    context: &Context,
) -> anyhow::Result<&'a mut DomainFile> {
    match files.entry(domain) {
        Entry::Occupied(known) => Ok(known.into_mut()),
        Entry::Vacant(place) => {
            let file = DomainFile::read(context.domain_file(domain))?.file;
            Ok(place.insert(file))
        }
    }
}

/// Gives a record the values of some keys of another.
fn take_over(record: &mut Record, from: &Record, keys: &BTreeSet<&'static str>) {
    let new = from.to_mapping();
    let mapping = record.to_mapping().into_iter().map(|(key, value)| {
        let shared = keys.contains(&*key).then(|| new.get(&key)).flatten();
        let value = shared.cloned().unwrap_or(value);
        (key, value)
    });
    if let Some(changed) = Record::from_mapping(mapping.collect::<Mapping>()) {
        *record = changed;
    }
}
