//! An envelope with a lookup by URL.

use std::collections::{BTreeSet, HashMap};
use std::ops::Deref;

use urldb_protocol::{AffectedUrl, Envelope, Evidence, Finding, Incident, Phase, UrlUses};

use super::links::{list_link, source_link};
use super::urls::ip_and_port;
use crate::message::SourceLink;

/// An envelope, with its findings by URL.
pub(crate) struct Lookup<'a> {
    envelope: &'a Envelope,
    by_url: HashMap<(&'a str, Option<&'a str>), &'a Finding>,
    /// The hosts at each address whose incidents this report opens.
    opened: HashMap<String, BTreeSet<&'a str>>,
}

impl<'a> Lookup<'a> {
    pub(crate) fn new(envelope: &'a Envelope) -> Self {
        let mut by_url = HashMap::new();
        for finding in &envelope.findings {
            // The worst finding about a URL comes first.
            let subject = (finding.url.as_str(), finding.variant.as_deref());
            by_url.entry(subject).or_insert(finding);
        }
        let mut opened: HashMap<_, BTreeSet<_>> = HashMap::new();
        for it in &envelope.incidents {
            if let Some(address) = address_of(it).filter(|_| it.phase == Phase::Opened) {
                opened.entry(address).or_default().insert(it.host.as_str());
            }
        }
        Self {
            envelope,
            by_url,
            opened,
        }
    }

    /// The address of a host that opens an incident, and the number of other hosts there that do.
    pub(super) fn shared_address(&self, incident: &Incident) -> Option<(String, u64)> {
        let address = address_of(incident).filter(|_| incident.phase == Phase::Opened)?;
        let hosts = self.opened.get(&address)?.len() as u64;
        Some((address, hosts.saturating_sub(1)))
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

/// The address that answered, without its port.
fn address_of(incident: &Incident) -> Option<String> {
    let address = incident.evidence.observed.address.as_deref()?;
    Some(ip_and_port(address).0)
}
