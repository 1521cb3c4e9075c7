//! `urldb mv`.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::builder::{StringValueParser, TypedValueParser};
use urldb_canon::{authority, identify};
use urldb_files::is_there;
use urldb_format::{DomainFile, HELD_URIS, RecordEntry};
use urldb_text::sanitize;

use super::Context;
use super::args::{PlannedCommit, WriteArgs};
use super::print::style::{self, count};
use super::sync::ListedRecords;
use crate::cli::print::output;
use crate::exit::ExitCode;

/// Move the promises of a domain to its new name
///
/// The records, with their comments, go into the file of the new host. The next run takes over what the
/// ledger knows of URLs that were as promised, so their captures become revisits; incidents of the old
/// host end.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb mv old.example.org new.example.org
  urldb mv old.example.org new.example.org --keep-alias    check the old name too
  urldb mv old.example.org new.example.org --redirects --commit")]
pub(super) struct Args {
    /// The host whose domain file moves
    #[arg(value_name = "OLD", value_parser = domain_name())]
    old: String,
    /// Its new name
    #[arg(value_name = "NEW", value_parser = domain_name())]
    new: String,
    /// Make the old name a cname of the new one: runs check its URLs too
    #[arg(long)]
    keep_alias: bool,
    /// Also change the records whose `redirects-to` is a URL of the old host
    #[arg(long)]
    redirects: bool,
    #[command(flatten)]
    write: WriteArgs,
}

/// The name of the domain file of a host; a port may be written as in a URL.
fn domain_name() -> impl TypedValueParser<Value = String> {
    StringValueParser::new().map(|host| host.replace(':', "+"))
}

pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let (commit, edit) = (args.write.begin(context)?, args.write.edit(context)?);
    if let Some(commit) = &commit
        && let Some(moved) = moved_already(args, commit, context)?
    {
        if !context.quiet {
            print("moved already:", args, &moved, &[], context)?;
        }
        let files = vec![context.domain_file(&args.old), moved.path().to_owned()];
        return finish(args, commit, files, context);
    }
    let moved = moved_file(args, context)?;
    let redirecting = if args.redirects {
        redirecting_files(args, &moved, context)?
    } else {
        vec![]
    };
    let mut written: Vec<PathBuf> = vec![];
    if let Some(mut edit) = edit {
        for file in redirecting.iter().map(|(file, _)| file).chain([&moved]) {
            edit.prepare(file)?;
        }
        // If the program ends before this, both files have the records, and the same command goes on.
        edit.remove(context.domain_file(&args.old))?;
        written = edit.commit()?;
    }
    if !context.quiet {
        let done = if args.write.dry_run {
            "would move"
        } else {
            "moved"
        };
        print(done, args, &moved, &redirecting, context)?;
    }
    match &commit {
        Some(commit) => finish(args, commit, written, context),
        None => Ok(ExitCode::Success),
    }
}

/// Commits the files, and those with redirects, which an earlier call may have changed.
fn finish(
    args: &Args,
    commit: &PlannedCommit,
    mut files: Vec<PathBuf>,
    context: &Context,
) -> anyhow::Result<ExitCode> {
    if args.redirects {
        for path in context.config.open_database()?.files() {
            let file = DomainFile::read(path)?.file;
            let mut records = file.records().map(RecordEntry::record);
            let leads_there = |target: &String| with_host(target, &args.new, "").is_some();
            if records.any(|record| record.redirects_to.as_ref().is_some_and(leads_there)) {
                files.push(path.to_owned());
            }
        }
    }
    let subject = || format!("Move {} to {}", args.old, args.new);
    commit.finish(&files, subject, ExitCode::Success, context)?;
    Ok(ExitCode::Success)
}

/// The file of the new host, if an earlier call has moved it: the last commit has only the file of the old host.
fn moved_already(
    args: &Args,
    commit: &PlannedCommit,
    context: &Context,
) -> anyhow::Result<Option<DomainFile>> {
    let [source, target] = [&args.old, &args.new].map(|host| context.domain_file(host));
    if is_there(&source) || !is_there(&target) {
        return Ok(None);
    }
    let (Some(_), None) = (commit.in_head(&source)?, commit.in_head(&target)?) else {
        return Ok(None);
    };
    Ok(Some(DomainFile::read(&target)?.file))
}

