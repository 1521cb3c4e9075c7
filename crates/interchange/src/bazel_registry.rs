//! The files of a Bazel registry: `modules/MODULE/VERSION/source.json` and the `attestations.json` beside it.
//!
//! `url` and each of `mirror_urls` have the digests of `integrity`. Patches and overlays are files of the registry,
//! so they have URLs only below a base.

use std::io::Read;
use std::sync::Arc;

use crate::file_events::FileEvents;
use crate::input::read_document;
use crate::json_text::{JsonText, Value, integrity};
use crate::model::{ReadError, Sink};
use crate::sums::item_below;

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
    let json = JsonText::of_file(&text);
    let object = json.parse(file)?;
    if !object.is_object() {
        let message = "the file is no JSON object";
        return Err(ReadError::malformed(file, object.line(), message));
    }
    let events = FileEvents { file, sink };
    let mut reader = Reader { events, base };
    match object.get("attestations") {
        Some(attestations) => reader.attestations(attestations),
        None => reader.source(object),
    }
}

struct Reader<'a, 'b> {
    events: FileEvents<'a, 'b>,
    base: Option<&'a str>,
}

impl Reader<'_, '_> {
    fn attestations(&mut self, all: Value<'_>) -> Result<(), ReadError> {
        if !all.is_object() {
            let why = "`attestations` is no object";
            return self.events.refuse(all.line(), "bad-value", why);
        }
        for (_, attestation) in all.members() {
            if attestation.is_object() {
                self.download(attestation, attestation.line())?;
            } else {
                let why = "the attestation is no object";
                self.events.refuse(attestation.line(), "bad-value", why)?;
            }
        }
        Ok(())
    }

    fn source(&mut self, source: Value<'_>) -> Result<(), ReadError> {
        let kind = source.get("type");
        let name = kind.map(|kind| kind.text().unwrap_or_default());
        match (kind, name.as_deref()) {
            (Some(kind), Some(name)) if name != "archive" => {
                let code = match name {
                    "git_repository" => "git",
                    "local_path" => "local",
                    _ => "type",
                };
                let why = format!("the source is a {name}, not an archive");
                self.events.skip(kind.line(), code, &why)?;
            }
            _ => {
                let first = source.members().next().map(|(_, value)| value);
                self.download(source, first.map_or(1, Value::line))?;
            }
        }
        for (key, folder) in [("patches", "patches"), ("overlay", "overlay")] {
            if let Some(files) = source.get(key) {
                self.registry_files(files, folder)?;
            }
        }
        Ok(())
    }

    /// A URL and its mirrors, with one `integrity`. Messages point at `line` if there is no URL.
    fn download(&mut self, fields: Value<'_>, line: u64) -> Result<(), ReadError> {
        let Some(promise) = integrity(fields.get("integrity"), &mut self.events)? else {
            return Ok(());
        };
        match fields.get("url") {
            Some(url) => url.promise(&promise, &mut self.events)?,
            None => self.events.refuse(line, "no-url", "there is no `url`")?,
        }
        let Some(mirrors) = fields.get("mirror_urls") else {
            return Ok(());
        };
        if !mirrors.is_list() {
            let why = "`mirror_urls` is no list";
            return self.events.refuse(mirrors.line(), "bad-value", why);
        }
        mirrors
            .items()
            .try_for_each(|url| url.promise(&promise, &mut self.events))
    }

    /// Patches or overlays: the digest of each name.
    fn registry_files(&mut self, files: Value<'_>, folder: &str) -> Result<(), ReadError> {
        if !files.is_object() {
            let why = format!("`{folder}` is no object");
            return self.events.refuse(files.line(), "bad-value", &why);
        }
        for (name, digest) in files.members() {
            let Some(base) = self.base else {
                let why = format!("{folder}/{name} has a URL only below a base");
                self.events.skip(digest.line(), "relative", &why)?;
                continue;
            };
            let stated = Some(digest).filter(|digest| !digest.is_null());
            let Some(promise) = integrity(stated, &mut self.events)? else {
                continue;
            };
            let path = folder_of(self.events.file).map(|it| format!("{it}/{folder}/{name}"));
            let location = self.events.at(digest.line());
            let item = item_below(base, &path.unwrap_or_default(), location);
            self.events.promise(item, &promise)?;
        }
        Ok(())
    }
}

/// `modules/MODULE/VERSION`, from the path of a file.
fn folder_of(file: &str) -> Option<String> {
    let mut parts = file.rsplit('/').skip(1);
    let (version, module) = (parts.next()?, parts.next()?);
    Some(format!("modules/{module}/{version}"))
}
