//! The digest of long input, on a thread of its own.
//!
//! The thread that reads a long record decompresses the record and removes its chunks; each digest of the
//! record has a thread beside that. Short input pays nothing: its digest has no thread.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::LazyLock;
use std::thread::{self, JoinHandle};

use crossbeam_channel::{Receiver, Sender, bounded};

use super::{Digest, DigestAlgorithm, DigestHasher};

/// The length of a buffer, in bytes: the fastest of three (docs/performance.md#threads-for-digests).
const BUFFER: usize = 512 * 1024;

/// The number of buffers of a digest, which bounds its memory: one is being filled, one is being hashed,
/// the others wait.
const BUFFERS: usize = 4;

/// The number of bytes after which a digest gets a thread. While records are shorter, the threads that read
/// a file have records of their own. A thread does not help on a single processor.
static THREAD_AFTER: LazyLock<u64> = LazyLock::new(|| {
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    if processors > 1 {
        4 * 1024 * 1024
    } else {
        u64::MAX
    }
});

/// Computes a digest. After a number of bytes, a thread of its own computes the rest.
pub(crate) struct BackgroundHasher {
    state: State,
    /// The number of bytes until the thread starts.
    left: u64,
}

enum State {
    Here(DigestHasher),
    OnThread(HasherThread),
}

impl BackgroundHasher {
    pub(crate) fn new(algorithm: DigestAlgorithm) -> Self {
        Self::with_thread_after(algorithm, *THREAD_AFTER)
    }

    /// Begins a digest whose thread starts after this number of bytes.
    pub(crate) fn with_thread_after(algorithm: DigestAlgorithm, bytes: u64) -> Self {
        Self {
            state: State::Here(DigestHasher::new(algorithm)),
            left: bytes,
        }
    }

    /// Adds bytes. Waits while all buffers are full.
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        match &mut self.state {
            State::OnThread(thread) => thread.update(bytes),
            State::Here(hasher) => {
                hasher.update(bytes);
                self.left = self.left.saturating_sub(bytes.len() as u64);
                if self.left == 0 {
                    self.start_thread();
                }
            }
        }
    }

    fn start_thread(&mut self) {
        if let State::Here(hasher) = &self.state {
            match HasherThread::start(hasher.clone()) {
                Some(thread) => self.state = State::OnThread(thread),
                // Without a thread, the digest continues here.
                None => self.left = u64::MAX,
            }
        }
    }

    /// The digest of all added bytes.
    pub(crate) fn finish(self) -> Digest {
        let hasher = match self.state {
            State::Here(hasher) => hasher,
            State::OnThread(thread) => thread.join(),
        };
        hasher.finish()
    }
}

/// A thread that hashes buffers. The thread ends once the sender `full` is dropped.
struct HasherThread {
    filling: Vec<u8>,
    full: Sender<Vec<u8>>,
    empty: Receiver<Vec<u8>>,
    thread: JoinHandle<DigestHasher>,
}

impl HasherThread {
    /// Starts a thread that continues a digest; `None` if the system has no thread left.
    fn start(mut hasher: DigestHasher) -> Option<Self> {
        let (full, to_hash) = bounded::<Vec<u8>>(BUFFERS);
        let (to_fill, empty) = bounded(BUFFERS);
        for _ in 1..BUFFERS {
            to_fill.send(Vec::with_capacity(BUFFER)).ok()?;
        }
        let hash = move || {
            for mut buffer in to_hash {
                hasher.update(&buffer);
                buffer.clear();
                // The receiver is gone once the digest is given up.
                let _ = to_fill.send(buffer);
            }
            hasher
        };
        Some(Self {
            filling: Vec::with_capacity(BUFFER),
            full,
            empty,
            thread: thread::Builder::new().spawn(hash).ok()?,
        })
    }

    fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let room = BUFFER - self.filling.len();
            let (part, rest) = bytes.split_at(bytes.len().min(room));
            self.filling.extend_from_slice(part);
            bytes = rest;
            if self.filling.len() == BUFFER {
                self.send();
            }
        }
    }

    /// Both channels work as long as the thread does, and `join` passes its panic on.
    fn send(&mut self) {
        let empty = self.empty.recv().unwrap_or_default();
        let _ = self.full.send(std::mem::replace(&mut self.filling, empty));
    }

    /// Ends the thread and returns the hasher with all added bytes.
    fn join(self) -> DigestHasher {
        drop(self.full);
        let mut hasher = self
            .thread
            .join()
            .unwrap_or_else(|panic| resume_unwind(panic));
        hasher.update(&self.filling);
        hasher
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]
        #[test]
        fn a_thread_does_not_change_the_digest(
            lengths in prop::collection::vec(0..2 * BUFFER, 0..6),
            thread_after in 0..4 * BUFFER as u64,
            is_sha1: bool,
        ) {
            let algorithm = if is_sha1 { DigestAlgorithm::Sha1 } else { DigestAlgorithm::Sha256 };
            let bytes: Vec<u8> = (0..=255).cycle().take(lengths.iter().sum()).collect();
            let mut hasher = BackgroundHasher::with_thread_after(algorithm, thread_after);
            let mut rest = &bytes[..];
            for length in lengths {
                let (part, more) = rest.split_at(length);
                hasher.update(part);
                rest = more;
            }
            let mut expected = DigestHasher::new(algorithm);
            expected.update(&bytes);
            prop_assert_eq!(hasher.finish(), expected.finish());
        }
    }

    #[test]
    fn the_thread_starts_after_the_bytes_and_ends_with_the_hasher() {
        let mut hasher = BackgroundHasher::with_thread_after(DigestAlgorithm::Sha256, 10);
        hasher.update(&[0; 9]);
        assert!(matches!(hasher.state, State::Here(_)));
        hasher.update(&[0; 1]);
        hasher.update(&vec![0; 2 * BUFFER]);
        let State::OnThread(HasherThread { full, thread, .. }) = hasher.state else {
            panic!("no thread");
        };
        drop(full);
        thread.join().expect("ended");
    }
}
