//! `urldb archive index`.

use std::io::{self, Write};

use anyhow::Context as _;
use urldb_warc::FindingCode;
use urldb_warc::files::FileSource;
use urldb_warc::index::IndexRebuild;

use super::{Context, ExitCode, archive_files};
use crate::archive::{self, ArchiveFiles, Keys};
use crate::cli::print::facts::print_facts;
use crate::cli::print::output;
use crate::cli::print::style::{ReportFormat, count, print_warning};
use crate::cli::print::upload::upload_new_index_and_print;

/// Rebuild the index of the archive from its files
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb archive index")]
pub(super) struct Args {}

pub(super) fn run(_: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let _lock = context.lock_repository()?;
    let files = archive_files(context)?;
    if context.config.archive.stores.is_empty() {
        let lost = archive::files_that_were_here(&context.config)?;
        archive::note_missing(&context.config, &lost)?;
    }
    let made = rebuild_index(&files).inspect_err(|_| {
        if let Ok(facts) = archive::facts(&context.config, false) {
            print_facts(&facts);
        }
    })?;
    for error in &made.damaged {
        let advice = if error.needs_repair() {
            "`urldb archive repair` sets aside what is damaged"
        } else {
            "nothing is damaged: the file keeps such records, and lookups do not find them"
        };
        print_warning(format!("{error}; {advice}"));
    }
    let unread = files.unread()?;
    for name in &unread {
        let file = context.shown(&files.path_of(name));
        print_warning(format!(
            "{file}: not in the index: {}",
            FindingCode::FileKind.meaning()
        ));
    }
    if !context.quiet {
        writeln!(output::stdout(), "indexed {}", count(made.files, "file"))?;
    }
    let stored = upload_new_index_and_print(context, ReportFormat::Human)?;
    let found = if made.damaged.is_empty() && unread.is_empty() {
        ExitCode::Success
    } else {
        ExitCode::Findings
    };
    Ok(found.max(stored))
}

/// Makes the index of all files of the archive anew, wherever they are.
pub(super) fn rebuild_index(files: &ArchiveFiles) -> anyhow::Result<IndexRebuild> {
    let folder = files.folder();
    urldb_files::make_folder(folder)
        .with_context(|| format!("cannot make {}", folder.display()))?;
    let sources = files
        .with_records()?
        .into_iter()
        .map(|name| match files.whole(&name) {
            Ok(whole) => Ok((name, whole)),
            Err(error) => Err(io::Error::new(error.kind(), format!("{name}: {error}"))),
        });
    urldb_warc::index::rebuild_index_from(folder, &Keys, sources).context("cannot make the index")
}
