//! The environment variables of secrets that urldb.toml names.

use std::collections::BTreeSet;

use anyhow::Context;
use urldb_fetch::HeaderSource;
use urldb_store::{Environment, Location};
use urldb_text::secret_variable;

use super::mail::EmailTransport;
use super::notify::{NotifierKind, Notify};
use super::services::NotifyWebhook;
use super::{ArchiveStore, Config};

impl Config {
    /// Registers the secrets of requests and notifiers: a server may send them back, and no text may show
    /// them.
    pub(super) fn register_secrets(&self) {
        for name in self.secret_variables() {
            // The code that needs the variable reports an unset one.
            let _ = secret_variable(&name);
        }
    }

    /// The environment variables that hold secrets, as the file names them.
    pub fn secret_variables(&self) -> BTreeSet<String> {
        let proxy = self.network.proxy.as_ref();
        let proxy = proxy.and_then(|proxy| proxy.password_env.as_deref());
        let mut names: BTreeSet<String> = self
            .check
            .fetch
            .secret_variables()
            .chain(proxy)
            .map(str::to_owned)
            .collect();
        names.extend(self.watch.secret_variable().map(str::to_owned));
        let places = self.find.values();
        names.extend(places.flat_map(|place| variables_of(place.headers.values())));
        names.extend(self.notifiers.values().flat_map(Notify::secret_variables));
        let stores = self.archive.stores.iter();
        let is_bucket = |store: &&ArchiveStore| matches!(store.location, Location::Bucket(_));
        for store in stores.filter(is_bucket) {
            let of_store = Environment::SECRET_VARIABLES.into_iter();
            names.extend(of_store.map(|name| format!("{}{name}", store.env_prefix)));
        }
        names
    }

    /// The proxy of `[network]` for the requests to services, with its password.
    ///
    /// # Errors
    /// When the variable with the password is not set.
    pub fn http_proxy(&self) -> anyhow::Result<Option<urldb_http::Proxy>> {
        let Some(proxy) = &self.network.proxy else {
            return Ok(None);
        };
        let credentials =
            proxy
                .user
                .as_ref()
                .zip(proxy.password_env.as_ref())
                .map(|(user, variable)| {
                    let password = secret_variable(variable).with_context(|| {
                let place = self.place("network", "proxy-password-env");
                format!(
                    "{place}: the proxy's password should be in the environment variable {variable}"
                )
            })?;
                    Ok::<_, anyhow::Error>((user.clone(), password))
                });
        Ok(Some(urldb_http::Proxy {
            address: proxy.address.as_str().to_owned(),
            credentials: credentials.transpose()?,
        }))
    }
}

/// The environment variables with the values of texts.
fn variables_of<'a>(
    sources: impl Iterator<Item = &'a HeaderSource>,
) -> impl Iterator<Item = String> {
    sources.filter_map(|source| match source {
        HeaderSource::Env(name) => Some(name.clone()),
        HeaderSource::Text(_) => None,
    })
}

impl Notify {
    /// The environment variables that hold the secrets of the notifier.
    pub fn secret_variables(&self) -> BTreeSet<String> {
        match &self.kind {
            NotifierKind::Email(email) => match &email.transport {
                EmailTransport::Smtp(smtp) => smtp.password_env.iter().cloned().collect(),
                EmailTransport::Sendmail(_) | EmailTransport::Folder(_) => BTreeSet::new(),
            },
            NotifierKind::Webhook(webhook) => webhook.secret_variables().collect(),
            NotifierKind::Issues(issues) => BTreeSet::from([issues.token_env.clone()]),
            NotifierKind::Command(command) => command.variables.iter().cloned().collect(),
            NotifierKind::Html(_) => BTreeSet::new(),
        }
    }
}

impl NotifyWebhook {
    fn secret_variables(&self) -> impl Iterator<Item = String> {
        let texts = self.variables.values().chain([&self.url]);
        variables_of(self.headers.values().chain(texts)).chain(self.secret_env.clone())
    }
}
