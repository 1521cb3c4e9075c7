//! `conandata.yml` of Conan recipes: every mapping with `url`, at any depth, and its digests.
//!
//! `url` is a text or a list of mirrors. `sha256`, `sha1` and `md5` are digests, and so are `sha384` and `sha512`.

use std::io::Read;
use std::sync::Arc;

use urldb_format::Algorithm;

use crate::file_events::FileEvents;
use crate::input::read_document;
use crate::model::{FilePromise, ListItem, ReadError, Sink};
use crate::yaml::{self, Mapping, Node};

/// Reads the data of a recipe.
///
/// Left out are git repositories (`git`), mappings whose `url` is null (`no-url`), and digests of other algorithms
/// (`algorithm`).
///
/// # Errors
/// [`ReadError::Malformed`] if the file is no YAML, is nested too deeply, or has an alias; [`ReadError::Input`] if it
/// is larger than 256 KiB.
pub fn read(input: impl Read, file: &Arc<str>, sink: &mut Sink<'_>) -> Result<(), ReadError> {
    let text = read_document(input, yaml::MAX_FILE, file)?;
    let mut events = FileEvents { file, sink };
    yaml::parse(&text, file)?
        .iter()
        .try_for_each(|it| walk(it, &mut events))
}

/// Visits the mappings of a node.
fn walk(node: &Node, events: &mut FileEvents<'_, '_>) -> Result<(), ReadError> {
    match node {
        Node::Mapping(mapping) => {
            source(mapping, events)?;
            mapping.values().try_for_each(|it| walk(it, events))
        }
        Node::List(items) => items.iter().try_for_each(|it| walk(it, events)),
        Node::Scalar(_) => Ok(()),
    }
}

/// Reads a mapping, if it has a `url`.
fn source(mapping: &Mapping, events: &mut FileEvents<'_, '_>) -> Result<(), ReadError> {
    let urls = match mapping.get("url") {
        Some(Node::List(items)) => items,
        Some(url @ Node::Scalar(_)) => std::slice::from_ref(url),
        // A level between may be called `url`.
        Some(Node::Mapping(_)) | None => return Ok(()),
    };
    let is_git = mapping.text("commit").is_some();
    let promise = if is_git {
        Some(FilePromise::default())
    } else {
        digests(mapping, events)?
    };
    let Some(promise) = promise else {
        return Ok(());
    };
    // Lists and mappings among the mirrors are levels between.
    for url in urls.iter().filter_map(Node::text) {
        if is_git {
            let why = format!("{} is a git repository", url.text);
            events.skip(url.line, "git", &why)?;
        } else if url.is_null() {
            events.skip(url.line, "no-url", "`url` is empty")?;
        } else {
            let item = ListItem::new(events.at(url.line), url.text.trim());
            events.promise(item, &promise)?;
        }
    }
    Ok(())
}

/// The digests of a mapping; `None` if one is refused.
fn digests(
    mapping: &Mapping,
    events: &mut FileEvents<'_, '_>,
) -> Result<Option<FilePromise>, ReadError> {
    let mut promise = FilePromise::default();
    for algorithm in Algorithm::ALL {
        let found = match mapping.get(algorithm.name()) {
            None => continue,
            Some(Node::Scalar(scalar)) if scalar.is_null() => continue,
            Some(Node::Scalar(scalar)) => scalar.digest(algorithm, events)?,
            Some(_) => {
                let why = format!("`{}` is no text", algorithm.name());
                events.refuse(mapping.line, "bad-digest", &why)?;
                None
            }
        };
        let Some(found) = found else {
            return Ok(None);
        };
        promise.digests.extend(found.digests);
    }
    Ok(Some(promise))
}
