//! Text of a message: our own words, and sanitized text from outside.

use serde::{Serialize, Serializer};
use urldb_text::sanitize;

use crate::numbers::{NO_BREAK, with_spaces};

/// Longest text from outside within a sentence, in characters.
const LONGEST: usize = 2_000;

/// One line without addresses of mail, which a public page must not show.
pub fn without_addresses(text: &str) -> String {
    let words = one_line(text);
    let words = words.split(' ');
    let words: Vec<&str> = words
        .map(|word| if word.contains('@') { "…" } else { word })
        .collect();
    words.join(" ")
}

/// The text on one line, at most 2,000 characters long. `U+FFFD` replaces every character that
/// could start a line, move a cursor or change the direction of writing.
pub fn one_line(text: &str) -> String {
    shorten(&sanitize(text), LONGEST)
}

/// The host, and perhaps port, of a domain file, as people write it: `a.test:8080` for `a.test+8080`.
pub fn shown_host(domain: &str) -> String {
    one_line(&domain.replacen('+', ":", 1))
}

/// The text, cut to at most `limit` characters. A cut text ends in `…`. The cut is at a space, if
/// there is one in the last third.
pub fn shorten(text: &str, limit: usize) -> String {
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    let kept: String = text.chars().take(limit.saturating_sub(1)).collect();
    let kept = match kept.rfind(' ') {
        Some(space) if space * 3 > kept.len() * 2 => &kept[..space],
        _ => &kept,
    };
    format!("{}…", kept.trim_end_matches([' ', ',', ':']))
}

/// The text with a capital letter.
pub fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => String::new(),
    }
}

/// The text, in which a number and its unit, and a port and its number, are joined.
fn with_units(text: &str) -> String {
    const UNITS: [&str; 9] = ["ms", "s", "min", "h", "bytes", "B", "kB", "MB", "GB"];
    let is_number = |word: &str| word.starts_with(|char: char| char.is_ascii_digit());
    let mut joined = String::with_capacity(text.len());
    let mut last = "";
    for (index, word) in text.split(' ').enumerate() {
        let unit = word.trim_end_matches([',', ';', '.', ':', ')']);
        let belongs = is_number(last) && UNITS.contains(&unit) || last == "port" && is_number(unit);
        match (index, belongs) {
            (0, _) => {}
            (_, true) => joined.push(NO_BREAK),
            (_, false) => joined.push(' '),
        }
        joined.push_str(word);
        last = word;
    }
    joined
}

/// The text with each pair of backticks as quotation marks: `` `a` `` → “a”.
fn quoted(text: &str) -> String {
    let pieces: Vec<&str> = text.split('`').collect();
    let last = pieces.len() - 1;
    let mut quoted = String::with_capacity(text.len());
    for (index, piece) in pieces.iter().enumerate() {
        quoted.push_str(match (index, index % 2) {
            (0, _) => "",
            // The last one of an odd number opens nothing.
            (_, 1) if index == last => "`",
            (_, 1) => "\u{201c}",
            _ => "\u{201d}",
        });
        quoted.push_str(piece);
    }
    quoted
}

/// One line of text. Renderers quote what came from outside as their format demands.
///
/// As a template's value, a text is a string in which [`NO_BREAK`] joins words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Text(Vec<Span>);

/// A piece of a [`Text`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Span {
    /// Our own words.
    Own(String),
    /// Words from outside, sanitized.
    Outside(String),
    /// A URL, a host or a name, sanitized: never cut, never wrapped.
    Code(String),
    /// A path, sanitized: never cut, never wrapped; quoted only where it could be markup.
    Path(String),
}

impl Text {
    /// No text.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds our own words.
    #[must_use]
    pub fn own(mut self, words: impl AsRef<str>) -> Self {
        let words = words.as_ref();
        match self.0.last_mut() {
            Some(Span::Own(last)) => last.push_str(words),
            _ if words.is_empty() => {}
            _ => self.0.push(Span::Own(words.to_owned())),
        }
        self
    }

    /// Adds words from outside.
    #[must_use]
    pub fn outside(mut self, words: &str) -> Self {
        self.0.push(Span::Outside(with_units(&one_line(words))));
        self
    }

    /// Adds a URL, a host or a name.
    #[must_use]
    pub fn code(mut self, name: &str) -> Self {
        self.0.push(Span::Code(sanitize(name).into_owned()));
        self
    }

    /// Adds the host of a domain file.
    #[must_use]
    pub fn host(self, domain: &str) -> Self {
        self.code(&shown_host(domain))
    }

    /// Adds a path: not as conspicuous as a URL, but never wrapped.
    #[must_use]
    pub fn path(mut self, path: &str) -> Self {
        self.0.push(Span::Path(sanitize(path).into_owned()));
        self
    }

    /// Adds another text.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        for span in other.0 {
            match span {
                Span::Own(words) => self = self.own(words),
                span => self.0.push(span),
            }
        }
        self
    }

    /// The text with every piece from outside cut to `limit` characters.
    pub(crate) fn shortened(&self, limit: usize) -> Self {
        self.with_spans(|span| match span {
            Span::Own(text) => Span::Own(text.clone()),
            Span::Outside(text) => Span::Outside(shorten(text, limit)),
            Span::Code(text) => Span::Code(shorten(text, limit)),
            Span::Path(text) => Span::Path(shorten(text, limit)),
        })
    }

    /// The text with quotation marks in place of pairs of backticks, which only Markdown and people at a
    /// terminal read as code. URLs and names stay as they are.
    pub(crate) fn with_quotes(&self) -> Self {
        self.with_spans(|span| match span {
            Span::Own(text) => Span::Own(quoted(text)),
            Span::Outside(text) => Span::Outside(quoted(text)),
            span => span.clone(),
        })
    }

    fn with_spans(&self, change: impl Fn(&Span) -> Span) -> Self {
        Self(self.0.iter().map(change).collect())
    }

    /// The pieces.
    pub fn spans(&self) -> &[Span] {
        &self.0
    }

    /// Whether there is no text.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text without markup.
    pub fn plain(&self) -> String {
        self.joined(with_spaces)
    }

    /// The sentence in the past: its first word is a verb.
    /// The text with a capital letter, without markup.
    pub fn capitalized(&self) -> String {
        capitalized(&self.plain())
    }

    /// The words between which a line may end.
    pub(crate) fn words(&self) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        let mut begins = true;
        let mut add = |piece: String, begins: bool| match words.last_mut() {
            Some(word) if !begins => word.push_str(&piece),
            _ => words.push(piece),
        };
        for span in &self.0 {
            match span {
                Span::Code(text) | Span::Path(text) => {
                    add(text.clone(), begins);
                    begins = false;
                }
                Span::Own(text) | Span::Outside(text) => {
                    for (index, piece) in text.split(' ').enumerate() {
                        add(with_spaces(piece), begins || index > 0);
                        begins = false;
                    }
                }
            }
        }
        words.retain(|word| !word.is_empty());
        words
    }

    fn joined(&self, own: impl Fn(&str) -> String) -> String {
        self.0
            .iter()
            .map(|span| match span {
                Span::Own(text) | Span::Outside(text) => own(text),
                Span::Code(text) | Span::Path(text) => text.clone(),
            })
            .collect()
    }
}

impl From<String> for Text {
    fn from(words: String) -> Self {
        Self::new().own(words)
    }
}

impl From<&str> for Text {
    fn from(words: &str) -> Self {
        Self::new().own(words)
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.joined(str::to_owned))
    }
}
