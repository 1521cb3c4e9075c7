//! One line of a list of digests.

use std::ops::Range;

use urldb_format::Algorithm;

/// Number of hexadecimal digits of each digest with which a line of coreutils can begin; 56 is SHA-224.
const LENGTHS: [usize; 6] = [32, 40, 56, 64, 96, 128];

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
    /// `CRC LENGTH NAME` of cksum.
    Cksum,
}

impl Entry {
    /// Takes a line apart; `None` if it has no known form.
    pub(super) fn parse(line: &str) -> Option<Self> {
        coreutils(line)
            .or_else(|| tagged(line))
            .or_else(|| cksum(line))
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

    /// The code of a digest that records cannot hold.
    pub(super) fn foreign_code(&self, digest: &str) -> Option<&'static str> {
        let is_hex = digest.bytes().all(|byte| byte.is_ascii_hexdigit());
        let of_name = |name: &str| {
            let name = name.to_ascii_lowercase();
            let is = |part| name.starts_with(part);
            if is("blake2b") {
                Some("blake2b")
            } else if is("sha224") || is("sha2-224") || is("sha-224") {
                Some("sha224")
            } else if is("crc") {
                Some("crc")
            } else {
                Algorithm::from_name(&name).is_none().then_some("algorithm")
            }
        };
        match (self.form, self.algorithm.as_deref()) {
            (Form::Cksum, _) => Some("crc"),
            (_, Some(name)) => of_name(name),
            (Form::Coreutils, None) => (digest.len() == 56).then_some("sha224"),
            _ => match digest.split_once(':') {
                Some((name, _)) => of_name(name),
                // The lines of SFV files.
                None if is_hex && digest.len() == 8 => Some("crc"),
                None => None,
            },
        }
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
    let written = rest.strip_prefix("  ").or_else(|| rest.strip_prefix(" *"));
    let is_written = written.is_some_and(|name| !name.starts_with([' ', '\t']));
    let is_name = !is_written && rest.split_ascii_whitespace().next().is_some_and(is_digest);
    if is_name || digest.contains(':') || !is_digest(digest) {
        return None;
    }
    let separators = ["  ", " *", " ", "\t"];
    let name = separators.iter().find_map(|it| rest.strip_prefix(it));
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
    let digest = digest.trim_start_matches(' ').strip_prefix('=')?;
    let digest = digest.trim_start_matches(' ');
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

/// `CRC LENGTH NAME`, both in decimal digits.
fn cksum(line: &str) -> Option<Entry> {
    let mut parts = line.splitn(3, ' ');
    let (sum, length, name) = (parts.next()?, parts.next()?, parts.next()?);
    let is_number = |text: &str| {
        (1..=20).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    (is_number(sum) && is_number(length) && sum.len() <= 10).then(|| Entry {
        name: name.to_owned(),
        digest: 0..sum.len(),
        algorithm: None,
        url: None,
        form: Form::Cksum,
    })
}

/// `NAME DIGEST` and perhaps a URL, quoted as in a shell.
fn pooch(line: &str) -> Option<Entry> {
    let words = words(line)?;
    let mut words = words.into_iter();
    let (name, digest, url) = (words.next()?, words.next()?, words.next());
    if words.next().is_some() {
        return None;
    }
    // A digest in quotes: the bytes between them.
    let raw = line.get(digest.range.clone())?;
    let at = raw.find(&digest.text).unwrap_or(0);
    let start = digest.range.start + at;
    let end = (start + digest.text.len()).min(digest.range.end);
    Some(Entry {
        name: name.text,
        digest: start..end,
        algorithm: None,
        url: url.map(|url| url.text),
        form: Form::Pooch,
    })
}

struct Word {
    text: String,
    range: Range<usize>,
}

/// The words of a line, as a POSIX shell divides it; `None` if a quote has no end.
fn words(line: &str) -> Option<Vec<Word>> {
    let mut words: Vec<Word> = vec![];
    let mut word: Option<Word> = None;
    let mut quote = None;
    let mut chars = line.char_indices();
    while let Some((at, char)) = chars.next() {
        let is_blank = char.is_ascii_whitespace();
        if quote.is_none() && is_blank {
            words.extend(word.take());
            continue;
        }
        let current = word.get_or_insert_with(|| Word {
            text: String::new(),
            range: at..at,
        });
        match (quote, char) {
            (None, '\'' | '"') => quote = Some(char),
            (Some(open), _) if open == char => quote = None,
            (None, '\\') => current.text.push(chars.next()?.1),
            (Some('"'), '\\') => {
                let (_, next) = chars.next()?;
                if !matches!(next, '"' | '\\') {
                    current.text.push('\\');
                }
                current.text.push(next);
            }
            _ => current.text.push(char),
        }
        current.range.end = chars.offset();
    }
    words.extend(word);
    quote.is_none().then_some(words)
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
