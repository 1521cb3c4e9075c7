//! An envelope with a lookup by URL.

use std::collections::HashMap;
use std::ops::Deref;

use urldb_protocol::{AffectedUrl, Envelope, Evidence, Finding, UrlUses};

use super::links::{list_link, source_link};
use crate::message::SourceLink;

/// An envelope, with its findings by URL.
pub(crate) struct Lookup<'a> {
    envelope: &'a Envelope,
    by_url: HashMap<(&'a str, Option<&'a str>), &'a Finding>,
}

impl<'a> Lookup<'a> {
    pub(crate) fn new(envelope: &'a Envelope) -> Self {
        let mut by_url = HashMap::new();
        for finding in &envelope.findings {
            // The worst finding about a URL comes first.
            let subject = (finding.url.as_str(), finding.variant.as_deref());
            by_url.entry(subject).or_insert(finding);
        }
        Self { envelope, by_url }
    }

    /// The worst finding about a URL and one of its variants.
    pub(super) fn finding(&self, url: &str, variant: Option<&str>) -> Option<&'a Finding> {
        self.by_url.get(&(url, variant)).copied()
    }

    /// The worst finding about an affected URL.
    pub(super) fn finding_of(&self, url: &AffectedUrl) -> Option<&'a Finding> {
        self.finding(&url.url, url.variant.as_deref())
    }

    /// The worst finding about the URL of the evidence.
    pub(super) fn finding_about(&self, evidence: &Evidence) -> Option<&'a Finding> {
        self.finding(&evidence.url, evidence.variant.as_deref())
    }

    /// The places in lists that use an affected URL; `None` if no list has it.
    pub(super) fn uses(&self, url: &AffectedUrl) -> Option<&'a UrlUses> {
        let uses = &self.finding_of(url)?.uses;
        (!uses.is_empty()).then_some(uses)
    }

    /// The place of an affected URL for people: the first line of a list, or else the record; its whole file unless
    /// `is_exact`.
    pub(super) fn place(&self, url: &AffectedUrl, is_exact: bool) -> SourceLink {
        self.uses(url)
            .and_then(|uses| list_link(self, uses))
            .unwrap_or_else(|| source_link(self, &url.file, is_exact.then_some(url.line)))
    }
}

impl Deref for Lookup<'_> {
    type Target = Envelope;

    fn deref(&self) -> &Envelope {
        self.envelope
    }
}
