//! `urldb archive export --bagit`.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;

use urldb_canon::RequestUrl;
use urldb_format::{Algorithm, Metadata, Record};
use urldb_text::{sanitize, variant_suffix};
use urldb_warc::cdxj::REVISIT_MIME;
use urldb_warc::{CdxjLine, Digest, DigestAlgorithm};

use super::{Args, CaptureQuery, Catalogue, Context, ExitCode, Payload, catalogue};
use crate::ambient::Ambient;
use crate::archive::{VariantChoice, bag, date};
use crate::cli::print::output;
use crate::cli::print::style::{count, print_invalid_record, print_warning};
use crate::explain::explain;

/// The promise of a static record whose request is a plain GET.
struct PromisedFile {
    host: String,
    url: RequestUrl,
    path: String,
    /// The request headers that tell it from other records of the URL: see [`VariantChoice`].
    variant: Option<String>,
    length: Option<u64>,
    sha256: Option<[u8; 32]>,
    /// Further digests of the bytes.
    digests: Vec<urldb_format::Digest>,
}

/// Writes the bag `target`.
pub(super) fn run(target: &Path, args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let catalogue = catalogue(context)?;
    let (promised, invalid) = promised(args, context)?;
    let copies = copies(&catalogue, &promised)?;
    let mut bag = bag::Bag::begin(&context.directory.join(target))?;
    let places = promised
        .iter()
        .map(|it| (it.host.as_str(), it.path.as_str()));
    let names = bag::names(places);
    let has_variants = promised.iter().any(|it| it.variant.is_some());
    let headers = if has_variants { "\theaders" } else { "" };
    let mut urls = format!("url\tfile\tcaptured{headers}\n");
    let mut exported = 0;
    for (promised, name) in promised.iter().zip(&names) {
        let sources = sources(&catalogue, promised, &copies);
        match add(&mut bag, name, promised, sources)? {
            Ok(captured) => {
                exported += 1;
                // Writing to a string cannot fail.
                let _ = write!(urls, "{}\tdata/{name}\t{captured}", promised.url);
                if has_variants {
                    let headers: Vec<&str> = promised
                        .variant
                        .as_deref()
                        .unwrap_or_default()
                        .lines()
                        .collect();
                    let _ = write!(urls, "\t{}", headers.join("; ").replace('\t', " "));
                }
                urls.push('\n');
            }
            Err(problem) => warn_of_missing(promised, problem.as_ref(), &copies),
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
            target.display()
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
    fn new(host: &str, metadata: &Metadata, record: &Record) -> Option<Self> {
        Some(Self {
            host: host.to_owned(),
            url: RequestUrl::new(metadata.scheme_of(record), host, &record.path)?,
            path: record.path.clone(),
            variant: metadata.variant_of(record),
            length: record.content_length,
            sha256: record.sha256(),
            digests: record
                .digests()
                .filter(|digest| digest.algorithm() != Algorithm::Sha256)
                .collect(),
        })
    }

    /// Copies the bytes of a source.
    ///
    /// # Errors
    /// When the source cannot be read, or has other bytes than promised.
    fn copy(&self, source: &Payload<'_>, output: &mut bag::BagFileWriter) -> anyhow::Result<()> {
        output.compare_with(&self.digests);
        source.copy_to(output)?;
        let has_digests = output.has(&self.digests);
        self.ensure_kept(output.length(), &output.sha256(), has_digests)
    }

    fn ensure_kept(&self, length: u64, sha256: &[u8; 32], has_digests: bool) -> anyhow::Result<()> {
        let is_kept = has_digests
            && self.length.is_none_or(|promised| promised == length)
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
        let records = file.records().filter(|entry| {
            let record = entry.record();
            record.is_static()
                && record.request_key().is_none()
                && selection.wants_record(host, record)
        });
        for entry in records {
            if let Some(file) = PromisedFile::new(host, file.metadata(), entry.record()) {
                promised.push(file);
            } else {
                invalid += 1;
                print_invalid_record(&context.shown(file.path()), entry.line());
            }
        }
    }
    Ok((promised, invalid))
}

/// The responses of any URL that may have promised bytes.
struct ArchivedResponses {
    by_digest: HashMap<Digest, Vec<CdxjLine>>,
    /// Number of responses whose SHA-256 the index does not have.
    without_sha256: u64,
}

fn copies(catalogue: &Catalogue, promised: &[PromisedFile]) -> anyhow::Result<ArchivedResponses> {
    let digests = promised.iter().filter_map(|promised| promised.sha256);
    let mut copies = ArchivedResponses {
        by_digest: digests
            .map(|digest| (Digest::sha256(digest), vec![]))
            .collect(),
        without_sha256: 0,
    };
    for line in catalogue.lines()? {
        let line = line?;
        if line.mime == REVISIT_MIME {
            continue;
        }
        let digest = line.digest.parse::<Digest>().ok();
        let digest = digest.filter(|digest| digest.algorithm() == DigestAlgorithm::Sha256);
        match digest.map(|digest| copies.by_digest.get_mut(&digest)) {
            Some(Some(known)) => known.push(line),
            Some(None) => {}
            None => copies.without_sha256 += u64::from(line.status.is_none_or(is_good)),
        }
    }
    Ok(copies)
}

fn is_good(status: u16) -> bool {
    (200..300).contains(&status)
}

/// The captures that may have the bytes, the likeliest first. With a promised digest: those of any URL
/// with this digest, then each content of the URL, since an index may have digests of another algorithm,
/// or of bytes before a transfer coding was undone. Then, and with a promised length alone, the last
/// capture of the URL, behind its redirects.
fn sources<'a>(
    catalogue: &'a Catalogue,
    promised: &'a PromisedFile,
    copies: &'a ArchivedResponses,
) -> impl Iterator<Item = anyhow::Result<Payload<'a>>> + 'a {
    let digest = promised.sha256.map(Digest::sha256);
    let by_digest = digest
        .and_then(|digest| copies.by_digest.get(&digest))
        .into_iter()
        .flatten()
        .map(|line| catalogue.payload_at(line.clone()));
    // Lookups of the URL wait until all copies turned out to be damaged.
    let by_url = std::iter::once_with(move || contents(catalogue, promised)).flatten();
    by_digest.chain(by_url)
}

/// Each different content that was captured of the URL, the latest first, if a digest is promised; then
/// the last good capture, behind the redirects of the URL.
fn contents<'a>(
    catalogue: &'a Catalogue,
    promised: &'a PromisedFile,
) -> Box<dyn Iterator<Item = anyhow::Result<Payload<'a>>> + 'a> {
    let mut captures = match catalogue.find(promised.url.as_str(), None) {
        Ok(captures) if captures.is_empty() => return Box::new(std::iter::empty()),
        Ok(captures) => captures,
        Err(error) => return Box::new(std::iter::once(Err(error))),
    };
    let choice = VariantChoice::Like(promised.variant.as_deref());
    let has_digest = promised.sha256.is_some() || !promised.digests.is_empty();
    let last = move || {
        let mut payload = catalogue.find_payload(CaptureQuery {
            url: promised.url.as_str(),
            request: None,
            variant: choice,
            at: None,
            sha256: None,
            any: false,
        })?;
        // Nothing but its date says that an older content is the promised one.
        match payload.lost.take() {
            Some(lost) if !has_digest => Err(lost),
            _ => Ok(payload),
        }
    };
    if !has_digest {
        captures.clear();
    }
    let mut known = HashSet::new();
    captures.retain(|capture| capture.status.is_none_or(is_good));
    captures.reverse();
    captures.retain(|capture| {
        // Captures without a digest may differ.
        let digest = &capture.line.digest;
        digest.parse::<Digest>().is_err() || known.insert(digest.clone())
    });
    let each = captures
        .into_iter()
        .map(|capture| catalogue.payload_at(capture.line));
    Box::new(each.chain(std::iter::once_with(last)))
}

