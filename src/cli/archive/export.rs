//! `urldb archive export`.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::Write;
use std::path::PathBuf;

use urldb_format::{Entry, Record};
use urldb_warc::cdxj::REVISIT;
use urldb_warc::{CdxjLine, Digest};

use super::{Catalogue, Context, Exit, Payload, Wanted, catalogue};
use crate::ambient::Ambient;
use crate::archive::{bag, moment};
use crate::cli::select::SelectArgs;
use crate::cli::style::{count, plain, print_warning};
use crate::hex;

/// Take the promised bytes of all static records out of the archive
///
/// What one needs to put lost files back. A record whose bytes the archive
/// does not hold is named, and the exit code is 1.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb archive export --bagit promised
  urldb archive export -d example.org --bagit /media/backup/example.org")]
pub(super) struct Args {
    #[command(flatten)]
    select: SelectArgs,
    /// Make a bag (RFC 8493) there, with SHA-256 manifests; `urls.tsv` in it says what each file is
    #[arg(long = "bagit", value_name = "DIR")]
    target: PathBuf,
}

/// A static record of a plain GET.
struct Promised {
    host: String,
    url: String,
    path: String,
    length: Option<u64>,
    sha256: Option<[u8; 32]>,
}

pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<Exit> {
    let catalogue = catalogue(context)?;
    let promised = promised(args, context)?;
    let sources = sources(&catalogue, &promised)?;
    let target = context.directory.join(&args.target);
    let mut bag = bag::Bag::begin(&target)?;
    let places = promised
        .iter()
        .map(|it| (it.host.as_str(), it.path.as_str()));
    let names = bag::names(places);
    let mut urls = "url\tfile\tcaptured\n".to_owned();
    let mut exported = 0;
    for ((promised, source), name) in promised.iter().zip(sources).zip(&names) {
        let is_added = match &source {
            Some(payload) => bag.add(
                name,
                |mut out| payload.copy_to(&mut out).map(drop),
                |length, sha256| promised.is_kept_by(length, sha256),
            )?,
            None => false,
        };
        match source {
            Some(payload) if is_added => {
                exported += 1;
                let date = moment::shown(&payload.capture.line.timestamp);
                // Writing to a string cannot fail.
                let _ = writeln!(urls, "{}\tdata/{name}\t{date}", promised.url);
            }
            _ => print_warning(format!("not in the archive: {}", plain(&promised.url))),
        }
    }
    let today = (Ambient::SYSTEM.now)().strftime("%Y-%m-%d").to_string();
    let bytes = bag.finish(&today, &[("urls.tsv", urls)])?;
    if !context.quiet {
        writeln!(
            anstream::stdout(),
            "exported {exported} of {}, {}, to {}",
            count(promised.len() as u64, "static record"),
            count(bytes, "byte"),
            args.target.display()
        )?;
    }
    Ok(if exported == promised.len() {
        Exit::Fine
    } else {
        Exit::Findings
    })
}

impl Promised {
    fn of(host: &str, scheme: &str, record: &Record) -> Self {
        Self {
            host: host.to_owned(),
            url: format!("{scheme}://{host}{}", record.path),
            path: record.path.clone(),
            length: record.content_length,
            sha256: record
                .content_sha256
                .as_deref()
                .and_then(hex::decode_sha256),
        }
    }

    fn is_kept_by(&self, length: u64, sha256: &[u8; 32]) -> bool {
        self.length.is_none_or(|promised| promised == length)
            && self.sha256.is_none_or(|promised| promised == *sha256)
    }
}

fn promised(args: &Args, context: &Context) -> anyhow::Result<Vec<Promised>> {
    let selection = args.select.resolve(context)?;
    let mut promised = vec![];
    for parsed in context.config.open_database()?.read() {
        let file = parsed?.file;
        let host = file.host();
        if !selection.wants_domain(host) {
            continue;
        }
        let scheme = if file.metadata().http {
            "http"
        } else {
            "https"
        };
        let records = file.records().map(Entry::record).filter(|record| {
            record.is_static()
                && record.identity().request.is_none()
                && selection.wants_record(host, record)
        });
        promised.extend(records.map(|record| Promised::of(host, scheme, record)));
    }
    Ok(promised)
}

/// Where the bytes of each are: anywhere in the archive, if their digest is promised; else what the
/// URL served last.
fn sources<'a>(
    catalogue: &'a Catalogue,
    promised: &[Promised],
) -> anyhow::Result<Vec<Option<Payload<'a>>>> {
    let digests = promised.iter().filter_map(|promised| promised.sha256);
    let mut wanted: HashMap<Digest, Option<CdxjLine>> = digests
        .map(|digest| (Digest::sha256(digest), None))
        .collect();
    for line in catalogue.lines()? {
        let line = line?;
        let digest: Option<Digest> = line.digest.parse().ok();
        if let Some(place) = digest.and_then(|digest| wanted.get_mut(&digest))
            && line.mime != REVISIT
        {
            place.get_or_insert(line);
        }
    }
    let source = |promised: &Promised| match promised.sha256 {
        Some(digest) => {
            let line = wanted.get(&Digest::sha256(digest)).cloned().flatten();
            line.map(|line| catalogue.payload_at(line)).transpose()
        }
        None if catalogue.find(&promised.url, None)?.is_empty() => Ok(None),
        None => {
            let wanted = Wanted {
                url: &promised.url,
                request: None,
                at: None,
                any: false,
            };
            catalogue.take(wanted).map(Some)
        }
    };
    promised.iter().map(source).collect()
}
