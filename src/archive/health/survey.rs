//! The state of the places of an archive, as they answer now.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::SystemTime;

use jiff::SignedDuration;
use urldb_store::{Listing, Manifest, ManifestState, Store, StoreError, StoredFile};
use urldb_warc::files::{is_archive_name, is_index_file};

use super::fact::Fact;
use crate::ambient::Ambient;
use crate::archive::fixity::{PlaceCheck, PlaceChecks};

/// A place that has not been listed for longer needs a person.
const PATIENCE: SignedDuration = SignedDuration::from_hours(72);

/// Most further questions to a place whose manifest changes meanwhile.
const ATTEMPTS: u32 = 3;

/// The answers of all places of an archive, the first store first. A command asks them once, and hands the answers on
/// to its steps, which note their changes here. After longer work, the places may have changed: it asks them again.
#[derive(Debug)]
pub struct Survey {
    pub(in crate::archive) places: Vec<Place>,
    /// Why nothing may be written to each place, as they answered.
    faults: Vec<Option<Fact>>,
    /// The knowledge of the ledger about the places.
    checks: PlaceChecks,
    /// The serial of the last manifest that this machine has seen.
    seen: u64,
}

/// The state of one place.
#[derive(Debug)]
pub(in crate::archive) struct Place {
    pub(in crate::archive) store: Arc<Store>,
    pub(in crate::archive) location: String,
    pub(in crate::archive) manifest: Result<ManifestState, StoreError>,
    pub(in crate::archive) listing: Result<Listing, StoreError>,
    /// Files whose copy here is known to be damaged, though it has the right length.
    pub(in crate::archive) damaged: BTreeSet<String>,
}

impl Survey {
    /// Asks the places of an archive, which has at least one. `seen` is the serial of the last manifest that
    /// this machine has read.
    pub(in crate::archive) fn take(stores: Vec<Store>, checks: PlaceChecks, seen: u64) -> Self {
        // The first store comes last: another process may change it meanwhile.
        let mut places: Vec<Place> = stores
            .into_iter()
            .rev()
            .map(|store| {
                let check = checks.0.get(&store.location().to_string());
                Place::ask(&Arc::new(store), check)
            })
            .collect();
        places.reverse();
        let mut survey = Self {
            places,
            faults: vec![],
            checks,
            seen,
        };
        let faults = (0..survey.places.len()).map(|index| survey.find_fault(index));
        survey.faults = faults.collect();
        survey
    }

    /// The manifest of the first store; the latest one of another place if that does not count.
    pub(in crate::archive) fn manifest(&self) -> Manifest {
        let usable = self.places[0]
            .good_manifest()
            .filter(|_| self.fault_of(0).is_none());
        let latest = || {
            self.places
                .iter()
                .filter_map(Place::good_manifest)
                .max_by_key(|manifest| manifest.serial())
        };
        usable.or_else(latest).cloned().unwrap_or_default()
    }

    /// Whether every place has listed all its objects.
    pub(in crate::archive) fn is_complete(&self) -> bool {
        self.places.iter().all(|place| place.listing.is_ok())
    }

    /// Whether a place is known to have a good copy.
    pub(in crate::archive) fn has(&self, file: &StoredFile) -> bool {
        self.places.iter().any(|place| place.has(file))
    }

    /// The places that are known to have a good copy.
    pub(in crate::archive) fn having(&self, file: &StoredFile) -> impl Iterator<Item = &Store> {
        self.places
            .iter()
            .filter(|place| place.has(file))
            .map(|place| &*place.store)
    }

    /// The names of the objects that any place lists.
    pub(in crate::archive) fn names(&self) -> BTreeSet<&str> {
        self.places
            .iter()
            .filter_map(|it| it.listing.as_ref().ok())
            .flat_map(Listing::names)
            .collect()
    }

    /// Why nothing may be written to a place.
    pub(in crate::archive) fn fault_of(&self, index: usize) -> Option<&Fact> {
        self.faults[index].as_ref()
    }

