//! The output of `git annex whereis --json`: the URLs of each file, with the length and the digest of its key.

use std::io::BufRead;
use std::sync::Arc;

use serde_json::value::RawValue;

use crate::input::LineReader;
use crate::model::{ListItem, Location, Notice, ReadError, Sink};
use crate::own_file::{is_of_other_algorithm, of_key};
use crate::raw_json::{fields, text_of};

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
    let mut lines = LineReader::new(input);
    while let Some(line) = lines.next().map_err(ReadError::input(file))? {
        let location = Location::line(file, line.number);
        match line.text {
            Err(why) => sink(Notice::refused(location, "bad-line", why).into())?,
            Ok(text) if text.trim().is_empty() => {}
            Ok(text) => read_line(text, &location, sink)?,
        }
    }
    Ok(())
}

fn read_line(text: &str, location: &Location, sink: &mut Sink<'_>) -> Result<(), ReadError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let object = serde_json::from_str::<&RawValue>(text).ok();
    let object = object.and_then(|raw| fields(raw, ["key", "whereis", "untrusted"]));
    let Some([Some(key), whereis, untrusted]) = object else {
        let message = "the line is no JSON object with a `key`";
        let notice = Notice::refused(location.clone(), "bad-line", message);
        return Ok(sink(notice.into())?);
    };
    let places = [whereis, untrusted].into_iter().flatten().flat_map(list);
    let urls = places.filter_map(|place| fields(place, ["urls"]).and_then(|[urls]| urls));
    let urls: Vec<&RawValue> = urls.flat_map(list).collect();
    let left_out = |code, message: &str| Notice::left_out(location.clone(), code, message);
    if urls.is_empty() {
        return Ok(sink(left_out("no-url", "the file has no URL").into())?);
    }
    let key = text_of(key).unwrap_or_default();
    let content = of_key(&key);
    if is_of_other_algorithm(&key) {
        sink(left_out("algorithm", "the algorithm of the key is not known").into())?;
    }
    for url in urls {
        let item = match text_of(url) {
            None => {
                let message = "the URL is no text";
                Err(Notice::refused(location.clone(), "bad-value", message))
            }
            Some(url) if url.starts_with(OF_OTHER_PROGRAM) => {
                Err(left_out("yt", "another program fetches the URL"))
            }
            Some(url) => ListItem::new(location.clone(), &url).map(|item| content.promised(item)),
        };
        sink(item.into())?;
    }
    Ok(())
}

/// The values of a list; none if the value is no list.
fn list(raw: &RawValue) -> Vec<&RawValue> {
    serde_json::from_str(raw.get()).unwrap_or_default()
}
