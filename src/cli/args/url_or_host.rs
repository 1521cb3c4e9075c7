//! The argument `[URL|HOST]`.

use urldb_canon::Identity;
use urldb_protocol::UrlOverview;

use super::{find_records, resolve_domains};
use crate::cli::Context;

/// The URLs that an argument `URL|HOST` names.
#[derive(Debug)]
pub(crate) enum UrlOrHost {
    /// No argument: everything.
    Everywhere,
    /// A host, by the name of its domain file.
    Host(String),
    /// A record, by a URL.
    Record {
        /// The host that its domain file is named after.
        host: String,
        /// Its `_path`.
        path: String,
        /// The URL as it was typed.
        url: Identity,
    },
}

impl UrlOrHost {
    /// Finds the host or the record in the database.
    ///
    /// # Errors
    /// When there is none; the message suggests a similar one.
    pub(crate) fn find(typed: Option<&str>, context: &Context) -> anyhow::Result<Self> {
        let Some(typed) = typed else {
            return Ok(Self::Everywhere);
        };
        // A host has no slash, and a URL has one.
        if !typed.contains('/') {
            let mut hosts = resolve_domains(&context.config, &[typed.to_owned()])?;
            return Ok(hosts.pop().map_or(Self::Everywhere, Self::Host));
        }
        let mut records = find_records(context, &[typed.to_owned()])?;
        let url = urldb_canon::identify(typed)?;
        Ok(records
            .pop()
            .map_or(Self::Everywhere, |named| Self::Record {
                host: named.domain,
                path: named.path,
                url,
            }))
    }

    /// Whether the argument names the URL, its host or everything.
    pub(crate) fn has(&self, url: &UrlOverview) -> bool {
        match self {
            Self::Everywhere => true,
            Self::Host(host) => url.host == *host,
            Self::Record { host, path, .. } => url.host == *host && url.path == *path,
        }
    }

    /// Of the URLs of a record, over each scheme, those with the scheme that was typed.
    pub(crate) fn narrow(&self, urls: Vec<UrlOverview>) -> Vec<UrlOverview> {
        let Self::Record { url: typed, .. } = self else {
            return urls;
        };
        let scheme = format!("{}:", typed.scheme.as_str());
        let (same, others): (Vec<_>, Vec<_>) = urls
            .into_iter()
            .partition(|url| url.url.starts_with(&scheme));
        if same.is_empty() { others } else { same }
    }
}
