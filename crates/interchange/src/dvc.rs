//! `*.dvc` files of DVC that import a URL (`dvc import-url`).

use std::io::Read;
use std::sync::Arc;

use urldb_format::Algorithm;

use crate::file_events::FileEvents;
use crate::json_text::{JsonText, Value, digest};
use crate::model::{FilePromise, ListItem, ReadError, Sink};
use crate::yaml::YamlText;

/// The end of a digest of a folder.
const FOLDER: &str = ".dir";

/// Reads the URLs of `deps`, which promise `size` and `md5` of the first of `outs`.
///
/// Left out are data without a URL (`no-url`), files of this machine (`local`) and of a repository (`git`), folders
/// (`folder`), the results of a command (`command`), and each `md5` without `hash: md5`, since older versions of DVC
/// computed it from text with other line ends (`text-digest`).
///
/// # Errors
/// [`ReadError::Malformed`] if the file is no YAML, is nested too deeply, or has an alias; [`ReadError::Input`] if it
/// is larger than 256 KiB.
pub fn read(input: impl Read, file: &Arc<str>, sink: &mut Sink<'_>) -> Result<(), ReadError> {
    let yaml = YamlText::read(input, file)?;
    let mut events = FileEvents { file, sink };
    JsonText::of_yaml(&yaml)
        .parse(file)?
        .items()
        .try_for_each(|stage| read_stage(stage, &mut events))
}

fn read_stage(stage: Value<'_>, events: &mut FileEvents<'_, '_>) -> Result<(), ReadError> {
    if !stage.is_object() {
        return events.refuse(1, "bad-value", "the file is no mapping");
    }
    let deps: Vec<Value<'_>> = stage.list("deps").collect();
    if deps.is_empty() {
        return events.skip(stage.line(), "no-url", "the data have no URL");
    }
    if stage.get("cmd").is_some() {
        return events.skip(stage.line(), "command", "a command made the data");
    }
    let promise = match stage.list("outs").next() {
        Some(out) if deps.len() == 1 => promise_of(out, events)?,
        _ => Some(FilePromise::default()),
    };
    promise.map_or(Ok(()), |promise| {
        deps.into_iter()
            .try_for_each(|dep| read_dep(dep, &promise, events))
    })
}

fn read_dep(
    dep: Value<'_>,
    promise: &FilePromise,
    events: &mut FileEvents<'_, '_>,
) -> Result<(), ReadError> {
    let [path, repository] = dep.fields(["path", "repo"]);
    let Some((line, path)) = path.and_then(|path| Some((path.line(), path.text()?))) else {
        return events.refuse(1, "bad-value", "an entry of `deps` has no path");
    };
    if repository.is_some() {
        return events.skip(line, "git", "the data are in a git repository");
    }
    if !path.contains("://") {
        return events.skip(line, "local", "the data are on this machine");
    }
    let item = ListItem::new(events.at(line), path.trim());
    events.promise(item, promise)
}

/// The promise of `outs`; `None` if a notice says why there is none.
fn promise_of(
    out: Value<'_>,
    events: &mut FileEvents<'_, '_>,
) -> Result<Option<FilePromise>, ReadError> {
    let [mut md5, size, hash] = out.fields(["md5", "size", "hash"]);
    let is_folder = |md5: &Value<'_>| md5.text().is_some_and(|text| text.ends_with(FOLDER));
    if let Some(md5) = md5.filter(is_folder) {
        events.skip(md5.line(), "folder", "the digest is that of a folder")?;
        return Ok(None);
    }
    let length = size.and_then(Value::number);
    if let Some(size) = size.filter(|_| length.is_none()) {
        let why = "the size is no number of bytes";
        events.refuse(size.line(), "bad-length", why)?;
        return Ok(None);
    }
    if let Some(md5) = md5.take_if(|_| !hash.is_some_and(|hash| hash.is("md5"))) {
        let why = "older versions of DVC changed line ends before they computed the digest";
        events.skip(md5.line(), "text-digest", why)?;
    }
    let found = digest(md5, Some(Algorithm::Md5), events)?;
    Ok(found.map(|found| FilePromise { length, ..found }))
}