    /// Notes that a place has this manifest now.
    pub(in crate::archive) fn set_manifest(&mut self, index: usize, manifest: &Manifest) {
        self.places[index].manifest = Ok(ManifestState::Good(manifest.clone()));
        self.faults[index] = None;
    }

    fn find_fault(&self, index: usize) -> Option<Fact> {
        let place = &self.places[index];
        let location = &place.location;
        let fact = match (&place.manifest, &place.listing) {
            (Err(error), _) => return Some(self.if_overdue(Fact::away(location, error), location)),
            (Ok(ManifestState::Damaged(why)), _) => Fact::manifest_damaged(location, why),
            (Ok(_), Err(error)) => {
                return Some(self.if_overdue(Fact::incomplete(location, error), location));
            }
            (Ok(ManifestState::Absent), Ok(listing)) if self.is_known(location, listing) => {
                Fact::manifest_missing(location)
            }
            (Ok(_), Ok(_)) if index == 0 => return self.older_first(),
            _ => return None,
        };
        Some(fact)
    }

    /// Whether this is a place of an archive already.
    pub(in crate::archive) fn is_in_ledger(&self, location: &str) -> bool {
        self.checks.0.contains_key(location)
    }

    fn is_known(&self, location: &str, listing: &Listing) -> bool {
        let is_ours = |name: &str| is_archive_name(name) || is_index_file(name);
        self.is_in_ledger(location) || listing.names().any(is_ours)
    }

    /// The highest serial that anybody knows.
    pub(in crate::archive) fn latest_serial(&self) -> u64 {
        let manifests = self.places.iter().filter_map(Place::good_manifest);
        let checks = self.checks.0.values().filter_map(|check| check.serial);
        manifests
            .map(Manifest::serial)
            .chain(checks)
            .max()
            .unwrap_or(0)
            .max(self.seen)
    }

    fn older_first(&self) -> Option<Fact> {
        let first = &self.places[0];
        let serial = first.good_manifest().map_or(0, Manifest::serial);
        let others = self.places[1..].iter().filter_map(|place| {
            let known = place.good_manifest()?.serial();
            Some((known, format!("that of {} has", place.location)))
        });
        let checks = self.checks.0.iter().filter_map(|(place, check)| {
            Some((check.serial?, format!("the ledger says of {place}:")))
        });
        let seen = (self.seen, "this machine has seen".to_owned());
        let known = others.chain(checks).chain([seen]);
        let (known, whose) = known.rev().max_by_key(|(serial, _)| *serial)?;
        (known > serial).then(|| Fact::manifest_older(&first.location, serial, &whose, known))
    }

    fn if_overdue(&self, fact: Fact, location: &str) -> Fact {
        let check = self.checks.0.get(location);
        let Some(since) = check.map(|check| check.updated) else {
            return fact;
        };
        let waited = (Ambient::SYSTEM.now)().duration_since(since);
        if waited > PATIENCE {
            return fact.overdue(since);
        }
        fact
    }

    /// All facts about the places and the files of this manifest. `is_here` says whether this machine has a
    /// good copy of a file that some place lacks; `own` has the names of its finished files.
    pub(in crate::archive) fn facts(
        &self,
        manifest: &Manifest,
        own: &[String],
        is_here: impl Fn(&StoredFile) -> bool,
    ) -> Vec<Fact> {
        let mut facts: Vec<Fact> = self.faults.iter().flatten().cloned().collect();
        let mut missing = vec![vec![]; self.places.len()];
        let mut damaged = missing.clone();
        let mut lost = vec![];
        for file in manifest.files() {
            let lacking: Vec<_> = self
                .places
                .iter()
                .enumerate()
                .filter(|(_, place)| place.listing.is_ok() && !place.has(&file))
                .collect();
            if lacking.is_empty() {
                continue;
            }
            if self.is_complete() && lacking.len() == self.places.len() && !is_here(&file) {
                lost.push(file.name);
                continue;
            }
            for (index, place) in lacking {
                let of_kind = match place.length(&file.name) {
                    Some(_) => &mut damaged[index],
                    None => &mut missing[index],
                };
                of_kind.push(file.name.clone());
            }
        }
        for (place, (missing, damaged)) in self.places.iter().zip(missing.into_iter().zip(damaged))
        {
            let location = &place.location;
            facts.extend(Fact::missing(location, missing));
            facts.extend(Fact::damaged(location, damaged));
            facts.extend(Fact::unnamed(location, place.unnamed(manifest)));
        }
        facts.extend(Fact::lost(lost));
        let is_new = |name: &&String| {
            is_archive_name(name) && !manifest.contains(name) && !manifest.was_removed(name)
        };
        let new: Vec<String> = own.iter().filter(is_new).cloned().collect();
        facts.extend(Fact::not_stored(new));
        facts
    }
}

