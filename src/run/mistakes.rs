//! Tells new mistakes in domain files from known ones.
//!
//! A mistake is known if the last run saw a mistake with the same code in a line with the same text
//! of the same file. Its line number may change, and so may the wording of its message.

use std::collections::BTreeMap;

use urldb_protocol::{FixedMistake, Mistake, Shown};

use super::domain_files::ReadFile;
use super::shared_ledger::SharedLedger;
use crate::report::Mistakes;

/// The mistakes in these files, for a command that has no ledger.
pub(super) fn current(files: Vec<ReadFile>) -> Mistakes {
    Mistakes {
        current: files.into_iter().flat_map(|file| file.mistakes).collect(),
        fixed: vec![],
    }
}

/// Compares the mistakes in these files with those in the ledger, and stores the new set there.
pub(super) fn compared(ledger: &SharedLedger, mut files: Vec<ReadFile>) -> Mistakes {
    let mut fixed = vec![];
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
            let mistake = FixedMistake {
                code: code.to_owned(),
                file: file.name.to_string(),
                text: Shown::new(text, Shown::LONGEST),
            };
            fixed.extend(std::iter::repeat_n(mistake, count));
        }
    }
    let current = current(files).current;
    Mistakes { current, fixed }
}

/// The name of a mistake in the ledger: its code, and the text of its line.
fn name(mistake: &Mistake) -> String {
    format!("{}: {}", mistake.code, mistake.text)
}
