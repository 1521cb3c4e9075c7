//! `formula.json` of Homebrew: the source of each formula.

use std::io::BufRead;
use std::sync::Arc;

use urldb_format::Algorithm;

use crate::file_events::FileEvents;
use crate::json_text::{JsonText, Value, digest, read_written};
use crate::model::{Notice, ReadError, Sink};

/// Reads a list of formulas, or one formula.
///
/// Left out are sources that are repositories (`git`, or `type` for other systems), formulas without a stable version
/// (`no-url`), development versions (`head`), and bottles, whose URLs need a token (`bottle`).
///
/// # Errors
/// [`ReadError::Malformed`] if the file is neither a list in JSON nor an object, [`ReadError::Input`] if it has more
/// than 128 MiB.
pub fn read(input: impl BufRead, file: &Arc<str>, sink: &mut Sink<'_>) -> Result<(), ReadError> {
    let mut events = FileEvents { file, sink };
    let text = read_written(input, file)?;
    let json = JsonText::of_part(&text, 1);
    let formulas = json.parse(file)?;
    if !formulas.is_list() && !formulas.is_object() {
        let message = "the file is neither a list nor an object";
        return Err(ReadError::malformed(file, formulas.line(), message));
    }
    for formula in formulas.items() {
        let urls = formula.get("urls");
        if let Some(stable) = urls.and_then(|urls| urls.get("stable")) {
            read_stable(stable, &mut events)?;
        } else {
            let why = "the formula has no stable version";
            events.skip(formula.line(), "no-url", why)?;
        }
        if let Some(head) = urls.and_then(|urls| urls.get("head")) {
            events.skip(head.line(), "head", "the development version changes")?;
        }
        let bottles = formula.get("bottle").into_iter().flat_map(Value::members);
        for files in bottles.filter_map(|(_, bottle)| bottle.get("files")) {
            let count = files.members().count();
            if count > 0 {
                let location = events.at(files.line());
                let notice = Notice::left_out(location, "bottle", "bottles need a token");
                events.pass(notice.of(count as u64))?;
            }
        }
    }
    Ok(())
}

/// Reads the stable version of a formula.
fn read_stable(stable: Value<'_>, events: &mut FileEvents<'_, '_>) -> Result<(), ReadError> {
    let Some(url) = stable.get("url") else {
        let why = "the stable version has no `url`";
        return events.refuse(stable.line(), "no-url", why);
    };
    let checksum = stable.get("checksum");
    let is_repository = stable.get("tag").or(stable.get("revision")).is_some();
    if checksum.is_none() && is_repository {
        let is_git = stable.get("using").is_none_or(|system| system.is("git"));
        let code = if is_git { "git" } else { "type" };
        return events.skip(url.line(), code, "the source is a repository");
    }
    let promise = digest(checksum, Some(Algorithm::Sha256), events)?;
    promise.map_or(Ok(()), |promise| url.promise(&promise, events))
}
