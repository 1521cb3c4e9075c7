//! Lines of a terminal, and the parts that messages and the status share. Writers without colours remove
//! these.

use anstyle::{AnsiColor, Style};

use crate::layout::{columns, fact_column, wrap};
use crate::message::{Command, Fact, Headline, Tone};
use crate::shell::command_line;
use crate::text::{Text, shorten};

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
const ADDED: Style = AnsiColor::Green.on_default();
const REMOVED: Style = AnsiColor::Red.on_default();

/// The width of a terminal, and the amount of text for it.
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

/// Lines of a terminal.
pub(crate) struct Page {
    lines: Vec<String>,
    pub(crate) options: TerminalOptions,
}

impl Page {
    pub(crate) const fn new(options: TerminalOptions) -> Self {
        Self {
            lines: Vec::new(),
            options,
        }
    }

    pub(crate) fn text(&self) -> String {
        let mut text = self.lines.join("\n");
        if !text.is_empty() {
            text.push('\n');
        }
        text
    }

    pub(crate) fn push(&mut self, line: impl Into<String>) {
        self.lines.push(line.into());
    }

    /// Adds a text; each line begins in column `indent`.
    pub(crate) fn wrapped(&mut self, text: &Text, indent: usize) {
        for line in self.wrap(text, indent, indent) {
            self.push(format!("{:indent$}{line}", ""));
        }
    }

    /// The number of items that are shown of a list that usually shows `usual` of them.
    pub(crate) const fn most(&self, usual: usize) -> usize {
        if self.options.all_urls {
            usize::MAX
        } else {
            usual
        }
    }

    /// Mentions items that are not shown, if there are any: `text` counts them.
    pub(crate) fn more(&mut self, indent: usize, items: u64, text: &str) {
        if items > 0 {
            self.push(format!("{:indent$}and {text}; --verbose shows all", ""));
        }
    }

    /// A command, unless a terminal must not get one of the words.
    pub(crate) fn command(&mut self, purpose: &str, words: &[&str]) {
        if let Some(line) = command_line(words) {
            self.push(format!("  {purpose}: {}", paint(BOLD, &line)));
        }
    }

    pub(crate) fn wrap(&self, text: &Text, first: usize, rest: usize) -> Vec<String> {
        wrap(text, self.options.width, first, rest)
    }

    /// An empty line between parts.
    pub(crate) fn gap(&mut self) {
        if !self.lines.is_empty() {
            self.push("");
        }
    }

    pub(crate) fn headline(&mut self, headline: &Headline) {
        for line in self.wrap(&Text::from(headline.text.as_str()), 0, 0) {
            self.push(paint(style(headline.tone), &line));
        }
    }

    pub(crate) fn facts(&mut self, facts: &[Fact]) {
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

    /// Purpose and command on one line each, if all of them fit; else on two.
    pub(crate) fn commands(&mut self, commands: &[Command]) {
        let column = commands
            .iter()
            .map(|command| columns(&command.purpose))
            .max()
            .unwrap_or_default()
            + 2;
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
}
