//! Merges the comments of a document.

use std::collections::{BTreeMap, BTreeSet};

use crate::layout::Layout;

/// The layout with the comments of both sides; `None` if both sides changed the same comments in
/// different ways, other than by adding lines.
pub(super) fn merge_comments([base, ours, theirs]: [&Layout; 3]) -> Option<Layout> {
    let above = merge_lines([&base.above, &ours.above, &theirs.above])?;
    let [base, ours, theirs] = [base, ours, theirs].map(by_key);
    let keys: BTreeSet<&str> = [&base, &ours, &theirs]
        .into_iter()
        .flat_map(|comments| comments.keys().copied())
        .collect();
    let mut comments = Vec::new();
    for key in keys {
        let of = |version: &BTreeMap<&str, Vec<String>>| version.get(key).cloned();
        let [base, ours, theirs] = [&base, &ours, &theirs].map(|it| of(it).unwrap_or_default());
        let lines = merge_lines([&base, &ours, &theirs])?;
        comments.extend(lines.into_iter().map(|line| (key.to_owned(), line)));
    }
    Some(Layout::of_comments(above, comments))
}

fn by_key(layout: &Layout) -> BTreeMap<&str, Vec<String>> {
    let mut by_key: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (key, comment) in &layout.comments {
        by_key.entry(key).or_default().push(comment.clone());
    }
    by_key
}

/// Merges lines of comments. Where both sides only added lines, the result has the lines of both.
/// `None` if both sides made different changes, and one of them removed a line.
pub(super) fn merge_lines([base, ours, theirs]: [&[String]; 3]) -> Option<Vec<String>> {
    if ours == theirs || base == theirs {
        return Some(ours.to_vec());
    }
    if base == ours {
        return Some(theirs.to_vec());
    }
    let (ours, theirs) = (additions(base, ours)?, additions(base, theirs)?);
    let mut merged = Vec::new();
    for (index, added) in ours.into_iter().zip(theirs).enumerate() {
        // The order must not depend on which side is ours.
        let (first, second) = (added.0.min(added.1), added.0.max(added.1));
        merged.extend_from_slice(first);
        if first != second {
            merged.extend_from_slice(second);
        }
        merged.extend(base.get(index).cloned());
    }
    Some(merged)
}

/// The lines that `side` has before each line of `base` and after the last; `None` if `side` lacks a
/// line of `base`.
fn additions<'a>(base: &[String], side: &'a [String]) -> Option<Vec<&'a [String]>> {
    let mut added = Vec::with_capacity(base.len() + 1);
    let mut rest = side;
    for line in base {
        let at = rest.iter().position(|other| other == line)?;
        added.push(&rest[..at]);
        rest = &rest[at + 1..];
    }
    added.push(rest);
    Some(added)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.chars().map(String::from).collect()
    }

    #[test]
    fn added_lines_stay_where_they_were_added() {
        for (base, ours, theirs, merged) in [
            ("ab", "axb", "aby", Some("axby")),
            ("ab", "axb", "ayb", Some("axyb")),
            ("ab", "xab", "xab", Some("xab")),
            ("", "x", "y", Some("xy")),
            ("ab", "b", "ab", Some("b")),
            ("ab", "b", "abx", None),
            ("a", "x", "y", None),
        ] {
            let [b, o, t] = [base, ours, theirs].map(lines);
            assert_eq!(
                merge_lines([&b, &o, &t]),
                merged.map(lines),
                "{base} {ours} {theirs}"
            );
            assert_eq!(
                merge_lines([&b, &t, &o]),
                merged.map(lines),
                "{base} {theirs} {ours}"
            );
        }
    }
}
