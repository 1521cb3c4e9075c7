//! Decodes a fragment of YAML. Only this module uses `serde_yaml`.
//!
//! `serde_yaml` returns the source text of a scalar only if the caller asks for text, and fails if
//! the node is a sequence or a mapping. So the first pass learns the kind of each node, and the
//! second pass asks for text at each scalar. Callers pass only fragments without document markers,
//! anchors, aliases and tags.
//!
//! `serde_yaml` does not report quotes. The first pass finds them with a changed fragment, so that the parser itself
//! decides: [`mask`]. [`crate::lex`] finds the comments.

use std::borrow::Cow;
use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};

use crate::resolve::{is_number, reads_as_text};
use crate::value::{Mapping, Value};

/// The value of a fragment of YAML.
#[derive(Debug)]
pub(crate) struct DecodedValue {
    pub(crate) value: Value,
    /// Keys that occur twice in one mapping; the value has the first of each.
    pub(crate) duplicates: Vec<String>,
}

/// The reason why a fragment could not be decoded.
#[derive(Debug)]
pub(crate) struct DecodeError {
    /// The line in the fragment, from 0.
    pub(crate) line: usize,
    /// The column, from 1.
    pub(crate) column: usize,
    pub(crate) message: String,
}

/// Decodes one fragment.
pub(crate) fn decode(fragment: &str) -> Result<DecodedValue, DecodeError> {
    let kind = NodeKindSeed
        .deserialize(serde_yaml::Deserializer::from_str(&mask(fragment)))
        .map_err(error)?;
    let mut duplicates = Vec::new();
    let reader = TextSeed {
        kind: &kind,
        duplicates: &mut duplicates,
    };
    let value = reader
        .deserialize(serde_yaml::Deserializer::from_str(fragment))
        .map_err(error)?;
    Ok(DecodedValue { value, duplicates })
}

/// The fragment with digits in place of every word that YAML 1.1, or 1.2, does not read as text.
///
/// Such a word is then an integer to `serde_yaml` if it is a scalar of its own without quotes, and
/// part of a text otherwise. `serde_yaml` reads YAML 1.2, in which `yes` and `2020-01-01` are text.
fn mask(fragment: &str) -> Cow<'_, str> {
    const SEPARATORS: &[char] = &[' ', '\t', '\r', '\n', ',', '[', ']', '{', '}', '\'', '"'];
    let mut masked = String::new();
    // The bytes of `fragment` up to `done` are in `masked`.
    let (mut done, mut at) = (0, 0);
    while let Some(start) = fragment[at..].find(|char| !SEPARATORS.contains(&char)) {
        let start = at + start;
        let word_end = |from: usize| {
            let end = fragment[from..].find(SEPARATORS);
            end.map_or(fragment.len(), |end| from + end)
        };
        let end = word_end(start);
        at = end;
        let colons = |char| char == ':';
        let first = start + (end - start - fragment[start..end].trim_start_matches(colons).len());
        if first == end {
            continue;
        }
        // A timestamp has up to three words: date, time, zone.
        let mut ends = vec![end];
        if fragment.as_bytes()[first].is_ascii_digit() {
            for _ in 0..2 {
                let last = ends[ends.len() - 1];
                let space =
                    fragment[last..].len() - fragment[last..].trim_start_matches([' ', '\t']).len();
                if space == 0 || word_end(last + space) == last + space {
                    break;
                }
                ends.push(word_end(last + space));
            }
        }
        let longest = ends.into_iter().rev().find_map(|end| {
            let scalar = fragment[first..end].trim_end_matches(colons);
            let is_text = scalar.is_empty() || (reads_as_text(scalar) && !is_number(scalar));
            (!is_text).then_some(first + scalar.len())
        });
        if let Some(end) = longest {
            masked.push_str(&fragment[done..first]);
            masked.extend(std::iter::repeat_n('7', end - first));
            (done, at) = (end, at.max(end));
        }
    }
    if done == 0 {
        return Cow::Borrowed(fragment);
    }
    masked.push_str(&fragment[done..]);
    Cow::Owned(masked)
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "map_err passes the error by value"
)]
fn error(error: serde_yaml::Error) -> DecodeError {
    let (line, column) = error.location().map_or((0, 1), |at| {
        (at.line().saturating_sub(1), at.column().max(1))
    });
    let message = error.to_string();
    // The position in the message is that in the fragment; callers report that in the file.
    let message = message
        .split(" at line ")
        .next()
        .unwrap_or_default()
        .to_owned();
    DecodeError {
        line,
        column,
        message,
    }
}

