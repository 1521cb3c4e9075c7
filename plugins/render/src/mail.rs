//! The body of a mail: plain text, and the data of its HTML template.

use serde::Serialize;
use urldb_protocol::{Delay, Envelope, Phase};

use crate::compose::{Deliveries, Scope, compose};
use crate::layout::{columns, name_column, wrap};
use crate::message::{Block, Message, OpenIncidents, SourceLink};
use crate::numbers::{age_in_words, day, moment, number};
use crate::renderer::{Error, Renderer};
use crate::size_limit::SizeLimit;
use crate::text::{Text, one_line, shorten};

/// Columns of the text part.
const WIDTH: usize = 72;

/// Largest part of a mail, in bytes: Gmail cuts a mail of more than 102 kB and hides the rest.
pub const LARGEST_PART: usize = 90_000;

/// The limit of a mail that is small enough.
const ALL: SizeLimit = SizeLimit {
    diffs: true,
    urls: 10,
    urls_with_prefix: 3,
    blocks: 20,
    lines: 100,
    longest: 2_000,
};

/// The body of a mail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailBody {
    /// The text part.
    pub text: String,
    /// The HTML part.
    pub html: String,
}

/// The data of the HTML template.
#[derive(Debug, Serialize)]
struct MailView<'a> {
    title: &'a str,
    #[serde(flatten)]
    message: &'a Message,
    late: Option<Text>,
    /// Lines below the report.
    footer: Vec<Text>,
}

/// The content of a mail, or of the same text elsewhere.
pub(crate) struct BodyContent {
    pub(crate) message: Message,
    /// Why the message is late, or that it is a test.
    pub(crate) late: Option<Text>,
    /// Lines below the report, of which the first one is about the run.
    pub(crate) footer: Vec<Text>,
}

impl BodyContent {
    /// The content of a message about a report. `noun` is the message: `mail`.
    pub(crate) fn new(message: Message, envelope: &Envelope, scope: Scope<'_>, noun: &str) -> Self {
        let late = envelope
            .delay
            .as_ref()
            .filter(|delay| delay.now.duration_since(delay.first_tried).as_hours() >= 1);
        Self {
            message,
            late: match late {
                Some(delay) => Some(late_line(delay, envelope, scope, noun)),
                None => envelope.run.test.then(|| test_line(noun)),
            },
            footer: vec![run_line(envelope, scope)],
        }
    }

    /// The fullest text and HTML that are not larger than [`LARGEST_PART`]. `template` is one of `renderer`.
    pub(crate) fn fitted(
        &self,
        title: &str,
        renderer: &Renderer,
        template: &str,
    ) -> Result<MailBody, Error> {
        let mut body = MailBody {
            text: String::new(),
            html: String::new(),
        };
        for size in ALL.and_smaller() {
            let short = |text: &Text| text.shortened(size.longest);
            let mut message = size.cut(&self.message);
            let late = self.late.as_ref().map(short);
            let footer: Vec<Text> = self.footer.iter().map(short).collect();
            body.text = text(&message, late.as_ref(), &footer);
            message.each_text(|text| *text = text.with_quotes());
            let view = MailView {
                title,
                message: &message,
                late,
                footer,
            };
            body.html = renderer.render(template, &view)?;
            if body.html.len() <= LARGEST_PART && body.text.len() <= LARGEST_PART {
                break;
            }
        }
        Ok(body)
    }
}

/// The body of the mail about the part of a report that `scope` names. `notifier` is the name in
/// urldb.toml, `template` a template of `renderer`.
pub fn mail_body(
    envelope: &Envelope,
    scope: Scope<'_>,
    notifier: &str,
    subject: &str,
    renderer: &Renderer,
    template: &str,
) -> Result<MailBody, Error> {
    let message = compose(envelope, scope, &Deliveries::default());
    let mut content = BodyContent::new(message, envelope, scope, "mail");
    let why = Text::from("You get this mail because your address is in [notify.")
        .outside(notifier)
        .own("] of urldb.toml.");
    content.footer.push(why);
    content.fitted(&one_line(subject), renderer, template)
}

/// `This is the first {noun} about it, 3 days late: from 2026-11-01 to 2026-11-03, no mail could be sent
/// (mail.example.org port 465 accepts no connection).`
fn late_line(delay: &Delay, envelope: &Envelope, scope: Scope<'_>, noun: &str) -> Text {
    let delivered = envelope.incidents.iter().filter(|incident| {
        let begins = incident.phase == Phase::Opened;
        matches!(scope, Scope::News | Scope::Run) && !incident.id.is_empty() && begins
    });
    let late = age_in_words(delay.first_tried, delay.now);
    let text = match delivered.count() {
        0 => format!("This {noun} is {late} late: "),
        1 => format!("This is the first {noun} about it, {late} late: "),
        _ => format!("This is the first {noun} about them, {late} late: "),
    };
    let (first, last) = (day(delay.first_tried), day(delay.last_tried));
    let days = if first == last {
        format!("on {first}")
    } else {
        format!("from {first} to {last}")
    };
    Text::from(text)
        .own(days)
        .own(format!(", no {noun} could be sent ("))
        .outside(&delay.reason)
        .own(").")
}

