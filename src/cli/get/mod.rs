//! `urldb get`.

mod search;
mod sought;

use std::cell::OnceCell;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader, Seek, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use urldb_format::Digest;
use urldb_text::sanitize;
use urldb_verdict::JobKey;

use self::search::Search;
use self::sought::{Sought, broken};
use super::Context;
use super::print::output;
use super::print::style::{ListFormat, count, print_note};
use crate::copies::{Content, Copies, find_copies};
use crate::exit::ExitCode;
use crate::ledger::Ledger;
use crate::seek::{Answer, Asker, Source, sources_of};
use crate::stop::{Interrupted, Stop, stop_on_signals};

/// Fetch promised bytes from wherever they still are
///
/// Asks the URL itself, then other promised URLs with the same digest, the archive, and the places
/// of `[find.NAME]` in urldb.toml. What comes is written only once it is verified. With --dry-run,
/// the exit code is 1 if something was found nowhere.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb get http://example.org/m51.csv -o m51.csv
  urldb get sha256:59b49341821f9b0f2a4a9e2f3d0d8a5b8f2b0d8b8a3d3f2a4a9e2f3d0d8a5b8f -o m51.csv
  urldb get --dry-run --broken    who has the bytes of the URLs that are broken")]
pub(super) struct Args {
    /// The URL of a record with a digest, or a digest such as sha256:HEX; several with --dry-run
    #[arg(value_name = "URL|ALGORITHM:HEX", required_unless_present = "broken")]
    contents: Vec<String>,
    /// Write this file; `-` is standard output
    #[arg(short, long, value_name = "FILE", conflicts_with = "dry_run")]
    output: Option<PathBuf>,
    /// Ask all sources, also after the first one that has the bytes, and write no file
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Look for the bytes of every URL that is confirmed to be broken
    #[arg(long, requires = "dry_run", conflicts_with = "contents")]
    broken: bool,
    /// A line for each answer, or one JSON object per line
    #[arg(long, default_value = "human", requires = "dry_run")]
    format: ListFormat,
}

pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    anyhow::ensure!(
        args.dry_run || args.contents.len() == 1,
        "several contents make no file: name one, or use --dry-run"
    );
    let stop = Stop::new();
    stop_on_signals(&stop)?;
    let sought = if args.broken {
        broken(context)?
    } else {
        let named = args.contents.iter();
        named
            .map(|text| Sought::named(text, context))
            .collect::<anyhow::Result<_>>()?
    };
    let (contents, own): (Vec<Content>, Vec<Option<JobKey>>) =
        sought.into_iter().map(|it| (it.bytes, it.own)).unzip();
    let mut ledger = Ledger::new(&context.ledger());
    let copies = find_copies(&context.config, &mut ledger, contents);
    let sources: Vec<Vec<Source>> = copies
        .iter()
        .zip(&own)
        .map(|(copies, own)| sources_of(copies, own.as_ref(), &context.config))
        .collect::<anyhow::Result<_>>()?;
    let catalogue = OnceCell::new();
    let mut search = Search {
        asker: Asker::new(&context.config, sources.iter().flatten(), &stop)?,
        stop: &stop,
        context,
        copies: &copies,
        sources: &sources,
        ended: HashMap::new(),
        catalogue: &catalogue,
        archived: vec![],
        is_archive_unread: false,
    };
    if args.dry_run {
        search.print_answers(&own, args.format)
    } else {
        search.get(args.output.as_deref())
    }
}

/// The error of a file that no source could fill.
const NOTHING: &str = "no source has the bytes";

impl Search<'_> {
    /// Writes the bytes of the only content into a file, or to standard output.
    fn get(&mut self, output: Option<&Path>) -> anyhow::Result<ExitCode> {
        let output = output.filter(|it| it.as_os_str() != "-");
        let from = match output {
            Some(output) => self.write_file(output)?,
            None => self.write_out()?,
        };
        let Some(from) = from else {
            Interrupted::unless_goes_on(self.stop, "nothing was written")?;
            let urls = count(self.sources[0].len() as u64, "URL");
            let archive = if self.is_archive_unread {
                "do not have these bytes, and the archive cannot be read"
            } else {
                "and the archive do not have these bytes"
            };
            print_note(&format!("{urls} {archive}"));
            return Ok(ExitCode::Findings);
        };
        if let Some(output) = output.filter(|_| !self.context.quiet) {
            let digest = digest_of(&self.copies[0]);
            let (output, from) = (output.display(), sanitize(&from));
            writeln!(
                output::stdout(),
                "wrote {output} with {digest}, from {from}"
            )?;
        }
        Ok(ExitCode::Success)
    }

    /// Writes the file, if a source has its content, and returns where it is from.
    fn write_file(&mut self, output: &Path) -> anyhow::Result<Option<String>> {
        let mut from = None;
        let path = self.context.directory.join(output);
        let written = urldb_files::write_atomically_with(&path, |file| {
            from = self.fill(file)?;
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
        let from = self.fill(&mut file)?;
        if from.is_some() {
            file.rewind()?;
            output::write_bytes(|out| Ok(io::copy(&mut BufReader::new(file), out)?))?;
        }
        Ok(from)
    }

    /// Writes the only content into an empty file, and returns where it is from.
    fn fill(&mut self, file: &mut File) -> anyhow::Result<Option<String>> {
        let (mut from, quiet) = (None, self.context.quiet);
        self.ask(0, file, |found| {
            let Some(why) = found.answer.why() else {
                from = Some(found.from);
                return Ok(ControlFlow::Break(()));
            };
            if !quiet {
                print_note(&format!("{}: {why}", found.from));
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(from)
    }

    /// Prints the answer of each source of each content. `own` has the URLs that were named.
    fn print_answers(
        &mut self,
        own: &[Option<JobKey>],
        format: ListFormat,
    ) -> anyhow::Result<ExitCode> {
        let mut out = output::stdout();
        let mut file = urldb_files::unnamed_file()?;
        let mut exit = ExitCode::Success;
        for (number, (copies, own)) in self.copies.iter().zip(own).enumerate() {
            let digest = digest_of(copies);
            let sought = copies
                .records
                .iter()
                .find(|copy| Some(&copy.key) == own.as_ref())
                .map(|copy| copy.url.as_str());
            if format == ListFormat::Human {
                let name = sought.map_or(String::new(), |url| format!("{}  ", sanitize(url)));
                writeln!(out, "{name}{digest}")?;
            }
            let (mut is_asked, mut is_found) = (false, false);
            self.ask(number, &mut file, |found| {
                is_asked = true;
                is_found |= found.answer == Answer::Verified;
                found.print(format, &digest, sought, &mut out)?;
                Ok(ControlFlow::Continue(()))
            })?;
            Interrupted::unless_goes_on(self.stop, "not all sources were asked")?;
            if !is_asked && format == ListFormat::Human {
                let nowhere = "no URL, no archive and no [find.NAME] could have it";
                writeln!(out, "  nowhere to look: {nowhere}")?;
            }
            if !is_found {
                exit = ExitCode::Findings;
            }
        }
        Ok(exit)
    }
}

/// The strongest digest of a content.
fn digest_of(copies: &Copies) -> String {
    copies
        .content
        .strongest()
        .map_or_else(String::new, Digest::to_string)
}
