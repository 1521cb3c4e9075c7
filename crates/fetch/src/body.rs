//! Reads the body of the last response: counts, hashes, keeps and decodes its bytes.

use urldb_files::Spool;
use urldb_verdict::{Body, BodyEnd, Keep, PAGE};

use crate::conversion::Conversions;
use crate::decode::Decoder;
use crate::hasher::{BodyDigests, BodyHasher};

/// Bytes kept of the beginning of every HTML page, JSON and XML document.
const PREFIX: usize = 4 << 10;

/// The first bytes of an HTML page, a JSON or an XML document.
#[derive(Debug, Default)]
pub(crate) struct PagePrefix {
    bytes: Vec<u8>,
    limit: usize,
}

impl PagePrefix {
    /// A collector for a response of this content type. HTML, JSON and XML have a prefix of 4 KiB; with
    /// `is_page_wanted`, that of HTML is [`PAGE`] bytes long.
    pub(crate) fn new(content_type: Option<&[u8]>, is_page_wanted: bool) -> Self {
        let is_any_of = |types: &[&str]| {
            types.iter().any(|known| {
                let start = content_type.and_then(|value| value.trim_ascii().get(..known.len()));
                start.is_some_and(|start| start.eq_ignore_ascii_case(known.as_bytes()))
            })
        };
        let is_html = is_any_of(&["text/html", "application/xhtml+xml"]);
        let is_data = is_any_of(&["application/json", "application/xml", "text/xml"]);
        Self {
            bytes: Vec::new(),
            limit: match (is_html, is_page_wanted) {
                (true, true) => PAGE,
                (true, false) => PREFIX,
                (false, _) if is_data => PREFIX,
                (false, _) => 0,
            },
        }
    }

    /// Whether the response is a page whose HTML head the verdict reads.
    pub(crate) fn is_page(&self) -> bool {
        self.limit == PAGE
    }

    /// Whether the prefix is not complete yet.
    pub(crate) fn wants_more(&self) -> bool {
        self.bytes.len() < self.limit
    }

    /// Adds the next bytes, up to the limit.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if self.wants_more() {
            let room = self.limit - self.bytes.len();
            self.bytes
                .extend_from_slice(&bytes[..room.min(bytes.len())]);
        }
    }

    /// The first 4 KiB of any page; and the whole prefix of a wanted page, unless the body broke off
    /// before the prefix was complete.
    pub(crate) fn finish(mut self, end: BodyEnd) -> (Vec<u8>, Option<Vec<u8>>) {
        let is_usable = end != BodyEnd::Broken || !self.wants_more();
        let page = (self.is_page() && is_usable).then(|| self.bytes.clone());
        self.bytes.truncate(PREFIX);
        (self.bytes, page)
    }
}

/// Bodies up to this many bytes are kept even where large ones are not.
const SMALL: u64 = 64 << 10;

/// The limits of reading a body, and the part that is kept.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BodyLimits {
    /// Most bytes of a body that may be as promised.
    limit: u64,
    /// Most bytes of a coded body whose content may be as promised: short content may be long when
    /// coded.
    coded_limit: u64,
    /// Bytes that are read beyond those limits while the bytes are kept.
    beyond: u64,
    /// Most bytes that are kept; a longer body is not kept at all.
    kept: u64,
}

impl BodyLimits {
    /// The limits of a body with this `keep`, within `max_body` bytes. `is_changed` says that the body
    /// is kept as other content than promised: it comes with a repeated fetch, or with another status
    /// than 2xx.
    pub(crate) fn new(
        limit: u64,
        max_body: u64,
        beyond: u64,
        keep: Keep,
        is_changed: bool,
    ) -> Self {
        let limit = limit.min(max_body);
        Self {
            limit,
            coded_limit: max_body,
            beyond: beyond.min(max_body - limit),
            kept: match keep {
                Keep::Nothing => 0,
                Keep::Changes if !is_changed => SMALL,
                Keep::Changes | Keep::Everything => u64::MAX,
            },
        }
    }
}

