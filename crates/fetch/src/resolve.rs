//! Names to addresses: vetted ones for the open network, any for a mapping.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::policy::{Policy, Refused};

/// Looks names up.
pub trait Lookup: fmt::Debug + Send + Sync {
    /// The addresses of a name, the one to be tried first in front. Their ports mean nothing. May block.
    fn addresses(&self, name: &str) -> io::Result<Vec<SocketAddr>>;
}

/// The lookup of the system.
#[derive(Debug, Clone, Copy)]
pub struct System;

impl Lookup for System {
    fn addresses(&self, name: &str) -> io::Result<Vec<SocketAddr>> {
        (name, 0).to_socket_addrs().map(Iterator::collect)
    }
}

/// Keeps only addresses that the policy permits.
///
/// The connection is made to the very addresses that were vetted, so a name
/// that answers differently a moment later gains nothing.
#[derive(Debug)]
pub(super) struct Vetted {
    pub(super) lookup: Arc<dyn Lookup>,
    pub(super) policy: Arc<Policy>,
}

impl Resolve for Vetted {
    fn resolve(&self, name: Name) -> Resolving {
        let (lookup, policy) = (Arc::clone(&self.lookup), Arc::clone(&self.policy));
        Box::pin(async move {
            let all = look_up(lookup, name.as_str().to_owned()).await?;
            let mut refused: Option<Refused> = None;
            let mut permitted = Vec::with_capacity(all.len());
            for address in all {
                match policy.check(address.ip()) {
                    Ok(()) => permitted.push(address),
                    Err(refusal) => refused = Some(refusal),
                }
            }
            match refused {
                Some(refusal) if permitted.is_empty() => Err(refusal.into()),
                _ => Ok(Box::new(permitted.into_iter()) as Addrs),
            }
        })
    }
}

/// Resolves every name to one host, which the configuration names, whatever its address.
#[derive(Debug)]
pub(super) struct Fixed {
    pub(super) lookup: Arc<dyn Lookup>,
    pub(super) host: String,
}

impl Resolve for Fixed {
    fn resolve(&self, _: Name) -> Resolving {
        let (lookup, host) = (Arc::clone(&self.lookup), self.host.clone());
        Box::pin(async move {
            let all = look_up(lookup, host).await?;
            Ok(Box::new(all.into_iter()) as Addrs)
        })
    }
}

/// Looks a name up on a thread that may block; an address stands for itself.
async fn look_up(lookup: Arc<dyn Lookup>, host: String) -> io::Result<Vec<SocketAddr>> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, 0)]);
    }
    let all = tokio::task::spawn_blocking(move || lookup.addresses(&host)).await??;
    if all.is_empty() {
        return Err(io::Error::new(io::ErrorKind::NotFound, "it has no address"));
    }
    Ok(all)
}
