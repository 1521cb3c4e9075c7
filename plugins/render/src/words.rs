//! The words of a message, for webhooks and programs.

use urldb_protocol::{
    Envelope, Incident, MessageAction, MessageCommand, MessageLink, MessageSeverity, MessageWords,
    Phase,
};

use crate::compose::{Deliveries, Scope, compose, subject};
use crate::mail::BodyContent;
use crate::markdown::{LARGEST_BODY, markdown_within};
use crate::message::{Block, Class, Message, SourceLink, Tone};
use crate::numbers::{number, with_spaces};
use crate::parts::{Part, part, tells, urls_of};
use crate::renderer::{Error, Renderer};
use crate::text::{Text, one_line, shorten};

/// Most lines of [`MessageWords::lines`], without the number of further ones.
const MOST_LINES: usize = 5;

/// Longest line and longest headline, in characters.
const LONGEST_LINE: usize = 300;

/// Longest piece of a line that comes from outside, in characters.
const LONGEST_PIECE: usize = 200;

/// Longest text of a label, in characters.
const LONGEST_LABEL: usize = 100;

/// Most commands, and the longest command, in bytes.
const MOST_COMMANDS: usize = 20;
const LONGEST_COMMAND: usize = 2_000;

/// Most links, and the longest address, in bytes.
const MOST_LINKS: usize = 6;
const LONGEST_ADDRESS: usize = 1_000;

const HTML: &str = "email.html";

/// A report as one message tells it.
#[derive(Debug, Clone)]
pub struct WordedReport {
    /// The facts of the message, and its words.
    pub envelope: Envelope,
    /// The content of the message, for templates.
    pub content: Message,
    /// The first blocks of the content in a line each, as in [`MessageWords::lines`].
    pub causes: Vec<String>,
}

/// Adds the words to the reports of one notifier.
#[derive(Debug)]
pub struct WordsWriter {
    notifier: String,
    renderer: Renderer,
}

impl WordsWriter {
    /// For the notifier of this name, with the source of the template `email.html`.
    ///
    /// # Errors
    /// The template does not parse.
    pub fn new(notifier: &str, html: String) -> Result<Self, Error> {
        Ok(Self {
            notifier: notifier.to_owned(),
            renderer: Renderer::new([(HTML, html)])?,
        })
    }

    /// The report as the message about its part tells it.
    ///
    /// # Errors
    /// The template cannot be rendered.
    pub fn write(&self, envelope: &Envelope, of: &Part) -> Result<WordedReport, Error> {
        let mut delivered = match of {
            Part::Run | Part::Week => envelope.clone(),
            Part::Incident(id) => part(envelope, &[id], false),
            Part::Others => part(envelope, &[], true),
        };
        let (subject, body) = composed(&delivered, of);
        let content = &body.message;
        let causes: Vec<String> = content.blocks.iter().take(MOST_LINES).map(line).collect();
        let fitted = body.fitted(&subject, &self.renderer, HTML)?;
        let words = MessageWords {
            id: of.message_id(&delivered, &self.notifier),
            thread: of.thread().map(str::to_owned),
            action: action(&delivered, of),
            severity: severity(content),
            headline: content.headline.text.clone(),
            subject,
            lines: lines(&causes, content.blocks.len()),
            text: fitted.text,
            markdown: markdown_within(content, LARGEST_BODY),
            html: fitted.html,
            commands: commands(content),
            links: links(content),
        };
        if let Part::Incident(id) = of {
            keep_incident(&mut delivered, id);
        }
        delivered.message = Some(Box::new(words));
        Ok(WordedReport {
            envelope: delivered,
            content: body.message,
            causes,
        })
    }
}

/// Subject and content of the message about a part of a report.
fn composed(delivered: &Envelope, of: &Part) -> (String, BodyContent) {
    let reminded: Vec<&str> = reminded(delivered).collect();
    let id = of.thread();
    let scope = match of {
        Part::Run | Part::Incident(_)
            if !reminded.is_empty() && news(delivered).next().is_none() =>
        {
            Scope::Reminder(&reminded)
        }
        Part::Run => Scope::Run,
        Part::Week => Scope::Week,
        Part::Incident(_) => Scope::Changes(id.as_slice()),
        Part::Others => Scope::News,
    };
    let mut message = compose(delivered, scope, &Deliveries::default());
    message.notified = None;
    let is_news = |block: &Block| {
        !matches!(block.class, Class::Unconfirmed | Class::Unknown) || !block.ids.is_empty()
    };
    if message.blocks.iter().any(is_news) {
        // Of these, nobody is notified before they are certain.
        message.blocks.retain(is_news);
    }
    if of.thread().is_some() {
        // Others have messages of their own.
        message.also_open = None;
    }
    if let Some(sentence) = merged(delivered, of) {
        message.headline.text = sentence.plain();
    }
    let subject = subject(delivered, scope);
    let body = BodyContent::new(message, delivered, scope, "message");
    (shorten(&one_line(subject.trim()), LONGEST_LINE), body)
}

