//! `urldb find`.

use std::collections::HashSet;
use std::io::{self, Write};

use serde::Serialize;
use urldb_format::{Digest, DomainReader};
use urldb_text::sanitize;
use urldb_verdict::JobKey;

use super::Context;
use super::get::{Sought, archived, captures};
use super::print::output;
use super::print::progress::ProgressLine;
use super::print::style::ListFormat;
use crate::archive::Payload;
use crate::copies::{Content, Copies, Hasher, find_copies};
use crate::exit::ExitCode;
use crate::ledger::Ledger;
use crate::seek::{Answer, Asker, Source, sources_of};
use crate::stop::{Interrupted, Stop, stop_on_signals};

/// Look for promised bytes elsewhere; every hit is verified
///
/// Asks as `urldb get` does, but everywhere, and writes no file: the URL itself, other promised URLs
/// with the same digest, the archive, and the places of `[find.NAME]` in urldb.toml. The exit code
/// is 1 if something was found nowhere.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb find http://example.org/m51.csv
  urldb find --broken
  urldb find --broken --format jsonl | jq 'select(.verified)'")]
pub(super) struct Args {
    /// URLs of records with a digest, or digests such as sha256:HEX
    #[arg(value_name = "URL|ALGORITHM:HEX", required_unless_present = "broken")]
    contents: Vec<String>,
    /// Look for the bytes of every URL that is believed to be broken
    #[arg(long, conflicts_with = "contents")]
    broken: bool,
    /// A line for each answer, or one JSON object per line
    #[arg(long, default_value = "human")]
    format: ListFormat,
}

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

/// The content of an argument, and what was found.
struct Finding {
    copies: Copies,
    own: Option<JobKey>,
    found: Vec<Found>,
}

/// An answer.
struct Found {
    place: String,
    at: String,
    answer: Answer,
}

pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let stop = Stop::new();
    stop_on_signals(&stop)?;
    let sought = if args.broken {
        broken(context)?
    } else {
        let named = args
            .contents
            .iter()
            .map(|text| Sought::named(text, context));
        named.collect::<anyhow::Result<_>>()?
    };
    let (contents, own): (Vec<Content>, Vec<Option<JobKey>>) =
        sought.into_iter().map(|it| (it.bytes, it.own)).unzip();
    let found = find_copies(
        &context.config,
        &mut Ledger::new(&context.ledger()),
        contents,
    );
    let mut findings: Vec<Finding> = found
        .into_iter()
        .zip(own)
        .map(|(copies, own)| Finding {
            copies,
            own,
            found: vec![],
        })
        .collect();
    ask(&mut findings, context, &stop)?;
    Interrupted::unless_goes_on(&stop, "not all sources were asked")?;
    let mut out = io::BufWriter::new(output::stdout());
    for finding in &findings {
        finding.print(args.format, &mut out)?;
    }
    out.flush()?;
    let is_everywhere = findings.iter().all(Finding::is_found);
    Ok(if is_everywhere {
        ExitCode::Success
    } else {
        ExitCode::Findings
    })
}

/// The bytes of the URLs that are believed to be broken.
fn broken(context: &Context) -> anyhow::Result<Vec<Sought>> {
    let mut ledger = Ledger::new(&context.ledger());
    // Bytes that several broken URLs promise are sought once.
    let (mut sought, mut known) = (vec![], HashSet::new());
    for path in context.config.open_database()?.files() {
        let host = urldb_format::host_of(path);
        let mut file = DomainReader::open(path)?;
        let metadata = file.metadata().clone();
        while let Some(document) = file.next()? {
            let Some(entry) = document.to_entry() else {
                continue;
            };
            let record = entry.record();
            let Some(bytes) = Content::of(record).filter(|_| record.request_key().is_none()) else {
                continue;
            };
            let key = JobKey {
                domain: host.clone(),
                path: record.path.clone(),
                request: None,
                variant: metadata.variant_of(record),
                alias: None,
                scheme: metadata.scheme_of(record),
            };
            ledger.open_at(&key)?;
            let state = ledger.get(&key).map(|entry| entry.url_status.state);
            let mut is_new = || known.insert(bytes.strongest().cloned());
            if state.is_some_and(urldb_protocol::State::is_broken) && is_new() {
                sought.push(Sought {
                    bytes,
                    own: Some(key),
                });
            }
        }
        ledger.close(&host);
    }
    Ok(sought)
}

