//! Reads the files of the ledger, document by document.

use std::io;

use anyhow::Context;
use urldb_files::{Root, RootFile};
use urldb_format::{Document, Mapping, Value, read_documents, read_documents_from};
use urldb_protocol::CertificateDates;
use urldb_verdict::JobKey;

use super::entry::{self, Content, Entry, SCHEMA, key_of};
use super::pages::Pages;
use super::spool::Spool;
use super::{Domain, captures, file_of, using};

use crate::limits;

/// The domain in the files of the ledger, with at most this many pages in memory.
pub(super) fn read(
    folder: &Root,
    domain: &str,
    spool: &mut Spool,
    most: usize,
) -> anyhow::Result<Domain> {
    let (file, captures) = (file_of(folder, domain), captures::file_of(folder, domain));
    let mut read = Domain::default();
    let mut pages = Pages::default();
    let mut contents = Contents::new(&captures, domain)?;
    let mut statuses = documents(&file)?;
    if let Some(head) = statuses.next() {
        let head = head.and_then(|head| parse_head(&head.mapping));
        (read.mistakes, read.certificate) = head.with_context(|| using(&file))?;
    }
    for document in statuses {
        let parsed = document.and_then(|document| status(domain, &document));
        let (key, mut entry) = parsed.with_context(|| using(&file))?;
        read.is_content_changed |= entry.content.is_some();
        let content = contents.of(&key).with_context(|| using(&captures))?;
        // The content in an entry of an older version was written later.
        entry.content = entry.content.or(content);
        pages.open_at(&key, spool, most)?;
        pages.set(&key, entry);
    }
    // Where the files are not in order, content comes before or after its entry.
    for (key, content) in contents.rest().with_context(|| using(&captures))? {
        pages.open_at(&key, spool, most)?;
        pages.complete(&key, content);
    }
    read.pages = Some(pages);
    Ok(read)
}

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
    let (mistakes, certificate) = parse_head(&head?.mapping)?;
    let mut has_any = !mistakes.is_empty() || certificate.is_some();
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

/// The contents in a file of captures, each as its entry is read.
struct Contents<D> {
    documents: D,
    domain: String,
    next: Option<(JobKey, Content)>,
    /// Those without an entry so far.
    passed: Vec<(JobKey, Content)>,
}

impl Contents<()> {
    /// The contents in a file, which need not exist.
    fn new(
        file: &RootFile,
        domain: &str,
    ) -> anyhow::Result<Contents<impl Iterator<Item = anyhow::Result<Document>> + use<>>> {
        let mut contents = Contents {
            documents: documents(file)?.skip(1),
            domain: domain.to_owned(),
            next: None,
            passed: vec![],
        };
        contents.pass().with_context(|| using(file))?;
        Ok(contents)
    }
}

impl<D: Iterator<Item = anyhow::Result<Document>>> Contents<D> {
    /// The content of a job.
    fn of(&mut self, key: &JobKey) -> anyhow::Result<Option<Content>> {
        while self.next.as_ref().is_some_and(|(of, _)| of < key) {
            let passed = self.pass()?;
            self.passed.extend(passed);
        }
        let is_own = self.next.as_ref().is_some_and(|(of, _)| of == key);
        let own = if is_own { self.pass()? } else { None };
        Ok(own.map(|(_, content)| content))
    }

    /// The next content, after which comes another one.
    fn pass(&mut self) -> anyhow::Result<Option<(JobKey, Content)>> {
        let next = self.documents.next();
        let next = next.map(|document| content(&self.domain, &document?));
        Ok(std::mem::replace(&mut self.next, next.transpose()?))
    }

    /// Those without an entry when it was read.
    fn rest(mut self) -> anyhow::Result<Vec<(JobKey, Content)>> {
        while let Some(passed) = self.pass()? {
            self.passed.push(passed);
        }
        Ok(self.passed)
    }
}

/// The documents of a file, which need not exist.
fn documents(
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

/// The mistakes of a domain, and its certificate.
fn parse_head(head: &Mapping) -> anyhow::Result<(Vec<String>, Option<CertificateDates>)> {
    let mistakes = match head.get("mistakes") {
        Some(Value::List(mistakes)) => mistakes.iter(),
        _ => [].iter(),
    };
    let mistakes = mistakes.filter_map(|name| name.as_text().map(str::to_owned));
    let certificate = head.get("certificate").and_then(Value::as_map);
    let certificate = certificate.map(entry::certificate).transpose();
    Ok((mistakes.collect(), certificate.context("`certificate`")?))
}

fn status(domain: &str, document: &Document) -> anyhow::Result<(JobKey, Entry)> {
    Entry::from_mapping(domain, &document.mapping)
        .with_context(|| format!("line {}", document.start_line))
}

fn content(domain: &str, document: &Document) -> anyhow::Result<(JobKey, Content)> {
    let at = || format!("line {}", document.start_line);
    let key = key_of(domain, &document.mapping).with_context(at)?;
    let content = Content::from_mapping(&document.mapping);
    Ok((
        key,
        content.context("`digest` is missing").with_context(at)?,
    ))
}
