//! `urldb archive export --warc`.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::Context as _;
use urldb_files::Root;
use urldb_warc::convert::ConvertError;
use urldb_warc::files::{ARCHIVE_SUFFIX, FileSource, READ_SUFFIXES};
use urldb_warc::writer::WriteOptions;
use urldb_warc::{Compression, FindingCode, Reader, Version, Writer};

use super::{Context, ExitCode};
use crate::archive::Keys;
use crate::cli::archive::archive_files;
use crate::cli::print::output;
use crate::cli::print::progress::ProgressLine;
use crate::cli::print::style::{count, print_error, print_warning};
use crate::explain::explain;

/// Copies each file of the archive record by record, and makes an index of the copies.
pub(super) fn run(target: &Path, version: Version, context: &Context) -> anyhow::Result<ExitCode> {
    let files = archive_files(context)?;
    let folder = context.directory.join(target);
    let known = Root::new(&folder, "the copy").files();
    anyhow::ensure!(
        known.is_ok_and(|files| files.is_empty()) && !is_same(files.folder(), &folder),
        "{} is there already, and not an empty folder: name a new one",
        target.display()
    );
    urldb_files::make_folder(&folder)
        .with_context(|| format!("cannot make {}", target.display()))?;
    let options = WriteOptions {
        version,
        skip_lengths: context.config.archive.skip_lengths,
    };
    let names = files.with_records()?;
    let bar = ProgressLine::new(names.len() as u64, context.quiet);
    let (mut copied, mut records, mut left_out) = (0, 0, vec![]);
    for name in &names {
        let whole = files.whole(name).map_err(anyhow::Error::new);
        let copy = folder.join(name_of_copy(&files.path_of(name)));
        match whole.and_then(|whole| write_copy(whole.as_ref(), &copy, options)) {
            Ok(number) => {
                copied += 1;
                records += number;
            }
            Err(error) if is_finding(&error) => left_out.push((name.clone(), advised(&error))),
            Err(error) => {
                let file = context.shown(&files.path_of(name));
                return Err(error.context(format!("{file} is not exported")));
            }
        }
        bar.advance();
    }
    bar.finish();
    let made = urldb_warc::index::rebuild_index(&folder, &Keys).context("cannot make the index")?;
    for error in &made.damaged {
        print_warning(error);
    }
    let unread = files.unread()?.into_iter();
    left_out.extend(unread.map(|name| (name, FindingCode::FileKind.meaning().to_owned())));
    for (name, why) in &left_out {
        let file = context.shown(&files.path_of(name));
        print_error(&anyhow::anyhow!("{file} is left out: {why}"));
    }
    if !context.quiet {
        let (copied, records) = (count(copied, "file"), count(records, "record"));
        let target = target.display();
        writeln!(
            output::stdout(),
            "exported {copied} with {records}, to {target}"
        )?;
    }
    Ok(if left_out.is_empty() && made.damaged.is_empty() {
        ExitCode::Success
    } else {
        ExitCode::Findings
    })
}

/// Whether both are one folder: the one of an archive in a store may be empty.
fn is_same(one: &Path, other: &Path) -> bool {
    let real = [one, other].map(urldb_files::real_path);
    matches!(real, [Ok(one), Ok(other)] if one == other)
}

/// Writes a copy of one file, and returns the number of its records.
fn write_copy(file: &Path, copy: &Path, options: WriteOptions) -> anyhow::Result<u64> {
    let mut records = 0;
    urldb_files::write_new_atomically_with(copy, |output| {
        records = write(file, output, options)?;
        anyhow::Ok(())
    })?;
    Ok(records)
}

fn write(file: &Path, output: &mut File, options: WriteOptions) -> anyhow::Result<u64> {
    let writer =
        Writer::new(BufWriter::new(output), Compression::Gzip).with_version(options.version);
    if options.skip_lengths {
        write_records(file, writer.with_skip_lengths())
    } else {
        write_records(file, writer)
    }
}

fn write_records(file: &Path, mut writer: Writer<impl Write>) -> anyhow::Result<u64> {
    let mut reader = Reader::open(file)?;
    let records = urldb_warc::convert::convert(&mut reader, &mut writer)?;
    writer.get_mut().flush().context("it cannot be written")?;
    Ok(records)
}

/// Whether the error is about this file only, so that others can still be copied.
fn is_finding(error: &anyhow::Error) -> bool {
    let is_taken = |error: &io::Error| error.kind() == io::ErrorKind::AlreadyExists;
    matches!(error.downcast_ref(), Some(ConvertError::Read(fault)) if fault.is_damage())
        || error.downcast_ref().is_some_and(is_taken)
}

/// The error of a file, with advice about damage.
fn advised(error: &anyhow::Error) -> String {
    let advice = if error.is::<ConvertError>() {
        "; `urldb archive repair` sets aside what is damaged"
    } else {
        ""
    };
    format!("{}{advice}", explain(error))
}

/// All copies are gzipped WARC files, whatever the originals are.
fn name_of_copy(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let stem = READ_SUFFIXES.iter().find_map(|end| name.strip_suffix(end));
    format!("{}{ARCHIVE_SUFFIX}", stem.unwrap_or(&name))
}
