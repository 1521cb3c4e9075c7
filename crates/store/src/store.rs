//! The store of an archive: its manifest, and the files that the manifest names.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Write};
use std::thread::sleep;
use std::time::Duration;

use bytes::Bytes;
use sha2::{Digest, Sha256};
use urldb_files::{Limit, RootFile};
use urldb_http::Budget;

use crate::budgets::Budgets;
use crate::credentials::Environment;
use crate::error::{StoreError, StoreErrorKind};
use crate::location::Location;
use crate::manifest::{
    ChangeConflict, LARGEST_MANIFEST, Manifest, ManifestChange, StoredFile, check_name,
};
use crate::objects::{Access, Objects, PART, Session};

/// The name of the manifest below the prefix.
pub const MANIFEST_NAME: &str = "manifest.json";

/// The region where none is configured.
const DEFAULT_REGION: &str = "us-east-1";

/// Attempts at one change of the manifest, while others change it too.
const CHANGE_ATTEMPTS: u32 = 20;

/// Attempts at a write or a deletion whose answer was lost, beside those of the HTTP client.
const WRITE_ATTEMPTS: u32 = 3;

/// Where the store is, and how to reach it.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// The bucket and the prefix.
    pub location: Location,
    /// The endpoint of the configuration; the environment wins. Without one, that of AWS.
    pub endpoint: Option<String>,
    /// The region of the configuration; the environment wins.
    pub region: Option<String>,
    /// Credentials, and the settings of the environment.
    pub environment: Environment,
    /// How requests are sent. Its time limit is that of silence within a request.
    pub http: urldb_http::Options,
    /// What conversations may take.
    pub budgets: Budgets,
}

/// The store of an archive.
#[derive(Debug)]
pub struct Store {
    objects: Objects,
    location: Location,
    budgets: Budgets,
}

/// The outcome of a change.
#[derive(Debug)]
pub struct Published {
    /// The manifest after the change.
    pub manifest: Manifest,
    /// Why objects of removed files are still there; the next change deletes them.
    pub undeleted: Option<StoreError>,
}

