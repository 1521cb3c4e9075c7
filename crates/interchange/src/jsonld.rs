//! JSON-LD that describes files: Croissant, RO-Crate, `DataCite` in schema.org, and other descriptions with `contentUrl`.
//!
//! The reader resolves no context. Keys and types count by their last part, so `sc:contentUrl` is `contentUrl`.

use std::borrow::Cow;
use std::fmt;
use std::io::Read;
use std::sync::Arc;

use serde::de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use url::Url;
use urldb_format::Algorithm;

use crate::digest;
use crate::input::read_document;
use crate::model::{ListItem, Notice, ReadError, Sink};
use crate::raw_json::{Digests, JsonText, fields, for_each, is_null, text_of};
use crate::sums::notice;

/// The size limit of a file, in which an RO-Crate describes some 50,000 files.
const MAX_FILE: u64 = 16 << 20;

/// The length limit of a URL, in bytes.
const MAX_URL: usize = 64 << 10;

/// Reads the files of a description: objects with `contentUrl`, and those of type `File` whose `@id` is a URL, or a path
/// below `base`, the URL of the folder with the description. Several URLs of a file are its mirrors.
///
/// Left out are files in other files (`contained`), sets of files (`file-set`), repositories (`git`), files without a URL
/// (`relative`), and sizes with a unit, which round (`size`).
///
/// # Errors
/// [`ReadError::Malformed`] if the file is no JSON or is nested more than 127 deep, [`ReadError::Input`] if it is larger
/// than 16 MiB.
pub fn read(
    input: impl Read,
    file: &Arc<str>,
    base: Option<&str>,
    sink: &mut Sink<'_>,
) -> Result<(), ReadError> {
    let text = read_document(input, MAX_FILE, file)?;
    let mut reader = Reader {
        json: JsonText::new(&text, file),
        base: base.and_then(|base| Url::parse(base).ok()),
        sink,
        failure: None,
    };
    let mut json = serde_json::Deserializer::from_str(reader.json.json());
    let read = Walk(&mut reader).deserialize(&mut json);
    let read = read.and_then(|()| json.end());
    match (reader.failure.take(), read) {
        (Some(failure), _) => Err(failure),
        (None, read) => read.map_err(|error| reader.json.malformed(&error)),
    }
}

/// The keys of an object that describe a file.
const KEYS: [&str; 6] = [
    "@type",
    "@id",
    "contentUrl",
    "contentSize",
    "containedIn",
    "encodingFormat",
];

/// The values of an object that describe a file.
#[derive(Default)]
struct Description<'a> {
    /// The values of [`KEYS`].
    values: [Option<&'a RawValue>; KEYS.len()],
    /// The values of the algorithms.
    digests: [Option<&'a RawValue>; Algorithm::ALL.len()],
}

impl<'a> Description<'a> {
    /// The place for the value of a key; `None` if the key describes no file.
    fn place(&mut self, key: &str) -> Option<&mut Option<&'a RawValue>> {
        let name = last_part(key);
        if let Some(index) = KEYS.iter().position(|known| *known == name) {
            return self.values.get_mut(index);
        }
        let mut algorithms = Algorithm::ALL.into_iter();
        let index = algorithms.position(|algorithm| algorithm.name() == name)?;
        self.digests.get_mut(index)
    }
}

/// The part of a key or a type behind its prefix or the address of its vocabulary.
fn last_part(name: &str) -> &str {
    name.rsplit([':', '/', '#']).next().unwrap_or(name)
}

struct Reader<'a, 'b> {
    json: JsonText<'a>,
    base: Option<Url>,
    sink: &'a mut Sink<'b>,
    /// The error of the sink, which a JSON error cannot hold.
    failure: Option<ReadError>,
}

