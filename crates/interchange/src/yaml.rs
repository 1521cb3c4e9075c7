//! The nodes of a YAML file, with the places of its scalars.

use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span as Marks};
use urldb_format::Algorithm;

use crate::file_events::{Digests, FileEvents};
use crate::model::ReadError;

/// The size limit of a file. Real ones of registries have at most some ten thousand bytes. The nodes of a file take up to
/// a hundred times its size in memory.
pub(crate) const MAX_FILE: u64 = 256 << 10;

/// The depth limit of nested values.
const MAX_DEPTH: usize = 64;

/// A node.
#[derive(Debug)]
pub(crate) enum Node {
    Scalar(Scalar),
    List(Vec<Child>),
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
    pairs: Vec<(Child, Child)>,
    /// The line in the file, from 1.
    pub(crate) line: u64,
}

/// A node in a list or a mapping.
#[derive(Debug, Clone)]
pub(crate) struct Child {
    pub(crate) node: Rc<Node>,
    /// Whether an alias repeats a node that stands elsewhere.
    pub(crate) is_alias: bool,
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
    ) -> Result<Option<Digests>, ReadError> {
        events.digest(&self.text, Some(algorithm), self.line, self.span.clone())
    }
}

impl Mapping {
    /// The value of a key. The last of several counts, as in Python.
    pub(crate) fn get(&self, key: &str) -> Option<&Child> {
        let is_key = |child: &Child| child.node.text().is_some_and(|scalar| scalar.text == key);
        let mut pairs = self.pairs.iter().rev();
        pairs
            .find(|(child, _)| is_key(child))
            .map(|(_, value)| value)
    }

    /// The text of a key, unless it is null.
    pub(crate) fn text(&self, key: &str) -> Option<&Scalar> {
        let text = self.get(key)?.node.text();
        text.filter(|scalar| !scalar.is_null())
    }

    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&Child, &Child)> {
        self.pairs.iter().map(|(key, value)| (key, value))
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &Child> {
        self.pairs.iter().map(|(_, value)| value)
    }
}

/// The content of a file.
pub(crate) struct File {
    pub(crate) documents: Vec<Rc<Node>>,
    /// The line of the first alias.
    pub(crate) alias: Option<u64>,
}

/// Parses a file.
///
/// # Errors
/// [`ReadError::Malformed`] if the text is no YAML, or is nested too deeply.
pub(crate) fn parse(text: &str, file: &Arc<str>) -> Result<File, ReadError> {
    let malformed = |line: usize, message: &str| ReadError::malformed(file, line as u64, message);
    let of_parser = |error: ScanError| malformed(error.marker().line(), error.info());
    let mut builder = Builder::new(text);
    for event in Parser::new_from_str(text) {
        let (event, marks) = event.map_err(of_parser)?;
        if builder.open.len() > MAX_DEPTH {
            return Err(malformed(
                marks.start.line(),
                "values are nested too deeply",
            ));
        }
        builder.take(event, marks);
    }
    Ok(builder.file)
}

/// A list or a mapping whose end is not read yet.
struct Open {
    anchor: usize,
    line: u64,
    is_mapping: bool,
    children: Vec<Child>,
}

struct Builder<'a> {
    positions: Positions<'a>,
    open: Vec<Open>,
    anchors: BTreeMap<usize, Rc<Node>>,
    file: File,
}

impl<'a> Builder<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            positions: Positions {
                text,
                offsets: text.char_indices().map(|(at, _)| at).collect(),
            },
            open: vec![],
            anchors: BTreeMap::new(),
            file: File {
                documents: vec![],
                alias: None,
            },
        }
    }

    fn take(&mut self, event: Event<'_>, marks: Marks) {
        let line = marks.start.line() as u64;
        match event {
            Event::Scalar(text, style, anchor, _) => {
                let scalar = Scalar {
                    span: self.positions.span(marks.start.index(), style, &text),
                    is_plain: style == ScalarStyle::Plain,
                    text: text.into_owned(),
                    line,
                };
                self.close(Node::Scalar(scalar), anchor);
            }
            Event::SequenceStart(anchor, _) => self.begin(anchor, line, false),
            Event::MappingStart(anchor, _) => self.begin(anchor, line, true),
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(open) = self.open.pop() else {
                    return;
                };
                let anchor = open.anchor;
                self.close(open.node(), anchor);
            }
            Event::Alias(anchor) => {
                self.file.alias.get_or_insert(line);
                // A node that contains itself has no value here.
                let known = self.anchors.get(&anchor).cloned();
                let node = known.unwrap_or_else(|| Rc::new(Node::List(vec![])));
                self.add(Child {
                    node,
                    is_alias: true,
                });
            }
            _ => {}
        }
    }

    fn begin(&mut self, anchor: usize, line: u64, is_mapping: bool) {
        self.open.push(Open {
            anchor,
            line,
            is_mapping,
            children: vec![],
        });
    }

    fn close(&mut self, node: Node, anchor: usize) {
        let node = Rc::new(node);
        if anchor > 0 {
            self.anchors.insert(anchor, Rc::clone(&node));
        }
        self.add(Child {
            node,
            is_alias: false,
        });
    }

    fn add(&mut self, child: Child) {
        match self.open.last_mut() {
            Some(open) => open.children.push(child),
            None => self.file.documents.push(child.node),
        }
    }
}

impl Open {
    fn node(self) -> Node {
        if !self.is_mapping {
            return Node::List(self.children);
        }
        let mut children = self.children.into_iter();
        let mut pairs = vec![];
        while let (Some(key), Some(value)) = (children.next(), children.next()) {
            pairs.push((key, value));
        }
        Node::Mapping(Mapping {
            pairs,
            line: self.line,
        })
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
        let content = without_properties(self.text.get(start..)?);
        let rest = content.strip_prefix(quote)?;
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
