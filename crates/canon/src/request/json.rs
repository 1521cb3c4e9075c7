//! A JSON parser that keeps members of the same name and the spelling of numbers, which common
//! parsers drop. A text beyond the limits counts as invalid.

use super::compat::Compat;
use super::limits::{MAX_JSON_DEPTH, MAX_VALUES};

#[derive(Debug, PartialEq)]
pub(super) enum Value<'a> {
    /// `true`, `false` or `null`.
    Literal(&'static str),
    /// A number as written.
    Number(&'a str),
    /// A string.
    String(String),
    /// A list.
    List(Vec<Value<'a>>),
    /// An object, with repeated members.
    Object(Vec<(String, Value<'a>)>),
}

/// Parses a text by RFC 8259, and as leniently as the program of `compat` does; `None` if invalid.
pub(super) fn parse(bytes: &[u8], compat: Compat) -> Option<Value<'_>> {
    let bytes = match compat {
        Compat::Pywb => bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes),
        Compat::Spec => bytes,
    };
    let mut parser = Parser {
        rest: std::str::from_utf8(bytes).ok()?,
        compat,
        values: 0,
    };
    let value = parser.value(0)?;
    parser.skip_space();
    parser.rest.is_empty().then_some(value)
}

struct Parser<'a> {
    rest: &'a str,
    compat: Compat,
    values: usize,
}

impl<'a> Parser<'a> {
    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r']);
    }

    /// Consumes `token` if the rest begins with it.
    fn take(&mut self, token: &str) -> bool {
        let rest = self.rest.strip_prefix(token);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Consumes white space, then `token` as [`take`](Self::take) does.
    fn take_after_space(&mut self, token: &str) -> bool {
        self.skip_space();
        self.take(token)
    }

    fn value(&mut self, depth: usize) -> Option<Value<'a>> {
        self.skip_space();
        self.values += 1;
        if depth > MAX_JSON_DEPTH || self.values > MAX_VALUES {
            return None;
        }
        match self.rest.bytes().next()? {
            b'{' => self.object(depth),
            b'[' => self.list(depth),
            b'"' => self.string().map(Value::String),
            b'-' | b'0'..=b'9' => self.number().map(Value::Number),
            _ => {
                let literals = ["true", "false", "null"];
                if let Some(literal) = literals.into_iter().find(|word| self.take(word)) {
                    return Some(Value::Literal(literal));
                }
                // Python also reads Infinity, but pywb raises an exception for it.
                (self.compat == Compat::Pywb && self.take("NaN")).then_some(Value::Number("NaN"))
            }
        }
    }

    fn object(&mut self, depth: usize) -> Option<Value<'a>> {
        self.take("{");
        let mut members = Vec::new();
        if self.take_after_space("}") {
            return Some(Value::Object(members));
        }
        loop {
            self.skip_space();
            let name = self.string()?;
            self.take_after_space(":").then_some(())?;
            members.push((name, self.value(depth + 1)?));
            if self.take_after_space("}") {
                return Some(Value::Object(members));
            }
            self.take(",").then_some(())?;
        }
    }

    fn list(&mut self, depth: usize) -> Option<Value<'a>> {
        self.take("[");
        let mut items = Vec::new();
        if self.take_after_space("]") {
            return Some(Value::List(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            if self.take_after_space("]") {
                return Some(Value::List(items));
            }
            self.take(",").then_some(())?;
        }
    }

    fn number(&mut self) -> Option<&'a str> {
        let start = self.rest;
        self.take("-");
        if !self.take("0") {
            self.digits()?;
        }
        if self.take(".") {
            self.digits()?;
        }
        if self.take("e") || self.take("E") {
            let _ = self.take("+") || self.take("-");
            self.digits()?;
        }
        start.get(..start.len() - self.rest.len())
    }

    fn digits(&mut self) -> Option<()> {
        let rest = self.rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let found = rest.len() < self.rest.len();
        self.rest = rest;
        found.then_some(())
    }

    fn string(&mut self) -> Option<String> {
        self.take("\"").then_some(())?;
        let mut text = String::new();
        loop {
            let end = self
                .rest
                .find(|c: char| c < ' ' || matches!(c, '"' | '\\'))?;
            text.push_str(&self.rest[..end]);
            self.rest = &self.rest[end..];
            if self.take("\"") {
                return Some(text);
            }
            self.take("\\").then_some(())?;
            text.push(self.escaped_char()?);
        }
    }

    fn escaped_char(&mut self) -> Option<char> {
        let mut rest = self.rest.chars();
        let letter = rest.next()?;
        self.rest = rest.as_str();
        Some(match letter {
            '"' | '\\' | '/' => letter,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => return self.unicode_escape(),
            _ => return None,
        })
    }

    fn unicode_escape(&mut self) -> Option<char> {
        let first = self.code_unit()?;
        let before = self.rest;
        if (0xd800..0xdc00).contains(&first) && self.take("\\u") {
            let second = self.code_unit()?;
            if (0xdc00..0xe000).contains(&second) {
                return char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00));
            }
            self.rest = before;
        }
        // Half of a surrogate pair is no character.
        char::from_u32(first)
    }

    fn code_unit(&mut self) -> Option<u32> {
        let (digits, rest) = self.rest.split_at_checked(4)?;
        self.rest = rest;
        let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        u32::from_str_radix(digits, 16).ok().filter(|_| is_hex)
    }
}
