//! Composes the message of one report.

use std::time::{Duration, SystemTime};

use lettre::Address;
use lettre::message::header::{ContentTransferEncoding, ContentType, HeaderName, HeaderValue};
use lettre::message::{Body, Mailbox, Message, MultiPart, SinglePart};
use urldb_protocol::Envelope;
use urldb_render::{Renderer, View, one_line, shorten};

use crate::settings::{self, Error, Settings, Templates};

const SUBJECT: &str = "email-subject.txt";
const TEXT: &str = "email.txt";
const HTML: &str = "email.html";

/// Longest subject, in characters.
const LONGEST_SUBJECT: usize = 120;
/// Longest part of a Message-ID that comes from the report, in characters.
const LONGEST_TOKEN: usize = 50;
/// Largest HTML body, in bytes: mail programs cut a longer one and hide the rest.
const LARGEST_HTML: usize = 100_000;
/// Most URLs in one list. A message that would be too large has fewer.
const MOST_ROWS: usize = 50;

/// A composed message and its id. The same report gives the same id.
#[derive(Debug)]
pub(crate) struct OutgoingMail {
    pub(crate) id: String,
    pub(crate) message: Message,
}

/// Turns a report into a message: sender, recipients and templates.
#[derive(Debug)]
pub(crate) struct Composer {
    name: String,
    from: Mailbox,
    to: Vec<Mailbox>,
    renderer: Renderer,
}

impl Composer {
    /// Parses the addresses and the templates.
    pub(crate) fn new(settings: &Settings, templates: Templates) -> Result<Self, settings::Error> {
        let from = settings::mailbox(&settings.from)?;
        let to: Vec<_> = settings
            .to
            .iter()
            .map(|to| settings::mailbox(to))
            .collect::<Result<_, _>>()?;
        if to.is_empty() {
            return Err(settings::Error::NoRecipient);
        }
        let renderer = Renderer::new([
            (SUBJECT, templates.subject),
            (TEXT, templates.text),
            (HTML, templates.html),
        ])?;
        Ok(Self {
            name: settings.name.clone(),
            from,
            to,
            renderer,
        })
    }

    /// The addresses of the recipients.
    pub(crate) fn recipients(&self) -> impl Iterator<Item = &Address> {
        self.to.iter().map(|to| &to.email)
    }

    pub(crate) fn compose(&self, envelope: &Envelope) -> Result<OutgoingMail, Error> {
        let (view, html) = self.largest_that_fits(envelope)?;
        let subject = self.renderer.render(SUBJECT, &view)?;
        let text = self.renderer.render(TEXT, &view)?;
        let id = format!("{}.{}", token(&envelope.run.id), self.name);

        let mut builder = Message::builder()
            .from(self.from.clone())
            .subject(shorten(&one_line(subject.trim()), LONGEST_SUBJECT))
            .date(date(envelope))
            .message_id(Some(format!("<{id}@{}>", self.from.email.domain())))
            .raw_header(HeaderValue::new(
                HeaderName::new_from_ascii_str("Auto-Submitted"),
                "auto-generated".to_owned(),
            ));
        for to in &self.to {
            builder = builder.to(to.clone());
        }
        // No encoded body can contain `=_`, so no body can contain its own boundary.
        let parts = MultiPart::alternative()
            .boundary(format!("=_{id}"))
            .singlepart(part(ContentType::TEXT_PLAIN, text))
            .singlepart(part(ContentType::TEXT_HTML, html));
        Ok(OutgoingMail {
            message: builder.multipart(parts)?,
            id,
        })
    }

    fn largest_that_fits(&self, envelope: &Envelope) -> Result<(View, String), Error> {
        let mut limit = MOST_ROWS;
        loop {
            let view = View::new(envelope, limit);
            let html = self.renderer.render(HTML, &view)?;
            if html.len() <= LARGEST_HTML || limit <= 1 {
                return Ok((view, html));
            }
            limit /= 2;
        }
    }
}

/// One alternative of the message. Quoted-printable is plain ASCII in short lines: no mail server
/// has a reason to change it, and no line looks like the end of the message.
fn part(content_type: ContentType, text: String) -> SinglePart {
    let body = match Body::new_with_encoding(text, ContentTransferEncoding::QuotedPrintable) {
        Ok(body) => body,
        Err(bytes) => Body::new(bytes),
    };
    SinglePart::builder().header(content_type).body(body)
}

/// The text as a part of a Message-ID or a file name.
fn token(text: &str) -> String {
    let is_plain = |char: &char| char.is_ascii_alphanumeric() || *char == '-';
    text.chars().filter(is_plain).take(LONGEST_TOKEN).collect()
}

/// The end of the run. A Date header cannot hold a time before 1970.
fn date(envelope: &Envelope) -> SystemTime {
    let seconds = u64::try_from(envelope.run.finished.as_second()).unwrap_or(0);
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}
