//! Reads and writes the files of users. Only regular files are read, each up to a stated size. A file is
//! replaced in one step, so that it has either its old bytes or its new bytes after a crash. The files of
//! a folder that others fill, such as a checkout, are those of a [`Root`], which no link leaves.
//!
//! This is the one crate of urldb that opens files; clippy.toml refuses `std::fs` elsewhere.
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
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::too_many_lines))]
#![expect(clippy::disallowed_methods, reason = "the crate that opens files")]

mod atomic;
mod limit;
#[cfg(target_os = "linux")]
mod nameless;
mod outside;
mod reading;
mod root;
mod spool;

pub use atomic::{
    PendingWrite, UnsyncedFolder, is_temporary, make_folder, remove, remove_old_stray_files,
    remove_stray_files, replace_unsynced, sync_directory, temporary_folder, temporary_folder_in,
    unnamed_file, unsynced_folder, write_atomically, write_atomically_with,
    write_new_atomically_with,
};
pub use limit::{Limit, TooLarge};
pub use outside::Outside;
pub use reading::{
    Kind, is_file, is_file_itself, is_folder, is_link, is_there, link_target, open, open_folder,
    open_input, open_to_lock, read, read_to_string, real_path,
};
pub use root::{Root, RootFile};
pub use spool::Spool;
