//! `urldb archive diff`.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::time::Duration;

use anyhow::Context as _;
use data_encoding::HEXLOWER;
use similar::TextDiff;
use urldb_protocol::TextDifference;
use urldb_render::contents_sentence;
use urldb_text::{Shown, sanitize};

use super::{
    AnsweredArgs, CaptureQuery, Catalogue, Context, ExitCode, PartialDate, Payload, VariantChoice,
    catalogue, date, truncation, warn_of_truncated,
};
use crate::archive::archived_files::contents;
use crate::archive::difference::{Content, NO_COPY, content, copy_of, first_difference};
use crate::cli::print::output;
use crate::cli::print::style::{BAD, DIM, GOOD, count, paint};
use crate::explain::explain;

/// The message for longer texts.
const TOO_LONG: &str =
    "not compared line by line, as only texts of up to 8 MiB and 500000 lines are";

/// The longest output, in lines and in characters per line.
const MOST_LINES: usize = 1000;
const LONGEST_LINE: usize = 1000;

/// After this time the differences need not be the smallest.
const PATIENCE: Duration = Duration::from_secs(5);

/// Bytes in a line of a hex dump, and lines of it around the first difference.
const DUMP_WIDTH: usize = 16;
const DUMP_LINES: u64 = 4;

/// Show how two captures of a URL differ
///
/// Without --at: the last two different contents. With one: the capture of that
/// date and the last one. With two: the captures of both dates. The exit code
/// is 1 if they differ.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb archive diff http://example.org/m51.csv
  urldb archive diff http://example.org/m51.csv --at 2026-10 --at 2026-11")]
pub(super) struct Args {
    /// Compare the last capture by the end of this date, in UTC; may be given twice
    #[arg(long, value_name = "DATE")]
    at: Vec<PartialDate>,
    /// Accept error pages, redirects and incomplete bodies too
    #[arg(long)]
    any: bool,
    #[command(flatten)]
    request: AnsweredArgs,
    /// The URL
    #[arg(value_name = "URL")]
    url: String,
}

pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let catalogue = catalogue(context)?;
    let ComparedCaptures { old, new } = sides(args, context, &catalogue)?;
    let Some(old) = old else {
        ensure_nothing_truncated(&[&new])?;
        if !context.quiet {
            writeln!(output::stdout(), "{} never changed", sanitize(&args.url))?;
        }
        return Ok(ExitCode::Success);
    };
    if old.is_of(&new) {
        ensure_nothing_truncated(&[&old, &new])?;
        if !context.quiet {
            let date = date::shown(&new.capture.line.timestamp);
            let name = new.capture.name();
            let name = sanitize(&name);
            writeln!(output::stdout(), "both are the capture of {name} of {date}")?;
        }
        return Ok(ExitCode::Success);
    }
    let payloads = [&old, &new];
    let (mut old, mut new) = (DiffSide::load(&old)?, DiffSide::load(&new)?);
    let first = first_difference(old.from(0).context(NO_COPY)?, new.from(0).context(NO_COPY)?);
    let Some(first) = first.context(NO_COPY)? else {
        ensure_nothing_truncated(&payloads)?;
        if !context.quiet {
            let (old, new) = (&old.date, &new.date);
            writeln!(output::stdout(), "the same bytes at {old} and {new}")?;
        }
        return Ok(ExitCode::Success);
    };
    for payload in payloads {
        let truncated = Some(&payload.capture).filter(|capture| capture.truncated.is_some());
        payload
            .truncated_instead()
            .into_iter()
            .chain(truncated)
            .for_each(warn_of_truncated);
    }
    let mut out = BufWriter::new(output::stdout());
    let contents = [&mut old, &mut new].map(|side| content(&mut side.file).context(NO_COPY));
    let [old_content, new_content] = contents;
    match (old_content?, new_content?) {
        (Content::Text(old_text), Content::Text(new_text)) => {
            let header = (old.title(), new.title());
            write_texts(&mut out, (&old_text, &new_text), header)?;
        }
        (Content::Binary, _) | (_, Content::Binary) => {
            write_bytes(&mut out, &mut old, &mut new, first)?;
            write_files(&mut out, &mut old, &mut new)?;
        }
        _ => {
            write_bytes(&mut out, &mut old, &mut new, first)?;
            if !write_files(&mut out, &mut old, &mut new)? {
                writeln!(out, "{TOO_LONG}")?;
            }
        }
    }
    out.flush()?;
    Ok(ExitCode::Findings)
}

/// Refuses to call contents the same if the archive has only the beginning of another one, or lost it.
fn ensure_nothing_truncated(payloads: &[&Payload<'_>]) -> anyhow::Result<()> {
    for payload in payloads {
        if let Some(lost) = &payload.lost {
            anyhow::bail!("{}, so urldb cannot say whether it changed", explain(lost));
        }
        let truncated = Some(&payload.capture).filter(|capture| capture.truncated.is_some());
        if let Some(capture) = payload.truncated_instead().or(truncated) {
            anyhow::bail!(
                "{}, so urldb cannot say whether {} changed; --any compares what there is",
                truncation(capture),
                sanitize(&capture.name())
            );
        }
    }
    Ok(())
}

struct ComparedCaptures<'a> {
    /// Absent if there is only one content.
    old: Option<Payload<'a>>,
    new: Payload<'a>,
}

