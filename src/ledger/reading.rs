//! Reads the two files of a domain side by side.

use anyhow::Context;
use urldb_files::{Root, RootFile};
use urldb_format::Document;
use urldb_verdict::JobKey;

use super::captures;
use super::documents::{content, documents, parse_head, status};
use super::domain::{Domain, file_of};
use super::entry::Content;
use super::pages::Pages;
use super::spool::Spool;

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
        read.certificate = head.with_context(|| using(&file))?;
    }
    for document in statuses {
        let parsed = document.and_then(|document| status(domain, &document));
        let (key, mut entry) = parsed.with_context(|| using(&file))?;
        entry.content = contents.of(&key).with_context(|| using(&captures))?;
        pages.open_at(&key, spool, most)?;
        pages.set(&key, entry);
    }
    // If the files are not in order, content comes before or after its entry.
    for (key, content) in contents.rest().with_context(|| using(&captures))? {
        pages.open_at(&key, spool, most)?;
        pages.complete(&key, content);
    }
    read.pages = Some(pages);
    Ok(read)
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

fn using(file: &RootFile) -> String {
    format!("cannot use {file}")
}
