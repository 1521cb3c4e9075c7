//! `urldb archive list`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::{self, BufWriter, Write};

use anyhow::Context as _;
use clap::ValueEnum;
use serde::Serialize;
use urldb_text::{sanitize, variant_suffix};
use urldb_warc::CdxjLine;

use super::origin::OriginLine;
use super::{
    AnsweredArgs, Catalogue, Context, ExitCode, IndexedCapture, catalogue, date, has_headers,
    time_map,
};
use crate::cli::print::output;
use crate::cli::print::style::count;

/// Characters of a request's body that people are shown.
const LONGEST_BODY: usize = 60;

/// List the archive: all URLs, or all captures of one
///
/// Responses to other requests than GET are listed with the method, the URL
/// and the body of the request.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb archive list
  urldb archive list http://example.org/m51.csv
  urldb archive list --origin http://example.org/m51.csv
  urldb archive list --header 'Accept: text/turtle' http://example.org/ns/a
  urldb archive list --data q=m51 --request-content-type application/x-www-form-urlencoded http://example.org/
  urldb archive list --format jsonl | jq -r 'select(.contents > 1) | .url'
  urldb archive list --format link http://example.org/m51.csv")]
pub(super) struct Args {
    /// Output for people, one JSON object per line, or links to the captures of a URL
    #[arg(long, default_value = "human")]
    format: Format,
    #[command(flatten)]
    request: AnsweredArgs,
    /// Show who answered: the address, what the resolver said, and the server's certificate
    #[arg(long, requires = "url")]
    origin: bool,
    /// List each capture of this URL
    #[arg(value_name = "URL")]
    url: Option<String>,
}

/// The form of the output; `link` is that of a `TimeMap` (RFC 7089).
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Human,
    Jsonl,
    Link,
}

/// The request that captures answer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct AnsweredRequest {
    url: String,
    /// Method and body are there unless the request was a GET.
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<String>,
    /// The body, as the index has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    request_body: Option<String>,
    /// The request headers that tell captures of the URL apart, one a line.
    #[serde(skip_serializing_if = "Option::is_none")]
    vary: Option<String>,
}

impl AnsweredRequest {
    fn from_line(line: &CdxjLine) -> Self {
        let asked = line.request.as_ref();
        Self {
            url: line.url.clone(),
            method: asked.map(|asked| asked.method.clone()),
            request_body: asked.map(|asked| asked.body.clone()),
            vary: line.vary.clone(),
        }
    }
}

/// For people: the URL and its variant, between method and body unless the request was a GET.
impl fmt::Display for AnsweredRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(method) = &self.method {
            write!(f, "{} ", sanitize(method))?;
        }
        f.write_str(&sanitize(&self.url))?;
        f.write_str(&sanitize(&variant_suffix(self.vary.as_deref())))?;
        let body = sanitize(self.request_body.as_deref().unwrap_or_default());
        if body.is_empty() {
            return Ok(());
        }
        let beginning: String = body.chars().take(LONGEST_BODY).collect();
        let more = if beginning.len() < body.len() {
            "..."
        } else {
            ""
        };
        write!(f, "  {beginning}{more}")
    }
}

/// One capture, for `--format jsonl`.
#[derive(Serialize)]
struct CaptureLine<'a> {
    #[serde(flatten)]
    subject: AnsweredRequest,
    date: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    media_type: Option<&'a str>,
    /// The reason why the archive has only the beginning of the body.
    #[serde(skip_serializing_if = "Option::is_none")]
    truncated: Option<&'a str>,
    digest: &'a str,
    /// Of the record as stored.
    bytes: u64,
    file: &'a str,
    offset: u64,
    /// The server that answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<OriginLine<'a>>,
}

/// Numbers about all responses to one request.
#[derive(Serialize)]
struct Summary {
    captures: u64,
    contents: usize,
    first: String,
    last: String,
    #[serde(skip)]
    digests: BTreeSet<String>,
}

/// The same numbers, for `--format jsonl`.
#[derive(Serialize)]
struct SummaryLine<'a> {
    #[serde(flatten)]
    subject: &'a AnsweredRequest,
    #[serde(flatten)]
    summary: &'a Summary,
}

pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let replay_url = replay_url(args, context)?;
    let catalogue = catalogue(context)?;
    let mut out = BufWriter::new(output::stdout());
    match (&args.url, replay_url) {
        (Some(url), Some(replay_url)) => {
            let captures = of_variant(args, url, catalogue.captures_of(url, None)?)?;
            time_map::write(&mut out, url, &captures, replay_url)?;
        }
        (Some(url), None) => {
            let captures = if args.request.has_request() {
                let request = args.request.stored(&context.directory)?;
                catalogue.captures_of(url, request.as_ref())?
            } else {
                catalogue.all_of(url)?
            };
            let mut captures = of_variant(args, url, captures)?;
            // The captures of each variant stand together, as those that answer each request do.
            for answers in captures.chunk_by_mut(|one, other| one.line.key == other.line.key) {
                answers.sort_by(|one, other| one.line.vary.cmp(&other.line.vary));
            }
            let origins = args.origin.then_some(&catalogue);
            list_captures(&mut out, &captures, origins, args.format)?;
        }
        (None, _) if args.request.is_given() => {
            anyhow::bail!(
                "--method, --data and --header say how a URL was asked for: name the URL, too"
            );
        }
        (None, _) => list_urls(&mut out, &catalogue, args.format)?,
    }
    out.flush()?;
    Ok(ExitCode::Success)
}

