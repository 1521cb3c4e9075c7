//! The words of a message: what a notifier shows to people, ready for every kind of output.

use serde::{Deserialize, Serialize};

/// One message, in words. Every text is sanitized: it has no control characters except the line ends of `text`,
/// `markdown` and `html`. The texts hold words of servers and of domain files: only `html` and `markdown` have
/// them escaped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct MessageWords {
    /// Identifies the message: the same each time urldb tries to deliver it.
    pub id: String,
    /// The id of the incident that the message is about; absent if the message is about a whole run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    /// The effect of the message on its thread.
    pub action: MessageAction,
    /// The worst of its news.
    pub severity: MessageSeverity,
    /// The counts of the reader's URLs: `URLs: 3 broken (1 new), 1,244 ok; recovered: 1`.
    pub headline: String,
    /// The topic with the name of the project, at most 70 characters:
    /// `data.example.org/tables/stars.csv answers 404 Not Found [sky-urls]`. With a thread, the subject of its
    /// first message if the message opens the thread; later messages may have others.
    pub subject: String,
    /// Each cause in one line, at most five, and the number of further ones. A line has at most 300 characters.
    pub lines: Vec<String>,
    /// The whole message as plain text in lines of 72 columns, as mails have it; at most 90,000 bytes.
    pub text: String,
    /// The whole message in Markdown; at most 60,000 bytes.
    pub markdown: String,
    /// The whole message as an HTML document; at most 90,000 bytes unless a template of the user makes it.
    pub html: String,
    /// Commands that help, at most 20.
    pub commands: Vec<MessageCommand>,
    /// Pages that show more: first the page of the status site, then records in the repository. At most six,
    /// each of at most 1,000 bytes.
    pub links: Vec<MessageLink>,
}

/// The effect of a message on its thread; without a thread, the kind of its news.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum MessageAction {
    /// An incident is new or open again, or there is another fault.
    Open,
    /// An open incident has changed.
    Update,
    /// All that the message tells is over.
    Close,
    /// Nothing has changed: incidents are still open.
    Remind,
    /// A week is over.
    Digest,
    /// A person tests the notifier, and nothing has happened. A test of a thread has the actions of the thread,
    /// and `test` of `run`.
    Test,
}

/// The severity of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum MessageSeverity {
    /// Nobody has to act.
    Info,
    /// A promise is kept with a remark, or nothing is certain.
    Warning,
    /// A promise is broken, or a domain file has a mistake.
    Error,
}

/// A command that helps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct MessageCommand {
    /// The purpose: `to check it again`.
    pub purpose: String,
    /// The command line, quoted for a POSIX shell.
    pub line: String,
}

/// A page that shows more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct MessageLink {
    /// The name of the page.
    pub label: String,
    /// Its address: http or https.
    pub url: String,
}
