//! The changes of a domain file that follows lists.

use std::path::{Path, PathBuf};

use urldb_render::numbers::number;
use urldb_text::{Code, Finding};

/// The changes of one domain file.
pub(crate) struct FileChange {
    pub(crate) path: PathBuf,
    pub(crate) added: u64,
    pub(crate) updated: u64,
    pub(crate) removed: u64,
}

impl FileChange {
    /// The finding that the file differs from its lists; its name is relative to `root`.
    pub(crate) fn not_synced(&self, root: &Path) -> Finding {
        let message = match self.added + self.updated + self.removed {
            1 => "1 record differs from its lists; `urldb sync` writes it".to_owned(),
            records => {
                let records = number(records);
                format!("{records} records differ from their lists; `urldb sync` writes them")
            }
        };
        Finding::new(Code::NotSynced, 1, message)
            .in_file(self.path.strip_prefix(root).unwrap_or(&self.path))
    }
}
