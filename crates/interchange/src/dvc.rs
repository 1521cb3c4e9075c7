//! `*.dvc` files of DVC that import a URL (`dvc import-url`).

use std::io::Read;
use std::sync::Arc;

use urldb_format::Algorithm;

use crate::file_events::FileEvents;
use crate::input::read_document;
use crate::model::{FilePromise, ListItem, ReadError, Sink};
use crate::yaml::{self, Mapping, Node};

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
    let text = read_document(input, yaml::MAX_FILE, file)?;
    let mut events = FileEvents { file, sink };
    yaml::parse(&text, file)?
        .iter()
        .try_for_each(|it| read_stage(it, &mut events))
}

fn read_stage(node: &Node, events: &mut FileEvents<'_, '_>) -> Result<(), ReadError> {
    let Some(stage) = node.mapping() else {
        return events.refuse(1, "bad-value", "the file is no mapping");
    };
    let deps = list(stage, "deps");
    if deps.is_empty() {
        return events.skip(stage.line, "no-url", "the data have no URL");
    }
    if stage.get("cmd").is_some() {
        return events.skip(stage.line, "command", "a command made the data");
    }
    let outs = list(stage, "outs");
    let promise = match outs.first().and_then(Node::mapping) {
        Some(out) if deps.len() == 1 => promise_of(out, events)?,
        _ => Some(FilePromise::default()),
    };
    let Some(promise) = promise else {
        return Ok(());
    };
    deps.iter()
        .try_for_each(|dep| read_dep(dep, &promise, events))
}

fn read_dep(
    dep: &Node,
    promise: &FilePromise,
    events: &mut FileEvents<'_, '_>,
) -> Result<(), ReadError> {
    let dep = dep.mapping();
    let path = dep.and_then(|dep| dep.text("path"));
    let (Some(dep), Some(path)) = (dep, path) else {
        return events.refuse(1, "bad-value", "an entry of `deps` has no path");
    };
    if dep.get("repo").is_some() {
        return events.skip(path.line, "git", "the data are in a git repository");
    }
    if !path.text.contains("://") {
        return events.skip(path.line, "local", "the data are on this machine");
    }
    let item = ListItem::new(events.at(path.line), path.text.trim());
    events.promise(item, promise)
}

/// The promise of `outs`; `None` if a notice says why there is none.
fn promise_of(
    out: &Mapping,
    events: &mut FileEvents<'_, '_>,
) -> Result<Option<FilePromise>, ReadError> {
    let mut promise = FilePromise::default();
    let md5 = out.text("md5");
    if let Some(md5) = md5.filter(|md5| md5.text.ends_with(FOLDER)) {
        events.skip(md5.line, "folder", "the digest is that of a folder")?;
        return Ok(None);
    }
    if let Some(size) = out.text("size") {
        let Ok(length) = size.text.parse() else {
            let why = "the size is no number of bytes";
            events.refuse(size.line, "bad-length", why)?;
            return Ok(None);
        };
        promise.length = Some((length, size.span.clone()));
    }
    let Some(md5) = md5 else {
        return Ok(Some(promise));
    };
    if out.text("hash").is_none_or(|hash| hash.text != "md5") {
        let why = "older versions of DVC changed line ends before they computed the digest";
        events.skip(md5.line, "text-digest", why)?;
        return Ok(Some(promise));
    }
    let found = md5.digest(Algorithm::Md5, events)?;
    Ok(found.map(|found| FilePromise {
        digests: found.digests,
        ..promise
    }))
}

/// The entries of a list; empty if the value is none.
fn list<'a>(mapping: &'a Mapping, key: &str) -> &'a [Node] {
    match mapping.get(key) {
        Some(Node::List(items)) => items,
        _ => &[],
    }
}
