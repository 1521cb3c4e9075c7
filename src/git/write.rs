//! Writing a file so that a crash leaves the old one or the new one, whole.

use std::fs::{File, Permissions};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};

/// Puts `bytes` in the place of `file`, with these permissions if any.
pub(super) fn replace_file(
    file: &Path,
    bytes: &[u8],
    permissions: Option<Permissions>,
) -> Result<()> {
    let dir = file.parent().context("it is in no folder")?;
    let mut new = tempfile::Builder::new()
        .prefix(".urldb-tmp-")
        .tempfile_in(dir)?;
    new.write_all(bytes)?;
    if let Some(permissions) = permissions {
        new.as_file().set_permissions(permissions)?;
    }
    new.as_file().sync_all()?;
    new.persist(file)?;
    if cfg!(unix) {
        // Elsewhere a folder cannot be opened, nor need it be.
        File::open(dir)?.sync_all()?;
    }
    Ok(())
}
