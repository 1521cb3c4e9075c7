//! The mistakes in domain files, as a run found them.

use std::collections::BTreeMap;

use urldb_protocol::{FixedMistake, Mistake, Notice};

/// Most mistakes of one file that a notice lists.
const MOST_MISTAKES: usize = 20;

/// The domain files of a run.
#[derive(Clone, Copy)]
pub struct FileFacts<'a> {
    /// The files that were read.
    pub read: &'a [FileMistakes],
    /// Whether a file of which nothing was read is gone.
    pub is_gone: &'a dyn Fn(&str) -> bool,
}

/// The mistakes in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileMistakes {
    /// The host that the file is named after.
    pub host: String,
    /// The file, relative to the root of the repository, with `/`.
    pub file: String,
    /// The first mistakes, in the order of the file.
    pub first: Vec<Mistake>,
    /// Number of all mistakes.
    pub count: u64,
}

impl FileMistakes {
    /// The mistakes in this file.
    pub fn new(host: &str, file: &str, mistakes: &[Mistake]) -> Self {
        let first = mistakes.iter().take(MOST_MISTAKES);
        Self {
            host: host.to_owned(),
            file: file.to_owned(),
            first: first.cloned().collect(),
            count: mistakes.len() as u64,
        }
    }
}

/// The mistakes of a notice, compared with those that a reader knows: `now` has the new ones marked, and those that
/// are mended.
pub(super) fn compared(delivered: Option<&Notice>, now: &Notice) -> Notice {
    let mut known = counted(delivered);
    let mut compared = now.clone();
    for (mistake, now) in compared.mistakes.iter_mut().zip(&now.mistakes) {
        let is_known = known
            .get_mut(&name(now))
            .filter(|count| **count > 0)
            .map(|count| *count -= 1)
            .is_some();
        mistake.new = !is_known;
    }
    // Of more mistakes than a notice lists, their number tells whether there are others.
    let has_more =
        |notice: &Notice| notice.count.unwrap_or_default() > notice.mistakes.len() as u64;
    if let Some(delivered) = delivered.filter(|delivered| has_more(delivered) || has_more(now)) {
        let [before, now] = [delivered, now].map(|notice| notice.count.unwrap_or_default());
        for mistake in &mut compared.mistakes {
            mistake.new &= now > before;
        }
        compared.added = Some(now.saturating_sub(before));
        return compared;
    }
    let new = compared
        .mistakes
        .iter()
        .filter(|mistake| mistake.new)
        .count() as u64;
    compared.added = match delivered {
        Some(_) => Some(new),
        None => now.count,
    };
    for ((code, text), count) in known {
        let fixed = FixedMistake {
            code: code.to_owned(),
            file: now.file.clone(),
            text: urldb_text::Shown::new(text, urldb_text::Shown::LONGEST),
        };
        compared.fixed.extend(std::iter::repeat_n(fixed, count));
    }
    compared
}

/// Whether both have the same mistakes, wherever these are in the file.
pub(super) fn are_same(one: &Notice, other: &Notice) -> bool {
    one.count == other.count && counted(Some(one)) == counted(Some(other))
}

/// The name of a mistake: its code, and the text of its line. Its line number may change, and so may the wording of
/// its message.
fn name(mistake: &Mistake) -> (&str, &str) {
    (&mistake.code, &mistake.text)
}

fn counted(notice: Option<&Notice>) -> BTreeMap<(&str, &str), usize> {
    let mut counts = BTreeMap::new();
    for mistake in notice.iter().flat_map(|notice| &notice.mistakes) {
        *counts.entry(name(mistake)).or_default() += 1;
    }
    counts
}
