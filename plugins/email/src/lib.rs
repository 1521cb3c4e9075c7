//! Sends a report by email: to a mail server, through a sendmail program, or into a folder.
//!
//! `settings` holds addresses and the mail server, `message` composes. `transport` delivers: `smtp`
//! over a `connection`, whose incoming data `guard` bounds, or `sendmail`.
//! The same report always gives the same message, byte for byte. The Message-ID is the same too,
//! so mail programs recognize a message that arrives twice.
#![forbid(unsafe_code)]

mod connection;
mod guard;
mod message;
mod sendmail;
mod settings;
mod smtp;
mod transport;

use urldb_protocol::{
    Delivery, DeliveryFuture, Envelope, Notifier, PlannedDelivery, ReportDelivery,
};

use message::Composer;
pub use settings::{
    Credentials, Error, Security, Settings, SmtpServer, Templates, Transport, check_address,
};
use transport::{Letter, MailTransport, Recipient};

/// The email notifier. Each recipient of each mail is a delivery.
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

    /// Composes the mail about a report, to find mistakes in templates.
    ///
    /// # Errors
    /// The first mistake, with its place.
    pub fn check(&self, envelope: &Envelope) -> Result<(), Error> {
        self.composer.compose(envelope)?;
        Ok(())
    }
}

impl Notifier for EmailNotifier {
    fn deliveries(&self, _: &Envelope) -> Vec<PlannedDelivery> {
        let recipients = self.composer.recipients();
        let plan = |address: &lettre::Address| PlannedDelivery {
            id: address.to_string(),
            about: String::new(),
            to: address.to_string(),
            remember: vec![],
        };
        recipients.map(plan).collect()
    }

    fn deliver<'a>(
        &'a self,
        envelope: &'a Envelope,
        pending: &'a [String],
        report: ReportDelivery<'a>,
    ) -> DeliveryFuture<'a> {
        Box::pin(async move {
            let mail = match self.composer.compose(envelope) {
                Ok(mail) => mail,
                Err(error) => {
                    for id in pending {
                        report(Delivery::failed(id, error.to_string()));
                    }
                    return;
                }
            };
            let recipients = self.composer.recipients();
            let recipients = recipients.map(|address| Recipient {
                delivery: address.to_string(),
                address: address.clone(),
            });
            let letter = Letter {
                mail,
                recipients: recipients
                    .filter(|recipient| pending.contains(&recipient.delivery))
                    .collect(),
            };
            self.transport.deliver(&[letter], report).await;
        })
    }

    fn destination(&self) -> String {
        self.transport.destination()
    }
}
