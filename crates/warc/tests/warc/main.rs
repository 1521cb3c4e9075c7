//! Tests of the public interface.
#![allow(clippy::disallowed_methods, clippy::too_many_lines)]

/// Captures that are cut, and the requests that they answer.
mod captures;
/// A small archive to test with.
mod common;
/// From one version to another.
mod converting;
/// Damage: what is noticed, and what is found after it.
mod damage;
/// An index out of order.
/// Beside the lines of another program.
mod expected;
/// Archive files on disk, and what a dead process left.
mod files;
mod foreign;
/// The versions of the format, plain and compressed in every way.
mod formats;
/// Stored heads and bodies.
mod http_read;
/// Index lines and merging them.
mod index;
/// Files that are joined into one.
mod join;
/// Finding lines in an index.
mod lookup;
/// Damaged archives are made whole.
mod repair;
/// What is written is read back; what is damaged is noticed.
mod round_trip;
/// What other programs wrote.
mod samples;
/// Records in several segments are verified as a whole.
mod segments;
/// The verifier.
mod verify;
/// The verifier's view of an index.
mod verify_index;
/// Digests, dates, ids, HTTP heads and drafts.
mod vocabulary;
/// The examples of the WARC 0.9 draft.
mod warc09;
/// Versions, skip lengths, segments, series.
mod writing;
/// Compressed blocks and segments of an index.
mod zipnum;
/// Files of zstd frames, with and without a dictionary.
mod zstd;
