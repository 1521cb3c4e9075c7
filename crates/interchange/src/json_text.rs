//! The values of a JSON text, or of YAML in its form, each with its line and its bytes in the file.
//!
//! A value is a part of the text, and takes no memory of its own.

use std::borrow::Cow;
use std::io::Read;
use std::ops::Range;
use std::sync::Arc;

use serde_json::value::RawValue;
use urldb_format::Algorithm;

use crate::digest::{self, DigestList, notice};
use crate::file_events::FileEvents;
use crate::input::{LineBreaks, read_document};
use crate::model::{FilePromise, ListItem, ReadError};
use crate::yaml::{YamlMark, YamlText};

/// The size limit of a file that a program writes. Real ones have some 30 MB.
const MAX_FILE: u64 = 128 << 20;

/// The bytes between values.
const BETWEEN: [char; 6] = [' ', '\t', '\r', '\n', ',', ':'];

/// A JSON text.
pub(crate) struct JsonText<'a> {
    text: &'a str,
    /// The line of its first byte in the file, from 1.
    first_line: u64,
    /// Whether the text is the whole file, so that its offsets are those of the file.
    is_file: bool,
    breaks: LineBreaks<'a>,
    /// The places of the values in a file of YAML.
    marks: &'a [YamlMark],
}

impl<'a> JsonText<'a> {
    /// The text of a file.
    pub(crate) fn of_file(text: &'a str) -> Self {
        Self {
            text,
            first_line: 1,
            is_file: true,
            breaks: LineBreaks::of(text.as_bytes()),
            marks: &[],
        }
    }

    /// A part of a file, whose values have lines but no places.
    pub(crate) fn of_part(text: &'a str, first_line: u64) -> Self {
        Self {
            first_line,
            is_file: false,
            ..Self::of_file(text)
        }
    }

    /// The list of the documents of a YAML file.
    pub(crate) fn of_yaml(yaml: &'a YamlText) -> Self {
        Self {
            marks: &yaml.marks,
            ..Self::of_part(&yaml.json, 1)
        }
    }

    /// The only value of the text, which may have a byte order mark before it, as some editors on Windows write it.
    ///
    /// # Errors
    /// If the text is no JSON.
    pub(crate) fn value(&'a self) -> Result<Value<'a>, serde_json::Error> {
        let text = self.text.strip_prefix('\u{feff}').unwrap_or(self.text);
        let raw: &RawValue = serde_json::from_str(text)?;
        let raw = raw.get();
        Ok(Value { raw, json: self })
    }

    /// The value of the text of a file.
    ///
    /// # Errors
    /// [`ReadError::Malformed`] if the text is no JSON.
    pub(crate) fn parse(&'a self, file: &Arc<str>) -> Result<Value<'a>, ReadError> {
        self.value()
            .map_err(|error| ReadError::malformed(file, error.line() as u64, error.to_string()))
    }

    /// The values of the list at a key of the file.
    ///
    /// # Errors
    /// [`ReadError::Malformed`] if the text is no JSON, or no object with this list.
    pub(crate) fn entries(
        &'a self,
        key: &str,
        file: &Arc<str>,
    ) -> Result<impl Iterator<Item = Value<'a>>, ReadError> {
        let value = self.parse(file)?;
        if !value.get(key).is_some_and(Value::is_list) {
            let message = format!("the file is not an object with the list `{key}`");
            return Err(ReadError::malformed(file, 1, message));
        }
        Ok(value.list(key))
    }
}

/// Reads a file that a program writes.
///
/// # Errors
/// [`ReadError::Input`] if the file has more than 128 MiB.
pub(crate) fn read_written(input: impl Read, file: &Arc<str>) -> Result<String, ReadError> {
    read_document(input, MAX_FILE, file)
}

/// A value of a [`JsonText`].
#[derive(Clone, Copy)]
pub(crate) struct Value<'a> {
    raw: &'a str,
    json: &'a JsonText<'a>,
}

