//! `urldb get`.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use anyhow::Context as _;
use urldb_format::{Algorithm, Digest, DomainReader, Record};
use urldb_text::sanitize;
use urldb_verdict::JobKey;

use super::Context;
use super::archive::archive_files;
use super::args::find_records;
use super::print::output;
use super::print::progress::ProgressLine;
use super::print::style::{count, print_note};
use crate::archive::{Catalogue, Payload};
use crate::copies::{Content, Copies, Hasher, find_copies};
use crate::exit::ExitCode;
use crate::ledger::Ledger;
use crate::seek::{Asker, Source, SourceKind, sources_of};
use crate::stop::{Interrupted, Stop, stop_on_signals};

/// Fetch promised bytes from wherever they still are
///
/// Asks the URL itself, then other promised URLs with the same digest, the archive, and the places
/// of `[find.NAME]` in urldb.toml. What comes is written only once it is verified.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb get http://example.org/m51.csv -o m51.csv
  urldb get sha256:59b49341821f9b0f2a4a9e2f3d0d8a5b8f2b0d8b8a3d3f2a4a9e2f3d0d8a5b8f -o m51.csv")]
pub(super) struct Args {
    /// The URL of a record with a digest, or a digest such as sha256:HEX
    #[arg(value_name = "URL|ALGORITHM:HEX")]
    content: String,
    /// Write this file; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let stop = Stop::new();
    stop_on_signals(&stop)?;
    let sought = Sought::named(&args.content, context)?;
    let mut ledger = Ledger::new(&context.ledger());
    let mut found = find_copies(&context.config, &mut ledger, vec![sought.bytes]);
    let copies = found.pop().context("a content was sought")?;
    let sources = sources_of(&copies, sought.own.as_ref(), &context.config)?;
    let mut getting = Getting {
        asker: Asker::new(&context.config, sources.iter(), &stop)?,
        stop: &stop,
        context,
        copies: &copies,
        sources: &sources,
        done: HashSet::new(),
        is_archive_unread: false,
    };
    let output = args.output.as_deref();
    let output = output.filter(|it| it.as_os_str() != "-");
    let from = match output {
        Some(output) => getting.write_file(output)?,
        None => getting.write_out()?,
    };
    let Some(from) = from else {
        Interrupted::unless_goes_on(&stop, "nothing was written")?;
        let urls = count(sources.len() as u64, "URL");
        let archive = if getting.is_archive_unread {
            "do not have these bytes, and the archive cannot be read"
        } else {
            "and the archive do not have these bytes"
        };
        print_note(&format!("{urls} {archive}; `urldb find` says why"));
        return Ok(ExitCode::Findings);
    };
    if let Some(output) = output.filter(|_| !context.quiet) {
        let digest = copies.content.strongest();
        let digest = digest.map_or_else(String::new, Digest::to_string);
        let (output, from) = (output.display(), sanitize(&from));
        writeln!(
            output::stdout(),
            "wrote {output} with {digest}, from {from}"
        )?;
    }
    Ok(ExitCode::Success)
}

/// The error of a file that no source could fill.
const NOTHING: &str = "no source has the bytes";

/// The bytes that an argument names.
pub(super) struct Sought {
    pub(super) bytes: Content,
    /// The record of the URL, if a URL was named.
    pub(super) own: Option<JobKey>,
}

