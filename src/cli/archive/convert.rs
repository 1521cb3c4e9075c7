//! `urldb archive convert`.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::ValueEnum;
use serde::Serialize;
use urldb_files::PendingWrite;
use urldb_warc::convert::ConvertError;
use urldb_warc::files::{ARCHIVE_SUFFIX, FileSource, READ_SUFFIXES};
use urldb_warc::writer::WriteOptions;
use urldb_warc::{Compression, FindingCode, Reader, Version, Writer};

use super::{Context, ExitCode, archive_files};
use crate::archive::Keys;
use crate::cli::print::output;
use crate::cli::print::progress::ProgressLine;
use crate::cli::print::style::{ListFormat, count, print_error, print_warning};
use crate::database::edit::Edit;
use crate::explain::explain;

/// Write the archive in another version of WARC, into another folder
///
/// Converts each file record by record, and makes an index of the copy. A
/// damaged file is left out, and the exit code is then 1. An interrupted
/// conversion continues when it is started again.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb archive convert --to 1.0 -o archive-1.0")]
pub(super) struct Args {
    /// The version to write
    #[arg(long, value_name = "VERSION")]
    to: TargetVersion,
    /// Folder for the copy (created if missing)
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Output for people, or one JSON object per line: files, then a summary
    #[arg(long, default_value = "human")]
    format: ListFormat,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum TargetVersion {
    #[value(name = "1.1")]
    Warc11,
    #[value(name = "1.0")]
    Warc10,
    #[value(name = "0.9")]
    Warc09,
}

impl From<TargetVersion> for Version {
    fn from(target: TargetVersion) -> Self {
        match target {
            TargetVersion::Warc11 => Self::Warc11,
            TargetVersion::Warc10 => Self::Warc10,
            TargetVersion::Warc09 => Self::Warc09,
        }
    }
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum JsonLine<'a> {
    Converted {
        file: &'a str,
        /// The path of the copy.
        copy: &'a str,
        records: u64,
    },
    NotConverted {
        file: &'a str,
        message: &'a str,
    },
    Summary {
        converted: u64,
        not_converted: u64,
        records: u64,
    },
}

pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let files = archive_files(context)?;
    let names = files.with_records()?;
    let target = context.directory.join(&args.output);
    urldb_files::make_folder(&target)
        .with_context(|| format!("cannot make {}", target.display()))?;
    anyhow::ensure!(
        !is_same(files.folder(), &target),
        "{} is the archive itself; name another folder for the copy",
        args.output.display()
    );
    let _edit = Edit::begin(&target)?;
    let options = WriteOptions {
        version: args.to.into(),
        skip_lengths: context.config.archive.skip_lengths,
    };
    let bar = ProgressLine::new(names.len() as u64, context.quiet);
    let mut report = ConvertReport::default();
    for name in &names {
        let file = files.path_of(name);
        let copy = target.join(name_of_copy(&file));
        let whole = files.whole(name).map_err(anyhow::Error::new);
        let made = whole.and_then(|whole| convert(whole.as_ref(), &copy, options));
        let (file, copy) = (context.shown(&file), context.shown(&copy));
        let made = match made {
            Err(error) if !is_finding(&error) => {
                return Err(error.context(format!("{file} is not converted")));
            }
            made => made,
        };
        bar.suspend(|| report.add(args.format, (&file, &copy), made));
        bar.advance();
    }
    bar.finish();
    let made = urldb_warc::index::rebuild_index(&target, &Keys).context("cannot make the index")?;
    for error in &made.damaged {
        print_warning(error);
    }
    for name in files.unread()? {
        let problem = anyhow::anyhow!(FindingCode::FileKind.meaning());
        let file = context.shown(&files.path_of(&name));
        report.add(args.format, (&file, ""), Err(problem));
    }
    let exit = if report.not_converted == 0 && made.damaged.is_empty() {
        ExitCode::Success
    } else {
        ExitCode::Findings
    };
    report.end(args, context)?;
    Ok(exit)
}

fn is_same(one: &Path, other: &Path) -> bool {
    let real = [one, other].map(urldb_files::real_path);
    matches!(real, [Ok(one), Ok(other)] if one == other)
}

/// Counts of converted files.
#[derive(Default)]
struct ConvertReport {
    converted: u64,
    not_converted: u64,
    records: u64,
    /// The first error of standard output; the conversion goes on.
    failure: Option<io::Error>,
}

