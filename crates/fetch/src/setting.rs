//! Settings that cannot be used.

/// A setting that cannot be used, such as a secret whose environment variable is absent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SettingError {
    /// Where the setting is.
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
