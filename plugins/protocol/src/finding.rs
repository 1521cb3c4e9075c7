//! Findings about a URL or its record, as reports contain them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use urldb_text::{Code, Severity, Shown, Subject};

use crate::state::State;
use crate::uses::UrlUses;

/// Something wrong with one URL now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Finding {
    /// Stable kebab-case code: the name of a state, or of a warning.
    pub code: String,
    /// The severity.
    pub severity: Severity,
    /// The URL that the finding is about.
    pub url: String,
    /// The request headers that tell records of the URL apart, such as `accept: text/turtle`, one a line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// The list that uses the URL, or the domain file of its record, relative to the root of the repository, with `/`.
    pub file: String,
    /// The line in it, counted from 1: the first one of the record.
    pub line: usize,
    /// The places in lists that use the URL.
    #[serde(flatten)]
    pub uses: UrlUses,
    /// The categories of its record.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<String>,
    /// The sentence of messages about the URL, without its subject: `answers 404 Not Found`; absent for a warning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sentence: Option<Shown>,
    /// The served and the promised content, or the error of the connection, for people.
    pub message: Shown,
    /// The state of the URL.
    pub state: State,
    /// The text of the reason, such as `dns` or `digest`; a newer program may have further ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The promise, for people; absent where the message says as much.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<Shown>,
    /// The answer of the server, for people; present with `expected`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed: Option<Shown>,
    /// Why the archive does not have the whole of `observed`; absent if the archive has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_archived: Option<Shown>,
    /// The other URLs of the database that serve the promised bytes; absent in the report of `check`, which does not look for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copies: Option<UrlCopies>,
    /// Number of requests to the URL.
    pub attempts: usize,
    /// When the URL entered this state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Not yet confirmed by enough runs: not reported as news.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pending: bool,
    /// This run reports the warning for the first time; only for `flapping`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub new: bool,
    /// The record's `mute-until` is in the future: nobody is notified about the URL.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub muted: bool,
}

impl Finding {
    /// `http://example.org/a serves other bytes: 3 bytes with SHA-256 …`: the sentence with its subject, and what was
    /// served and promised where the sentence does not say it.
    pub fn text(&self) -> String {
        let Self { message, .. } = self;
        let url = self.name();
        let Some(sentence) = &self.sentence else {
            return format!("{url}: {message}");
        };
        let answer = message.strip_prefix("answers ");
        if answer.is_some_and(|answer| sentence.contains(answer)) {
            return format!("{url} {sentence}");
        }
        format!("{url} {sentence}: {message}")
    }

    /// The URL with its variant.
    pub fn name(&self) -> String {
        format!(
            "{}{}",
            self.url,
            urldb_text::variant_suffix(self.variant.as_deref())
        )
    }

    /// A warning about a URL that is as promised, by the record at a place: its file and its line.
    pub fn warning(
        code: &str,
        url: impl Into<String>,
        (file, line): (&str, usize),
        message: impl AsRef<str>,
    ) -> Self {
        Self {
            code: code.to_owned(),
            severity: Severity::Warning,
            url: url.into(),
            variant: None,
            file: file.to_owned(),
            line,
            uses: UrlUses::default(),
            categories: vec![],
            sentence: None,
            message: Shown::new(message.as_ref(), Shown::LONGEST),
            state: State::Ok,
            reason: None,
            expected: None,
            observed: None,
            not_archived: None,
            copies: None,
            attempts: 0,
            since: None,
            pending: false,
            new: false,
            muted: false,
        }
    }
}

/// The other URLs that serve the bytes of a URL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct UrlCopies {
    /// Number of them.
    pub count: u64,
    /// The first five.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub urls: Vec<Shown>,
}

impl UrlCopies {
    /// Most URLs that are named.
    pub const MOST: usize = 5;
}

/// Something wrong in a domain file, so that a record cannot be read, or not as it was meant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Mistake {
    /// Stable kebab-case code.
    pub code: String,
    /// The domain file, relative to the root of the repository, with `/`.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The column in characters, counted from 1.
    pub column: usize,
    /// One sentence for people.
    pub message: Shown,
    /// Advice for people, where the message has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<Shown>,
    /// The text of the line, without the space around it; at most 100 characters.
    #[serde(default)]
    pub text: Shown,
    /// Whether no run before has seen it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub new: bool,
}

impl Mistake {
    /// Whether the mistake is in a list, or about a record that differs from its list: no record is hidden by it.
    pub fn is_of_list(&self) -> bool {
        let code = Code::ALL.iter().find(|code| code.as_str() == self.code);
        // The lines of lists have codes of their formats.
        code.is_none_or(|code| code.subject() == Subject::List)
    }
}

/// A [`Mistake`] that an earlier run found and this run did not find.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct FixedMistake {
    /// The code of the mistake.
    pub code: String,
    /// The domain file, relative to the root of the repository, with `/`.
    pub file: String,
    /// The text of the line, as the earlier run found it.
    pub text: Shown,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_leaves_out_only_a_message_that_its_sentence_says() {
        for (sentence, message, expected) in [
            (
                "answers 404 Not Found",
                "answers 404 Not Found",
                "answers 404 Not Found",
            ),
            (
                "refuses access (403 Forbidden)",
                "answers 403 Forbidden",
                "refuses access (403 Forbidden)",
            ),
            (
                "asks for fewer requests (429)",
                "answers 429 Too Many Requests: set host-interval = \"1s\" for it",
                "asks for fewer requests (429): answers 429 Too Many Requests: set host-interval = \"1s\" for it",
            ),
            (
                "shows a page for browsers only",
                "answers with a challenge of Example",
                "shows a page for browsers only: answers with a challenge of Example",
            ),
        ] {
            let finding = Finding {
                sentence: Some(Shown::new(sentence, Shown::LONGEST)),
                ..Finding::warning("gone", "http://a.test/", ("a.test.yaml", 2), message)
            };
            assert_eq!(finding.text(), format!("http://a.test/ {expected}"));
        }
        let warning = Finding::warning("gone", "http://a.test/", ("a.test.yaml", 2), "it fails");
        assert_eq!(warning.text(), "http://a.test/: it fails");
    }
}