impl<'a> Value<'a> {
    fn offset(self) -> usize {
        self.raw.as_ptr().addr() - self.json.text.as_ptr().addr()
    }

    /// The mark of a value of YAML.
    fn mark(self) -> Option<&'a YamlMark> {
        let marks = self.json.marks;
        let index = marks.binary_search_by_key(&self.offset(), |mark| mark.offset);
        marks.get(index.ok()?)
    }

    /// The line in the file, from 1.
    pub(crate) fn line(self) -> u64 {
        match self.mark() {
            Some(mark) => mark.line,
            None => self.json.first_line + self.json.breaks.line(self.offset()) - 1,
        }
    }

    /// The number of bytes that the value has in the file.
    pub(crate) fn length(self) -> usize {
        self.raw.len()
    }

    pub(crate) fn is_null(self) -> bool {
        self.raw == "null"
    }

    pub(crate) fn is_list(self) -> bool {
        self.raw.starts_with('[')
    }

    pub(crate) fn is_object(self) -> bool {
        self.raw.starts_with('{')
    }

    /// The text, if the value is one.
    pub(crate) fn text(self) -> Option<Cow<'a, str>> {
        let text = self.raw.strip_prefix('"')?.strip_suffix('"')?;
        if text.contains('\\') {
            serde_json::from_str(self.raw).ok().map(Cow::Owned)
        } else {
            Some(Cow::Borrowed(text))
        }
    }

    /// A number, or a text that is one, with its place.
    pub(crate) fn number(self) -> Option<(u64, Option<Range<u64>>)> {
        let digits = self.raw.trim_matches('"');
        let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
        let number = Some(digits).filter(|_| is_number)?.parse().ok()?;
        let quote = usize::from(self.raw.starts_with('"'));
        Some((number, self.bytes(quote..quote + digits.len())))
    }

    /// The place of a part of the text in the file. A text with escapes has none, since its bytes are others.
    pub(crate) fn place(self, part: &Range<usize>) -> Option<Range<u64>> {
        let is_plain = !self.raw.contains('\\');
        self.bytes(part.start + 1..part.end + 1)
            .filter(|_| is_plain)
    }

    fn bytes(self, part: Range<usize>) -> Option<Range<u64>> {
        // A text of YAML is in quotes here.
        let start = match self.mark() {
            Some(mark) => mark.text?,
            None => Some(self.offset() as u64 + 1).filter(|_| self.json.is_file)?,
        };
        Some(start + part.start as u64 - 1..start + part.end as u64 - 1)
    }

    /// The values of a list; the value itself, if it is no list.
    pub(crate) fn items(self) -> impl Iterator<Item = Self> {
        let mut cursor = self.cursor();
        let is_list = cursor.enter('[');
        let mut is_first = true;
        std::iter::from_fn(move || {
            if is_list {
                cursor.has_next().then(|| cursor.value())
            } else {
                std::mem::take(&mut is_first).then_some(self)
            }
        })
    }

    /// The keys and the values of an object; none of another value.
    pub(crate) fn members(self) -> impl Iterator<Item = (Cow<'a, str>, Self)> {
        let mut cursor = self.cursor();
        let is_object = cursor.enter('{');
        std::iter::from_fn(move || {
            let has_next = is_object && cursor.has_next();
            has_next.then(|| (cursor.key(), cursor.value()))
        })
    }

    /// The values of keys of an object, without those that are null. The last of several values of a key counts.
    pub(crate) fn fields<const N: usize>(self, keys: [&str; N]) -> [Option<Self>; N] {
        let mut fields = [None; N];
        for (name, value) in self.members() {
            let index = keys.iter().position(|key| *key == name);
            if let Some(field) = index.and_then(|index| fields.get_mut(index)) {
                *field = Some(value).filter(|value| !value.is_null());
            }
        }
        fields
    }

    /// The value of a key, as [`Self::fields`].
    pub(crate) fn get(self, key: &str) -> Option<Self> {
        let [value] = self.fields([key]);
        value
    }

    /// The values of the list at a key; none of another value.
    pub(crate) fn list(self, key: &str) -> impl Iterator<Item = Self> {
        let list = self.get(key).filter(|value| value.is_list());
        list.into_iter().flat_map(Self::items)
    }

    /// Whether the value is this text.
    pub(crate) fn is(self, text: &str) -> bool {
        self.text().is_some_and(|own| own == text)
    }

    /// A cursor before the value.
    pub(crate) fn cursor(self) -> Cursor<'a> {
        Cursor {
            rest: self.raw,
            json: self.json,
        }
    }

    /// Passes the item of a URL with its promise, or a notice.
    pub(crate) fn promise(
        self,
        promise: &FilePromise,
        events: &mut FileEvents<'_, '_>,
    ) -> Result<(), ReadError> {
        match self.text() {
            Some(url) => events.promise(ListItem::new(events.at(self.line()), &url), promise),
            None => events.refuse(self.line(), "bad-value", "the URL is no text"),
        }
    }
}

