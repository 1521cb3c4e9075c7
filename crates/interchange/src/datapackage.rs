//! `datapackage.json` of Frictionless Data: the files of each resource (Data Package 1.0 and 2.0).

use std::io::Read;
use std::sync::Arc;

use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::digest;
use crate::input::read_document;
use crate::model::{ListItem, Location, Notice, ReadError, Sink};
use crate::raw_json::{Digests, JsonText, fields, for_each, text_of};
use crate::sums::{item_below, notice};

/// The size limit of a file. Tables with thousands of columns make some hundred kilobytes.
const MAX_FILE: u64 = 4 << 20;

/// Reads a package: `path`, `bytes` and `hash` of each resource. `base` is the URL of the folder with the package, with
/// a final `/`. A `hash` without a prefix has the algorithm of its length.
///
/// Left out are resources whose data are in the package (`inline`), relative paths without a base (`relative`), `bytes`
/// and `hash` of a resource in several files, since they are those of all together (`parts`), and digests of other
/// algorithms (`algorithm`).
///
/// # Errors
/// [`ReadError::Malformed`] if the file is no JSON object with the list `resources`, [`ReadError::Input`] if it is larger
/// than 4 MiB.
pub fn read(
    input: impl Read,
    file: &Arc<str>,
    base: Option<&str>,
    sink: &mut Sink<'_>,
) -> Result<(), ReadError> {
    let text = read_document(input, MAX_FILE, file)?;
    let json = JsonText::new(&text, file);
    let package: &RawValue = json.parse()?;
    let resources = fields(package, ["resources"]).and_then(|[resources]| resources);
    let resources = resources.filter(|raw| raw.get().starts_with('['));
    let resources = resources.ok_or_else(|| ReadError::Malformed {
        location: Location::line(file, 1),
        message: "the file is not an object with the list `resources`".to_owned(),
    })?;
    let mut reader = Reader { json, base, sink };
    for_each(resources, &mut |raw| reader.resource(raw))
}

struct Reader<'a, 'b> {
    json: JsonText<'a>,
    base: Option<&'a str>,
    sink: &'a mut Sink<'b>,
}

impl<'a> Reader<'a, '_> {
    fn resource(&mut self, raw: &'a RawValue) -> Result<(), ReadError> {
        let Some([path, bytes, hash, data]) = fields(raw, ["path", "bytes", "hash", "data"]) else {
            return self.refuse(raw, "bad-value", "the resource is no object");
        };
        let Some(path) = path else {
            return match data {
                Some(data) => self.leave_out(data, "inline", "the data are in the package itself"),
                None => self.refuse(raw, "no-url", "the resource has no `path`"),
            };
        };
        // Values that are ignored take no memory.
        let parts: Result<Vec<IgnoredAny>, _> = serde_json::from_str(path.get());
        let is_whole = parts.map_or(true, |parts| parts.len() < 2);
        if !is_whole && let Some(stated) = hash.or(bytes) {
            let message = "the length and the digest are those of all parts together";
            self.leave_out(stated, "parts", message)?;
        }
        let length = match bytes.filter(|_| is_whole) {
            None => None,
            Some(bytes) => match self.json.number(bytes) {
                None => return self.refuse(bytes, "bad-length", "`bytes` is no number of bytes"),
                length => length,
            },
        };
        let Some(digests) = self.digests(hash.filter(|_| is_whole))? else {
            return Ok(());
        };
        for_each(path, &mut |part| {
            let item = self.item(part).map(|mut item| {
                if let Some((length, place)) = length.clone() {
                    item.set_length(length, Some(place));
                }
                item.with_digests(&digests)
            });
            Ok((self.sink)(item.into())?)
        })
    }

    /// The item of a path: a URL, or the path of a file below the base.
    fn item(&self, raw: &RawValue) -> Result<ListItem, Notice> {
        let location = self.json.location(Some(raw));
        match (text_of(raw), self.base) {
            (None, _) => {
                let message = "the path is no text";
                Err(Notice::refused(location, "bad-value", message))
            }
            (Some(path), _) if path.contains("://") => ListItem::new(location, &path),
            (Some(path), Some(base)) => item_below(base, &path, location),
            (Some(path), None) => {
                let message = format!("{path} has a URL only below a base");
                Err(Notice::left_out(location, "relative", message))
            }
        }
    }

    /// The digest of `hash`; `None` if a notice refused it.
    fn digests(&mut self, hash: Option<&RawValue>) -> Result<Option<Digests>, ReadError> {
        let Some(raw) = hash else {
            return Ok(Some(vec![]));
        };
        let text = text_of(raw).unwrap_or_default();
        match digest::parse(&text, None) {
            Ok(digest) => Ok(Some(vec![(
                digest,
                self.json.place(raw, &text, 0..text.len()),
            )])),
            Err(unknown) => {
                let is_other = matches!(unknown, digest::Unknown::Algorithm(_));
                let location = self.json.location(Some(raw));
                (self.sink)(notice(location, &unknown).into())?;
                Ok(is_other.then(Vec::new))
            }
        }
    }

    fn leave_out(&mut self, raw: &RawValue, code: &str, why: &str) -> Result<(), ReadError> {
        let location = self.json.location(Some(raw));
        Ok((self.sink)(Notice::left_out(location, code, why).into())?)
    }

    fn refuse(&mut self, raw: &RawValue, code: &str, why: &str) -> Result<(), ReadError> {
        let location = self.json.location(Some(raw));
        Ok((self.sink)(Notice::refused(location, code, why).into())?)
    }
}
