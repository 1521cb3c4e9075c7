//! `urldb rm`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::PathBuf;

use urldb_canon::{Scheme, authority, identify};
use urldb_format::{DomainFile, HELD_URIS, Record, RecordEntry, RecordIdentity};
use urldb_text::sanitize;
use urldb_verdict::Selection;

use super::Context;
use super::args::{
    ChangedArgs, ChangedUrls, PlannedCommit, SelectArgs, WriteArgs, find_records_for_edit,
    named_records,
};
use super::print::style;
use super::sync::ListedRecords;
use crate::cli::print::output;
use crate::database::edit::Edit;
use crate::database::lookup::url_text;
use crate::exit::ExitCode;

/// Remove URLs from the database
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb rm http://example.org/old.csv
  urldb rm -d example.org --path-prefix /v1/ --dry-run
  urldb rm -c deprecated --commit")]
pub(super) struct Args {
    #[command(flatten)]
    select: SelectArgs,
    #[command(flatten)]
    changed: ChangedArgs,
    #[command(flatten)]
    write: WriteArgs,
    /// URLs of the database
    #[arg(value_name = "URL")]
    urls: Vec<String>,
}

/// The paths to remove, by the host of the domain file.
type RemovedPaths = BTreeMap<String, BTreeSet<String>>;

pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    anyhow::ensure!(
        !(args.urls.is_empty() && args.select.is_everything() && args.changed.is_everything()),
        "nothing is selected: name URLs, or select records with --domain, --category, --path-prefix \
         or --changed-since"
    );
    let (commit, mut edit) = (args.write.begin(context)?, args.write.edit(context)?);
    // The lookup of all URLs comes before the first removal: a typo in one URL must change no file.
    let (selection, file) = match (selection(args, context), &commit) {
        (Err(error), Some(commit)) => {
            let typed = Selection {
                records: named_records(context, &args.urls)?,
                ..Selection::default()
            };
            let before = removed_before(&typed, commit, context)?;
            anyhow::ensure!(before.urls.len() >= args.urls.len() as u64, error);
            return finish(&before, Some(commit), context);
        }
        (found, _) => found?,
    };
    let (removed, urls) = remove(&selection, file, edit.as_mut(), context)?;
    if let (true, Some(commit)) = (urls.is_empty(), &commit) {
        let before = removed_before(&selection, commit, context)?;
        if !before.urls.is_empty() {
            return finish(&before, Some(commit), context);
        }
    }
    // A typo in an option must not look like a good result. Nothing changed is a good result.
    anyhow::ensure!(
        !urls.is_empty() || selection.changed.is_some(),
        "no record is selected; `urldb list` with the same options shows what there is"
    );
    let files = edit.map_or(Ok(vec![]), Edit::commit)?;
    if !context.quiet {
        print(&removed, args.write.dry_run, context)?;
        if removed.is_empty() {
            writeln!(output::stdout(), "no selected record has changed")?;
        }
    }
    finish(&Removal { files, urls }, commit.as_ref(), context)
}

/// Domain files, and the URLs that are removed from them.
struct Removal {
    files: Vec<PathBuf>,
    urls: ChangedUrls,
}

/// Commits the files.
fn finish(
    removal: &Removal,
    commit: Option<&PlannedCommit>,
    context: &Context,
) -> anyhow::Result<ExitCode> {
    if let Some(commit) = commit {
        let subject = || format!("Remove {}", removal.urls.phrase());
        commit.finish(&removal.files, subject, ExitCode::Success, context)?;
    }
    Ok(ExitCode::Success)
}

