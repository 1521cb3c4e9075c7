//! The archived content of each job: a file for each domain, beside the file with the statuses.
//!
//! Statuses change often, content seldom, and digests and record ids take most of the room. In one file,
//! each news about one URL would make git store those of all URLs of the domain again, unless git happens
//! to compare the file with its own earlier version. Git compares files of similar names, and among
//! them files of similar sizes. Of a name, it looks at the last sixteen characters, above all at the
//! last ones. So the name of the file ends with a part that depends on the domain.

use std::path::{Path, PathBuf};

use anyhow::Context;
use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};
use urldb_format::{Mapping, read_documents, write_documents};
use urldb_verdict::JobKey;

use super::entry::{Content, SCHEMA, key_of};
use super::{storage, write};

/// Most bytes of a domain in a file name, whose length file systems limit.
const LONGEST: usize = 200;

/// The folder of the files.
pub fn folder(ledger: &Path) -> PathBuf {
    ledger.join("captures")
}

/// The file of one domain.
pub(super) fn file_of(ledger: &Path, domain: &str) -> PathBuf {
    let digest = HEXLOWER.encode(&Sha256::digest(domain)[..4]);
    let end = domain.floor_char_boundary(LONGEST);
    folder(ledger).join(format!("{}-{digest}.yaml", &domain[..end]))
}

/// The text of the file of a domain; empty without content.
pub(super) fn text<'a>(contents: impl Iterator<Item = (&'a JobKey, &'a Content)>) -> String {
    let contents = contents.map(|(key, content)| content.to_mapping(key));
    let documents: Vec<Mapping> = std::iter::once(Mapping::new()).chain(contents).collect();
    if documents.len() > 1 {
        write_documents(&documents)
    } else {
        String::new()
    }
}

/// Writes the file of a domain, or removes it if there is no content.
pub(super) fn save(ledger: &Path, domain: &str, text: &str) -> anyhow::Result<()> {
    let path = file_of(ledger, domain);
    if !text.is_empty() {
        let folder = folder(ledger);
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("cannot make {}", folder.display()))?;
        return write(&path, text);
    }
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}

/// Reads the file of a domain.
pub(super) fn parse(domain: &str, text: &str) -> anyhow::Result<Vec<(JobKey, Content)>> {
    let (documents, findings) = read_documents(text, &SCHEMA);
    if let Some(finding) = findings.first() {
        anyhow::bail!("line {}: {}", finding.line, finding.message);
    }
    let contents = documents.iter().skip(1).map(|document| {
        let at = || format!("line {}", document.start_line);
        let key = key_of(domain, &document.mapping).with_context(at)?;
        let content = Content::from_mapping(&document.mapping);
        Ok((
            key,
            content.context("`digest` is missing").with_context(at)?,
        ))
    });
    contents.collect()
}

/// Whether [`save`] wrote this file.
pub(super) fn is_ours(path: &Path) -> bool {
    let is_named = path
        .extension()
        .is_some_and(|extension| extension == "yaml");
    let text = storage::read_to_string(path).ok().filter(|_| is_named);
    let contents = text.and_then(|text| parse("", &text).ok());
    contents.is_some_and(|contents| !contents.is_empty())
}
