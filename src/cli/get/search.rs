//! The search for bytes: the URL, other URLs with these bytes, the archive, and the places of `[find.NAME]`.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, BufReader, Seek, Write};
use std::mem;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde::Serialize;
use urldb_text::sanitize;

use crate::archive::{Catalogue, Payload};
use crate::cli::Context;
use crate::cli::archive::archive_files;
use crate::cli::print::output;
use crate::cli::print::progress::ProgressLine;
use crate::cli::print::style::ListFormat;
use crate::copies::Copies;
use crate::seek::{Answer, Asker, Source, SourceKind};
use crate::stop::Stop;

/// One line of `--format jsonl`.
#[derive(Serialize)]
struct FoundLine<'a> {
    digest: &'a str,
    /// The URL that was sought.
    #[serde(skip_serializing_if = "Option::is_none")]
    sought: Option<&'a str>,
    /// `url`, `copy`, `archive`, or the name of the place.
    place: &'a str,
    /// The URL of the answer, or the file of the archive.
    at: &'a str,
    verified: bool,
    /// Why it was not verified, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    because: Option<&'a str>,
}

/// The answer of a source.
pub(super) struct Found {
    /// `url`, `copy`, `archive`, or the name of the place.
    place: String,
    /// The URL, or the file of the archive.
    at: String,
    /// The source, for people.
    pub(super) from: String,
    pub(super) answer: Answer,
}

/// The sources of contents, one after another.
pub(super) struct Search<'a> {
    pub(super) asker: Asker<'a>,
    pub(super) stop: &'a Stop,
    pub(super) context: &'a Context,
    pub(super) copies: &'a [Copies],
    /// The sources of each content.
    pub(super) sources: &'a [Vec<Source>],
    /// Hosts that did not answer, or refuse requests, with the reason.
    pub(super) ended: HashMap<String, String>,
    pub(super) catalogue: &'a OnceCell<anyhow::Result<Option<Catalogue>>>,
    /// For each content, its capture; empty until the archive is asked.
    pub(super) archived: Vec<anyhow::Result<Option<Payload<'a>>>>,
    /// Whether the archive may have the bytes, and could not be read.
    pub(super) is_archive_unread: bool,
}

impl Search<'_> {
    /// Asks the sources of a content in their order: its URLs, the archive, the places. `take` gets each answer, and says
    /// whether to go on; the file then has the bytes, if they are verified.
    pub(super) fn ask(
        &mut self,
        number: usize,
        file: &mut File,
        mut take: impl FnMut(Found) -> anyhow::Result<ControlFlow<()>>,
    ) -> anyhow::Result<()> {
        let read = Arc::clone(self.asker.read());
        let length = self.copies[number].content.length();
        let bar = ProgressLine::of_body(read, length, self.context.quiet);
        let is_place = |source: &&Source| matches!(source.kind, SourceKind::Place(_));
        let (places, promised): (Vec<&Source>, Vec<&Source>) =
            self.sources[number].iter().partition(is_place);
        let promised = promised.into_iter().map(Some);
        let places = places.into_iter().map(Some);
        for source in promised.chain([None]).chain(places) {
            if self.stop.is_set() {
                break;
            }
            empty(file)?;
            let found = match source {
                Some(source) => Some(self.ask_source(number, source, file, &bar)?),
                None => self.ask_archive(number, file, &bar),
            };
            if let Some(found) = found
                && bar.suspend(|| take(found))?.is_break()
            {
                break;
            }
        }
        bar.finish();
        Ok(())
    }

    fn ask_source(
        &mut self,
        number: usize,
        source: &Source,
        file: &mut File,
        bar: &ProgressLine,
    ) -> anyhow::Result<Found> {
        let host = source.url.host();
        let answer = if let Some(why) = self.ended.get(host) {
            Answer::NotAsked(why.clone())
        } else {
            self.asker.read().store(0, Ordering::Relaxed);
            bar.say(source.url.as_str());
            let content = &self.copies[number].content;
            self.asker.copy(source, content, file)?
        };
        if let Some(why) = answer.end() {
            self.ended.insert(host.to_owned(), why.to_owned());
        }
        Ok(Found {
            place: source.kind.to_string(),
            at: source.url.to_string(),
            from: source.url.to_string(),
            answer,
        })
    }

    /// The answer of the archive; `None` if it has no capture of the content.
    fn ask_archive(&mut self, number: usize, file: &mut File, bar: &ProgressLine) -> Option<Found> {
        if self.archived.is_empty() {
            let open = || bar.suspend(|| captures(self.context));
            self.archived = match self.catalogue.get_or_init(open) {
                Ok(Some(catalogue)) => archived(catalogue, self.copies),
                Ok(None) => self.copies.iter().map(|_| Ok(None)).collect(),
                Err(error) => self
                    .copies
                    .iter()
                    .map(|_| Err(anyhow::anyhow!("{error:#}")))
                    .collect(),
            };
        }
        let content = &self.copies[number].content;
        let payload = mem::replace(&mut self.archived[number], Ok(None));
        let found = payload.and_then(|payload| {
            let Some(payload) = payload else {
                return Ok(None);
            };
            payload.from_good_copy(|| {
                empty(file)?;
                payload.copy_to(file)?;
                file.rewind()?;
                let has_bytes = content.is_read_from(BufReader::new(&mut *file))?;
                anyhow::ensure!(has_bytes, "the archive has other bytes");
                Ok(())
            })?;
            Ok(Some(payload.capture.line.filename.clone()))
        });
        let (at, from, answer) = match found {
            Ok(None) => return None,
            Ok(Some(at)) => {
                let from = format!("the archive: {at}");
                (at, from, Answer::Verified)
            }
            Err(error) => {
                self.is_archive_unread = true;
                let from = "the archive".to_owned();
                (String::new(), from, Answer::Other(format!("{error:#}")))
            }
        };
        let place = "archive".to_owned();
        Some(Found {
            place,
            at,
            from,
            answer,
        })
    }
}

impl Found {
    pub(super) fn print(
        &self,
        format: ListFormat,
        digest: &str,
        sought: Option<&str>,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let because = self.answer.why();
        let because = because.as_deref();
        if format == ListFormat::Jsonl {
            let line = FoundLine {
                digest,
                sought,
                place: &self.place,
                at: &self.at,
                verified: because.is_none(),
                because,
            };
            return writeln!(out, "{}", output::json(&line)?);
        }
        let word = if because.is_none() { "verified" } else { "no" };
        let because = because.map_or(String::new(), |why| format!(": {}", sanitize(why)));
        let (place, at) = (&self.place, sanitize(&self.at));
        writeln!(out, "  {word:8}  {place}  {at}{because}")
    }
}

/// For each of these contents, the full capture with its bytes, if the archive has one.
fn archived<'a>(
    catalogue: &'a Catalogue,
    sought: &[Copies],
) -> Vec<anyhow::Result<Option<Payload<'a>>>> {
    let mut found: Vec<anyhow::Result<Option<Payload<'a>>>> = sought
        .iter()
        .map(|copies| {
            let Some(sha256) = copies.content.sha256() else {
                return Ok(None);
            };
            let urls = copies.records.iter().map(|copy| copy.url.to_string());
            catalogue.content_of(&urls.collect::<Vec<_>>(), sha256)
        })
        .collect();
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
fn captures(context: &Context) -> anyhow::Result<Option<Catalogue>> {
    let config = &context.config;
    if config.archive.stores.is_empty() && !config.archive_root().is_folder() {
        return Ok(None);
    }
    Catalogue::open(archive_files(context)?).map(Some)
}

fn empty(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()
}
