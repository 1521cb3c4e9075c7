//! The entries of one domain, in pages of neighbours: those in use are in memory, the others in the
//! temporary file. So a domain may have more entries than memory.
//!
//! A run asks for the entries of a domain in their order, and again somewhat later. Where a domain file is
//! not in order, pages would come and go with each entry: the entries of such a domain stay in memory.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::Context;
use urldb_files::RootFile;
use urldb_format::{Mapping, write_documents};
use urldb_verdict::JobKey;

use super::documents::of_texts;
use super::entry::{Content, Entry};
use super::spool::{Spool, SpooledPage};

/// Most entries of a page; few in tests, so that these have many pages.
const MOST_ENTRIES: usize = if cfg!(test) { 16 } else { 1_024 };

/// Most pages of a domain in memory.
pub(super) const MOST_IN_MEMORY: usize = 16;

/// Number of readings of each page, on average, after which the entries of the domain stay in memory.
const MOST_READINGS: usize = 16;

/// The pages of a domain, in the order of their keys.
#[derive(Debug, Default)]
pub(super) struct Pages {
    list: Vec<Page>,
    in_memory: usize,
    /// Number of times that a page was used.
    uses: u64,
    /// Number of times that a page was read again.
    readings: usize,
}

/// The entries of neighbouring jobs.
#[derive(Debug)]
struct Page {
    /// No entry comes before, unless this is the first page.
    start: JobKey,
    /// `None` while only the temporary file has them.
    entries: Option<BTreeMap<JobKey, Slot>>,
    /// The same entries in the temporary file.
    aside: Option<SpooledPage>,
    /// Whether each entry in the temporary file is planned.
    planned: Vec<bool>,
    /// The last use.
    used: u64,
}

#[derive(Debug)]
pub(super) struct Slot {
    pub(super) entry: Entry,
    /// Whether the run has planned the job.
    pub(super) is_planned: bool,
}

impl Pages {
    /// Whether there is more than one page.
    pub(super) fn are_several(&self) -> bool {
        self.list.len() > 1
    }

    /// Whether an entry has content.
    pub(super) fn have_content(&self) -> bool {
        self.list.iter().any(Page::has_content)
    }

    /// The index of the page that has this job, or would have it.
    fn index_of(&self, key: &JobKey) -> usize {
        let after = self.list.partition_point(|page| page.start <= *key);
        after.saturating_sub(1)
    }

    /// The entry of a job whose page is in memory.
    pub(super) fn get(&self, key: &JobKey) -> Option<&Slot> {
        let page = self.list.get(self.index_of(key))?;
        page.entries.as_ref()?.get(key)
    }