/// Collects length, digest and bytes of a body while it arrives.
pub(crate) struct BodyReader {
    hasher: BodyHasher,
    limits: BodyLimits,
    spool: Option<Spool>,
    decoder: Option<Decoder>,
    conversions: Option<Conversions>,
    /// Most bytes of a body whose conversion is looked for; 0 if none is.
    converted_limit: u64,
}

impl BodyReader {
    /// A reader of as many bytes as a limit allows and one more, which tells a body that is too long.
    pub(crate) fn new(limits: BodyLimits, hasher: BodyHasher, decoder: Option<Decoder>) -> Self {
        Self {
            hasher,
            limits,
            spool: (limits.kept > 0).then(Spool::new),
            decoder,
            conversions: None,
            converted_limit: 0,
        }
    }

    /// The same reader, which finds out whether a body without a coding has one of these forms.
    pub(crate) fn with_conversions(self, conversions: Option<Conversions>) -> Self {
        let conversions = conversions.filter(|_| self.decoder.is_none());
        let longest = conversions.as_ref().map_or(0, Conversions::longest);
        Self {
            conversions,
            // Also where no form is possible any more: how much is read depends on no piece.
            converted_limit: longest.min(self.limits.coded_limit),
            ..self
        }
    }

    /// The number of bytes so far.
    pub(crate) fn length(&self) -> u64 {
        self.hasher.length()
    }

    /// Whether the body is decoded or converted too: a push may then take much longer than its length suggests.
    pub(crate) fn is_slow(&self) -> bool {
        self.decoder.is_some() || self.conversions.is_some()
    }

    /// Whether the body is longer than a body as promised can be.
    pub(crate) fn is_too_long(&self) -> bool {
        self.length() > self.promised_limit()
    }

    /// Whether no more bytes are wanted.
    pub(crate) fn is_full(&self) -> bool {
        self.length() > self.limit()
    }

    /// The most bytes of a body that may still be as promised.
    fn promised_limit(&self) -> u64 {
        match &self.decoder {
            Some(decoder) if !decoder.is_settled() => self.limits.coded_limit,
            _ => self.limits.limit,
        }
    }

    /// The most bytes that are wanted now.
    fn limit(&self) -> u64 {
        let limit = self.promised_limit();
        match self.spool {
            Some(_) => limit.max(self.limits.limit.saturating_add(self.limits.beyond)),
            None => limit.max(self.converted_limit),
        }
    }

    /// The bytes that are wanted now, up to one byte beyond the limit.
    fn within_limit<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        let room = self.limit().saturating_add(1).saturating_sub(self.length());
        let taken = usize::try_from(room).map_or(bytes.len(), |room| room.min(bytes.len()));
        &bytes[..taken]
    }

    /// Adds the next bytes, up to one byte beyond the limit.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let mut bytes = self.within_limit(bytes);
        if let Some(decoder) = &mut self.decoder {
            decoder.push(bytes);
            // The limit is smaller once the coding cannot hide what is promised.
            bytes = self.within_limit(bytes);
        }
        self.hasher.update(bytes);
        self.conversions = self.conversions.take().and_then(|mut forms| {
            forms.push(bytes);
            forms.are_open().then_some(forms)
        });
        let length = self.length();
        // On a full disk the body is dropped; length and digest still give a verdict.
        self.spool = self
            .spool
            .take()
            .filter(|_| length <= self.limits.kept)
            .and_then(|mut spool| spool.push(bytes).ok().map(|()| spool));
    }

    pub(crate) fn finish(self, end: BodyEnd) -> Body {
        let BodyDigests {
            length,
            sha256,
            compared,
            further,
        } = self.hasher.finish();
        let (decoded, content) = self.decoder.map(Decoder::finish).unzip();
        let conversions = self.conversions.filter(|_| end == BodyEnd::Complete);
        Body {
            length,
            sha256,
            compared: content
                .as_ref()
                .map_or(compared, |content| content.compared),
            end,
            cut: None,
            decoded,
            digests: further,
            conversion: conversions.and_then(Conversions::finish),
            decoded_digests: content.map(|content| content.further).unwrap_or_default(),
            bytes: self.spool,
        }
    }
}
