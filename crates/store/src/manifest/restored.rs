//! The manifest of a place that has lost its own.

use super::{Manifest, StoredFile};

impl Manifest {
    /// The knowledge of these manifests, and files that are there besides, each with the names of those whose records
    /// it has. Of each name, the manifest with the highest serial that has it decides. The serial is above all of
    /// theirs, and above `least_serial`.
    pub fn restored<'a>(
        known: impl IntoIterator<Item = &'a Self>,
        found: impl IntoIterator<Item = (StoredFile, Vec<String>)>,
        least_serial: u64,
    ) -> Self {
        let mut known: Vec<&Self> = known.into_iter().collect();
        known.sort_by_key(|manifest| std::cmp::Reverse(manifest.serial));
        let mut restored = Self {
            serial: known
                .first()
                .map_or(0, |latest| latest.serial)
                .max(least_serial),
            ..Self::default()
        };
        for manifest in known {
            restored.add_unknown(manifest);
        }
        for (file, joined_from) in found {
            if restored.has_or_had(&file.name) {
                continue;
            }
            for former in joined_from {
                if restored.files.remove(&former).is_some() {
                    restored.removed.insert(former, Some(file.name.clone()));
                }
            }
            let known = (file.length, file.sha256);
            restored.files.insert(file.name, known);
        }
        restored.count_change();
        restored
    }

    fn add_unknown(&mut self, other: &Self) {
        let known = self.clone();
        for (name, file) in &other.files {
            if !known.has_or_had(name) {
                self.files.insert(name.clone(), *file);
            }
        }
        for (name, successor) in &other.removed {
            if !known.has_or_had(name) {
                self.removed.insert(name.clone(), successor.clone());
            }
        }
        let lost = other.lost.iter().filter(|name| !known.has_or_had(name));
        self.lost.extend(lost.cloned());
    }

    /// Leaves out the files that are not wanted, as if they had never been.
    pub fn retain_files(&mut self, is_wanted: impl Fn(&str) -> bool) {
        self.files.retain(|name, _| is_wanted(name));
    }

    /// Whether a file of this name is, was removed or is lost.
    pub fn has_or_had(&self, name: &str) -> bool {
        self.contains(name) || self.was_removed(name) || self.has_lost(name)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::manifest::ManifestChange;

    fn file(name: u8) -> StoredFile {
        StoredFile {
            name: format!("{name}.warc.gz"),
            length: u64::from(name),
            sha256: [name; 32],
        }
    }

    proptest! {
        /// Of the manifests of one history, the latest one is restored, whichever others are known.
        #[test]
        fn the_latest_manifest_decides(
            changes in prop::collection::vec((0..3_u8, any::<prop::sample::Index>()), 1..20),
            others in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
        ) {
            let mut history = vec![Manifest::default()];
            for (number, (kind, which)) in (0..).zip(changes) {
                let mut manifest = history[history.len() - 1].clone();
                let names: Vec<String> = manifest.names().map(str::to_owned).collect();
                let old = (!names.is_empty()).then(|| names[which.index(names.len())].clone());
                let mut change = ManifestChange::default();
                match (kind, old) {
                    (1, Some(old)) => {
                        change.remove.insert(old, Some(file(number).name));
                    }
                    (2, Some(old)) => {
                        change.lose.insert(old.clone());
                        // The manifest names the former files again.
                        let of_old = manifest.removed_names().find(|name| manifest.end_of(name) == Some(&old));
                        change.add.extend(of_old.map(|name| StoredFile { name: name.to_owned(), ..file(number) }));
                    }
                    _ => {}
                }
                change.add.push(file(number));
                prop_assert_eq!(manifest.apply(&change), Ok(true));
                manifest.count_change();
                history.push(manifest);
            }
            let latest = &history[history.len() - 1];
            let known = others.iter().map(|which| &history[which.index(history.len())]);
            let restored = Manifest::restored(known.chain([latest]), [(file(0), vec![])], 0);
            prop_assert_eq!(restored.serial(), latest.serial() + 1);
            prop_assert!(restored.files().eq(latest.files()));
            prop_assert_eq!(&restored.removed, &latest.removed);
            prop_assert_eq!(&restored.lost, &latest.lost);
            prop_assert_eq!(Manifest::parse(restored.render().as_bytes()), Ok(restored));
        }
    }
}
