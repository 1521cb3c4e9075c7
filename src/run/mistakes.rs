//! Which mistakes in domain files are news.
//!
//! A mistake is known if one with the same code was in a line with the same text of the same file:
//! the lines above may come and go, and its message may be put in better words one day.

use std::collections::BTreeMap;

use urldb_protocol::{FixedMistake, Mistake};

use super::domains::ReadFile;
use crate::ledger::Ledger;
use crate::report::Mistakes;

/// What is wrong in these files, for those who remember nothing.
pub(super) fn all(files: Vec<ReadFile>) -> Mistakes {
    Mistakes {
        mistakes: files.into_iter().flat_map(|file| file.mistakes).collect(),
        mended: vec![],
    }
}

/// The same beside what was wrong in them before. What is wrong now is remembered.
pub(super) fn beside(ledger: &mut Ledger, mut files: Vec<ReadFile>) -> Mistakes {
    let mut mended = vec![];
    for file in &mut files {
        let mut names: Vec<String> = file.mistakes.iter().map(name).collect();
        names.sort();
        let mut known: BTreeMap<String, usize> = BTreeMap::new();
        for name in ledger.replace_mistakes(&file.host, names) {
            *known.entry(name).or_default() += 1;
        }
        for mistake in &mut file.mistakes {
            match known.get_mut(&name(mistake)) {
                Some(count) if *count > 0 => *count -= 1,
                _ => mistake.new = true,
            }
        }
        for (name, count) in known {
            let (code, text) = name.split_once(": ").unwrap_or((&name, ""));
            let gone = FixedMistake {
                code: code.to_owned(),
                file: file.name.to_string(),
                text: text.to_owned(),
            };
            mended.extend(std::iter::repeat_n(gone, count));
        }
    }
    let mistakes = all(files).mistakes;
    Mistakes { mistakes, mended }
}

fn name(mistake: &Mistake) -> String {
    format!("{}: {}", mistake.code, mistake.text)
}
