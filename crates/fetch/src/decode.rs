//! Decodes an unrequested Content-Encoding, with a size limit.

use std::io::Read;

use flate2::read::MultiGzDecoder;
use flate2::{Decompress, FlushDecompress, Status};
use urldb_verdict::{Coding, Damage, Decoded, coding_of};

use crate::hasher::{BodyDigests, BodyHasher};

/// Most decoded bytes, unless the record promises more: a few kilobytes may decode to gigabytes, and
/// their hashing delays other requests.
const DEFAULT_LIMIT: u64 = 256 << 20;

/// Bytes that tell the format of a stream.
const MAGIC: usize = 2;

/// The content of a body in the coding gzip, of any number of members (RFC 1952, 2.2).
pub fn gunzip(body: impl Read) -> impl Read {
    MultiGzDecoder::new(body)
}

/// Decodes a body; keeps only length and digest of the result.
pub(crate) struct Decoder {
    /// The coding that the response names.
    coding: Coding,
    stream: Stream,
    content: Content,
}

/// The position in the coded body.
#[derive(Debug)]
enum Stream {
    /// The first bytes, too few to tell the format.
    Start(Vec<u8>),
    /// Within a stream of this format.
    Inside(Format, Decompress),
    /// At the end of a stream of this format.
    Ended(Format),
    /// The rest has no known format.
    Invalid,
    /// The content exceeds its limit.
    TooLong,
}

/// The formats that servers send, whatever coding they name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Gzip,
    Zlib,
    /// Deflate without a frame.
    Bare,
}

impl Decoder {
    /// A decoder for a known `Content-Encoding`: up to 256 MiB or the promised length, whichever is
    /// more, and never beyond `max_body`, in bytes; `None` for other codings.
    /// The content is hashed by `hasher`.
    pub(crate) fn new(
        encoding: &str,
        promised: Option<u64>,
        max_body: u64,
        hasher: BodyHasher,
    ) -> Option<Self> {
        let coding = coding_of(encoding).filter(|coding| *coding != Coding::Identity)?;
        Some(Self {
            coding,
            stream: Stream::Start(Vec::new()),
            content: Content {
                hasher,
                limit: promised.unwrap_or(0).max(DEFAULT_LIMIT).min(max_body),
            },
        })
    }

    pub(crate) fn push(&mut self, mut bytes: &[u8]) {
        while let [first, rest @ ..] = bytes {
            match &mut self.stream {
                Stream::Start(start) => {
                    start.push(*first);
                    bytes = rest;
                    if start.len() == MAGIC {
                        let start = std::mem::take(start);
                        self.stream = Format::of(&start).begin();
                        // No stream is as short as that.
                        self.inflate(&start);
                    }
                }
                Stream::Inside(..) => bytes = self.inflate(bytes),
                // Members of gzip may follow one another (RFC 1952, 2.2).
                Stream::Ended(Format::Gzip) => self.stream = Format::Gzip.begin(),
                Stream::Ended(Format::Zlib | Format::Bare) => self.stream = Stream::Invalid,
                Stream::Invalid | Stream::TooLong => return,
            }
        }
    }

    /// Whether further bytes cannot change the result.
    pub(crate) fn is_settled(&self) -> bool {
        matches!(self.stream, Stream::Invalid | Stream::TooLong)
    }

    /// The content, as far as it was decoded, and its digests.
    pub(crate) fn finish(self) -> (Decoded, BodyDigests) {
        let is_named = |format| match self.coding {
            Coding::Gzip => format == Format::Gzip,
            Coding::Deflate => format != Format::Gzip,
            Coding::Identity => false,
        };
        let digests = self.content.hasher.finish();
        let BodyDigests { length, sha256, .. } = digests;
        let damage = match self.stream {
            Stream::TooLong => return (Decoded::LongerThan(self.content.limit), digests),
            Stream::Ended(format) if is_named(format) => None,
            Stream::Start(_) => Some(Damage::Incomplete),
            Stream::Inside(format, _) if is_named(format) => Some(Damage::Incomplete),
            Stream::Inside(..) | Stream::Ended(_) | Stream::Invalid => Some(Damage::Invalid),
        };
        let decoded = match damage {
            None => Decoded::Whole { length, sha256 },
            Some(damage) => Decoded::Damaged {
                length,
                sha256,
                damage,
            },
        };
        (decoded, digests)
    }

