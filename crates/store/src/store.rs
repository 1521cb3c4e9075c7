//! The store of an archive, and changes of its manifest.

use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use bytes::Bytes;
use urldb_http::Budget;

use crate::bucket::{Bucket, BucketAccess};
use crate::budgets::Budgets;
use crate::credentials::Environment;
use crate::error::{StoreError, StoreErrorKind};
use crate::folder::Folder;
use crate::listing::Listing;
use crate::location::{BucketLocation, Location};
use crate::manifest::{
    ChangeConflict, LARGEST_MANIFEST, MANIFEST_NAME, Manifest, ManifestChange, StoredFile,
    check_name, former_name,
};
use crate::objects::{Objects, Session};
use crate::unusable::Unusable;

/// The region where none is configured.
const DEFAULT_REGION: &str = "us-east-1";

/// Attempts at one change of the manifest, while others change it too.
const CHANGE_ATTEMPTS: u32 = 20;

/// Attempts at a write or a deletion whose answer was lost, beside those of the HTTP client.
const WRITE_ATTEMPTS: u32 = 3;

/// The address of a bucket, and the options of its connection.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// The bucket and the prefix.
    pub location: BucketLocation,
    /// The endpoint of the configuration; the environment wins. Without one, that of AWS.
    pub endpoint: Option<String>,
    /// The region of the configuration; the environment wins.
    pub region: Option<String>,
    /// Credentials, and the settings of the environment.
    pub environment: Environment,
    /// Options of requests. Their time limit is that of silence within a request.
    pub http: urldb_http::Options,
    /// The budgets of conversations.
    pub budgets: Budgets,
}

/// The store of an archive.
#[derive(Debug)]
pub struct Store {
    pub(crate) objects: Box<dyn Objects>,
    pub(crate) location: Location,
    pub(crate) budgets: Budgets,
}

/// The outcome of a change.
#[derive(Debug)]
pub struct ChangeOutcome {
    /// The manifest after the change.
    pub manifest: Manifest,
    /// Why objects of removed files are still there; the next change deletes them.
    pub undeleted: Option<StoreError>,
}

/// A manifest as an object.
struct ManifestObject {
    manifest: Manifest,
    text: Bytes,
    /// The entity tag.
    tag: String,
}

impl Store {
    /// The store in a folder. Reads nothing.
    pub fn in_folder(path: &Path) -> Self {
        Self {
            objects: Box::new(Folder::new(path)),
            location: Location::Folder(path.to_owned()),
            budgets: Budgets::default(),
        }
    }

    /// A store that cannot be set up: each request fails for this reason.
    pub fn unusable(location: Location, why: StoreError) -> Self {
        Self {
            objects: Box::new(Unusable(why)),
            location,
            budgets: Budgets::default(),
        }
    }

    /// Sets up the connection to a bucket. Sends no request.
    ///
    /// # Errors
    /// When the endpoint is not one, or TLS cannot be set up.
    pub fn open(options: &StoreOptions) -> Result<Self, StoreError> {
        let StoreOptions {
            location,
            endpoint,
            region,
            environment,
            http,
            budgets,
        } = options;
        let endpoint = environment.endpoint.as_deref().or(endpoint.as_deref());
        let endpoint = endpoint
            .map(|text| {
                let url =
                    urldb_http::endpoint(text, environment.allow_http).map_err(|problem| {
                        StoreError::new(
                            StoreErrorKind::Refused,
                            format!(
                                "the endpoint of the archive's store cannot be used: {problem}"
                            ),
                        )
                    })?;
                Ok(url.as_str().trim_end_matches('/').to_owned())
            })
            .transpose()?;
        let region = environment.region.as_deref().or(region.as_deref());
        let objects = Bucket::new(&BucketAccess {
            location,
            endpoint: endpoint.as_deref(),
            region: region.unwrap_or(DEFAULT_REGION),
            credentials: &environment.credentials,
            http,
        })?;
        Ok(Self {
            objects: Box::new(objects),
            location: Location::Bucket(location.clone()),
            budgets: *budgets,
        })
    }

    /// The place of the store.
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// The manifest; an empty one if the store is new.
    ///
    /// # Errors
    /// When the store cannot be reached, or the manifest cannot be used.
    pub fn manifest(&self) -> Result<Manifest, StoreError> {
        let read = self.read_manifest()?;
        Ok(read.map(|it| it.manifest).unwrap_or_default())
    }