/// The selected records of the last commit, which an earlier call has removed without a commit.
fn removed_before(
    selection: &Selection,
    commit: &PlannedCommit,
    context: &Context,
) -> anyhow::Result<Removal> {
    let (mut files, mut urls) = (vec![], ChangedUrls::default());
    for path in context.config.open_database()?.all_files() {
        let host = urldb_format::host_of(path);
        if !selection.wants_domain(&host) {
            continue;
        }
        let Some(before) = commit.in_head(path)? else {
            continue;
        };
        for record in before
            .records()
            .map(RecordEntry::record)
            .filter(|record| selection.wants_record(&host, record))
        {
            let scheme = before.metadata().scheme_of(record);
            urls.add(&host, || url_text(scheme, &host, &record.path));
            files.push(path.to_owned());
        }
    }
    if !(urls.is_empty() || context.quiet) {
        writeln!(output::stdout(), "removed already: {}", urls.phrase())?;
    }
    Ok(Removal { files, urls })
}

/// Removes the selected records from their domain files, of which `read` may be one; without `edit`, only lists
/// them.
fn remove(
    selection: &Selection,
    mut read: Option<DomainFile>,
    mut edit: Option<&mut Edit>,
    context: &Context,
) -> anyhow::Result<(RemovedPaths, ChangedUrls)> {
    let (mut removed, mut urls) = (RemovedPaths::new(), ChangedUrls::default());
    for path in context.config.open_database()?.all_files() {
        let host = urldb_format::host_of(path);
        if !selection.wants_domain(&host) {
            continue;
        }
        let read = read.take_if(|file| file.host() == host);
        let mut file = match (read, selection.named_paths(&host)) {
            (Some(file), _) => file,
            (None, Some(paths)) => DomainFile::read_for_edit(path, paths)?,
            (None, None) => DomainFile::read(path)?.file,
        };
        // A URL may have a record for each of several requests.
        let selected: Vec<&Record> = file
            .records()
            .map(RecordEntry::record)
            .filter(|record| selection.wants_record(&host, record))
            .collect();
        let metadata = file.metadata();
        if let Some(record) = selected.iter().find(|record| !record.source.is_empty()) {
            let sentence = ListedRecords::new(context).sentence(&host, metadata, record);
            anyhow::bail!("{sentence}");
        }
        let schemes: BTreeMap<String, Scheme> = selected
            .iter()
            .map(|it| (it.path.clone(), metadata.scheme_of(it)))
            .collect();
        let identities: BTreeSet<RecordIdentity> = selected
            .iter()
            .map(|it| metadata.exact_identity_of(it))
            .collect();
        if identities.is_empty() {
            continue;
        }
        file.remove_all(&identities)?;
        if let Some(edit) = &mut edit {
            edit.prepare(&file)?;
        }
        for (path, scheme) in &schemes {
            urls.add(&host, || url_text(*scheme, &host, path));
        }
        removed.insert(host, schemes.into_keys().collect());
    }
    Ok((removed, urls))
}

/// The records that the arguments select, and their domain file if it was read.
///
/// # Errors
/// When a URL has no record, or is an alias: its record is about another URL too.
fn selection(args: &Args, context: &Context) -> anyhow::Result<(Selection, Option<DomainFile>)> {
    let (records, file) = find_records_for_edit(context, &args.urls)?;
    for (url, named) in args.urls.iter().zip(&records) {
        anyhow::ensure!(
            named.alias.is_none(),
            "{url} is an alias of {host}{path}, whose record is about both: \
             `urldb rm {scheme}://{host}{path}` removes it",
            host = authority(&named.domain),
            path = named.path,
            scheme = identify(url)?.scheme,
        );
    }
    let selection = Selection {
        records,
        changed: args.changed.records(context)?,
        ..args.select.resolve(context)?
    };
    Ok((selection, file))
}

fn print(removed: &RemovedPaths, dry_run: bool, context: &Context) -> io::Result<()> {
    let mut out = io::BufWriter::new(output::stdout());
    let done = if dry_run { "would remove" } else { "removed" };
    let done = style::paint(style::GOOD, done);
    for (host, paths) in removed {
        let file = context.shown(&context.domain_file(host));
        let host = if host == HELD_URIS {
            String::new()
        } else {
            authority(host)
        };
        for path in paths {
            writeln!(out, "{done} {host}{} from {file}", sanitize(path))?;
        }
    }
    out.flush()
}
