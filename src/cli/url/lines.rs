//! A line of answer for each URL, so that lists can be laid side by side.

use std::fmt::Display;
use std::io::{self, BufRead, BufReader, Read as _, Write};
use std::str;

use anyhow::Context as _;
use urldb_text::sanitize;

use crate::cli::print::output::{self, ByteOutput};
use crate::cli::print::style;
use crate::exit::ExitCode;

/// Large enough that nothing waits for the kernel.
const BUFFER: usize = 256 << 10;

/// Most bytes of a line; a longer line is no URL.
const LONGEST: usize = 1 << 20;

/// Answers each of `urls`, or, where there are none, each line of standard input.
///
/// An empty line, and a line without an answer, are answered with an empty line.
///
/// # Errors
/// When standard input cannot be read, or standard output not be written.
pub(super) fn answer_each<T: Display, E: Display>(
    urls: &[String],
    answer: impl Fn(&str) -> Result<T, E>,
) -> anyhow::Result<ExitCode> {
    output::write_bytes(|out| {
        let mut answers = AnswerWriter {
            out,
            exit: ExitCode::Success,
            answer,
        };
        if urls.is_empty() {
            answers.answer_lines(BufReader::with_capacity(BUFFER, io::stdin().lock()))?;
        } else {
            for (number, url) in (1..).zip(urls) {
                answers.answer_one(&format_args!("argument {number}"), Ok(url.as_str()))?;
            }
        }
        Ok(answers.exit)
    })
}

struct AnswerWriter<'a, F> {
    out: &'a mut ByteOutput,
    exit: ExitCode,
    answer: F,
}

impl<T: Display, E: Display, F: Fn(&str) -> Result<T, E>> AnswerWriter<'_, F> {
    fn answer_lines<R: io::Read>(&mut self, mut input: BufReader<R>) -> anyhow::Result<()> {
        let mut line = Vec::new();
        for number in 1u64.. {
            if input.buffer().is_empty() {
                // Flush before a read that may block: the caller may wait for these answers.
                self.out.flush()?;
            }
            let is_whole = match read_line(&mut input, &mut line) {
                Ok(Some(is_whole)) => is_whole,
                Ok(None) => break,
                Err(error) => return Err(error).context("cannot read URLs from standard input"),
            };
            let url = match str::from_utf8(&line) {
                _ if !is_whole => Err("longer than any URL"),
                Ok(url) => Ok(url.trim_ascii()),
                Err(_) => Err("not UTF-8"),
            };
            self.answer_one(&format_args!("line {number}"), url)?;
        }
        Ok(())
    }

    fn answer_one(&mut self, place: &dyn Display, url: Result<&str, &str>) -> io::Result<()> {
        match url {
            Ok("") => {}
            Ok(url) => match (self.answer)(url) {
                Ok(answer) => write!(self.out, "{answer}")?,
                Err(error) => self.report_problem(place, &error),
            },
            Err(problem) => self.report_problem(place, &problem),
        }
        self.out.write_all(b"\n")
    }

    fn report_problem(&mut self, place: &dyn Display, error: &dyn Display) {
        style::print_warning(format_args!("{place}: {}", sanitize(&error.to_string())));
        self.exit = ExitCode::Findings;
    }
}

/// Reads a line without its end, and says whether that is all of it; `None` after the last one.
fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<Option<bool>> {
    line.clear();
    let most = LONGEST as u64 + 1;
    if input.by_ref().take(most).read_until(b'\n', line)? == 0 {
        return Ok(None);
    }
    let is_whole = line.pop_if(|byte| *byte == b'\n').is_some() || line.len() <= LONGEST;
    if !is_whole {
        input.skip_until(b'\n')?;
    }
    Ok(Some(is_whole))
}
