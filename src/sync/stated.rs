//! The items of lists at another time.

use std::collections::HashSet;
use std::hash::{BuildHasher as _, RandomState};

use urldb_format::{Mapping, RecordIdentity};
use urldb_interchange::ListItem;

use super::claim::schemes_of;
use super::groups::{REQUEST_KEYS, is_promise};

/// The items that lists had: a few bytes for each URL and each promise.
#[derive(Debug, Default)]
pub(crate) struct StatedItems {
    hasher: RandomState,
    hashes: HashSet<u64>,
}

/// The records with items that are new, in URL or promise.
#[derive(Debug, Default)]
pub(crate) struct NewRecords {
    /// The host of the domain file, and the record.
    pub(crate) records: Vec<(String, RecordIdentity)>,
    /// Whether one of their URLs was in a list.
    pub(crate) has_known: bool,
}

/// The hashes of an item: of its URL, and of its URL with its promise.
#[derive(Debug, Clone, Copy)]
pub(super) struct ItemHashes {
    url: u64,
    promise: u64,
}

impl StatedItems {
    pub(super) fn add(&mut self, item: ItemHashes) {
        self.hashes.extend([item.url, item.promise]);
    }

    /// Whether a list had the URL with this promise.
    pub(super) fn has(&self, item: ItemHashes) -> bool {
        self.hashes.contains(&item.promise)
    }

    /// Whether a list had the URL.
    pub(super) fn has_url(&self, item: ItemHashes) -> bool {
        self.hashes.contains(&item.url)
    }

    pub(super) fn hashes_of(&self, item: &ListItem) -> ItemHashes {
        let record = &item.record;
        let request = record.request_key();
        let url = (&item.host, &record.path, request, schemes_of(item));
        let url = self.hasher.hash_one(url);
        let stated = record.to_mapping().into_iter();
        let counts = |key: &str| is_promise(key) || REQUEST_KEYS.contains(&key);
        let promise: Mapping = stated.filter(|(key, _)| counts(key)).collect();
        let promise = urldb_format::write_documents([&promise]);
        ItemHashes {
            url,
            promise: self.hasher.hash_one((url, promise)),
        }
    }
}

/// The items at another time.
pub(super) enum Past<'a> {
    Unknown,
    /// These lists are those of the other time: their items are collected.
    Now(StatedItems),
    Known(&'a StatedItems),
}