impl ConvertReport {
    /// Counts and prints the result of a file.
    fn add(&mut self, format: ListFormat, (file, copy): (&str, &str), made: anyhow::Result<u64>) {
        let told = match made {
            Ok(records) => {
                self.converted += 1;
                self.records += records;
                let line = JsonLine::Converted {
                    file,
                    copy,
                    records,
                };
                write_line(format, &line)
            }
            Err(error) => {
                self.not_converted += 1;
                let message = &advised(&error);
                if format == ListFormat::Human {
                    print_error(&anyhow::anyhow!("{file} is not converted: {message}"));
                }
                write_line(format, &JsonLine::NotConverted { file, message })
            }
        };
        self.failure = self.failure.take().or(told.err());
    }

    fn end(self, args: &Args, context: &Context) -> io::Result<()> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        if args.format == ListFormat::Human && !context.quiet {
            let files = count(self.converted, "file");
            let records = count(self.records, "record");
            let target = args.output.display();
            let mut out = output::stdout();
            writeln!(out, "converted {files} with {records} into {target}")?;
        }
        let line = JsonLine::Summary {
            converted: self.converted,
            not_converted: self.not_converted,
            records: self.records,
        };
        write_line(args.format, &line)
    }
}

fn write_line(format: ListFormat, line: &JsonLine<'_>) -> io::Result<()> {
    match format {
        ListFormat::Human => Ok(()),
        ListFormat::Jsonl => output::write_json_line(&mut output::stdout(), line),
    }
}

/// Converts one file, and returns the number of its records. An existing copy of an interrupted
/// conversion is kept if it has the same bytes.
fn convert(file: &Path, copy: &Path, options: WriteOptions) -> anyhow::Result<u64> {
    if urldb_files::is_there(copy) {
        let mut known = ExistingCopy::open(copy)?;
        let written = write_to_existing((file, copy), options, &mut known);
        let is_same = known.is_same() || written.is_err() && !known.differs;
        anyhow::ensure!(is_same, CopyDiffers(copy.to_owned()));
        return written;
    }
    let mut records = 0;
    urldb_files::write_atomically_with(copy, |output| {
        records = write(file, options, output)?;
        anyhow::Ok(())
    })?;
    Ok(records)
}

/// Compares the converted file with an existing copy. Skip lengths are known only after a record, so a
/// temporary file has the records first.
fn write_to_existing(
    (file, copy): (&Path, &Path),
    options: WriteOptions,
    known: &mut ExistingCopy,
) -> anyhow::Result<u64> {
    if !options.skip_lengths {
        let writer = Writer::new(BufWriter::new(known), Compression::Gzip);
        return write_records(file, writer.with_version(options.version));
    }
    let mut records = 0;
    // Dropped, it is removed.
    PendingWrite::with(copy, |made| {
        records = write(file, options, made)?;
        made.rewind()?;
        io::copy(made, known).map(drop)?;
        anyhow::Ok(())
    })?;
    Ok(records)
}

fn write(file: &Path, options: WriteOptions, output: &mut File) -> anyhow::Result<u64> {
    let writer = Writer::new(BufWriter::new(output), Compression::Gzip);
    let writer = writer.with_version(options.version);
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

/// Whether the error is about this file only, so that others can still be converted.
fn is_finding(error: &anyhow::Error) -> bool {
    error.is::<CopyDiffers>()
        || matches!(
            error.downcast_ref(),
            Some(ConvertError::Read(fault)) if fault.is_damage()
        )
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

/// Another file has the name of a copy.
#[derive(Debug, thiserror::Error)]
#[error("{} is there already, and is another file than this would make", .0.display())]
struct CopyDiffers(PathBuf);

/// An existing copy; bytes written to it are compared with the file.
struct ExistingCopy {
    file: BufReader<File>,
    differs: bool,
}

impl ExistingCopy {
    fn open(path: &Path) -> anyhow::Result<Self> {
        let file =
            urldb_files::open(path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(Self {
            file: BufReader::new(file),
            differs: false,
        })
    }

    /// Whether the written bytes were all the bytes of the file.
    fn is_same(&mut self) -> bool {
        !self.differs && self.file.fill_buf().is_ok_and(<[u8]>::is_empty)
    }
}

impl Write for ExistingCopy {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let known = self.file.fill_buf()?;
        let length = known.len().min(bytes.len());
        if length == 0 && !bytes.is_empty() || known[..length] != bytes[..length] {
            self.differs = true;
            return Err(io::Error::other("it is another file"));
        }
        self.file.consume(length);
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// All copies are gzipped WARC files, whatever the originals are.
fn name_of_copy(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let stem = READ_SUFFIXES.iter().find_map(|end| name.strip_suffix(end));
    format!("{}{ARCHIVE_SUFFIX}", stem.unwrap_or(&name))
}
