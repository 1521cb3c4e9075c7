//! Writes documents in the canonical form: byte for byte like `PyYAML`'s
//! `dump_all(docs, explicit_start=True, sort_keys=True)`, except that an empty document is a bare
//! `---`.

use std::borrow::Cow;

use crate::scalar::{self, ScalarRole, ScalarStyle};
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

/// The text so far, and the state that decides how the next token is placed.
#[derive(Debug, Default)]
pub(crate) struct Emitter {
    out: String,
    /// The line of each top-level key, from 0.
    pub(crate) key_lines: Vec<usize>,
    line: usize,
    /// The column in characters, from 0.
    pub(crate) column: usize,
    /// Whether the last character separates tokens.
    separated: bool,
    /// Whether the line holds nothing but indentation, dashes and question marks.
    indenting: bool,
    /// The indentation of the lines of a folded scalar, in columns.
    indent: usize,
}

impl Emitter {
    pub(crate) fn finish(mut self) -> String {
        self.end_line();
        self.out
    }

    pub(crate) fn document_start(&mut self) {
        self.end_line();
        self.out.push_str("---\n");
        self.line += 1;
        (self.separated, self.indenting) = (true, true);
    }

    /// Writes a comment on its own line.
    pub(crate) fn comment(&mut self, comment: &str) {
        self.end_line();
        self.out.push_str(comment);
        self.line_break();
    }

    /// Writes one key of a document.
    pub(crate) fn top_level_pair(&mut self, key: &str, value: &ValueRef, order: KeyOrder) {
        self.end_line();
        self.key_lines.push(self.line);
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
            for part in [key, ": ", text, "\n"] {
                self.out.push_str(part);
            }
            self.line += 1;
            (self.separated, self.indenting) = (true, true);
        }
        plain
    }

    /// Writes a key and its value, for a mapping indented by `indent`.
    fn pair(&mut self, key: &str, value: &ValueRef, indent: usize, order: KeyOrder) {
        self.indent_to(indent);
        self.indent = indent + 2;
        if scalar::is_simple_key(key) {
            scalar::write(self, key, ScalarRole::Key);
            self.text(":");
        } else {
            self.dash("?");
            scalar::write(self, key, ScalarRole::Value);
            self.indent_to(indent);
            self.dash(":");
        }
        self.value(value, indent, order);
    }

    /// Writes a value that belongs to a collection indented by `indent`.
    fn value(&mut self, value: &ValueRef, indent: usize, order: KeyOrder) {
        self.indent = indent + 2;
        match value {
            ValueRef::Bool(flag) => self.indicator(if *flag { "true" } else { "false" }),
            ValueRef::Int(number) => self.indicator(&number.to_string()),
            ValueRef::Text(text) => scalar::write(self, text, ScalarRole::Value),
            ValueRef::Plain(text) => self.indicator(text),
            ValueRef::Texts(texts) => {
                self.list(texts.iter().map(|text| ValueRef::Text(text)), indent, order);
            }
            ValueRef::List(items) => self.list(items.iter().map(ValueRef::from), indent, order),
            ValueRef::Map(mapping) if mapping.is_empty() => self.indicator("{}"),
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
            return self.indicator("[]");
        }
        // Dashes align with the key above; a list inside a list is indented by two columns.
        let indent = if self.indenting { indent + 2 } else { indent };
        for item in items {
            self.indent_to(indent);
            self.dash("-");
            // A list directly in a list starts on the line of the outer dash.
            self.value(&item, indent, order);
        }
    }

    /// Appends text without line breaks.
    pub(crate) fn text(&mut self, text: &str) {
        self.out.push_str(text);
        self.column += if text.is_ascii() {
            text.len()
        } else {
            text.chars().count()
        };
        if !text.is_empty() {
            (self.separated, self.indenting) = (false, false);
        }
    }

    /// Appends a space, unless the last character separates tokens.
    pub(crate) fn space(&mut self) {
        if !self.separated {
            self.text(" ");
        }
    }

    /// Appends a token, separated from the previous token.
    pub(crate) fn indicator(&mut self, token: &str) {
        self.space();
        self.text(token);
    }

    /// Appends a token that counts as indentation: `-`, or the `?` and `:` of a long key.
    fn dash(&mut self, token: &str) {
        let indenting = self.indenting;
        self.indicator(token);
        self.indenting = indenting;
    }

    /// Starts a new line inside a scalar.
    pub(crate) fn fold(&mut self) {
        self.indent_to(self.indent);
        (self.separated, self.indenting) = (false, false);
    }

    /// Moves to column `indent`; starts a new line unless this line has only indentation so far.
    fn indent_to(&mut self, indent: usize) {
        if !self.indenting || self.column > indent || (self.column == indent && !self.separated) {
            self.line_break();
        }
        for _ in self.column..indent {
            self.out.push(' ');
        }
        if self.column < indent {
            self.column = indent;
            self.separated = true;
        }
    }

    pub(crate) fn line_break(&mut self) {
        self.out.push('\n');
        self.line += 1;
        self.column = 0;
        (self.separated, self.indenting) = (true, true);
    }

    fn end_line(&mut self) {
        if self.column > 0 {
            self.line_break();
        }
        (self.separated, self.indenting) = (true, true);
    }
}
