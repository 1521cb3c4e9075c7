//! An envelope with a lookup by URL.

use std::collections::HashMap;
use std::ops::Deref;

use urldb_protocol::{Envelope, Finding};

/// An envelope, with its findings by URL.
pub(crate) struct Lookup<'a> {
    envelope: &'a Envelope,
    by_url: HashMap<&'a str, &'a Finding>,
}

impl<'a> Lookup<'a> {
    pub(crate) fn new(envelope: &'a Envelope) -> Self {
        let mut by_url = HashMap::new();
        for finding in &envelope.findings {
            // The worst finding about a URL comes first.
            by_url.entry(finding.url.as_str()).or_insert(finding);
        }
        Self { envelope, by_url }
    }

    /// The worst finding about a URL.
    pub(super) fn finding(&self, url: &str) -> Option<&'a Finding> {
        self.by_url.get(url).copied()
    }
}

impl Deref for Lookup<'_> {
    type Target = Envelope;

    fn deref(&self) -> &Envelope {
        self.envelope
    }
}
