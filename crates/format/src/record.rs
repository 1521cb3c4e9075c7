//! A record: one URL and the promise about it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use data_encoding::HEXLOWER_PERMISSIVE;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use crate::digest::{Algorithm, Digest};
use crate::emit::ValueRef;
use crate::value::{Mapping, Value};

/// One URL of a domain file, and the promise about it.
///
/// A value of the wrong kind at a known key is in `extra`, so that reading and writing lose
/// nothing. `Serialize` is for temporary files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// `_path`: the absolute path with its query.
    pub path: String,
    /// `content-length`: the length of the body in bytes.
    pub content_length: Option<u64>,
    /// `content-sha256`: the digest of the body in lower-case hexadecimal digits.
    pub content_sha256: Option<String>,
    /// `content-md5`, `content-sha1`, `content-sha384`, `content-sha512`: further digests of the body, likewise.
    pub further_digests: BTreeMap<Algorithm, String>,
    /// `content-type`: a media type, or a pseudo type such as `X-301-Redirect`.
    pub content_type: Option<String>,
    /// `categories`: tags. urldb itself acts on some of them, such as `redirect-ok`.
    pub categories: Vec<String>,
    /// `method`: the method of the request; GET if absent.
    pub method: Option<String>,
    /// `request-body`: the body of the request.
    pub request_body: Option<String>,
    /// `request-headers`: additional header fields of the request, as text.
    pub request_headers: Mapping,
    /// `request-content-type`: the media type of `request-body`.
    pub request_content_type: Option<String>,
    /// `schemes`: `http`, `https` or both: the schemes of this record, in place of those of its domain.
    pub schemes: Vec<String>,
    /// `source`: the names of the sources in urldb.toml whose lists have the URL.
    pub source: Vec<String>,
    /// `status`: the expected status code.
    pub status: Option<u16>,
    /// `redirects-to`: the expected target of the redirect.
    pub redirects_to: Option<String>,
    /// `mute-until`: the date, in UTC, from which on people are notified about the URL again, such as
    /// `2026-12-24`.
    pub mute_until: Option<String>,
    /// `mute-reason`: why nobody is notified until then.
    pub mute_reason: Option<String>,
    /// `name`: a name for people.
    pub name: Option<String>,
    /// `description`: a text for people.
    pub description: Option<String>,
    /// `catalogue`: data for interchange formats.
    pub catalogue: Option<Mapping>,
    /// Every other key.
    pub extra: Mapping,
}

/// `path` in lower case up to its query, which always keeps its case: the identity of a path where
/// `case-sensitive-paths` is `false`.
pub fn without_case(path: &str) -> Cow<'_, str> {
    if !path.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return path.into();
    }
    let end = path.find('?').unwrap_or(path.len());
    let mut folded = path.to_owned();
    folded[..end].make_ascii_lowercase();
    folded.into()
}

/// The key of a record in its file: no two records of a file share it.
///
/// Identities order as records do in the canonical form: by path as UTF-8 bytes, a plain GET first, and a
/// record without variant before those with one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordIdentity {
    /// The `_path`.
    pub path: String,
    /// Method and body as query parameters, `__wb_method=POST&…`; `None` for a GET.
    pub request: Option<String>,
    /// The values of the request headers that `vary` of the metadata names, such as `accept: text/turtle`: a line
    /// for each header, without line break at the end. `None` for a record that has none of these headers.
    pub variant: Option<String>,
}

impl RecordIdentity {
    /// The identity of a record that requests `path` with a plain GET.
    pub fn get(path: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            request: None,
            variant: None,
        }
    }
}

