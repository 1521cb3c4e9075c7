//! A message for a terminal, with colours. Writers without colours remove them.

use anstyle::{AnsiColor, Style};

use crate::layout::{columns, fact_column, host_rows, wrap};
use crate::message::{Block, Command, Fact, Headline, KeptPromise, Message, Tone, UrlList};
use crate::numbers::{bytes, number, with_spaces};
use crate::text::{Text, shorten};

/// Most URLs of a block.
const URLS: usize = 5;

/// Most URLs that are as promised.
const KEPT: usize = 20;

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
const ADDED: Style = AnsiColor::Green.on_default();
const REMOVED: Style = AnsiColor::Red.on_default();

/// How much a terminal shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalOptions {
    /// Columns of the terminal.
    pub width: usize,
    /// Only what is new, broken or could not be sent: no headline, no totals.
    pub quiet: bool,
    /// All URLs of each block.
    pub all_urls: bool,
}

impl Default for TerminalOptions {
    fn default() -> Self {
        Self {
            width: 80,
            quiet: false,
            all_urls: false,
        }
    }
}

/// The message as lines for a terminal.
pub fn terminal(message: &Message, options: TerminalOptions) -> String {
    let mut page = Page::new(options);
    if !options.quiet {
        page.headline(&message.headline);
    }
    message.stuck.iter().for_each(|block| page.stuck(block));
    for block in &message.blocks {
        if !(options.quiet && block.known) {
            page.block(block);
        }
    }
    if !options.quiet {
        page.also_open(message);
        page.end(message);
    }
    page.text()
}

/// The line about who was told, for a terminal that has shown the rest of the message before.
pub fn terminal_notified(message: &Message, options: TerminalOptions) -> String {
    let mut page = Page::new(options);
    page.dim("notified", message.notified.as_ref());
    page.text()
}

/// Messages that wait, and errors, of [`Message::stuck`].
pub fn terminal_stuck(blocks: &[Block], options: TerminalOptions) -> String {
    let mut page = Page::new(options);
    for block in blocks {
        page.stuck(block);
    }
    page.text()
}

/// A headline alone.
pub fn terminal_headline(headline: &Headline, options: TerminalOptions) -> String {
    let mut page = Page::new(options);
    page.headline(headline);
    page.text()
}

/// Facts and commands, as in a block.
pub fn terminal_facts(facts: &[Fact], commands: &[Command], options: TerminalOptions) -> String {
    let mut page = Page::new(options);
    page.facts(facts);
    page.commands(commands);
    page.text()
}

/// The style of a tone.
pub(crate) fn style(tone: Tone) -> Style {
    let colour = match tone {
        Tone::Bad => AnsiColor::Red,
        Tone::Warn => AnsiColor::Yellow,
        Tone::Good => AnsiColor::Green,
    };
    colour.on_default().bold()
}

