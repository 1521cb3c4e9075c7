//! Finds certificates that expire soon.

use std::time::Duration;

use url::{Position, Url};

use crate::observation::{Hop, Observation};

/// A certificate that expires soon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expiry {
    /// The host that sent the certificate, with its port unless it is the default port.
    pub host: String,
    /// One sentence for people.
    pub message: String,
}

/// The certificates of all responses in `seen` that expire within `ahead` of the response.
pub fn expiring(seen: &Observation, ahead: Duration) -> impl Iterator<Item = Expiry> {
    seen.hops.iter().filter_map(move |hop| expiry(hop, ahead))
}

fn expiry(hop: &Hop, ahead: Duration) -> Option<Expiry> {
    let certificate = hop.certificate.as_ref()?;
    let end = certificate.not_after;
    let left = Duration::try_from(end.duration_since(hop.at)).unwrap_or_default();
    if left >= ahead {
        return None;
    }
    let url = Url::parse(&hop.url).ok()?;
    let host = url[Position::BeforeHost..Position::AfterPort].to_owned();
    let left = match left.as_secs() / (24 * 60 * 60) {
        0 => "in less than a day".to_owned(),
        1 => "in 1 day".to_owned(),
        days => format!("in {days} days"),
    };
    let message = format!(
        "the certificate of {host} expires {left}, at {end}; its issuer is {}",
        certificate.issuer
    );
    Some(Expiry { host, message })
}