impl Place {
    fn ask(store: &Arc<Store>, check: Option<&PlaceCheck>) -> Self {
        let mut place = Self::ask_once(store, check);
        // A process that replaces files meanwhile deletes their objects.
        for _ in 0..ATTEMPTS {
            let lacks = |manifest: &Manifest| manifest.files().any(|file| !place.has(&file));
            if !(place.listing.is_ok() && place.good_manifest().is_some_and(lacks)) {
                break;
            }
            let again = Self::ask_once(store, check);
            let is_settled = again.manifest == place.manifest;
            place = again;
            if is_settled {
                break;
            }
        }
        place
    }

    fn ask_once(store: &Arc<Store>, check: Option<&PlaceCheck>) -> Self {
        let manifest = store.manifest_state();
        let listing = match &manifest {
            Err(error) => Err(error.clone()),
            Ok(ManifestState::Good(manifest)) => store.list(manifest.names().count()),
            Ok(_) => {
                let files = check.map_or(0, |check| check.files);
                store.list(usize::try_from(files).unwrap_or(usize::MAX / 2))
            }
        };
        Self {
            store: Arc::clone(store),
            location: store.location().to_string(),
            manifest,
            listing,
            damaged: check.map_or_else(BTreeSet::new, |check| {
                check.damaged.iter().cloned().collect()
            }),
        }
    }

    pub(in crate::archive) fn good_manifest(&self) -> Option<&Manifest> {
        match &self.manifest {
            Ok(ManifestState::Good(manifest)) => Some(manifest),
            _ => None,
        }
    }

    pub(in crate::archive) fn length(&self, name: &str) -> Option<u64> {
        self.listing.as_ref().ok()?.length(name)
    }

    /// Whether the place is known to have a good copy of a file.
    pub(in crate::archive) fn has(&self, file: &StoredFile) -> bool {
        self.length(&file.name) == Some(file.length) && !self.damaged.contains(&file.name)
    }

    /// Notes that the place has a good copy now.
    pub(in crate::archive) fn add(&mut self, file: &StoredFile) {
        self.damaged.remove(&file.name);
        if let Ok(listing) = &mut self.listing {
            listing.add(file, SystemTime::now());
        }
    }

    /// The archive files that no manifest names, and that no running process can be about to name.
    pub(in crate::archive) fn unnamed(&self, manifest: &Manifest) -> Vec<String> {
        self.unnamed_of(manifest, is_archive_name)
    }

    /// The same for the files of the index.
    pub(in crate::archive) fn unnamed_index(&self, manifest: &Manifest) -> Vec<String> {
        self.unnamed_of(manifest, is_index_file)
    }

    fn unnamed_of(&self, manifest: &Manifest, is_wanted: fn(&str) -> bool) -> Vec<String> {
        let objects = self.listing.iter().flat_map(Listing::objects);
        let is_old = |modified: SystemTime| {
            let age = SystemTime::now().duration_since(modified);
            age.is_ok_and(|age| age > super::UNNAMED_FOR)
        };
        objects
            .filter(|(name, _, modified)| {
                let is_known = manifest.contains(name) || manifest.was_removed(name);
                is_wanted(name) && !is_known && is_old(*modified)
            })
            .map(|(name, ..)| name.to_owned())
            .collect()
    }
}
