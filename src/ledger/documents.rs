//! The documents of the files of a domain: their entries, and the contents of these.

use std::io;

use anyhow::Context;
use urldb_files::RootFile;
use urldb_format::{Document, Mapping, Value, read_documents, read_documents_from};
use urldb_protocol::CertificateDates;
use urldb_verdict::JobKey;

use super::entry::{self, Content, Entry, SCHEMA, key_of};
use crate::limits;

/// The entries in the texts of a page.
pub(super) fn of_texts(
    domain: &str,
    statuses: &str,
    contents: &str,
) -> anyhow::Result<Vec<(JobKey, Entry)>> {
    let contents = parse(contents)?.into_iter();
    let mut contents = contents
        .map(|document| content(domain, &document))
        .peekable();
    let mut entries = vec![];
    for document in parse(statuses)? {
        let (key, mut entry) = status(domain, &document)?;
        let own = contents.next_if(|next| next.as_ref().map_or(true, |(of, _)| *of == key));
        entry.content = own.transpose()?.map(|(_, content)| content);
        entries.push((key, entry));
    }
    Ok(entries)
}

/// Whether this is a file of statuses of a domain, with anything in it.
///
/// # Errors
/// When it cannot be read, or is another file.
pub(super) fn has_statuses(file: &RootFile, domain: &str) -> anyhow::Result<bool> {
    let mut documents = documents(file)?;
    let Some(head) = documents.next() else {
        return Ok(false);
    };
    let mut has_any = parse_head(&head?.mapping)?.is_some();
    for document in documents {
        status(domain, &document?)?;
        has_any = true;
    }
    Ok(has_any)
}

/// Whether this is a file of captures, with anything in it.
///
/// # Errors
/// As [`has_statuses`].
pub(super) fn has_contents(file: &RootFile) -> anyhow::Result<bool> {
    let mut has_any = false;
    for document in documents(file)?.skip(1) {
        content("", &document?)?;
        has_any = true;
    }
    Ok(has_any)
}

/// The documents of a file, which need not exist.
pub(super) fn documents(
    file: &RootFile,
) -> anyhow::Result<impl Iterator<Item = anyhow::Result<Document>> + use<>> {
    let open = match file.open_within(limits::LEDGER) {
        Ok(open) => Some(open),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error).with_context(|| format!("cannot read {file}")),
    };
    let parts = open
        .into_iter()
        .flat_map(|file| read_documents_from(file, &SCHEMA));
    Ok(parts.flat_map(|part| {
        let read = part.map_err(anyhow::Error::from);
        let read = read.and_then(|(documents, findings)| match findings.first() {
            Some(finding) => anyhow::bail!("line {}: {}", finding.line, finding.message),
            None => Ok(documents),
        });
        let (documents, error) = match read {
            Ok(documents) => (documents, None),
            Err(error) => (vec![], Some(Err(error))),
        };
        documents.into_iter().map(Ok).chain(error)
    }))
}

fn parse(text: &str) -> anyhow::Result<Vec<Document>> {
    let (documents, findings) = read_documents(text, &SCHEMA);
    if let Some(finding) = findings.first() {
        anyhow::bail!("line {}: {}", finding.line, finding.message);
    }
    Ok(documents)
}

/// The certificate of a domain.
pub(super) fn parse_head(head: &Mapping) -> anyhow::Result<Option<CertificateDates>> {
    let certificate = head.get("certificate").and_then(Value::as_map);
    let certificate = certificate.map(entry::certificate).transpose();
    certificate.context("`certificate`")
}

/// The entry of a document of the file of statuses, without content.
pub(super) fn status(domain: &str, document: &Document) -> anyhow::Result<(JobKey, Entry)> {
    Entry::from_mapping(domain, &document.mapping)
        .with_context(|| format!("line {}", document.start_line))
}

/// The content of a document of the file of captures.
pub(super) fn content(domain: &str, document: &Document) -> anyhow::Result<(JobKey, Content)> {
    let at = || format!("line {}", document.start_line);
    let key = key_of(domain, &document.mapping).with_context(at)?;
    let content = Content::from_mapping(&document.mapping);
    Ok((
        key,
        content.context("`digest` is missing").with_context(at)?,
    ))
}
