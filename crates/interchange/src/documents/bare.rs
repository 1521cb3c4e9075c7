//! Bare URLs in text, also those that begin with `www.` (GFM 6.9).

use linkify::{LinkFinder, LinkKind};

use crate::model::ReadError;

/// The length limit of a word with a bare URL, in bytes. Longer words are no prose.
const MAX_WORD: usize = 8 * 1024;

/// Receives a reference and its offset.
pub(super) type OnUse<'a> = dyn FnMut(usize, &str) -> Result<(), ReadError> + 'a;

/// Passes each bare URL with its offset in the text.
pub(super) fn read(text: &str, each: &mut OnUse<'_>) -> Result<(), ReadError> {
    let mut finder = LinkFinder::new();
    finder.kinds(&[LinkKind::Url]);
    let mut start = 0;
    for word in text.split_inclusive(char::is_whitespace) {
        let is_candidate = word.len() <= MAX_WORD
            && (word.contains("://") || word.to_ascii_lowercase().contains("www."));
        if is_candidate {
            read_word(&finder, word, start, each)?;
        }
        start += word.len();
    }
    Ok(())
}

fn read_word(
    finder: &LinkFinder,
    word: &str,
    start: usize,
    each: &mut OnUse<'_>,
) -> Result<(), ReadError> {
    let mut has_url = false;
    for link in finder.links(word) {
        let is_web = link.as_str().get(..4);
        if is_web.is_some_and(|scheme| scheme.eq_ignore_ascii_case("http")) {
            each(start + link.start(), link.as_str())?;
            has_url = true;
        }
    }
    let name = word.trim_start_matches(['*', '_', '~', '(']);
    let is_www = name
        .get(..4)
        .is_some_and(|www| www.eq_ignore_ascii_case("www."));
    if is_www && !has_url {
        let url = format!("http://{name}");
        if let Some(link) = finder.links(&url).next().filter(|link| link.start() == 0) {
            each(start + word.len() - name.len(), link.as_str())?;
        }
    }
    Ok(())
}
