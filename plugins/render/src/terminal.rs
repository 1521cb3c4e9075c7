//! A message for a terminal.

use crate::layout::columns;
use crate::message::{Block, Command, Fact, Headline, KeptPromise, Message, UrlList};
use crate::numbers::{bytes, number, with_spaces};
use crate::page::{BOLD, DIM, Page, TerminalOptions, paint, style};
use crate::text::Text;

/// Most blocks in full.
const BLOCKS: usize = 20;

/// Most URLs of a block.
const URLS: usize = 5;

/// Most URLs that are as promised.
const KEPT: usize = 20;

/// The message as lines for a terminal.
pub fn terminal(message: &Message, options: TerminalOptions) -> String {
    let mut page = Page::new(options);
    if !options.quiet {
        page.headline(&message.headline);
    }
    message.stuck.iter().for_each(|block| page.stuck(block));
    let blocks = message.blocks.iter();
    let blocks = blocks.filter(|block| !(options.quiet && block.known));
    let in_full = page.most(BLOCKS);
    for (index, block) in blocks.enumerate() {
        if index < in_full {
            page.block(block);
        } else {
            if index == in_full {
                page.gap();
                page.push("In short; --verbose shows all:");
            }
            page.title(block);
            page.place(block);
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

/// A headline without the rest of its message.
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

impl Page {
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
        if block.urls.is_none() {
            self.place(block);
        }
        self.facts(&block.facts);
        if let Some(note) = &block.note {
            self.wrapped(note, 2);
        }
        if let Some(urls) = &block.urls {
            self.urls(urls);
        }
        self.commands(&block.commands);
    }

    fn place(&mut self, block: &Block) {
        if let Some(place) = &block.place {
            let line = place
                .line
                .map_or_else(String::new, |line| format!(":{line}"));
            self.push(format!("  {} {}{line}", paint(DIM, "-->"), place.file));
        }
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

    fn urls(&mut self, urls: &UrlList) {
        let shown = self.most(URLS);
        for row in urls.rows.iter().take(shown) {
            let place = &row.place;
            let line = place
                .line
                .map_or_else(String::new, |line| format!(":{line}"));
            let arrow = paint(DIM, "-->");
            let place = match &row.used {
                Some(used) => used.clone(),
                None => format!("{}{line}", place.file),
            };
            self.push(format!("  {arrow} {place}  {}", row.shown));
        }
        let more = urls.rows.len().saturating_sub(shown) as u64;
        self.more(6, more, &format!("{} more", number(more)));
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
        let shown = self.most(KEPT);
        for promise in kept.iter().take(shown) {
            let length = promise.length;
            let length = length.map(|length| format!(", {}", with_spaces(&bytes(length))));
            self.push(format!("  {}{}", promise.url, length.unwrap_or_default()));
        }
        let more = kept.len().saturating_sub(shown) as u64;
        self.more(2, more, &format!("{} more", number(more)));
    }

    fn end(&mut self, message: &Message) {
        self.kept(&message.kept);
        self.gap();
        self.dim("notified", message.notified.as_ref());
        self.dim("archived", message.archived.as_ref());
        self.wrapped(&message.coverage, 0);
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
