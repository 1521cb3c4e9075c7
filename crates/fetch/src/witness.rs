//! The facts about servers that come to light while connections are made: the addresses that the resolver
//! gave, and the certificates that servers sent.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use reqwest::tls::TlsInfo;
use rustls::pki_types::CertificateDer;
use url::Url;
use urldb_tls::ChainObserver;
use urldb_verdict::Origin;

/// Most names and most chains that one witness remembers; a pool of connections has a few.
const MOST: usize = 16;

/// Remembers what the connections of one pool showed.
#[derive(Debug, Default)]
pub(crate) struct Witness {
    /// The last answer about each name.
    addresses: Mutex<HashMap<String, Vec<IpAddr>>>,
    /// The chains, the server's own certificate first, the last one at the end.
    chains: Mutex<Vec<Chain>>,
}

/// Certificates in DER.
type Chain = Arc<[Vec<u8>]>;

impl Witness {
    /// Takes down the answer of the resolver about a name.
    pub(crate) fn resolved(&self, name: &str, answer: &[SocketAddr]) {
        let mut addresses: Vec<_> = answer.iter().map(SocketAddr::ip).collect();
        addresses.sort_unstable();
        addresses.dedup();
        let known = self.addresses.lock();
        let mut known = known.unwrap_or_else(PoisonError::into_inner);
        if known.len() == MOST && !known.contains_key(name) {
            known.clear();
        }
        known.insert(name.to_owned(), addresses);
    }

    /// The server that answered a request for this URL over a connection of this witness.
    pub(crate) fn origin_of(&self, url: &Url, response: &reqwest::Response) -> Origin {
        let name = url.domain().unwrap_or_default();
        let known = self.addresses.lock();
        let known = known.unwrap_or_else(PoisonError::into_inner);
        let info = response.extensions().get::<TlsInfo>();
        Origin {
            addresses: known.get(name).cloned().unwrap_or_default(),
            certificates: info.and_then(TlsInfo::peer_certificate).map(|certificate| {
                let chains = self.chains.lock();
                let chains = chains.unwrap_or_else(PoisonError::into_inner);
                let is_own = |chain: &&Chain| chain.first().is_some_and(|own| own == certificate);
                let chain = chains.iter().rev().find(is_own).cloned();
                chain.unwrap_or_else(|| Arc::new([certificate.to_vec()]))
            }),
        }
    }
}

impl ChainObserver for Witness {
    fn see(&self, own: &CertificateDer<'_>, others: &[CertificateDer<'_>]) {
        let certificates = std::iter::once(own).chain(others);
        let is_same = |chain: &Chain| {
            let shown = certificates.clone().map(AsRef::as_ref);
            chain.iter().map(Vec::as_slice).eq(shown)
        };
        let known = self.chains.lock();
        let mut known = known.unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = known.iter().position(is_same) {
            let chain = known.remove(at);
            known.push(chain);
            return;
        }
        if known.len() == MOST {
            known.remove(0);
        }
        known.push(certificates.map(|it| it.to_vec()).collect());
    }
}
