//! Commands that a page offers, such as one that takes the promised bytes out of the archive.

use serde::Serialize;
use urldb_protocol::Promised;
use urldb_render::numbers::digest;
use urldb_render::{AskedUrl, HEADER, HEADERS_ONLY, command_line, curl_words, digest_line};

#[derive(Debug, Serialize)]
pub(crate) struct CommandRow {
    pub(crate) purpose: String,
    pub(crate) line: String,
}

/// Takes the promised bytes out of the archive: by their digest, whatever was captured later.
pub(crate) fn promised_bytes(
    purpose: &str,
    asked: AskedUrl<'_>,
    promised: &Promised,
) -> Option<CommandRow> {
    let sha256 = digest(promised.sha256.as_deref()?);
    let options = ["--sha256", &sha256, "-o", "promised"];
    archive_command(purpose, "get", asked, &options)
}

/// A command for the captures of a URL.
pub(crate) fn archive_command(
    purpose: &str,
    name: &str,
    asked: AskedUrl<'_>,
    options: &[&str],
) -> Option<CommandRow> {
    Some(row(purpose, archive_line(name, asked, options)?))
}

/// The line of a command for the captures of a URL.
pub(crate) fn archive_line(name: &str, asked: AskedUrl<'_>, options: &[&str]) -> Option<String> {
    let words = ["urldb", "archive", name].into_iter();
    let words = words
        .chain(asked.words(HEADER))
        .chain(options.iter().copied());
    command_line(&words.collect::<Vec<_>>())
}

/// A command; absent if a terminal must not get one of the words.
pub(crate) fn command(purpose: &str, words: &[&str]) -> Option<CommandRow> {
    Some(row(purpose, command_line(words)?))
}

pub(crate) fn row(purpose: &str, line: String) -> CommandRow {
    CommandRow {
        purpose: purpose.to_owned(),
        line,
    }
}

/// Shows the headers of the answer.
pub(crate) fn headers_command(purpose: &str, asked: AskedUrl<'_>) -> Option<CommandRow> {
    command(purpose, &curl_words(&HEADERS_ONLY, asked))
}

/// Prints the digest of what a URL serves, of this algorithm.
pub(crate) fn digest_command(
    purpose: &str,
    asked: AskedUrl<'_>,
    algorithm: &str,
) -> Option<CommandRow> {
    Some(row(purpose, digest_line(asked, algorithm)?))
}

/// The algorithm whose digest people compare by hand: SHA-256, else the strongest of the promise.
pub(crate) fn shown_algorithm(promised: &Promised) -> Option<&str> {
    if promised.sha256.is_some() {
        return Some("sha256");
    }
    Some(promised.all_digests().last()?.0)
}
