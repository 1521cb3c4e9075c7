//! Content codings: which ones urldb can undo, and which ones hide the content.

use crate::observation::Hop;

/// A content coding that urldb can undo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coding {
    /// `gzip` (RFC 9110, 8.4.1.3).
    Gzip,
    /// `deflate` (RFC 9110, 8.4.1.2), in either of the two forms that servers send.
    Deflate,
    /// No coding at all.
    Identity,
}

/// Words in `Content-Encoding` that name no coding of the content: those of mail (RFC 2045, 6), and those that say that
/// there is none. S3 keeps `aws-chunked`, the framing of an upload, for the download.
const NO_CODINGS: [&str; 22] = [
    "",
    "identity",
    "none",
    "null",
    "nil",
    "no",
    "off",
    "false",
    "raw",
    "plain",
    "text",
    "bytes",
    "default",
    "binary",
    "7bit",
    "8bit",
    "7-bit",
    "8-bit",
    "base64",
    "quoted-printable",
    "chunked",
    "aws-chunked",
];

/// Whether a word has the form of a media type: it was sent in the wrong field.
fn is_media_type(word: &str) -> bool {
    let is_name = |name: &str| {
        let of_name = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
        !name.is_empty() && name.bytes().all(of_name)
    };
    word.split_once('/')
        .is_some_and(|(kind, name)| is_name(kind) && is_name(name))
}

/// The beginnings of names of character encodings, which belong into `Content-Type`.
const CHARACTER_ENCODINGS: [&str; 19] = [
    "utf-", "utf8", "utf16", "utf_", "ucs-", "unicode", "iso-", "iso8859", "iso_", "windows-",
    "cp12", "ascii", "us-ascii", "latin", "koi8", "gb", "big5", "shift", "euc-",
];

/// Whether a word in `Content-Encoding` names no coding of the content, so that clients take the bytes as they are. A
/// media type is none either.
fn is_no_coding(word: &str) -> bool {
    let word = word.trim_matches(['"', '\'']);
    let word = word.strip_prefix("charset=").unwrap_or(word);
    NO_CODINGS.contains(&word)
        || is_media_type(word)
        || CHARACTER_ENCODINGS
            .iter()
            .any(|start| word.starts_with(start))
}

/// The coding that a `Content-Encoding` names, if urldb can undo the coding: a single known one,
/// possibly among words that name none.
pub fn coding_of(content_encoding: &str) -> Option<Coding> {
    let codings = content_encoding.split(',').map(|coding| {
        // Codings have no parameters.
        coding
            .split(';')
            .next()
            .unwrap_or_default()
            .trim()
            .to_ascii_lowercase()
    });
    let mut codings = codings.filter(|coding| !is_no_coding(coding));
    let only = codings.next();
    if codings.next().is_some() {
        return None;
    }
    match only.as_deref() {
        Some("gzip" | "x-gzip") => Some(Coding::Gzip),
        Some("deflate") => Some(Coding::Deflate),
        Some(_) => None,
        None => Some(Coding::Identity),
    }
}

/// The first coding of a response that urldb cannot undo, as its headers name it.
pub(super) fn hidden_by(hop: &Hop) -> Option<String> {
    let content = hop.list("content-encoding");
    let transfer = hop.list("transfer-encoding");
    if coding_of(&content).is_none() {
        Some(content)
    } else if !is_undone_on_the_way(&transfer) {
        Some(transfer)
    } else {
        None
    }
}

/// Whether the HTTP library undoes these transfer codings: it knows `chunked` only, and only as the
/// last coding.
fn is_undone_on_the_way(codings: &str) -> bool {
    let codings: Vec<String> = codings
        .split(',')
        .map(|coding| coding.trim().to_ascii_lowercase())
        .collect();
    let are_all = |known: &[&str]| {
        codings
            .iter()
            .all(|coding| known.contains(&coding.as_str()))
    };
    let ends_in_chunks = codings.last().is_some_and(|coding| coding == "chunked");
    are_all(&["identity", ""]) || ends_in_chunks && are_all(&["chunked", "identity", ""])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_that_name_no_coding_have_no_effect() {
        for words in [
            "UTF-8",
            "utf8",
            "\"utf-8\"",
            "charset=utf-8",
            "UTF-8; q=1",
            "iso-8859-1",
            "windows-1252",
            "none",
            "binary",
            "7bit",
            "8bit",
            "base64",
            "aws-chunked",
            "text/html",
            "",
            ", ,",
            "none, identity,,UTF-8",
        ] {
            assert_eq!(coding_of(words), Some(Coding::Identity), "{words}");
        }
        assert_eq!(coding_of("aws-chunked,gzip"), Some(Coding::Gzip));
        assert_eq!(coding_of("deflate, utf-8"), Some(Coding::Deflate));
        for words in [
            "br",
            "zstd",
            "compress",
            "dcb",
            "dcz",
            "exi",
            "aes128gcm",
            "pack200-gzip",
            "xz",
            "new",
            "gzip, gzip",
            "br, utf-8",
        ] {
            assert_eq!(coding_of(words), None, "{words}");
        }
    }

    proptest! {
        #[test]
        fn more_words_that_name_none_change_nothing(words in "[a-z, ;=\"]{0,20}", at in 0..NO_CODINGS.len()) {
            let none = NO_CODINGS[at];
            prop_assert_eq!(coding_of(&words), coding_of(&format!("{words},{none}")));
            prop_assert_eq!(coding_of(&words), coding_of(&format!("{none},{words}")));
        }
    }
}
