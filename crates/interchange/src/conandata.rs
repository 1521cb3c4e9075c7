//! `conandata.yml` of Conan recipes: every mapping with `url`, at any depth, and its digests.
//!
//! `url` is a text or a list of mirrors. `sha256`, `sha1` and `md5` are digests, and so are `sha384` and `sha512`.

use std::io::Read;
use std::sync::Arc;

use urldb_format::Algorithm;

use crate::file_events::FileEvents;
use crate::json_text::{JsonText, Value, digests};
use crate::model::{FilePromise, ListItem, ReadError, Sink};
use crate::yaml::YamlText;

/// Reads the data of a recipe.
///
/// Left out are git repositories (`git`), mappings whose `url` is null (`no-url`), and digests of other algorithms
/// (`algorithm`).
///
/// # Errors
/// [`ReadError::Malformed`] if the file is no YAML, is nested too deeply, or has an alias; [`ReadError::Input`] if it
/// is larger than 256 KiB.
pub fn read(input: impl Read, file: &Arc<str>, sink: &mut Sink<'_>) -> Result<(), ReadError> {
    let yaml = YamlText::read(input, file)?;
    walk(
        JsonText::of_yaml(&yaml).parse(file)?,
        &mut FileEvents { file, sink },
    )
}

/// Visits the mappings of a value.
fn walk(value: Value<'_>, events: &mut FileEvents<'_, '_>) -> Result<(), ReadError> {
    if value.is_list() {
        return value.items().try_for_each(|item| walk(item, events));
    }
    source(value, events)?;
    value
        .members()
        .try_for_each(|(_, inner)| walk(inner, events))
}

/// Reads a mapping, if it has a `url`.
fn source(mapping: Value<'_>, events: &mut FileEvents<'_, '_>) -> Result<(), ReadError> {
    let urls = mapping.members().filter(|(key, _)| key == "url").last();
    // A level between may be called `url`.
    let Some((_, urls)) = urls.filter(|(_, urls)| !urls.is_object()) else {
        return Ok(());
    };
    let is_git = mapping.get("commit").and_then(Value::text).is_some();
    let stated = mapping.fields(Algorithm::ALL.map(Algorithm::name));
    let promise = if is_git {
        Some(FilePromise::default())
    } else {
        digests(stated, events)?
    };
    let Some(promise) = promise else {
        return Ok(());
    };
    for url in urls.items() {
        let line = url.line();
        match url.text() {
            Some(url) if is_git => {
                events.skip(line, "git", &format!("{url} is a git repository"))?;
            }
            Some(url) => {
                let item = ListItem::new(events.at(line), url.trim());
                events.promise(item, &promise)?;
            }
            None if url.is_null() => events.skip(line, "no-url", "`url` is empty")?,
            // Lists and mappings among the mirrors are levels between.
            None => {}
        }
    }
    Ok(())
}
