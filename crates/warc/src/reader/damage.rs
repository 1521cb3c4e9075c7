//! Damage in a file: where it is, and how often bytes are read again to get past it.

/// Bytes that may be read twice without regard to the length of the file.
const REREAD_ALLOWANCE: u64 = 64 * 1024 * 1024;

/// A part of a file without any readable record, which the reader skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SkippedRange {
    /// The offset of the first skipped byte.
    pub offset: u64,
    /// The number of skipped bytes.
    pub length: u64,
}

/// The damaged record to skip, if any, and the number of bytes that were read twice.
#[derive(Default)]
pub(super) struct Damage {
    /// The offset of the damaged record.
    at: Option<u64>,
    reread: u64,
}

impl Damage {
    pub(super) fn set(&mut self, at: u64) {
        self.at = Some(at);
    }

    pub(super) fn clear(&mut self) {
        self.at = None;
    }

    pub(super) fn take(&mut self) -> Option<u64> {
        self.at.take()
    }

    /// The offset to search from after damage at `at`, where reading has reached `reached`: right after
    /// the first damaged byte, or `reached` once too many bytes were read twice.
    pub(super) fn search_start(&mut self, at: u64, reached: u64) -> u64 {
        let reread = self.reread.saturating_add(reached.saturating_sub(at));
        if reread > reached.saturating_add(REREAD_ALLOWANCE) {
            return reached.max(at + 1);
        }
        self.reread = reread;
        at + 1
    }
}
