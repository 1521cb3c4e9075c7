//! `sources.json` of nixpkgs and Guix: the files that packages are built from, for archives such as Software Heritage.
//!
//! Each of `urls` has the digests of `integrity`.

use std::io::BufRead;
use std::sync::Arc;

use crate::entries::{self, ListPosition, Value};
use crate::model::{ListItem, Notice, ReadError, Sink};
use crate::sums::{DigestsInText, digests_of};

/// Reads a list of sources.
///
/// Left out are sources that are no file: repositories (`git`, `hg`, `svn`) and others (`type`), those whose digest is of a
/// tree (`recursive`) or of what a script made (`post-fetch`); mirrors of nixpkgs by name (`mirror`); and digests of which
/// any may match (`several-digests`).
///
/// # Errors
/// [`ReadError::Malformed`] if the file is no JSON object with the list `sources`, [`ReadError::Input`] if a source has
/// more than 1 MiB.
pub fn read(input: impl BufRead, file: &Arc<str>, sink: &mut Sink<'_>) -> Result<(), ReadError> {
    entries::read(input, file, ListPosition::Key("sources"), &mut |source| {
        if let Some(notice) = refusal(source, file) {
            return Ok(sink(notice.into())?);
        }
        let Some(digests) = digests(source, file, sink)? else {
            return Ok(());
        };
        let urls = source.get("urls").and_then(Value::list);
        for url in urls.unwrap_or_default() {
            let item = item_of(url, file).map(|mut item| {
                for (digest, _) in &digests {
                    item.set_digest(digest, None);
                }
                item
            });
            sink(item.into())?;
        }
        Ok(())
    })
}

/// The digests of a source; `None` if a notice refused them.
fn digests(
    source: &Value,
    file: &Arc<str>,
    sink: &mut Sink<'_>,
) -> Result<Option<DigestsInText>, ReadError> {
    let Some(integrity) = source.get("integrity") else {
        return Ok(Some(vec![]));
    };
    let location = integrity.location(file);
    let Some(text) = integrity.text() else {
        let notice = Notice::refused(location, "bad-digest", "the digest is no text");
        sink(notice.into())?;
        return Ok(None);
    };
    digests_of(text, &location, sink)
}

fn item_of(url: &Value, file: &Arc<str>) -> Result<ListItem, Notice> {
    match url.text() {
        Some(text) if text.starts_with("mirror://") => {
            let message = format!("nixpkgs finds {text} at several hosts");
            Err(Notice::left_out(url.location(file), "mirror", message))
        }
        _ => url.item(file),
    }
}

/// The reason why no URL of a source has the digest.
fn refusal(source: &Value, file: &Arc<str>) -> Option<Notice> {
    let left_out = |at: &Value, code: &str, message: &str| {
        Some(Notice::left_out(at.location(file), code, message))
    };
    let is_url = |kind: &&Value| kind.text() == Some("url");
    if let Some(kind) = source.get("type").filter(|kind| !is_url(kind)) {
        let system = kind.text().filter(|it| matches!(*it, "git" | "hg" | "svn"));
        let code = system.unwrap_or("type");
        return left_out(kind, code, "the source is no file");
    }
    if source.get("urls").and_then(Value::list).is_none() {
        let message = "the source has no list `urls`";
        return Some(Notice::refused(source.location(file), "no-url", message));
    }
    let is_flat = |mode: &&Value| mode.text() == Some("flat");
    if let Some(mode) = source.get("outputHashMode").filter(|mode| !is_flat(mode)) {
        return left_out(mode, "recursive", "the digest is that of a tree of files");
    }
    let is_empty = |script: &&Value| script.text() == Some("");
    let script = source.get("postFetch").filter(|script| !is_empty(script));
    script.and_then(|at| left_out(at, "post-fetch", "the digest is that of what a script made"))
}
