//! Names to addresses: permitted addresses only, or any address of a configured host.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::open_files;
use crate::policy::{AddressPolicy, ForbiddenAddress};
use crate::witness::Witness;

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

/// Resolves names to the addresses that the policy permits.
///
/// The client connects to exactly the addresses that were checked, so DNS rebinding (another answer
/// a moment later) gains nothing.
#[derive(Debug, Clone)]
pub(crate) struct PolicyResolver {
    pub(crate) lookup: Arc<dyn Lookup>,
    pub(crate) policy: Arc<AddressPolicy>,
    pub(crate) witness: Arc<Witness>,
}

impl Resolve for PolicyResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (lookup, policy) = (Arc::clone(&self.lookup), Arc::clone(&self.policy));
        let witness = Arc::clone(&self.witness);
        Box::pin(async move {
            let all = look_up(lookup, name.as_str().to_owned()).await?;
            witness.resolved(name.as_str(), &all);
            let mut forbidden: Option<ForbiddenAddress> = None;
            let mut permitted = Vec::with_capacity(all.len());
            for address in all {
                match policy.check(address.ip()) {
                    Ok(()) => permitted.push(address),
                    Err(error) => forbidden = Some(error),
                }
            }
            match forbidden {
                Some(error) if permitted.is_empty() => Err(error.into()),
                _ => Ok(Box::new(permitted.into_iter()) as Addrs),
            }
        })
    }
}

/// Resolves every name to one host of the configuration, whatever the host's address.
#[derive(Debug)]
pub(crate) struct FixedHostResolver {
    pub(crate) lookup: Arc<dyn Lookup>,
    pub(crate) host: String,
}

impl Resolve for FixedHostResolver {
    fn resolve(&self, _: Name) -> Resolving {
        let (lookup, host) = (Arc::clone(&self.lookup), self.host.clone());
        Box::pin(async move {
            let all = look_up(lookup, host).await?;
            Ok(Box::new(all.into_iter()) as Addrs)
        })
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
