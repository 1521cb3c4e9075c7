//! Sends a report by email: to a mail server, through a sendmail program, or into a folder.
//!
//! `settings` holds addresses and the mail server, `message` composes the mail of a report. `transport` delivers:
//! `smtp` over a `connection` to the address that wins a `race`, whose incoming data `guard` bounds, after a `login`,
//! or `sendmail`. The same report always gives the same message, byte for byte. The Message-ID is the same too, so mail
//! programs recognize a message that arrives twice.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::too_many_lines))]

mod connection;
mod guard;
mod letter;
mod login;
mod message;
mod race;
mod sendmail;
mod settings;
mod smtp;
mod transport;

use urldb_protocol::{
    Delivery, DeliveryFuture, Envelope, Notifier, PlannedDelivery, ReportDelivery,
};

use letter::{Letter, Recipient};
use message::Composer;
pub use settings::{
    Credentials, Error, Security, Settings, SmtpServer, Templates, Transport, check_address,
    is_hello,
};
use transport::MailTransport;

/// The email notifier. Each recipient of the mail is a delivery.
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

    /// Composes the mail of a report, to find mistakes in templates.
    ///
    /// # Errors
    /// The first mistake, with its place.
    pub fn check(&self, envelope: &Envelope) -> Result<(), Error> {
        self.composer.compose(envelope).map(|_| ())
    }

    /// The letter for the deliveries with these ids. A mail that cannot be composed is reported.
    fn letter(
        &self,
        envelope: &Envelope,
        pending: &[String],
        report: ReportDelivery<'_>,
    ) -> Option<Letter> {
        let recipients: Vec<_> = self
            .composer
            .recipients()
            .map(|address| Recipient {
                delivery: address.to_string(),
                address: address.clone(),
            })
            .filter(|recipient| pending.contains(&recipient.delivery))
            .collect();
        if recipients.is_empty() {
            return None;
        }
        match self.composer.compose(envelope) {
            Ok(mail) => Some(Letter { mail, recipients }),
            Err(error) => {
                for Recipient { delivery, .. } in &recipients {
                    report(Delivery {
                        advice: Some(Delivery::text("check the folder of `templates`")),
                        ..Delivery::failed(delivery, error.to_string())
                    });
                }
                None
            }
        }
    }
}

impl Notifier for EmailNotifier {
    fn deliveries(&self, envelope: &Envelope) -> Vec<PlannedDelivery> {
        let about = Composer::subject(envelope);
        self.composer
            .recipients()
            .map(|address| PlannedDelivery {
                id: address.to_string(),
                about: about.clone(),
                ..PlannedDelivery::of_report(envelope, address.to_string())
            })
            .collect()
    }

    fn deliver<'a>(
        &'a self,
        envelope: &'a Envelope,
        pending: &'a [String],
        report: ReportDelivery<'a>,
    ) -> DeliveryFuture<'a> {
        Box::pin(async move {
            if let Some(letter) = self.letter(envelope, pending, report) {
                self.transport.deliver(&letter, report).await;
            }
        })
    }

    fn destination(&self) -> String {
        self.transport.destination()
    }
}
