//! `BibTeX` and `BibLaTeX`: `url`, `doi`, `eprint` of arXiv, and `\url` in `note` and `howpublished`.
//!
//! The file is parsed entry by entry, so that a broken entry hides no other.

use std::collections::HashMap;

use super::bibtex_entries::{Chunk, closing_brace, entries};
use super::collector::{Collector, in_path};
use crate::input::LineBreaks;
use crate::model::ReadError;
use crate::scheme::{self, is_http};

/// The size limit of an entry, in bytes.
const MAX_ENTRY: usize = 256 * 1024;

/// The length limit of a value, in bytes.
const MAX_VALUE: usize = 64 * 1024;

/// The most lines that begin with `@` inside one entry.
const MAX_INSIDE: usize = 8;

/// Reads the references of a bibliography.
pub(super) fn read(bytes: &[u8], collector: &mut Collector<'_, '_>) -> Result<(), ReadError> {
    let starts = entry_starts(bytes);
    let breaks = LineBreaks::of(bytes);
    let mut reader = Reader {
        strings: HashMap::new(),
        strings_size: 0,
        collector,
    };
    let mut index = 0;
    while let Some(&start) = starts.get(index) {
        let line = breaks.line(start);
        let mut following = (1..=MAX_INSIDE).map(|more| {
            let end = starts.get(index + more).copied().unwrap_or(bytes.len());
            (more, bytes.get(start..end).unwrap_or_default())
        });
        // An entry may contain a line that begins with `@`.
        let found = following.find_map(|(more, entry)| {
            let entry = (entry.len() <= MAX_ENTRY).then(|| String::from_utf8_lossy(entry))?;
            is_readable(&entry).map(|length| (more, entry, length))
        });
        if let Some((more, entry, length)) = found {
            reader.entry(entry.get(..length).unwrap_or_default(), line)?;
            index += more;
        } else {
            reader.collector.count("bad-entry", line);
            index += 1;
        }
    }
    Ok(())
}

/// The offsets of `@` at the start of a line.
fn entry_starts(bytes: &[u8]) -> Vec<usize> {
    // Exact, since a growing vector takes twice the memory.
    let most = |byte| bytes.split(move |other| *other == byte).count();
    let mut starts = Vec::with_capacity(most(b'\n').min(most(b'@')));
    let mut offset = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        if line.trim_ascii_start().starts_with(b"@") {
            starts.push(offset + line.len() - line.trim_ascii_start().len());
        }
        offset += line.len();
    }
    starts
}

/// The length of the part that can be parsed, if there is one: text after an entry may hold an `@`.
fn is_readable(text: &str) -> Option<usize> {
    let Err(mistake) = entries(text) else {
        return Some(text.len());
    };
    let end = text.get(..mistake)?.rfind('@')?;
    let part = text.get(..end).filter(|part| !part.is_empty())?;
    entries(part).is_ok().then_some(end)
}

struct Reader<'c, 'a, 's> {
    /// The abbreviations of `@string`.
    strings: HashMap<String, String>,
    strings_size: usize,
    collector: &'c mut Collector<'a, 's>,
}

impl Reader<'_, '_, '_> {
    fn entry(&mut self, text: &str, first_line: u64) -> Result<(), ReadError> {
        let entries = entries(text).unwrap_or_default();
        let (strings, entries): (Vec<_>, Vec<_>) = entries.iter().partition(|it| it.is_string);
        for field in strings.iter().flat_map(|it| &it.fields) {
            let value = self.value(&field.value);
            self.strings_size += value.len();
            if self.strings_size <= MAX_VALUE * MAX_INSIDE {
                self.strings.insert(field.name.to_ascii_lowercase(), value);
            }
        }
        let breaks = LineBreaks::of(text.as_bytes());
        for entry in entries {
            let mut archive = None;
            for field in &entry.fields {
                if ["archiveprefix", "eprinttype"].contains(&&*field.name.to_ascii_lowercase()) {
                    archive = Some(self.value(&field.value));
                }
            }
            for field in &entry.fields {
                let line = first_line + breaks.line(field.start) - 1;
                let value = self.value(&field.value);
                self.field(field.name, &value, archive.as_deref(), line)?;
            }
        }
        Ok(())
    }

    fn value(&self, chunks: &[Chunk<'_>]) -> String {
        let mut value = String::new();
        for chunk in chunks {
            let text = match chunk {
                Chunk::Text(text) => text,
                Chunk::Abbreviation(name) => self
                    .strings
                    .get(&name.to_ascii_lowercase())
                    .map(String::as_str)
                    .unwrap_or_default(),
            };
            if value.len() + text.len() <= MAX_VALUE {
                value.push_str(text);
            }
        }
        value
    }

    fn urls(&mut self, values: Vec<&str>, line: u64) -> Result<(), ReadError> {
        let url_of = |url: &str| Some(plain(url));
        values
            .into_iter()
            .try_for_each(|value| each(value, is_http, &url_of, self.collector, line))
    }

    fn field(
        &mut self,
        name: &str,
        value: &str,
        archive: Option<&str>,
        line: u64,
    ) -> Result<(), ReadError> {
        match &*name.to_ascii_lowercase() {
            "url" => {
                let inside = commands(value);
                self.urls(
                    if inside.is_empty() {
                        vec![value]
                    } else {
                        inside
                    },
                    line,
                )?;
            }
            "doi" => each(
                value,
                begins_doi,
                &|text| doi(&plain(text)),
                self.collector,
                line,
            )?,
            "eprint" => {
                let begins = |text: &str| text.starts_with(|it: char| it.is_ascii_alphanumeric());
                let url_of = |text: &str| arxiv(&plain(text), archive);
                each(value, begins, &url_of, self.collector, line)?;
            }
            "note" | "howpublished" => self.urls(commands(value), line)?,
            _ => {}
        }
        Ok(())
    }
}

