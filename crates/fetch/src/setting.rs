//! Settings that cannot be used, and other causes why there is no fetcher.

use std::error::Error;

/// A setting that cannot be used, such as a secret whose environment variable is absent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SettingError {
    /// The part of the configuration that has the setting.
    pub section: SettingSection,
    /// The key of the setting in the configuration.
    pub key: &'static str,
    /// The mistake in a sentence for people, without secrets.
    pub message: String,
}

/// The part of the configuration that has a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingSection {
    /// The network: [`NetworkOptions`](crate::NetworkOptions).
    Network,
    /// All hosts: [`FetchOptions::default_host`](crate::FetchOptions::default_host).
    AllHosts,
    /// One host: [`FetchOptions::hosts`](crate::FetchOptions::hosts).
    Host(String),
}

/// The cause why a fetcher cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// A setting cannot be used.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// The system has no certificate authorities.
    #[error(transparent)]
    Trust(urldb_tls::Error),
    /// The process cannot open enough files, or a library cannot be set up.
    #[error("{step}")]
    System {
        /// The step that failed, for people.
        step: &'static str,
        /// The error of the system or of the library.
        source: Box<dyn Error + Send + Sync>,
    },
}

impl SetupError {
    /// An error of the system in this step.
    pub(crate) fn in_step<E: Error + Send + Sync + 'static>(
        step: &'static str,
    ) -> impl FnOnce(E) -> Self {
        move |error| Self::System {
            step,
            source: Box::new(error),
        }
    }
}

impl SettingError {
    /// An error about a setting of the network.
    pub(crate) fn network(key: &'static str, message: impl Into<String>) -> Self {
        Self {
            section: SettingSection::Network,
            key,
            message: message.into(),
        }
    }
}