/// Leaves only the facts about one incident.
fn keep_incident(envelope: &mut Envelope, id: &str) {
    envelope.incidents.retain(|incident| incident.id == id);
    let all = envelope.clone();
    let urls = urls_of(&all, |_| true);
    let findings = &mut envelope.findings;
    findings.retain(|finding| urls.contains(finding.url.as_str()));
    let noticed = all.files_with_notice();
    let mistakes = &mut envelope.mistakes;
    mistakes.retain(|mistake| noticed.contains(mistake.file.as_str()));
}

fn is_merged(incident: &Incident) -> bool {
    incident.phase == Phase::Closed && incident.merged_into.is_some()
}

/// The incidents that the message tells.
fn news(envelope: &Envelope) -> impl Iterator<Item = &Incident> {
    envelope
        .incidents
        .iter()
        .filter(|it| !it.id.is_empty() && !it.quiet && tells(it.phase))
}

fn reminded(envelope: &Envelope) -> impl Iterator<Item = &str> {
    envelope
        .incidents
        .iter()
        .filter(|it| it.reminder)
        .map(|incident| incident.id.as_str())
}

/// The end of an incident whose URLs another one has taken over.
fn merged(delivered: &Envelope, of: &Part) -> Option<Text> {
    let id = of.thread()?;
    let incident = delivered
        .incidents
        .iter()
        .find(|it| it.id == id)
        .filter(|it| is_merged(it))?;
    let text = Text::from("closed: incident ")
        .outside(id)
        .own(" of ")
        .host(&incident.host)
        .own(" continues in incident ");
    Some(text.outside(incident.merged_into.as_deref()?))
}

fn action(delivered: &Envelope, of: &Part) -> MessageAction {
    use MessageAction as A;
    if *of == Part::Week {
        return A::Digest;
    }
    let is_thread = of.thread().is_some();
    if delivered.run.test && !is_thread {
        return A::Test;
    }
    let begins = |it: &Incident| it.phase == Phase::Opened;
    let noticed = delivered.files_with_notice();
    let is_other = |file: &str| !noticed.contains(file);
    let is_fault = delivered
        .mistakes
        .iter()
        .any(|mistake| mistake.new && is_other(&mistake.file))
        || delivered.findings.iter().any(|finding| finding.new);
    let is_fixed = !is_thread && delivered.fixed.iter().any(|fixed| is_other(&fixed.file));
    if news(delivered).any(begins) || !is_thread && is_fault {
        return A::Open;
    }
    let mut incidents = news(delivered).peekable();
    match (incidents.peek().is_some(), is_fixed) {
        (true, _) if incidents.all(|it| it.phase == Phase::Closed) => A::Close,
        (false, true) if delivered.mistakes.is_empty() => A::Close,
        (false, false) if reminded(delivered).next().is_some() => A::Remind,
        _ => A::Update,
    }
}

fn severity(message: &Message) -> MessageSeverity {
    let of_tone = |block: &Block| match block.tone {
        Tone::Bad => MessageSeverity::Error,
        Tone::Warn => MessageSeverity::Warning,
        Tone::Good => MessageSeverity::Info,
    };
    message
        .blocks
        .iter()
        .map(of_tone)
        .max()
        .unwrap_or(MessageSeverity::Info)
}

/// The causes, and the number of others.
fn lines(causes: &[String], all: usize) -> Vec<String> {
    let mut lines = causes.to_vec();
    let more = all - lines.len();
    if more > 0 {
        lines.push(format!("and {} more", number(more as u64)));
    }
    lines
}

/// A block in one line.
fn line(block: &Block) -> String {
    let title = block.title().shortened(LONGEST_PIECE).plain();
    with_spaces(&shorten(
        &format!("{}: {title}", block.class.as_str()),
        LONGEST_LINE,
    ))
}

fn commands(message: &Message) -> Vec<MessageCommand> {
    let mut commands: Vec<MessageCommand> = Vec::new();
    let all = message.blocks.iter().flat_map(|block| &block.commands);
    for command in all.filter(|command| command.line.len() <= LONGEST_COMMAND) {
        let is_new = commands.iter().all(|known| known.line != command.line);
        if is_new && commands.len() < MOST_COMMANDS {
            commands.push(MessageCommand {
                purpose: command.purpose.clone(),
                line: command.line.clone(),
            });
        }
    }
    commands
}

fn links(message: &Message) -> Vec<MessageLink> {
    let site = message.site.iter().map(|site| MessageLink {
        label: site.label.clone(),
        url: site.url.clone(),
    });
    let records = message
        .blocks
        .iter()
        .filter_map(|block| block.place.as_ref())
        .filter_map(|place| {
            let url = place.link.clone()?;
            let label = label(place);
            Some(MessageLink { label, url })
        });
    site.chain(records)
        .filter(|link| link.url.len() <= LONGEST_ADDRESS)
        .take(MOST_LINKS)
        .collect()
}

fn label(place: &SourceLink) -> String {
    let file = shorten(&place.file, LONGEST_LABEL);
    match place.line {
        Some(line) => format!("{file}, line {line}"),
        None => file,
    }
}
