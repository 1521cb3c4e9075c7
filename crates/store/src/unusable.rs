//! A place that cannot be set up, such as a bucket without keys: each request fails, and none is sent.

use std::fs::File;
use std::ops::Range;

use bytes::Bytes;
use urldb_http::Budget;

use crate::error::StoreError;
use crate::listing::Listing;
use crate::objects::{Objects, Session};

/// The reason of each failure.
#[derive(Debug)]
pub(crate) struct Unusable(pub(crate) StoreError);

impl Unusable {
    fn fail<T>(&self) -> Result<T, StoreError> {
        Err(self.0.clone())
    }
}

impl Objects for Unusable {
    fn converse(&self, _: Budget) -> Box<dyn Session + '_> {
        Box::new(self)
    }
}

impl Session for &Unusable {
    fn get(&self, _: &str) -> Result<(Bytes, Option<String>), StoreError> {
        self.fail()
    }

    fn range(&self, _: &str, _: u64, _: Range<u64>) -> Result<Bytes, StoreError> {
        self.fail()
    }

    fn length(&self, _: &str) -> Result<Option<u64>, StoreError> {
        self.fail()
    }

    fn create(&self, _: &str, _: Bytes) -> Result<Option<String>, StoreError> {
        self.fail()
    }

    fn replace(&self, _: &str, _: Bytes, _: &str) -> Result<(), StoreError> {
        self.fail()
    }

    fn put_parts(&self, _: &str, _: File, _: u64) -> Result<(u64, [u8; 32]), StoreError> {
        self.fail()
    }

    fn delete(&self, _: &str) -> Result<(), StoreError> {
        self.fail()
    }

    fn list(&self, _: usize) -> Result<Listing, StoreError> {
        self.fail()
    }
}
