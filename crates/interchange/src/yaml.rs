//! The nodes of a YAML file, with the places of its scalars.

use std::ops::Range;
use std::sync::Arc;

use saphyr_parser::{Event, Parser, ScalarStyle, StrInput};
use urldb_format::Algorithm;

use crate::file_events::FileEvents;
use crate::model::{FilePromise, ReadError};

/// The size limit of a file. Real ones of registries have at most some ten thousand bytes. The nodes of a file take up to
/// a hundred times its size in memory.
pub(crate) const MAX_FILE: u64 = 256 << 10;

/// The depth limit of nested values.
const MAX_DEPTH: usize = 64;

/// A node.
#[derive(Debug)]
pub(crate) enum Node {
    Scalar(Scalar),
    List(Vec<Self>),
    Mapping(Mapping),
}

/// A scalar.
#[derive(Debug)]
pub(crate) struct Scalar {
    pub(crate) text: String,
    is_plain: bool,
    /// The line in the file, from 1.
    pub(crate) line: u64,
    /// The bytes in the file, if they are the text.
    pub(crate) span: Option<Range<u64>>,
}

/// A mapping.
#[derive(Debug)]
pub(crate) struct Mapping {
    /// Keys and values in turn.
    children: Vec<Node>,
    /// The line in the file, from 1.
    pub(crate) line: u64,
}

impl Node {
    pub(crate) fn text(&self) -> Option<&Scalar> {
        match self {
            Self::Scalar(scalar) => Some(scalar),
            _ => None,
        }
    }

    pub(crate) fn mapping(&self) -> Option<&Mapping> {
        match self {
            Self::Mapping(mapping) => Some(mapping),
            _ => None,
        }
    }
}

impl Scalar {
    /// Whether there is no value: null, or a text without content.
    pub(crate) fn is_null(&self) -> bool {
        let is_word = matches!(&*self.text, "null" | "Null" | "NULL" | "~");
        self.text.trim().is_empty() || self.is_plain && is_word
    }

    /// The digest in the text; `None` if a notice refused it.
    pub(crate) fn digest(
        &self,
        algorithm: Algorithm,
        events: &mut FileEvents<'_, '_>,
    ) -> Result<Option<FilePromise>, ReadError> {
        events.digest(&self.text, Some(algorithm), self.line, self.span.clone())
    }
}

impl Mapping {
    /// The value of a key. The last of several counts, as in Python.
    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        self.children
            .chunks_exact(2)
            .rev()
            .find_map(|pair| match pair {
                [Node::Scalar(name), value] if name.text == key => Some(value),
                _ => None,
            })
    }

    /// The text of a key, unless it is null.
    pub(crate) fn text(&self, key: &str) -> Option<&Scalar> {
        self.get(key)?.text().filter(|scalar| !scalar.is_null())
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &Node> {
        self.children.iter().skip(1).step_by(2)
    }
}

/// The documents of a file.
///
/// # Errors
/// [`ReadError::Malformed`] if the text is no YAML, is nested too deeply, or has an alias.
pub(crate) fn parse(text: &str, file: &Arc<str>) -> Result<Vec<Node>, ReadError> {
    let mut builder = Builder {
        parser: Parser::new_from_str(text),
        file,
        positions: Positions {
            text,
            offsets: text.char_indices().map(|(at, _)| at).collect(),
        },
    };
    builder.children(0)
}

struct Builder<'a> {
    parser: Parser<'a, StrInput<'a>>,
    file: &'a Arc<str>,
    positions: Positions<'a>,
}

impl Builder<'_> {
    /// The nodes before the end of a list, a mapping, or the file.
    fn children(&mut self, depth: usize) -> Result<Vec<Node>, ReadError> {
        let mut children = vec![];
        while let Some(next) = self.parser.next() {
            let malformed =
                |line: usize, why: &str| ReadError::malformed(self.file, line as u64, why);
            let (event, marks) = next.map_err(|it| malformed(it.marker().line(), it.info()))?;
            let line = marks.start.line();
            if depth > MAX_DEPTH {
                return Err(malformed(line, "values are nested too deeply"));
            }
            children.push(match event {
                Event::Scalar(text, style, ..) => Node::Scalar(Scalar {
                    span: self.positions.span(marks.start.index(), style, &text),
                    is_plain: style == ScalarStyle::Plain,
                    text: text.into_owned(),
                    line: line as u64,
                }),
                Event::SequenceStart(..) => Node::List(self.children(depth + 1)?),
                Event::MappingStart(..) => Node::Mapping(Mapping {
                    children: self.children(depth + 1)?,
                    line: line as u64,
                }),
                Event::Alias(_) => return Err(malformed(line, "an alias: write the value itself")),
                Event::SequenceEnd | Event::MappingEnd => break,
                _ => continue,
            });
        }
        Ok(children)
    }
}

/// Converts positions in characters to bytes.
struct Positions<'a> {
    text: &'a str,
    /// The offset of each character.
    offsets: Vec<usize>,
}

impl Positions<'_> {
    /// The bytes of a scalar, if they are its text: without escapes and line breaks.
    fn span(&self, start: usize, style: ScalarStyle, value: &str) -> Option<Range<u64>> {
        let start = *self.offsets.get(start)?;
        let quote = match style {
            ScalarStyle::Plain => "",
            ScalarStyle::SingleQuoted => "'",
            ScalarStyle::DoubleQuoted => "\"",
            _ => return None,
        };
        let rest = without_properties(self.text.get(start..)?).strip_prefix(quote)?;
        let behind = rest.strip_prefix(value)?;
        let start = self.text.len() - rest.len();
        let is_whole = !value.is_empty() && behind.starts_with(quote);
        is_whole.then(|| start as u64..(start + value.len()) as u64)
    }
}

/// The text of a scalar behind its anchor and its tag.
fn without_properties(mut text: &str) -> &str {
    while text.starts_with(['&', '!']) {
        let end = text.find(char::is_whitespace).unwrap_or(text.len());
        text = text.get(end..).unwrap_or_default().trim_start();
    }
    text
}
