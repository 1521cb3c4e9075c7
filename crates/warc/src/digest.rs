//! Digests as headers and index lines spell them (WARC/1.1 §5.8).
//!
//! We write `sha256:` and lower-case hex. Others write SHA-1 in Base32, in either case, with and
//! without a hyphen in the algorithm's name; so a digest is compared decoded.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read};
use std::str::FromStr;

use sha1::Sha1;
use sha2::{Digest as _, Sha256};

const BASE32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// A digest algorithm that archives use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// What we write by default.
    Sha256,
    /// What most other programs write.
    Sha1,
}

impl Algorithm {
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
    algorithm: Algorithm,
    bytes: Vec<u8>,
}

/// The text is not a digest that we know.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a digest, such as sha256:… in hexadecimal or sha1:… in Base32")]
pub struct InvalidDigest {
    /// What was found instead.
    pub text: String,
}

impl Digest {
    /// A SHA-256 that the caller computed.
    pub fn sha256(bytes: [u8; 32]) -> Self {
        Self {
            algorithm: Algorithm::Sha256,
            bytes: bytes.to_vec(),
        }
    }

    /// The SHA-256 of everything in `input`, and its length.
    pub fn sha256_of(input: impl Read) -> io::Result<(Self, u64)> {
        Self::of(Algorithm::Sha256, input)
    }

    /// The digest of everything in `input`, and its length.
    pub fn of(algorithm: Algorithm, input: impl Read) -> io::Result<(Self, u64)> {
        let mut input = BufReader::with_capacity(16 * 1024, input);
        let mut hasher = Hasher::new(algorithm);
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
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The digest itself, 32 or 20 bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// A digest while it is computed.
#[derive(Clone)]
pub struct Hasher(State);

#[derive(Clone)]
enum State {
    Sha256(Sha256),
    Sha1(Sha1),
}

impl Hasher {
    /// Of no bytes yet.
    pub fn new(algorithm: Algorithm) -> Self {
        Self(match algorithm {
            Algorithm::Sha256 => State::Sha256(Sha256::new()),
            Algorithm::Sha1 => State::Sha1(Sha1::new()),
        })
    }

    /// Adds bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        match &mut self.0 {
            State::Sha256(state) => state.update(bytes),
            State::Sha1(state) => state.update(bytes),
        }
    }

    /// The digest of all that was added.
    pub fn finish(self) -> Digest {
        match self.0 {
            State::Sha256(state) => Digest::sha256(state.finalize().into()),
            State::Sha1(state) => Digest {
                algorithm: Algorithm::Sha1,
                bytes: state.finalize().to_vec(),
            },
        }
    }
}

impl fmt::Display for Digest {
    /// `sha256:` with lower-case hex, `sha1:` with upper-case Base32: what each is usually written in.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.algorithm {
            Algorithm::Sha256 => {
                f.write_str("sha256:")?;
                self.bytes
                    .iter()
                    .try_for_each(|byte| write!(f, "{byte:02x}"))
            }
            Algorithm::Sha1 => write!(f, "sha1:{}", base32(&self.bytes)),
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
        "sha256" => Algorithm::Sha256,
        "sha1" => Algorithm::Sha1,
        _ => return None,
    };
    let value = value.trim_end_matches('=').as_bytes();
    let length = algorithm.length();
    let bytes = if value.len() == 2 * length {
        unhex(value)
    } else if value.len() == (8 * length).div_ceil(6) {
        unbase64(value)
    } else {
        unbase32(value)
    }?;
    (bytes.len() == length).then_some(Digest { algorithm, bytes })
}

fn unhex(text: &[u8]) -> Option<Vec<u8>> {
    let nibble = |digit: u8| {
        char::from(digit)
            .to_digit(16)
            .and_then(|n| u8::try_from(n).ok())
    };
    text.chunks_exact(2)
        .map(|pair| Some(nibble(pair[0])? << 4 | nibble(pair[1])?))
        .collect()
}

fn base32(bytes: &[u8]) -> String {
    // 20 bytes are 160 bits, which five-bit digits spell exactly.
    let bit = |at: usize| bytes[at / 8] >> (7 - at % 8) & 1;
    (0..bytes.len() * 8 / 5)
        .map(|digit| (0..5).fold(0, |value, i| value << 1 | bit(digit * 5 + i)))
        .map(|value| char::from(BASE32[usize::from(value)]))
        .collect()
}

fn unbase32(text: &[u8]) -> Option<Vec<u8>> {
    let value = |digit: &u8| match digit {
        b'A'..=b'Z' => Some(usize::from(digit - b'A')),
        b'a'..=b'z' => Some(usize::from(digit - b'a')),
        b'2'..=b'7' => Some(usize::from(digit - b'2') + 26),
        _ => None,
    };
    join_bits(text.iter().map(value), 5)
}

/// Of either alphabet: with `+` and `/`, or with `-` and `_`.
fn unbase64(text: &[u8]) -> Option<Vec<u8>> {
    let value = |digit: &u8| {
        let place = |first: u8, from: u8| usize::from(digit - first) + usize::from(from);
        Some(match digit {
            b'A'..=b'Z' => place(b'A', 0),
            b'a'..=b'z' => place(b'a', 26),
            b'0'..=b'9' => place(b'0', 52),
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        })
    };
    join_bits(text.iter().map(value), 6)
}

/// Digits of `width` bits each as bytes; bits that are left over have to be zero.
fn join_bits(digits: impl Iterator<Item = Option<usize>>, width: u32) -> Option<Vec<u8>> {
    let (mut bits, mut held) = (0u32, 0);
    let mut bytes = Vec::with_capacity(40);
    for value in digits {
        bits = bits << width | u32::try_from(value?).ok()?;
        held += width;
        if held >= 8 {
            held -= 8;
            bytes.push(u8::try_from(bits >> held).ok()?);
            bits &= (1 << held) - 1;
        }
    }
    (bits == 0).then_some(bytes)
}