    /// Decodes bytes of the current stream; returns the bytes behind its end.
    fn inflate<'a>(&mut self, mut bytes: &'a [u8]) -> &'a [u8] {
        let Stream::Inside(format, state) = &mut self.stream else {
            return bytes;
        };
        let mut plain = [0; 8 << 10];
        loop {
            let (read, written) = (state.total_in(), state.total_out());
            let result = state.decompress(bytes, &mut plain, FlushDecompress::None);
            let [read, written] = [state.total_in() - read, state.total_out() - written]
                .map(|count| usize::try_from(count).unwrap_or(usize::MAX));
            bytes = &bytes[read..];
            // The output before an error counts too: a wrong checksum comes after all content.
            if !self.content.push(&plain[..written]) {
                self.stream = Stream::TooLong;
                return bytes;
            }
            match result {
                Ok(Status::StreamEnd) => {
                    self.stream = Stream::Ended(*format);
                    return bytes;
                }
                Ok(_) if bytes.is_empty() && written < plain.len() => return bytes,
                Ok(_) if read > 0 || written > 0 => {}
                Ok(_) | Err(_) => {
                    self.stream = Stream::Invalid;
                    return bytes;
                }
            }
        }
    }
}

impl Format {
    /// The format of a stream that begins with these bytes. Servers confuse the formats: some send
    /// bare deflate or gzip for `deflate`, where RFC 9110, 8.4.1.2, means zlib, and zlib for `gzip`.
    fn of(start: &[u8]) -> Self {
        match start {
            [0x1f, 0x8b, ..] => Self::Gzip,
            [first, second, ..]
                if first & 0x0f == 8 && u16::from_be_bytes([*first, *second]) % 31 == 0 =>
            {
                Self::Zlib
            }
            _ => Self::Bare,
        }
    }

    fn begin(self) -> Stream {
        let state = match self {
            Self::Gzip => Decompress::new_gzip(15),
            Self::Zlib => Decompress::new(true),
            Self::Bare => Decompress::new(false),
        };
        Stream::Inside(self, state)
    }
}

/// The decoded bytes: length, digests, and limit.
struct Content {
    hasher: BodyHasher,
    limit: u64,
}

