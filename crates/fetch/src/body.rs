//! Takes in the body of the last response: counts, hashes, keeps and decodes.

use sha2::{Digest, Sha256};

use super::decode::Decoder;
use urldb_files::Spool;
use urldb_verdict::{Body, BodyEnd, PAGE};

/// How much of any HTML page is remembered.
const START: usize = 4 << 10;

/// What a page begins with.
#[derive(Debug, Default)]
pub(super) struct Start {
    bytes: Vec<u8>,
    at_most: usize,
}

impl Start {
    /// The beginning of a response of this content type. Only of HTML anything is remembered.
    pub(super) fn of(content_type: Option<&[u8]>, is_page_wanted: bool) -> Self {
        let is_html = ["text/html", "application/xhtml+xml"].iter().any(|html| {
            let start = content_type.and_then(|value| value.trim_ascii().get(..html.len()));
            start.is_some_and(|start| start.eq_ignore_ascii_case(html.as_bytes()))
        });
        Self {
            bytes: Vec::new(),
            at_most: match (is_html, is_page_wanted) {
                (true, true) => PAGE,
                (true, false) => START,
                (false, _) => 0,
            },
        }
    }

    /// Whether this is a page whose head is to be read.
    pub(super) fn is_page(&self) -> bool {
        self.at_most == PAGE
    }

    /// Whether there could be more that is worth having.
    pub(super) fn wants_more(&self) -> bool {
        self.bytes.len() < self.at_most
    }

    /// Takes in as much as is wanted.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        if self.wants_more() {
            let room = self.at_most - self.bytes.len();
            self.bytes
                .extend_from_slice(&bytes[..room.min(bytes.len())]);
        }
    }

    /// The first bytes of any page, and as much as there is of one that is wanted, unless it
    /// broke off.
    pub(super) fn finish(mut self, end: BodyEnd) -> (Vec<u8>, Option<Vec<u8>>) {
        let is_there = end != BodyEnd::Broken || !self.wants_more();
        let page = (self.is_page() && is_there).then(|| self.bytes.clone());
        self.bytes.truncate(START);
        (self.bytes, page)
    }
}

/// A body on its way in.
#[derive(Debug)]
pub(super) struct BodyReader {
    hasher: Sha256,
    length: u64,
    at_most: u64,
    spool: Option<Spool>,
    decoder: Option<Decoder>,
}

impl BodyReader {
    /// Takes in one byte more than `at_most`, so that too long can be told from just right.
    pub(super) fn new(at_most: u64, keep: bool, decoder: Option<Decoder>) -> Self {
        Self {
            hasher: Sha256::new(),
            length: 0,
            at_most,
            spool: keep.then(Spool::new),
            decoder,
        }
    }

    /// Bytes so far.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Whether a push may take much longer than its bytes suggest.
    pub(super) fn decodes(&self) -> bool {
        self.decoder.is_some()
    }

    /// Whether nothing more is wanted.
    pub(super) fn is_full(&self) -> bool {
        self.length > self.at_most
    }

    /// Takes in as much as is wanted.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let room = self.at_most.saturating_add(1) - self.length;
        let taken = usize::try_from(room).map_or(bytes.len(), |room| room.min(bytes.len()));
        let bytes = &bytes[..taken];
        self.length += taken as u64;
        self.hasher.update(bytes);
        if let Some(decoder) = &mut self.decoder {
            decoder.push(bytes);
        }
        // A full disk must not cost the verdict: the body is then not kept.
        self.spool = self
            .spool
            .take()
            .and_then(|mut spool| spool.push(bytes).ok().map(|()| spool));
    }

    /// The body as an observation has it.
    pub(super) fn finish(self, end: BodyEnd) -> Body {
        Body {
            length: self.length,
            sha256: self.hasher.finalize().into(),
            end,
            decoded: self.decoder.and_then(Decoder::finish),
            bytes: self.spool,
        }
    }
}
