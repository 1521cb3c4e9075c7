//! The values of a JSON file with their places: a raw value is a part of the text.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use serde::Deserializer as _;
use serde::de::{Deserialize, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use urldb_format::Digest;

use crate::input::LineBreaks;
use crate::model::{Location, ReadError};

/// The digests that a file has for a URL, each with its place.
pub(crate) type Digests = Vec<(Digest, Option<Range<u64>>)>;

/// The text of a JSON file.
pub(crate) struct JsonText<'a> {
    text: &'a str,
    file: &'a Arc<str>,
    breaks: LineBreaks<'a>,
}

impl<'a> JsonText<'a> {
    pub(crate) fn new(text: &'a str, file: &'a Arc<str>) -> Self {
        Self {
            text,
            file,
            breaks: LineBreaks::of(text),
        }
    }

    /// The text without a byte order mark, which some editors on Windows write.
    pub(crate) fn json(&self) -> &'a str {
        self.text.strip_prefix('\u{feff}').unwrap_or(self.text)
    }

    /// Parses the file.
    ///
    /// # Errors
    /// [`ReadError::Malformed`] if it is no JSON, or another value.
    pub(crate) fn parse<T: Deserialize<'a>>(&self) -> Result<T, ReadError> {
        serde_json::from_str(self.json()).map_err(|error| self.malformed(&error))
    }

    /// The error of a parser.
    pub(crate) fn malformed(&self, error: &serde_json::Error) -> ReadError {
        ReadError::Malformed {
            location: Location::line(self.file, error.line() as u64),
            message: error.to_string(),
        }
    }

    /// The offset of a value in the file.
    fn offset(&self, raw: &RawValue) -> usize {
        raw.get().as_ptr().addr() - self.text.as_ptr().addr()
    }

    /// The location of a value; the first line without one.
    pub(crate) fn location(&self, raw: Option<&RawValue>) -> Location {
        let offset = raw.map_or(0, |raw| self.offset(raw));
        Location::line(self.file, self.breaks.line(offset))
    }

    /// The place of a part of a text in the file. A text with escapes has none, since its bytes are others.
    pub(crate) fn place(
        &self,
        raw: &RawValue,
        text: &str,
        part: Range<usize>,
    ) -> Option<Range<u64>> {
        let is_plain = raw.get().get(1..raw.get().len() - 1) == Some(text);
        let start = self.offset(raw) + 1;
        is_plain.then(|| (start + part.start) as u64..(start + part.end) as u64)
    }

    /// A number, or a text that is one, with its place.
    pub(crate) fn number(&self, raw: &RawValue) -> Option<(u64, Range<u64>)> {
        let digits = raw.get().trim_matches('"');
        let number = Some(digits).filter(|it| it.bytes().all(|byte| byte.is_ascii_digit()));
        let start = (digits.as_ptr().addr() - self.text.as_ptr().addr()) as u64;
        Some((number?.parse().ok()?, start..start + digits.len() as u64))
    }
}

pub(crate) fn is_null(raw: &RawValue) -> bool {
    raw.get() == "null"
}

pub(crate) fn text_of(raw: &RawValue) -> Option<String> {
    serde_json::from_str(raw.get()).ok()
}

/// Passes each value of a list, or the only value, to `take`. Memory holds one value.
///
/// # Errors
/// Those of `take`.
pub(crate) fn for_each<'a>(
    raw: &'a RawValue,
    take: &mut dyn FnMut(&'a RawValue) -> Result<(), ReadError>,
) -> Result<(), ReadError> {
    struct Items<'t, 'a> {
        take: &'t mut dyn FnMut(&'a RawValue) -> Result<(), ReadError>,
        failure: &'t mut Option<ReadError>,
    }

    impl<'a> Visitor<'a> for Items<'_, 'a> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list")
        }

        fn visit_seq<A: SeqAccess<'a>>(self, mut items: A) -> Result<(), A::Error> {
            while let Some(raw) = items.next_element()? {
                (self.take)(raw).map_err(|error| {
                    *self.failure = Some(error);
                    A::Error::custom("the value is not taken")
                })?;
            }
            Ok(())
        }
    }

    if !raw.get().starts_with('[') {
        return take(raw);
    }
    let mut failure = None;
    let items = Items {
        take,
        failure: &mut failure,
    };
    // A raw value is JSON, so only `take` can fail.
    let _ = serde_json::Deserializer::from_str(raw.get()).deserialize_seq(items);
    failure.map_or(Ok(()), Err)
}

/// The values of keys of an object, without those that are null; `None` if the value is no object. The last of several
/// values of a key counts.
pub(crate) fn fields<'a, const N: usize>(
    raw: &'a RawValue,
    keys: [&'static str; N],
) -> Option<[Option<&'a RawValue>; N]> {
    struct Fields<const N: usize>([&'static str; N]);

    impl<'de, const N: usize> Visitor<'de> for Fields<N> {
        type Value = [Option<&'de RawValue>; N];

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut found = [None; N];
            while let Some(key) = map.next_key::<Cow<'de, str>>()? {
                let index = self.0.iter().position(|wanted| *wanted == key);
                match index.and_then(|index| found.get_mut(index)) {
                    Some(value) => {
                        let raw: &RawValue = map.next_value()?;
                        *value = Some(raw).filter(|raw| !is_null(raw));
                    }
                    None => {
                        map.next_value::<IgnoredAny>()?;
                    }
                }
            }
            Ok(found)
        }
    }

    // The error of a parser would hold a whole text.
    if !raw.get().starts_with('{') {
        return None;
    }
    let mut json = serde_json::Deserializer::from_str(raw.get());
    json.deserialize_map(Fields(keys)).ok()
}
