//! The body of a response, as far as it was read: lengths and digests.

use serde::{Deserialize, Serialize};
use urldb_files::Spool;
use urldb_format::Digest;

use crate::conversion::Conversion;
use crate::encoding;
use crate::failure::Failure;

/// The body of the last response.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Body {
    /// Number of bytes read, as sent.
    pub length: u64,
    /// SHA-256 of those bytes.
    #[serde(with = "encoding::hex")]
    pub sha256: [u8; 32],
    /// SHA-256 of the first promised-length + 1 bytes, after decoding; absent unless the body has more bytes.
    /// See [`Body::compared_sha256`].
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "encoding::optional_hex"
    )]
    pub compared: Option<[u8; 32]>,
    /// The end of the body.
    pub end: BodyEnd,
    /// The failure that ended the reading of a [cut](BodyEnd::Cut) body, if there was one: a body
    /// that is too long differs in any case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<Failure>,
    /// The body after undoing an unrequested content coding; absent without a coding that urldb
    /// knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decoded: Option<Decoded>,
    /// The conversion of the promised content; absent if none is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversion: Option<Conversion>,
    /// Digests of the bytes as sent, of the algorithms that the promise has beside SHA-256.
    #[serde(
        default,
        skip_serializing_if = "<[Digest]>::is_empty",
        with = "encoding::digests"
    )]
    pub digests: Box<[Digest]>,
    /// The same of the decoded bytes; of those before the damage, if the coding is damaged.
    #[serde(
        default,
        skip_serializing_if = "<[Digest]>::is_empty",
        with = "encoding::digests"
    )]
    pub decoded_digests: Box<[Digest]>,
    /// The bytes, if the job keeps them and the disk had room.
    #[serde(skip)]
    pub bytes: Option<Spool>,
}

/// The end of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BodyEnd {
    /// The body ended where its framing said.
    Complete,
    /// The body is longer than [`BodyUse::Hash`](crate::BodyUse::Hash) allows, and reading stopped
    /// before its end.
    Cut,
    /// The body ended before its framing said.
    Broken,
}

/// A body with its content coding undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decoded {
    /// The coding was undone to the end.
    Whole {
        /// Bytes.
        length: u64,
        /// Their SHA-256.
        #[serde(with = "encoding::hex")]
        sha256: [u8; 32],
    },
    /// The coding could not be undone to the end.
    Damaged {
        /// Bytes before the damage.
        length: u64,
        /// Their SHA-256.
        #[serde(with = "encoding::hex")]
        sha256: [u8; 32],
        /// The kind of damage.
        damage: Damage,
    },
    /// Decoding stopped after this many bytes.
    LongerThan(u64),
}

/// Why a content coding cannot be undone to the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Damage {
    /// The coded body ends too early.
    Incomplete,
    /// The body does not have the coding that its response names, its checksum is wrong, or other
    /// bytes follow it.
    Invalid,
}

/// Length and SHA-256 of the bytes that a response serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ServedBytes {
    /// Bytes.
    pub length: u64,
    /// Their SHA-256.
    pub sha256: [u8; 32],
}

/// Length and all digests of the bytes that a response serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServedDigests<'a> {
    /// Bytes.
    pub length: u64,
    /// Their SHA-256.
    pub sha256: [u8; 32],
    /// Their digests of the algorithms that the promise has beside SHA-256.
    pub further: &'a [Digest],
}

impl Body {
    /// The bytes that the response serves: decoded, if it has a content coding. `None` if the body is
    /// incomplete or cannot be decoded.
    pub fn served(&self) -> Option<ServedBytes> {
        match (self.end, self.decoded) {
            (BodyEnd::Complete, None) => Some(self.as_sent()),
            (BodyEnd::Complete, Some(Decoded::Whole { length, sha256 })) => {
                Some(ServedBytes { length, sha256 })
            }
            _ => None,
        }
    }

    /// The digest by which two wrong bodies are compared: that of the first promised-length + 1 bytes, after
    /// decoding. Whether more bytes were read does not matter, as only some fetches read on.
    pub fn compared_sha256(&self) -> [u8; 32] {
        self.compared.unwrap_or(match self.decoded {
            Some(Decoded::Whole { sha256, .. } | Decoded::Damaged { sha256, .. }) => sha256,
            Some(Decoded::LongerThan(_)) | None => self.sha256,
        })
    }

    /// The bytes as sent, with all their digests.
    pub(crate) fn digests_as_sent(&self) -> ServedDigests<'_> {
        ServedDigests {
            length: self.length,
            sha256: self.sha256,
            further: &self.digests,
        }
    }

    /// The decoded bytes, as far as they could be decoded, with all their digests.
    pub(crate) fn digests_decoded(&self) -> Option<ServedDigests<'_>> {
        match self.decoded? {
            Decoded::Whole { length, sha256 } | Decoded::Damaged { length, sha256, .. } => {
                Some(ServedDigests {
                    length,
                    sha256,
                    further: &self.decoded_digests,
                })
            }
            Decoded::LongerThan(_) => None,
        }
    }

    /// The bytes as sent.
    pub fn as_sent(&self) -> ServedBytes {
        ServedBytes {
            length: self.length,
            sha256: self.sha256,
        }
    }
}