/// Adds the bytes of the first source that has them, and returns the date of that capture. Without such
/// a source, the inner result is the problem of the first one, if there was any.
fn add<'a>(
    bag: &mut bag::Bag,
    name: &str,
    promised: &PromisedFile,
    sources: impl Iterator<Item = anyhow::Result<Payload<'a>>>,
) -> anyhow::Result<Result<String, Option<anyhow::Error>>> {
    let mut problem = None;
    for source in sources {
        let added = match &source {
            Ok(payload) => {
                let mut add = || bag.add(name, |output| promised.copy(payload, output));
                match add()? {
                    Err(_) if payload.doubt() => add()?,
                    added => added,
                }
            }
            Err(_) => Ok(()),
        };
        match source.and_then(|payload| added.map(|()| payload)) {
            Ok(payload) => return Ok(Ok(date::shown(&payload.capture.line.timestamp))),
            Err(error) => problem.get_or_insert(error),
        };
    }
    Ok(Err(problem))
}

/// Says why promised bytes are not in the bag, and which captures were not compared.
fn warn_of_missing(
    promised: &PromisedFile,
    problem: Option<&anyhow::Error>,
    copies: &ArchivedResponses,
) {
    let variant = variant_suffix(promised.variant.as_deref());
    let name = format!("{}{variant}", promised.url);
    let mut text = format!("not in the archive: {}", sanitize(&name));
    if let Some(problem) = problem {
        let _ = write!(text, ": {}", sanitize(&explain(problem)));
    }
    if promised.sha256.is_some() && copies.without_sha256 > 0 {
        let captures = count(copies.without_sha256, "capture");
        let _ = write!(
            text,
            "; the index has no SHA-256 of {captures}, of which only those of this URL were compared"
        );
    }
    print_warning(text);
}