pub(crate) fn paint(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

struct Page {
    lines: Vec<String>,
    options: TerminalOptions,
}

impl Page {
    const fn new(options: TerminalOptions) -> Self {
        Self {
            lines: Vec::new(),
            options,
        }
    }

    fn text(&self) -> String {
        let mut text = self.lines.join("\n");
        if !text.is_empty() {
            text.push('\n');
        }
        text
    }

    fn push(&mut self, line: impl Into<String>) {
        self.lines.push(line.into());
    }

    fn wrap(&self, text: &Text, first: usize, rest: usize) -> Vec<String> {
        wrap(text, self.options.width, first, rest)
    }

    /// An empty line between parts.
    fn gap(&mut self) {
        if !self.lines.is_empty() {
            self.push("");
        }
    }

    fn headline(&mut self, headline: &Headline) {
        let call = format!("{}:", headline.call);
        let text = headline.text.clone().own(".");
        let mut lines = self.wrap(&text, columns(&call) + 1, 0).into_iter();
        let first = lines.next().unwrap_or_default();
        self.push(format!("{} {first}", paint(style(headline.tone), &call)));
        self.lines.extend(lines);
    }

    /// A block whose title is a sentence about a notifier: its words need no line of their own.
    fn stuck(&mut self, block: &Block) {
        self.block(&Block {
            subject: Text::new(),
            sentence: block.title(),
            ..block.clone()
        });
    }

    fn block(&mut self, block: &Block) {
        self.gap();
        self.title(block);
        if let Some(place) = block.place.as_ref().filter(|_| block.urls.is_none()) {
            let line = place
                .line
                .map_or_else(String::new, |line| format!(":{line}"));
            self.push(format!("  {} {}{line}", paint(DIM, "-->"), place.file));
        }
        for row in host_rows(&block.hosts, self.options.width.saturating_sub(2)) {
            self.push(format!("  {row}"));
        }
        self.facts(&block.facts);
        if let Some(note) = &block.note {
            for line in self.wrap(note, 2, 2) {
                self.push(format!("  {line}"));
            }
        }
        if let Some(urls) = &block.urls {
            self.urls(urls);
        }
        self.commands(&block.commands);
    }

    /// `broken[gone]: docs.example.org answers 404 Not Found`: on one line, or the subject on the
    /// first and the sentence on the next lines.
    fn title(&mut self, block: &Block) {
        let code = block.code.as_deref().map(|code| format!("[{code}]"));
        let class = format!("{}{}", block.class.as_str(), code.unwrap_or_default());
        let painted = paint(style(block.class.tone()), &class);
        let title = block.title().plain();
        let fits = columns(&class) + 2 + columns(&title) <= self.options.width;
        if fits {
            self.push(format!("{painted}: {}", paint(BOLD, &title)));
            return;
        }
        let (first, rest) = if block.subject.is_empty() {
            let mut lines = self
                .wrap(&block.sentence, columns(&class) + 2, 2)
                .into_iter();
            (lines.next().unwrap_or_default(), lines.collect())
        } else {
            (block.subject.plain(), self.wrap(&block.sentence, 2, 2))
        };
        self.push(format!("{painted}: {}", paint(BOLD, &first)));
        for line in rest {
            self.push(paint(BOLD, &format!("  {line}")));
        }
    }

    fn facts(&mut self, facts: &[Fact]) {
        let column = fact_column(facts);
        for fact in facts {
            let mut lines = self.wrap(&fact.text, 2 + column, 2 + column).into_iter();
            let name = paint(DIM, &format!("{:column$}", fact.name));
            self.push(format!("  {name}{}", lines.next().unwrap_or_default()));
            for line in lines {
                self.push(format!("{:1$}{line}", "", 2 + column));
            }
            for line in &fact.diff {
                let line = shorten(line, self.options.width.saturating_sub(4));
                let line = match line.as_bytes().first() {
                    Some(b'+') => paint(ADDED, &line),
                    Some(b'-') => paint(REMOVED, &line),
                    _ => line,
                };
                self.push(format!("    {line}"));
            }
        }
    }

    fn urls(&mut self, urls: &UrlList) {
        let shown = if self.options.all_urls {
            urls.rows.len()
        } else {
            URLS
        };
        for row in urls.rows.iter().take(shown) {
            let place = &row.place;
            let line = place
                .line
                .map_or_else(String::new, |line| format!(":{line}"));
            let arrow = paint(DIM, "-->");
            self.push(format!("  {arrow} {}{line}  {}", place.file, row.shown));
        }
        let more = urls.rows.len().saturating_sub(shown) as u64;
        if more > 0 {
            self.push(format!(
                "      and {} more; --verbose shows all",
                number(more)
            ));
        }
    }

    /// Purpose and command on one line each, if all of them fit; else on two.
    fn commands(&mut self, commands: &[Command]) {
        let purposes = commands.iter().map(|command| columns(&command.purpose));
        let column = purposes.max().unwrap_or_default() + 2;
        let fits = |command: &Command| 2 + column + columns(&command.line) <= self.options.width;
        let all_fit = commands.iter().all(fits);
        for Command { purpose, line } in commands {
            let line = paint(BOLD, line);
            if all_fit {
                self.push(format!("  {purpose:column$}{line}"));
            } else {
                self.push(format!("  {purpose}:"));
                self.push(format!("    {line}"));
            }
        }
    }

    fn also_open(&mut self, message: &Message) {
        let Some(open) = &message.also_open else {
            return;
        };
        self.gap();
        let heading = open.heading.clone().own(":");
        for line in self.wrap(&heading, 0, 0) {
            self.push(paint(BOLD, &line));
        }
        for item in &open.items {
            let mut indent = 2;
            for line in self.wrap(item, 2, 4) {
                self.push(format!("{:indent$}{line}", ""));
                indent = 4;
            }
        }
    }

    fn kept(&mut self, kept: &[KeptPromise]) {
        if kept.is_empty() {
            return;
        }
        self.gap();
        self.push(paint(BOLD, "As promised:"));
        let shown = if self.options.all_urls {
            kept.len()
        } else {
            KEPT
        };
        for promise in kept.iter().take(shown) {
            let length = promise.length;
            let length = length.map(|length| format!(", {}", with_spaces(&bytes(length))));
            self.push(format!("  {}{}", promise.url, length.unwrap_or_default()));
        }
        let more = kept.len().saturating_sub(shown) as u64;
        if more > 0 {
            self.push(format!("  and {} more; --verbose shows all", number(more)));
        }
    }

    fn end(&mut self, message: &Message) {
        self.kept(&message.kept);
        self.gap();
        self.dim("notified", message.notified.as_ref());
        self.dim("archived", message.archived.as_ref());
        self.lines.extend(self.wrap(&message.coverage, 0, 0));
    }

    fn dim(&mut self, name: &str, text: Option<&Text>) {
        let Some(text) = text else {
            return;
        };
        let mut lead = format!("{name}  ");
        for line in self.wrap(text, 10, 10) {
            self.push(paint(DIM, &format!("{lead}{line}")));
            lead = " ".repeat(10);
        }
    }
}
