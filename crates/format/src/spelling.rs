//! Finds misspelled keys and categories.

/// The known word that `word` probably misspells; `None` for a known word.
pub(crate) fn misspelled<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    if known.contains(&word) {
        return None;
    }
    // `sha256` promises nothing, and looks as if it did.
    known
        .iter()
        .copied()
        .find(|key| key.strip_prefix("content-") == Some(word))
        .or_else(|| urldb_text::nearest(word, known.iter().copied()))
}
