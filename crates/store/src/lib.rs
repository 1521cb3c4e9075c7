//! Keeps the finished files of an archive in an S3 bucket.
//!
//! ```text
//! PREFIX/manifest.json   which files there are: name, length, SHA-256
//! PREFIX/NAME            one object for each file
//! ```
//!
//! A file has a unique name and never changes. So the manifest is the only object that is ever replaced,
//! and it is replaced with a conditional write (`If-Match`, `If-None-Match`): of two writers at once, one
//! reads the manifest again and repeats its change. A file counts once the manifest names it, so a
//! process may be killed at any request.
//!
//! | step | killed after this step |
//! |---|---|
//! | objects of new files are written | the next writer finds the objects, compares them, and goes on |
//! | the manifest is replaced | the change is made |
//! | objects of removed files are deleted | the next writer deletes the rest |
//!
//! The bucket is hostile input: names, lengths and digests are checked, and every conversation has a
//! budget ([`Budgets`]). The interface blocks; its requests run on a thread of their own.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::too_many_lines))]

mod budgets;
mod credentials;
mod error;
mod http_client;
mod location;
mod manifest;
mod objects;
mod store;
mod stored_input;
mod transfer;

pub use budgets::Budgets;
pub use credentials::{Credentials, Environment};
pub use error::{StoreError, StoreErrorKind};
pub use location::{InvalidLocation, Location};
pub use manifest::{
    InvalidManifest, MANIFEST_NAME, Manifest, ManifestChange, StoredFile, check_name,
};
pub use store::{ChangeOutcome, Store, StoreOptions};
pub use stored_input::StoredInput;
pub use transfer::hash;