/// The address of the server that replays the archive, for `--format link`; else `None`.
fn replay_url<'a>(args: &Args, context: &'a Context) -> anyhow::Result<Option<&'a str>> {
    if args.format != Format::Link {
        return Ok(None);
    }
    anyhow::ensure!(
        args.url.is_some() && !args.request.has_request(),
        "--format link lists the answers of one URL to GET: name the URL, without --method and --data"
    );
    anyhow::ensure!(
        !args.origin,
        "--format link has no place for --origin: use jsonl"
    );
    let replay_url = context.config.archive.replay_url.as_deref().context(
        "--format link needs the address of the server that replays the archive: `replay-url` in [archive]",
    )?;
    Ok(Some(replay_url))
}

/// The captures of the variant that the options name; all captures without such an option.
fn of_variant(
    args: &Args,
    url: &str,
    mut captures: Vec<IndexedCapture>,
) -> anyhow::Result<Vec<IndexedCapture>> {
    let headers = args.request.headers()?;
    captures.retain(|it| has_headers(it.line.vary.as_deref(), &headers));
    anyhow::ensure!(
        !captures.is_empty(),
        "the archive has no capture of {url} ({}); without --header, all of them are listed",
        headers.join(", ")
    );
    Ok(captures)
}

/// Lists captures, and with a catalogue, who answered.
fn list_captures(
    out: &mut impl Write,
    captures: &[IndexedCapture],
    origins: Option<&Catalogue>,
    format: Format,
) -> anyhow::Result<()> {
    let mut last = None;
    for capture in captures {
        let origin = origins
            .map(|catalogue| catalogue.origin_of(capture))
            .transpose()?;
        let capture_line = CaptureLine {
            origin: origin.as_ref().map(OriginLine::new),
            ..capture_line(capture)
        };
        if format == Format::Jsonl {
            output::write_json_line(out, &capture_line)?;
            continue;
        }
        let status = capture_line
            .status
            .map_or("-".to_owned(), |status| status.to_string());
        let CaptureLine {
            subject,
            date,
            kind,
            digest,
            bytes,
            file,
            offset,
            truncated,
            origin,
            ..
        } = capture_line;
        if last.as_ref() != Some(&subject) {
            writeln!(out, "{subject}")?;
            last = Some(subject);
        }
        let (digest, file) = (sanitize(short(digest)), sanitize(file));
        let truncated = truncated.map(|cause| format!("  truncated: {}", sanitize(cause)));
        writeln!(
            out,
            "  {date}  {status:>3}  {kind:<8}  {digest:<12}  {bytes:>9}  {file}:{offset}{}",
            truncated.unwrap_or_default()
        )?;
        if let Some(origin) = origin {
            origin.write(out)?;
        }
    }
    Ok(())
}

fn capture_line(capture: &IndexedCapture) -> CaptureLine<'_> {
    let line = &capture.line;
    let is_revisit = capture.is_revisit();
    CaptureLine {
        subject: AnsweredRequest::from_line(line),
        date: date::shown(&line.timestamp),
        status: capture.status,
        kind: if is_revisit { "revisit" } else { "response" },
        media_type: (!is_revisit).then_some(&line.mime),
        truncated: capture.truncated.as_deref(),
        digest: &line.digest,
        bytes: line.extent.length,
        file: &line.filename,
        offset: line.extent.offset,
        origin: None,
    }
}

/// The first digits of a digest, enough to tell contents apart.
fn short(digest: &str) -> &str {
    let (_, digits) = digest.split_once(':').unwrap_or(("", digest));
    digits.get(..12).unwrap_or(digits)
}

/// Lists all URLs. The index is sorted by key: requests of one key are collected until the next key.
fn list_urls(out: &mut impl Write, catalogue: &Catalogue, format: Format) -> anyhow::Result<()> {
    let mut key = String::new();
    let mut summaries: BTreeMap<AnsweredRequest, Summary> = BTreeMap::new();
    for line in catalogue.lines()? {
        let line = line?;
        let subject = AnsweredRequest::from_line(&line);
        if line.key != key {
            write_summaries(out, &mut summaries, format)?;
            key = line.key;
        }
        let date = date::shown(&line.timestamp);
        let summary = summaries.entry(subject).or_insert_with(|| Summary {
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
    write_summaries(out, &mut summaries, format)?;
    Ok(())
}

fn write_summaries(
    out: &mut impl Write,
    summaries: &mut BTreeMap<AnsweredRequest, Summary>,
    format: Format,
) -> io::Result<()> {
    while let Some((subject, summary)) = summaries.pop_first() {
        if format == Format::Jsonl {
            let (subject, summary) = (&subject, &summary);
            output::write_json_line(out, &SummaryLine { subject, summary })?;
            continue;
        }
        let Summary {
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
        writeln!(out, "{subject}\n  {captures}, {contents}, {times}")?;
    }
    Ok(())
}
