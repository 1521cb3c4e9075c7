//! `urldb archive get`.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use urldb_canon::RequestUrl;
use urldb_format::{Metadata, Record};
use urldb_text::{sanitize, variant_suffix};
use urldb_verdict::JobKey;
use urldb_warc::FindingCode;
use urldb_warc::finding::Severity;
use urldb_warc::verify::CopiedPayload;

use super::{
    AnsweredArgs, CaptureQuery, Catalogue, Context, DigestPrefix, ExitCode, PartialDate, Payload,
    VariantChoice, catalogue, date, is_same_url, variant_with, warn_of_truncated,
};
use crate::cli::print::output;
use crate::cli::print::style::{count, print_warning};
use crate::explain::explain;
use crate::ledger::Ledger;

/// Copy the bytes of a URL out of the archive
///
/// Without a date: the bytes that the record of the URL promises, if the
/// archive has them; else the latest complete 2xx capture. The bytes are written as the server
/// sent them, with their content coding, and only if they match their digest.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb archive get http://example.org/m51.csv -o m51.csv
  urldb archive get http://example.org/m51.csv --at 2026-11-20 | sha256sum
  urldb archive get http://example.org/m51.csv --sha256 9847d7188c63 -o m51.csv
  urldb archive get http://example.org/ns/a --header 'Accept: text/turtle'
  urldb archive get --data @query.json --request-content-type application/json http://example.org/search")]
pub(super) struct Args {
    /// Use the last capture by the end of this date, in UTC
    #[arg(long, value_name = "DATE")]
    at: Option<PartialDate>,
    /// Use the last capture of the bytes with this SHA-256, or with these first digits of one
    #[arg(long, value_name = "DIGITS")]
    sha256: Option<DigestPrefix>,
    /// Accept an error page, a redirect or an incomplete body too
    #[arg(long)]
    any: bool,
    /// Write the bytes even if they do not match their digest, with a warning
    #[arg(long)]
    unverified: bool,
    /// Write this file, once the bytes are verified; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    request: AnsweredArgs,
    /// The URL
    #[arg(value_name = "URL")]
    url: String,
}

pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let catalogue = catalogue(context)?;
    let request = args.request.stored(&context.directory)?;
    let headers = args.request.headers()?;
    let is_open = args.at.is_none() && args.sha256.is_none() && !args.any && request.is_none();
    let record = request
        .is_none()
        .then(|| promise_of(&args.url, &headers, context))
        .flatten();
    let of_record = record.as_ref().and_then(|it| it.variant.clone());
    let variant = match of_record.as_deref() {
        Some(variant) if headers.is_empty() => VariantChoice::Like(Some(variant)),
        _ => VariantChoice::Named(&headers),
    };
    let query = CaptureQuery {
        url: &args.url,
        request: request.as_ref(),
        variant,
        at: args.at.as_ref(),
        sha256: args.sha256.as_ref(),
        any: args.any,
    };
    let promise = record.and_then(|it| it.sha256).filter(|_| is_open);
    let payload = match promise {
        Some(promise) => promised_payload(&catalogue, query, &promise)?,
        None => None,
    };
    let payload = match payload {
        Some(payload) => payload,
        None => catalogue.find_payload(query)?,
    };
    print_notes(&payload, args, context);
    match &args.output {
        Some(output) if output.as_os_str() != "-" => write_file(&payload, output, args, context)?,
        _ => write_out(&payload, args)?,
    }
    Ok(ExitCode::Success)
}

/// The promise of the record that is meant.
struct RecordPromise {
    variant: Option<String>,
    /// The SHA-256 that the record promises; without it, that of the content which has the further digests of the
    /// record, as far as the ledger knows.
    sha256: Option<DigestPrefix>,
}

/// The promise of the only record of a URL that has these headers, or of the one that has no others. A file with
/// mistakes promises nothing here: the archive must give its bytes all the same.
fn promise_of(url: &str, headers: &[String], context: &Context) -> Option<RecordPromise> {
    let host = urldb_canon::identify(url).ok()?.host;
    let file = context
        .config
        .open_database()
        .ok()?
        .read_where(|name| name == host)
        .flatten()
        .next()?
        .file;
    let metadata = file.metadata();
    let records: Vec<&Record> = file
        .records()
        .map(urldb_format::RecordEntry::record)
        .filter(|record| {
            record.request_key().is_none()
                && metadata.schemes_of(record).into_iter().any(|scheme| {
                    RequestUrl::new(scheme, &host, &record.path)
                        .is_some_and(|it| is_same_url(it.as_str(), url))
                })
        })
        .collect();
    let known = records.iter().map(|record| metadata.variant_of(record));
    let variant = variant_with(&known.collect(), headers, url).ok()?;
    let digest = records.into_iter().find_map(|record| {
        let is_it = metadata.variant_of(record) == variant;
        is_it.then(|| promised_sha256(record, &host, metadata, context))?
    });
    Some(RecordPromise {
        variant,
        sha256: digest.and_then(|it| data_encoding::HEXLOWER.encode(&it).parse().ok()),
    })
}

