//! A difference for a pull request: the text for a terminal in a code block, so that none of it is markup, a link
//! or a mention.

use std::io::{self, Write};
use std::mem;

use anstream::adapter::strip_str;
use urldb_render::numbers::counted;
use urldb_render::{LARGEST_BODY, code, fenced, shorten};
use urldb_text::sanitize;

use super::Writer;
use super::compared::{ComparedFile, Totals};
use super::human::HumanWriter;
use crate::config::{ChangedKeys, FILE_NAME};

/// Longest name of a key, in characters.
const LONGEST_NAME: usize = 200;

/// Longest line, in characters.
const LONGEST_LINE: usize = 1_000;

/// Room for the heading, the fences and the notes, in bytes.
const FRAME: usize = 4_000;

/// Collects as many lines as a comment holds, counts the others, and writes all at the end.
pub(super) struct MarkdownWriter<W> {
    out: W,
    text: HumanWriter<Vec<u8>>,
    /// The line about urldb.toml.
    settings: Option<String>,
    lines: Vec<String>,
    /// Bytes for further lines.
    room: usize,
    /// Number of lines that had no room.
    more: u64,
}

impl<W: Write> MarkdownWriter<W> {
    pub(super) fn new(out: W, text: HumanWriter<Vec<u8>>, settings: Option<&ChangedKeys>) -> Self {
        let settings = settings.map(settings_line);
        let taken = FRAME + settings.as_ref().map_or(0, String::len);
        Self {
            out,
            text,
            settings,
            lines: vec![],
            room: LARGEST_BODY.saturating_sub(taken),
            more: 0,
        }
    }
}

impl<W: Write> Writer for MarkdownWriter<W> {
    fn add(&mut self, file: &ComparedFile<'_>) -> io::Result<()> {
        self.text.add(file)?;
        let text = mem::take(&mut self.text.out);
        let text = strip_str(&String::from_utf8_lossy(&text)).to_string();
        for line in text.lines().map(|line| shorten(line, LONGEST_LINE)) {
            let left = self.room.checked_sub(line.len() + 1);
            match left.filter(|_| self.more == 0) {
                Some(left) => {
                    self.room = left;
                    self.lines.push(line);
                }
                None => self.more += 1,
            }
        }
        Ok(())
    }

    fn finish(&mut self, totals: &Totals) -> io::Result<()> {
        let mut parts = vec![format!("## urldb: {}", totals.sentence())];
        parts.extend(self.settings.take());
        if !self.lines.is_empty() {
            parts.push(fenced("", &self.lines.join("\n")));
        }
        if self.more > 0 {
            parts.push(format!(
                "{} found no room here.",
                counted(self.more, "line")
            ));
        }
        parts.extend(totals.notes().into_iter().map(|note| format!("{note}.")));
        writeln!(self.out, "{}", parts.join("\n\n"))?;
        self.out.flush()
    }
}

/// The line about the keys of urldb.toml that differ.
pub(crate) fn settings_line(settings: &ChangedKeys) -> String {
    let keys = settings.sentence(|name| code(&shorten(&sanitize(name), LONGEST_NAME)));
    format!("**`{FILE_NAME}` changes:** {keys}.")
}
