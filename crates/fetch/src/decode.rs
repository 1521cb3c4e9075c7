//! Decodes an unrequested Content-Encoding, with a size limit.

use std::io::{self, Write};

use flate2::write::MultiGzDecoder;
use flate2::{Decompress, FlushDecompress, Status};
use sha2::{Digest, Sha256};
use urldb_verdict::{Coding, Decoded, coding_of};

/// Most decoded bytes if the record promises no length: a few kilobytes may decode to gigabytes, and
/// their hashing delays other requests.
const DEFAULT_LIMIT: u64 = 256 << 20;

/// Decodes a stream; keeps only length and digest of the result.
#[derive(Debug)]
pub(crate) struct Decoder {
    codec: Codec,
}

#[derive(Debug)]
enum Codec {
    Gzip(MultiGzDecoder<HashingWriter>),
    /// `deflate`, until the first two bytes tell which of its two forms the stream has.
    UnknownDeflate(Vec<u8>, HashingWriter),
    Deflate(Inflater),
    /// The output exceeded this many bytes.
    TooLong(u64),
    /// The stream does not have its declared coding.
    Failed,
}

impl Decoder {
    /// A decoder for a known `Content-Encoding`, up to the promised length and never beyond
    /// `max_body`, in bytes; `None` for other codings.
    pub(crate) fn new(encoding: &str, promised: Option<u64>, max_body: u64) -> Option<Self> {
        let writer = HashingWriter {
            hasher: Sha256::new(),
            length: 0,
            limit: promised.unwrap_or(DEFAULT_LIMIT).min(max_body),
        };
        let codec = match coding_of(encoding)? {
            Coding::Gzip => Codec::Gzip(MultiGzDecoder::new(writer)),
            Coding::Deflate => Codec::UnknownDeflate(Vec::new(), writer),
            Coding::Identity => return None,
        };
        Some(Self { codec })
    }

    /// Decodes the next bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let codec = std::mem::replace(&mut self.codec, Codec::Failed);
        self.codec = codec.push(bytes).unwrap_or_else(|error| failed(&error));
    }

    /// The result, if the coded stream was complete or its output too long.
    pub(crate) fn finish(self) -> Option<Decoded> {
        let writer = match self.codec {
            Codec::Gzip(decoder) => match decoder.finish() {
                Ok(writer) => writer,
                Err(error) => {
                    let codec = failed(&error);
                    return Self { codec }.finish();
                }
            },
            Codec::Deflate(inflater) if inflater.has_ended => inflater.writer,
            Codec::TooLong(limit) => return Some(Decoded::LongerThan(limit)),
            Codec::Deflate(_) | Codec::UnknownDeflate(..) | Codec::Failed => return None,
        };
        Some(Decoded::Whole {
            length: writer.length,
            sha256: writer.hasher.finalize().into(),
        })
    }
}

/// The codec after an error.
fn failed(error: &io::Error) -> Codec {
    let too_long = error.get_ref().and_then(|error| error.downcast_ref());
    too_long.map_or(Codec::Failed, |OutputTooLong(limit)| Codec::TooLong(*limit))
}

impl Codec {
    fn push(mut self, bytes: &[u8]) -> io::Result<Self> {
        match &mut self {
            Self::Gzip(decoder) => decoder.write_all(bytes)?,
            Self::Deflate(inflater) => inflater.push(bytes)?,
            Self::TooLong(_) | Self::Failed => {}
            Self::UnknownDeflate(..) => return self.detect_deflate(bytes),
        }
        Ok(self)
    }

    /// Detects the form of `deflate`: RFC 9110, section 8.4.1.2, means the zlib format, and some
    /// servers send bare deflate.
    fn detect_deflate(self, bytes: &[u8]) -> io::Result<Self> {
        let Self::UnknownDeflate(mut start, writer) = self else {
            return Ok(self);
        };
        start.extend_from_slice(bytes);
        let [first, second, ..] = start[..] else {
            return Ok(Self::UnknownDeflate(start, writer));
        };
        let is_zlib = first & 0x0f == 8 && u16::from_be_bytes([first, second]) % 31 == 0;
        let inflater = Inflater {
            state: Decompress::new(is_zlib),
            writer,
            has_ended: false,
        };
        Self::Deflate(inflater).push(&start)
    }
}

/// Decodes deflate and knows whether the stream has ended; the writers of the library do not.
#[derive(Debug)]
struct Inflater {
    state: Decompress,
    writer: HashingWriter,
    has_ended: bool,
}

impl Inflater {
    fn push(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        let mut plain = [0; 8 << 10];
        while !self.has_ended {
            let (read, written) = (self.state.total_in(), self.state.total_out());
            let status = self
                .state
                .decompress(bytes, &mut plain, FlushDecompress::None)?;
            let [read, written] = [
                self.state.total_in() - read,
                self.state.total_out() - written,
            ]
            .map(|count| usize::try_from(count).unwrap_or(usize::MAX));
            self.writer.write_all(&plain[..written])?;
            bytes = &bytes[read..];
            self.has_ended = status == Status::StreamEnd;
            if bytes.is_empty() && written < plain.len() {
                return Ok(());
            }
            if read == 0 && written == 0 {
                return Err(io::Error::other("the decoder makes no progress"));
            }
        }
        Ok(())
    }
}

/// Hashes written bytes; fails beyond its limit.
#[derive(Debug)]
struct HashingWriter {
    hasher: Sha256,
    length: u64,
    limit: u64,
}

/// The decoded output exceeds this many bytes.
#[derive(Debug, thiserror::Error)]
#[error("longer than {0} bytes")]
struct OutputTooLong(u64);

impl Write for HashingWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.length += bytes.len() as u64;
        if self.length > self.limit {
            return Err(io::Error::other(OutputTooLong(self.limit)));
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
    fn every_form_is_decoded() {
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
    fn output_never_exceeds_the_body_limit() {
        let bomb = gzip(&vec![0; 1 << 20]);
        for promised in [None, Some(1 << 20), Some(1 << 10)] {
            let too_long = Some(Decoded::LongerThan(1 << 10));
            assert_eq!(decode("gzip", promised, &bomb), too_long);
        }
    }

    #[test]
    fn a_damaged_or_unknown_coding_gives_none() {
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
