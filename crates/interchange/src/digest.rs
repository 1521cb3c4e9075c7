//! The spellings of digests in lists: hexadecimal digits, a prefix such as `sha256:`, subresource integrity
//! (`sha256-…=`), and the Base32 of Nix.
//!
//! The algorithm comes from the reader, else from the prefix, else from the length.

use std::ops::Range;
use std::sync::LazyLock;

use data_encoding::{BASE64, BitOrder, Encoding, HEXLOWER, HEXLOWER_PERMISSIVE, Specification};
use urldb_format::{Algorithm, Digest};

use crate::model::{Location, Notice};

/// Longest text that is decoded. The longest spelling of a digest is shorter.
const MAX_LENGTH: usize = 256;

/// The Base32 of Nix. Its texts have the last byte first.
static NIX: LazyLock<Option<Encoding>> = LazyLock::new(|| {
    let mut base32 = Specification::new();
    base32.symbols.push_str("0123456789abcdfghijklmnpqrsvwxyz");
    base32.bit_order = BitOrder::LeastSignificantFirst;
    base32.encoding().ok()
});

/// The reason why a text is no digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unknown {
    /// The text is empty.
    #[error("the digest is empty")]
    Empty,
    /// The text names an algorithm that records cannot hold.
    #[error("the algorithm {0} is not known")]
    Algorithm(String),
    /// The text is a digest of another algorithm than the expected one.
    #[error("the digest is no {0}")]
    Other(Algorithm),
    /// No spelling of a digest.
    #[error("the text is no digest in a known spelling")]
    Spelling,
}

/// The notice of a text that is no digest: left out if only its algorithm is not known.
pub(crate) fn notice(location: Location, unknown: &Unknown) -> Notice {
    match unknown {
        Unknown::Algorithm(_) => Notice::left_out(location, "algorithm", unknown.to_string()),
        _ => Notice::refused(location, "bad-digest", unknown.to_string()),
    }
}

/// The spelling of the bytes of a digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spelling {
    Hex,
    Nix,
    Base64,
}

/// A digest as a text has it.
struct SpelledDigest<'a> {
    /// The name of the algorithm and its separator, such as `sha256:`.
    prefix: &'a str,
    /// The bytes in their spelling.
    body: &'a str,
    /// The options of subresource integrity.
    suffix: &'a str,
    spelling: Spelling,
    digest: Digest,
}

/// Parses a digest in any spelling. `assumed` is the algorithm that the format or the column names.
///
/// # Errors
/// If the text is no digest of the assumed algorithm.
pub fn parse(text: &str, assumed: Option<Algorithm>) -> Result<Digest, Unknown> {
    read(text, assumed).map(|spelled| spelled.digest)
}

/// The digests of a list, as subresource integrity has them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DigestList {
    /// The digests, and the bytes of each in the text.
    pub digests: Vec<(Digest, Range<usize>)>,
    /// Algorithms with several values, of which any may match. They promise no certain bytes.
    pub ambiguous: Vec<Algorithm>,
    /// The reasons why words of the list are no digests.
    pub unknown: Vec<Unknown>,
}

impl DigestList {
    /// A list of one digest, as [`parse`] reads it.
    pub(crate) fn of(text: &str, assumed: Option<Algorithm>) -> Self {
        let (digests, unknown) = match parse(text, assumed) {
            Ok(digest) => (vec![(digest, 0..text.len())], vec![]),
            Err(unknown) => (vec![], vec![unknown]),
        };
        Self {
            digests,
            unknown,
            ..Self::default()
        }
    }
}

/// Parses several digests with blanks between them.
pub fn parse_all(text: &str) -> DigestList {
    let mut list = DigestList::default();
    for word in text.split_ascii_whitespace() {
        let digest = match parse(word, None) {
            Ok(digest) => digest,
            Err(unknown) => {
                list.unknown.push(unknown);
                continue;
            }
        };
        let algorithm = digest.algorithm();
        let is_known = |(known, _): &(Digest, _)| known.algorithm() == algorithm;
        if list.ambiguous.contains(&algorithm) {
            continue;
        }
        if list.digests.iter().any(is_known) {
            list.digests.retain(|known| !is_known(known));
            list.ambiguous.push(algorithm);
            continue;
        }
        let start = word.as_ptr().addr() - text.as_ptr().addr();
        list.digests.push((digest, start..start + word.len()));
    }
    list
}