impl Content {
    /// Adds decoded bytes; returns whether they are within the limit.
    fn push(&mut self, bytes: &[u8]) -> bool {
        self.hasher.update(bytes);
        self.hasher.length() <= self.limit
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
    use proptest::prelude::*;
    use sha2::{Digest, Sha256};

    use super::*;

    const PLAIN: &[u8] = b"plain text, plain text, plain text";

    fn new_decoder(encoding: &str, promised: Option<u64>, max_body: u64) -> Option<Decoder> {
        Decoder::new(encoding, promised, max_body, BodyHasher::new(promised))
    }

    fn decode_within(encoding: &str, max_body: u64, coded: &[u8]) -> Option<Decoded> {
        let mut bytewise = new_decoder(encoding, None, max_body)?;
        for byte in coded {
            bytewise.push(&[*byte]);
        }
        let mut at_once = new_decoder(encoding, None, max_body)?;
        at_once.push(coded);
        let (content, compared) = bytewise.finish();
        let whole = at_once.finish();
        assert_eq!((content, compared), whole, "in one piece as byte by byte");
        Some(content)
    }

    fn decode(encoding: &str, coded: &[u8]) -> Option<Decoded> {
        decode_within(encoding, 1 << 10, coded)
    }

    fn whole(plain: &[u8]) -> Decoded {
        Decoded::Whole {
            length: plain.len() as u64,
            sha256: Sha256::digest(plain).into(),
        }
    }

    fn damaged(plain: &[u8], damage: Damage) -> Decoded {
        Decoded::Damaged {
            length: plain.len() as u64,
            sha256: Sha256::digest(plain).into(),
            damage,
        }
    }

    fn gzip(plain: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(plain).unwrap();
        encoder.finish().unwrap()
    }

    fn zlib(plain: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(plain).unwrap();
        encoder.finish().unwrap()
    }

    fn bare(plain: &[u8]) -> Vec<u8> {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(plain).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn every_form_is_decoded() {
        let length = PLAIN.len() as u64;
        for (encoding, coded) in [
            ("gzip", gzip(PLAIN)),
            ("X-GZIP", gzip(PLAIN)),
            ("gzip", [gzip(&PLAIN[..7]), gzip(&PLAIN[7..])].concat()),
            ("deflate", zlib(PLAIN)),
            ("deflate", bare(PLAIN)),
        ] {
            assert_eq!(decode(encoding, &coded), Some(whole(PLAIN)), "{encoding}");
            assert_eq!(
                decode_within(encoding, length, &coded),
                Some(whole(PLAIN)),
                "{encoding}"
            );
            let too_long = Some(Decoded::LongerThan(length - 1));
            assert_eq!(decode_within(encoding, length - 1, &coded), too_long);
        }
        assert_eq!(decode("br", &gzip(PLAIN)), None);
        assert_eq!(decode("identity", PLAIN), None);
    }

    #[test]
    fn a_promised_length_raises_the_limit_and_never_lowers_it() {
        let bomb = gzip(&vec![0; 1 << 20]);
        for promised in [None, Some(1), Some(1 << 20)] {
            for (max_body, expected) in [
                (1 << 10, Decoded::LongerThan(1 << 10)),
                (1 << 20, whole(&vec![0; 1 << 20])),
            ] {
                let mut decoder = new_decoder("gzip", promised, max_body).unwrap();
                decoder.push(&bomb);
                assert_eq!(decoder.is_settled(), max_body == 1 << 10);
                assert_eq!(decoder.finish().0, expected);
            }
        }
    }

    #[test]
    fn what_is_there_of_a_damaged_coding_is_decoded() {
        let coded = gzip(PLAIN);
        let (body, trailer) = coded.split_at(coded.len() - 8);
        let wrong_sum = [body, &[0; 4], &trailer[4..]].concat();
        let wrong_length = [body, &trailer[..4], &[0; 4]].concat();
        for (encoding, coded, damage) in [
            ("gzip", body.to_vec(), Damage::Incomplete),
            (
                "gzip",
                coded[..coded.len() - 1].to_vec(),
                Damage::Incomplete,
            ),
            ("gzip", wrong_sum, Damage::Invalid),
            ("gzip", wrong_length, Damage::Invalid),
            ("gzip", [&coded, &b"garbage"[..]].concat(), Damage::Invalid),
            ("gzip", [&coded, &[0; 512][..]].concat(), Damage::Invalid),
            ("gzip", zlib(PLAIN), Damage::Invalid),
            ("gzip", bare(PLAIN), Damage::Invalid),
            ("deflate", gzip(PLAIN), Damage::Invalid),
            (
                "deflate",
                [zlib(PLAIN), b"garbage".to_vec()].concat(),
                Damage::Invalid,
            ),
        ] {
            let expected = Some(damaged(PLAIN, damage));
            assert_eq!(decode(encoding, &coded), expected, "{encoding} {coded:x?}");
        }
        for cut in 0..body.len() {
            let Some(Decoded::Damaged { length, damage, .. }) = decode("gzip", &coded[..cut])
            else {
                panic!("not damaged: {cut}");
            };
            assert_eq!(damage, Damage::Incomplete, "{cut}");
            assert!(length <= PLAIN.len() as u64);
        }
    }

    #[test]
    fn what_is_no_coding_at_all_is_invalid() {
        for text in [PLAIN, b"<!DOCTYPE html>", b"{}", b"other"] {
            let Some(Decoded::Damaged { damage, .. }) = decode("gzip", text) else {
                panic!("not damaged: {}", text.escape_ascii());
            };
            assert_eq!(damage, Damage::Invalid);
        }
    }

    proptest! {
        #[test]
        fn any_bytes_in_any_pieces_decode_alike(
            plain: Vec<u8>,
            noise: Vec<u8>,
            at in 0usize..200,
            pieces in prop::collection::vec(1usize..50, 1..20),
            form in 0usize..4,
        ) {
            let mut coded = match form {
                0 => gzip(&plain),
                1 => zlib(&plain),
                2 => bare(&plain),
                _ => Vec::new(),
            };
            let at = at.min(coded.len());
            coded.splice(at..at, noise.iter().copied());
            for encoding in ["gzip", "deflate"] {
                let mut at_once = new_decoder(encoding, None, 1 << 16).unwrap();
                at_once.push(&coded);
                let mut piecewise = new_decoder(encoding, None, 1 << 16).unwrap();
                let mut rest = &coded[..];
                for length in pieces.iter().cycle() {
                    let (piece, after) = rest.split_at((*length).min(rest.len()));
                    piecewise.push(piece);
                    rest = after;
                    if rest.is_empty() {
                        break;
                    }
                }
                let decoded = at_once.finish();
                prop_assert_eq!(decoded.clone(), piecewise.finish());
                let is_right = matches!((form, encoding), (0, "gzip") | (1 | 2, "deflate"));
                if noise.is_empty() && is_right {
                    prop_assert_eq!(decoded.0, whole(&plain));
                }
            }
        }
    }
}
