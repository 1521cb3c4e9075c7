//! Text from outside that is kept or sent.

use std::fmt;
use std::ops::Deref;

use crate::{redact, sanitize};

/// Text from outside that is safe to keep, to send and to show: one [sanitized](sanitize) line of bounded
/// length, without registered secrets. Tabs stay, since texts may differ in tabs alone.
///
/// As JSON, it is a string. Deserialization sanitizes it again: a stranger may have written the file.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shown(String);

impl Shown {
    /// Most characters of a text that has no narrower limit, such as a URL.
    pub const LONGEST: usize = 8_192;

    /// The text, with at most so many characters. The text is sanitized before it is cut.
    pub fn new(text: &str, most_characters: usize) -> Self {
        let text = redact(text);
        let pieces: Vec<_> = text.split('\t').map(sanitize).collect();
        let mut shown = pieces.join("\t");
        if let Some((end, _)) = shown.char_indices().nth(most_characters) {
            shown.truncate(end);
        }
        Self(shown)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Deref for Shown {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for Shown {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl PartialEq<str> for Shown {
    fn eq(&self, text: &str) -> bool {
        self.0 == text
    }
}

impl PartialEq<String> for Shown {
    fn eq(&self, text: &String) -> bool {
        self.0 == *text
    }
}

impl PartialEq<&str> for Shown {
    fn eq(&self, text: &&str) -> bool {
        self.0 == *text
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Shown {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Shown {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Ok(Self::new(&text, Self::LONGEST))
    }
}

#[cfg(feature = "schemars")]
impl schemars::JsonSchema for Shown {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        String::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        String::json_schema(generator)
    }

    fn inline_schema() -> bool {
        true
    }
}