impl Record {
    /// A record that promises only that `path` can be fetched.
    pub fn new(path: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            ..Self::default()
        }
    }

    /// Whether the record promises the bytes of the body: it has a length or a digest.
    pub fn is_static(&self) -> bool {
        self.content_length.is_some()
            || self.content_sha256.is_some()
            || !self.further_digests.is_empty()
    }

    /// The promised digest of an algorithm, as it is written.
    pub fn digest(&self, algorithm: Algorithm) -> Option<&str> {
        match algorithm {
            Algorithm::Sha256 => self.content_sha256.as_deref(),
            other => self.further_digests.get(&other).map(String::as_str),
        }
    }

    /// The promised digests, the weakest first, without those that are none by their length or their letters.
    pub fn digests(&self) -> impl Iterator<Item = Digest> {
        Algorithm::ALL
            .into_iter()
            .filter_map(|algorithm| Digest::from_hex(algorithm, self.digest(algorithm)?))
    }

    /// Promises a digest, in place of another one of the same algorithm.
    pub fn set_digest(&mut self, digest: &Digest) {
        match digest.algorithm() {
            Algorithm::Sha256 => self.content_sha256 = Some(digest.hex().to_owned()),
            other => drop(self.further_digests.insert(other, digest.hex().to_owned())),
        }
    }

    /// The promised SHA-256; `None` if there is none, or if it is not 64 hexadecimal digits.
    pub fn sha256(&self) -> Option<[u8; 32]> {
        let digits = self.content_sha256.as_ref()?.as_bytes();
        HEXLOWER_PERMISSIVE.decode(digits).ok()?.try_into().ok()
    }

    /// The date of `mute-until`; `None` if there is none, or if it is no date such as `2026-12-24`.
    pub fn muted_until(&self) -> Option<Date> {
        let text = self.mute_until.as_deref()?;
        // Other forms of dates exist, such as `20261224`.
        text.parse()
            .ok()
            .filter(|date: &Date| date.to_string() == text)
    }

    /// Whether nobody is notified about the URL on this day.
    pub fn is_muted(&self, today: Date) -> bool {
        self.muted_until().is_some_and(|until| today < until)
    }

    /// Whether the record has the category.
    pub fn has_category(&self, category: &str) -> bool {
        self.categories.iter().any(|other| other == category)
    }

    /// The key of this record in a file without `vary`; elsewhere [`crate::Metadata::exact_identity_of`] has it.
    pub fn identity(&self) -> RecordIdentity {
        self.identity_with(false, &[])
    }

    /// The key of this record in a file with this `vary`; with `fold`, the case of the path makes no difference,
    /// but for the query.
    pub(crate) fn identity_with(&self, fold: bool, vary: &[String]) -> RecordIdentity {
        let path = if fold {
            without_case(&self.path)
        } else {
            Cow::Borrowed(&*self.path)
        };
        RecordIdentity {
            path: path.into_owned(),
            request: self.request_key(),
            variant: self.variant(vary),
        }
    }

    /// The request headers with these names, in lower case and sorted, one a line.
    pub(crate) fn variant(&self, vary: &[String]) -> Option<String> {
        if vary.is_empty() || self.request_headers.is_empty() {
            return None;
        }
        let mut lines: Vec<String> = self
            .request_headers
            .iter()
            .filter(|(name, _)| vary.iter().any(|it| it.eq_ignore_ascii_case(name)))
            .filter_map(|(name, value)| {
                Some(format!(
                    "{}: {}",
                    name.to_ascii_lowercase(),
                    value.as_text()?
                ))
            })
            .collect();
        // The colon sorts after `-`: names are compared alone.
        lines.sort_by(|a, b| (header_name(a), a).cmp(&(header_name(b), b)));
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    /// The request as query parameters (crates/canon), equal for equal requests; `None` for a GET.
    pub fn request_key(&self) -> Option<String> {
        let request = urldb_canon::Request {
            method: self.method.as_deref()?,
            content_type: self.content_type_of_request().unwrap_or_default(),
            body: self.request_body.as_deref().unwrap_or_default().as_bytes(),
        };
        request.query(urldb_canon::Compat::Spec)
    }

    /// The media type of the request body: `request-content-type`, else the header field.
    fn content_type_of_request(&self) -> Option<&str> {
        self.request_content_type.as_deref().or_else(|| {
            let (_, value) = self
                .request_headers
                .iter()
                .find(|(name, _)| name.eq_ignore_ascii_case("content-type"))?;
            value.as_text()
        })
    }

    /// The record in a document; `None` if the document has no `_path` or a `_path` that is not text.
    pub fn from_mapping(mapping: Mapping) -> Option<Self> {
        let mut record = Self::default();
        let mut has_path = false;
        for (key, value) in mapping {
            has_path |= key == "_path" && matches!(value, Value::Text(_));
            record.set(key, value);
        }
        has_path.then_some(record)
    }

    fn set(&mut self, key: String, value: Value) {
        match (key.as_str(), value) {
            ("_path", Value::Text(text)) => self.path = text,
            ("content-length", Value::Int(number)) => self.content_length = Some(number),
            ("content-sha256", Value::Text(text)) => self.content_sha256 = Some(text),
            ("content-type", Value::Text(text)) => self.content_type = Some(text),
            ("description", Value::Text(text)) => self.description = Some(text),
            ("method", Value::Text(text)) => self.method = Some(text),
            ("mute-reason", Value::Text(text)) => self.mute_reason = Some(text),
            ("mute-until", Value::Text(text)) => self.mute_until = Some(text),
            ("name", Value::Text(text)) => self.name = Some(text),
            ("redirects-to", Value::Text(text)) => self.redirects_to = Some(text),
            ("request-body", Value::Text(text)) => self.request_body = Some(text),
            ("request-content-type", Value::Text(text)) => self.request_content_type = Some(text),
            ("catalogue", Value::Map(mapping)) => self.catalogue = Some(mapping),
            ("request-headers", Value::Map(headers)) if is_header_mapping(&headers) => {
                self.request_headers = headers;
            }
            ("status", Value::Int(number)) if u16::try_from(number).is_ok() => {
                self.status = u16::try_from(number).ok();
            }
            ("categories" | "schemes" | "source", value) => match into_texts(value) {
                Ok(texts) if key == "categories" => self.categories = texts,
                Ok(texts) if key == "schemes" => self.schemes = texts,
                Ok(texts) => self.source = texts,
                Err(value) => self.extra.push(key, value),
            },
            (name, Value::Text(text)) if let Some(algorithm) = Algorithm::of_key(name) => {
                self.further_digests.insert(algorithm, text);
            }
            (_, value) => self.extra.push(key, value),
        }
    }

    /// The document of the record in the canonical form.
    pub fn to_mapping(&self) -> Mapping {
        to_mapping(self.fields(ListOrder::Sorted))
    }

    /// The keys that the record has, sorted.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.fields(ListOrder::Source)
            .into_iter()
            .map(|(key, _)| key)
    }

    /// The keys and values, sorted by key.
    pub(crate) fn fields(&self, lists: ListOrder) -> Vec<(&str, ValueRef<'_>)> {
        let mut fields = Vec::with_capacity(8 + self.extra.len());
        fields.push(("_path", ValueRef::Text(&self.path)));
        fields.extend(
            self.catalogue
                .as_ref()
                .map(|mapping| ("catalogue", ValueRef::Map(mapping))),
        );
        if !self.categories.is_empty() {
            fields.push(("categories", lists.field(&self.categories)));
        }
        fields.extend(
            self.content_length
                .map(|length| ("content-length", ValueRef::Int(length))),
        );
        fields.extend(Algorithm::ALL.into_iter().filter_map(|algorithm| {
            let digest = self.digest(algorithm)?;
            Some((algorithm.key(), ValueRef::Text(digest)))
        }));
        for (key, value) in [
            ("content-type", &self.content_type),
            ("description", &self.description),
            ("method", &self.method),
            ("mute-reason", &self.mute_reason),
            ("mute-until", &self.mute_until),
            ("name", &self.name),
            ("redirects-to", &self.redirects_to),
            ("request-body", &self.request_body),
            ("request-content-type", &self.request_content_type),
        ] {
            fields.extend(value.as_deref().map(|text| (key, ValueRef::Text(text))));
        }
        if !self.request_headers.is_empty() {
            fields.push(("request-headers", ValueRef::Map(&self.request_headers)));
        }
        for (key, texts) in [("schemes", &self.schemes), ("source", &self.source)] {
            if !texts.is_empty() {
                fields.push((key, lists.field(texts)));
            }
        }
        fields.extend(
            self.status
                .map(|status| ("status", ValueRef::Int(status.into()))),
        );
        with_extra(fields, &self.extra)
    }
}

