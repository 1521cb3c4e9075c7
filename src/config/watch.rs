//! `[watch]`: the reports of the daemon to other monitors.

use std::path::{Path, PathBuf};

use super::section::Section;
use super::services::{TextSource, url};

/// `[watch]`.
#[derive(Debug, Clone, Default)]
pub struct Watch {
    /// The address that gets a request at the start, the end and the failure of each scheduled run.
    pub ping_url: Option<TextSource>,
    /// The file of metrics, relative to the root.
    pub metrics: Option<PathBuf>,
}

impl Watch {
    /// The environment variable that holds the address.
    pub(super) fn secret_variable(&self) -> Option<&str> {
        match &self.ping_url {
            Some(TextSource::Env(name)) => Some(name),
            _ => None,
        }
    }
}

pub(super) fn watch(section: &Section<'_>) -> Watch {
    let text = url(section, "ping-url", false);
    let variable = section.variable("ping-url-env");
    let metrics = section.checked("metrics", |path| {
        // The collector of Prometheus reads only such files.
        if Path::new(path).extension() == Some("prom".as_ref()) {
            Ok(PathBuf::from(path))
        } else {
            Err("`metrics` should be a file whose name ends in .prom".to_owned())
        }
    });
    Watch {
        // The variable wins: it belongs to this machine, and the file to all machines.
        ping_url: variable.map(TextSource::Env).or(text.map(TextSource::Text)),
        metrics,
    }
}
