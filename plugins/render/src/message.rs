//! The content of a report for people: what every output says, whatever its format.
//!
//! A message is a headline, blocks with evidence and commands, and what was checked.
//! [`crate::compose`] makes messages from envelopes; one renderer for each format prints them.

use serde::Serialize;
use urldb_protocol::Counts;

use crate::shell::command_line;
use crate::text::Text;

/// The content of one report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Message {
    /// Whether the reader has to act, and the totals.
    pub headline: Headline,
    /// Our own network failed: the run has no result because of it.
    pub is_offline: bool,
    /// Messages that wait, and errors of the run.
    pub stuck: Vec<Block>,
    /// Causes with their evidence, the most important first.
    pub blocks: Vec<Block>,
    /// The blocks that found no room, in a line each.
    pub more: Option<OpenIncidents>,
    /// Open incidents that are not news here.
    pub also_open: Option<OpenIncidents>,
    /// The notifiers that delivered, and their recipients.
    pub notified: Option<Text>,
    /// The archive files with new contents.
    pub archived: Option<Text>,
    /// The URLs of a pull request that are as promised.
    pub kept: Vec<KeptPromise>,
    /// Counts of checked URLs and bytes, and of URLs that were not checked.
    pub coverage: Text,
    /// A remark about the check itself, for a job summary.
    pub remark: Option<Text>,
    /// The page of the status site that shows more.
    pub site: Option<SiteLink>,
}

impl Message {
    pub(crate) fn each_text(&mut self, mut change: impl FnMut(&mut Text)) {
        for block in self.stuck.iter_mut().chain(&mut self.blocks) {
            block.each_text(&mut change);
        }
        for list in [&mut self.more, &mut self.also_open].into_iter().flatten() {
            change(&mut list.heading);
            list.items.iter_mut().for_each(&mut change);
        }
        [&mut self.notified, &mut self.archived, &mut self.remark]
            .into_iter()
            .flatten()
            .for_each(&mut change);
        change(&mut self.coverage);
    }
}

/// The first line of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Headline {
    /// The colour.
    pub tone: Tone,
    /// The counts of the reader's URLs; sanitized.
    pub text: String,
}

/// The meaning of a colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tone {
    /// Somebody has to act.
    Bad,
    /// Nothing is certain.
    Warn,
    /// All is well.
    Good,
}

impl Tone {
    /// The tone of so many URLs.
    pub(crate) const fn of(counts: &Counts) -> Self {
        if counts.broken + counts.mistakes > 0 {
            Self::Bad
        } else if counts.ok == counts.urls && counts.warnings == 0 {
            Self::Good
        } else {
            Self::Warn
        }
    }
}

urldb_text::named_enum! {
    /// The topic of a block.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Class {
        /// A message could not be sent.
        Error = "error",
        /// The runs of a week.
        Week = "week",
        /// A confirmed broken promise.
        Broken = "broken",
        /// A promise that is broken and kept by turns.
        Flapping = "flapping",
        /// Something wrong in a domain file.
        Mistake = "mistake",
        /// Something that is solved.
        Recovered = "recovered",
        /// A danger that is over.
        Solved = "solved",
        /// Something that has ended, since people changed the database or another incident has its URLs.
        Closed = "closed",
        /// A kept promise with a remark.
        Warning = "warning",
        /// A failure that a second run must confirm.
        Unconfirmed = "unconfirmed",
        /// No conclusion.
        Unknown = "unknown",
    }
}

impl Class {
    /// The colour of the word.
    pub const fn tone(self) -> Tone {
        match self {
            Self::Error | Self::Broken | Self::Mistake => Tone::Bad,
            Self::Recovered | Self::Solved | Self::Closed | Self::Week => Tone::Good,
            Self::Flapping | Self::Warning | Self::Unconfirmed | Self::Unknown => Tone::Warn,
        }
    }
}

/// One cause, its evidence and what helps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Block {
    /// The topic.
    pub class: Class,
    /// The tone of the class.
    pub tone: Tone,
    /// The state, the code of the mistake or the code of the warning, for a terminal.
    pub code: Option<String>,
    /// An earlier run has told this already.
    pub known: bool,
    /// The URL or the host; empty if the sentence is complete without.
    pub subject: Text,
    /// The sentence after the subject, with the number of URLs.
    pub sentence: Text,
    /// The title for a subject line: without scheme, and with the number of affected URLs only.
    pub short: Text,
    /// The host of an incident, if there is only one; sanitized.
    pub host: String,
    /// The ids of the incidents; empty if the block is no incident.
    pub ids: Vec<String>,
    /// Number of affected URLs.
    pub urls_total: u64,
    /// The domain file, or the record.
    pub place: Option<SourceLink>,
    /// The evidence.
    pub facts: Vec<Fact>,
    /// An explanation.
    pub note: Option<Text>,
    /// The affected URLs, unless the place or the host says which.
    pub urls: Option<UrlList>,
    /// Commands that help.
    pub commands: Vec<Command>,
    /// The evidence in one or two sentences, for annotations.
    pub brief: Text,
    /// The command to add to `brief`, by its position.
    pub brief_command: Option<usize>,
}