/// The order of the items of lists whose order has no meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListOrder {
    /// Sorted and without repeats: the canonical form.
    Sorted,
    /// As in the source.
    Source,
}

impl ListOrder {
    pub(crate) fn field(self, texts: &[String]) -> ValueRef<'_> {
        if self == Self::Source || texts.is_sorted_by(|a, b| a < b) {
            return ValueRef::Texts(Cow::Borrowed(texts));
        }
        let mut texts = texts.to_vec();
        texts.sort();
        texts.dedup();
        ValueRef::Texts(Cow::Owned(texts))
    }
}

/// The texts of a list. An empty list is an `Err`, so that `extra` keeps it.
pub(crate) fn into_texts(value: Value) -> Result<Vec<String>, Value> {
    match value {
        Value::List(items)
            if !items.is_empty() && items.iter().all(|item| item.as_text().is_some()) =>
        {
            Ok(items
                .into_iter()
                .filter_map(|item| match item {
                    Value::Text(text) => Some(text),
                    _ => None,
                })
                .collect())
        }
        other => Err(other),
    }
}

/// The name in the line of a header.
fn header_name(line: &str) -> &str {
    line.split_once(':').map_or(line, |(name, _)| name)
}

fn is_header_mapping(headers: &Mapping) -> bool {
    !headers.is_empty() && headers.iter().all(|(_, value)| value.as_text().is_some())
}

/// Adds the other keys, except those that `fields` already has.
pub(crate) fn with_extra<'a>(
    mut fields: Vec<(&'a str, ValueRef<'a>)>,
    extra: &'a Mapping,
) -> Vec<(&'a str, ValueRef<'a>)> {
    if !extra.is_empty() {
        let known = fields.len();
        for (key, value) in extra.iter() {
            if fields[..known].iter().all(|(other, _)| *other != key) {
                fields.push((key, ValueRef::from(value)));
            }
        }
        fields.sort_by_key(|(key, _)| *key);
    }
    fields
}

pub(crate) fn to_mapping(fields: Vec<(&str, ValueRef)>) -> Mapping {
    let mut mapping = Mapping::new();
    for (key, field) in fields {
        mapping.push(key.to_owned(), field.to_value());
    }
    mapping
}

/// Whether `text` is a SHA-256 as `content-sha256` holds it: 64 lower-case hexadecimal digits.
pub fn is_sha256(text: &str) -> bool {
    let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    // Without an early end, the compiler compares many bytes at once.
    let digits = <&[u8; 64]>::try_from(text.as_bytes());
    digits.is_ok_and(|digits| digits.iter().fold(true, |ok, byte| ok & is_hex(*byte)))
}
