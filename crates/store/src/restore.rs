//! The state of a place without a good manifest, and the way back to one.

use bytes::Bytes;

use crate::error::{StoreError, StoreErrorKind};
use crate::listing::Listing;
use crate::manifest::{MANIFEST_NAME, Manifest, former_name, serial_of_former};
use crate::store::Store;

/// The manifest of a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ManifestState {
    /// There is none: the place is new, or has lost it.
    Absent,
    /// A manifest.
    Good(Manifest),
    /// Bytes that are no manifest; why, for people.
    Damaged(String),
}

impl Store {
    /// The object that the place has as its manifest.
    ///
    /// # Errors
    /// When the place cannot be asked, or its manifest is of another format
    /// ([`StoreErrorKind::Refused`]).
    pub fn manifest_state(&self) -> Result<ManifestState, StoreError> {
        let session = self.objects.converse(self.budgets.manifest);
        let text = match session.get(MANIFEST_NAME) {
            Ok((text, _)) => text,
            Err(error) => {
                return match error.kind() {
                    StoreErrorKind::Missing => Ok(ManifestState::Absent),
                    StoreErrorKind::Damaged => Ok(ManifestState::Damaged(error.to_string())),
                    _ => Err(error),
                };
            }
        };
        match Manifest::parse(&text) {
            Ok(manifest) => Ok(ManifestState::Good(manifest)),
            Err(problem) if problem.is_other_format() => Err(self.cannot(&problem.to_string())),
            Err(problem) => Ok(ManifestState::Damaged(problem.to_string())),
        }
    }

    /// The latest former manifest that can be read.
    ///
    /// # Errors
    /// When the place cannot be asked.
    pub fn former_manifest(&self, listing: &Listing) -> Result<Option<Manifest>, StoreError> {
        let mut serials: Vec<u64> = listing.names().filter_map(serial_of_former).collect();
        serials.sort_unstable();
        for serial in serials.into_iter().rev() {
            let session = self.objects.converse(self.budgets.manifest);
            match session.get(&former_name(serial)) {
                Ok((text, _)) => {
                    if let Ok(manifest) = Manifest::parse(&text) {
                        return Ok(Some(manifest));
                    }
                }
                Err(error) if error.is_transient() => return Err(error),
                Err(_) => {}
            }
        }
        Ok(None)
    }

    /// Gives the place this manifest in place of a missing, a damaged or an older one.
    ///
    /// # Errors
    /// When the place has a manifest of the same or a higher serial, another process writes it meanwhile
    /// ([`StoreErrorKind::Conflict`]), or it cannot be written.
    pub fn restore_manifest(&self, manifest: &Manifest) -> Result<(), StoreError> {
        let text = Bytes::from(manifest.render());
        let session = self.objects.converse(self.budgets.manifest);
        let (former, tag) = match session.get(MANIFEST_NAME) {
            Ok(found) => found,
            Err(error) if error.kind() == StoreErrorKind::Missing => {
                return session.create(MANIFEST_NAME, text).map(drop);
            }
            Err(error) => return Err(error),
        };
        if let Ok(former) = Manifest::parse(&former)
            && former.serial() >= manifest.serial()
        {
            return Err(StoreError::new(
                StoreErrorKind::Conflict,
                format!("the manifest of {} has changed meanwhile", self.location),
            ));
        }
        session.replace(MANIFEST_NAME, text, &tag.unwrap_or_default())
    }
}
