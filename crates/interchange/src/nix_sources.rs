//! `sources.json` of nixpkgs and Guix: the files that packages are built from, for archives such as Software Heritage.
//!
//! Each of `urls` has the digests of `integrity`.

use std::io::BufRead;
use std::sync::Arc;

use crate::file_events::FileEvents;
use crate::json_text::{JsonText, Value, integrity, read_written};
use crate::model::{ReadError, Sink};

/// Reads a list of sources.
///
/// Left out are sources that are no file: repositories (`git`, `hg`, `svn`) and others (`type`), those whose digest is of a
/// tree (`recursive`) or of what a script made (`post-fetch`); mirrors of nixpkgs by name (`mirror`); and digests of which
/// any may match (`several-digests`).
///
/// # Errors
/// [`ReadError::Malformed`] if the file is no JSON object with the list `sources`, [`ReadError::Input`] if it has more
/// than 128 MiB.
pub fn read(input: impl BufRead, file: &Arc<str>, sink: &mut Sink<'_>) -> Result<(), ReadError> {
    let mut events = FileEvents { file, sink };
    let text = read_written(input, file)?;
    JsonText::of_part(&text, 1)
        .entries("sources", file)?
        .try_for_each(|source| read_source(source, &mut events))
}

fn read_source<'a>(source: Value<'a>, events: &mut FileEvents<'_, '_>) -> Result<(), ReadError> {
    let keys = ["type", "urls", "outputHashMode", "postFetch", "integrity"];
    let [kind, urls, mode, script, stated] = source.fields(keys);
    let other = |value: Option<Value<'a>>, usual: &str| value.filter(|value| !value.is(usual));
    if let Some(kind) = other(kind, "url") {
        let code = ["git", "hg", "svn"]
            .into_iter()
            .find(|system| kind.is(system))
            .unwrap_or("type");
        return events.skip(kind.line(), code, "the source is no file");
    }
    let Some(urls) = urls.filter(|urls| urls.is_list()) else {
        let line = source.line();
        return events.refuse(line, "no-url", "the source has no list `urls`");
    };
    if let Some(mode) = other(mode, "flat") {
        let why = "the digest is that of a tree of files";
        return events.skip(mode.line(), "recursive", why);
    }
    if let Some(script) = other(script, "") {
        let why = "the digest is that of what a script made";
        return events.skip(script.line(), "post-fetch", why);
    }
    let Some(promise) = integrity(stated, events)? else {
        return Ok(());
    };
    for url in urls.items() {
        match url.text() {
            Some(text) if text.starts_with("mirror://") => {
                let why = format!("nixpkgs finds {text} at several hosts");
                events.skip(url.line(), "mirror", &why)?;
            }
            _ => url.promise(&promise, events)?,
        }
    }
    Ok(())
}
