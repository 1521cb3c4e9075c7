//! Writes documents in the canonical form: byte for byte like `PyYAML`'s
//! `dump_all(docs, explicit_start=True, sort_keys=True)`, except that an empty document is a bare
//! `---`.

use std::borrow::Cow;

use crate::scalar::{self, ScalarRole, ScalarStyle};
use crate::text_writer::TextWriter;
use crate::value::{Mapping, Value};

/// Writes each mapping as a document, keys sorted.
pub fn write_documents<'a>(documents: impl IntoIterator<Item = &'a Mapping>) -> String {
    let mut out = Emitter::default();
    for document in documents {
        out.document_start();
        for (key, value) in document.sorted() {
            out.top_level_pair(key, &ValueRef::from(value), KeyOrder::Sorted);
        }
    }
    out.finish()
}

/// A borrowed value: from a [`Value`], or from a field of a record.
#[derive(Debug, Clone)]
pub(crate) enum ValueRef<'a> {
    Bool(bool),
    Int(u64),
    Text(&'a str),
    Plain(&'a str),
    Quoted(&'a str),
    Texts(Cow<'a, [String]>),
    List(&'a [Value]),
    Map(&'a Mapping),
}

impl<'a> From<&'a Value> for ValueRef<'a> {
    fn from(value: &'a Value) -> Self {
        match value {
            Value::Bool(flag) => Self::Bool(*flag),
            Value::Int(number) => Self::Int(*number),
            Value::Text(text) => Self::Text(text),
            Value::Plain(text) => Self::Plain(text),
            Value::Quoted(text) => Self::Quoted(text),
            Value::List(items) => Self::List(items),
            Value::Map(mapping) => Self::Map(mapping),
        }
    }
}

impl ValueRef<'_> {
    /// The same value, owned.
    pub(crate) fn to_value(&self) -> Value {
        match self {
            Self::Bool(flag) => Value::Bool(*flag),
            Self::Int(number) => Value::Int(*number),
            Self::Text(text) => Value::from(*text),
            Self::Plain(text) => Value::Plain((*text).to_owned()),
            Self::Quoted(text) => Value::Quoted((*text).to_owned()),
            Self::Texts(texts) => Value::List(
                texts
                    .iter()
                    .map(|text| Value::from(text.as_str()))
                    .collect(),
            ),
            Self::List(items) => Value::List(items.to_vec()),
            Self::Map(mapping) => Value::Map((*mapping).clone()),
        }
    }
}

/// The order of the keys of nested mappings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyOrder {
    /// Sorted: the canonical form.
    Sorted,
    /// As in the source, so that lint can report wrong order and wrong formatting apart.
    Source,
}

/// Writes documents, and remembers the lines of their keys.
#[derive(Debug, Default)]
pub(crate) struct Emitter {
    out: TextWriter,
    /// The line of each top-level key, from 0.
    pub(crate) key_lines: Vec<usize>,
}

impl Emitter {
    pub(crate) fn finish(self) -> String {
        self.out.finish()
    }

    pub(crate) fn document_start(&mut self) {
        self.out.whole_line(&["---"]);
    }

    /// Writes a comment on its own line.
    pub(crate) fn comment(&mut self, comment: &str) {
        self.out.whole_line(&[comment]);
    }

    /// Writes one key of a document.
    pub(crate) fn top_level_pair(&mut self, key: &str, value: &ValueRef, order: KeyOrder) {
        self.out.end_line();
        self.key_lines.push(self.out.line());
        if !self.plain_pair(key, value) {
            self.pair(key, value, 0, order);
        }
    }

    /// The fast path for `key: text` in plain style; false if the pair needs another style.
    fn plain_pair(&mut self, key: &str, value: &ValueRef) -> bool {
        let ValueRef::Text(text) = value else {
            return false;
        };
        let short = key.len() < 100 && !text.contains(' ');
        let plain = short
            && scalar::style(key, ScalarRole::Key) == ScalarStyle::Plain
            && scalar::style(text, ScalarRole::Value) == ScalarStyle::Plain;
        if plain {
            self.out.whole_line(&[key, ": ", text]);
        }
        plain
    }

    /// Writes a key and its value, for a mapping indented by `indent`.
    fn pair(&mut self, key: &str, value: &ValueRef, indent: usize, order: KeyOrder) {
        self.out.indent_to(indent);
        self.out.indent = indent + 2;
        if scalar::is_simple_key(key) {
            scalar::write(&mut self.out, key, ScalarRole::Key);
            self.out.text(":");
        } else {
            self.out.dash("?");
            scalar::write(&mut self.out, key, ScalarRole::Value);
            self.out.indent_to(indent);
            self.out.dash(":");
        }
        self.value(value, indent, order);
    }

    /// Writes a value that belongs to a collection indented by `indent`.
    fn value(&mut self, value: &ValueRef, indent: usize, order: KeyOrder) {
        self.out.indent = indent + 2;
        match value {
            ValueRef::Bool(flag) => self.out.indicator(if *flag { "true" } else { "false" }),
            ValueRef::Int(number) => self.out.indicator(&number.to_string()),
            ValueRef::Text(text) => scalar::write(&mut self.out, text, ScalarRole::Value),
            ValueRef::Plain(text) => self.out.indicator(text),
            ValueRef::Quoted(text) => self.out.indicator(&format!("'{text}'")),
            ValueRef::Texts(texts) => {
                self.list(texts.iter().map(|text| ValueRef::Text(text)), indent, order);
            }
            ValueRef::List(items) => self.list(items.iter().map(ValueRef::from), indent, order),
            ValueRef::Map(mapping) if mapping.is_empty() => self.out.indicator("{}"),
            ValueRef::Map(mapping) => {
                let pairs = match order {
                    KeyOrder::Sorted => mapping.sorted(),
                    KeyOrder::Source => mapping.iter().collect(),
                };
                for (key, value) in pairs {
                    self.pair(key, &ValueRef::from(value), indent + 2, order);
                }
            }
        }
    }

    fn list<'a>(
        &mut self,
        items: impl ExactSizeIterator<Item = ValueRef<'a>>,
        indent: usize,
        order: KeyOrder,
    ) {
        if items.len() == 0 {
            return self.out.indicator("[]");
        }
        // Dashes align with the key above; a list inside a list is indented by two columns.
        let indent = if self.out.is_indenting() {
            indent + 2
        } else {
            indent
        };
        for item in items {
            self.out.indent_to(indent);
            self.out.dash("-");
            // A list directly in a list starts on the line of the outer dash.
            self.value(&item, indent, order);
        }
    }
}
