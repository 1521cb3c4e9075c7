//! `urldb archive export`.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::Write;
use std::path::PathBuf;

use urldb_canon::{RequestUrl, Scheme};
use urldb_format::Record;
use urldb_text::sanitize;
use urldb_warc::{CdxjLine, Digest, REVISIT_MIME};

use super::{CaptureQuery, Catalogue, Context, ExitCode, Payload, catalogue};
use crate::ambient::Ambient;
use crate::archive::{bag, date};
use crate::cli::args::SelectArgs;
use crate::cli::print::output;
use crate::cli::print::style::{count, print_invalid_record, print_warning};
use crate::explain::explain;

/// Copy the promised bytes of all static records out of the archive
///
/// Use it to restore lost files. The command names each record whose bytes the
/// archive lacks; the exit code is then 1.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb archive export --bagit promised
  urldb archive export -d example.org --bagit /media/backup/example.org")]
pub(super) struct Args {
    #[command(flatten)]
    select: SelectArgs,
    /// Make a bag (RFC 8493) in DIR, with SHA-256 manifests; its `urls.tsv` names the URL of each file
    #[arg(long = "bagit", value_name = "DIR")]
    target: PathBuf,
}

/// The promise of a static record whose request is a plain GET.
struct PromisedFile {
    host: String,
    url: RequestUrl,
    path: String,
    length: Option<u64>,
    sha256: Option<[u8; 32]>,
}

pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let catalogue = catalogue(context)?;
    let (promised, invalid) = promised(args, context)?;
    let copies = copies(&catalogue, &promised)?;
    let target = context.directory.join(&args.target);
    let mut bag = bag::Bag::begin(&target)?;
    let places = promised
        .iter()
        .map(|it| (it.host.as_str(), it.path.as_str()));
    let names = bag::names(places);
    let mut urls = "url\tfile\tcaptured\n".to_owned();
    let mut exported = 0;
    for (promised, name) in promised.iter().zip(&names) {
        let sources = sources(&catalogue, promised, &copies);
        if let Some(captured) = add(&mut bag, name, promised, sources)? {
            exported += 1;
            // Writing to a string cannot fail.
            let _ = writeln!(urls, "{}\tdata/{name}\t{captured}", promised.url);
        }
    }
    let total = promised.len() + invalid;
    let today = (Ambient::SYSTEM.now)().strftime("%Y-%m-%d").to_string();
    let bytes = bag.finish(&today, &[("urls.tsv", urls)])?;
    if !context.quiet {
        writeln!(
            output::stdout(),
            "exported {exported} of {}, {}, to {}",
            count(total as u64, "static record"),
            count(bytes, "byte"),
            args.target.display()
        )?;
    }
    Ok(if exported == total {
        ExitCode::Success
    } else {
        ExitCode::Findings
    })
}

impl PromisedFile {
    /// The promise of a record; `None` if the record has no valid URL.
    fn of(host: &str, scheme: Scheme, record: &Record) -> Option<Self> {
        Some(Self {
            host: host.to_owned(),
            url: RequestUrl::new(scheme, host, &record.path)?,
            path: record.path.clone(),
            length: record.content_length,
            sha256: record.sha256(),
        })
    }

    fn ensure_kept(&self, length: u64, sha256: &[u8; 32]) -> anyhow::Result<()> {
        let is_kept = self.length.is_none_or(|promised| promised == length)
            && self.sha256.is_none_or(|promised| promised == *sha256);
        anyhow::ensure!(
            is_kept,
            "the {length} bytes that it has are not those that are promised"
        );
        Ok(())
    }
}

/// The promises of the selected records, and the number of records without a valid URL.
fn promised(args: &Args, context: &Context) -> anyhow::Result<(Vec<PromisedFile>, usize)> {
    let selection = args.select.resolve(context)?;
    let (mut promised, mut invalid) = (vec![], 0);
    let database = context.config.open_database()?;
    for parsed in database.read_where(|host| selection.wants_domain(host)) {
        let file = parsed?.file;
        let host = file.host();
        let scheme = file.metadata().scheme();
        let records = file.records().filter(|entry| {
            let record = entry.record();
            record.is_static()
                && record.identity().request.is_none()
                && selection.wants_record(host, record)
        });
        for entry in records {
            if let Some(file) = PromisedFile::of(host, scheme, entry.record()) {
                promised.push(file);
            } else {
                invalid += 1;
                print_invalid_record(&context.shown(file.path()), entry.line());
            }
        }
    }
    Ok((promised, invalid))
}

/// The responses with each promised digest, of any URL.
fn copies(
    catalogue: &Catalogue,
    promised: &[PromisedFile],
) -> anyhow::Result<HashMap<Digest, Vec<CdxjLine>>> {
    let digests = promised.iter().filter_map(|promised| promised.sha256);
    let mut copies: HashMap<Digest, Vec<CdxjLine>> = digests
        .map(|digest| (Digest::sha256(digest), vec![]))
        .collect();
    for line in catalogue.lines()? {
        let line = line?;
        let digest: Option<Digest> = line.digest.parse().ok();
        if let Some(known) = digest.and_then(|digest| copies.get_mut(&digest))
            && line.mime != REVISIT_MIME
        {
            known.push(line);
        }
    }
    Ok(copies)
}

/// The captures that may have the bytes: those with the promised digest, or else the last of the URL.
fn sources<'a>(
    catalogue: &'a Catalogue,
    promised: &'a PromisedFile,
    copies: &'a HashMap<Digest, Vec<CdxjLine>>,
) -> Box<dyn Iterator<Item = anyhow::Result<Payload<'a>>> + 'a> {
    if let Some(digest) = promised.sha256 {
        let lines = copies.get(&Digest::sha256(digest)).into_iter().flatten();
        return Box::new(lines.map(|line| catalogue.payload_at(line.clone())));
    }
    let query = CaptureQuery {
        url: promised.url.as_str(),
        request: None,
        at: None,
        any: false,
    };
    Box::new(match catalogue.find(promised.url.as_str(), None) {
        Ok(captures) if captures.is_empty() => None.into_iter(),
        Ok(_) => Some(catalogue.find_payload(query)).into_iter(),
        Err(error) => Some(Err(error)).into_iter(),
    })
}

/// Adds the bytes of the first source that has them, and returns the date of that capture. Without such
/// a source, prints a warning with the problem of the first one.
fn add<'a>(
    bag: &mut bag::Bag,
    name: &str,
    promised: &PromisedFile,
    sources: impl Iterator<Item = anyhow::Result<Payload<'a>>>,
) -> anyhow::Result<Option<String>> {
    let mut problem = None;
    for source in sources {
        let added = match &source {
            Ok(payload) => bag.add(name, |output| {
                payload.copy_to(output)?;
                promised.ensure_kept(output.length(), &output.sha256())
            })?,
            Err(_) => Ok(()),
        };
        match source.and_then(|payload| added.map(|()| payload)) {
            Ok(payload) => return Ok(Some(date::shown(&payload.capture.line.timestamp))),
            Err(error) => problem.get_or_insert(error),
        };
    }
    let url = sanitize(promised.url.as_str());
    print_warning(match problem {
        Some(problem) => format!(
            "not in the archive: {url}: {}",
            sanitize(&explain(&problem))
        ),
        None => format!("not in the archive: {url}"),
    });
    Ok(None)
}
