//! The facts about servers that come to light while connections are made: the addresses that the resolver
//! gave, and the certificates that servers sent.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use reqwest::tls::TlsInfo;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, SignatureScheme};
use url::Url;
use urldb_tls::Trust;
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

    fn showed(&self, end_entity: &CertificateDer<'_>, intermediates: &[CertificateDer<'_>]) {
        let certificates = std::iter::once(end_entity).chain(intermediates);
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

/// Verifies certificates, and takes down those that servers send.
#[derive(Debug)]
pub(crate) struct WitnessedTrust {
    pub(crate) trust: Arc<Trust>,
    pub(crate) witness: Arc<Witness>,
}

impl ServerCertVerifier for WitnessedTrust {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        self.witness.showed(end_entity, intermediates);
        self.trust
            .verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.trust
            .verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.trust
            .verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.trust.supported_verify_schemes()
    }
}
