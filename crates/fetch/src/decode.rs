//! Undoes a content coding that nobody asked for, on the side and within bounds.

use std::io::{self, Write};

use flate2::write::MultiGzDecoder;
use flate2::{Decompress, FlushDecompress, Status};
use sha2::{Digest, Sha256};

use urldb_verdict::{Coding, Decoded, coding_of};

/// How much is decoded at most where the record does not promise a length: a few kilobytes may
/// stand for gigabytes, and hashing those holds up others.
const CAP: u64 = 256 << 20;

/// Decodes what it is given; only length and digest of the result are kept.
#[derive(Debug)]
pub(super) struct Decoder {
    coding: Codec,
}

#[derive(Debug)]
enum Codec {
    Gzip(MultiGzDecoder<Sink>),
    /// `deflate`, until its first two bytes tell which of its two forms it is.
    Unsure(Vec<u8>, Sink),
    Deflate(Inflater),
    /// Given up beyond this many bytes.
    TooLong(u64),
    /// Not what it said it was.
    Failed,
}

impl Decoder {
    /// A decoder for a `Content-Encoding` it knows, up to the length that the record promises;
    /// beyond `max_body` in no case.
    pub(super) fn new(encoding: &str, promised: Option<u64>, max_body: u64) -> Option<Self> {
        let sink = Sink {
            hasher: Sha256::new(),
            length: 0,
            cap: promised.unwrap_or(CAP).min(max_body),
        };
        let coding = match coding_of(encoding)? {
            Coding::Gzip => Codec::Gzip(MultiGzDecoder::new(sink)),
            Coding::Deflate => Codec::Unsure(Vec::new(), sink),
            Coding::Identity => return None,
        };
        Some(Self { coding })
    }

    /// Decodes the next bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let coding = std::mem::replace(&mut self.coding, Codec::Failed);
        self.coding = coding.push(bytes).unwrap_or_else(|error| given_up(&error));
    }

    /// What came out, if the coded stream was whole or too long.
    pub(super) fn finish(self) -> Option<Decoded> {
        let sink = match self.coding {
            Codec::Gzip(decoder) => match decoder.finish() {
                Ok(sink) => sink,
                Err(error) => {
                    let coding = given_up(&error);
                    return Self { coding }.finish();
                }
            },
            Codec::Deflate(inflater) if inflater.ended => inflater.sink,
            Codec::TooLong(cap) => return Some(Decoded::LongerThan(cap)),
            Codec::Deflate(_) | Codec::Unsure(..) | Codec::Failed => return None,
        };
        Some(Decoded::Whole {
            length: sink.length,
            sha256: sink.hasher.finalize().into(),
        })
    }
}

fn given_up(error: &io::Error) -> Codec {
    let too_long = error.get_ref().and_then(|error| error.downcast_ref());
    too_long.map_or(Codec::Failed, |TooLong(cap)| Codec::TooLong(*cap))
}

impl Codec {
    fn push(mut self, bytes: &[u8]) -> io::Result<Self> {
        match &mut self {
            Self::Gzip(decoder) => decoder.write_all(bytes)?,
            Self::Deflate(inflater) => inflater.push(bytes)?,
            Self::TooLong(_) | Self::Failed => {}
            Self::Unsure(..) => return self.decide(bytes),
        }
        Ok(self)
    }

    /// RFC 9110 means the zlib format by `deflate`; some servers send bare deflate.
    fn decide(self, bytes: &[u8]) -> io::Result<Self> {
        let Self::Unsure(mut start, sink) = self else {
            return Ok(self);
        };
        start.extend_from_slice(bytes);
        let [first, second, ..] = start[..] else {
            return Ok(Self::Unsure(start, sink));
        };
        let is_zlib = first & 0x0f == 8 && u16::from_be_bytes([first, second]) % 31 == 0;
        let inflater = Inflater {
            state: Decompress::new(is_zlib),
            sink,
            ended: false,
        };
        Self::Deflate(inflater).push(&start)
    }
}

