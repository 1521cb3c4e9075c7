//! Content is the same whether threads compute its digests or not, also of damaged records.

use std::fmt::Write as _;
use std::io::Write as _;

use flate2::write::GzEncoder;
use proptest::prelude::*;

use super::*;
use crate::reader::Reader;

/// A record of an archive: its type, its HTTP head, its body, and how long the head says the chunks are.
#[derive(Clone, Debug)]
struct Sample {
    kind: &'static str,
    head: &'static str,
    body: Vec<u8>,
    chunk: Option<usize>,
    digests: (&'static str, &'static str),
}

const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n";
const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
const POST: &str = "POST / HTTP/1.1\r\nHost: example.org\r\n\r\n";

/// A SHA-1 and a SHA-256 of other bytes.
const SHA1: &str = "sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
const SHA256: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

fn sample() -> impl Strategy<Value = Sample> {
    let bodies = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..600),
        "[0-9a-f\r\n;]{0,40}".prop_map(String::into_bytes),
        (any::<u8>(), 0..300_000usize).prop_map(|(byte, length)| vec![byte; length]),
    ];
    let forms = prop_oneof![
        Just(("response", HEAD)),
        Just(("response", CHUNKED)),
        Just(("response", "")),
        Just(("revisit", HEAD)),
        Just(("resource", "")),
        Just(("metadata", "")),
        Just(("request", POST)),
    ];
    let digest = || prop_oneof![Just(SHA1), Just(SHA256), Just("")];
    let chunk = prop::option::of(prop_oneof![1..40usize, 5_000..100_000usize]);
    let parts = (forms, bodies, chunk, (digest(), digest()));
    parts.prop_map(|((kind, head), body, chunk, digests)| Sample {
        kind,
        head,
        body,
        chunk: chunk.filter(|_| head == CHUNKED),
        digests,
    })
}

impl Sample {
    fn block(&self) -> Vec<u8> {
        let mut block = self.head.as_bytes().to_vec();
        let Some(size) = self.chunk else {
            block.extend(&self.body);
            return block;
        };
        for chunk in self.body.chunks(size) {
            block.extend(format!("{:x}\r\n", chunk.len()).as_bytes());
            block.extend(chunk);
            block.extend(b"\r\n");
        }
        block.extend(b"0\r\n\r\n");
        block
    }

    fn record(&self) -> Vec<u8> {
        let block = self.block();
        let mut head = format!("WARC/1.1\r\nWARC-Type: {}\r\n", self.kind);
        let (of_block, of_payload) = self.digests;
        for (name, value) in [
            ("WARC-Record-ID", "<urn:test:1>"),
            ("WARC-Block-Digest", of_block),
            ("WARC-Payload-Digest", of_payload),
        ] {
            if !value.is_empty() {
                write!(head, "{name}: {value}\r\n").unwrap();
            }
        }
        write!(head, "Content-Length: {}\r\n\r\n", block.len()).unwrap();
        [head.as_bytes(), &block, b"\r\n\r\n"].concat()
    }
}

fn archive(samples: &[Sample], is_gzip: bool) -> Vec<u8> {
    let member = |sample: &Sample| {
        let record = sample.record();
        if !is_gzip {
            return record;
        }
        let mut member = GzEncoder::new(Vec::new(), flate2::Compression::fast());
        member.write_all(&record).unwrap();
        member.finish().unwrap()
    };
    samples.iter().flat_map(member).collect()
}

/// Everything about the content of all records, up to the first error.
fn contents(archive: &[u8], thread_after: u64) -> Vec<String> {
    let hasher = |algorithm| BackgroundHasher::with_thread_after(algorithm, thread_after);
    let mut found = Vec::new();
    let mut reader = match Reader::new(archive) {
        Ok(reader) => reader,
        Err(error) => return vec![error.to_string()],
    };
    loop {
        let mut record = match reader.next_record() {
            Ok(Some(record)) => record,
            end => {
                found.push(format!("{:?}", end.err()));
                return found;
            }
        };
        let header = record.header().clone();
        let algorithm = |name: &str| Some(header.get(name)?.parse::<Digest>().ok()?.algorithm());
        let wanted = WantedDigests {
            block: algorithm("WARC-Block-Digest"),
            payload: algorithm("WARC-Payload-Digest"),
        };
        let mut payload = Vec::new();
        let content = read_content_with(&header, &mut record, wanted, hasher, &mut |bytes| {
            payload.extend_from_slice(bytes);
            Ok(())
        });
        // Each digest is what its definition says.
        if let Ok(Content {
            payload: Some(digest),
            ..
        }) = &content
        {
            let (expected, _) = Digest::of(digest.algorithm(), payload.as_slice()).unwrap();
            assert_eq!(*digest, expected);
        }
        found.push(format!("{} {content:?}", payload.len()));
    }
}

/// The archive with a bit flipped, with bytes missing, and cut off.
fn damaged(archive: &[u8], at: prop::sample::Index) -> [Vec<u8>; 3] {
    let at = at.index(archive.len());
    let mut flipped = archive.to_vec();
    flipped[at] ^= 1 << (at % 8);
    let mut without = archive.to_vec();
    without.drain(at..(at + 5).min(archive.len()));
    [flipped, without, archive[..at].to_vec()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn threads_change_nothing(
        samples in prop::collection::vec(sample(), 1..4),
        is_gzip: bool,
        thread_after in 0..200_000u64,
        at: prop::sample::Index,
    ) {
        let whole = archive(&samples, is_gzip);
        let [flipped, without, cut] = damaged(&whole, at);
        for bytes in [whole, flipped, without, cut] {
            let expected = contents(&bytes, u64::MAX);
            prop_assert_eq!(contents(&bytes, thread_after), expected);
        }
    }
}

#[test]
fn a_body_without_its_chunks_has_one_digest() {
    let body = b"no chunks, whatever the head says".to_vec();
    let sample = Sample {
        kind: "response",
        head: CHUNKED,
        body: body.clone(),
        chunk: None,
        digests: (SHA1, SHA1),
    };
    let (mut header, block) = (Header::default(), sample.block());
    header.push_read("WARC-Type", "response");
    header.push_read("Content-Type", "application/http;msgtype=response");
    let wanted = WantedDigests {
        block: Some(DigestAlgorithm::Sha1),
        payload: Some(DigestAlgorithm::Sha1),
    };
    let content = read_content(&header, &mut block.as_slice(), wanted, &mut |_| Ok(())).unwrap();
    let (expected, _) = Digest::of(DigestAlgorithm::Sha1, body.as_slice()).unwrap();
    assert_eq!(content.raw, Some(expected.clone()));
    assert_eq!(content.payload, Some(expected));
    assert_ne!(content.block, content.payload);
}