/// The digest `new` in the spelling of `old`: its prefix, case, and options. `None` if `old` is no digest of the
/// algorithm, or if a reader would take the result for another digest.
pub fn like(old: &str, new: &Digest) -> Option<String> {
    let spelled = read(old, Some(new.algorithm())).ok()?;
    let bytes = HEXLOWER.decode(new.hex().as_bytes()).ok()?;
    let mut body = spelled.spelling.encode(&bytes)?;
    let has = |is: fn(&char) -> bool| spelled.body.chars().any(|char| is(&char));
    if spelled.spelling == Spelling::Hex
        && has(char::is_ascii_uppercase)
        && !has(char::is_ascii_lowercase)
    {
        body.make_ascii_uppercase();
    }
    let text = format!("{}{body}{}", spelled.prefix, spelled.suffix);
    // The Base32 of a SHA-1 can look like an MD5 in hexadecimal digits.
    let is_clear = parse(old, None) != Ok(spelled.digest) || parse(&text, None).as_ref() == Ok(new);
    is_clear.then_some(text)
}

fn read(text: &str, assumed: Option<Algorithm>) -> Result<SpelledDigest<'_>, Unknown> {
    if text.is_empty() {
        return Err(Unknown::Empty);
    }
    if text.len() > MAX_LENGTH {
        return Err(Unknown::Spelling);
    }
    let spelled = match named(text) {
        Some(spelled) => spelled?,
        None => bare(text, assumed)?,
    };
    match assumed {
        Some(assumed) if spelled.digest.algorithm() != assumed => Err(Unknown::Other(assumed)),
        _ => Ok(spelled),
    }
}

/// A digest after the name of its algorithm; `None` if there is no name.
fn named(text: &str) -> Option<Result<SpelledDigest<'_>, Unknown>> {
    let split = |separators: &[char]| {
        let at = text.find(separators)?;
        let (name, body) = (text.get(..at)?, text.get(at + 1..)?);
        is_name(name).then_some((name, text.get(..=at)?, body))
    };
    if let Some((name, prefix, body)) = split(&[':', '=']) {
        if let Some(algorithm) = Algorithm::from_name(name) {
            let found = [Spelling::Hex, Spelling::Nix]
                .into_iter()
                .find_map(|it| it.parse(algorithm, body));
            return Some(
                found
                    .map(|found| SpelledDigest { prefix, ..found })
                    .ok_or(Unknown::Spelling),
            );
        }
        if !name.contains('-') && is_encoded(body) {
            return Some(Err(Unknown::Algorithm(name.to_owned())));
        }
    }
    let (name, prefix, body) = split(&['-'])?;
    let Some(algorithm) = Algorithm::from_name(name) else {
        return is_encoded(body).then(|| Err(Unknown::Algorithm(name.to_owned())));
    };
    let (body, suffix) = body.split_at(body.find('?').unwrap_or(body.len()));
    let found = Spelling::Base64.parse(algorithm, body);
    let found = found.map(|found| SpelledDigest {
        prefix,
        suffix,
        ..found
    });
    Some(found.ok_or(Unknown::Spelling))
}

/// Whether a text can be the name of an algorithm.
fn is_name(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    let begins = text.starts_with(|char: char| char.is_ascii_alphabetic());
    (2..=16).contains(&text.len()) && begins && text.bytes().all(is_part)
}

/// Whether a text can be the bytes of a digest of some algorithm.
fn is_encoded(text: &str) -> bool {
    let is_symbol = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    text.trim_end_matches('=').len() >= 8 && text.bytes().all(is_symbol)
}

/// A digest without a name.
fn bare(text: &str, assumed: Option<Algorithm>) -> Result<SpelledDigest<'_>, Unknown> {
    let find = |algorithms: &[Algorithm]| {
        [Spelling::Hex, Spelling::Nix]
            .into_iter()
            .find_map(|spelling| {
                algorithms
                    .iter()
                    .find_map(|algorithm| spelling.parse(*algorithm, text))
            })
    };
    assumed
        .and_then(|assumed| find(&[assumed]))
        .or_else(|| find(&Algorithm::ALL))
        .ok_or(Unknown::Spelling)
}

impl Spelling {
    fn parse(self, algorithm: Algorithm, body: &str) -> Option<SpelledDigest<'_>> {
        let bytes = self.decode(algorithm, body)?;
        Some(SpelledDigest {
            prefix: "",
            body,
            suffix: "",
            spelling: self,
            digest: Digest::new(algorithm, &bytes)?,
        })
    }

    fn decode(self, algorithm: Algorithm, body: &str) -> Option<Vec<u8>> {
        match self {
            Self::Hex => {
                let is_length = body.len() == 2 * algorithm.length();
                let digits = Some(body).filter(|_| is_length)?;
                HEXLOWER_PERMISSIVE.decode(digits.as_bytes()).ok()
            }
            Self::Nix => {
                let reversed: Vec<u8> = body.bytes().rev().collect();
                NIX.as_ref()?.decode(&reversed).ok()
            }
            Self::Base64 => BASE64.decode(body.as_bytes()).ok(),
        }
    }

    fn encode(self, bytes: &[u8]) -> Option<String> {
        Some(match self {
            Self::Hex => HEXLOWER.encode(bytes),
            Self::Nix => NIX.as_ref()?.encode(bytes).chars().rev().collect(),
            Self::Base64 => BASE64.encode(bytes),
        })
    }
}
