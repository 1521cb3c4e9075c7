//! Takes in the files that shards have written.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use anyhow::Context;

use super::remote::digest_of;

/// Puts a finished file into the folder of an archive under its own name: by a hard link where the file
/// system can, else as a copy. A file of this name with the same bytes stays.
///
/// # Errors
/// When the file cannot be read or written, or when another file has its name. The other file stays.
pub fn adopt(archive: &Path, name: &str, file: &Path) -> anyhow::Result<()> {
    let target = archive.join(name);
    let cannot = || format!("cannot put {} into the archive", file.display());
    fs::create_dir_all(archive).with_context(cannot)?;
    let linked = fs::hard_link(file, &target);
    let done = match linked {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            let mut input = File::open(file).with_context(cannot)?;
            let copy = |output: &mut File| io::copy(&mut input, output).map(drop);
            urldb_files::write_new_atomically_with(&target, copy)
        }
        linked => linked.and_then(|()| urldb_files::sync_directory(archive)),
    };
    match done {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let digest = |path: &Path| File::open(path).and_then(digest_of);
            let is_same =
                digest(&target).with_context(cannot)? == digest(file).with_context(cannot)?;
            anyhow::ensure!(
                is_same,
                "{}: another file has this name in the archive",
                target.display()
            );
            Ok(())
        }
        done => done.with_context(cannot),
    }
}
