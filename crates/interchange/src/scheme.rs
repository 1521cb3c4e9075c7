//! The schemes with which URLs begin, in letters of any case.

/// The text behind `start`, such as `doi:`.
pub(crate) fn without<'a>(text: &'a str, start: &str) -> Option<&'a str> {
    let (begin, rest) = text.split_at_checked(start.len())?;
    begin.eq_ignore_ascii_case(start).then_some(rest)
}

/// Whether a text begins as a URL of the web.
pub(crate) fn is_http(text: &str) -> bool {
    ["http://", "https://"]
        .into_iter()
        .any(|start| without(text, start).is_some())
}
