//! Computes length and digests of a body in one pass.

use md5::Md5;
use ring::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY, SHA256, SHA384, SHA512};
use urldb_format::{Algorithm, Digest};
use urldb_verdict::Promise;

/// Length and digests of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BodyDigests {
    /// Bytes.
    pub(crate) length: u64,
    /// Their SHA-256.
    pub(crate) sha256: [u8; 32],
    /// SHA-256 of the first promised-length + 1 bytes; absent unless there are more.
    pub(crate) compared: Option<[u8; 32]>,
    /// Their digests of the algorithms that were asked for beside SHA-256.
    pub(crate) further: Box<[Digest]>,
}

/// Computes the SHA-256 of a body, that of its beginning, and the digests of further algorithms.
pub(crate) struct BodyHasher {
    context: Context,
    length: u64,
    /// Number of bytes by which wrong bodies are compared.
    compared_length: u64,
    compared: Option<[u8; 32]>,
    further: Vec<DigestHasher>,
}

impl BodyHasher {
    /// A hasher of a body of which this is promised.
    pub(crate) fn of(promise: &Promise) -> Self {
        let algorithms = promise.digests.iter().map(Digest::algorithm);
        Self {
            further: algorithms.map(DigestHasher::new).collect(),
            ..Self::new(promise.length)
        }
    }

    /// A hasher of a body of which so many bytes are promised, and no digest but a SHA-256.
    pub(crate) fn new(promised: Option<u64>) -> Self {
        Self {
            context: Context::new(&SHA256),
            length: 0,
            compared_length: promised.map_or(u64::MAX, |promised| promised.saturating_add(1)),
            compared: None,
            further: Vec::new(),
        }
    }

    /// Number of bytes so far.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        let room = self.compared_length.saturating_sub(self.length);
        let split = usize::try_from(room).map_or(bytes.len(), |room| room.min(bytes.len()));
        let (start, rest) = bytes.split_at(split);
        self.context.update(start);
        if !rest.is_empty() {
            // The digest of the beginning costs no second pass over the bytes.
            self.compared
                .get_or_insert_with(|| digest(self.context.clone()));
            self.context.update(rest);
        }
        for hasher in &mut self.further {
            hasher.update(bytes);
        }
        self.length += bytes.len() as u64;
    }

    pub(crate) fn finish(self) -> BodyDigests {
        let further = self.further.into_iter();
        BodyDigests {
            length: self.length,
            sha256: digest(self.context),
            compared: self.compared,
            further: further.filter_map(DigestHasher::finish).collect(),
        }
    }
}

fn digest(context: Context) -> [u8; 32] {
    context.finish().as_ref().try_into().expect("32 bytes")
}

/// Computes the digest of one algorithm.
pub struct DigestHasher(HasherState);

enum HasherState {
    Md5(Md5),
    /// An algorithm of the SHA family.
    Sha(Algorithm, Context),
}

impl DigestHasher {
    /// A hasher without bytes.
    pub fn new(algorithm: Algorithm) -> Self {
        let sha = |context| HasherState::Sha(algorithm, Context::new(context));
        Self(match algorithm {
            Algorithm::Md5 => HasherState::Md5(Md5::default()),
            Algorithm::Sha1 => sha(&SHA1_FOR_LEGACY_USE_ONLY),
            Algorithm::Sha256 => sha(&SHA256),
            Algorithm::Sha384 => sha(&SHA384),
            Algorithm::Sha512 => sha(&SHA512),
        })
    }

    /// Adds bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        match &mut self.0 {
            HasherState::Md5(hasher) => md5::Digest::update(hasher, bytes),
            HasherState::Sha(_, context) => context.update(bytes),
        }
    }

    /// The digest of all bytes; never `None`, since each algorithm has digests of its length.
    pub fn finish(self) -> Option<Digest> {
        match self.0 {
            HasherState::Md5(hasher) => Digest::new(Algorithm::Md5, &md5::Digest::finalize(hasher)),
            HasherState::Sha(algorithm, context) => {
                Digest::new(algorithm, context.finish().as_ref())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sha2::{Digest as _, Sha256};

    use super::*;

    proptest! {
        #[test]
        fn the_beginning_of_a_body_has_its_digest_in_any_pieces(
            bytes: Vec<u8>,
            promised in prop::option::of(0u64..120),
            pieces in prop::collection::vec(1usize..50, 1..20),
        ) {
            let further = [
                Digest::new(Algorithm::Md5, &md5::Md5::digest(&bytes)),
                Digest::new(Algorithm::Sha384, &sha2::Sha384::digest(&bytes)),
                Digest::new(Algorithm::Sha512, &sha2::Sha512::digest(&bytes)),
            ];
            let further: Vec<Digest> = further.into_iter().flatten().collect();
            let mut hasher = BodyHasher::of(&Promise {
                length: promised,
                digests: further.clone().into(),
                ..Promise::default()
            });
            let mut rest = &bytes[..];
            for length in pieces.iter().cycle() {
                let (piece, after) = rest.split_at((*length).min(rest.len()));
                hasher.update(piece);
                rest = after;
                if rest.is_empty() {
                    break;
                }
            }
            let compared = promised.and_then(|promised| {
                let length = usize::try_from(promised).unwrap() + 1;
                (bytes.len() > length).then(|| Sha256::digest(&bytes[..length]).into())
            });
            let expected = BodyDigests {
                length: bytes.len() as u64,
                sha256: Sha256::digest(&bytes).into(),
                compared,
                further: further.into(),
            };
            prop_assert_eq!(hasher.finish(), expected);
        }
    }

    #[test]
    fn each_algorithm_has_the_digest_of_its_standard() {
        // FIPS 180-4 and RFC 1321 give the digests of `abc`; the ends of the long ones are enough.
        for (algorithm, start) in [
            (Algorithm::Md5, "900150983cd24fb0d6963f7d28e17f72"),
            (Algorithm::Sha1, "a9993e364706816aba3e25717850c26c9cd0d89d"),
            (Algorithm::Sha256, "ba7816bf8f01cfea414140de5dae2223"),
            (Algorithm::Sha384, "cb00753f45a35e8bb5a03d699ac65007"),
            (Algorithm::Sha512, "ddaf35a193617abacc417349ae204131"),
        ] {
            let mut hasher = DigestHasher::new(algorithm);
            hasher.update(b"a");
            hasher.update(b"bc");
            let digest = hasher.finish().unwrap();
            assert_eq!(digest.algorithm(), algorithm);
            assert!(digest.hex().starts_with(start), "{digest}");
        }
    }
}
