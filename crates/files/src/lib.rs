//! Reads and writes the files of users. Only regular files are read. A file is replaced in one step,
//! so that it has either its old bytes or its new bytes after a crash.
//!
//! ```
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("page");
//! urldb_files::write_atomically(&path, b"one")?;
//! let (page, notes) = (path.with_extension("html"), path.with_extension("md"));
//! // Both files are on disk under temporary names before either of them is replaced.
//! let pending = [urldb_files::PendingWrite::new(&page, b"<p>")?, urldb_files::PendingWrite::new(&notes, b"#")?];
//! pending.into_iter().try_for_each(urldb_files::PendingWrite::commit)?;
//! # Ok::<(), std::io::Error>(())
//! ```
#![forbid(unsafe_code)]

mod atomic;
mod inside;
mod reading;
mod spool;

pub use atomic::{
    PendingWrite, is_temporary, remove_stray_files, replace_unsynced, sync_directory,
    write_atomically, write_atomically_with, write_new_atomically_with,
};
pub use inside::{ensure_inside, link_out};
pub use reading::{open, read, read_to_string};
pub use spool::Spool;