/// The file of the new host, not yet written.
fn moved_file(args: &Args, context: &Context) -> anyhow::Result<DomainFile> {
    let Args { old, new, .. } = args;
    let (source, target) = (context.domain_file(old), context.domain_file(new));
    let database = context.config.open_database()?;
    anyhow::ensure!(
        database.path_of(new).is_some() && new != old && new != HELD_URIS && old != HELD_URIS,
        "{:?} is no name of another host: write it in lower case, without scheme and path",
        authority(new)
    );
    let is_there = |host: &str| {
        database
            .files()
            .iter()
            .any(|file| urldb_format::host_of(file) == host)
    };
    anyhow::ensure!(
        is_there(old),
        "{} does not exist; `urldb list` shows the domains",
        context.shown(&source)
    );
    let bytes = DomainFile::read_bytes(&source)?;
    let mut moved = DomainFile::parse(&target, &bytes).file;
    if let Some(finding) = moved.blocking_findings().first() {
        anyhow::bail!(
            "{}, line {}: {}: correct it first",
            context.shown(&source),
            finding.line,
            finding.message
        );
    }
    if let Some(record) = moved
        .records()
        .map(RecordEntry::record)
        .find(|record| !record.source.is_empty())
    {
        anyhow::bail!(
            "{}",
            ListedRecords::new(context).sentence(old, moved.metadata(), record)
        );
    }
    moved.update_metadata(|metadata| {
        metadata.cnames.retain(|cname| cname != new);
        if args.keep_alias && !metadata.cnames.contains(old) {
            metadata.cnames.push(old.clone());
        }
    })?;
    if args.redirects {
        redirect(&mut moved, args)?;
    }
    let is_unfinished =
        || DomainFile::read_bytes(&target).is_ok_and(|known| known == moved.text().into_bytes());
    anyhow::ensure!(
        !is_there(new) || is_unfinished(),
        "{} exists: move or remove its records first",
        context.shown(&target)
    );
    Ok(moved)
}

/// The other files with redirects to the old host, not yet written, and the number of these records.
fn redirecting_files(
    args: &Args,
    moved: &DomainFile,
    context: &Context,
) -> anyhow::Result<Vec<(DomainFile, usize)>> {
    let mut changed = vec![];
    for path in context.config.open_database()?.files() {
        let host = urldb_format::host_of(path);
        if host == args.old || host == moved.host() {
            continue;
        }
        let mut file = DomainFile::read(path)?.file;
        let records = redirect(&mut file, args)?;
        if records > 0 {
            changed.push((file, records));
        }
    }
    Ok(changed)
}

/// Lets the redirects of a file that lead to the old host lead to the new one. Returns their number.
fn redirect(file: &mut DomainFile, args: &Args) -> anyhow::Result<usize> {
    let metadata = file.metadata().clone();
    let changes: Vec<_> = file
        .records()
        .filter_map(|entry| {
            let record = entry.record();
            let target = with_host(record.redirects_to.as_deref()?, &args.old, &args.new)?;
            Some((metadata.exact_identity_of(record), target))
        })
        .collect();
    for (identity, target) in &changes {
        file.update(identity, |record| {
            record.redirects_to = Some(target.clone());
        })?;
    }
    Ok(changes.len())
}

/// The URL at the host and port `new`, if its host and port are `old`.
fn with_host(url: &str, old: &str, new: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (host, rest) = rest.split_at(end);
    identify(&format!("{scheme}://{host}"))
        .is_ok_and(|it| it.host == old)
        .then(|| format!("{scheme}://{}{rest}", authority(new)))
}

fn print(
    done: &str,
    args: &Args,
    moved: &DomainFile,
    redirecting: &[(DomainFile, usize)],
    context: &Context,
) -> io::Result<()> {
    let mut out = output::stdout();
    let records = count(moved.records().count() as u64, "record");
    let file = context.shown(moved.path());
    let done = style::paint(style::GOOD, done);
    writeln!(
        out,
        "{done} {records} of {} to {file}",
        sanitize(&authority(&args.old))
    )?;
    for (file, records) in redirecting {
        let records = count(*records as u64, "redirect");
        writeln!(
            out,
            "{}: {records} to {}",
            context.shown(file.path()),
            sanitize(&authority(&args.new))
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::with_host;

    #[test]
    fn only_the_host_of_a_url_is_replaced() {
        for (url, expected) in [
            (
                "http://old.test/a?b=http://old.test/",
                Some("http://new.test/a?b=http://old.test/"),
            ),
            ("https://OLD.test", Some("https://new.test")),
            ("https://old.test:8443/", None),
            ("http://old.test.example/", None),
            ("http://www.old.test/", None),
            ("/a", None),
        ] {
            assert_eq!(
                with_host(url, "old.test", "new.test").as_deref(),
                expected,
                "{url}"
            );
        }
    }
}
