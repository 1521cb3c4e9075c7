//! The objects in a bucket: each request blocks, while `object_store` works on a thread of its own.

use std::error::Error;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::{StreamExt, TryStreamExt};
use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey, Checksum};
use object_store::client::{HttpError, HttpErrorKind};
use object_store::path::Path;
use object_store::{
    BackoffConfig, GetOptions, GetRange, ObjectStore, ObjectStoreExt, PutMode, PutOptions,
    PutPayload, RetryConfig, UpdateVersion, WriteMultipart,
};
use sha2::{Digest, Sha256};
use tokio::runtime::Runtime;
use urldb_http::{Budget, Client, Conversation};
use urldb_text::{register_secret, sanitize};

use crate::credentials::Credentials;
use crate::error::{StoreError, StoreErrorKind, too_many};
use crate::http_client::CurrentConversation;
use crate::listing::{ListedObject, Listing};
use crate::location::BucketLocation;
use crate::objects::{Objects, PART, Session};

/// Most parts of an object.
const MOST_PARTS: u64 = 10_000;

/// Number of parts that are sent at the same time.
const PARTS_AT_ONCE: usize = 4;

/// A store that is unavailable must not hold up a run for long: the next run makes up for it.
fn retries() -> RetryConfig {
    RetryConfig {
        backoff: BackoffConfig {
            init_backoff: Duration::from_millis(100),
            max_backoff: Duration::from_secs(5),
            base: 2.0,
        },
        max_retries: 6,
        retry_timeout: Duration::from_mins(1),
    }
}

pub(crate) struct BucketAccess<'a> {
    pub(crate) location: &'a BucketLocation,
    pub(crate) endpoint: Option<&'a str>,
    pub(crate) region: &'a str,
    pub(crate) credentials: &'a Credentials,
    pub(crate) http: &'a urldb_http::Options,
}

impl BucketAccess<'_> {
    /// The settings of the bucket, whose requests belong to the `running` conversation.
    fn builder(&self, running: &CurrentConversation) -> AmazonS3Builder {
        let builder = AmazonS3Builder::new()
            .with_bucket_name(self.location.bucket())
            .with_region(self.region)
            .with_checksum_algorithm(Checksum::SHA256)
            .with_allow_http(true)
            // One request for one object: not every store knows S3's deletion of many.
            .with_disable_bulk_delete(true)
            .with_retry(retries())
            .with_http_connector(running.clone());
        let builder = match self.endpoint {
            Some(endpoint) => builder.with_endpoint(endpoint),
            None => builder,
        };
        self.sign(builder)
    }

    /// Sets the credentials, and registers the secrets among them.
    fn sign(&self, builder: AmazonS3Builder) -> AmazonS3Builder {
        match self.credentials {
            Credentials::Key { id, secret, token } => {
                register_secret(secret);
                let builder = builder
                    .with_access_key_id(id)
                    .with_secret_access_key(secret);
                match token {
                    Some(token) => {
                        register_secret(token);
                        builder.with_token(token)
                    }
                    None => builder,
                }
            }
            Credentials::WebIdentity {
                token_file,
                role,
                session,
            } => {
                let builder = builder
                    .with_config(AmazonS3ConfigKey::WebIdentityTokenFile, token_file)
                    .with_config(AmazonS3ConfigKey::RoleArn, role);
                match session {
                    Some(session) => {
                        builder.with_config(AmazonS3ConfigKey::RoleSessionName, session)
                    }
                    None => builder,
                }
            }
            // A key that is never used keeps the crate from asking a metadata service for one.
            Credentials::None => builder
                .with_access_key_id("none")
                .with_secret_access_key("none")
                .with_skip_signature(true),
        }
    }
}

/// The objects below a prefix of a bucket.
pub(crate) struct Bucket {
    location: BucketLocation,
    service: Arc<AmazonS3>,
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
    client: Client,
    running: CurrentConversation,
    /// Held by the running conversation: the bucket has one at a time.
    turn: Mutex<()>,
}

/// A conversation with the bucket. Another one waits for its end.
struct BucketSession<'a> {
    bucket: &'a Bucket,
    conversation: Conversation,
    _turn: MutexGuard<'a, ()>,
}

impl Bucket {
    /// Sets up TLS and the signature. Sends no request.
    pub(crate) fn new(access: &BucketAccess<'_>) -> Result<Self, StoreError> {
        let refused = |text: String| StoreError::new(StoreErrorKind::Refused, text);
        let client = Client::keeping_connections(access.http);
        let client = client.map_err(|error| refused(error.to_string()))?;
        let running = CurrentConversation::default();
        let service = access.builder(&running).build().map_err(|error| {
            refused(format!("the store cannot be set up: {}", one_line(&error)))
        })?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("store")
            .enable_all()
            .build()
            .map_err(|error| {
                StoreError::new(
                    StoreErrorKind::Local,
                    format!("the thread of the store cannot be started: {error}"),
                )
            })?;
        Ok(Self {
            location: access.location.clone(),
            service: Arc::new(service),
            runtime: Some(runtime),
            client,
            running,
            turn: Mutex::default(),
        })
    }