impl Store {
    /// Sets up the connection. Sends no request.
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
        let endpoint = endpoint.map(|text| {
            let url = urldb_http::endpoint(text, environment.allow_http).map_err(|problem| {
                StoreError::new(
                    StoreErrorKind::Refused,
                    format!("the endpoint of the archive's store cannot be used: {problem}"),
                )
            })?;
            Ok(url.as_str().trim_end_matches('/').to_owned())
        });
        let endpoint = endpoint.transpose()?;
        let region = environment.region.as_deref().or(region.as_deref());
        let objects = Objects::new(&Access {
            location,
            endpoint: endpoint.as_deref(),
            region: region.unwrap_or(DEFAULT_REGION),
            credentials: &environment.credentials,
            http,
        })?;
        Ok(Self {
            objects,
            location: location.clone(),
            budgets: *budgets,
        })
    }

    /// The bucket and the prefix.
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// The manifest; an empty one if the store is new.
    ///
    /// # Errors
    /// When the store cannot be reached, or the manifest cannot be used.
    pub fn manifest(&self) -> Result<Manifest, StoreError> {
        Ok(self
            .read_manifest()?
            .map(|(manifest, _)| manifest)
            .unwrap_or_default())
    }

    /// The manifest and its entity tag; `None` if the store is new.
    fn read_manifest(&self) -> Result<Option<(Manifest, String)>, StoreError> {
        let read = self
            .objects
            .converse(self.budgets.manifest)
            .get(MANIFEST_NAME);
        let (text, tag) = match read {
            Err(error) if error.kind() == StoreErrorKind::Missing => return Ok(None),
            read => read?,
        };
        let manifest = Manifest::parse(&text).map_err(|problem| {
            self.objects.damaged(
                MANIFEST_NAME,
                &format!(
                    "the list of the archive's files is damaged: {problem}; put an earlier version of this \
                     object back"
                ),
            )
        })?;
        let tag = tag.ok_or_else(|| {
            self.cannot(
                "it sends no entity tag (ETag), without which two runs could not write safely",
            )
        })?;
        Ok(Some((manifest, tag)))
    }

    /// Writes the object of a file, whose bytes `local` has. The file counts once [`Store::publish`]
    /// has added it. Writing the same file again is no error.
    ///
    /// # Errors
    /// When the store has an object of this name with other bytes ([`StoreErrorKind::Conflict`]), or
    /// when the object cannot be written.
    pub fn upload(&self, name: &str, local: &RootFile) -> Result<StoredFile, StoreError> {
        check_name(name).map_err(|problem| {
            StoreError::new(
                StoreErrorKind::Local,
                format!("{name} cannot be stored: {problem}"),
            )
        })?;
        let unreadable = |error: io::Error| {
            StoreError::new(
                StoreErrorKind::Local,
                format!("{local} cannot be read: {error}"),
            )
        };
        let known = local.open().and_then(|file| file.metadata());
        let length = known.map_err(unreadable)?.len();
        if length <= PART {
            let bytes = local.read(Limit::bytes(PART)).map_err(unreadable)?;
            self.upload_small(name, &bytes.into())
        } else {
            self.upload_large(name, || local.open().map_err(unreadable), length)
        }
    }

    fn upload_small(&self, name: &str, bytes: &Bytes) -> Result<StoredFile, StoreError> {
        let file = StoredFile {
            name: name.to_owned(),
            length: bytes.len() as u64,
            sha256: Sha256::digest(bytes).into(),
        };
        let created = self.attempt(self.budgets.upload(file.length), |session| {
            session.create(name, bytes.clone())
        });
        match created {
            Ok(_) => {}
            // A create whose answer was lost, or which a killed process made.
            Err(error) if error.kind() == StoreErrorKind::Conflict => self.compare_object(&file)?,
            Err(error) => return Err(error),
        }
        Ok(file)
    }

    fn upload_large(
        &self,
        name: &str,
        open: impl Fn() -> Result<File, StoreError>,
        length: u64,
    ) -> Result<StoredFile, StoreError> {
        let local = || {
            let (length, sha256) = hash(open()?).map_err(|error| {
                StoreError::new(
                    StoreErrorKind::Local,
                    format!("{name} cannot be read: {error}"),
                )
            })?;
            Ok(StoredFile {
                name: name.to_owned(),
                length,
                sha256,
            })
        };
        let session = self.objects.converse(self.budgets.upload(length));
        let written = match session.length(name)? {
            None => Some(session.put_parts(name, open()?, length)),
            Some(_) => None,
        };
        drop(session);
        match written {
            Some(Ok((length, sha256))) => {
                return Ok(StoredFile {
                    name: name.to_owned(),
                    length,
                    sha256,
                });
            }
            // The answer to the last request may have been lost.
            Some(Err(error)) => {
                let is_local = error.kind() == StoreErrorKind::Local;
                if is_local || self.length(name).ok().flatten().is_none() {
                    return Err(error);
                }
            }
            None => {}
        }
        let file = local()?;
        self.compare_object(&file)?;
        Ok(file)
    }

    /// The length of an object; `None` if there is none.
    fn length(&self, name: &str) -> Result<Option<u64>, StoreError> {
        self.objects.converse(self.budgets.download(0)).length(name)
    }

    /// Whether the object of this name has the bytes of the file.
    fn compare_object(&self, file: &StoredFile) -> Result<(), StoreError> {
        let name = &file.name;
        let other = || {
            StoreError::new(
                StoreErrorKind::Conflict,
                format!(
                    "{} has another {name} than this machine: rename one of the two",
                    self.location
                ),
            )
        };
        if self.length(name)? != Some(file.length) {
            return Err(other());
        }
        match self.download(file, &mut io::sink()) {
            Err(error) if error.kind() == StoreErrorKind::Damaged => Err(other()),
            compared => compared,
        }
    }

    /// Changes the manifest as a whole or not at all, then deletes the objects of removed files. The
    /// objects of new files must have been written by [`Store::upload`].
    ///
    /// # Errors
    /// When a file to remove is gone, or a new one is there with other bytes or was removed before
    /// ([`StoreErrorKind::Conflict`]); or when the manifest cannot be written.
    pub fn publish(&self, change: &ManifestChange) -> Result<Published, StoreError> {
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
        let names: Vec<String> = manifest.removing().map(str::to_owned).collect();
        if names.is_empty() {
            return Ok(Published {
                manifest,
                undeleted: None,
            });
        }
        let (mut gone, mut undeleted) = (BTreeSet::new(), None);
        for name in names {
            match self.delete(&name) {
                Ok(()) => drop(gone.insert(name)),
                Err(error) => {
                    undeleted = Some(error);
                    break;
                }
            }
        }
        let noted = self.change(|manifest| {
            let before = manifest.clone();
            manifest.forget_objects(&gone);
            Ok(*manifest != before)
        });
        Ok(match noted {
            Ok(manifest) => Published {
                manifest,
                undeleted,
            },
            Err(error) => Published {
                manifest,
                undeleted: undeleted.or(Some(error)),
            },
        })
    }

    /// Deletes the objects of files that were uploaded and will not be published. Objects of files in the
    /// manifest stay. The objects need not be there.
    ///
    /// # Errors
    /// When the manifest cannot be read, or an object cannot be deleted.
    pub fn discard<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Result<(), StoreError> {
        let manifest = self.manifest()?;
        let is_unknown = |name: &&str| check_name(name).is_ok() && !manifest.contains(name);
        let mut unknown = names.into_iter().filter(is_unknown);
        unknown.try_for_each(|name| self.delete(name))
    }

    /// Deletes an object, which need not be there: so the request may be repeated.
    fn delete(&self, name: &str) -> Result<(), StoreError> {
        self.attempt(self.budgets.upload(0), |session| session.delete(name))
    }

    /// Works in a conversation, and again in another one if the answer was lost.
    fn attempt<T>(
        &self,
        budget: Budget,
        work: impl Fn(&Session<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut attempt = 1;
        loop {
            match work(&self.objects.converse(budget)) {
                Err(error) if error.is_transient() && attempt < WRITE_ATTEMPTS => attempt += 1,
                done => return done,
            }
        }
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
            let Some((mut manifest, tag)) = self.read_manifest()? else {
                self.prepare()?;
                continue;
            };
            if !change(&mut manifest)? {
                return Ok(manifest);
            }
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
            let session = self.objects.converse(self.budgets.manifest);
            let replaced = session.replace(MANIFEST_NAME, text, &tag);
            drop(session);
            match replaced {
                Ok(_) => return Ok(manifest),
                Err(error) if error.kind() == StoreErrorKind::Conflict => {}
                // The write may have worked: what the store has now, decides.
                Err(error) if error.is_transient() && failures < WRITE_ATTEMPTS => failures += 1,
                Err(error) => return Err(error),
            }
        }
        Err(StoreError::new(
            StoreErrorKind::Unreachable,
            format!(
                "the manifest of {} changes all the time: other processes write to it",
                self.location
            ),
        ))
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
            Ok(tag) => self.ensure_conditional(&session, &text, tag.as_deref()),
            // Another process, or a request whose answer was lost.
            Err(error) if error.kind() == StoreErrorKind::Conflict => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn ensure_conditional(
        &self,
        session: &Session<'_>,
        text: &Bytes,
        tag: Option<&str>,
    ) -> Result<(), StoreError> {
        let created = session.create(MANIFEST_NAME, text.clone());
        let is_ignored = created.is_ok()
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

    /// Reads a range of a file, at most 8 MiB. The bytes cannot be proven: only the whole file has a
    /// digest.
    ///
    /// # Errors
    /// When the object is gone or has another length, or cannot be read.
    pub fn range(&self, file: &StoredFile, from: u64, length: u64) -> Result<Bytes, StoreError> {
        let budget = self.budgets.download(length.min(PART));
        range(&self.objects.converse(budget), file, from, length)
    }

    /// Copies a whole file, whose bytes are proven by the digest in the manifest.
    ///
    /// # Errors
    /// When the object is gone, has other bytes, or cannot be read; the output must then not be used.
    pub fn download(&self, file: &StoredFile, output: &mut impl Write) -> Result<(), StoreError> {
        let session = self.objects.converse(self.budgets.download(file.length));
        let mut hasher = Sha256::new();
        let mut from = 0;
        // An empty object has no range; its length is checked all the same.
        if file.length == 0 && session.length(&file.name)? != Some(0) {
            return Err(self
                .objects
                .damaged(&file.name, "it is not there, or not empty"));
        }
        while from < file.length {
            let bytes = range(&session, file, from, PART)?;
            hasher.update(&bytes);
            output.write_all(&bytes).map_err(|error| {
                StoreError::new(
                    StoreErrorKind::Local,
                    format!("{} cannot be copied to this machine: {error}", file.name),
                )
            })?;
            from += bytes.len() as u64;
        }
        let found: [u8; 32] = hasher.finalize().into();
        if found == file.sha256 {
            Ok(())
        } else {
            Err(self.objects.damaged(
                &file.name,
                "its bytes have another SHA-256 than the manifest says",
            ))
        }
    }

    /// The names and lengths of all objects but the manifest, which names about `expected` of them.
    ///
    /// # Errors
    /// When they cannot be listed, or the store lists without end.
    pub fn list(&self, expected: usize) -> Result<Vec<(String, u64)>, StoreError> {
        let mut objects = self.objects.converse(self.budgets.list(expected)).list()?;
        objects.retain(|(name, _)| name != MANIFEST_NAME);
        Ok(objects)
    }

    fn cannot(&self, problem: &str) -> StoreError {
        StoreError::new(
            StoreErrorKind::Refused,
            format!("{} cannot be used: {problem}", self.location),
        )
    }
}

fn range(
    session: &Session<'_>,
    file: &StoredFile,
    from: u64,
    length: u64,
) -> Result<Bytes, StoreError> {
    let end = from.saturating_add(length.min(PART)).min(file.length);
    session.range(&file.name, file.length, from.min(end)..end)
}

/// The length and the SHA-256 of a file.
///
/// # Errors
/// When the file cannot be read.
pub fn hash(mut file: impl Read) -> io::Result<(u64, [u8; 32])> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 128 * 1024];
    let mut length = 0;
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok((length, hasher.finalize().into())),
            read => {
                hasher.update(&buffer[..read]);
                length += read as u64;
            }
        }
    }
}
