//! A mail on its way to its recipients.

use crate::message::OutgoingMail;

/// A mail, and the recipients who still wait for it.
#[derive(Debug)]
pub(crate) struct Letter {
    pub(crate) mail: OutgoingMail,
    pub(crate) recipients: Vec<Recipient>,
}

#[derive(Debug, Clone)]
pub(crate) struct Recipient {
    pub(crate) delivery: String,
    pub(crate) address: lettre::Address,
}
