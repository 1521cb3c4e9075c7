//! Digests in headers and index lines (WARC/1.1 §5.8).
//!
//! This crate writes `sha256:` and lower-case hex. Other programs write SHA-1 in Base32, in either case,
//! with or without a hyphen in the algorithm's name. So digests are compared decoded.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::str::FromStr;

use data_encoding::{BASE32, BASE32_NOPAD_NOCASE, BASE64_NOPAD, HEXLOWER, HEXLOWER_PERMISSIVE};
use ring::digest::{Context, SHA256};
use sha1::{Digest as _, Sha1};

mod background;

pub(crate) use background::BackgroundHasher;

/// A digest algorithm that archives use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DigestAlgorithm {
    /// SHA-256, the default for writing.
    Sha256,
    /// SHA-1, which most other programs write.
    Sha1,
}

impl DigestAlgorithm {
    fn length(self) -> usize {
        match self {
            Self::Sha256 => 32,
            Self::Sha1 => 20,
        }
    }
}

/// A digest, decoded.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Digest {
    algorithm: DigestAlgorithm,
    bytes: Vec<u8>,
}

/// The text is not a digest of a known algorithm and encoding.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a digest, such as sha256:… in hexadecimal or sha1:… in Base32")]
pub struct InvalidDigest {
    /// The text.
    pub text: String,
}

impl Digest {
    /// A SHA-256 that the caller computed.
    pub fn sha256(bytes: [u8; 32]) -> Self {
        Self {
            algorithm: DigestAlgorithm::Sha256,
            bytes: bytes.to_vec(),
        }
    }

    /// The SHA-256 of everything in `input`, and its length.
    pub fn sha256_of(input: impl Read) -> io::Result<(Self, u64)> {
        Self::of(DigestAlgorithm::Sha256, input)
    }

    /// The digest of everything in `input`, and its length. After a few MiB, a thread of its own computes
    /// the digest while this one reads.
    pub fn of(algorithm: DigestAlgorithm, input: impl Read) -> io::Result<(Self, u64)> {
        let mut input = BufReader::with_capacity(16 * 1024, input);
        let mut hasher = BackgroundHasher::new(algorithm);
        let mut length = 0;
        loop {
            let chunk = match input.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            };
            if chunk.is_empty() {
                return Ok((hasher.finish(), length));
            }
            hasher.update(chunk);
            let read = chunk.len();
            length += read as u64;
            input.consume(read);
        }
    }

    /// The algorithm.
    pub fn algorithm(&self) -> DigestAlgorithm {
        self.algorithm
    }

    /// The digest in lower-case hex, 64 or 40 digits.
    pub fn to_hex(&self) -> String {
        HEXLOWER.encode(&self.bytes)
    }

    /// The digest, 32 or 20 bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Computes a digest.
#[derive(Clone)]
pub struct DigestHasher(State);

#[derive(Clone)]
enum State {
    Sha256(Context),
    Sha1(Sha1),
}

impl DigestHasher {
    /// Begins a digest.
    pub fn new(algorithm: DigestAlgorithm) -> Self {
        Self(match algorithm {
            DigestAlgorithm::Sha256 => State::Sha256(Context::new(&SHA256)),
            DigestAlgorithm::Sha1 => State::Sha1(Sha1::new()),
        })
    }

    /// Adds bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        match &mut self.0 {
            State::Sha256(state) => state.update(bytes),
            State::Sha1(state) => state.update(bytes),
        }
    }

    /// The digest of all added bytes.
    pub fn finish(self) -> Digest {
        match self.0 {
            State::Sha256(state) => Digest {
                algorithm: DigestAlgorithm::Sha256,
                bytes: state.finish().as_ref().to_vec(),
            },
            State::Sha1(state) => Digest {
                algorithm: DigestAlgorithm::Sha1,
                bytes: state.finalize().to_vec(),
            },
        }
    }
}

/// Writes to an output, and computes the SHA-256 and the length of what it writes.
pub(crate) struct HashingOutput<W> {
    output: W,
    hasher: DigestHasher,
    pub(crate) length: u64,
}

impl<W> HashingOutput<W> {
    pub(crate) fn new(output: W) -> Self {
        Self {
            output,
            hasher: DigestHasher::new(DigestAlgorithm::Sha256),
            length: 0,
        }
    }

    pub(crate) fn into_parts(self) -> (W, DigestHasher) {
        (self.output, self.hasher)
    }
}

impl<W: Write> Write for HashingOutput<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.output.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        self.length += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}

impl fmt::Display for Digest {
    /// `sha256:` with lower-case hex, `sha1:` with upper-case Base32: the usual encoding of each.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.algorithm {
            DigestAlgorithm::Sha256 => {
                write!(f, "sha256:{}", HEXLOWER.encode_display(&self.bytes))
            }
            DigestAlgorithm::Sha1 => write!(f, "sha1:{}", BASE32.encode_display(&self.bytes)),
        }
    }
}

impl FromStr for Digest {
    type Err = InvalidDigest;

    /// Reads `sha256`, `SHA-256`, `sha1` or `sha-1`; then `:`, `=` or `/`; then hex or Base32 in any
    /// case, or Base64; padded or not.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text).ok_or_else(|| InvalidDigest {
            text: text.to_owned(),
        })
    }
}

fn parse(text: &str) -> Option<Digest> {
    let (name, value) = text.trim().split_once([':', '=', '/'])?;
    let algorithm = match name.replace('-', "").to_ascii_lowercase().as_str() {
        "sha256" => DigestAlgorithm::Sha256,
        "sha1" => DigestAlgorithm::Sha1,
        _ => return None,
    };
    let value = value.trim_end_matches('=').as_bytes();
    let length = algorithm.length();
    let bytes = if value.len() == 2 * length {
        HEXLOWER_PERMISSIVE.decode(value).ok()
    } else if value.len() == (8 * length).div_ceil(6) {
        decode_base64(value)
    } else {
        BASE32_NOPAD_NOCASE.decode(value).ok()
    }?;
    (bytes.len() == length).then_some(Digest { algorithm, bytes })
}

/// Decodes Base64 of either alphabet: with `+` and `/`, or with `-` and `_`.
fn decode_base64(text: &[u8]) -> Option<Vec<u8>> {
    let standard: Vec<u8> = text
        .iter()
        .map(|digit| match digit {
            b'-' => b'+',
            b'_' => b'/',
            other => *other,
        })
        .collect();
    BASE64_NOPAD.decode(&standard).ok()
}
