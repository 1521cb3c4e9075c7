//! Splits scripts into tokens.
//!
//! White space and comments separate tokens. A name is ASCII letters, digits and `_`. A string has single or
//! double quotes and the escapes of C. An escape that C does not know keeps its backslash, so that
//! `"\."` is the pattern `\.`.

use std::ops::Range;

use urldb_text::Code;

use super::report::Report;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TokenKind {
    Name,
    String(StringLiteral),
    /// `{ } ( ) ; , = ::`
    Punctuation,
    /// The end of the script.
    End,
}

/// The value of a string, without quotes and escapes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct StringLiteral {
    pub(crate) value: String,
    /// The position in the script of each byte of the value, and one more for the end.
    pub(crate) origins: Vec<usize>,
}

/// A token and its byte range in the script.
#[derive(Debug, Clone)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) span: Range<usize>,
}

/// The tokens of `source`; the last one is [`TokenKind::End`].
pub(crate) fn tokenize(source: &str, report: &mut Report) -> Vec<Token> {
    let mut lexer = Lexer {
        source,
        at: 0,
        report,
    };
    let mut tokens = Vec::new();
    loop {
        let token = lexer.token();
        let end = token.kind == TokenKind::End;
        tokens.push(token);
        if end {
            return tokens;
        }
    }
}

struct Lexer<'a, 'r> {
    source: &'a str,
    at: usize,
    report: &'r mut Report,
}

impl<'a> Lexer<'a, '_> {
    fn rest(&self) -> &'a str {
        self.source.get(self.at..).unwrap_or("")
    }

    fn token(&mut self) -> Token {
        loop {
            self.skip_blank();
            let start = self.at;
            let kind = match self.rest().chars().next() {
                None => TokenKind::End,
                Some('"' | '\'') => TokenKind::String(self.string()),
                Some('{' | '}' | '(' | ')' | ';' | ',' | '=') => {
                    self.at += 1;
                    TokenKind::Punctuation
                }
                Some(':') if self.rest().starts_with("::") => {
                    self.at += 2;
                    TokenKind::Punctuation
                }
                Some(c) if starts_name(c) => {
                    self.name();
                    TokenKind::Name
                }
                Some(_) => {
                    self.unexpected();
                    continue;
                }
            };
            return Token {
                kind,
                span: start..self.at,
            };
        }
    }

    fn skip_blank(&mut self) {
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
            let comment = if rest.starts_with("//") {
                rest.find(['\n', '\r']).unwrap_or(rest.len())
            } else if rest.starts_with("/*") {
                self.comment(rest)
            } else {
                0
            };
            if blank + comment == 0 {
                return;
            }
            self.at += blank.max(comment);
        }
    }

    /// The length of the comment that `rest` begins with.
    fn comment(&mut self, rest: &str) -> usize {
        // The `/` of `/*/` does not end the comment.
        if let Some(length) = rest.get(2..).and_then(|inside| inside.find("*/")) {
            return length + 4;
        }
        let message = "this comment has no `*/`";
        self.report
            .add(Code::RuleSyntax, self.at..self.at + 2, message);
        rest.len()
    }

    fn name(&mut self) {
        let rest = self.rest();
        let length = rest
            .find(|c: char| !starts_name(c) && !c.is_ascii_digit())
            .unwrap_or(rest.len());
        let span = self.at..self.at + length;
        if rest[..length].contains(|c: char| c.is_ascii_uppercase()) {
            let lower = rest[..length].to_ascii_lowercase();
            let message = format!("names are in lower case: write `{lower}`");
            self.report.add(Code::RuleSyntax, span.clone(), message);
        }
        self.at = span.end;
    }

    /// Skips characters that begin no token, with one message for all of them.
    fn unexpected(&mut self) {
        let start = self.at;
        if self.rest().starts_with("*/") {
            self.at += 2;
            let message = "this `*/` ends no comment";
            self.report.add(Code::RuleSyntax, start..self.at, message);
            return;
        }
        let rest = self.rest();
        let known = |c: char| starts_name(c) || " \t\r\n\"'{}();,=".contains(c);
        let length = rest
            .char_indices()
            .skip(1)
            .find(|&(_, c)| known(c) || matches!(c, '/' | ':' | '*'))
            .map_or(rest.len(), |(at, _)| at);
        let message = format!("`{}` has no meaning here", rest[..length].escape_debug());
        self.at += length;
        self.report.add(Code::RuleSyntax, start..self.at, message);
    }

    /// A string; its quote comes next.
    fn string(&mut self) -> StringLiteral {
        let start = self.at;
        let quote = self.rest().chars().next().unwrap_or('"');
        self.at += 1;
        let mut text = StringLiteral::default();
        loop {
            let at = self.at;
            match self.rest().chars().next() {
                None | Some('\n' | '\r') => {
                    let message = format!("this string has no `{quote}` at its end");
                    self.report.add(Code::RuleSyntax, start..at, message);
                    break;
                }
                Some(c) if c == quote => {
                    self.at += 1;
                    break;
                }
                Some('\\') => self.escape(&mut text),
                Some(c) => {
                    self.at += c.len_utf8();
                    text.push(c, at);
                }
            }
        }
        text.origins.push(self.at.saturating_sub(1).max(start));
        text
    }

    /// An escape; its backslash comes next.
    fn escape(&mut self, text: &mut StringLiteral) {
        let at = self.at;
        let after = self.rest().get(1..).unwrap_or("");
        let Some(c) = after.chars().next() else {
            self.at += 1;
            return text.push('\\', at);
        };
        let (number, radix) = match c {
            'x' => (digits(&after[1..], 16, 2), 16),
            'u' | 'U' => (digits(&after[1..], 16, if c == 'u' { 4 } else { 8 }), 16),
            '0'..='7' => (digits(after, 8, 3), 8),
            _ => {
                let plain = simple_escape(c);
                self.at += 1;
                if plain.is_some() {
                    self.at += c.len_utf8();
                }
                return text.push(plain.unwrap_or('\\'), at);
            }
        };
        self.at += 1 + usize::from(radix == 16) + number.len();
        let complete = match c {
            'u' => number.len() == 4,
            'U' => number.len() == 8,
            _ => true,
        };
        let value = u32::from_str_radix(number, radix)
            .ok()
            .filter(|&value| complete && value != 0 && (radix == 16 || value <= 0xff));
        if let Some(c) = value.and_then(char::from_u32) {
            text.push(c, at);
        } else {
            let message = "this escape stands for no character";
            self.report.add(Code::RuleEscape, at..self.at, message);
        }
    }
}

