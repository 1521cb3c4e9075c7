//! The room for a text in Markdown.

use crate::room::Room;

/// Largest body of an issue or a comment, in bytes; GitHub takes 65,536 characters.
pub const LARGEST_BODY: usize = 60_000;

/// Longest line by which the notifier finds an issue again, in bytes: the body has one for each incident,
/// with an id and a key of at most 64 characters.
pub(super) const LONGEST_MARKER: usize = 170;

/// Rooms for a text that stays below its limit. Each leaves out more than the one before: first differences, then
/// URLs, then the evidence of all blocks but the first.
const ROOMS: [Room; 10] = {
    const ALL: Room = Room {
        diffs: true,
        urls: usize::MAX,
        urls_with_prefix: usize::MAX,
        hosts: usize::MAX,
        blocks: usize::MAX,
        lines: usize::MAX,
        longest: 2_000,
    };
    const NO_DIFFS: Room = Room {
        diffs: false,
        ..ALL
    };
    const NO_URLS: Room = Room {
        urls: 0,
        ..NO_DIFFS
    };
    const FULL: Room = Room {
        blocks: 20,
        lines: 1_000,
        hosts: 1_000,
        ..NO_URLS
    };
    const FEW: Room = Room {
        blocks: 5,
        lines: 50,
        hosts: 100,
        longest: 500,
        ..NO_URLS
    };
    const FEWEST: Room = Room {
        blocks: 1,
        lines: 20,
        hosts: 10,
        longest: 200,
        ..FEW
    };
    [
        ALL,
        NO_DIFFS,
        Room {
            urls: 100,
            ..NO_DIFFS
        },
        Room {
            urls: 10,
            ..NO_DIFFS
        },
        NO_URLS,
        FULL,
        FEW,
        FEWEST,
        Room {
            blocks: 0,
            ..FEWEST
        },
        Room {
            blocks: 0,
            lines: 0,
            ..FEWEST
        },
    ]
};

/// The fullest text that is not larger than `limit`, in bytes.
pub(super) fn fitted(limit: usize, render: impl Fn(Room) -> String) -> String {
    let mut text = String::new();
    for room in ROOMS {
        text = render(room);
        if text.len() <= limit {
            break;
        }
    }
    text
}
