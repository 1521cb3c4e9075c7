//! The files of a Bazel registry: `modules/MODULE/VERSION/source.json` and the `attestations.json` beside it.
//!
//! `url` and each of `mirror_urls` have the digests of `integrity`. Patches and overlays are files of the registry,
//! so they have URLs only below a base.

use std::collections::BTreeMap;
use std::io::Read;
use std::sync::Arc;

use serde_json::value::RawValue;

use crate::input::read_document;
use crate::model::{ListItem, Location, Notice, ReadError, Sink};
use crate::raw_json::{Digests, JsonText, is_null, text_of};
use crate::sums::{digests_of, item_below};

/// The size limit of a file. Real ones have some hundred bytes.
const MAX_FILE: u64 = 1 << 20;

/// Reads one file of a registry. `base` is the URL of the registry, with a final `/`; `file` ends in
/// `MODULE/VERSION/source.json`.
///
/// Left out are sources that are no archive (`git`, `local`), patches and overlays without a base (`relative`),
/// and digests of which any may match (`several-digests`).
///
/// # Errors
/// [`ReadError::Malformed`] if the file is no JSON object, [`ReadError::Input`] if it is larger than 1 MiB.
pub fn read(
    input: impl Read,
    file: &Arc<str>,
    base: Option<&str>,
    sink: &mut Sink<'_>,
) -> Result<(), ReadError> {
    let text = read_document(input, MAX_FILE, file)?;
    let json = JsonText::new(&text, file);
    let object: Object<'_> = json.parse()?;
    let mut reader = Reader {
        json,
        file,
        base,
        sink,
    };
    match object.get("attestations") {
        Some(attestations) => reader.attestations(attestations),
        None => reader.source(&object),
    }
}

type Object<'a> = BTreeMap<String, &'a RawValue>;

struct Reader<'a, 'b> {
    json: JsonText<'a>,
    file: &'a Arc<str>,
    base: Option<&'a str>,
    sink: &'a mut Sink<'b>,
}

