//! Composes the message of one report.

use std::time::{Duration, SystemTime};

use lettre::message::header::{ContentTransferEncoding, ContentType, HeaderName, HeaderValue};
use lettre::message::{Body, Message, MultiPart, SinglePart};
use sha2::{Digest, Sha256};
use urldb_protocol::Envelope;
use urldb_render::{View, one_line, shorten};

use crate::Email;

pub(crate) const SUBJECT: &str = "email-subject.txt";
pub(crate) const TEXT: &str = "email.txt";
pub(crate) const HTML: &str = "email.html";

/// The longest subject, in characters.
const LONGEST_SUBJECT: usize = 120;
/// Mail programs cut a longer HTML body and hide the rest.
const LARGEST_HTML: usize = 100_000;
/// How many URLs each list shows at most; fewer where that would be too large.
const MOST_ROWS: usize = 50;

/// A message, and a name for it that is the same each time it is composed.
#[derive(Debug)]
pub(crate) struct Composed {
    pub(crate) id: String,
    pub(crate) message: Message,
}

/// Why a report cannot become a message.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Template(#[from] urldb_render::Error),
    #[error("cannot compose the message: {0}")]
    Message(#[from] lettre::error::Error),
}

pub(crate) fn compose(email: &Email, envelope: &Envelope) -> Result<Composed, Error> {
    let (view, html) = largest_that_fits(email, envelope)?;
    let subject = email.renderer.render(SUBJECT, &view)?;
    let text = email.renderer.render(TEXT, &view)?;
    let id = stable_id(email, envelope);

    let mut builder = Message::builder()
        .from(email.from.clone())
        .subject(shorten(&one_line(subject.trim()), LONGEST_SUBJECT))
        .date(date(envelope))
        .message_id(Some(format!("<{id}@{}>", email.from.email.domain())))
        .raw_header(HeaderValue::new(
            HeaderName::new_from_ascii_str("Auto-Submitted"),
            "auto-generated".to_owned(),
        ));
    for to in &email.to {
        builder = builder.to(to.clone());
    }
    // No encoded body can contain `=_`, so no body can contain its own boundary.
    let parts = MultiPart::alternative()
        .boundary(format!("=_{id}"))
        .singlepart(part(ContentType::TEXT_PLAIN, text))
        .singlepart(part(ContentType::TEXT_HTML, html));
    Ok(Composed {
        message: builder.multipart(parts)?,
        id,
    })
}

fn largest_that_fits(email: &Email, envelope: &Envelope) -> Result<(View, String), Error> {
    let mut limit = MOST_ROWS;
    loop {
        let view = View::new(envelope, limit);
        let html = email.renderer.render(HTML, &view)?;
        if html.len() <= LARGEST_HTML || limit <= 1 {
            return Ok((view, html));
        }
        limit /= 2;
    }
}

/// Always quoted-printable: plain ASCII, in short lines that no mail server has
/// a reason to touch, and in which no line can be mistaken for the end.
fn part(content_type: ContentType, text: String) -> SinglePart {
    let body = match Body::new_with_encoding(text, ContentTransferEncoding::QuotedPrintable) {
        Ok(body) => body,
        Err(bytes) => Body::new(bytes),
    };
    SinglePart::builder().header(content_type).body(body)
}

/// The same for the same report to the same people.
fn stable_id(email: &Email, envelope: &Envelope) -> String {
    let mut hash = Sha256::new();
    hash.update(&envelope.run.id);
    for to in &email.to {
        hash.update([0]);
        hash.update(to.email.to_string());
    }
    let digest = hash.finalize();
    let number = digest
        .iter()
        .take(16)
        .fold(0_u128, |number, byte| number << 8 | u128::from(*byte));
    format!("urldb-{number:032x}")
}

/// When the run was over; a Date header cannot hold anything before 1970.
fn date(envelope: &Envelope) -> SystemTime {
    let seconds = u64::try_from(envelope.run.finished.as_second()).unwrap_or(0);
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}