    fn path(&self, name: &str) -> Result<Path, StoreError> {
        Path::parse(self.location.key(name)).map_err(|_| self.bad_name(name))
    }

    fn bad_name(&self, name: &str) -> StoreError {
        StoreError::new(
            StoreErrorKind::Refused,
            format!(
                "{name} cannot be the name of an object in {}",
                self.location
            ),
        )
    }
}

impl Objects for Bucket {
    fn converse(&self, budget: Budget) -> Box<dyn Session + '_> {
        let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let conversation = self.client.converse(budget);
        self.running.set(Some(conversation.clone()));
        Box::new(BucketSession {
            bucket: self,
            conversation,
            _turn: turn,
        })
    }
}

impl Session for BucketSession<'_> {
    fn get(&self, name: &str) -> Result<(Bytes, Option<String>), StoreError> {
        let path = self.bucket.path(name)?;
        self.request(name, "reading", move |bucket| async move {
            let found = bucket.get_opts(&path, GetOptions::default()).await?;
            let tag = found.meta.e_tag.clone();
            // Not `bytes()`, which would believe the length that the server says.
            let mut bytes = BytesMut::new();
            let mut stream = found.into_stream();
            while let Some(chunk) = stream.next().await {
                bytes.extend_from_slice(&chunk?);
            }
            Ok((bytes.freeze(), tag))
        })
    }

    fn range(&self, name: &str, length: u64, range: Range<u64>) -> Result<Bytes, StoreError> {
        if range.is_empty() {
            return Ok(Bytes::new());
        }
        let path = self.bucket.path(name)?;
        let wanted = range.end - range.start;
        self.request(name, "reading", move |bucket| async move {
            let options = GetOptions {
                range: Some(GetRange::Bounded(range)),
                ..GetOptions::default()
            };
            let found = bucket.get_opts(&path, options).await?;
            let size = found.meta.size;
            if size != length {
                let problem = format!("it has {size} bytes, and the manifest says {length}");
                return Ok(Err(problem));
            }
            let mut bytes = BytesMut::new();
            let mut stream = found.into_stream();
            while let Some(chunk) = stream.next().await {
                bytes.extend_from_slice(&chunk?);
                if bytes.len() as u64 > wanted {
                    return Ok(Err(format!(
                        "it is longer than the {length} bytes that it says"
                    )));
                }
            }
            if bytes.len() as u64 != wanted {
                return Ok(Err("a range of it came incomplete".to_owned()));
            }
            Ok(Ok(bytes.freeze()))
        })?
        .map_err(|problem| StoreError::damaged(name, &self.bucket.location, &problem))
    }

    fn length(&self, name: &str) -> Result<Option<u64>, StoreError> {
        let path = self.bucket.path(name)?;
        let found = self.request(name, "looking for", move |bucket| async move {
            bucket.head(&path).await.map(|found| found.size)
        });
        match found {
            Err(error) if error.kind() == StoreErrorKind::Missing => Ok(None),
            found => found.map(Some),
        }
    }

    fn create(&self, name: &str, bytes: Bytes) -> Result<Option<String>, StoreError> {
        self.put(name, bytes, PutMode::Create)
    }

    fn replace(&self, name: &str, bytes: Bytes, tag: &str) -> Result<(), StoreError> {
        let version = UpdateVersion {
            e_tag: Some(tag.to_owned()),
            version: None,
        };
        self.put(name, bytes, PutMode::Update(version)).map(drop)
    }

    fn put_parts(
        &self,
        name: &str,
        mut file: File,
        length: u64,
    ) -> Result<(u64, [u8; 32]), StoreError> {
        let path = self.bucket.path(name)?;
        let part = PART.max(length / (MOST_PARTS - 1) + 1);
        let part = usize::try_from(part).unwrap_or(usize::MAX);
        let written = self.request(name, "writing", move |bucket| async move {
            let upload = bucket.put_multipart(&path).await?;
            let mut upload = WriteMultipart::new_with_chunk_size(upload, part);
            let (mut hasher, mut total) = (Sha256::new(), 0);
            loop {
                let mut chunk = Vec::new();
                // Reading a part from the disk is short beside sending it.
                match (&mut file).take(part as u64).read_to_end(&mut chunk) {
                    Ok(0) => break,
                    Ok(_) => {}
                    Err(error) => {
                        let _ = upload.abort().await;
                        return Ok(Err(error));
                    }
                }
                hasher.update(&chunk);
                total += chunk.len() as u64;
                if let Err(error) = upload.wait_for_capacity(PARTS_AT_ONCE - 1).await {
                    let _ = upload.abort().await;
                    return Err(error);
                }
                upload.put(chunk.into());
            }
            // This aborts the upload if it fails.
            upload.finish().await?;
            Ok(Ok((total, hasher.finalize().into())))
        })?;
        written.map_err(|error| {
            StoreError::new(
                StoreErrorKind::Local,
                format!("{name} cannot be read: {error}"),
            )
        })
    }

    fn delete(&self, name: &str) -> Result<(), StoreError> {
        let path = self.bucket.path(name)?;
        let deleted = self.request(name, "deleting", move |bucket| async move {
            bucket.delete(&path).await
        });
        match deleted {
            Err(error) if error.kind() == StoreErrorKind::Missing => Ok(()),
            deleted => deleted,
        }
    }

    fn list(&self, most: usize) -> Result<Listing, StoreError> {
        let prefix = Path::from(self.bucket.location.prefix());
        self.request("its objects", "listing", move |bucket| async move {
            let start = match prefix.as_ref().len() {
                0 => 0,
                length => length + 1,
            };
            let objects = bucket.list(Some(&prefix)).map_ok(|object| {
                let key = object.location.as_ref();
                ListedObject {
                    name: key.get(start..).unwrap_or(key).to_owned(),
                    length: object.size,
                    modified: object.last_modified.into(),
                }
            });
            let objects: Vec<ListedObject> = objects.take(most + 1).try_collect().await?;
            Ok(objects)
        })
        .and_then(|objects| {
            if objects.len() > most {
                return Err(too_many(most, &self.bucket.location));
            }
            Ok(objects.into_iter().collect())
        })
    }
}