impl StringLiteral {
    fn push(&mut self, c: char, from: usize) {
        self.value.push(c);
        self.origins.extend(std::iter::repeat_n(from, c.len_utf8()));
    }
}

fn starts_name(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}

/// The digits at the beginning of `text`, at most `most`.
fn digits(text: &str, radix: u32, most: usize) -> &str {
    let count = text
        .chars()
        .take(most)
        .take_while(|c| c.is_digit(radix))
        .count();
    &text[..count]
}

/// The character of an escape of one letter.
fn simple_escape(c: char) -> Option<char> {
    Some(match c {
        'a' => '\u{7}',
        'b' => '\u{8}',
        't' => '\t',
        'n' => '\n',
        'v' => '\u{b}',
        'f' => '\u{c}',
        'r' => '\r',
        '\\' | '"' | '\'' => c,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_the_vectors() {
        let all: serde_json::Value =
            serde_json::from_str(include_str!("../../tests/site-rules.json")).expect("JSON");
        let all = all["vectors"].as_array().expect("a list");
        for vector in all.iter().filter(|vector| vector["kind"] == "lex") {
            let mut report = Report::default();
            let tokens = tokenize(vector["source"].as_str().expect("text"), &mut report);
            let values: Vec<_> = tokens
                .into_iter()
                .filter_map(|token| match token.kind {
                    TokenKind::String(text) => Some(text.value),
                    _ => None,
                })
                .collect();
            if vector["expect"]["error"].is_string() {
                assert!(report.errors > 0, "{vector}");
            } else {
                assert_eq!(
                    serde_json::json!(values),
                    vector["expect"]["value"],
                    "{vector}"
                );
                assert_eq!(report.errors, 0, "{vector}");
            }
        }
    }
}
