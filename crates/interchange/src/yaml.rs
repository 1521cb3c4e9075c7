//! A YAML file as a JSON text, whose values know their lines and their places in the file.

use std::io::Read;
use std::sync::Arc;

use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::Value as Json;

use crate::input::read_document;
use crate::model::ReadError;

/// The size limit of a file. Real ones of registries have at most some ten thousand bytes.
const MAX_FILE: u64 = 256 << 10;

/// The depth limit of nested values.
const MAX_DEPTH: usize = 64;

/// The documents of a YAML file.
pub(crate) struct YamlText {
    /// A list of the documents. Scalars are texts, or null.
    pub(crate) json: String,
    /// A mark for each value, in the order of the values.
    pub(crate) marks: Vec<YamlMark>,
}

/// The place of a value in the file.
pub(crate) struct YamlMark {
    /// The offset of the value in the JSON text.
    pub(crate) offset: usize,
    /// The line in the file, from 1.
    pub(crate) line: u64,
    /// The offset of a text in the file, if its bytes there are the text.
    pub(crate) text: Option<u64>,
}

impl YamlText {
    /// Reads a file.
    ///
    /// # Errors
    /// [`ReadError::Malformed`] if the text is no YAML, is nested too deeply, or has an alias or a key that is no text;
    /// [`ReadError::Input`] if it is larger than 256 KiB.
    pub(crate) fn read(input: impl Read, file: &Arc<str>) -> Result<Self, ReadError> {
        let text = read_document(input, MAX_FILE, file)?;
        let offsets: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        let mut out = Self {
            json: "[".to_owned(),
            marks: vec![],
        };
        let mut closing = vec![']'];
        for next in Parser::new_from_str(&text) {
            let malformed = |line: usize, why: &str| ReadError::malformed(file, line as u64, why);
            let (event, marks) = next.map_err(|it| malformed(it.marker().line(), it.info()))?;
            let line = marks.start.line();
            let is_key = closing.last() == Some(&'}') && !out.json.ends_with(':');
            match event {
                Event::Scalar(value, style, ..) => {
                    let rest = offsets
                        .get(marks.start.index())
                        .map(|start| &text[*start..]);
                    let whole = rest.and_then(|rest| whole(rest, style, &value));
                    out.mark(line, whole.map(|whole| text.len() - whole.len()));
                    if is_key || !is_null(&value, style) {
                        out.json.push_str(&Json::from(value).to_string());
                    } else {
                        out.json.push_str("null");
                    }
                    out.json.push(if is_key { ':' } else { ',' });
                }
                Event::Alias(_) => return Err(malformed(line, "an alias: write the value itself")),
                Event::SequenceStart(..) | Event::MappingStart(..) if is_key => {
                    return Err(malformed(line, "the key is no text"));
                }
                Event::SequenceStart(..) | Event::MappingStart(..) if closing.len() > MAX_DEPTH => {
                    return Err(malformed(line, "values are nested too deeply"));
                }
                Event::SequenceStart(..) => {
                    out.mark(line, None);
                    out.json.push('[');
                    closing.push(']');
                }
                Event::MappingStart(..) => {
                    out.mark(line, None);
                    out.json.push('{');
                    closing.push('}');
                }
                Event::SequenceEnd | Event::MappingEnd => {
                    out.close(closing.pop());
                    out.json.push(',');
                }
                _ => {}
            }
        }
        out.close(closing.pop());
        Ok(out)
    }

    /// Marks the next value, whose text has an offset in the file if its bytes there are the text.
    fn mark(&mut self, line: usize, text: Option<usize>) {
        self.marks.push(YamlMark {
            offset: self.json.len(),
            line: line as u64,
            text: text.map(|offset| offset as u64),
        });
    }

    /// Ends a list or a mapping.
    fn close(&mut self, bracket: Option<char>) {
        let length = self.json.trim_end_matches(',').len();
        self.json.truncate(length);
        self.json.extend(bracket);
    }
}

/// The text from a scalar on, behind its properties and its quote, if it is there as it is: without escapes and line
/// breaks.
fn whole<'a>(text: &'a str, style: ScalarStyle, value: &str) -> Option<&'a str> {
    let quote = match style {
        ScalarStyle::Plain => "",
        ScalarStyle::SingleQuoted => "'",
        ScalarStyle::DoubleQuoted => "\"",
        _ => return None,
    };
    let whole = without_properties(text).strip_prefix(quote)?;
    let behind = whole.strip_prefix(value)?;
    (!value.is_empty() && behind.starts_with(quote)).then_some(whole)
}

/// Whether there is no value: null, or a text without content.
fn is_null(text: &str, style: ScalarStyle) -> bool {
    let is_word = matches!(text, "null" | "Null" | "NULL" | "~");
    text.trim().is_empty() || style == ScalarStyle::Plain && is_word
}

/// The text of a scalar behind its anchor and its tag.
fn without_properties(mut text: &str) -> &str {
    while text.starts_with(['&', '!']) {
        let end = text.find(char::is_whitespace).unwrap_or(text.len());
        text = text.get(end..).unwrap_or_default().trim_start();
    }
    text
}
