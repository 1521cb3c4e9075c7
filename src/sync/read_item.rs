//! An item of a list as it is read, for edits of its file.

use std::path::Path;

use urldb_interchange::ListItem;

use crate::config::Format;

/// An item of a list, and where it comes from.
pub(crate) struct ReadItem<'a> {
    pub(crate) source: &'a str,
    pub(crate) format: Format,
    /// The absolute path of the list.
    pub(crate) path: &'a Path,
    pub(crate) item: &'a ListItem,
}

/// Receives items as they are read.
pub(crate) type Watch<'a> = dyn FnMut(&ReadItem<'_>) -> anyhow::Result<()> + 'a;