impl Sought {
    /// The bytes of a URL or of a digest.
    ///
    /// # Errors
    /// When the text is neither, or the URL has no record with a digest, or several with different ones.
    pub(super) fn named(text: &str, context: &Context) -> anyhow::Result<Self> {
        let named = text
            .split_once(':')
            .and_then(|(name, hex)| Some((Algorithm::from_name(name)?, hex)));
        if let Some((algorithm, hex)) = named {
            let digest = Digest::from_hex(algorithm, hex.to_ascii_lowercase());
            let digest = digest.with_context(|| {
                format!("{hex} is no {} in hexadecimal digits", algorithm.name())
            })?;
            return Ok(Self {
                bytes: Content::with(digest),
                own: None,
            });
        }
        let records = find_records(context, &[text.to_owned()])?;
        let named = records.first().context("a URL was named")?;
        let mut file = DomainReader::open(context.domain_file(&named.domain))?;
        let metadata = file.metadata().clone();
        let mut found: Vec<(Content, Record)> = vec![];
        while let Some(document) = file.next()? {
            let entry = document
                .to_entry()
                .filter(|entry| entry.record().path == named.path);
            let Some(record) = entry.map(|entry| entry.record().clone()) else {
                continue;
            };
            if let Some(content) = Content::of(&record).filter(|_| record.request_key().is_none())
                && found.iter().all(|(known, _)| *known != content)
            {
                found.push((content, record));
            }
        }
        anyhow::ensure!(
            found.len() < 2,
            "{text} has several records with different bytes: name the digest, such as sha256:HEX"
        );
        let (bytes, record) = found.pop().with_context(|| {
            format!("{text} promises no digest, so that nothing that comes could be verified")
        })?;
        Ok(Self {
            bytes,
            own: Some(JobKey {
                domain: named.domain.clone(),
                path: named.path.clone(),
                request: None,
                variant: metadata.variant_of(&record),
                alias: None,
                scheme: metadata.scheme_of(&record),
            }),
        })
    }
}

/// For each of these contents, the full capture with its bytes, if the archive has one.
pub(super) fn archived<'a>(
    catalogue: &'a Catalogue,
    sought: &[&Copies],
) -> Vec<anyhow::Result<Option<Payload<'a>>>> {
    let of_urls = sought.iter().map(|copies| {
        let Some(sha256) = copies.content.sha256() else {
            return Ok(None);
        };
        let urls = copies.records.iter().map(|copy| copy.url.to_string());
        catalogue.content_of(&urls.collect::<Vec<_>>(), sha256)
    });
    let mut found: Vec<anyhow::Result<Option<Payload<'a>>>> = of_urls.collect();
    // Others may be archived under URLs that no record has any more: one pass over the index finds all of them.
    let mut missing: Vec<(&mut anyhow::Result<Option<Payload<'a>>>, [u8; 32])> = found
        .iter_mut()
        .zip(sought)
        .filter(|(found, _)| matches!(found, Ok(None)))
        .filter_map(|(found, copies)| Some((found, copies.content.sha256()?)))
        .collect();
    let wanted: HashSet<[u8; 32]> = missing.iter().map(|(_, sha256)| *sha256).collect();
    if wanted.is_empty() {
        return found;
    }
    match catalogue.lines_with(&wanted) {
        Ok(lines) => {
            for (found, sha256) in missing {
                if let Some(line) = lines.get(&sha256) {
                    *found = catalogue.payload_at(line.clone()).map(Some);
                }
            }
        }
        Err(error) => *missing[0].0 = Err(error),
    }
    found
}

/// The captures of the repository; `None` without an archive. Warns if the first place of the archive cannot be asked.
///
/// # Errors
/// When no place of the archive can be asked, or the archive cannot be read.
pub(super) fn captures(context: &Context) -> anyhow::Result<Option<Catalogue>> {
    let config = &context.config;
    if config.archive.stores.is_empty() && !config.archive_root().is_folder() {
        return Ok(None);
    }
    Catalogue::open(archive_files(context)?).map(Some)
}

/// The sources of one content, one after another.
struct Getting<'a> {
    asker: Asker<'a>,
    stop: &'a Stop,
    context: &'a Context,
    copies: &'a Copies,
    sources: &'a [Source],
    /// Hosts that did not answer, or refuse requests.
    done: HashSet<String>,
    /// Whether the archive may have the bytes, and could not be read.
    is_archive_unread: bool,
}

