//! The limits of a text in Markdown.

use crate::size_limit::SizeLimit;

/// Largest body of an issue or a comment, in bytes; GitHub takes 65,536 characters.
pub const LARGEST_BODY: usize = 60_000;

/// Longest line by which the notifier finds an issue again, in bytes: the body has one for each incident,
/// with an id and a key of at most 64 characters.
pub(super) const LONGEST_MARKER: usize = 170;

/// The limit of a text that is small enough.
const ALL: SizeLimit = SizeLimit {
    diffs: true,
    urls: usize::MAX,
    urls_with_prefix: usize::MAX,
    blocks: usize::MAX,
    lines: usize::MAX,
    longest: 2_000,
};

/// The fullest text that is not larger than `limit`, in bytes.
pub(super) fn fitted(limit: usize, render: impl Fn(SizeLimit) -> String) -> String {
    let mut text = String::new();
    for size in ALL.and_smaller() {
        text = render(size);
        if text.len() <= limit {
            break;
        }
    }
    text
}
