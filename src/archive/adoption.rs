//! Verifies the files that shards have written, and takes them in.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use anyhow::Context;
use urldb_warc::{FindingCode, Severity, Verifier};

use super::keys::Keys;
use super::remote::digest_of;

/// Verifies files before they enter an archive, as `urldb archive verify` would afterwards: structure,
/// digests, and references among them. A revisit may refer to a capture that the archive has.
///
/// # Errors
/// The first fault, with the name of its file.
pub fn ensure_sound<'a>(folder: &Path, names: impl Iterator<Item = &'a str>) -> anyhow::Result<()> {
    let mut first = None;
    let mut report = |finding: urldb_warc::ArchiveFinding| {
        let code = finding.code;
        if code.severity() == Severity::Error && code != FindingCode::RevisitUnresolved {
            first.get_or_insert(finding);
        }
    };
    let mut verifier = Verifier::new(&folder, &Keys, &mut report).without_index();
    for name in names {
        verifier.file(name, &folder.join(name));
    }
    verifier.finish();
    let Some(finding) = first else { return Ok(()) };
    let name = finding.file.file_name().unwrap_or_default().display();
    let place = finding
        .offset
        .map_or(String::new(), |offset| format!("at byte {offset}, "));
    let message = urldb_text::sanitize(&finding.message).into_owned();
    anyhow::bail!(
        "{name} cannot enter the archive: {place}{message} [{}]",
        finding.code
    )
}

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