impl Getting<'_> {
    /// Writes the file, if a source has its content, and returns where it is from.
    fn write_file(&mut self, output: &Path) -> anyhow::Result<Option<String>> {
        let mut from = None;
        let path = self.context.directory.join(output);
        let written = urldb_files::write_atomically_with(&path, |file| {
            from = self.get(file)?;
            // Without the bytes, there is no new file.
            anyhow::ensure!(from.is_some(), NOTHING);
            Ok(())
        });
        match written {
            Err(error) if from.is_some() || error.to_string() != NOTHING => {
                Err(error.context(format!("{} was not written", output.display())))
            }
            _ => Ok(from),
        }
    }

    /// The same for standard output.
    fn write_out(&mut self) -> anyhow::Result<Option<String>> {
        let mut file = urldb_files::unnamed_file()?;
        let from = self.get(&mut file)?;
        if from.is_some() {
            file.seek(SeekFrom::Start(0))?;
            output::write_bytes(|out| Ok(io::copy(&mut BufReader::new(file), out)?))?;
        }
        Ok(from)
    }

    /// Writes the content into an empty file, and returns where it is from.
    fn get(&mut self, file: &mut File) -> anyhow::Result<Option<String>> {
        let read = Arc::clone(self.asker.read());
        let bar = ProgressLine::of_body(read, self.copies.content.length(), self.context.quiet);
        let is_place = |source: &&Source| matches!(source.kind, SourceKind::Place(_));
        let (places, promised): (Vec<&Source>, Vec<&Source>) =
            self.sources.iter().partition(is_place);
        let mut found = self.ask(&promised, file, &bar)?;
        if found.is_none() {
            found = self.ask_archive(file, &bar)?;
        }
        if found.is_none() {
            found = self.ask(&places, file, &bar)?;
        }
        bar.finish();
        Ok(found)
    }

    fn ask(
        &mut self,
        sources: &[&Source],
        file: &mut File,
        bar: &ProgressLine,
    ) -> anyhow::Result<Option<String>> {
        for source in sources {
            if self.stop.is_set() {
                return Ok(None);
            }
            let host = source.url.host();
            if self.done.contains(host) {
                continue;
            }
            self.asker.read().store(0, Ordering::Relaxed);
            bar.say(source.url.as_str());
            let answer = self.asker.copy(source, &self.copies.content, file)?;
            let Some(why) = answer.why() else {
                return Ok(Some(source.url.to_string()));
            };
            if answer.end().is_some() {
                self.done.insert(host.to_owned());
            }
            bar.suspend(|| self.note(&format!("{}: {why}", source.url)));
        }
        Ok(None)
    }

    fn ask_archive(
        &mut self,
        file: &mut File,
        bar: &ProgressLine,
    ) -> anyhow::Result<Option<String>> {
        let copies = self.copies;
        let catalogue = bar.suspend(|| captures(self.context));
        let found = catalogue.and_then(|catalogue| {
            let Some(catalogue) = catalogue else {
                return Ok(None);
            };
            let found = archived(&catalogue, &[copies]).pop().unwrap_or(Ok(None));
            let Some(payload) = found? else {
                return Ok(None);
            };
            payload.from_good_copy(|| {
                file.set_len(0)?;
                file.seek(SeekFrom::Start(0))?;
                payload.copy_to(file)?;
                file.seek(SeekFrom::Start(0))?;
                let mut hasher = Hasher::new(&copies.content);
                io::copy(&mut BufReader::new(&mut *file), &mut hasher)?;
                let has_bytes = hasher.is_content(&copies.content);
                anyhow::ensure!(has_bytes, "the archive has other bytes");
                Ok(())
            })?;
            Ok(Some(format!(
                "the archive: {}",
                payload.capture.line.filename
            )))
        });
        match found {
            Ok(found) => Ok(found),
            Err(error) => {
                bar.suspend(|| self.note(&format!("the archive: {error:#}")));
                self.is_archive_unread = true;
                file.set_len(0)?;
                file.seek(SeekFrom::Start(0))?;
                Ok(None)
            }
        }
    }

    fn note(&self, text: &str) {
        if !self.context.quiet {
            print_note(text);
        }
    }
}
