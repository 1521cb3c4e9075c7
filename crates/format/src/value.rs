//! The data model of a document: a [`Schema`] says at which keys values are text, integers or
//! booleans, and at which keys scalars keep their source text.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use serde::{Deserialize, Serialize};

use crate::keys;
use crate::resolve::{is_number, parse_boolean, reads_as_text};

/// A value in a document. `Serialize` is for temporary files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Value {
    /// A boolean; only at keys that the [`Schema`] names.
    Bool(bool),
    /// A non-negative integer; only at keys that the [`Schema`] names.
    Int(u64),
    /// A text: `1.10` at one of our keys stays `1.10`.
    Text(String),
    /// A scalar without quotes that YAML does not read as text, as its source text: `5`, `1.10`,
    /// `null`, `2020-01-01`. Only at keys that the [`Schema`] does not know.
    Plain(String),
    /// A text in quotes that YAML 1.2 reads as a number without them: `'1e3'`. Only at keys that the [`Schema`] does
    /// not know; at the others, the canonical form has quotes only where YAML 1.1 needs them.
    Quoted(String),
    /// A list.
    List(Vec<Value>),
    /// A nested mapping.
    Map(Mapping),
}

impl Value {
    /// The text, if the value is text.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) | Self::Quoted(text) => Some(text),
            _ => None,
        }
    }

    /// The text, or the source text of a number, boolean, date or null.
    pub fn as_scalar(&self) -> Option<&str> {
        match self {
            Self::Plain(text) => Some(text),
            _ => self.as_text(),
        }
    }

    /// The integer, if the value is one.
    pub fn as_int(&self) -> Option<u64> {
        match self {
            Self::Int(number) => Some(*number),
            _ => None,
        }
    }

    /// The boolean, if the value is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(flag) => Some(*flag),
            _ => None,
        }
    }

    /// The mapping, if the value is one.
    pub fn as_map(&self) -> Option<&Mapping> {
        match self {
            Self::Map(mapping) => Some(mapping),
            _ => None,
        }
    }

    /// The kind of the value, for messages: `text`, `a list`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Bool(_) => "a boolean",
            Self::Int(_) => "an integer",
            Self::Text(_) | Self::Quoted(_) => "text",
            Self::Plain(_) => "a number, boolean, date or null",
            Self::List(_) => "a list",
            Self::Map(_) => "a mapping",
        }
    }

    /// The value of a scalar without quotes: [`Self::Text`] if YAML reads the scalar as text.
    pub fn unquoted(text: &str) -> Self {
        if reads_as_text(text) {
            Self::from(text)
        } else {
            Self::Plain(text.to_owned())
        }
    }

    /// The value of a scalar in quotes.
    pub fn quoted(text: &str) -> Self {
        if reads_as_text(text) && is_number(text) {
            Self::Quoted(text.to_owned())
        } else {
            Self::from(text)
        }
    }

    /// The same value with text in place of every [`Self::Plain`] and [`Self::Quoted`].
    pub(crate) fn into_text(self) -> Self {
        match self {
            Self::Plain(text) | Self::Quoted(text) => Self::Text(text),
            Self::List(items) => Self::List(items.into_iter().map(Self::into_text).collect()),
            Self::Map(mapping) => Self::Map(mapping.map_values(Self::into_text)),
            other => other,
        }
    }

    /// The same value with `null` in place of every scalar that is empty in the source.
    pub(crate) fn with_explicit_null(self) -> Self {
        let explicit = Self::with_explicit_null;
        match self {
            Self::Plain(text) if text.is_empty() => Self::Plain("null".to_owned()),
            Self::List(items) => Self::List(items.into_iter().map(explicit).collect()),
            Self::Map(mapping) => Self::Map(mapping.map_values(explicit)),
            other => other,
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Int(number)
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Self::Bool(flag)
    }
}

impl From<Mapping> for Value {
    fn from(mapping: Mapping) -> Self {
        Self::Map(mapping)
    }
}

/// Keys and values in the order in which they were added. Writing sorts them.
///
/// Lookups are linear, because records have few keys. Use [`Extend`] to set many keys, because
/// hostile files have many.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mapping(Vec<(String, Value)>);

