//! Sends a report by email, to a mail server or into a folder of `.eml` files.
//!
//! `settings` says where to, `message` composes, `courier` delivers. A message
//! is the same, byte for byte, each time the same report is composed; its
//! Message-ID too, so that a mail that arrives twice is recognized.
#![forbid(unsafe_code)]

mod message;
mod settings;
mod transport;

use lettre::message::Mailbox;
use urldb_protocol::{Answer, Delivery, Envelope, Interest, Notifier};
use urldb_render::Renderer;

pub use settings::{Credentials, Error, Security, Settings, Templates, Transport};
use transport::Courier;

/// The email notifier.
#[derive(Debug)]
pub struct Email {
    from: Mailbox,
    to: Vec<Mailbox>,
    renderer: Renderer,
    courier: Courier,
}

impl Email {
    /// Reads the addresses and the templates, and prepares the way out. Sends nothing yet.
    pub fn new(settings: Settings, templates: Templates) -> Result<Self, Error> {
        let from = settings::mailbox(&settings.from)?;
        let to: Vec<_> = settings
            .to
            .iter()
            .map(|to| settings::mailbox(to))
            .collect::<Result<_, _>>()?;
        if to.is_empty() {
            return Err(Error::NoRecipient);
        }
        let renderer = Renderer::new([
            (message::SUBJECT, templates.subject),
            (message::TEXT, templates.text),
            (message::HTML, templates.html),
        ])?;
        Ok(Self {
            from,
            to,
            renderer,
            courier: Courier::new(settings.transport)?,
        })
    }
}

impl Notifier for Email {
    fn interest(&self) -> Interest {
        Interest::News
    }

    fn deliver<'a>(&'a self, envelope: &'a Envelope) -> Delivery<'a> {
        Box::pin(async move {
            match message::compose(self, envelope) {
                Ok(message) => self.courier.deliver(message).await,
                Err(error) => Answer::failed(error.to_string()),
            }
        })
    }
}