    /// As [`Self::get`], for changes of what the files of the ledger do not have.
    pub(super) fn get_mut(&mut self, key: &JobKey) -> Option<&mut Slot> {
        let index = self.index_of(key);
        self.list.get_mut(index)?.entries.as_mut()?.get_mut(key)
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &JobKey> {
        let entries = self.list.iter().filter_map(|page| page.entries.as_ref());
        entries.flat_map(BTreeMap::keys)
    }

    /// Takes the only page into memory. Of several, none.
    ///
    /// # Errors
    /// When the temporary file cannot be read.
    pub(super) fn open(&mut self, spool: &mut Spool, most: usize) -> anyhow::Result<()> {
        if self.are_several() {
            return Ok(());
        }
        self.take(0, spool, most)
    }

    /// Takes the page of a job into memory, and puts others aside where there are more than `most`.
    ///
    /// # Errors
    /// When the temporary file cannot be read.
    pub(super) fn open_at(
        &mut self,
        key: &JobKey,
        spool: &mut Spool,
        most: usize,
    ) -> anyhow::Result<()> {
        self.take(self.index_of(key), spool, most)
    }

    fn take(&mut self, index: usize, spool: &mut Spool, most: usize) -> anyhow::Result<()> {
        let Some(page) = self.list.get_mut(index) else {
            return Ok(());
        };
        self.uses += 1;
        page.used = self.uses;
        if page.entries.is_none() {
            page.read(spool)?;
            self.in_memory += 1;
            self.readings += 1;
        }
        let are_in_order = self.readings <= MOST_READINGS * self.list.len();
        while are_in_order && self.in_memory > most {
            let pages = self.list.iter_mut().filter(|page| page.entries.is_some());
            let oldest = pages.min_by_key(|page| page.used);
            if !oldest.is_some_and(|page| page.put_aside(spool)) {
                break;
            }
            self.in_memory -= 1;
        }
        Ok(())
    }

    /// Replaces the entry of a job whose page is in memory. Nothing happens if the page could not be read.
    pub(super) fn set(&mut self, key: &JobKey, entry: Entry) {
        if self.list.is_empty() {
            self.list.push(Page::new(key.clone(), BTreeMap::new()));
            self.in_memory += 1;
        }
        let index = self.index_of(key);
        let page = &mut self.list[index];
        let Some(entries) = &mut page.entries else {
            return;
        };
        page.aside = None;
        if let Some(slot) = entries.get_mut(key) {
            slot.entry = entry;
            return;
        }
        let is_planned = false;
        entries.insert(key.clone(), Slot { entry, is_planned });
        let middle = entries.keys().nth(MOST_ENTRIES / 2).cloned();
        if entries.len() > MOST_ENTRIES
            && let Some(middle) = middle
        {
            let later = entries.split_off(&middle);
            let used = page.used;
            let later = Page::new(middle, later);
            self.list.insert(index + 1, Page { used, ..later });
            self.in_memory += 1;
        }
    }

    /// Adds content to the entry of a job whose page is in memory, if there is one without content.
    pub(super) fn complete(&mut self, key: &JobKey, content: Content) {
        let index = self.index_of(key);
        let Some(page) = self.list.get_mut(index) else {
            return;
        };
        let slot = page
            .entries
            .as_mut()
            .and_then(|entries| entries.get_mut(key));
        if let Some(slot) = slot {
            slot.entry.content.get_or_insert(content);
            page.aside = None;
        }
    }

    /// Removes the entry of a job whose page is in memory.
    pub(super) fn remove(&mut self, key: &JobKey) -> Option<Entry> {
        let index = self.index_of(key);
        let page = self.list.get_mut(index)?;
        let slot = page.entries.as_mut()?.remove(key)?;
        page.aside = None;
        Some(slot.entry)
    }

    /// Shows all entries to `see`, page by page. It returns whether it changed the entry.
    ///
    /// # Errors
    /// When the temporary file cannot be read.
    pub(super) fn each(
        &mut self,
        spool: &mut Spool,
        most: usize,
        mut see: impl FnMut(&mut Entry) -> bool,
    ) -> anyhow::Result<()> {
        for index in 0..self.list.len() {
            self.take(index, spool, most)?;
            let Page { entries, aside, .. } = &mut self.list[index];
            for slot in entries.iter_mut().flat_map(BTreeMap::values_mut) {
                if see(&mut slot.entry) {
                    *aside = None;
                }
            }
        }
        Ok(())
    }

    /// The jobs that are not planned.
    ///
    /// # Errors
    /// When the temporary file cannot be read.
    pub(super) fn unplanned(
        &mut self,
        spool: &mut Spool,
        most: usize,
    ) -> anyhow::Result<Vec<JobKey>> {
        let mut keys = vec![];
        for index in 0..self.list.len() {
            let page = &self.list[index];
            if page.entries.is_none() && page.planned.iter().all(|is_planned| *is_planned) {
                continue;
            }
            self.take(index, spool, most)?;
            let entries = self.list[index].entries.iter().flatten();
            let unplanned = entries.filter(|(_, slot)| !slot.is_planned);
            keys.extend(unplanned.map(|(key, _)| key.clone()));
        }
        Ok(keys)
    }

    /// Puts all pages aside, except for those with which that is impossible.
    pub(super) fn put_aside(&mut self, spool: &mut Spool) {
        for page in &mut self.list {
            if page.entries.is_some() && page.put_aside(spool) {
                self.in_memory -= 1;
            }
        }
    }

    /// Replaces a file by a first document, and those of each page: `of` chooses between the text of
    /// statuses and that of captures.
    ///
    /// # Errors
    /// When the temporary file cannot be read, or the file cannot be written.
    pub(super) fn write(
        &self,
        file: &RootFile,
        first: &Mapping,
        spool: &mut Spool,
        of: fn([String; 2]) -> String,
    ) -> anyhow::Result<()> {
        let written = file.replace_with(|file| -> anyhow::Result<()> {
            file.write_all(write_documents([first]).as_bytes())?;
            for page in &self.list {
                file.write_all(of(page.texts(spool)?).as_bytes())?;
            }
            Ok(())
        });
        written.with_context(|| format!("cannot write {file}"))
    }
}

impl Page {
    fn new(start: JobKey, entries: BTreeMap<JobKey, Slot>) -> Self {
        Self {
            start,
            entries: Some(entries),
            aside: None,
            planned: vec![],
            used: 0,
        }
    }

