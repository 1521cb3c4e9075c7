//! Names to addresses: vetted ones for the open network, any for a mapping.

use std::net::SocketAddr;
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::net::lookup_host;

use super::policy::{Policy, Refused};

/// Resolves names by the system, and keeps only addresses that the policy permits.
///
/// The connection is made to the very addresses that were vetted, so a name
/// that answers differently a moment later gains nothing.
#[derive(Debug)]
pub(super) struct Vetted(pub(super) Arc<Policy>);

impl Resolve for Vetted {
    fn resolve(&self, name: Name) -> Resolving {
        let policy = Arc::clone(&self.0);
        Box::pin(async move {
            let all: Vec<SocketAddr> = lookup_host((name.as_str(), 0)).await?.collect();
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

/// Resolves every name to the one host that a mapping names, whatever its address.
#[derive(Debug)]
pub(super) struct Fixed(pub(super) String);

impl Resolve for Fixed {
    fn resolve(&self, _: Name) -> Resolving {
        let host = self.0.clone();
        Box::pin(async move {
            let all: Vec<SocketAddr> = lookup_host((host, 0)).await?.collect();
            Ok(Box::new(all.into_iter()) as Addrs)
        })
    }
}