/// Takes the URL of each part of a value, where a part begins as `begins` says.
pub(super) fn each(
    value: &str,
    begins: impl Fn(&str) -> bool,
    url_of: &dyn Fn(&str) -> Option<String>,
    collector: &mut Collector<'_, '_>,
    line: u64,
) -> Result<(), ReadError> {
    let parts = parts(value, begins);
    for part in &parts {
        if parts.len() > 1 && part.contains(char::is_whitespace) {
            collector.count("several-urls", line);
        } else if let Some(url) = url_of(part).filter(|url| !url.trim().is_empty()) {
            collector.take(&url, line)?;
        }
    }
    Ok(())
}

/// Characters that are between two URLs of a value, and part of neither; blanks are too.
const SEPARATORS: [char; 10] = ['{', '}', '(', ')', '<', '>', '"', ',', ';', '|'];

/// The parts of a value that begin behind a blank or a separator as `begins` says. A value with at most one such place is
/// one part: its blanks are those of a broken line.
fn parts(value: &str, begins: impl Fn(&str) -> bool) -> Vec<&str> {
    let is_separator = |char: char| char.is_whitespace() || SEPARATORS.contains(&char);
    let mut starts = vec![];
    let mut is_behind = true;
    for (at, char) in value.char_indices() {
        if is_behind && value.get(at..).is_some_and(&begins) {
            starts.push(at);
        }
        is_behind = is_separator(char) || char == '\\';
    }
    if starts.len() < 2 {
        return vec![value];
    }
    let ends = starts.iter().skip(1).copied().chain([value.len()]);
    starts
        .iter()
        .zip(ends)
        .filter_map(|(start, end)| value.get(*start..end))
        .map(|part| without_end(part, is_separator))
        .collect()
}

/// A part without what is between it and the next one: separators, a line break of TeX, and a word.
fn without_end(part: &str, is_separator: impl Fn(char) -> bool) -> &str {
    let has_open = part.contains('(');
    let is_end = |char: char| is_separator(char) && !(char == ')' && has_open);
    let mut part = part;
    loop {
        let mut left = part.trim_end_matches(is_end);
        for word in ["\\\\", " and", "\nand", " or", " \\&", " &"] {
            left = left.strip_suffix(word).unwrap_or(left);
        }
        if left.len() == part.len() {
            return part;
        }
        part = left;
    }
}

pub(super) fn begins_doi(text: &str) -> bool {
    let rest = text.strip_prefix("10.").unwrap_or_default();
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let is_doi = digits >= 4 && rest.as_bytes().get(digits) == Some(&b'/');
    is_doi || is_http(text)
}

/// The URL of an `eprint`, if it is one of arXiv.
fn arxiv(id: &str, archive: Option<&str>) -> Option<String> {
    let id = scheme::without(id, "arxiv:").unwrap_or(id);
    let is_arxiv = match archive {
        Some(archive) => archive.trim().eq_ignore_ascii_case("arxiv"),
        None => is_arxiv_id(id),
    };
    (is_arxiv && !id.is_empty()).then(|| format!("https://arxiv.org/abs/{}", in_path(id)))
}

/// The URL of a DOI, which may be written as a URL; `None` for an empty one.
pub(super) fn doi(text: &str) -> Option<String> {
    let text = text.trim();
    if is_http(text) {
        return Some(text.to_owned());
    }
    let text = scheme::without(text, "doi:").map_or(text, str::trim_start);
    (!text.is_empty()).then(|| format!("https://doi.org/{}", in_path(text)))
}

/// Whether the text is an identifier of arXiv, such as `2101.00001v2`.
fn is_arxiv_id(text: &str) -> bool {
    let Some((month, number)) = text.split_once('.') else {
        return false;
    };
    let number = number.split('v').next().unwrap_or_default();
    let has_digits = |text: &str, lengths: &[usize]| {
        lengths.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    has_digits(month, &[4]) && has_digits(number, &[4, 5])
}

/// The first arguments of `\url` and `\href`.
fn commands(text: &str) -> Vec<&str> {
    let mut urls = vec![];
    let mut rest = text;
    while let Some((_, after)) = rest.split_once('\\') {
        let name = after
            .strip_prefix("url")
            .or_else(|| after.strip_prefix("href"));
        let Some(argument) = name.and_then(|it| it.trim_start().strip_prefix('{')) else {
            // The character after a backslash is escaped.
            let mut characters = after.chars();
            characters.next();
            rest = characters.as_str();
            continue;
        };
        let (mut is_end, mut is_escaped) = (closing_brace(), false);
        let end = argument.find(|next: char| {
            let is_literal = is_escaped || next == '\\';
            is_escaped = is_literal && !is_escaped;
            !is_literal && is_end(next)
        });
        let Some((url, after)) = end.and_then(|end| argument.split_at_checked(end)) else {
            return urls;
        };
        urls.push(url);
        rest = after;
    }
    urls
}

/// The text of a URL without the escapes of TeX, braces and blanks.
fn plain(text: &str) -> String {
    let mut text = text.to_owned();
    for (command, character) in [
        ("\\textasciitilde", "~"),
        ("\\textunderscore", "_"),
        ("\\string", ""),
        ("\\sim", "~"),
    ] {
        text = text.replace(command, character);
    }
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => plain.extend(characters.next()),
            '{' | '}' => {}
            blank if blank.is_whitespace() => {}
            other => plain.push(other),
        }
    }
    plain
}
