//! Composes the message of one report.

use std::time::{Duration, SystemTime};

use lettre::Address;
use lettre::message::header::{
    ContentTransferEncoding, ContentType, HeaderName, HeaderValue, Headers, To,
};
use lettre::message::{Body, Mailbox, Mailboxes, Message, MultiPart, SinglePart};
use urldb_protocol::{Envelope, Remembered};
use urldb_render::{MailBody, Renderer, Scope, mail_body, one_line, shorten};

use crate::settings::{self, Error, Settings, Templates};
use crate::threads::{self, NEWS, REMINDER, Thread, WEEKLY};

const HTML: &str = "email.html";

/// Longest subject, `Re: ` included, in characters.
const LONGEST_SUBJECT: usize = 120;
/// Longest part of a Message-ID that comes from the report, in characters.
const LONGEST_TOKEN: usize = 50;
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
        let renderer = Renderer::new([(HTML, templates.html)])?;
        Ok(Self {
            name: settings.name.clone(),
            from,
            to,
            renderer,
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn recipients(&self) -> impl Iterator<Item = &Address> {
        self.to.iter().map(|to| &to.email)
    }

    /// The Message-ID of a mail, without angle brackets.
    fn message_id(&self, envelope: &Envelope, thread: &Thread) -> String {
        format!(
            "{}@{}",
            self.file_name(envelope, thread),
            self.from.email.domain()
        )
    }

    /// The part of the Message-ID in front of the host: `RUN.NAME` for the mail about all that is new,
    /// `RUN.KEY.NAME` for others.
    fn file_name(&self, envelope: &Envelope, thread: &Thread) -> String {
        let (run, name) = (token(envelope.tells()), &self.name);
        if thread.key == NEWS {
            format!("{run}.{name}")
        } else {
            format!("{run}.{}.{name}", token(&thread.key))
        }
    }

    /// The subject of a mail: a mail that follows another one repeats its subject, since mail programs
    /// join only equal subjects.
    pub(crate) fn subject(envelope: &Envelope, thread: &Thread) -> String {
        let subject = if let Some(opening) = &thread.opening {
            format!("Re: {}", opening.subject)
        } else {
            let part = threads::part(envelope, thread);
            let ids = thread.ids();
            urldb_render::subject(&part, scope(thread, &ids))
        };
        shorten(&one_line(subject.trim()), LONGEST_SUBJECT)
    }

    /// The facts that later mails of the thread need.
    pub(crate) fn remember(&self, envelope: &Envelope, thread: &Thread) -> Vec<Remembered> {
        let subject = Self::subject(envelope, thread);
        threads::remember(thread, &self.message_id(envelope, thread), &subject)
    }

    pub(crate) fn compose(
        &self,
        envelope: &Envelope,
        thread: &Thread,
    ) -> Result<OutgoingMail, Error> {
        let part = threads::part(envelope, thread);
        let subject = Self::subject(envelope, thread);
        let ids = thread.ids();
        let scope = scope(thread, &ids);
        let MailBody { text, html } =
            mail_body(&part, scope, &self.name, &subject, &self.renderer, HTML)?;
        let mut from = self.from.clone();
        if let Some(label) = thread.label {
            let name = from.name.as_deref().unwrap_or("urldb");
            from.name = Some(format!("{name} ({label})"));
        }
        let quoted = quoted(&from);
        let mut builder = Message::builder()
            .from(from)
            .subject(subject)
            .date(date(envelope))
            .message_id(Some(format!("<{}>", self.message_id(envelope, thread))))
            .raw_header(raw_header("List-Id", self.list_id(envelope)))
            .raw_header(raw_header("Auto-Submitted", "auto-generated".to_owned()));
        if let Some(from) = &quoted {
            builder = builder.raw_header(raw_header("From", from.clone()));
        }
        if let Some(opening) = &thread.opening {
            let id = format!("<{}>", opening.message_id);
            builder = builder.in_reply_to(id.clone()).references(id);
        }
        builder = builder.raw_header(recipients(&self.to));
        // No encoded body can contain `=_`, so no body can contain its own boundary.
        let parts = MultiPart::alternative()
            .boundary(format!("=_{}", token(envelope.tells())))
            .singlepart(single_part(ContentType::TEXT_PLAIN, text))
            .singlepart(single_part(ContentType::TEXT_HTML, html));
        Ok(OutgoingMail {
            message: builder.multipart(parts)?,
            id: self.file_name(envelope, thread),
        })
    }

    /// Identifies the mails about one project (RFC 2919): `sky-urls <sky-urls.urldb.example.org>`.
    fn list_id(&self, envelope: &Envelope) -> String {
        let name = token(&envelope.run.project).to_ascii_lowercase();
        let name = if name.is_empty() { "urldb" } else { &name };
        format!("{name} <{name}.urldb.{}>", self.from.email.domain())
    }
}

/// The part of its report that a mail tells.
fn scope<'a>(thread: &Thread, ids: &'a [&'a str]) -> Scope<'a> {
    match thread.label {
        None => Scope::Run,
        Some(REMINDER) => Scope::Reminder(ids),
        Some(WEEKLY) => Scope::Week,
        Some(_) if thread.key == NEWS => Scope::News,
        Some(_) => Scope::Changes(ids),
    }
}

/// One alternative of the message. Quoted-printable is plain ASCII in short lines: no mail server
/// has a reason to change it, and no line looks like the end of the message.
fn single_part(content_type: ContentType, text: String) -> SinglePart {
    let body = match Body::new_with_encoding(text, ContentTransferEncoding::QuotedPrintable) {
        Ok(body) => body,
        Err(bytes) => Body::new(bytes),
    };
    SinglePart::builder().header(content_type).body(body)
}

/// The address with its name in quotes, as people write it, if the name is plain ASCII. The library
/// encodes every name with a bracket.
fn quoted(mailbox: &Mailbox) -> Option<String> {
    let name = mailbox.name.as_deref()?;
    let is_plain = |char: char| matches!(char, ' '..='~') && !matches!(char, '"' | '\\');
    let is_short = name.len() <= LONGEST_TOKEN;
    (is_short && name.chars().all(is_plain)).then(|| format!("\"{name}\" <{}>", mailbox.email))
}

/// The header `To`, with a line for each recipient: a line has at most 998 bytes (RFC 5322, section 2.1.1), and the library
/// divides lines within names only.
fn recipients(to: &[Mailbox]) -> HeaderValue {
    let encoded = |mailbox: &Mailbox| {
        let mut headers = Headers::new();
        headers.set(To::from(Mailboxes::from(mailbox.clone())));
        let header = headers.to_string();
        header.trim_start_matches("To: ").trim_end().to_owned()
    };
    let lines: Vec<String> = to.iter().map(encoded).collect();
    // The library reads its own form of the header, for the addresses.
    let addresses: Vec<String> = to.iter().map(|to| to.email.to_string()).collect();
    HeaderValue::dangerous_new_pre_encoded(
        HeaderName::new_from_ascii_str("To"),
        addresses.join(", "),
        lines.join(",\r\n "),
    )
}

fn raw_header(name: &'static str, value: String) -> HeaderValue {
    HeaderValue::new(HeaderName::new_from_ascii_str(name), value)
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
