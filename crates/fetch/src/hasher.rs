//! The digest of a body.

use ring::digest::{Context, SHA256};

/// Computes the SHA-256 of a body.
pub(crate) struct BodyHasher(Context);

impl BodyHasher {
    pub(crate) fn new() -> Self {
        Self(Context::new(&SHA256))
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(crate) fn finish(self) -> [u8; 32] {
        let digest = self.0.finish();
        digest.as_ref().try_into().expect("32 bytes")
    }
}