/// Undoes deflate, and knows whether it came to its end, as the library's writers do not.
#[derive(Debug)]
struct Inflater {
    state: Decompress,
    sink: Sink,
    ended: bool,
}

impl Inflater {
    fn push(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        let mut plain = [0; 8 << 10];
        while !self.ended {
            let (read, written) = (self.state.total_in(), self.state.total_out());
            let status = self
                .state
                .decompress(bytes, &mut plain, FlushDecompress::None)?;
            let [read, written] = [
                self.state.total_in() - read,
                self.state.total_out() - written,
            ]
            .map(|count| usize::try_from(count).unwrap_or(usize::MAX));
            self.sink.write_all(&plain[..written])?;
            bytes = &bytes[read..];
            self.ended = status == Status::StreamEnd;
            if bytes.is_empty() && written < plain.len() {
                return Ok(());
            }
            if read == 0 && written == 0 {
                return Err(io::Error::other("no way on"));
            }
        }
        Ok(())
    }
}

/// Hashes what is written to it, and fails beyond its cap.
#[derive(Debug)]
struct Sink {
    hasher: Sha256,
    length: u64,
    cap: u64,
}

/// More came out than may.
#[derive(Debug, thiserror::Error)]
#[error("longer than {0} bytes")]
struct TooLong(u64);

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.length += bytes.len() as u64;
        if self.length > self.cap {
            return Err(io::Error::other(TooLong(self.cap)));
        }
        self.hasher.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

    use super::*;

    const PLAIN: &[u8] = b"plain text, plain text, plain text";

    fn decode(encoding: &str, promised: Option<u64>, coded: &[u8]) -> Option<Decoded> {
        let mut decoder = Decoder::new(encoding, promised, 1 << 10)?;
        for byte in coded {
            decoder.push(&[*byte]);
        }
        decoder.finish()
    }

    fn gzip(plain: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(plain).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn every_form_is_undone() {
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::default());
        zlib.write_all(PLAIN).unwrap();
        let mut deflate = DeflateEncoder::new(Vec::new(), Compression::default());
        deflate.write_all(PLAIN).unwrap();
        let length = PLAIN.len() as u64;
        let expected = Decoded::Whole {
            length,
            sha256: Sha256::digest(PLAIN).into(),
        };
        for (encoding, coded) in [
            ("gzip", gzip(PLAIN)),
            ("X-GZIP", gzip(PLAIN)),
            ("gzip", [gzip(&PLAIN[..7]), gzip(&PLAIN[7..])].concat()),
            ("deflate", zlib.finish().unwrap()),
            ("deflate", deflate.finish().unwrap()),
        ] {
            assert_eq!(decode(encoding, None, &coded), Some(expected), "{encoding}");
            assert_eq!(decode(encoding, Some(length), &coded), Some(expected));
            let too_long = Some(Decoded::LongerThan(length - 1));
            assert_eq!(decode(encoding, Some(length - 1), &coded), too_long);
        }
    }

    #[test]
    fn nothing_is_decoded_beyond_the_most_that_is_read() {
        let bomb = gzip(&vec![0; 1 << 20]);
        for promised in [None, Some(1 << 20), Some(1 << 10)] {
            let too_long = Some(Decoded::LongerThan(1 << 10));
            assert_eq!(decode("gzip", promised, &bomb), too_long);
        }
    }

    #[test]
    fn what_cannot_be_decoded_is_none() {
        let coded = gzip(PLAIN);
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::default());
        zlib.write_all(PLAIN).unwrap();
        let zlib = zlib.finish().unwrap();
        for cut in 1..zlib.len() {
            assert_eq!(decode("deflate", None, &zlib[..cut]), None, "{cut}");
        }
        assert_eq!(decode("br", None, &coded), None);
        assert_eq!(decode("gzip", None, PLAIN), None);
        assert_eq!(decode("gzip", None, &coded[..coded.len() - 1]), None);
        assert_eq!(decode("deflate", None, b"x"), None);
    }
}
