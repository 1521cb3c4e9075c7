//! The bytes that are sought, by their digests.

use std::io::{self, Read};

use urldb_format::{Algorithm, Digest, Record};
use urldb_protocol::Promised;
use urldb_verdict::Promise;

use crate::archive::HashingWriter;

/// Bytes that are known by at least one digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// The digests, the weakest first.
    digests: Vec<Digest>,
    /// Number of bytes, if it is known.
    length: Option<u64>,
}

impl Content {
    /// The bytes with this digest.
    pub fn with(digest: Digest) -> Self {
        Self {
            digests: vec![digest],
            length: None,
        }
    }

    fn new(digests: impl Iterator<Item = Digest>, length: Option<u64>) -> Option<Self> {
        let mut digests: Vec<Digest> = digests.collect();
        digests.sort_unstable();
        (!digests.is_empty()).then_some(Self { digests, length })
    }

    /// The bytes that a record promises; `None` if it promises no digest.
    pub fn of(record: &Record) -> Option<Self> {
        Self::new(record.digests(), record.content_length)
    }

    /// The bytes of a promise in the evidence of an incident; `None` without a digest.
    pub fn stated(promised: &Promised) -> Option<Self> {
        let further = promised
            .digests
            .iter()
            .map(|(name, hex)| (Algorithm::from_name(name), hex));
        let digests = promised
            .sha256
            .iter()
            .map(|hex| (Some(Algorithm::Sha256), hex))
            .chain(further)
            .filter_map(|(algorithm, hex)| Digest::from_hex(algorithm?, hex));
        Self::new(digests, promised.length)
    }

    /// The bytes that a promise is about; `None` without a digest.
    pub fn promised(promise: &Promise) -> Option<Self> {
        Self::new(promise.all_digests(), promise.length)
    }

    /// The digests, the weakest first.
    pub fn digests(&self) -> &[Digest] {
        &self.digests
    }

    /// Number of bytes, if it is known.
    pub fn length(&self) -> Option<u64> {
        self.length
    }

    /// The strongest digest.
    pub fn strongest(&self) -> Option<&Digest> {
        self.digests.last()
    }

    /// The digest of an algorithm, if it is known.
    pub fn digest(&self, algorithm: Algorithm) -> Option<&Digest> {
        self.digests
            .iter()
            .find(|digest| digest.algorithm() == algorithm)
    }

    /// Adds a digest of the same bytes.
    pub(super) fn add(&mut self, digest: Digest) {
        if self.digest(digest.algorithm()).is_none() {
            self.digests.push(digest);
            self.digests.sort_unstable();
        }
    }

    /// Whether both can be the same bytes: they have a digest in common, and nothing of them differs.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let is_other_length = |length: u64| self.length.is_some_and(|own| own != length);
        let mut in_common = false;
        for digest in &other.digests {
            match self.digest(digest.algorithm()) {
                Some(own) if own != digest => return false,
                Some(_) => in_common = true,
                None => {}
            }
        }
        in_common && !other.length.is_some_and(is_other_length)
    }

    /// The SHA-256, if it is known.
    pub fn sha256(&self) -> Option<[u8; 32]> {
        let digest = self.digest(Algorithm::Sha256)?;
        data_encoding::HEXLOWER
            .decode(digest.hex().as_bytes())
            .ok()?
            .try_into()
            .ok()
    }

    /// The promise that exactly these bytes keep.
    pub fn promise(&self) -> Promise {
        let others = self
            .digests
            .iter()
            .filter(|digest| digest.algorithm() != Algorithm::Sha256);
        Promise {
            length: self.length,
            sha256: self.sha256(),
            digests: others.cloned().collect(),
            ..Promise::default()
        }
    }

    /// Whether a reader has exactly these bytes.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn is_read_from(&self, mut input: impl Read) -> io::Result<bool> {
        let mut output = HashingWriter::new(io::sink());
        output.compare_with(&self.digests);
        let length = io::copy(&mut input, &mut output)?;
        Ok(output.has(&self.digests) && self.length.is_none_or(|known| known == length))
    }
}