impl Block {
    /// A block that says only what its title says.
    pub(crate) fn new(class: Class, subject: Text, sentence: Text) -> Self {
        Self {
            class,
            tone: class.tone(),
            code: None,
            known: false,
            short: sentence.clone(),
            subject,
            sentence,
            ids: Vec::new(),
            urls_total: 0,
            place: None,
            facts: Vec::new(),
            note: None,
            urls: None,
            commands: Vec::new(),
            brief: Text::new(),
            brief_command: None,
            host: String::new(),
        }
    }

    fn each_text(&mut self, change: &mut impl FnMut(&mut Text)) {
        [
            &mut self.subject,
            &mut self.sentence,
            &mut self.short,
            &mut self.brief,
        ]
        .into_iter()
        .for_each(&mut *change);
        self.facts
            .iter_mut()
            .for_each(|fact| change(&mut fact.text));
        self.note.iter_mut().for_each(&mut *change);
    }

    /// Subject and sentence.
    pub fn title(&self) -> Text {
        if self.subject.is_empty() || self.sentence.is_empty() {
            return self.subject.clone().and(self.sentence.clone());
        }
        self.subject.clone().own(" ").and(self.sentence.clone())
    }
}

/// A list, a domain file, or a line of it, and its page in the repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SourceLink {
    /// The file, relative to the root of the repository, with `/`; sanitized.
    pub file: String,
    /// The line of the list or of the record, counted from 1; absent for the whole file.
    pub line: Option<usize>,
    /// The page of the file on the repository's website.
    pub link: Option<String>,
    /// Whether the file is a list: it uses the URL.
    pub is_list: bool,
}

impl SourceLink {
    /// The name of the place among facts.
    pub(crate) const fn name(&self) -> &'static str {
        match self.line {
            _ if self.is_list => "list",
            Some(_) => "record",
            None => "file",
        }
    }
}

/// A named piece of evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fact {
    /// The name, such as `last good`; empty for a further row of the fact before.
    pub name: &'static str,
    /// The value.
    pub text: Text,
    /// Lines of a difference, each beginning with `+`, `-` or a space.
    pub diff: Vec<String>,
}

impl Fact {
    /// A fact without a difference.
    pub const fn new(name: &'static str, text: Text) -> Self {
        Self {
            name,
            text,
            diff: Vec::new(),
        }
    }
}

/// The affected URLs of a block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UrlList {
    /// One prefix names all URLs, and another part of the message says which.
    pub has_prefix: bool,
    /// Number of URLs, shown or not.
    pub total: u64,
    /// The URLs that are shown.
    pub rows: Vec<UrlRow>,
}

/// One affected URL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UrlRow {
    /// The URL or its path; sanitized.
    pub shown: String,
    /// The list that uses it, or its record.
    pub place: SourceLink,
    /// The lines of lists that use it: `guide/a.md:3 and 39 more places`; sanitized. Absent if no list has it.
    pub used: Option<String>,
}

/// A command and its purpose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Command {
    /// The purpose: `to check it again`.
    pub purpose: String,
    /// The command line.
    pub line: String,
}

impl Command {
    /// The command line of `words`, each quoted where a POSIX shell needs it; absent if a word cannot be
    /// shown as it is.
    pub fn new(purpose: &str, words: &[&str]) -> Option<Self> {
        Some(Self {
            purpose: purpose.to_owned(),
            line: command_line(words)?,
        })
    }
}

/// A URL that is as promised.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KeptPromise {
    /// The URL; sanitized.
    pub url: String,
    /// Length of the body in bytes, if the record promises bytes.
    pub length: Option<u64>,
    /// The list that uses it, or its record.
    pub place: SourceLink,
}

/// Incidents and other news that a message only mentions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OpenIncidents {
    /// The heading, without a colon.
    pub heading: Text,
    /// Each of them in one sentence.
    pub items: Vec<Text>,
}

/// A page of the status site.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SiteLink {
    /// The name of the page.
    pub label: String,
    /// The same in a job summary.
    pub short_label: String,
    /// Its address.
    pub url: String,
}