impl<'a> Reader<'a, '_> {
    /// An object whose keys are all read.
    fn object(&mut self, description: &Description<'a>) -> Result<(), ReadError> {
        let [types, id, urls, size, contained, encoding] = description.values;
        let Some(place) = urls.or(id).or(types) else {
            return Ok(());
        };
        let is = |wanted: &str| has(types, |name| last_part(name) == wanted);
        if is("FileSet") {
            return self.leave_out(
                place,
                "file-set",
                "the files of a set have no URLs of their own",
            );
        }
        let is_file = is("File") || is("FileObject");
        if urls.is_none() && !is_file {
            return Ok(());
        }
        if contained.is_some() {
            return self.leave_out(place, "contained", "the file is part of another file");
        }
        if has(encoding, |encoding| encoding.starts_with("git+")) {
            return self.leave_out(place, "git", "the source is a repository");
        }
        let urls = match (urls, id) {
            (Some(urls), _) => urls,
            (None, Some(id)) if is("File") => id,
            _ => {
                let notice = Notice::refused(
                    self.json.location(Some(place)),
                    "no-url",
                    "the file has no `contentUrl`",
                );
                return Ok((self.sink)(notice.into())?);
            }
        };
        self.file(urls, size, description.digests)
    }

    /// A file with its URLs.
    fn file(
        &mut self,
        urls: &'a RawValue,
        size: Option<&'a RawValue>,
        stated: [Option<&'a RawValue>; Algorithm::ALL.len()],
    ) -> Result<(), ReadError> {
        let length = size.and_then(|size| self.json.number(size));
        if let Some(size) = size.filter(|_| length.is_none()) {
            let message = "a size with a unit is no exact number of bytes";
            self.leave_out(size, "size", message)?;
        }
        let mut digests: Digests = vec![];
        for (algorithm, raw) in Algorithm::ALL.into_iter().zip(stated) {
            let Some(raw) = raw.filter(|raw| raw.get() != "\"\"") else {
                continue;
            };
            let text = text_of(raw).unwrap_or_default();
            match digest::parse(&text, Some(algorithm)) {
                Ok(digest) => {
                    let place = self.json.place(raw, &text, 0..text.len());
                    digests.push((digest, place));
                }
                Err(unknown) => {
                    let notice = notice(self.json.location(Some(raw)), &unknown);
                    return Ok((self.sink)(notice.into())?);
                }
            }
        }
        for_each(urls, &mut |url| {
            let item = self.item(url).map(|mut item| {
                if let Some((length, place)) = length.clone() {
                    item.set_length(length, Some(place));
                }
                item.with_digests(&digests)
            });
            Ok((self.sink)(item.into())?)
        })
    }

    /// The item of a URL, of a reference, or of an object with the URL as its `@id`.
    fn item(&self, raw: &RawValue) -> Result<ListItem, Notice> {
        let location = self.json.location(Some(raw));
        let id = fields(raw, ["@id"]).and_then(|[id]| id).unwrap_or(raw);
        let short = Some(id).filter(|id| id.get().len() <= MAX_URL);
        let Some(text) = short.and_then(text_of) else {
            return Err(Notice::refused(
                location,
                "bad-value",
                "the URL is no text of at most 64 KiB",
            ));
        };
        if Url::parse(&text).is_ok() {
            return ListItem::new(location, &text);
        }
        let is_local = text.is_empty() || text.starts_with('#') || text.starts_with("_:");
        let base = self.base.as_ref().filter(|_| !is_local);
        if let Some(url) = base.and_then(|base| base.join(&text).ok()) {
            return ListItem::new(location, url.as_str());
        }
        let message = format!("{text:?} has a URL only below a base");
        Err(Notice::left_out(location, "relative", message))
    }

    fn leave_out(&mut self, raw: &RawValue, code: &str, why: &str) -> Result<(), ReadError> {
        let location = self.json.location(Some(raw));
        Ok((self.sink)(Notice::left_out(location, code, why).into())?)
    }
}

/// Whether a text, or one of a list of texts, is wanted.
fn has(raw: Option<&RawValue>, is_wanted: impl Fn(&str) -> bool) -> bool {
    let mut is_found = false;
    if let Some(raw) = raw {
        let _ = for_each(raw, &mut |item| {
            is_found |= text_of(item).is_some_and(|text| is_wanted(&text));
            Ok(())
        });
    }
    is_found
}

/// Visits every object of a value, the inner ones first.
struct Walk<'r, 'a, 'b>(&'r mut Reader<'a, 'b>);

impl<'a> DeserializeSeed<'a> for Walk<'_, 'a, '_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'a>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_any(self)
    }
}

impl<'a> Visitor<'a> for Walk<'_, 'a, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'a>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(Walk(self.0))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<(), A::Error> {
        let mut description = Description::default();
        while let Some(key) = map.next_key::<Cow<'a, str>>()? {
            // A context maps names, and describes nothing.
            if key == "@context" {
                map.next_value::<IgnoredAny>()?;
            } else if let Some(value) = description.place(&key) {
                let raw: &'a RawValue = map.next_value()?;
                *value = Some(raw).filter(|raw| !is_null(raw));
            } else {
                map.next_value_seed(Walk(self.0))?;
            }
        }
        self.0.object(&description).map_err(|error| {
            self.0.failure = Some(error);
            A::Error::custom("the object is not taken")
        })
    }
}