impl Mapping {
    /// An empty mapping.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// The value at `key`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.iter()
            .find(|(name, _)| *name == key)
            .map(|(_, value)| value)
    }

    /// Sets `key`, and returns its previous value.
    pub fn insert(&mut self, key: impl Into<String>, value: impl Into<Value>) -> Option<Value> {
        let (key, value) = (key.into(), value.into());
        if let Some((_, old)) = self.0.iter_mut().find(|(name, _)| *name == key) {
            return Some(std::mem::replace(old, value));
        }
        self.0.push((key, value));
        None
    }

    /// Removes `key`, and returns its value.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        let index = self.0.iter().position(|(name, _)| name == key)?;
        Some(self.0.remove(index).1)
    }

    /// Removes the other keys.
    pub fn retain(&mut self, mut keeps: impl FnMut(&str) -> bool) {
        self.0.retain(|(key, _)| keeps(key));
    }

    /// The pairs, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Value)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the mapping has no keys.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The pairs, sorted by key as UTF-8 bytes: the order in which they are written.
    pub fn sorted(&self) -> Vec<(&str, &Value)> {
        let mut pairs: Vec<_> = self.iter().collect();
        pairs.sort_by_key(|(key, _)| *key);
        pairs
    }

    /// A mapping of pairs whose keys may repeat. The first pair with a key counts. `repeated` is
    /// called for each later pair, with the indices of the first pair and of the later pair.
    pub(crate) fn from_pairs(
        pairs: Vec<(String, Value)>,
        mut repeated: impl FnMut(usize, usize),
    ) -> Self {
        let few = pairs.len() <= 16;
        if few
            && pairs
                .iter()
                .enumerate()
                .all(|(index, pair)| pairs[..index].iter().all(|other| other.0 != pair.0))
        {
            return Self(pairs);
        }
        let mut first = HashMap::new();
        let mut kept = Vec::with_capacity(pairs.len());
        for (index, (key, value)) in pairs.into_iter().enumerate() {
            match first.entry(key.clone()) {
                Entry::Occupied(earlier) => repeated(*earlier.get(), index),
                Entry::Vacant(vacant) => {
                    vacant.insert(index);
                    kept.push((key, value));
                }
            }
        }
        Self(kept)
    }

    /// The same keys with changed values.
    fn map_values(self, mut change: impl FnMut(Value) -> Value) -> Self {
        let pairs = self.0.into_iter();
        Self(pairs.map(|(key, value)| (key, change(value))).collect())
    }

    /// Adds a pair. The mapping must not have the key yet.
    pub(crate) fn push(&mut self, key: String, value: Value) {
        self.0.push((key, value));
    }
}

impl FromIterator<(String, Value)> for Mapping {
    /// A later pair replaces an earlier one with the same key.
    fn from_iter<I: IntoIterator<Item = (String, Value)>>(pairs: I) -> Self {
        let mut mapping = Self::new();
        mapping.extend(pairs);
        mapping
    }
}

impl Extend<(String, Value)> for Mapping {
    /// Inserts each pair as [`Self::insert`] does, in linear time for all pairs together.
    fn extend<I: IntoIterator<Item = (String, Value)>>(&mut self, pairs: I) {
        let mut known: HashMap<String, usize> =
            self.0.iter().map(|(key, _)| key.clone()).zip(0..).collect();
        for (key, value) in pairs {
            match known.entry(key.clone()) {
                Entry::Occupied(earlier) => self.0[*earlier.get()].1 = value,
                Entry::Vacant(vacant) => {
                    vacant.insert(self.0.len());
                    self.0.push((key, value));
                }
            }
        }
    }
}

impl IntoIterator for Mapping {
    type Item = (String, Value);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// The kinds of the values at top-level keys. The values of known keys are text, integers or
/// booleans; scalars at other keys keep their source text.
#[derive(Debug, Clone, Copy)]
pub struct Schema {
    /// Keys whose value is an integer in decimal digits.
    pub integers: &'static [&'static str],
    /// Keys whose value is a boolean, in any of the spellings of YAML 1.1.
    pub booleans: &'static [&'static str],
    /// Whether a key is known.
    pub is_known: fn(&str) -> bool,
}

impl Schema {
    /// All values are text.
    pub const TEXT: Self = Self {
        integers: &[],
        booleans: &[],
        is_known: |_| true,
    };

    /// The schema of a domain file.
    pub const DOMAIN_FILE: Self = Self {
        integers: &["content-length", "status"],
        booleans: &["case-sensitive-paths", "http", "https"],
        is_known: keys::is_known,
    };

    /// The value as the schema has it at a top-level key.
    pub(crate) fn typed(&self, key: &str, value: Value) -> Value {
        if !(self.is_known)(key) {
            return value.with_explicit_null();
        }
        let value = value.into_text();
        let typed = match &value {
            Value::Text(text) if self.integers.contains(&key) => {
                parse_integer(text).map(Value::Int)
            }
            Value::Text(text) if self.booleans.contains(&key) => {
                parse_boolean(text).map(Value::Bool)
            }
            _ => None,
        };
        typed.unwrap_or(value)
    }
}

/// Decimal digits without a leading zero: YAML 1.1 would read one as octal.
pub(crate) fn parse_integer(text: &str) -> Option<u64> {
    let plain = text == "0" || !text.starts_with('0');
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if plain && digits {
        text.parse().ok()
    } else {
        None
    }
}