    /// The manifest; `None` if the store is new.
    fn read_manifest(&self) -> Result<Option<ManifestObject>, StoreError> {
        let read = self
            .objects
            .converse(self.budgets.manifest)
            .get(MANIFEST_NAME);
        let (text, tag) = match read {
            Err(error) if error.kind() == StoreErrorKind::Missing => return Ok(None),
            read => read?,
        };
        let manifest = Manifest::parse(&text).map_err(|problem| {
            self.damaged(
                MANIFEST_NAME,
                &format!(
"the list of the archive's files is damaged: {problem}; `urldb archive repair` mends it"
                ),
            )
        })?;
        let tag = tag.ok_or_else(|| {
            self.cannot(
                "it sends no entity tag (ETag), without which two runs could not write safely",
            )
        })?;
        Ok(Some(ManifestObject {
            manifest,
            text,
            tag,
        }))
    }

    pub(crate) fn damaged(&self, name: &str, problem: &str) -> StoreError {
        StoreError::damaged(name, &self.location, problem)
    }

    /// Changes the manifest as a whole or not at all, then deletes the objects of removed files. The
    /// objects of new files must have been written by [`Store::upload`].
    ///
    /// # Errors
    /// When a file to remove is gone, or a new one is there with other bytes or was removed before
    /// ([`StoreErrorKind::Conflict`]); or when the manifest cannot be written.
    pub fn publish(&self, change: &ManifestChange) -> Result<ChangeOutcome, StoreError> {
        let manifest = self.change(|manifest| {
            manifest.apply(change).map_err(|conflict| {
                StoreError::new(
                    StoreErrorKind::Conflict,
                    match conflict {
                        ChangeConflict::Other(name) => {
                            format!("{} has another {name}", self.location)
                        }
                        ChangeConflict::Removed(name) => {
                            format!("{name} was removed from {}", self.location)
                        }
                        ChangeConflict::Gone(name) => format!(
                            "{name} is no longer in {}: another process replaced it meanwhile",
                            self.location
                        ),
                    },
                )
            })
        })?;
        let undeleted = change
            .remove
            .keys()
            .try_for_each(|name| self.delete(name))
            .err();
        Ok(ChangeOutcome {
            manifest,
            undeleted,
        })
    }

    /// Deletes what the store has and does not need: the objects of removed files whose records are in a file
    /// that the store has, which a killed process left, and former manifests but the last 8.
    ///
    /// # Errors
    /// When an object cannot be deleted; the next time makes up for it.
    pub fn tidy(&self, manifest: &Manifest, listing: &Listing) -> Result<(), StoreError> {
        let has = |file: &StoredFile| listing.has(file);
        let is_needless =
            |name: &&str| manifest.is_forgotten(name) || manifest.is_superseded(name, has);
        listing
            .names()
            .filter(is_needless)
            .try_for_each(|name| self.delete(name))
    }

    /// Deletes the objects of files that were uploaded and will not be published. Objects of files in the
    /// manifest stay. The objects need not be there.
    ///
    /// # Errors
    /// When the manifest cannot be read, or an object cannot be deleted.
    pub fn discard<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Result<(), StoreError> {
        let manifest = self.manifest()?;
        let is_unknown = |name: &&str| check_name(name).is_ok() && !manifest.contains(name);
        names
            .into_iter()
            .filter(is_unknown)
            .try_for_each(|name| self.delete(name))
    }

    /// Deletes an object, which need not be there: so the request may be repeated.
    fn delete(&self, name: &str) -> Result<(), StoreError> {
        self.attempt(self.budgets.upload(0), |session| session.delete(name))
    }

    /// Works in a conversation, and again in another one if the answer was lost.
    pub(crate) fn attempt<T>(
        &self,
        budget: Budget,
        work: impl Fn(&dyn Session) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut attempt = 1;
        loop {
            match work(&*self.objects.converse(budget)) {
                Err(error) if error.is_transient() && attempt < WRITE_ATTEMPTS => attempt += 1,
                done => return done,
            }
        }
    }

    /// Replaces the manifest, after a copy of the former one is written.
    fn replace(&self, former: &ManifestObject, text: Bytes) -> Result<(), StoreError> {
        let session = self.objects.converse(self.budgets.manifest);
        let copy = former_name(former.manifest.serial());
        match session.create(&copy, former.text.clone()) {
            // Another process, or one that was killed, has written it.
            Err(error) if error.kind() == StoreErrorKind::Conflict => {}
            created => drop(created?),
        }
        session.replace(MANIFEST_NAME, text, &former.tag)
    }

