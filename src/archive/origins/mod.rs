//! The servers that answered: records of what the resolver said about a host (section 8.2 of WARC 0.9), and of the
//! certificates that its server sent (section 8.1), at the first sight and whenever they change.

mod lookup;
mod timeline;

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use anyhow::Context;
use data_encoding::BASE64;
use jiff::Timestamp;
use url::Url;
use urldb_verdict::{Hop, Job};
use urldb_warc::draft::{Exchange, RecordDraft};
use urldb_warc::{Digest, DigestAlgorithm, RecordId};

pub use self::lookup::{CaptureOrigin, OriginFact, OriginRecord};
use self::timeline::{Placement, Record, Timeline};
use super::output_files::warc_date;
use crate::ambient::in_seconds;
use crate::ledger::{KnownOrigin, KnownOrigins};

/// Characters in a line of PEM (RFC 7468, section 2).
const PEM_LINE: usize = 64;

/// The media type of a chain of certificates (RFC 8555, section 9.1).
pub const CERTIFICATES: &str = "application/pem-certificate-chain";

/// The URI of what a resolver says about a host (RFC 4501), as Heritrix writes it.
pub fn dns_uri(host: &str) -> String {
    format!("dns:{host}")
}

/// The URI of the certificates of a server. It is not the URL of a page, which indexers would take the record for.
pub fn tls_uri(host: &str, port: u16) -> String {
    format!("tls:{host}:{port}")
}

/// Whether this is the URI of a record about a host.
pub fn is_origin_uri(uri: &str) -> bool {
    uri.starts_with("dns:") || uri.starts_with("tls:")
}

/// The URIs of the records about the host of a URL; none of an address about its name, and of http about
/// certificates.
pub fn uris_of(url: &str) -> Vec<String> {
    let Ok(url) = Url::parse(url) else {
        return vec![];
    };
    let host = url.host_str().unwrap_or_default();
    let dns = url.domain().map(dns_uri);
    let port = url.port_or_known_default();
    let tls = port.filter(|_| url.scheme() == "https");
    dns.into_iter()
        .chain(tls.map(|port| tls_uri(host, port)))
        .collect()
}

/// Reads the records of earlier runs about the hosts of a domain's URLs.
pub(super) type EarlierOrigins<'a> = &'a (dyn Fn(&str) -> KnownOrigins + Sync);

/// The records about hosts, as far as a run knows them.
#[derive(Debug, Default)]
pub(super) struct Origins {
    known: Mutex<KnownHosts>,
    /// Whether other processes archive at the same time, for other domains.
    is_shared: bool,
}

#[derive(Debug, Default)]
struct KnownHosts {
    /// By URI.
    timelines: HashMap<String, Timeline>,
    /// The domains whose records of earlier runs were added.
    domains: HashSet<String>,
}

/// The records about the host of one capture.
#[derive(Debug, Default)]
pub(super) struct OriginsOfCapture {
    /// The records that the capture names.
    pub(super) named: Vec<RecordId>,
    /// Those that are to be written with it.
    pub(super) new: Vec<NewOrigin>,
}

/// A record about a host, which is to be written.
#[derive(Debug)]
pub(super) struct NewOrigin {
    pub(super) uri: String,
    pub(super) draft: RecordDraft,
    /// The entry of the ledger, still without the name of the file.
    pub(super) known: KnownOrigin,
}

/// A fact that a connection showed, for one record.
struct HostFact<'a> {
    uri: String,
    fact: Fact<'a>,
}

#[derive(Clone, Copy)]
enum Fact<'a> {
    Addresses(&'a str, &'a [IpAddr]),
    Certificates(&'a [Vec<u8>]),
}

impl Origins {
    /// For a run that archives alone, or beside other shards.
    pub(super) fn new(is_shared: bool) -> Self {
        Self {
            known: Mutex::default(),
            is_shared,
        }
    }

    /// The records about the host of a response. `earlier` reads those of earlier runs, by domain.
    ///
    /// # Errors
    /// When the ledger names a record in a way that is not valid, or the response cannot have such a record.
    pub(super) fn of_response(
        &self,
        job: &Job,
        hop: &Hop,
        algorithm: DigestAlgorithm,
        earlier: EarlierOrigins<'_>,
        new_id: &dyn Fn() -> RecordId,
    ) -> anyhow::Result<OriginsOfCapture> {
        let mut of_capture = OriginsOfCapture::default();
        let Ok(url) = Url::parse(&hop.url) else {
            return Ok(of_capture);
        };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.add_domain(&job.key.domain, earlier)?;
        let may_be_last = !self.is_shared || url.host_str() == Some(job.url.host());
        for shown in host_facts(&url, hop) {
            let timeline = match known.timelines.get_mut(&shown.uri) {
                Some(timeline) => timeline,
                None => known.timelines.entry(shown.uri.clone()).or_default(),
            };
            let text = shown.fact.text(algorithm)?;
            match timeline.place(&text, in_seconds(hop.at), may_be_last, new_id) {
                Placement::Last => {}
                Placement::Named(id) => of_capture.named.push(id),
                Placement::New(record) => {
                    of_capture.named.push(record.id.clone());
                    of_capture.new.push(shown.record(&record, hop, algorithm)?);
                }
            }
        }
        Ok(of_capture)
    }