/// The digest of a value; `None` if a notice refused it. Without a value there is no digest, and one of another algorithm
/// is left out.
pub(crate) fn digest(
    stated: Option<Value<'_>>,
    assumed: Option<Algorithm>,
    events: &mut FileEvents<'_, '_>,
) -> Result<Option<FilePromise>, ReadError> {
    promise_of(stated, events, |text| DigestList::of(text, assumed))
}

/// The digests of subresource integrity, as [`digest`]. Left out are also those of which any may match.
pub(crate) fn integrity(
    stated: Option<Value<'_>>,
    events: &mut FileEvents<'_, '_>,
) -> Result<Option<FilePromise>, ReadError> {
    promise_of(stated, events, digest::parse_all)
}

/// The digests of all algorithms, each from its value; `None` if a notice refused one.
pub(crate) fn digests(
    stated: [Option<Value<'_>>; Algorithm::ALL.len()],
    events: &mut FileEvents<'_, '_>,
) -> Result<Option<FilePromise>, ReadError> {
    let mut promise = FilePromise::default();
    for (algorithm, stated) in Algorithm::ALL.into_iter().zip(stated) {
        match digest(stated, Some(algorithm), events)? {
            Some(found) => promise.digests.extend(found.digests),
            None => return Ok(None),
        }
    }
    Ok(Some(promise))
}

fn promise_of(
    stated: Option<Value<'_>>,
    events: &mut FileEvents<'_, '_>,
    parse: impl FnOnce(&str) -> DigestList,
) -> Result<Option<FilePromise>, ReadError> {
    let Some(value) = stated else {
        return Ok(Some(FilePromise::default()));
    };
    let line = value.line();
    let Some(text) = value.text() else {
        events.refuse(line, "bad-digest", "the digest is no text")?;
        return Ok(None);
    };
    let list = parse(&text);
    for unknown in &list.unknown {
        events.pass(notice(events.at(line), unknown))?;
        if !matches!(unknown, digest::Unknown::Algorithm(_)) {
            return Ok(None);
        }
    }
    for algorithm in &list.ambiguous {
        let why = format!("there are several values for {algorithm}, of which any may match");
        events.skip(line, "several-digests", &why)?;
    }
    let digests = list
        .digests
        .into_iter()
        .map(|(digest, part)| (digest, value.place(&part)));
    Ok(Some(FilePromise {
        length: None,
        digests: digests.collect(),
    }))
}

/// A position in a [`JsonText`], whose whole text is JSON.
pub(crate) struct Cursor<'a> {
    rest: &'a str,
    json: &'a JsonText<'a>,
}

impl<'a> Cursor<'a> {
    /// Enters the list or the object that begins here with `bracket`.
    pub(crate) fn enter(&mut self, bracket: char) -> bool {
        let rest = self.rest.trim_start_matches(BETWEEN);
        let inside = rest.strip_prefix(bracket);
        self.rest = inside.unwrap_or(rest);
        inside.is_some()
    }

