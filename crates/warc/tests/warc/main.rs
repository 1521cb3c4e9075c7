//! Tests of the public interface.

/// A small archive to test with.
mod common;
/// Archive files on disk, and what a dead process left.
mod files;
/// Index lines and merging them.
mod index;
/// What is written is read back; what is damaged is noticed.
mod round_trip;
/// Digests, dates, ids, HTTP heads and drafts.
mod vocabulary;
