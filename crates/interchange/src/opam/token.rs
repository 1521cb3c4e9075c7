//! The words and marks of an opam file.

use std::ops::Range;

/// A word or a mark.
#[derive(Debug)]
pub(super) struct Token {
    pub(super) content: Content,
    /// The bytes in the file; of a text, those between its quotes.
    pub(super) range: Range<usize>,
    /// Whether the text has escapes, so that the bytes of the file are others.
    has_escapes: bool,
}

#[derive(Debug, Clone)]
pub(super) enum Content {
    Name(String),
    Text(String),
    Colon,
    Open,
    Close,
    ListOpen,
    ListClose,
    /// Operators and others.
    Other,
}

impl Content {
    /// The content of a text; empty for all others.
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            _ => "",
        }
    }
}

impl Token {
    /// The place of the text in the file, if its bytes are the text.
    pub(super) fn span(&self) -> Option<Range<u64>> {
        let span = self.range.start as u64..self.range.end as u64;
        (!self.has_escapes && !span.is_empty()).then_some(span)
    }
}

/// The tokens of a file, or the offset of one without an end and the reason.
pub(super) struct Tokens<'a> {
    text: &'a str,
    at: usize,
}

type Broken = (usize, &'static str);

impl<'a> Tokens<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Skips blanks and comments.
    fn skip(&mut self) -> Result<(), Broken> {
        loop {
            let rest = self.rest();
            let blanks = rest
                .trim_start_matches(|char: char| char.is_ascii_whitespace() || char == '\u{feff}');
            self.at += rest.len() - blanks.len();
            if blanks.starts_with('#') {
                self.at += blanks.find('\n').unwrap_or(blanks.len());
            } else if blanks.starts_with("(*") {
                self.comment()?;
            } else {
                return Ok(());
            }
        }
    }

    /// Skips a comment, which may hold others.
    fn comment(&mut self) -> Result<(), Broken> {
        let start = self.at;
        let mut depth = 0_u32;
        loop {
            let rest = self.rest();
            if rest.starts_with("(*") {
                depth += 1;
                self.at += 2;
            } else if rest.starts_with("*)") {
                depth -= 1;
                self.at += 2;
                if depth == 0 {
                    return Ok(());
                }
            } else if let Some(char) = rest.chars().next() {
                self.at += char.len_utf8();
            } else {
                return Err((start, "the comment has no end"));
            }
        }
    }

    /// A text in quotes: one, or three of them.
    fn quoted(&mut self) -> Result<Token, Broken> {
        let start = self.at;
        let mark = if self.rest().starts_with("\"\"\"") {
            "\"\"\""
        } else {
            "\""
        };
        self.at += mark.len();
        let from = self.at;
        let mut text = String::new();
        let mut has_escapes = false;
        loop {
            let rest = self.rest();
            if rest.starts_with(mark) {
                let range = from..self.at;
                self.at += mark.len();
                return Ok(Token {
                    content: Content::Text(text),
                    range,
                    has_escapes,
                });
            }
            let Some(char) = rest.chars().next() else {
                return Err((start, "the text has no end"));
            };
            self.at += char.len_utf8();
            if char == '\\' {
                has_escapes = true;
                self.escape(&mut text);
            } else {
                text.push(char);
            }
        }
    }

    /// Reads the rest of an escape. A line break and the blanks behind it are nothing.
    fn escape(&mut self, text: &mut String) {
        let rest = self.rest();
        let Some(char) = rest.chars().next() else {
            return;
        };
        if char == '\n' {
            self.at += rest.len() - rest.trim_start().len();
            return;
        }
        let code = |digits: Option<&str>, radix| u8::from_str_radix(digits?, radix).ok();
        let number = match char {
            '0'..='9' => code(rest.get(..3), 10),
            'x' => code(rest.get(1..3), 16),
            _ => None,
        };
        let named = match char {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            other => other,
        };
        text.push(number.map_or(named, char::from));
        self.at += number.map_or(char.len_utf8(), |_| 3);
    }

    fn token(&mut self) -> Option<Result<Token, Broken>> {
        let rest = self.rest();
        let char = rest.chars().next()?;
        if char == '"' {
            return Some(self.quoted());
        }
        let is_part =
            |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | '+' | '.');
        let (content, length) = match char {
            ':' => (Content::Colon, 1),
            '{' => (Content::Open, 1),
            '}' => (Content::Close, 1),
            '[' | '(' => (Content::ListOpen, 1),
            ']' | ')' => (Content::ListClose, 1),
            char if is_part(char) => {
                let name: String = rest.chars().take_while(|char| is_part(*char)).collect();
                let length = name.len();
                (Content::Name(name), length)
            }
            other => (Content::Other, other.len_utf8()),
        };
        let start = self.at;
        self.at += length;
        Some(Ok(Token {
            content,
            range: start..self.at,
            has_escapes: false,
        }))
    }
}

impl Iterator for Tokens<'_> {
    type Item = Result<Token, Broken>;

    fn next(&mut self) -> Option<Self::Item> {
        let token = match self.skip() {
            Ok(()) => self.token(),
            Err(broken) => Some(Err(broken)),
        };
        if !matches!(token, Some(Ok(_))) {
            // The first mistake ends the tokens.
            self.at = self.text.len();
        }
        token
    }
}
