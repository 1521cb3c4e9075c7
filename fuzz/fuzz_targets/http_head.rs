//! Any bytes have an HTTP head or none, and a body that is no longer than they are, however the input
//! is cut into pieces.
#![no_main]

use std::io::{BufReader, Read};

use libfuzzer_sys::fuzz_target;
use urldb_warc::http::{BodyFraming, StoredBody, StoredHead, StoredRequest};

fuzz_target!(|bytes: &[u8]| {
    let mut rest = bytes;
    let head = StoredHead::read(&mut rest).expect("in memory");
    let _ = StoredRequest::read(&mut &*bytes).expect("in memory");
    let chunked = head.is_none_or(|head| head.is_chunked());
    let whole = body(rest, chunked, 4096);
    assert!(whole.0.len() <= rest.len());
    assert_eq!(body(rest, chunked, 1 + rest.len() % 7), whole);
});

fn body(bytes: &[u8], chunked: bool, piece: usize) -> (Vec<u8>, Option<BodyFraming>) {
    let mut body = StoredBody::new(BufReader::with_capacity(piece, bytes), chunked);
    let mut content = Vec::new();
    body.read_to_end(&mut content).expect("in memory");
    (content, body.framing())
}
