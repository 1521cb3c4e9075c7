//! Sends a report by email: to a mail server, through a sendmail program, or into a folder.
//!
//! `settings` holds addresses and the mail server, `threads` says which mails a report needs, `message`
//! composes one. `transport` delivers: `smtp`
//! over a `connection` to the address that wins a `race`, whose incoming data `guard` bounds, after a `login`, or `sendmail`.
//! The same report always gives the same message, byte for byte. The Message-ID is the same too,
//! so mail programs recognize a message that arrives twice.
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
mod threads;
mod transport;

use urldb_protocol::{
    Delivery, DeliveryFuture, Envelope, Notifier, PlannedDelivery, ReportDelivery,
};

use letter::{Letter, Recipient};
use lettre::Address;
use message::Composer;
pub use settings::{
    Credentials, Error, Security, Settings, SmtpServer, Templates, Transport, check_address,
    is_hello,
};
use threads::Thread;
use transport::MailTransport;

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

    /// Composes the mails of a report, to find mistakes in templates.
    ///
    /// # Errors
    /// The first mistake, with its place.
    pub fn check(&self, envelope: &Envelope) -> Result<(), Error> {
        for thread in self.threads(envelope) {
            self.composer.compose(envelope, &thread)?;
        }
        Ok(())
    }

    fn threads(&self, envelope: &Envelope) -> Vec<Thread> {
        threads::threads(envelope, self.composer.name())
    }

    /// The letters for the deliveries with these ids. A mail that cannot be composed is reported.
    fn letters(
        &self,
        envelope: &Envelope,
        pending: &[String],
        report: ReportDelivery<'_>,
    ) -> Vec<Letter> {
        let mut letters = vec![];
        for thread in self.threads(envelope) {
            let recipients = self.composer.recipients().map(|address| Recipient {
                delivery: delivery_id(&thread, address),
                address: address.clone(),
            });
            let recipients: Vec<_> = recipients
                .filter(|recipient| pending.contains(&recipient.delivery))
                .collect();
            if recipients.is_empty() {
                continue;
            }
            match self.composer.compose(envelope, &thread) {
                Ok(mail) => letters.push(Letter { mail, recipients }),
                Err(error) => {
                    for Recipient { delivery, .. } in &recipients {
                        report(Delivery {
                            advice: Some(Delivery::text("check the folder of `templates`")),
                            ..Delivery::failed(delivery, error.to_string())
                        });
                    }
                }
            }
        }
        letters
    }
}

fn delivery_id(thread: &Thread, address: &Address) -> String {
    format!("{}/{address}", thread.key)
}

impl Notifier for EmailNotifier {
    fn deliveries(&self, envelope: &Envelope) -> Vec<PlannedDelivery> {
        let mut planned = vec![];
        for thread in self.threads(envelope) {
            let about = Composer::subject(envelope, &thread);
            for (index, address) in self.composer.recipients().enumerate() {
                planned.push(PlannedDelivery {
                    id: delivery_id(&thread, address),
                    about: about.clone(),
                    to: address.to_string(),
                    incidents: thread.incidents.clone(),
                    // Once for all recipients.
                    remember: match index {
                        0 => self.composer.remember(envelope, &thread),
                        _ => vec![],
                    },
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
            let letters = self.letters(envelope, pending, report);
            self.transport.deliver(&letters, report).await;
        })
    }

    fn destination(&self) -> String {
        self.transport.destination()
    }
}
