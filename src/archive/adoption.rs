//! Verifies the files that shards have written, and takes them in.

use std::io;

use anyhow::Context;
use urldb_files::{Root, RootFile};
use urldb_warc::FindingCode;
use urldb_warc::finding::Severity;
use urldb_warc::verify::Verifier;

use super::keys::Keys;

/// Verifies files before they enter an archive, as `urldb archive verify` would afterwards: structure,
/// digests, and references among them. A revisit may refer to a capture that the archive has.
///
/// # Errors
/// The first fault, with the name of its file.
pub fn ensure_sound<'a>(folder: &Root, names: impl Iterator<Item = &'a str>) -> anyhow::Result<()> {
    let folder = folder.path();
    let mut first = None;
    let mut report = |finding: urldb_warc::verify::ArchiveFinding| {
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

/// Makes a finished file one of an archive, `target`: by a hard link where the file system can, else as a
/// copy. A file of this name with the same bytes stays.
///
/// # Errors
/// When the file cannot be read or written, or when another file has its name. The other file stays.
pub fn adopt(target: &RootFile, file: &RootFile) -> anyhow::Result<()> {
    let cannot = || format!("cannot put {file} into the archive");
    let done = match file.hard_link(target) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            let mut input = file.open().with_context(cannot)?;
            target.write_new_with(|output| io::copy(&mut input, output).map(drop))
        }
        linked => linked.and_then(|()| urldb_files::sync_directory(target.root().path())),
    };
    match done {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let digest =
                |file: &RootFile| file.open().and_then(urldb_store::hash).with_context(cannot);
            let is_same = digest(target)? == digest(file)?;
            anyhow::ensure!(
                is_same,
                "{target}: another file has this name in the archive"
            );
            Ok(())
        }
        done => done.with_context(cannot),
    }
}