fn sides<'a>(
    args: &Args,
    context: &Context,
    catalogue: &'a Catalogue,
) -> anyhow::Result<ComparedCaptures<'a>> {
    let request = args.request.stored(&context.directory)?;
    let headers = args.request.headers()?;
    let subject = CaptureQuery {
        url: &args.url,
        request: request.as_ref(),
        variant: VariantChoice::Named(&headers),
        at: None,
        sha256: None,
        any: args.any,
    };
    let take = |at| catalogue.find_payload(CaptureQuery { at, ..subject });
    match args.at.as_slice() {
        [] => {
            let new = take(None)?;
            let old = catalogue.before(&new, args.any)?;
            Ok(ComparedCaptures { old, new })
        }
        [then] => Ok(ComparedCaptures {
            old: Some(take(Some(then))?),
            new: take(None)?,
        }),
        [one, other] => Ok(ComparedCaptures {
            old: Some(take(Some(one))?),
            new: take(Some(other))?,
        }),
        _ => anyhow::bail!("--at can be given twice at most: two captures are compared"),
    }
}

/// One side, copied out of the archive and verified.
struct DiffSide {
    name: String,
    date: String,
    length: u64,
    file: File,
}

impl DiffSide {
    fn load(payload: &Payload<'_>) -> anyhow::Result<Self> {
        let file = copy_of(payload)?;
        Ok(Self {
            name: payload.capture.name(),
            date: date::shown(&payload.capture.line.timestamp),
            length: file.metadata().context(NO_COPY)?.len(),
            file,
        })
    }

    fn title(&self) -> String {
        format!("{} of {}", sanitize(&self.name), self.date)
    }

    fn from(&mut self, offset: u64) -> io::Result<impl BufRead + '_> {
        self.file.seek(SeekFrom::Start(offset))?;
        Ok(BufReader::new(&mut self.file))
    }
}

fn write_texts(
    out: &mut impl Write,
    (old, new): (&str, &str),
    (old_title, new_title): (String, String),
) -> io::Result<()> {
    let diff = TextDiff::configure().timeout(PATIENCE).diff_lines(old, new);
    let text = diff
        .unified_diff()
        .header(&old_title, &new_title)
        .to_string();
    let mut lines = text.lines();
    for line in lines.by_ref().take(MOST_LINES) {
        write_line(out, &shown(line))?;
    }
    match lines.count() {
        0 => Ok(()),
        more => writeln!(out, "... and {}", count(more as u64, "more line")),
    }
}

/// A line of a difference, which begins with its mark.
fn write_line(out: &mut impl Write, line: &str) -> io::Result<()> {
    let style = match line.as_bytes().first() {
        Some(b'-') => BAD,
        Some(b'+') => GOOD,
        _ => DIM,
    };
    writeln!(out, "{}", paint(style, line))
}

/// The files in both sides, and the lines of small texts that differ. False if these are no archives.
fn write_files(out: &mut impl Write, old: &mut DiffSide, new: &mut DiffSide) -> io::Result<bool> {
    let Some(contents) = contents(&mut old.file, &mut new.file) else {
        return Ok(false);
    };
    writeln!(out, "{}", contents_sentence(&contents).plain())?;
    for member in &contents.members {
        let Some(text) = &member.text else { continue };
        if !member.name.is_empty() {
            writeln!(out, "{}:", member.name)?;
        }
        for line in &text.lines {
            write_line(out, line)?;
        }
        match (text.added + text.removed).checked_sub(marked_lines(text)) {
            None | Some(0) => {}
            Some(more) => writeln!(out, "... and {}", count(more, "more line"))?,
        }
    }
    Ok(true)
}

/// Number of lines of a difference that are new or gone, and shown.
fn marked_lines(text: &TextDifference) -> u64 {
    text.lines
        .iter()
        .filter(|line| !line.starts_with(' '))
        .count() as u64
}

/// A line of the archive, cut where it is long.
fn shown(line: &str) -> String {
    let line = Shown::new(line, LONGEST_LINE + 1);
    match line.char_indices().nth(LONGEST_LINE) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line.to_string(),
    }
}

fn write_bytes(
    out: &mut impl Write,
    old: &mut DiffSide,
    new: &mut DiffSide,
    first: u64,
) -> io::Result<()> {
    writeln!(
        out,
        "{}",
        paint(
            BAD,
            format!("- {}: {}", old.title(), count(old.length, "byte"))
        )
    )?;
    writeln!(
        out,
        "{}",
        paint(
            GOOD,
            format!("+ {}: {}", new.title(), count(new.length, "byte"))
        )
    )?;
    writeln!(out, "the first difference is at byte {first}")?;
    let width = DUMP_WIDTH as u64;
    let begin = (first / width).saturating_sub(1) * width;
    for offset in (0..DUMP_LINES).map(|line| begin + line * width) {
        let (old, new) = (row(old, offset)?, row(new, offset)?);
        if old == new {
            dump(out, ' ', offset, &old)?;
        } else {
            dump(out, '-', offset, &old)?;
            dump(out, '+', offset, &new)?;
        }
    }
    Ok(())
}

fn row(side: &mut DiffSide, offset: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![];
    side.from(offset)?
        .take(DUMP_WIDTH as u64)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn dump(out: &mut impl Write, mark: char, offset: u64, bytes: &[u8]) -> io::Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    let style = match mark {
        '-' => BAD,
        '+' => GOOD,
        _ => DIM,
    };
    let digits: Vec<String> = bytes.iter().map(|byte| HEXLOWER.encode(&[*byte])).collect();
    let text: String = bytes
        .iter()
        .map(|byte| {
            if byte.is_ascii_graphic() || *byte == b' ' {
                char::from(*byte)
            } else {
                '.'
            }
        })
        .collect();
    let line = format!("{mark} {offset:08x}  {:<47}  {text}", digits.join(" "));
    writeln!(out, "{}", paint(style, line))
}