/// The kind of a YAML node, with the kinds of the nodes inside.
#[derive(Debug)]
enum NodeKind {
    /// Text to YAML 1.2; any scalar in quotes is.
    Text,
    /// Any other scalar.
    Plain,
    Sequence(Vec<NodeKind>),
    Mapping(Vec<NodeKind>),
}

/// Reads any node and returns its [`NodeKind`].
struct NodeKindSeed;

impl<'de> DeserializeSeed<'de> for NodeKindSeed {
    type Value = NodeKind;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<NodeKind, D::Error> {
        deserializer.deserialize_any(self)
    }
}

macro_rules! scalars {
    ($($visit:ident($scalar:ty)),*) => {
        $(fn $visit<E>(self, _: $scalar) -> Result<NodeKind, E> {
            Ok(NodeKind::Plain)
        })*
    };
}

impl<'de> Visitor<'de> for NodeKindSeed {
    type Value = NodeKind;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("text, a list or a mapping without tags")
    }

    scalars!(
        visit_bool(bool),
        visit_i64(i64),
        visit_u64(u64),
        visit_i128(i128),
        visit_u128(u128)
    );
    scalars!(visit_f64(f64));

    fn visit_str<E>(self, _: &str) -> Result<NodeKind, E> {
        Ok(NodeKind::Text)
    }

    fn visit_none<E>(self) -> Result<NodeKind, E> {
        Ok(NodeKind::Plain)
    }

    fn visit_unit<E>(self) -> Result<NodeKind, E> {
        Ok(NodeKind::Plain)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<NodeKind, A::Error> {
        let mut kinds = Vec::new();
        while let Some(kind) = items.next_element_seed(NodeKindSeed)? {
            kinds.push(kind);
        }
        Ok(NodeKind::Sequence(kinds))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut pairs: A) -> Result<NodeKind, A::Error> {
        let mut kinds = Vec::new();
        while let Some(key) = pairs.next_key_seed(NodeKindSeed)? {
            if !matches!(key, NodeKind::Text | NodeKind::Plain) {
                return Err(A::Error::custom(
                    "a key must be text, not a list or a mapping",
                ));
            }
            kinds.push(pairs.next_value_seed(NodeKindSeed)?);
        }
        Ok(NodeKind::Mapping(kinds))
    }
}

/// Reads a node of a known kind, with scalars as their source text.
struct TextSeed<'a> {
    kind: &'a NodeKind,
    duplicates: &'a mut Vec<String>,
}

impl<'de> DeserializeSeed<'de> for TextSeed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        match self.kind {
            NodeKind::Text | NodeKind::Plain => deserializer.deserialize_str(self),
            NodeKind::Sequence(_) => deserializer.deserialize_seq(self),
            NodeKind::Mapping(_) => deserializer.deserialize_map(self),
        }
    }
}

impl<'de> Visitor<'de> for TextSeed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("the same value as in the first pass")
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(match self.kind {
            NodeKind::Plain => Value::unquoted(text),
            _ => Value::quoted(text),
        })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let NodeKind::Sequence(kinds) = self.kind else {
            return Err(A::Error::custom("unexpected list"));
        };
        let mut values = Vec::with_capacity(kinds.len());
        for kind in kinds {
            values.extend(items.next_element_seed(TextSeed {
                kind,
                duplicates: self.duplicates,
            })?);
        }
        // serde_yaml fails unless the end of the sequence was read.
        match items.next_element_seed(NodeKindSeed)? {
            Some(_) => Err(A::Error::custom("unexpected item")),
            None => Ok(Value::List(values)),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut pairs: A) -> Result<Value, A::Error> {
        let NodeKind::Mapping(kinds) = self.kind else {
            return Err(A::Error::custom("unexpected mapping"));
        };
        let mut read: Vec<(String, Value)> = Vec::with_capacity(kinds.len());
        for kind in kinds {
            let Some(key) = pairs.next_key()? else { break };
            read.push((
                key,
                pairs.next_value_seed(TextSeed {
                    kind,
                    duplicates: self.duplicates,
                })?,
            ));
        }
        if pairs.next_key_seed(NodeKindSeed)?.is_some() {
            return Err(A::Error::custom("unexpected key"));
        }
        let keys: Vec<String> = read.iter().map(|(key, _)| key.clone()).collect();
        let mapping =
            Mapping::from_pairs(read, |_, again| self.duplicates.push(keys[again].clone()));
        Ok(Value::Map(mapping))
    }
}
