//! Commands that people copy into a shell.

use std::borrow::Cow;

use urldb_protocol::{AffectedUrl, UrlOverview};
use urldb_text::sanitize;

/// A command line of `words`, each quoted for a POSIX shell where that is necessary. Absent if a word
/// holds a character that a terminal must not get: a changed word would be another command.
pub fn command_line(words: &[&str]) -> Option<String> {
    let is_plain = |word: &&str| matches!(sanitize(word), Cow::Borrowed(_));
    if !words.iter().all(is_plain) {
        return None;
    }
    let quoted: Vec<_> = words.iter().map(|word| quote(word)).collect();
    Some(quoted.join(" "))
}

/// Options of curl for a GET request that shows the headers of each answer on the way, and loads one byte. Some
/// servers answer a HEAD request otherwise.
pub const HEADERS_ONLY: [&str; 7] = ["-sSL", "-r", "0-0", "-D", "-", "-o", "/dev/null"];

/// A URL in a command line, and the request headers that tell records of the URL apart, one a line.
#[derive(Debug, Clone, Copy)]
pub struct AskedUrl<'a> {
    /// The URL.
    pub url: &'a str,
    /// The headers, such as `accept: text/turtle`.
    pub variant: Option<&'a str>,
    /// The address to which curl connects in place of the host, behind its option `--connect-to`.
    pub via: Option<&'a str>,
}

impl<'a> From<&'a str> for AskedUrl<'a> {
    fn from(url: &'a str) -> Self {
        Self {
            url,
            variant: None,
            via: None,
        }
    }
}

impl<'a> From<&'a AffectedUrl> for AskedUrl<'a> {
    fn from(url: &'a AffectedUrl) -> Self {
        Self {
            url: &url.url,
            variant: url.variant.as_deref(),
            via: None,
        }
    }
}

impl<'a> From<&'a UrlOverview> for AskedUrl<'a> {
    fn from(url: &'a UrlOverview) -> Self {
        Self {
            url: &url.url,
            variant: url.variant.as_deref(),
            via: None,
        }
    }
}

impl<'a> AskedUrl<'a> {
    /// The URL, and each header behind this option of a command.
    pub fn words(self, option: &'a str) -> impl Iterator<Item = &'a str> {
        let options = self
            .variant
            .into_iter()
            .flat_map(str::lines)
            .flat_map(move |header| [option, header]);
        [self.url].into_iter().chain(options)
    }
}

/// The option of urldb's commands for the archive that names a header of the variant.
pub const HEADER: &str = "--header";

/// The words of a request by curl, which takes brackets and braces for patterns unless told otherwise.
pub fn curl_words<'a>(options: &[&'a str], asked: AskedUrl<'a>) -> Vec<&'a str> {
    let literal = asked.url.contains(['[', ']', '{', '}']).then_some("-g");
    let words = ["curl"].into_iter().chain(options.iter().copied());
    let via = asked.via.into_iter().flat_map(|via| ["--connect-to", via]);
    words
        .chain(via)
        .chain(literal)
        .chain(asked.words("-H"))
        .collect()
}

/// A command line that shows the checksum and the length of what a URL serves, six times.
pub fn bytes_in_turn(asked: AskedUrl<'_>) -> Option<String> {
    let curl = command_line(&curl_words(&["-sSL"], asked))?;
    Some(format!("for i in 1 2 3 4 5 6; do {curl} | cksum; done"))
}

/// The word, in single quotes if a shell would read anything else than the word.
fn quote(word: &str) -> Cow<'_, str> {
    let is_literal = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:,@%+=".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_literal) {
        return Cow::Borrowed(word);
    }
    Cow::Owned(format!("'{}'", word.replace('\'', r"'\''")))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_what_a_shell_reads_otherwise_is_quoted() {
        let line = |word| command_line(&["curl", "-sSI", word]).unwrap();
        assert_eq!(
            line("https://a.test/b-c_1%20/"),
            "curl -sSI https://a.test/b-c_1%20/"
        );
        assert_eq!(
            line("https://a.test/?a=1&b"),
            "curl -sSI 'https://a.test/?a=1&b'"
        );
        assert_eq!(
            line("https://a.test/it's"),
            r"curl -sSI 'https://a.test/it'\''s'"
        );
        assert_eq!(line("~/x"), "curl -sSI '~/x'");
        assert_eq!(command_line(&["curl", "a\u{1b}[2J"]), None);
        assert_eq!(command_line(&["curl", "a\u{202e}b"]), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn a_shell_reads_the_same_words(words in prop::collection::vec("[ -~]{1,12}|\\PC{1,6}", 1..4)) {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            if let Some(line) = command_line(&words) {
                let script = format!("printf '%s\\0' {line}");
                let output = Command::new("sh").args(["-c", &script]).output().unwrap();
                let read = String::from_utf8(output.stdout).unwrap();
                prop_assert_eq!(read.split_terminator('\0').collect::<Vec<_>>(), words);
            }
        }
    }
}
