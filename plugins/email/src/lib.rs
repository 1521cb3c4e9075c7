//! Sends a report by email, to a mail server or into a folder of `.eml` files.
//!
//! `settings` holds addresses and the mail server, `message` composes, `transport` delivers.
//! `connection` reaches the mail server, `guard` bounds what the mail server may send.
//! The same report always gives the same message, byte for byte. The Message-ID is the same too,
//! so mail programs recognize a message that arrives twice.
#![forbid(unsafe_code)]

mod connection;
mod guard;
mod message;
mod settings;
mod transport;

use urldb_protocol::{DeliveryFuture, DeliveryReport, Envelope, Notifier, Trigger};

use message::Composer;
pub use settings::{Credentials, Error, Security, Settings, Templates, Transport};
use transport::MailTransport;

/// The email notifier.
#[derive(Debug)]
pub struct EmailNotifier {
    composer: Composer,
    transport: MailTransport,
}

impl EmailNotifier {
    /// Parses the addresses and the templates, and prepares the connection. Sends nothing.
    pub fn new(settings: Settings, templates: Templates) -> Result<Self, Error> {
        Ok(Self {
            composer: Composer::new(&settings, templates)?,
            transport: MailTransport::new(settings.transport)?,
        })
    }
}

impl Notifier for EmailNotifier {
    fn trigger(&self) -> Trigger {
        Trigger::News
    }

    fn deliver<'a>(&'a self, envelope: &'a Envelope) -> DeliveryFuture<'a> {
        Box::pin(async move {
            match self.composer.compose(envelope) {
                Ok(message) => self.transport.deliver(message).await,
                Err(error) => DeliveryReport::failed(error.to_string()),
            }
        })
    }
}
