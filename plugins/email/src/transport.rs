//! Delivers mails: over SMTP, through a sendmail program, or into a folder.

use urldb_files::Root;
use urldb_protocol::{Delivery, ReportDelivery};

use crate::letter::{Letter, Recipient};
use crate::message::OutgoingMail;
use crate::sendmail::Sendmail;
use crate::settings::{self, Error, Security, Transport};
use crate::smtp::Smtp;

/// A transport that is ready to deliver.
#[derive(Debug)]
pub(crate) enum MailTransport {
    Smtp(Box<Smtp>),
    Sendmail(Sendmail),
    Folder(Root),
}

impl MailTransport {
    pub(crate) fn new(transport: Transport) -> Result<Self, Error> {
        match transport {
            Transport::Folder(folder) => Ok(Self::Folder(folder)),
            Transport::Sendmail { command, timeout } => {
                Sendmail::new(command, timeout).map(Self::Sendmail)
            }
            Transport::Smtp(server) => {
                if server.security == Security::None
                    && server.credentials.is_some()
                    && !settings::is_loopback(&server.host)
                {
                    return Err(Error::PlaintextPassword {
                        server: server.host,
                    });
                }
                Ok(Self::Smtp(Box::new(Smtp::new(server)?)))
            }
        }
    }

    /// Delivers a letter to each of its recipients, until a fault concerns all of them.
    pub(crate) async fn deliver(&self, letter: &Letter, report: ReportDelivery<'_>) {
        match self {
            Self::Smtp(smtp) => smtp.deliver(letter, report).await,
            Self::Sendmail(sendmail) => sendmail.deliver(letter, report).await,
            Self::Folder(folder) => store(folder, letter, report),
        }
    }

    pub(crate) fn destination(&self) -> String {
        match self {
            Self::Smtp(smtp) => smtp.destination(),
            Self::Sendmail(sendmail) => sendmail.destination(),
            Self::Folder(folder) => folder.path().display().to_string(),
        }
    }
}

fn store(folder: &Root, letter: &Letter, report: ReportDelivery<'_>) {
    let OutgoingMail { id, message } = &letter.mail;
    let file = folder.file(format!("{id}.eml"));
    let written = file.replace(&message.formatted());
    for Recipient { delivery, .. } in &letter.recipients {
        report(match &written {
            Ok(()) => Delivery::delivered(delivery, format!("written to {file}")),
            Err(error) => {
                Delivery::retry(delivery, format!("cannot write {file}: {error}")).of_notifier()
            }
        });
    }
}
