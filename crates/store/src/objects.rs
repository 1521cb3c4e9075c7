//! The objects of a store, wherever they are: in a bucket or in a folder.

use std::fmt::Debug;
use std::fs::File;
use std::io::{self, Read, Write};
use std::ops::Range;

use bytes::Bytes;
use sha2::{Digest, Sha256};
use urldb_http::Budget;

use crate::error::StoreError;
use crate::listing::Listing;

/// The length of a part of a large object, and the largest range that is read at once, in bytes.
pub(crate) const PART: u64 = 8 << 20;

/// The objects of a store.
pub(crate) trait Objects: Debug + Send + Sync {
    /// Begins a conversation. A folder needs no budget.
    fn converse(&self, budget: Budget) -> Box<dyn Session + '_>;
}

/// A conversation with a store. An object is written as a whole or not at all.
pub(crate) trait Session {
    /// Reads a manifest, and its entity tag, which differs from that of any other content.
    fn get(&self, name: &str) -> Result<(Bytes, Option<String>), StoreError>;

    /// Reads a range, of at most [`PART`] bytes, of an object that must have `length` bytes.
    fn range(&self, name: &str, length: u64, range: Range<u64>) -> Result<Bytes, StoreError>;

    /// The length of an object; `None` if there is none.
    fn length(&self, name: &str) -> Result<Option<u64>, StoreError>;

    /// Creates an object, and returns its entity tag. A [`StoreErrorKind::Conflict`] if there is one.
    ///
    /// [`StoreErrorKind::Conflict`]: crate::StoreErrorKind::Conflict
    fn create(&self, name: &str, bytes: Bytes) -> Result<Option<String>, StoreError>;

    /// Replaces the object that has this entity tag. A [`StoreErrorKind::Conflict`] if it has another.
    ///
    /// [`StoreErrorKind::Conflict`]: crate::StoreErrorKind::Conflict
    fn replace(&self, name: &str, bytes: Bytes, tag: &str) -> Result<(), StoreError>;

    /// Writes a large object from a file, and returns the length and the SHA-256 of what was written.
    fn put_parts(&self, name: &str, file: File, length: u64)
    -> Result<(u64, [u8; 32]), StoreError>;

    /// Deletes an object, which need not be there.
    fn delete(&self, name: &str) -> Result<(), StoreError>;

    /// All objects; an error if there are more than `most`.
    fn list(&self, most: usize) -> Result<Listing, StoreError>;
}

/// The length and the SHA-256 of a file.
///
/// # Errors
/// When the file cannot be read.
pub fn hash(file: impl Read) -> io::Result<(u64, [u8; 32])> {
    copy_hashed(file, &mut io::sink())
}

/// Copies a file, and returns its length and its SHA-256.
pub(crate) fn copy_hashed(
    mut file: impl Read,
    output: &mut impl Write,
) -> io::Result<(u64, [u8; 32])> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    let mut length = 0;
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok((length, hasher.finalize().into())),
            read => {
                hasher.update(&buffer[..read]);
                output.write_all(&buffer[..read])?;
                length += read as u64;
            }
        }
    }
}