impl<'a> Reader<'a, '_> {
    fn attestations(&mut self, all: &'a RawValue) -> Result<(), ReadError> {
        let Some(all) = object(all) else {
            return self.refuse(all, "bad-value", "`attestations` is no object");
        };
        for attestation in in_order(&all) {
            let Some(fields) = object(attestation.1) else {
                self.refuse(attestation.1, "bad-value", "the attestation is no object")?;
                continue;
            };
            self.download(&fields, attestation.1)?;
        }
        Ok(())
    }

    fn source(&mut self, source: &Object<'a>) -> Result<(), ReadError> {
        let kind = source
            .get("type")
            .map(|raw| text_of(raw).unwrap_or_default());
        match kind.as_deref() {
            None | Some("archive") => {
                let first = in_order(source).first().map(|(_, raw)| *raw);
                if let Some(first) = source.get("url").copied().or(first) {
                    self.download(source, first)?;
                } else {
                    let location = Location::line(self.file, 1);
                    (self.sink)(Notice::refused(location, "no-url", "there is no `url`").into())?;
                }
            }
            Some(kind) => {
                let code = match kind {
                    "git_repository" => "git",
                    "local_path" => "local",
                    _ => "type",
                };
                let raw = source.get("type").copied();
                let location = self.json.location(raw);
                let message = format!("the source is a {kind}, not an archive");
                (self.sink)(Notice::left_out(location, code, message).into())?;
            }
        }
        for (key, folder) in [("patches", "patches"), ("overlay", "overlay")] {
            if let Some(files) = source.get(key) {
                self.registry_files(files, folder)?;
            }
        }
        Ok(())
    }

    /// A URL and its mirrors, with one `integrity`. `place` is where messages point if there is no URL.
    fn download(&mut self, fields: &Object<'a>, place: &'a RawValue) -> Result<(), ReadError> {
        let digests = match fields.get("integrity") {
            Some(raw) => match self.integrity(raw)? {
                Some(digests) => digests,
                None => return Ok(()),
            },
            None => vec![],
        };
        match fields.get("url") {
            Some(url) => self.item(url, &digests)?,
            None => self.refuse(place, "no-url", "there is no `url`")?,
        }
        let Some(mirrors) = fields.get("mirror_urls").filter(|raw| !is_null(raw)) else {
            return Ok(());
        };
        match serde_json::from_str::<Vec<&RawValue>>(mirrors.get()) {
            Ok(mirrors) => mirrors
                .into_iter()
                .try_for_each(|url| self.item(url, &digests)),
            Err(_) => self.refuse(mirrors, "bad-value", "`mirror_urls` is no list"),
        }
    }

    fn item(&mut self, raw: &'a RawValue, digests: &Digests) -> Result<(), ReadError> {
        let Some(url) = text_of(raw) else {
            return self.refuse(raw, "bad-value", "the URL is no text");
        };
        let location = self.json.location(Some(raw));
        let item = ListItem::new(location, &url).map(|item| item.with_digests(digests));
        Ok((self.sink)(item.into())?)
    }

    /// Patches or overlays: the digest of each name.
    fn registry_files(&mut self, raw: &'a RawValue, folder: &str) -> Result<(), ReadError> {
        if is_null(raw) {
            return Ok(());
        }
        let Some(files) = object(raw) else {
            return self.refuse(raw, "bad-value", &format!("`{folder}` is no object"));
        };
        for (name, raw) in in_order(&files) {
            let location = self.json.location(Some(raw));
            let Some(base) = self.base else {
                let message = format!("{folder}/{name} has a URL only below a base");
                (self.sink)(Notice::left_out(location, "relative", message).into())?;
                continue;
            };
            let Some(digests) = self.integrity(raw)? else {
                continue;
            };
            let path = folder_of(self.file).map(|it| format!("{it}/{folder}/{name}"));
            let item = item_below(base, &path.unwrap_or_default(), location);
            let item = item.map(|it| it.with_digests(&digests));
            (self.sink)(item.into())?;
        }
        Ok(())
    }

    /// The digests of an `integrity`; `None` if a notice refused it. An empty one has none.
    fn integrity(&mut self, raw: &'a RawValue) -> Result<Option<Digests>, ReadError> {
        if is_null(raw) {
            return Ok(Some(vec![]));
        }
        let Some(text) = text_of(raw) else {
            self.refuse(raw, "bad-digest", "the digest is no text")?;
            return Ok(None);
        };
        let location = self.json.location(Some(raw));
        let Some(digests) = digests_of(&text, &location, self.sink)? else {
            return Ok(None);
        };
        let digests = digests.into_iter().map(|(digest, part)| {
            let place = self.json.place(raw, &text, part);
            (digest, place)
        });
        Ok(Some(digests.collect()))
    }

    fn refuse(&mut self, raw: &RawValue, code: &str, why: &str) -> Result<(), ReadError> {
        let notice = Notice::refused(self.json.location(Some(raw)), code, why);
        Ok((self.sink)(notice.into())?)
    }
}

fn object(raw: &RawValue) -> Option<Object<'_>> {
    serde_json::from_str(raw.get()).ok()
}

/// The fields of an object as they stand in the file.
fn in_order<'a>(object: &Object<'a>) -> Vec<(String, &'a RawValue)> {
    let mut fields: Vec<_> = object
        .iter()
        .map(|(key, raw)| (key.clone(), *raw))
        .collect();
    fields.sort_by_key(|(_, raw)| raw.get().as_ptr().addr());
    fields
}

/// `modules/MODULE/VERSION`, from the path of a file.
fn folder_of(file: &str) -> Option<String> {
    let mut parts = file.rsplit('/').skip(1);
    let (version, module) = (parts.next()?, parts.next()?);
    Some(format!("modules/{module}/{version}"))
}
