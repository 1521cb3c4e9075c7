//! The files of users: read if they are regular, replaced in one step, so that a crash leaves the
//! old bytes or the new ones.
//!
//! ```
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("page");
//! urldb_files::write_atomically(&path, b"one")?;
//! let (page, notes) = (path.with_extension("html"), path.with_extension("md"));
//! // Of several files none is changed before all of them are on disk.
//! let staged = [urldb_files::PendingWrite::new(&page, b"<p>")?, urldb_files::PendingWrite::new(&notes, b"#")?];
//! staged.into_iter().try_for_each(urldb_files::PendingWrite::commit)?;
//! # Ok::<(), std::io::Error>(())
//! ```
#![forbid(unsafe_code)]

mod atomic;
mod reading;
mod spool;

pub use atomic::{PendingWrite, remove_stray_files, write_atomically, write_atomically_with};
pub use reading::{open, read, read_to_string};
pub use spool::Spool;
