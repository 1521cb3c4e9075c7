//! Commands that a page offers, such as one that takes the promised bytes out of the archive.

use urldb_protocol::Promised;
use urldb_render::numbers::digest;
use urldb_render::{
    AskedUrl, Command, HEADER, HEADERS_ONLY, capitalized, command_line, curl_words, digest_line,
};

/// Takes the promised bytes out of the archive: by their digest, whatever was captured later.
pub(crate) fn promised_bytes(
    purpose: &str,
    asked: AskedUrl<'_>,
    promised: &Promised,
) -> Option<Command> {
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
) -> Option<Command> {
    Some(row(purpose, archive_line(name, asked, options)?))
}

/// The line of a command for the captures of a URL.
pub(crate) fn archive_line(name: &str, asked: AskedUrl<'_>, options: &[&str]) -> Option<String> {
    let words = ["urldb", "archive", name]
        .into_iter()
        .chain(asked.words(HEADER))
        .chain(options.iter().copied());
    command_line(&words.collect::<Vec<_>>())
}

/// The command with a purpose that begins a paragraph.
pub(crate) fn capitalized_purpose(command: Command) -> Command {
    let purpose = capitalized(&command.purpose);
    Command { purpose, ..command }
}

fn row(purpose: &str, line: String) -> Command {
    let purpose = purpose.to_owned();
    Command { purpose, line }
}

/// Shows the headers of the answer.
pub(crate) fn headers_command(purpose: &str, asked: AskedUrl<'_>) -> Option<Command> {
    Command::new(purpose, &curl_words(&HEADERS_ONLY, asked))
}

/// Prints the digest of what a URL serves, of this algorithm.
pub(crate) fn digest_command(
    purpose: &str,
    asked: AskedUrl<'_>,
    algorithm: &str,
) -> Option<Command> {
    Some(row(purpose, digest_line(asked, algorithm)?))
}

/// The algorithm whose digest people compare by hand: SHA-256, else the strongest of the promise.
pub(crate) fn shown_algorithm(promised: &Promised) -> Option<&str> {
    if promised.sha256.is_some() {
        return Some("sha256");
    }
    Some(promised.all_digests().last()?.0)
}
