//! Buckets of an object store that serve nothing, by the errors of the store.

use crate::observation::Observation;

/// The reasons for which a whole bucket serves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum BucketFault {
    Gone,
    Private,
}

impl BucketFault {
    /// The fault that the error of an object store names.
    pub(super) fn of(seen: &Observation) -> Option<Self> {
        let status = seen.last()?.status;
        let has = |code: &[u8]| seen.start.windows(code.len()).any(|part| part == code);
        match status {
            404 if has(b"<Code>NoSuchBucket</Code>") => Some(Self::Gone),
            403 if has(b"<Code>AccessDenied</Code>") => Some(Self::Private),
            _ => None,
        }
    }

    /// The sentence of an explanation.
    pub(super) fn sentence(self) -> &'static str {
        match self {
            Self::Gone => "the bucket is gone",
            Self::Private => "the bucket is no longer public",
        }
    }
}
