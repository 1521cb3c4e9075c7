//! Writing a file so that a reader sees the old one or the new one, whole.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Replaces the file at `path`, creating its folder where it is missing. A link
/// at `path` stays a link, and an existing file keeps its mode.
pub fn write_whole(path: &Path, content: &[u8]) -> io::Result<()> {
    let folder = folder_of(path);
    fs::create_dir_all(&folder)?;
    // A link is followed, so that what it points to is replaced and not the link.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = folder_of(&target);

    let mut builder = tempfile::Builder::new();
    builder.prefix(".urldb-tmp-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Temporary files are private by default; this one is to be what any new file is.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let mut file = builder.tempfile_in(&folder)?;
    file.write_all(content)?;
    if let Ok(existing) = fs::metadata(&target) {
        file.as_file().set_permissions(existing.permissions())?;
    }
    file.as_file().sync_all()?;
    file.persist(&target)?;
    if cfg!(unix) {
        File::open(&folder)?.sync_all()?;
    }
    Ok(())
}

fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}