    fn has_content(&self) -> bool {
        match (&self.entries, self.aside) {
            (Some(entries), _) => entries.values().any(|slot| slot.entry.content.is_some()),
            (None, aside) => aside.is_some_and(SpooledPage::has_content),
        }
    }

    /// The texts for the two files of the ledger, without their first documents.
    fn texts(&self, spool: &mut Spool) -> anyhow::Result<[String; 2]> {
        match (self.aside, &self.entries) {
            (Some(aside), _) => spool.read(aside),
            (None, Some(entries)) => texts(entries),
            (None, None) => anyhow::bail!("the ledger lost entries"),
        }
    }

    /// Moves the entries to the temporary file. Returns whether that was possible.
    fn put_aside(&mut self, spool: &mut Spool) -> bool {
        let Some(entries) = &self.entries else {
            return true;
        };
        if self.aside.is_none() {
            // The entries stay in memory until saving reports the error.
            let texts = texts(entries).ok();
            self.aside = texts.and_then(|[statuses, contents]| spool.add(&statuses, &contents));
        }
        if self.aside.is_none() {
            return false;
        }
        self.planned = entries.values().map(|slot| slot.is_planned).collect();
        self.entries = None;
        true
    }

    /// Reads the entries back.
    fn read(&mut self, spool: &mut Spool) -> anyhow::Result<()> {
        let [statuses, contents] = self.texts(spool)?;
        let read = of_texts(&self.start.domain, &statuses, &contents);
        let read = read.context("the ledger's temporary file")?.into_iter();
        let slots = read.zip(&self.planned);
        let slots = slots.map(|((key, entry), &is_planned)| (key, Slot { entry, is_planned }));
        self.entries = Some(slots.collect());
        Ok(())
    }
}

fn texts(entries: &BTreeMap<JobKey, Slot>) -> anyhow::Result<[String; 2]> {
    let (mut statuses, mut contents) = (vec![], vec![]);
    for (key, slot) in entries {
        statuses.push(slot.entry.to_mapping(key));
        if let Some(content) = &slot.entry.content {
            contents.push(content.to_mapping(key)?);
        }
    }
    Ok([statuses, contents].map(|documents| write_documents(&documents)))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use urldb_canon::Scheme;
    use urldb_protocol::State;
    use urldb_verdict::UrlStatus;

    use urldb_files::Root;

    use super::*;
    use crate::ledger::Ledger;

    /// More entries than a domain has in memory.
    const ENTRIES: u32 = 1_000;

    fn key(number: u32) -> JobKey {
        JobKey {
            domain: "example.org".to_owned(),
            path: format!("/{number:06}"),
            request: None,
            variant: None,
            alias: None,
            scheme: Scheme::Http,
        }
    }

    fn entry(number: u32) -> Entry {
        let content = Content {
            digest: format!("sha256:{number}"),
            etag: None,
            last_modified: None,
            fits: None,
            redirects: None,
            capture: None,
            lost: None,
        };
        Entry {
            url_status: UrlStatus {
                state: State::Ok,
                since: Timestamp::UNIX_EPOCH,
                reason: None,
                pending: None,
            },
            content: (!number.is_multiple_of(3)).then_some(content),
            bad_response: None,
            added: Timestamp::UNIX_EPOCH,
            updated: Timestamp::UNIX_EPOCH,
            breaks: vec![],
            intermittent: None,
            incident: number.is_multiple_of(7).then(|| number.to_string()),
            has_text_of_challenge: false,
        }
    }

    /// Number of entries in memory.
    fn in_memory(ledger: &Ledger) -> usize {
        ledger.keys().count()
    }

    /// The entries in a scattered order: each number once.
    fn scattered() -> impl Iterator<Item = u32> + Clone {
        (0..ENTRIES).map(|number| number * 379 % ENTRIES)
    }

    fn files(folder: &Root) -> [String; 2] {
        let captures = crate::ledger::captures::file_of(folder, "example.org");
        [folder.file("example.org.yaml"), captures]
            .map(|file| std::fs::read_to_string(file.path()).unwrap())
    }

    /// Sets the entries, reads them, changes and removes some, and marks some as planned. Returns the files,
    /// and the most entries that were in memory.
    fn work(numbers: impl Iterator<Item = u32> + Clone, most: usize) -> ([String; 2], usize) {
        let folder = tempfile::tempdir().unwrap();
        let ledger = || {
            let mut ledger = Ledger::new(&Root::new(folder.path(), "the ledger"));
            ledger.most_pages = most;
            ledger
        };
        let mut peak = 0;
        let mut first = ledger();
        for number in numbers.clone() {
            first.open_at(&key(number)).unwrap();
            first.set(&key(number), entry(number), Timestamp::UNIX_EPOCH);
            if number.is_multiple_of(8) {
                peak = peak.max(in_memory(&first));
            }
        }
        first.close("example.org");
        assert_eq!(in_memory(&first), 0);
        first.save().unwrap();
        let mut again = ledger();
        for number in numbers.clone() {
            again.open_at(&key(number)).unwrap();
            if number != 5 && number != 900 {
                again.set_planned(&key(number));
            }
        }
        assert_eq!(again.unplanned("example.org").unwrap(), [key(5), key(900)]);
        for number in numbers {
            let key = key(number);
            again.open_at(&key).unwrap();
            let known = again.get(&key).unwrap().clone();
            assert_eq!(known.content, entry(number).content, "{number}");
            match number % 10 {
                1 => again.forget(&key),
                2 => {
                    let incident = Some("new".to_owned());
                    again.set(&key, Entry { incident, ..known }, Timestamp::UNIX_EPOCH);
                }
                _ => {}
            }
            if number.is_multiple_of(8) {
                peak = peak.max(in_memory(&again));
            }
        }
        again.close("example.org");
        again.save().unwrap();
        (files(&Root::new(folder.path(), "the ledger")), peak)
    }

    #[test]
    fn a_large_domain_is_in_memory_in_part_and_saved_whole() {
        let (whole, all) = work(0..ENTRIES, usize::MAX);
        assert_eq!(all, ENTRIES as usize);
        let (saved, peak) = work(0..ENTRIES, MOST_IN_MEMORY);
        assert!(saved == whole);
        assert!(peak <= (MOST_IN_MEMORY + 1) * MOST_ENTRIES, "{peak}");
    }

    #[test]
    fn entries_in_any_order_are_saved_in_theirs_without_endless_reading() {
        let (whole, _) = work(0..ENTRIES, usize::MAX);
        let (saved, _) = work(scattered(), 2);
        assert!(saved == whole);
    }

    #[test]
    fn files_that_are_not_in_order_are_read_whole() {
        let folder = tempfile::tempdir().unwrap();
        let statuses = |number: u32| {
            let key = key(number);
            urldb_format::write_documents([&entry(number).to_mapping(&key)])
        };
        let contents = |number: u32| {
            let content = entry(number).content.unwrap();
            urldb_format::write_documents([&content.to_mapping(&key(number)).unwrap()])
        };
        let numbers = [5, 2, 4, 1];
        let text = |of: &dyn Fn(u32) -> String, order: &[u32]| {
            let documents: String = order.iter().map(|number| of(*number)).collect();
            format!("---\n{documents}")
        };
        let root = Root::new(folder.path(), "the ledger");
        let captures = crate::ledger::captures::file_of(&root, "example.org").path();
        std::fs::create_dir_all(captures.parent().unwrap()).unwrap();
        for order in [[1, 2, 4, 5], [5, 4, 2, 1], numbers] {
            std::fs::write(
                folder.path().join("example.org.yaml"),
                text(&statuses, &numbers),
            )
            .unwrap();
            std::fs::write(&captures, text(&contents, &order)).unwrap();
            let ledger = Ledger::load(&root, ["example.org"]).unwrap();
            for number in numbers {
                let known = ledger.get(&key(number)).unwrap();
                assert_eq!(known.content, entry(number).content, "{order:?} {number}");
            }
        }
    }
}