    /// Forgets records that could not be written.
    pub(super) fn forget(&self, records: &[NewOrigin]) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        for record in records {
            if let Some(timeline) = known.timelines.get_mut(&record.uri)
                && let Ok(id) = record.known.record.parse()
            {
                timeline.forget(&id);
            }
        }
    }
}

impl KnownHosts {
    fn add_domain(&mut self, domain: &str, earlier: EarlierOrigins<'_>) -> anyhow::Result<()> {
        if self.domains.contains(domain) {
            return Ok(());
        }
        for (uri, known) in earlier(domain) {
            let id = known
                .record
                .parse()
                .context("the ledger names a record about a host in a way that is not valid")?;
            self.timelines.entry(uri).or_default().know(Record {
                fact: known.fact(),
                since: known.since,
                id,
                quick_changes: known.quick_changes,
            });
        }
        self.domains.insert(domain.to_owned());
        Ok(())
    }
}

/// The facts that the connection of a response showed.
fn host_facts<'a>(url: &'a Url, hop: &'a Hop) -> impl Iterator<Item = HostFact<'a>> {
    let addresses = &hop.origin.addresses;
    let dns = url
        .domain()
        .filter(|_| !addresses.is_empty())
        .map(|host| HostFact {
            uri: dns_uri(host),
            fact: Fact::Addresses(host, addresses),
        });
    let chain = hop.origin.certificates.as_deref();
    let place = url.host_str().zip(url.port_or_known_default());
    let tls = chain.zip(place).map(|(chain, (host, port))| HostFact {
        uri: tls_uri(host, port),
        fact: Fact::Certificates(chain),
    });
    dns.into_iter().chain(tls)
}

impl HostFact<'_> {
    fn record(
        self,
        record: &Record,
        hop: &Hop,
        algorithm: DigestAlgorithm,
    ) -> anyhow::Result<NewOrigin> {
        let (id, since) = (&record.id, record.since);
        let date = warc_date(since)?;
        let block = match self.fact {
            Fact::Addresses(host, addresses) => answer(host, addresses, since).into_bytes(),
            Fact::Certificates(chain) => pem(chain).into_bytes(),
        };
        let (digest, _) = Digest::of(algorithm, block.as_slice())?;
        let tls: Vec<&str> = hop
            .protocols
            .iter()
            .filter(|it| it.starts_with("tls/"))
            .copied()
            .collect();
        let exchange = Exchange {
            target_uri: &self.uri,
            date: &date,
            ip_address: None,
            protocols: &[],
        };
        let (draft, addresses, certificate) = match self.fact {
            Fact::Addresses(_, addresses) => {
                let draft = exchange.dns_answer(id, &digest, block)?;
                (
                    draft,
                    addresses.iter().map(IpAddr::to_string).collect(),
                    None,
                )
            }
            Fact::Certificates(_) => {
                let exchange = Exchange {
                    ip_address: hop.address.map(|address| address.ip()),
                    protocols: &tls,
                    ..exchange
                };
                let draft = exchange.metadata_of(id, CERTIFICATES, &digest, block)?;
                (draft, vec![], hop.certificate.clone())
            }
        };
        Ok(NewOrigin {
            draft,
            known: KnownOrigin {
                since,
                record: id.as_str().to_owned(),
                digest: digest.to_string(),
                file: String::new(),
                addresses,
                certificate,
                quick_changes: record.quick_changes,
            },
            uri: self.uri,
        })
    }
}

impl Fact<'_> {
    /// As [`KnownOrigin::fact`] has it.
    fn text(self, algorithm: DigestAlgorithm) -> anyhow::Result<String> {
        Ok(match self {
            Self::Addresses(_, addresses) => {
                let addresses: Vec<_> = addresses.iter().map(IpAddr::to_string).collect();
                addresses.join(" ")
            }
            Self::Certificates(chain) => {
                let (digest, _) = Digest::of(algorithm, pem(chain).as_bytes())?;
                digest.to_string()
            }
        })
    }
}

/// An answer in the form of Heritrix: the date, then lines of a master file (RFC 1035, section 5). The resolver of
/// the system does not say for how long they hold.
fn answer(host: &str, addresses: &[IpAddr], at: Timestamp) -> String {
    let mut text = at.strftime("%Y%m%d%H%M%S\n").to_string();
    for address in addresses {
        let kind = if address.is_ipv4() { "A" } else { "AAAA" };
        let _ = writeln!(text, "{host}.\tIN\t{kind}\t{address}");
    }
    text
}

fn pem(chain: &[Vec<u8>]) -> String {
    let mut text = String::new();
    for certificate in chain {
        text.push_str("-----BEGIN CERTIFICATE-----\n");
        let encoded = BASE64.encode(certificate);
        for line in encoded.as_bytes().chunks(PEM_LINE) {
            text.push_str(&String::from_utf8_lossy(line));
            text.push('\n');
        }
        text.push_str("-----END CERTIFICATE-----\n");
    }
    text
}