fn test_line(noun: &str) -> Text {
    let text = format!("This {noun} is a test by `urldb notify test`: nothing has happened.");
    Text::from(text)
}

/// The project and the run.
fn run_line(envelope: &Envelope, scope: Scope<'_>) -> Text {
    let run = &envelope.run;
    let line = Text::new()
        .outside(&run.project)
        .own(", run of ")
        .own(moment(run.started));
    let line = match &run.selection {
        Some(selection) => line
            .own(", ")
            .and(crate::compose::selection(selection))
            .own(" only"),
        None => line,
    };
    match (scope, envelope.next_reminder) {
        (Scope::Reminder(_), Some(next)) => {
            let next = next.strftime("%Y-%m-%d");
            line.own(format!(". The next reminder comes on {next}."))
        }
        _ => line,
    }
}

fn text(message: &Message, late: Option<&Text>, footer: &[Text]) -> String {
    let mut page = Page(Vec::new());
    page.wrapped(&Text::from(message.headline.text.as_str()), 0, 0);
    if let Some(late) = late {
        page.gap();
        page.wrapped(late, 0, 0);
    }
    for block in &message.blocks {
        page.gap();
        page.block(block);
    }
    for list in [&message.more, &message.also_open].into_iter().flatten() {
        page.list(list);
    }
    page.gap();
    page.0.push("-- ".to_owned());
    page.wrapped(&message.coverage, 0, 0);
    let (run, why) = footer.split_first().unzip();
    if let Some(run) = run {
        page.wrapped(run, 0, 0);
    }
    if let Some(site) = &message.site {
        page.wrapped(
            &Text::from(format!("{}: ", site.label)).code(&site.url),
            0,
            0,
        );
    }
    for line in why.into_iter().flatten() {
        page.wrapped(line, 0, 0);
    }
    page.0.join("\n") + "\n"
}

struct Page(Vec<String>);

impl Page {
    fn gap(&mut self) {
        if self.0.last().is_some_and(|line| !line.is_empty()) {
            self.0.push(String::new());
        }
    }

    fn wrapped(&mut self, text: &Text, first: usize, rest: usize) {
        let mut indent = first;
        for line in wrap(text, WIDTH, first, rest) {
            self.0.push(format!("{:indent$}{line}", ""));
            indent = rest;
        }
    }

    fn list(&mut self, list: &OpenIncidents) {
        self.gap();
        self.wrapped(&list.heading.clone().own(":"), 0, 0);
        for item in &list.items {
            self.wrapped(item, 2, 4);
        }
    }

    fn block(&mut self, block: &Block) {
        let title = Text::from(format!("{}: ", block.class.as_str())).and(block.title());
        let lines = wrap(&title, WIDTH, 0, 0);
        let widest = lines.iter().map(|line| columns(line)).max();
        self.0.extend(lines);
        self.0.push("-".repeat(widest.unwrap_or_default()));
        self.gap();
        self.facts(block);
        self.gap();
        if let Some(note) = &block.note {
            self.wrapped(note, 2, 2);
            self.gap();
        }
        self.urls(block);
        self.gap();
        for command in &block.commands {
            self.0.push(format!("  {}:", command.purpose));
            self.0.push(format!("    {}", command.line));
        }
        while self.0.last().is_some_and(String::is_empty) {
            self.0.pop();
        }
    }

    fn facts(&mut self, block: &Block) {
        let place = block.place.as_ref().map(place_fact);
        let facts = block
            .facts
            .iter()
            .map(|fact| (fact.name, &fact.text, &fact.diff));
        let no_diff = Vec::new();
        let place = place.as_ref().map(|(name, text)| (*name, text, &no_diff));
        let facts: Vec<_> = facts.chain(place).collect();
        let column = name_column(facts.iter().map(|(name, ..)| *name));
        for (name, text, diff) in facts {
            let mut lead = format!("{name:column$}");
            for line in wrap(text, WIDTH, 2 + column, 2 + column) {
                self.0.push(format!("  {lead}{line}"));
                lead = " ".repeat(column);
            }
            for line in diff {
                self.0.push(format!("    {}", shorten(line, 200)));
            }
        }
    }

    fn urls(&mut self, block: &Block) {
        let Some(urls) = &block.urls else {
            return;
        };
        for row in &urls.rows {
            let used = row.used.as_ref();
            let used = used.map_or_else(String::new, |used| format!(" ({used})"));
            self.0.push(format!("    {}{used}", row.shown));
        }
        let more = urls.total.saturating_sub(urls.rows.len() as u64);
        if more > 0 {
            self.0.push(format!("    and {} more", number(more)));
        }
    }
}

/// The record or the file, as a fact.
fn place_fact(place: &SourceLink) -> (&'static str, Text) {
    let file = Text::new().code(&place.file);
    match place.line {
        Some(line) => (place.name(), file.own(format!(", line {line}"))),
        None => (place.name(), file),
    }
}
