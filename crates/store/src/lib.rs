//! Keeps the finished files of an archive in an S3 bucket, or in a folder.
//!
//! ```text
//! manifest.json           which files there are: name, length, SHA-256
//! manifests/SERIAL.json   the manifests before it
//! NAME                    one object for each file
//! ```
//!
//! A file has a unique name and never changes. So the manifest is the only object that is ever replaced,
//! and it is replaced with a conditional write (`If-Match`, `If-None-Match`; in a folder, under a lock): of
//! two writers at once, one reads the manifest again and repeats its change. A file counts once the manifest
//! names it, so a process may be killed at any request.
//!
//! | step | killed after this step |
//! |---|---|
//! | objects of new files are written | the next writer finds the objects, compares them, and goes on |
//! | the former manifest is copied | the next writer finds the copy |
//! | the manifest is replaced | the change is made |
//! | objects of removed files are deleted | the next writer deletes the rest ([`Store::tidy`]) |
//!
//! The bucket is hostile input: names, lengths and digests are checked, and every conversation has a
//! budget ([`Budgets`]). The interface blocks; its requests run on a thread of their own.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::too_many_lines))]

mod answers;
mod bucket;
mod budgets;
mod credentials;
mod error;
mod folder;
#[cfg(test)]
mod kills;
mod listing;
mod location;
mod manifest;
mod objects;
mod requests;
mod restore;
mod signature;
mod store;
mod stored_input;
mod transfer;
mod unusable;

pub use budgets::Budgets;
pub use credentials::{Credentials, Environment};
pub use error::{StoreError, StoreErrorKind, unreadable};
pub use listing::{ListedObject, Listing};
pub use location::{BucketLocation, InvalidLocation, Location};
pub use manifest::{
    InvalidManifest, MANIFEST_NAME, Manifest, ManifestChange, StoredFile, check_name,
};
pub use objects::hash;
pub use restore::ManifestState;
pub use store::{ChangeOutcome, Store, StoreOptions, first_that_has};
pub use stored_input::StoredInput;
