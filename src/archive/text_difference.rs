//! The lines in which two texts differ, for the evidence of an incident.

use std::time::Duration;

use similar::{ChangeTag, DiffOp, DiffTag, TextDiff};
use urldb_protocol::TextDifference;
use urldb_text::Shown;

/// Most lines of a difference in the evidence, unchanged lines around a change, and characters of a
/// line.
const MOST_LINES: usize = 20;
const CONTEXT: usize = 1;
const LONGEST_LINE: usize = 200;

/// After this time the differences of evidence need not be the smallest.
const PATIENCE: Duration = Duration::from_secs(1);

/// The lines that differ, at most [`MOST_LINES`] of them, and their number.
pub(super) fn text_difference(old: &str, new: &str) -> TextDifference {
    let diff = TextDiff::configure().timeout(PATIENCE).diff_lines(old, new);
    let (mut added, mut removed) = (0, 0);
    for change in diff.iter_all_changes() {
        match change.tag() {
            ChangeTag::Insert => added += 1,
            ChangeTag::Delete => removed += 1,
            ChangeTag::Equal => {}
        }
    }
    let lines_before = old.lines().count() as u64;
    let is_whole_line = old.is_empty() || old.ends_with('\n');
    let is_appended = is_whole_line && new.starts_with(old);
    let context = if is_appended { 0 } else { CONTEXT };
    let groups = diff.grouped_ops(context);
    // Of lines in place of others, both are shown.
    let most_of = |op: &DiffOp| match op.tag() {
        DiffTag::Replace => MOST_LINES / 2,
        _ => MOST_LINES,
    };
    let lines = groups
        .iter()
        .flatten()
        .flat_map(|op| {
            let (mut old, mut new) = (0, 0);
            diff.iter_changes(op).filter(move |change| {
                let count = match change.tag() {
                    ChangeTag::Insert => &mut new,
                    _ => &mut old,
                };
                *count += 1;
                *count <= most_of(op)
            })
        })
        .take(MOST_LINES)
        .map(|change| {
            let mark = match change.tag() {
                ChangeTag::Insert => '+',
                ChangeTag::Delete => '-',
                ChangeTag::Equal => ' ',
            };
            shown(mark, change.value())
        });
    TextDifference {
        added,
        removed,
        appended_after: is_appended.then_some(lines_before),
        lines: lines.collect(),
    }
}

/// A line of a server, cut where it is long.
fn shown(mark: char, line: &str) -> Shown {
    let line = Shown::new(line.trim_end_matches(['\n', '\r']), LONGEST_LINE + 1);
    match line.char_indices().nth(LONGEST_LINE) {
        Some((end, _)) => Shown::new(&format!("{mark}{}…", &line[..end]), LONGEST_LINE + 2),
        None => Shown::new(&format!("{mark}{line}"), LONGEST_LINE + 2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn appended_lines_are_told_apart_from_others() {
        let appended = text_difference("a\nb\n", "a\nb\nc\nd\n");
        assert_eq!(appended.appended_after, Some(2));
        assert_eq!(appended.lines, ["+c", "+d"]);
        assert_eq!((appended.added, appended.removed), (2, 0));
        let changed = text_difference("a\nb\nc\n", "a\nx\tz\nc\n");
        assert_eq!(changed.appended_after, None);
        assert_eq!(changed.lines, [" a", "-b", "+x\tz", " c"]);
        let cut = text_difference("a", "ab\n");
        assert_eq!((cut.appended_after, cut.added, cut.removed), (None, 1, 1));
    }

    #[test]
    fn long_differences_are_cut_and_counted() {
        let new = format!("{}\n", "x".repeat(900)).repeat(100);
        let difference = text_difference("", &new);
        assert_eq!(
            (difference.added, difference.lines.len()),
            (100, MOST_LINES)
        );
        assert!(
            difference
                .lines
                .iter()
                .all(|line| line.chars().count() <= LONGEST_LINE + 2)
        );
        let (old, new) = ("old\n".repeat(30), "new\n".repeat(30));
        let rewritten = text_difference(&old, &new);
        assert_eq!((rewritten.removed, rewritten.lines.len()), (30, MOST_LINES));
        let is_new = |line: &&Shown| line.starts_with('+');
        assert_eq!(
            rewritten.lines.iter().filter(is_new).count(),
            MOST_LINES / 2
        );
        let evil = text_difference("", "\u{1b}[2Jx\n");
        assert!(!evil.lines[0].contains('\u{1b}'), "{:?}", evil.lines);
    }
}
