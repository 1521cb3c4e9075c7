//! Reads the documents of a text, and continues after mistakes.

use std::io::{self, BufRead};

use urldb_text::{Code, Finding};

use crate::document::Document;
use crate::scan::Scanner;
use crate::split::{self, RawDocument, SourceLine};
use crate::value::{Mapping, Schema};

/// Reads all documents of `text`. Mistakes become findings, and reading continues after them.
pub fn read_documents(text: &str, schema: &Schema) -> (Vec<Document>, Vec<Finding>) {
    let mut reader = DocumentReader::new((1, text), schema, &mut false);
    let documents = split::split(1, text).map(|raw| reader.read(&raw));
    (documents.collect(), reader.findings)
}

/// Reads the documents that a text was split into, one by one.
pub(crate) struct DocumentReader<'a> {
    schema: &'a Schema,
    /// The lines that make their document unreadable.
    refused: Vec<usize>,
    /// The findings about the documents that were read.
    pub(crate) findings: Vec<Finding>,
}

impl<'a> DocumentReader<'a> {
    /// A reader of a text with the number of its first line; `in_conflict` says whether that line is
    /// within a merge conflict.
    pub(crate) fn new(
        (first_line, text): (usize, &str),
        schema: &'a Schema,
        in_conflict: &mut bool,
    ) -> Self {
        let mut findings = refused_lines(first_line, text, in_conflict);
        let refused = findings.iter().map(|finding| finding.line).collect();
        findings.retain(|finding| !finding.message.is_empty());
        Self {
            schema,
            refused,
            findings,
        }
    }

    /// Reads one document.
    pub(crate) fn read(&mut self, raw: &RawDocument) -> Document {
        let next = self.refused.partition_point(|line| *line < raw.lines.start);
        let is_refused = self
            .refused
            .get(next)
            .is_some_and(|line| *line < raw.lines.end);
        let mut document = Document {
            start_line: raw.lines.start,
            end_line: raw.lines.end.saturating_sub(1),
            range: raw.range.clone(),
            above: raw
                .above
                .iter()
                .map(|&comment| comment.to_owned())
                .collect(),
            mapping: Mapping::new(),
            key_lines: Vec::new(),
            comments: Vec::new(),
            intact: !is_refused,
        };
        if !is_refused {
            Scanner::new(self.schema, &mut self.findings).scan(raw, &mut document);
        }
        document
    }
}

/// The number of the first line, from 1, that a merge has left as a conflict marker; `None` without one.
///
/// # Errors
/// When `text` cannot be read.
pub fn conflict_line(mut text: impl BufRead) -> io::Result<Option<usize>> {
    let mut line = vec![];
    for number in 1.. {
        line.clear();
        if text.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        let line = String::from_utf8_lossy(&line);
        if conflict_marker(line.trim_end_matches(['\r', '\n'])).is_some() {
            return Ok(Some(number));
        }
    }
    Ok(None)
}

/// A finding for each line that makes its document unreadable: conflict markers, and characters
/// that YAML does not allow. Only the first line of a conflict has a message.
fn refused_lines(first_line: usize, text: &str, in_conflict: &mut bool) -> Vec<Finding> {
    let plain = text
        .bytes()
        .all(|byte| byte == b'\n' || (b' '..=b'~').contains(&byte));
    let markers = ["<<<<<<<", "=======", ">>>>>>>"];
    if plain && !markers.iter().any(|marker| text.contains(marker)) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for line in split::lines_from(first_line, text) {
        if let Some(marker) = conflict_marker(line.text) {
            let opens = marker == '<' || (!*in_conflict && marker != '=');
            let told = opens || !*in_conflict;
            *in_conflict = marker != '>';
            findings.push(conflict(&line, told));
        } else if let Some((column, char)) = forbidden_char(line.text) {
            let message = format!(
                "the character U+{:04X} is not allowed here",
                u32::from(char)
            );
            let help = "remove it, or write it as an escape in double quotes";
            findings.push(
                Finding::new(Code::SyntaxError, line.number, message)
                    .at_column(column)
                    .with_help(help),
            );
        }
    }
    findings
}

fn conflict(line: &SourceLine, told: bool) -> Finding {
    let message = if told {
        "a merge left a conflict here"
    } else {
        ""
    };
    let help =
        "keep one side, or both where they are different records, and remove the marker lines";
    Finding::new(Code::ConflictMarker, line.number, message).with_help(help)
}

fn conflict_marker(line: &str) -> Option<char> {
    let marker = line
        .chars()
        .next()
        .filter(|char| matches!(char, '<' | '=' | '>' | '|'))?;
    let rest = line.trim_start_matches(marker);
    // The attribute `conflict-marker-size` of git makes markers longer.
    let is_long = line.len() - rest.len() >= 7;
    // The line between the sides has no label; `======= a: b` is a key.
    let is_labelled = rest.starts_with(' ') && marker != '=';
    (is_long && (rest.is_empty() || is_labelled)).then_some(marker)
}

/// The first forbidden character of a line and its column, from 1. Forbidden are controls other
/// than tabs, the line breaks that only YAML 1.1 knows, and noncharacters.
fn forbidden_char(line: &str) -> Option<(usize, char)> {
    if line.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        return None;
    }
    let forbidden = |char: char| {
        (char.is_control() && char != '\t')
            || matches!(
                char,
                '\u{2028}' | '\u{2029}' | '\u{FEFF}' | '\u{FFFE}' | '\u{FFFF}'
            )
    };
    line.chars()
        .enumerate()
        .find(|(_, char)| forbidden(*char))
        .map(|(index, char)| (index + 1, char))
}
