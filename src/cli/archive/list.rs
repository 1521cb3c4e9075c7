//! `urldb archive list`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufWriter, Write};

use serde::Serialize;

use super::{Context, Exit, catalogue, write_json};
use crate::archive::{Capture, Catalogue, moment};
use crate::cli::check::Format;
use crate::cli::style::{count, plain};

/// List what is in the archive: all URLs, or all captures of one
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb archive list
  urldb archive list http://example.org/m51.csv
  urldb archive list --format json | jq -r 'select(.contents > 1) | .url'")]
pub(super) struct Args {
    /// For people, or one JSON object a line
    #[arg(long, default_value = "human")]
    format: Format,
    /// Only this URL, capture by capture
    #[arg(value_name = "URL")]
    url: Option<String>,
}

/// One capture, as `--format json` has it.
#[derive(Serialize)]
struct Listed<'a> {
    url: &'a str,
    date: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    media_type: Option<&'a str>,
    digest: &'a str,
    /// Of the record as stored.
    bytes: u64,
    file: &'a str,
    offset: u64,
}

/// All captures of one URL in a few numbers.
#[derive(Serialize)]
struct Summary {
    url: String,
    captures: u64,
    contents: usize,
    first: String,
    last: String,
    #[serde(skip)]
    digests: BTreeSet<String>,
}

pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<Exit> {
    let catalogue = catalogue(context)?;
    let mut out = BufWriter::new(anstream::stdout().lock());
    match &args.url {
        Some(url) => list_captures(&mut out, &catalogue.captures_of(url)?, args.format)?,
        None => list_urls(&mut out, &catalogue, args.format)?,
    }
    out.flush()?;
    Ok(Exit::Fine)
}

fn list_captures(out: &mut impl Write, captures: &[Capture], format: Format) -> io::Result<()> {
    let mut url = "";
    for capture in captures {
        let listed = listed(capture);
        if format == Format::Json {
            write_json(out, &listed)?;
            continue;
        }
        if listed.url != url {
            url = listed.url;
            writeln!(out, "{}", plain(url))?;
        }
        let status = listed
            .status
            .map_or("-".to_owned(), |status| status.to_string());
        let Listed {
            date,
            kind,
            digest,
            bytes,
            file,
            offset,
            ..
        } = listed;
        let (digest, file) = (plain(short(digest)), plain(file));
        writeln!(
            out,
            "  {date}  {status:>3}  {kind:<8}  {digest:<12}  {bytes:>9}  {file}:{offset}"
        )?;
    }
    Ok(())
}

fn listed(capture: &Capture) -> Listed<'_> {
    let line = &capture.line;
    let is_revisit = capture.is_revisit();
    Listed {
        url: &line.url,
        date: moment::shown(&line.timestamp),
        status: capture.status,
        kind: if is_revisit { "revisit" } else { "response" },
        media_type: (!is_revisit).then_some(&line.mime),
        digest: &line.digest,
        bytes: line.extent.length,
        file: &line.filename,
        offset: line.extent.offset,
    }
}

/// The first digits of a digest, which tell contents apart.
fn short(digest: &str) -> &str {
    let (_, digits) = digest.split_once(':').unwrap_or(("", digest));
    digits.get(..12).unwrap_or(digits)
}

/// The index is sorted by key; the URLs of one key are gathered until the next begins.
fn list_urls(out: &mut impl Write, catalogue: &Catalogue, format: Format) -> anyhow::Result<()> {
    let mut key = String::new();
    let mut urls: BTreeMap<String, Summary> = BTreeMap::new();
    for line in catalogue.lines()? {
        let line = line?;
        if line.key != key {
            write_summaries(out, &mut urls, format)?;
            key = line.key;
        }
        let date = moment::shown(&line.timestamp);
        let summary = urls.entry(line.url).or_insert_with_key(|url| Summary {
            url: url.clone(),
            captures: 0,
            contents: 0,
            first: date.clone(),
            last: date.clone(),
            digests: BTreeSet::new(),
        });
        summary.captures += 1;
        summary.digests.insert(line.digest);
        summary.contents = summary.digests.len();
        summary.last = date;
    }
    write_summaries(out, &mut urls, format)?;
    Ok(())
}

fn write_summaries(
    out: &mut impl Write,
    urls: &mut BTreeMap<String, Summary>,
    format: Format,
) -> io::Result<()> {
    while let Some((_, summary)) = urls.pop_first() {
        if format == Format::Json {
            write_json(out, &summary)?;
            continue;
        }
        let Summary {
            url,
            captures,
            contents,
            first,
            last,
            ..
        } = &summary;
        let contents = count(*contents as u64, "content");
        let captures = count(*captures, "capture");
        let times = if first == last {
            first.clone()
        } else {
            format!("{first} to {last}")
        };
        writeln!(out, "{}\n  {captures}, {contents}, {times}", plain(url))?;
    }
    Ok(())
}
