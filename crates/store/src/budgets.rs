//! Budgets of the conversations with a store.

use urldb_http::{Budget, SLOWEST};

use crate::manifest::LARGEST_MANIFEST;
use crate::objects::PART;

/// Names in a page of a list.
const PAGE: u64 = 1_000;

/// Objects beside those that the manifest names which a place may have.
const OTHER_OBJECTS: usize = 100_000;

/// The budgets of the conversations with a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budgets {
    /// Reading or writing the manifest once.
    pub manifest: Budget,
    /// Listing no objects. Each page of 1,000 names adds a request and 1 MiB.
    pub list: Budget,
    /// Reading or writing no bytes of a file. Each 8 MiB add a request, each 70 kB a second, and what is
    /// read adds its length and 5 %.
    pub file: Budget,
}

impl Default for Budgets {
    fn default() -> Self {
        Self {
            manifest: Budget {
                requests: 20,
                bytes: LARGEST_MANIFEST,
                seconds: 60,
            },
            list: Budget {
                requests: 100,
                bytes: 32 << 20,
                seconds: 600,
            },
            file: Budget {
                requests: 20,
                bytes: 1 << 20,
                seconds: 120,
            },
        }
    }
}

impl Budgets {
    /// The most objects that a place may list whose manifest names this many files.
    pub(crate) fn most_objects(names: usize) -> usize {
        names + OTHER_OBJECTS
    }

    /// Listing about this many names.
    pub(crate) fn list(&self, names: usize) -> Budget {
        let pages = names as u64 / PAGE;
        Budget {
            requests: self.list.requests + pages,
            bytes: self.list.bytes + (pages << 20),
            ..self.list
        }
    }

    /// Writing a file of this length: the answers are short.
    pub(crate) fn upload(&self, length: u64) -> Budget {
        Budget {
            requests: self.file.requests + length / PART,
            seconds: self.file.seconds + length / SLOWEST,
            ..self.file
        }
    }

    /// Reading this many bytes of a file.
    pub(crate) fn download(&self, length: u64) -> Budget {
        Budget {
            bytes: self.file.bytes + length + length / 20,
            ..self.upload(length)
        }
    }
}