impl BucketSession<'_> {
    fn put(&self, name: &str, bytes: Bytes, mode: PutMode) -> Result<Option<String>, StoreError> {
        let path = self.bucket.path(name)?;
        self.request(name, "writing", move |bucket| async move {
            let options = PutOptions {
                mode,
                ..PutOptions::default()
            };
            let payload = PutPayload::from(bytes);
            let put = bucket.put_opts(&path, payload, options).await?;
            Ok(put.e_tag)
        })
    }

    /// Waits for requests on the thread of the store.
    fn request<T, F>(
        &self,
        name: &str,
        doing: &str,
        work: impl FnOnce(Arc<AmazonS3>) -> F,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Future<Output = object_store::Result<T>> + Send + 'static,
    {
        let (send, receive) = sync_channel(1);
        let work = work(Arc::clone(&self.bucket.service));
        let conversation = self.conversation.clone();
        if let Some(runtime) = &self.bucket.runtime {
            runtime.spawn(async move {
                // The other end waits.
                let _ = send.send(conversation.within(work).await);
            });
        }
        match receive.recv() {
            Ok(Ok(done)) => done.map_err(|error| self.failed(&error, name, doing)),
            Ok(Err(ended)) => {
                let failure = self.bucket.running.take_failure();
                let cause = failure.map_or_else(|| ended.to_string(), |failure| failure.text);
                Err(self.error(StoreErrorKind::Unreachable, name, doing, &cause))
            }
            // The library panicked over an answer.
            Err(_) => Err(StoreError::damaged(
                name,
                &self.bucket.location,
                "the store's answer cannot be understood",
            )),
        }
    }

    fn failed(&self, error: &object_store::Error, name: &str, doing: &str) -> StoreError {
        use object_store::Error;
        let failure = self.bucket.running.take_failure();
        let status = failure.as_ref().and_then(|failure| failure.status);
        let code = failure.as_ref().and_then(|failure| failure.code.as_deref());
        let kind = match error {
            Error::NotFound { .. } if code == Some("NoSuchBucket") => StoreErrorKind::Refused,
            Error::NotFound { .. } => StoreErrorKind::Missing,
            Error::AlreadyExists { .. } | Error::Precondition { .. } => StoreErrorKind::Conflict,
            Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => {
                StoreErrorKind::Refused
            }
            error if failure.is_none() && is_unreadable(error) => StoreErrorKind::Damaged,
            _ => match status {
                Some(408 | 409 | 425 | 429 | 500..) => StoreErrorKind::Unreachable,
                Some(200..300) => StoreErrorKind::Damaged,
                Some(_) => StoreErrorKind::Refused,
                None if transport_of(error).is_some() => StoreErrorKind::Unreachable,
                None => StoreErrorKind::Damaged,
            },
        };
        let cause = match failure {
            Some(failure) if kind != StoreErrorKind::Damaged => failure.text,
            _ => one_line(error),
        };
        self.error(kind, name, doing, &cause)
    }

    fn error(&self, kind: StoreErrorKind, name: &str, doing: &str, cause: &str) -> StoreError {
        let message = format!("{doing} {name} in {} failed: {cause}", self.bucket.location);
        StoreError::new(kind, sanitize(&message))
    }
}

impl Drop for BucketSession<'_> {
    fn drop(&mut self) {
        self.bucket.running.set(None);
    }
}

impl Drop for Bucket {
    fn drop(&mut self) {
        // A runtime must not wait for its end within another one.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl fmt::Debug for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bucket")
            .field("location", &self.location)
            .finish_non_exhaustive()
    }
}

/// Whether the answer came, and makes no sense.
fn is_unreadable(error: &object_store::Error) -> bool {
    transport_of(error) == Some(HttpErrorKind::Decode)
}

fn transport_of(error: &object_store::Error) -> Option<HttpErrorKind> {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<HttpError>() {
            return Some(error.kind());
        }
        cause = error.source();
    }
    None
}

/// The innermost cause, as one harmless and short line.
fn one_line(error: &dyn Error) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    sanitize(&cause.to_string()).chars().take(300).collect()
}
