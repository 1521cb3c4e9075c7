//! Writers to a folder that are killed between any two writes, over random histories.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;
use proptest::prelude::*;
use sha2::{Digest, Sha256};
use urldb_files::Root;
use urldb_http::Budget;

use crate::budgets::Budgets;
use crate::error::{StoreError, StoreErrorKind};
use crate::folder::Folder;
use crate::listing::Listing;
use crate::location::Location;
use crate::manifest::{Manifest, ManifestChange};
use crate::objects::{Objects, Session};
use crate::store::Store;

/// A folder as a process sees it that dies before its write of this number, from 0.
#[derive(Debug)]
struct Mortal {
    folder: Folder,
    writes_left: Arc<AtomicU32>,
}

struct MortalSession<'a>(Box<dyn Session + 'a>, &'a AtomicU32);

impl Objects for Mortal {
    fn converse(&self, budget: Budget) -> Box<dyn Session + '_> {
        let session = self.folder.converse(budget);
        Box::new(MortalSession(session, &self.writes_left))
    }
}

impl MortalSession<'_> {
    /// Dies, or goes on to one write.
    fn write<T>(&self, write: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
        let left = self.1.load(Ordering::SeqCst);
        if left == 0 {
            return Err(StoreError::new(StoreErrorKind::Refused, "killed"));
        }
        self.1.store(left - 1, Ordering::SeqCst);
        write()
    }
}

impl Session for MortalSession<'_> {
    fn get(&self, name: &str) -> Result<(Bytes, Option<String>), StoreError> {
        self.0.get(name)
    }

    fn range(&self, name: &str, length: u64, range: Range<u64>) -> Result<Bytes, StoreError> {
        self.0.range(name, length, range)
    }

    fn length(&self, name: &str) -> Result<Option<u64>, StoreError> {
        self.0.length(name)
    }

    fn create(&self, name: &str, bytes: Bytes) -> Result<Option<String>, StoreError> {
        self.write(|| self.0.create(name, bytes))
    }

    fn replace(&self, name: &str, bytes: Bytes, tag: &str) -> Result<(), StoreError> {
        self.write(|| self.0.replace(name, bytes, tag))
    }

    fn put_parts(
        &self,
        name: &str,
        file: File,
        length: u64,
    ) -> Result<(u64, [u8; 32]), StoreError> {
        self.write(|| self.0.put_parts(name, file, length))
    }

    fn delete(&self, name: &str) -> Result<(), StoreError> {
        self.write(|| self.0.delete(name))
    }

    fn list(&self, most: usize) -> Result<Listing, StoreError> {
        self.0.list(most)
    }
}

/// The work of a writer, and the number of writes after which it is killed.
#[derive(Clone, Debug)]
struct Work {
    /// New files; the first one takes the place of all files if `joins`.
    files: Vec<u8>,
    joins: bool,
    writes: u32,
}

fn work() -> impl Strategy<Value = Work> {
    let files = prop::collection::vec(0..20_u8, 1..4);
    (files, any::<bool>(), prop_oneof![0..12_u32, Just(100)]).prop_map(|(files, joins, writes)| {
        Work {
            files,
            joins,
            writes,
        }
    })
}

fn mortal(place: &Path, writes: u32) -> Store {
    Store {
        objects: Box::new(Mortal {
            folder: Folder::new(place),
            writes_left: Arc::new(AtomicU32::new(writes)),
        }),
        location: Location::Folder(place.to_owned()),
        budgets: Budgets::default(),
    }
}

/// Uploads files, adds them to the manifest, and tidies, as a run does.
fn carry_out(work: &Work, place: &Path, folder: &Path) -> Result<(), StoreError> {
    let store = mortal(place, work.writes);
    let manifest = store.manifest()?;
    store.tidy(&manifest, &store.list(0)?)?;
    let mut change = ManifestChange::default();
    let root = Root::new(folder, "the archive");
    for number in &work.files {
        let name = format!("{number}.warc.gz");
        if !manifest.was_removed(&name) && change.add.iter().all(|file| file.name != name) {
            change.add.push(store.upload(&name, &root.file(&name))?);
        }
    }
    if let Some(joined) = change.add.first().filter(|_| work.joins) {
        let is_old = |name: &&str| change.add.iter().all(|file| file.name != *name);
        let old = manifest.names().filter(is_old);
        change.remove = old
            .map(|name| (name.to_owned(), Some(joined.name.clone())))
            .collect();
    }
    let outcome = store.publish(&change)?;
    outcome.undeleted.map_or(Ok(()), Err)
}

/// The manifest, whose files are all there with their bytes.
fn whole(place: &Path) -> Manifest {
    let Ok(text) = fs::read(place.join("manifest.json")) else {
        return Manifest::default();
    };
    let manifest = Manifest::parse(&text).expect("whole");
    for file in manifest.files() {
        let bytes = fs::read(place.join(&file.name)).expect("a named file is there");
        assert_eq!(<[u8; 32]>::from(Sha256::digest(&bytes)), file.sha256);
    }
    manifest
}

/// The file that has the records of a file in the end.
fn successor(manifest: &Manifest, name: &str) -> Option<String> {
    let removed: BTreeMap<&str, Option<&str>> = manifest.removed().collect();
    let mut name = name;
    while let Some(next) = removed.get(name) {
        name = (*next)?;
    }
    manifest.contains(name).then(|| name.to_owned())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// After any kill, the manifest is whole, names only files that are there, and leads from each
    /// file that it ever had to the file with its records. A last writer leaves nothing that is not needed.
    #[test]
    fn the_manifest_of_killed_writers_is_whole(history in prop::collection::vec(work(), 1..12)) {
        let place = tempfile::tempdir().expect("a folder");
        let folder = tempfile::tempdir().expect("a folder");
        for number in 0..20 {
            let file = folder.path().join(format!("{number}.warc.gz"));
            fs::write(file, format!("file {number}")).expect("written");
        }
        let mut known = vec![];
        let mut serial = 0;
        for work in &history {
            let done = carry_out(work, place.path(), folder.path());
            let manifest = whole(place.path());
            let is_killed = done.as_ref().is_err_and(|error| error.to_string() == "killed");
            prop_assert!(done.is_ok() || is_killed, "{:?}", done);
            prop_assert!(manifest.serial() == serial || manifest.serial() == serial + 1);
            if done.is_ok() {
                let kept = |number: &u8| successor(&manifest, &format!("{number}.warc.gz")).is_some();
                prop_assert!(work.files.iter().all(kept));
            }
            serial = manifest.serial();
            known.extend(manifest.names().map(str::to_owned));
            for name in &known {
                prop_assert!(successor(&manifest, name).is_some(), "{} is lost", name);
            }
        }
        // Each file that a killed writer had uploaded is added or removed by the next.
        let all = Work { files: (0..20).collect(), joins: false, writes: u32::MAX };
        carry_out(&all, place.path(), folder.path()).expect("not killed");
        let manifest = whole(place.path());
        let store = Store::in_folder(place.path());
        store.tidy(&manifest, &store.list(0).expect("listed")).expect("tidied");
        let listing = store.list(0).expect("listed");
        let objects = listing.names().filter(|name| !name.starts_with("manifest"));
        prop_assert_eq!(objects.collect::<Vec<_>>(), manifest.names().collect::<Vec<_>>());
    }
}