/// Asks all sources of all contents, and the archive.
fn ask(findings: &mut [Finding], context: &Context, stop: &Stop) -> anyhow::Result<()> {
    let catalogue = captures(context);
    let mut sources: Vec<(usize, Source)> = vec![];
    for (number, finding) in findings.iter_mut().enumerate() {
        let own = sources_of(&finding.copies, finding.own.as_ref(), &context.config)?;
        sources.extend(own.into_iter().map(|source| (number, source)));
    }
    let asker = Asker::new(
        &context.config,
        sources.iter().map(|(_, source)| source),
        stop,
    )?;
    let bar = ProgressLine::new(sources.len() as u64, context.quiet);
    let mut answers: Vec<Option<Answer>> = vec![None; sources.len()];
    let jobs: Vec<(&Source, &Content)> = sources
        .iter()
        .map(|(number, source)| (source, &findings[*number].copies.content))
        .collect();
    asker.ask_all(&jobs, |number, answer| {
        bar.advance();
        answers[number] = Some(answer);
    });
    bar.finish();
    for ((number, source), answer) in sources.into_iter().zip(answers) {
        findings[number].found.push(Found {
            place: source.kind.to_string(),
            at: source.url.to_string(),
            answer: answer.unwrap_or_else(|| Answer::Other("was not asked".to_owned())),
        });
    }
    let catalogue = match catalogue {
        Ok(Some(catalogue)) => catalogue,
        Ok(None) => return Ok(()),
        Err(error) => {
            let why = format!("cannot be read: {error:#}");
            for finding in findings {
                finding.add_archived(Err(anyhow::anyhow!(why.clone())));
            }
            return Ok(());
        }
    };
    let sought: Vec<&Copies> = findings.iter().map(|finding| &finding.copies).collect();
    let archived = archived(&catalogue, &sought);
    for (finding, payload) in findings.iter_mut().zip(archived) {
        finding.add_archived(payload);
    }
    Ok(())
}

impl Finding {
    /// Adds what the archive has.
    fn add_archived(&mut self, payload: anyhow::Result<Option<Payload<'_>>>) {
        let content = &self.copies.content;
        let found = payload.and_then(|payload| {
            let Some(payload) = payload else {
                return Ok(None);
            };
            let has_bytes = payload.from_good_copy(|| {
                let mut hasher = Hasher::new(content);
                payload.copy_to(&mut hasher)?;
                Ok(hasher.is_content(content))
            })?;
            let answer = if has_bytes {
                Answer::Verified
            } else {
                Answer::Other("has other bytes".to_owned())
            };
            Ok(Some((payload.capture.line.filename.clone(), answer)))
        });
        let (at, answer) = match found {
            Ok(None) => return,
            Ok(Some(found)) => found,
            Err(error) => (String::new(), Answer::Other(format!("{error:#}"))),
        };
        let place = "archive".to_owned();
        self.found.push(Found { place, at, answer });
    }

    fn is_found(&self) -> bool {
        self.found
            .iter()
            .any(|found| found.answer == Answer::Verified)
    }

    /// The URL that was sought.
    fn sought(&self) -> Option<&str> {
        let mut records = self.copies.records.iter();
        let own = records.find(|copy| Some(&copy.key) == self.own.as_ref())?;
        Some(own.url.as_str())
    }

    fn print(&self, format: ListFormat, out: &mut impl Write) -> io::Result<()> {
        let digest = self
            .copies
            .content
            .strongest()
            .map_or_else(String::new, Digest::to_string);
        let sought = self.sought();
        if format == ListFormat::Human {
            let name = sought.map_or(String::new(), |url| format!("{}  ", sanitize(url)));
            writeln!(out, "{name}{digest}")?;
        }
        for Found { place, at, answer } in &self.found {
            let because = answer.why();
            let because = because.as_deref();
            match format {
                ListFormat::Human => {
                    let word = if because.is_none() { "verified" } else { "no" };
                    let because =
                        because.map_or(String::new(), |why| format!(": {}", sanitize(why)));
                    writeln!(out, "  {word:8}  {place}  {}{because}", sanitize(at))?;
                }
                ListFormat::Jsonl => {
                    let line = FoundLine {
                        digest: &digest,
                        sought,
                        place,
                        at,
                        verified: because.is_none(),
                        because,
                    };
                    writeln!(out, "{}", output::json(&line)?)?;
                }
            }
        }
        if self.found.is_empty() && format == ListFormat::Human {
            writeln!(
                out,
                "  nowhere to look: no URL, no archive and no [find.NAME] could have it"
            )?;
        }
        Ok(())
    }
}
