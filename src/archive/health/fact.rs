//! One fact about the places of an archive, in one sentence.

use std::fmt;

use jiff::Timestamp;
use urldb_store::StoreError;
use urldb_warc::FindingCode;

use crate::explain::explain;

/// The remedy of most facts.
const MENDS: &str = "`urldb archive repair` mends it";

/// A fact about the places of an archive. Every command tells it in the same sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// Its kind.
    pub code: FindingCode,
    /// The names of the files that it is about, sorted; none if it is about a place as a whole.
    pub files: Vec<String>,
    /// Whether a person has to act.
    pub needs_person: bool,
    sentence: String,
}

impl Fact {
    fn new(code: FindingCode, sentence: String) -> Self {
        Self {
            code,
            files: vec![],
            needs_person: false,
            sentence,
        }
    }

    /// The fact about these files; `None` without files.
    fn of_files(self, files: Vec<String>) -> Option<Self> {
        (!files.is_empty()).then_some(Self { files, ..self })
    }

    fn for_a_person(self) -> Self {
        Self {
            needs_person: true,
            ..self
        }
    }

    /// A place lacks files that another one has, or this machine.
    pub(super) fn missing(place: &str, files: Vec<String>) -> Option<Self> {
        let sentence = format!("{place} lacks {}; {MENDS}", names(&files));
        Self::new(FindingCode::FileMissing, sentence).of_files(files)
    }

    /// A place has other bytes than the manifest says, and another one the good ones, or this machine.
    pub(in crate::archive) fn damaged(place: &str, files: Vec<String>) -> Option<Self> {
        let sentence = format!("{place} has a damaged copy of {}; {MENDS}", names(&files));
        Self::new(FindingCode::FileDamaged, sentence).of_files(files)
    }

    /// No good copy is anywhere.
    pub(super) fn lost(files: Vec<String>) -> Option<Self> {
        let sentence = format!("no place has a good copy of {}; {MENDS}", names(&files));
        Self::new(FindingCode::FileLost, sentence)
            .for_a_person()
            .of_files(files)
    }

    /// Captures of the ledger are in files that the archive never had.
    pub fn never_stored(files: Vec<String>) -> Option<Self> {
        let sentence = format!(
            "no place ever had {}, as the ledger says: the content is captured again",
            names(&files)
        );
        Self::new(FindingCode::FileNeverStored, sentence).of_files(files)
    }

    /// The index cannot tell whether captures in files that are gone are in other files.
    pub(super) fn index_unreadable(error: &anyhow::Error) -> Self {
        let sentence = format!(
            "captures in files that are gone do not count as lost: {}",
            explain(error)
        );
        Self::new(FindingCode::IndexUnreadable, sentence)
    }

    /// Only this machine has files.
    pub(super) fn not_stored(files: Vec<String>) -> Option<Self> {
        let sentence = format!("only this machine has {}; {MENDS}", names(&files));
        Self::new(FindingCode::FileNotStored, sentence).of_files(files)
    }

    /// Files wait for the first store, and the next run tries again.
    pub(in crate::archive) fn not_stored_yet(files: Vec<String>, cause: &Self) -> Option<Self> {
        let sentence = format!(
            "{}: not stored yet, which the next run makes up for: {cause}",
            names(&files)
        );
        Self::new(FindingCode::FileNotStored, sentence).of_files(files)
    }

    /// Something keeps files from the first store.
    pub(in crate::archive) fn cannot_store(problem: String) -> Self {
        Self::new(FindingCode::FileNotStored, problem).for_a_person()
    }

    /// An upload to the first store ended.
    pub(in crate::archive) fn upload_failed(error: &StoreError) -> Self {
        Self {
            needs_person: !error.is_transient(),
            ..Self::cannot_store(error.to_string())
        }
    }

    /// Copying files to a place ended.
    pub(in crate::archive) fn copies_failed(place: &str, error: &StoreError) -> Self {
        let next = if error.is_transient() {
            ", which the next run makes up for"
        } else {
            ""
        };
        let sentence = format!("{place} has not got all files{next}: {error}");
        Self {
            needs_person: !error.is_transient(),
            ..Self::new(FindingCode::FileMissing, sentence)
        }
    }

    /// The check of a place ended early.
    pub(in crate::archive) fn check_ended(place: &str, error: &StoreError) -> Self {
        let sentence = format!(
            "{place} was not checked to the end, which the next check makes up for: {error}"
        );
        Self::new(FindingCode::PlaceAway, sentence)
    }

    /// Records of a file on this machine are damaged, as their digests say.
    pub(in crate::archive) fn records_damaged(file: String, sentence: String) -> Option<Self> {
        Self::new(FindingCode::FileDamaged, sentence).of_files(vec![file])
    }

    pub(super) fn unnamed(place: &str, files: Vec<String>) -> Option<Self> {
        let sentence = format!(
            "{place} has {}, which no manifest names; {MENDS} if the records are nowhere else",
            names(&files)
        );
        Self::new(FindingCode::ObjectUnnamed, sentence).of_files(files)
    }

    pub(in crate::archive) fn manifest_missing(place: &str) -> Self {
        let sentence = format!("{place} has lost its manifest.json; {MENDS}");
        Self::new(FindingCode::ManifestMissing, sentence).for_a_person()
    }

    pub(in crate::archive) fn manifest_damaged(place: &str, why: &str) -> Self {
        let sentence = format!("the manifest.json of {place} is damaged: {why}; {MENDS}");
        Self::new(FindingCode::ManifestDamaged, sentence).for_a_person()
    }

    pub(in crate::archive) fn manifest_older(
        place: &str,
        serial: u64,
        whose: &str,
        known: u64,
    ) -> Self {
        let sentence = format!(
            "the manifest of {place} has the serial {serial}, and {whose} {known}: the first store is an old \
             copy, was emptied, or is new; put a new store last, run `urldb archive repair`, then change the \
             order"
        );
        Self::new(FindingCode::ManifestOlder, sentence).for_a_person()
    }

    /// A place does not answer, or refuses.
    pub(in crate::archive) fn away(place: &str, error: &StoreError) -> Self {
        let fact = Self::new(
            FindingCode::PlaceAway,
            format!("{place} cannot be asked: {error}"),
        );
        Self {
            needs_person: !error.is_transient(),
            ..fact
        }
    }

    /// A place answers, and its list of objects breaks off.
    pub(super) fn incomplete(place: &str, error: &StoreError) -> Self {
        let fact = Self::new(
            FindingCode::ListIncomplete,
            format!("{place} does not list all its objects: {error}"),
        );
        Self {
            needs_person: !error.is_transient(),
            ..fact
        }
    }

    /// The same fact, after days.
    pub(in crate::archive) fn overdue(self, since: Timestamp) -> Self {
        let since = since.strftime("%Y-%m-%d");
        let sentence = format!("{}; this has been so since {since}", self.sentence);
        Self {
            sentence,
            needs_person: true,
            ..self
        }
    }
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

/// Names for a sentence.
pub(super) fn names(files: &[String]) -> String {
    match files {
        [] => "no file".to_owned(),
        [file] => file.clone(),
        [first, ..] => format!("{} files, the first of which is {first}", files.len()),
    }
}
