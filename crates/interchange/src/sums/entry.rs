//! One line of a list of digests.

use std::ops::Range;

use urldb_format::Algorithm;

/// Number of hexadecimal digits of each digest with which a line of coreutils can begin.
const LENGTHS: [usize; 5] = [32, 40, 64, 96, 128];

/// A line, taken apart.
pub(super) struct Entry {
    /// The name of the file.
    pub(super) name: String,
    /// The bytes of the digest in the line.
    pub(super) digest: Range<usize>,
    /// The name of the algorithm in a line of BSD or OpenSSL.
    pub(super) algorithm: Option<String>,
    /// The URL of the file in a line of pooch.
    pub(super) url: Option<String>,
    form: Form,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Coreutils,
    /// `SHA256 (NAME) = DIGEST` of BSD.
    Tagged,
    /// `SHA2-256(NAME)= DIGEST`.
    OpenSsl,
    Pooch,
}

impl Entry {
    /// Takes a line apart; `None` if it has no known form.
    pub(super) fn parse(line: &str) -> Option<Self> {
        coreutils(line)
            .or_else(|| tagged(line))
            .or_else(|| pooch(line))
    }

    /// Whether the name stands for standard input: `-` of coreutils, `stdin` of OpenSSL. A file of the name `-` is `./-`.
    pub(super) fn is_of_standard_input(&self) -> bool {
        match (self.form, &*self.name) {
            (Form::Coreutils | Form::Tagged, "-") => true,
            (Form::OpenSsl, name) => matches!(name, "-" | "stdin"),
            // Of older versions of OpenSSL, without the name of the algorithm.
            (Form::Pooch, name) => name == "(stdin)=",
            _ => false,
        }
    }

    /// The algorithm of a digest without the name of one. SHA-256 for pooch, else by the length.
    pub(super) fn assumed(&self, digest: &str) -> Option<Algorithm> {
        let is_bare = !digest.contains([':', '=']);
        (self.form == Form::Pooch && is_bare).then_some(Algorithm::Sha256)
    }
}

/// `DIGEST  NAME`, `DIGEST *NAME`, with a leading `\` if the name has escapes. One blank and a tab are accepted too, unless
/// a digest follows: the first word is then the name of a file, as pooch has it.
fn coreutils(line: &str) -> Option<Entry> {
    let escaped = line.strip_prefix('\\');
    let text = escaped.unwrap_or(line);
    let start = line.len() - text.len();
    let length = text.find([' ', '\t'])?;
    let (digest, rest) = text.split_at(length);
    let is_written = rest
        .strip_prefix("  ")
        .or_else(|| rest.strip_prefix(" *"))
        .is_some_and(|name| !name.starts_with([' ', '\t']));
    let is_name = !is_written && rest.split_ascii_whitespace().next().is_some_and(is_digest);
    if is_name || digest.contains(':') || !is_digest(digest) {
        return None;
    }
    let name = ["  ", " *", " ", "\t"]
        .iter()
        .find_map(|it| rest.strip_prefix(it));
    let name = name.filter(|name| !name.is_empty())?;
    Some(Entry {
        name: unescaped(name, escaped.is_some())?,
        digest: start..start + length,
        algorithm: None,
        url: None,
        form: Form::Coreutils,
    })
}

/// Whether a word is a digest in hexadecimal digits, perhaps behind the name of its algorithm, as pooch has it.
fn is_digest(word: &str) -> bool {
    let digits = word.rsplit(':').next().unwrap_or(word);
    LENGTHS.contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// `SHA256 (NAME) = DIGEST` of BSD and `SHA2-256(NAME)= DIGEST` of OpenSSL.
fn tagged(line: &str) -> Option<Entry> {
    let escaped = line.strip_prefix('\\');
    let (algorithm, rest) = escaped.unwrap_or(line).split_once('(')?;
    let (algorithm, form) = match algorithm.strip_suffix(' ') {
        Some(algorithm) => (algorithm, Form::Tagged),
        None => (algorithm, Form::OpenSsl),
    };
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'/');
    if algorithm.is_empty() || !algorithm.bytes().all(is_part) {
        return None;
    }
    let (name, digest) = rest.rsplit_once(')')?;
    let digest = digest
        .trim_start_matches(' ')
        .strip_prefix('=')?
        .trim_start_matches(' ');
    let start = line.len() - digest.len();
    let digest = digest.trim_end();
    Some(Entry {
        name: unescaped(name, escaped.is_some())?,
        digest: start..start + digest.len(),
        algorithm: Some(algorithm.to_owned()),
        url: None,
        form,
    })
}

/// `NAME DIGEST` and perhaps a URL, quoted as in a shell.
fn pooch(line: &str) -> Option<Entry> {
    let mut words = shlex::split(line)?.into_iter();
    let (name, digest, url) = (words.next()?, words.next()?, words.next());
    if words.next().is_some() {
        return None;
    }
    let raw = line
        .split_ascii_whitespace()
        .rev()
        .nth(usize::from(url.is_some()))?;
    // A digest in quotes: the bytes between them.
    let raw = raw.trim_matches(['"', '\'']);
    let start = raw.as_ptr().addr() - line.as_ptr().addr();
    (raw == digest).then(|| Entry {
        name,
        digest: start..start + raw.len(),
        algorithm: None,
        url,
        form: Form::Pooch,
    })
}

/// Undoes the escapes with which GNU coreutils write names with line breaks.
fn unescaped(name: &str, is_escaped: bool) -> Option<String> {
    if !is_escaped {
        return Some(name.to_owned());
    }
    let mut out = String::with_capacity(name.len());
    let mut chars = name.chars();
    while let Some(char) = chars.next() {
        out.push(match char {
            '\\' => match chars.next()? {
                'n' => '\n',
                'r' => '\r',
                '\\' => '\\',
                _ => return None,
            },
            other => other,
        });
    }
    Some(out)
}
