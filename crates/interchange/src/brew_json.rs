//! `formula.json` of Homebrew: the source of each formula.

use std::io::BufRead;
use std::sync::Arc;

use urldb_format::Algorithm;

use crate::digest;
use crate::entries::{self, ListPosition, Value};
use crate::model::{ListItem, Notice, ReadError, Sink};
use crate::sums::notice;

/// Reads a list of formulas, or one formula.
///
/// Left out are sources that are repositories (`git`, or `type` for other systems), formulas without a stable version
/// (`no-url`), development versions (`head`), and bottles, whose URLs need a token (`bottle`).
///
/// # Errors
/// [`ReadError::Malformed`] if the file is neither a list in JSON nor an object, [`ReadError::Input`] if a formula has
/// more than 1 MiB.
pub fn read(input: impl BufRead, file: &Arc<str>, sink: &mut Sink<'_>) -> Result<(), ReadError> {
    entries::read(input, file, ListPosition::Document, &mut |formula| {
        let urls = formula.get("urls");
        let stable = urls.and_then(|urls| urls.get("stable"));
        sink(source(formula, stable, file).into())?;
        if let Some(head) = urls.and_then(|urls| urls.get("head")) {
            let message = "the development version changes";
            sink(Notice::left_out(head.location(file), "head", message).into())?;
        }
        let bottles = formula.get("bottle").and_then(Value::object);
        for (_, bottle) in bottles.into_iter().flatten() {
            let files = bottle.get("files");
            let count = files.and_then(Value::object).map_or(0, <[_]>::len);
            if let Some(files) = files.filter(|_| count > 0) {
                let message = "bottles need a token";
                let notice = Notice::left_out(files.location(file), "bottle", message);
                sink(notice.of(count as u64).into())?;
            }
        }
        Ok(())
    })
}

/// The item of a formula.
fn source(formula: &Value, stable: Option<&Value>, file: &Arc<str>) -> Result<ListItem, Notice> {
    let at = |value: &Value| value.location(file);
    let Some(stable) = stable else {
        let message = "the formula has no stable version";
        return Err(Notice::left_out(at(formula), "no-url", message));
    };
    let Some(url) = stable.get("url") else {
        let message = "the stable version has no `url`";
        return Err(Notice::refused(at(stable), "no-url", message));
    };
    let checksum = stable.get("checksum");
    let is_repository = ["tag", "revision"]
        .iter()
        .any(|key| stable.get(key).is_some());
    if checksum.is_none() && is_repository {
        let system = stable.get("using").and_then(Value::text);
        let code = if matches!(system, None | Some("git")) {
            "git"
        } else {
            "type"
        };
        let message = "the source is a repository";
        return Err(Notice::left_out(at(url), code, message));
    }
    let mut item = url.item(file)?;
    if let Some(checksum) = checksum {
        let digest = digest::parse(checksum.text().unwrap_or_default(), Some(Algorithm::Sha256));
        let digest = digest.map_err(|unknown| notice(at(checksum), &unknown))?;
        item.set_digest(&digest, None);
    }
    Ok(item)
}
