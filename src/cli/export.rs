//! `urldb export`.

use std::io::Write;
use std::path::Path;

use anyhow::Context as _;
use clap::ValueEnum;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use urldb_format::{Algorithm, DomainFile};
use urldb_interchange::{DomainRecord, archive, jsonl, list, sitemap, ssd3, sums, table};

use super::Context;
use super::args::SelectArgs;
use super::print::output::{self, ByteOutput};
use super::print::style;
use crate::config::parse_base;
use crate::exit::ExitCode;
use crate::git::Repository;

/// Write the URLs of the database as a list for other programs
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb export ssd3 > catalogue.uric
  urldb export sums --base https://example.org/data/ | sha256sum -c
  urldb export table -c core > core.csv")]
pub(super) struct Args {
    /// The format
    format: Format,
    #[command(flatten)]
    select: SelectArgs,
    /// For `sums`: name files relative to this URL; without it names begin with the host
    #[arg(long, value_name = "URL", value_parser = parse_base)]
    base: Option<String>,
    /// For `sums`: the algorithm, `md5`, `sha1`, `sha256`, `sha384` or `sha512`
    #[arg(long, value_name = "ALGORITHM", value_parser = parse_algorithm, default_value = "sha256")]
    algorithm: Algorithm,
}

fn parse_algorithm(text: &str) -> Result<Algorithm, String> {
    Algorithm::from_name(text).ok_or_else(|| "write md5, sha1, sha256, sha384 or sha512".to_owned())
}

/// The formats that can be exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// SSD3 URI-Catalogue
    Ssd3,
    /// One URL per line
    List,
    /// One sitemap
    Sitemap,
    /// A table whose first row names the columns
    Table,
    /// One JSON object per line, with everything in the database
    Jsonl,
    /// Input of `sha256sum -c`, or of the program for another --algorithm
    Sums,
    /// An index of the promises, by URL and digest
    Cdxj,
}

pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let left_out = output::write_bytes(|out| write(args, context, out))?;
    if left_out > 0 {
        let records = style::count(left_out, "record");
        style::print_warning(format!(
            "{records} left out: the format cannot hold them, or they have no valid URL; \
             docs/interchange.md says which"
        ));
    }
    Ok(ExitCode::Success)
}

/// Writes the list, and returns how many records it leaves out.
fn write(args: &Args, context: &Context, out: &mut ByteOutput) -> anyhow::Result<u64> {
    match args.format {
        Format::Ssd3 => catalogue(args, context, out),
        Format::List => lines(args, context, out, |out, listed| {
            let is_url = is_url(listed);
            if is_url {
                list::write(out, listed)?;
            }
            Ok(is_url)
        }),
        Format::Jsonl => lines(args, context, out, |out, listed| {
            jsonl::write(out, listed)?;
            Ok(true)
        }),
        Format::Sums => lines(args, context, out, |out, listed| {
            let base = args
                .base
                .clone()
                .unwrap_or_else(|| format!("{}://", listed.scheme()));
            Ok(listed.is_plain() && sums::write(out, &base, args.algorithm, listed)?)
        }),
        Format::Sitemap => {
            let mut writer = sitemap::Writer::new(out)?;
            let left_out = each(args, context, |listed, _| {
                Ok(is_url(listed) && writer.write(listed)?)
            })?;
            writer.finish()?;
            Ok(left_out)
        }
        Format::Table => {
            let mut writer = table::Writer::new(out)?;
            let left_out = each(args, context, |listed, _| {
                writer.write(listed)?;
                Ok(true)
            })?;
            writer.finish()?;
            Ok(left_out)
        }
        Format::Cdxj => index(args, context, out),
    }
}

/// Whether the record is a plain GET of a valid URL.
fn is_url(listed: &DomainRecord<'_>) -> bool {
    listed.is_plain() && urldb_canon::identify(listed.url()).is_ok()
}

/// Calls `write` for each selected record, in the order of the database, with the date of its file's
/// last change. Returns how many records `write` left out.
fn each(
    args: &Args,
    context: &Context,
    mut write: impl FnMut(&DomainRecord<'_>, &AmendmentDate<'_>) -> anyhow::Result<bool>,
) -> anyhow::Result<u64> {
    let selection = args.select.resolve(context)?;
    // A repository that git refuses has no commit dates for us.
    let repository = Repository::of_project(&context.config.root).ok().flatten();
    let mut left_out = 0;
    let database = context.config.open_database()?;
    let files = database.all_files();
    for path in files.filter(|path| selection.wants_domain(&urldb_format::host_of(path))) {
        let file = DomainFile::read(path)?.file;
        let domain = file.host();
        let amended = AmendmentDate::new(file.path(), repository.as_ref());
        for entry in file
            .records()
            .filter(|entry| selection.wants_record(domain, entry.record()))
        {
            let listed = DomainRecord::new(domain, file.metadata(), entry.record());
            let is_written = match listed {
                Some(listed) => write(&listed, &amended)?,
                None => false,
            };
            left_out += u64::from(!is_written);
        }
    }
    Ok(left_out)
}

fn lines<W: Write>(
    args: &Args,
    context: &Context,
    mut out: W,
    mut write: impl FnMut(&mut W, &DomainRecord<'_>) -> anyhow::Result<bool>,
) -> anyhow::Result<u64> {
    each(args, context, |listed, _| write(&mut out, listed))
}

/// Holds all records in memory, since their order differs from the database's.
fn catalogue(args: &Args, context: &Context, out: impl Write) -> anyhow::Result<u64> {
    let mut draft = ssd3::CatalogueDraft::default();
    let left_out = each(args, context, |listed, amended| {
        draft.add(listed, amended.date()?);
        Ok(true)
    })?;
    let mut writer = ssd3::Writer::new(out);
    for record in draft.finish() {
        let uri = record.get("URI").unwrap_or_default();
        writer
            .write(&record)
            .with_context(|| format!("cannot write {uri} as SSD3"))?;
    }
    writer.finish()?;
    Ok(left_out)
}

/// Holds all lines in memory, since their order differs from the database's.
fn index(args: &Args, context: &Context, mut out: impl Write) -> anyhow::Result<u64> {
    let mut lines = vec![];
    let left_out = each(args, context, |listed, amended| {
        let moment = amended.date()?.strftime("%Y%m%d%H%M%S").to_string();
        let line = archive::cdxj_line(listed, &moment).filter(|_| is_url(listed));
        let is_written = line.is_some();
        lines.extend(line);
        Ok(is_written)
    })?;
    archive::write_cdxj(&mut out, lines)?;
    Ok(left_out)
}

/// The date of a file's last change: its last commit, or else the file system's date. Determined at the
/// first use.
struct AmendmentDate<'a> {
    path: &'a Path,
    repository: Option<&'a Repository>,
    date: std::cell::OnceCell<DateTime>,
}

impl<'a> AmendmentDate<'a> {
    fn new(path: &'a Path, repository: Option<&'a Repository>) -> Self {
        Self {
            path,
            repository,
            date: std::cell::OnceCell::new(),
        }
    }

    fn date(&self) -> anyhow::Result<DateTime> {
        if let Some(date) = self.date.get() {
            return Ok(*date);
        }
        let committed = self
            .repository
            .and_then(|repository| repository.last_commit_of(self.path));
        let amended: Timestamp = match committed {
            Some(seconds) => Timestamp::from_second(seconds)?,
            None => urldb_files::open(self.path)?
                .metadata()?
                .modified()?
                .try_into()?,
        };
        let date = Zoned::new(amended, TimeZone::UTC).datetime();
        Ok(*self.date.get_or_init(|| date))
    }
}
