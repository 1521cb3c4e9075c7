//! Keeps an issue for each incident, on GitHub, GitLab or Forgejo.
//!
//! A run that opens an incident opens an issue, other news is a comment, and the end is a comment and closes the issue.
//! The tracker sends no mail about a new body, so news that is held back changes the body alone. More than five incidents
//! of one run share one issue.
//!
//! No service has an id that makes a repeated request harmless, so an issue carries a marker in its
//! body, and every delivery looks for the issue before it opens one. `service` hides the differences
//! of the three interfaces, `session` makes requests within their limits, `thread` groups incidents,
//! `delivery` compares a thread with its issue.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::too_many_lines))]

mod delivery;
mod fault;
mod marker;
mod repository;
mod service;
mod session;
mod settings;
mod text;
mod thread;

use urldb_protocol::{DeliveryFuture, Envelope, Notifier, PlannedDelivery, ReportDelivery};

pub use session::check_repository;
pub use settings::{Error, Service, Settings, Token};

use session::Backend;
use thread::threads;

/// The notifier that keeps issues.
#[derive(Debug)]
pub struct IssuesNotifier {
    /// The notifier's name, under which envelopes hold what it remembers.
    name: String,
    labels: Vec<String>,
    backend: Backend,
}

impl IssuesNotifier {
    /// Checks the settings, and reads the certificate authorities. Connects nowhere.
    pub fn new(settings: Settings) -> Result<Self, Error> {
        Ok(Self {
            name: settings.name.clone(),
            labels: settings.labels.clone(),
            backend: Backend::new(settings)?,
        })
    }
}

impl Notifier for IssuesNotifier {
    fn deliveries(&self, envelope: &Envelope) -> Vec<PlannedDelivery> {
        let mut planned = Vec::new();
        for thread in threads(envelope, &self.name) {
            for (index, id) in thread.deliveries.iter().enumerate() {
                let incidents = if thread.opened {
                    thread.incidents.as_slice()
                } else {
                    &thread.incidents[index..=index]
                };
                planned.push(PlannedDelivery {
                    id: id.clone(),
                    about: text::title(envelope, incidents),
                    to: self.destination(),
                    incidents: incidents.iter().map(|it| it.id.clone()).collect(),
                    remember: Vec::new(),
                });
            }
        }
        planned
    }

    fn deliver<'a>(
        &'a self,
        envelope: &'a Envelope,
        pending: &'a [String],
        report: ReportDelivery<'a>,
    ) -> DeliveryFuture<'a> {
        Box::pin(async move {
            let threads = threads(envelope, &self.name)
                .into_iter()
                .filter(|thread| thread.deliveries.iter().any(|id| pending.contains(id)));
            delivery::deliver(self, envelope, threads.collect(), report).await;
        })
    }

    fn keeps_threads(&self) -> bool {
        true
    }

    fn destination(&self) -> String {
        self.backend.destination()
    }
}
