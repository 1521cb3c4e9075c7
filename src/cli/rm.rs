//! `urldb rm`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use urldb_canon::{Identity, Scheme, identify, kind_of_held};
use urldb_format::{DomainFile, HELD_URIS, Record, RecordEntry, RecordIdentity};
use urldb_text::sanitize;
use urldb_verdict::{NamedRecord, Selection};

use super::Context;
use super::args::{
    ChangedArgs, ChangedUrls, CommitArgs, SelectArgs, UncommittedRecords, find_records_for_edit,
    uncommitted_records,
};
use super::print::style;
use super::sync::ListedRecords;
use crate::cli::print::output;
use crate::database::aliases::Aliases;
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
    /// Show what would be removed; write nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    #[command(flatten)]
    commit: CommitArgs,
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
    let (commit, mut edit) = if args.dry_run {
        (None, None)
    } else {
        let commit = args.commit.begin(&context.database())?;
        (commit, Some(Edit::begin(&context.database())?))
    };
    let mut gone = uncommitted_records(commit.as_ref(), context)?;
    gone.retain(|_, record| record.now.is_none());
    // The lookup of all URLs comes before the first removal: a typo in one URL must change no file.
    let (selection, file) = selection(args, &gone, context)?;
    let (removed, mut urls) = remove(&selection, file, edit.as_mut(), context)?;
    gone.retain(|(host, _), gone| {
        let mut before = gone.before.iter();
        selection.wants_domain(host) && before.any(|it| selection.wants_record(host, it))
    });
    for ((host, identity), gone) in &gone {
        urls.add(host, || url_text(gone.scheme, host, &identity.path));
    }
    // A typo in an option must not look like a good result. Nothing changed is a good result.
    anyhow::ensure!(
        !urls.is_empty() || selection.changed.is_some(),
        "no record is selected; `urldb list` with the same options shows what there is"
    );
    let mut written = match edit {
        Some(edit) => edit.commit()?,
        None => vec![],
    };
    if !context.quiet {
        print(&removed, args.dry_run, context)?;
        if removed.is_empty() && !urls.is_empty() {
            writeln!(output::stdout(), "removed already: {}", urls.phrase())?;
        } else if removed.is_empty() {
            writeln!(output::stdout(), "no selected record has changed")?;
        }
    }
    written.extend(gone.into_values().map(|gone| gone.file));
    if let Some(commit) = commit {
        let subject = || format!("Remove {}", urls.phrase());
        commit.finish(&written, subject, ExitCode::Success, context)?;
    }
    Ok(ExitCode::Success)
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
        let records = file.records().map(RecordEntry::record);
        // A URL may have a record for each of several requests.
        let selected = records.filter(|record| selection.wants_record(&host, record));
        let selected: Vec<&Record> = selected.collect();
        let metadata = file.metadata();
        if let Some(record) = selected.iter().find(|record| !record.source.is_empty()) {
            let sentence = ListedRecords::new(context).sentence(&host, metadata, record);
            anyhow::bail!("{sentence}");
        }
        let schemes = selected
            .iter()
            .map(|it| (it.path.clone(), metadata.scheme_of(it)));
        let schemes: BTreeMap<String, Scheme> = schemes.collect();
        let identities = selected.iter().map(|it| metadata.exact_identity_of(it));
        let identities: BTreeSet<RecordIdentity> = identities.collect();
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
/// When a URL has no record, nor one that waits for its removal to be committed, or is an alias: its
/// record is about another URL too.
fn selection(
    args: &Args,
    gone: &UncommittedRecords,
    context: &Context,
) -> anyhow::Result<(Selection, Option<DomainFile>)> {
    let (mut urls, mut removed) = (args.urls.clone(), vec![]);
    let (mut records, file) = match find_records_for_edit(context, &urls) {
        Err(_) if !gone.is_empty() => {
            let mut present = vec![];
            for url in urls {
                match removed_record(&url, gone, context)? {
                    Some(named) => removed.push(named),
                    None => present.push(url),
                }
            }
            urls = present;
            (find_records_for_edit(context, &urls)?.0, None)
        }
        found => found?,
    };
    for (url, named) in urls.iter().zip(&records) {
        anyhow::ensure!(
            named.alias.is_none(),
            "{url} is an alias of {host}{path}, whose record is about both: \
             `urldb rm {scheme}://{host}{path}` removes it",
            host = named.domain,
            path = named.path,
            scheme = urldb_canon::identify(url)?.scheme,
        );
    }
    records.append(&mut removed);
    let selection = Selection {
        records,
        changed: args.changed.records(context)?,
        ..args.select.resolve(context)?
    };
    Ok((selection, file))
}

/// The record of a URL that only the last commit has.
fn removed_record(
    url: &str,
    gone: &UncommittedRecords,
    context: &Context,
) -> anyhow::Result<Option<NamedRecord>> {
    let (domain, path) = match identify(url) {
        Ok(Identity { host, path, .. }) => {
            let aliases = Aliases::load_readable(&context.config)?;
            (aliases.primary_host(&host), path)
        }
        Err(_) if kind_of_held(url).is_some() => (HELD_URIS.to_owned(), url.to_owned()),
        Err(_) => return Ok(None),
    };
    let mut gone = gone.keys();
    let is_gone = gone.any(|(host, identity)| *host == domain && identity.path == path);
    let alias = None;
    Ok(is_gone.then_some(NamedRecord {
        domain,
        path,
        alias,
    }))
}

fn print(removed: &RemovedPaths, dry_run: bool, context: &Context) -> io::Result<()> {
    let mut out = io::BufWriter::new(output::stdout());
    let done = if dry_run { "would remove" } else { "removed" };
    let done = style::paint(style::GOOD, done);
    for (host, paths) in removed {
        let file = context.shown(&context.domain_file(host));
        let host = if host == HELD_URIS { "" } else { host };
        for path in paths {
            writeln!(out, "{done} {host}{} from {file}", sanitize(path))?;
        }
    }
    out.flush()
}
