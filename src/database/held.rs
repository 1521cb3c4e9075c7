//! The URIs that the database holds although nothing can request them.

use std::collections::BTreeMap;
use std::path::Path;

use urldb_canon::kind_of_held;
use urldb_format::{Linter, Record, fold};
use urldb_protocol::Mistake;
use urldb_text::Finding;

use super::mistakes::mistakes;
use crate::config::Config;

/// The kind of URIs whose scheme is long, or whose kind is one of too many.
const OTHER: &str = "other";

/// Most kinds that are counted apart.
const MOST_KINDS: usize = 20;

/// The longest name of a kind.
const LONGEST_KIND: usize = 20;

/// The file of held URIs.
#[derive(Debug, Default)]
pub(crate) struct HeldUris {
    /// Number of URIs by kind.
    pub(crate) kinds: BTreeMap<String, u64>,
    /// Mistakes in the file.
    pub(crate) mistakes: Vec<Mistake>,
}

impl HeldUris {
    /// Reads the file at `path`, and counts the URIs that are wanted.
    pub(crate) fn read(config: &Config, path: &Path, wants: impl Fn(&Record) -> bool) -> Self {
        let name = config.relative_name(path);
        let start = || {
            let linter = Linter::of_values(path, &config.lint.keys);
            (linter, Self::default())
        };
        let (_, held) = fold(path, start, |(linter, held), document| {
            let mut errors = linter.see(document);
            errors.retain(Finding::is_error);
            let (text, line) = (document.text(), document.start().line);
            held.mistakes.extend(mistakes(text, line, &name, &errors));
            let entry = document.to_entry();
            let record = entry.as_ref().map(|entry| entry.record());
            if let Some(record) = record.filter(|record| wants(record))
                && let Some(kind) = kind_of_held(&record.path)
            {
                held.count(kind);
            }
        });
        held
    }

    fn count(&mut self, kind: String) {
        let is_known = self.kinds.contains_key(&kind);
        let has_room = self.kinds.len() < MOST_KINDS && kind.len() <= LONGEST_KIND;
        let kind = if is_known || has_room {
            kind
        } else {
            OTHER.to_owned()
        };
        *self.kinds.entry(kind).or_default() += 1;
    }
}
