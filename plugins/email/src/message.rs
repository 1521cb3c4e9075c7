//! Composes the message of one report.

use std::time::{Duration, SystemTime};

use lettre::Address;
use lettre::message::header::{
    ContentTransferEncoding, ContentType, HeaderName, HeaderValue, Headers, To,
};
use lettre::message::{Body, Mailbox, Mailboxes, Message, MultiPart, SinglePart};
use urldb_protocol::{Envelope, Incident};
use urldb_render::{MailBody, Renderer, Scope, has_other_news, mail_body, one_line, tells};

use crate::settings::{self, Error, Settings, Templates};

const HTML: &str = "email.html";

/// Most incidents whose threads a mail joins.
const MOST_REFERENCES: usize = 20;
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

    pub(crate) fn recipients(&self) -> impl Iterator<Item = &Address> {
        self.to.iter().map(|to| &to.email)
    }

    /// The part of the Message-ID in front of the host: `RUN.NAME`, or `RUN.weekly.NAME` for a weekly report.
    fn file_name(&self, envelope: &Envelope) -> String {
        let (run, name) = (token(envelope.tells()), &self.name);
        match envelope.week {
            None => format!("{run}.{name}"),
            Some(_) => format!("{run}.weekly.{name}"),
        }
    }

    pub(crate) fn subject(envelope: &Envelope) -> String {
        let reminded = reminded(envelope);
        let subject = urldb_render::subject(envelope, scope(envelope, &reminded));
        one_line(subject.trim())
    }

    /// The threads of the mail: a name for each incident that it tells, in angle brackets. A mail program joins the
    /// mails with one of them.
    fn references(&self, envelope: &Envelope) -> String {
        envelope
            .incidents
            .iter()
            .filter(|it| !it.id.is_empty() && (tells(it.phase) || it.reminder))
            .take(MOST_REFERENCES)
            .map(|incident| {
                let (id, domain) = (token(&incident.id), self.from.email.domain());
                format!("<{id}.{}@{domain}>", self.name)
            })
            .collect::<Vec<_>>()
            .join(" ")
    }

    pub(crate) fn compose(&self, envelope: &Envelope) -> Result<OutgoingMail, Error> {
        let subject = Self::subject(envelope);
        let reminded = reminded(envelope);
        let scope = scope(envelope, &reminded);
        let MailBody { text, html } =
            mail_body(envelope, scope, &self.name, &subject, &self.renderer, HTML)?;
        let id = self.file_name(envelope);
        let mut builder = Message::builder()
            .from(self.from.clone())
            .subject(subject)
            .date(date(envelope))
            .message_id(Some(format!("<{id}@{}>", self.from.email.domain())))
            .raw_header(raw_header("List-Id", self.list_id(envelope)))
            .raw_header(raw_header("Auto-Submitted", "auto-generated".to_owned()));
        if let Some(from) = quoted(&self.from) {
            builder = builder.raw_header(raw_header("From", from));
        }
        let references = self.references(envelope);
        if !references.is_empty() {
            builder = builder.references(references);
        }
        builder = builder.raw_header(recipients(&self.to));
        // No encoded body can contain `=_`, so no body can contain its own boundary.
        let parts = MultiPart::alternative()
            .boundary(format!("=_{}", token(envelope.tells())))
            .singlepart(single_part(ContentType::TEXT_PLAIN, text))
            .singlepart(single_part(ContentType::TEXT_HTML, html));
        Ok(OutgoingMail {
            message: builder.multipart(parts)?,
            id,
        })
    }

    /// Identifies the mails about one project (RFC 2919): `sky-urls <sky-urls.urldb.example.org>`.
    fn list_id(&self, envelope: &Envelope) -> String {
        let name = token(&envelope.run.project).to_ascii_lowercase();
        let name = if name.is_empty() { "urldb" } else { &name };
        format!("{name} <{name}.urldb.{}>", self.from.email.domain())
    }
}

/// The incidents of which the report reminds.
fn reminded(envelope: &Envelope) -> Vec<&str> {
    envelope
        .incidents
        .iter()
        .filter(|it| it.reminder)
        .map(|incident| incident.id.as_str())
        .collect()
}

/// The part of its report that a mail tells.
fn scope<'a>(envelope: &Envelope, reminded: &'a [&'a str]) -> Scope<'a> {
    let is_news = |it: &Incident| !it.id.is_empty() && tells(it.phase) && !it.quiet;
    match &envelope.week {
        Some(_) => Scope::Week,
        None if envelope.incidents.iter().any(is_news) || has_other_news(envelope) => Scope::News,
        None if !reminded.is_empty() => Scope::Reminder(reminded),
        // A notifier that tells every run.
        None => Scope::Run,
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
        headers
            .to_string()
            .trim_start_matches("To: ")
            .trim_end()
            .to_owned()
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