    /// Reads the manifest, changes it, and writes it if it has not changed meanwhile; else again.
    fn change(
        &self,
        change: impl Fn(&mut Manifest) -> Result<bool, StoreError>,
    ) -> Result<Manifest, StoreError> {
        let mut failures = 0;
        for attempt in 0..CHANGE_ATTEMPTS {
            if attempt > 0 {
                // Writers that meet once should not meet again.
                let jitter = u64::from(std::process::id() % 7);
                sleep(Duration::from_millis(
                    (20 + 10 * jitter) * u64::from(attempt),
                ));
            }
            let Some(former) = self.read_manifest()? else {
                self.prepare()?;
                continue;
            };
            let mut manifest = former.manifest.clone();
            if !change(&mut manifest)? {
                return Ok(manifest);
            }
            manifest.count_change();
            let text = Bytes::from(manifest.render());
            if text.len() as u64 > LARGEST_MANIFEST {
                return Err(StoreError::new(
                    StoreErrorKind::Full,
                    format!(
                        "the manifest of {} has too many files: `urldb archive compact` joins them",
                        self.location
                    ),
                ));
            }
            match self.replace(&former, text) {
                Ok(()) => return Ok(manifest),
                Err(error) if error.kind() == StoreErrorKind::Conflict => {}
                // The write may have worked: what the store has now, decides.
                Err(error) if error.is_transient() && failures < WRITE_ATTEMPTS => failures += 1,
                Err(error) => return Err(error),
            }
        }
        Err(self.busy())
    }

    /// Makes the manifest of a new store, before the first file is uploaded, and refuses a store that
    /// ignores conditions: two runs at once would lose the files of one of them. Does nothing if there is a
    /// manifest.
    ///
    /// # Errors
    /// As said, and when the store cannot be reached.
    pub fn prepare(&self) -> Result<(), StoreError> {
        if self.read_manifest()?.is_some() {
            return Ok(());
        }
        let text = Bytes::from(Manifest::default().render());
        let session = self.objects.converse(self.budgets.manifest);
        match session.create(MANIFEST_NAME, text.clone()) {
            Ok(tag) => self.ensure_conditional(&*session, &text, tag.as_deref()),
            // Another process, or a request whose answer was lost.
            Err(error) if error.kind() == StoreErrorKind::Conflict => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn ensure_conditional(
        &self,
        session: &dyn Session,
        text: &Bytes,
        tag: Option<&str>,
    ) -> Result<(), StoreError> {
        let is_ignored = session.create(MANIFEST_NAME, text.clone()).is_ok()
            || tag.is_some()
                && session
                    .replace(MANIFEST_NAME, text.clone(), "\"urldb-no-such-tag\"")
                    .is_ok();
        if is_ignored {
            // The manifest of this attempt must not stay in a store that urldb refuses.
            let _ = session.delete(MANIFEST_NAME);
            return Err(self.cannot(
                "it ignores the conditions of writes (If-Match, If-None-Match), without which two runs could \
                 not write safely",
            ));
        }
        Ok(())
    }

    /// Gives this place a copy of the manifest of the first store, whose new files it has. A copy with the same
    /// or a higher serial stays.
    ///
    /// # Errors
    /// When the manifest of this place cannot be used, or the copy cannot be written.
    pub fn copy_manifest(&self, manifest: &Manifest) -> Result<(), StoreError> {
        let mut failures = 0;
        for _ in 0..CHANGE_ATTEMPTS {
            let Some(former) = self.read_manifest()? else {
                self.prepare()?;
                continue;
            };
            if former.manifest.serial() >= manifest.serial() {
                return Ok(());
            }
            match self.replace(&former, Bytes::from(manifest.render())) {
                Err(error) if error.kind() == StoreErrorKind::Conflict => {}
                Err(error) if error.is_transient() && failures < WRITE_ATTEMPTS => failures += 1,
                replaced => return replaced,
            }
        }
        Err(self.busy())
    }

    fn busy(&self) -> StoreError {
        StoreError::new(
            StoreErrorKind::Unreachable,
            format!(
                "the manifest of {} changes all the time: other processes write to it",
                self.location
            ),
        )
    }

    pub(crate) fn cannot(&self, problem: &str) -> StoreError {
        StoreError::new(
            StoreErrorKind::Refused,
            format!("{} cannot be used: {problem}", self.location),
        )
    }
}

/// Asks stores in their order, until one has what is asked for. The error is that of the first one.
///
/// # Errors
/// When none has it, or when a file on this machine cannot be written.
pub fn first_that_has<T>(
    stores: &[Store],
    mut ask: impl FnMut(&Store) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let mut first = None;
    for store in stores {
        match ask(store) {
            Ok(found) => return Ok(found),
            Err(error) if error.kind() == StoreErrorKind::Local => return Err(error),
            Err(error) => drop(first.get_or_insert(error)),
        }
    }
    Err(first.unwrap_or_else(|| StoreError::new(StoreErrorKind::Missing, "there is no store")))
}
