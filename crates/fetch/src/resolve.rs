//! Names to addresses: permitted addresses only, or any address of a configured host.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;

use crate::open_files;
use crate::policy::{AddressPolicy, ForbiddenAddress};

/// Looks up the addresses of names.
pub trait Lookup: fmt::Debug + Send + Sync {
    /// The addresses of a name, in the order to try them; their ports are ignored. May block.
    ///
    /// # Errors
    /// The name does not resolve, or the resolver does not answer.
    fn addresses(&self, name: &str) -> io::Result<Vec<SocketAddr>>;
}

/// Files that one lookup may open at once.
const FILES_OF_A_LOOKUP: usize = 4;

/// The resolver of the operating system.
#[derive(Debug, Clone, Copy)]
pub struct SystemLookup;

impl Lookup for SystemLookup {
    fn addresses(&self, name: &str) -> io::Result<Vec<SocketAddr>> {
        let addresses = (name, 0).to_socket_addrs();
        if addresses.is_err() {
            // The resolver takes files that it cannot open for servers that do not answer.
            open_files::ensure_spare(FILES_OF_A_LOOKUP)?;
        }
        addresses.map(Iterator::collect)
    }
}

/// Resolves the names in URLs.
#[derive(Debug, Clone)]
pub(crate) struct Resolver {
    pub(crate) lookup: Arc<dyn Lookup>,
    pub(crate) target: LookupTarget,
}

/// The name to look up, and the permitted addresses.
#[derive(Debug, Clone)]
pub(crate) enum LookupTarget {
    /// The name in the URL. Connections go to exactly the addresses that the policy permitted, so DNS rebinding (another
    /// answer a moment later) gains nothing.
    Host(Arc<AddressPolicy>),
    /// A host of the configuration, whatever its address: its addresses say nothing about the host in the URL.
    Fixed(Arc<str>),
}

/// The addresses of a name.
#[derive(Debug)]
pub(crate) struct FoundAddresses {
    /// The addresses to connect to, in the order to try them.
    pub(crate) permitted: Vec<SocketAddr>,
    /// All addresses of the name in the URL, sorted. Empty if it was not looked up.
    pub(crate) all: Vec<IpAddr>,
}

/// The cause why a name has no address to connect to.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ResolveError {
    #[error("the name does not resolve")]
    Lookup(#[source] io::Error),
    #[error("the address is forbidden")]
    Forbidden(#[source] ForbiddenAddress),
}

impl Resolver {
    /// Resolves the host of a URL: a name or an address.
    pub(crate) async fn resolve(&self, host: &str) -> Result<FoundAddresses, ResolveError> {
        let name = match &self.target {
            LookupTarget::Host(_) => host.trim_start_matches('[').trim_end_matches(']'),
            LookupTarget::Fixed(host) => host,
        };
        let found = look_up(Arc::clone(&self.lookup), name.to_owned()).await;
        let mut permitted = found.map_err(ResolveError::Lookup)?;
        let LookupTarget::Host(policy) = &self.target else {
            let all = vec![];
            return Ok(FoundAddresses { permitted, all });
        };
        let mut all: Vec<_> = permitted.iter().map(SocketAddr::ip).collect();
        all.retain(|_| name.parse::<IpAddr>().is_err());
        all.sort_unstable();
        all.dedup();
        let mut forbidden = None;
        permitted.retain(|address| match policy.check(address.ip()) {
            Ok(()) => true,
            Err(error) => {
                forbidden = Some(error);
                false
            }
        });
        match forbidden.filter(|_| permitted.is_empty()) {
            Some(error) => Err(ResolveError::Forbidden(error)),
            None => Ok(FoundAddresses { permitted, all }),
        }
    }
}

/// Looks a name up on a blocking thread; an address needs no lookup.
async fn look_up(lookup: Arc<dyn Lookup>, host: String) -> io::Result<Vec<SocketAddr>> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, 0)]);
    }
    let all = tokio::task::spawn_blocking(move || lookup.addresses(&host)).await??;
    if all.is_empty() {
        let error = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        return Err(error);
    }
    Ok(all)
}