fn promised_sha256(
    record: &Record,
    host: &str,
    metadata: &Metadata,
    context: &Context,
) -> Option<[u8; 32]> {
    let known = || {
        let strongest = record.digests().max()?;
        let key = JobKey {
            domain: host.to_owned(),
            path: record.path.clone(),
            request: None,
            variant: metadata.variant_of(record),
            alias: None,
            scheme: metadata.scheme_of(record),
        };
        Ledger::load(&context.ledger(), [host])
            .ok()?
            .get(&key)?
            .content
            .as_ref()?
            .verified_sha256(&strongest)
    };
    record.sha256().or_else(known)
}

/// The promised bytes of a URL; `None` if the archive does not have them.
fn promised_payload<'a>(
    catalogue: &'a Catalogue,
    query: CaptureQuery<'_>,
    promise: &DigestPrefix,
) -> anyhow::Result<Option<Payload<'a>>> {
    let has_bytes = catalogue
        .find(query.url, query.request)?
        .iter()
        .any(|it| promise.begins(&it.line.digest));
    let found = catalogue.find_payload(CaptureQuery {
        sha256: Some(promise),
        ..query
    });
    match found {
        Ok(payload) => Ok(Some(payload)),
        // A damaged copy of the promised bytes must not give other bytes.
        Err(error) if has_bytes => Err(error),
        Err(_) => Ok(None),
    }
}

/// Prints facts about the capture on standard error.
fn print_notes(payload: &Payload<'_>, args: &Args, context: &Context) {
    if let Some(last) = payload.passed_over.first() {
        let status = last
            .status
            .map_or("no status".to_owned(), |status| format!("status {status}"));
        print_warning(format!(
            "passed over {}, up to {} ({status}); --any takes them",
            count(payload.passed_over.len() as u64, "later capture"),
            date::shown(&last.line.timestamp)
        ));
    }
    if let Some(lost) = &payload.lost {
        let lost = explain(lost);
        print_warning(format!("{}; an older capture is taken", sanitize(&lost)));
    }
    if let Some(truncated) = payload.truncated_instead() {
        warn_of_truncated(truncated);
    }
    if payload.capture.truncated.is_some() {
        warn_of_truncated(&payload.capture);
    }
    let is_as_asked = payload.url() == args.url
        && (args.request.is_given() || payload.capture.line.vary.is_none());
    if !is_as_asked && !context.quiet {
        let variant = variant_suffix(payload.capture.line.vary.as_deref());
        let url = format!("{}{variant}", payload.url());
        let url = sanitize(&url);
        // A closed standard error is no error.
        let _ = writeln!(output::stderr(), "these are the bytes of {url}");
    }
}

/// Copies the bytes, verified unless the user takes them as they are.
fn copy(
    payload: &Payload<'_>,
    args: &Args,
    output: &mut impl Write,
) -> anyhow::Result<CopiedPayload> {
    if args.unverified {
        payload.copy_unverified(output)
    } else {
        payload.copy_to(output)
    }
}

fn print_findings(copied: &CopiedPayload) {
    let is_about_bytes = |code: FindingCode| {
        matches!(
            code,
            FindingCode::BlockDigest
                | FindingCode::PayloadDigest
                | FindingCode::PayloadDigestRaw
                | FindingCode::DigestUnknown
                | FindingCode::HttpFraming
        )
    };
    for (code, message) in &copied.findings {
        if is_about_bytes(*code) {
            print_warning(format!("{code}: {}", sanitize(message)));
        }
    }
    if !copied.has_digest {
        print_warning("the record has no digest that its bytes could be held against");
    }
}

fn write_file(
    payload: &Payload<'_>,
    output: &Path,
    args: &Args,
    context: &Context,
) -> anyhow::Result<()> {
    let path = context.directory.join(output);
    let mut copied = CopiedPayload::default();
    let mut write = || {
        urldb_files::write_atomically_with(&path, |file| {
            let mut file = BufWriter::new(file);
            copied = copy(payload, args, &mut file)?;
            file.flush()?;
            anyhow::Ok(())
        })
    };
    let written = if args.unverified {
        write()
    } else {
        payload.from_good_copy(write)
    };
    written.map_err(|error| error.context(format!("{} was not written", output.display())))?;
    print_findings(&copied);
    if !context.quiet {
        let is_proven = |code: &FindingCode| code.severity() != Severity::Error;
        let is_proven = copied.findings.iter().all(|(code, _)| is_proven(code));
        let digest = payload.digest.as_ref().filter(|_| is_proven);
        let digest = digest.map(|digest| format!(" with {digest}"));
        writeln!(
            output::stdout(),
            "wrote {}: {}{}, of {}",
            output.display(),
            count(copied.length, "byte"),
            digest.unwrap_or_default(),
            date::shown(&payload.capture.line.timestamp)
        )?;
    }
    Ok(())
}

/// Reads the bytes twice, to verify them before the first goes down a pipe.
fn write_out(payload: &Payload<'_>, args: &Args) -> anyhow::Result<()> {
    let copied = payload.from_good_copy(|| copy(payload, args, &mut io::sink()))?;
    print_findings(&copied);
    output::write_bytes(|out| copy(payload, args, out))?;
    Ok(())
}