    /// Whether the list or the object goes on; leaves it otherwise.
    pub(crate) fn has_next(&mut self) -> bool {
        let rest = self.rest.trim_start_matches(BETWEEN);
        let behind = rest.strip_prefix([']', '}']);
        self.rest = behind.unwrap_or(rest);
        behind.is_none() && !rest.is_empty()
    }

    /// Passes a key.
    pub(crate) fn key(&mut self) -> Cow<'a, str> {
        self.value().text().unwrap_or_default()
    }

    /// Passes a value.
    pub(crate) fn value(&mut self) -> Value<'a> {
        let rest = self.rest.trim_start_matches(BETWEEN);
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<&RawValue>();
        let raw = values.next().and_then(Result::ok).map(RawValue::get);
        let end = raw.map_or(rest.len(), |_| values.byte_offset());
        self.rest = rest.get(end..).unwrap_or_default();
        let raw = raw.unwrap_or(self.rest);
        Value {
            raw,
            json: self.json,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value as Json;

    use super::*;

    fn json() -> impl Strategy<Value = Json> {
        let text = "[0-9a-c\"\\\\é,:{}\\[\\]\n ]{0,6}";
        let leaf = prop_oneof![
            Just(Json::Null),
            any::<i64>().prop_map(Json::from),
            any::<f32>().prop_map(Json::from),
            text.prop_map(Json::from),
        ];
        leaf.prop_recursive(4, 40, 5, |inner| {
            let members = prop::collection::btree_map("[a-c\"]{0,2}", inner.clone(), 0..5);
            prop_oneof![
                prop::collection::vec(inner, 0..5).prop_map(Json::from),
                members.prop_map(|members| Json::Object(members.into_iter().collect())),
            ]
        })
    }

    /// Compares a value, and all within it, with those of another parser.
    fn compare(value: Value<'_>, wanted: &Json, file: &str) {
        let before = &file[..value.offset()];
        assert_eq!(value.line(), 1 + before.matches('\n').count() as u64);
        assert_eq!(value.text().as_deref(), wanted.as_str());
        let text = wanted.as_str().map_or(wanted.to_string(), str::to_owned);
        let (number, digits) = value.number().unzip();
        assert_eq!(number, text.parse::<u64>().ok());
        let place = Some(&text).filter(|_| wanted.is_string());
        let place = place.and_then(|text| value.place(&(0..text.len())));
        assert!(place.is_some() || !wanted.is_string() || value.raw.contains('\\'));
        for place in [place, digits.flatten()].into_iter().flatten() {
            let [from, to] = [place.start, place.end].map(|at| usize::try_from(at).unwrap());
            assert_eq!(&file[from..to], text);
        }
        let items: Vec<Value<'_>> = value.items().collect();
        let (keys, members): (Vec<_>, Vec<_>) = value.members().unzip();
        let wanted: Vec<&Json> = match wanted {
            Json::Array(wanted) => wanted.iter().collect(),
            Json::Object(wanted) => {
                assert!(keys.iter().eq(wanted.keys()));
                assert!(
                    keys.iter()
                        .all(|key| value.get(key).is_some() != wanted[&**key].is_null())
                );
                wanted.values().collect()
            }
            _ => return assert_eq!((items[0].raw, items.len()), (value.raw, 1)),
        };
        let found = if value.is_list() { items } else { members };
        assert_eq!(found.len(), wanted.len());
        found
            .into_iter()
            .zip(wanted)
            .for_each(|(it, wanted)| compare(it, wanted, file));
    }

    proptest! {
        #[test]
        fn values_and_places_are_those_of_the_file(json in json(), is_pretty: bool) {
            let text = if is_pretty { serde_json::to_string_pretty(&json) } else { serde_json::to_string(&json) };
            let file = format!("\u{feff}{}", text.unwrap());
            compare(JsonText::of_file(&file).value().unwrap(), &json, &file);
        }
    }
}
