//! The output of `git annex whereis --json`: the URLs of each file, with the length and the digest of its key.

use std::borrow::Cow;
use std::io::BufRead;
use std::sync::Arc;

use crate::file_events::FileEvents;
use crate::json_text::JsonText;
use crate::model::{ReadError, Sink};
use crate::own_file::{is_of_other_algorithm, of_key};

/// The start of URLs that git-annex gives to another program, such as one for videos.
const OF_OTHER_PROGRAM: &str = "yt:";

/// Reads one JSON object on each line: `urls` of each entry in `whereis` and `untrusted`.
///
/// Left out are files without a URL (`no-url`), URLs that another program fetches (`yt`), and digests of algorithms that
/// no record holds (`algorithm`). Chunks and the keys of `URL` and `WORM` have no digest.
///
/// # Errors
/// [`ReadError::Input`] if the file cannot be read.
pub fn read(input: impl BufRead, file: &Arc<str>, sink: &mut Sink<'_>) -> Result<(), ReadError> {
    FileEvents { file, sink }.each_line(input, &mut |line, events| {
        if line.text.trim().is_empty() {
            return Ok(());
        }
        read_line(line.text, line.number, events)
    })
}

fn read_line(text: &str, line: u64, events: &mut FileEvents<'_, '_>) -> Result<(), ReadError> {
    let json = JsonText::of_part(text, line);
    let object = json.value().ok();
    let Some((object, key)) = object.and_then(|it| Some((it, it.get("key")?))) else {
        let why = "the line is no JSON object with a `key`";
        return events.refuse(line, "bad-line", why);
    };
    let mut urls = ["whereis", "untrusted"]
        .into_iter()
        .flat_map(|key| object.list(key))
        .flat_map(|place| place.list("urls"))
        .peekable();
    if urls.peek().is_none() {
        return events.skip(line, "no-url", "the file has no URL");
    }
    let key = key.text().unwrap_or_default();
    let promise = of_key(&key);
    if is_of_other_algorithm(&key) {
        events.skip(line, "algorithm", "the algorithm of the key is not known")?;
    }
    for url in urls {
        let is_of_other_program = |url: Cow<'_, str>| url.starts_with(OF_OTHER_PROGRAM);
        if url.text().is_some_and(is_of_other_program) {
            events.skip(line, "yt", "another program fetches the URL")?;
            continue;
        }
        url.promise(&promise, events)?;
    }
    Ok(())
}
