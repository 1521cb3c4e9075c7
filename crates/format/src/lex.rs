//! Finds in a fragment of YAML what `serde_yaml` does not report: comments, and tokens that are refused: anchors,
//! aliases, tags and merge keys. Also refuses deep nesting before any recursive code sees the fragment.
//!
//! The lexer follows YAML only as far as is needed to recognize text: quotes, block scalars, flow
//! collections, and plain text over several lines.

/// The greatest depth of nested collections.
const MAX_DEPTH: usize = 64;

/// The result of lexing a fragment, with lines from 0 and columns from 1.
#[derive(Debug, Default)]
pub(crate) struct LexResult<'a> {
    /// The comments, each from its `#` to the end of the line.
    pub(crate) comments: Vec<&'a str>,
    /// The line and column of the first anchor, alias, tag or merge key.
    pub(crate) anchor_or_tag: Option<(usize, usize)>,
    /// The line that is nested too deeply.
    pub(crate) too_deep: Option<usize>,
}

/// Lexes one fragment.
pub(crate) fn lex(fragment: &str) -> LexResult<'_> {
    let mut lexer = Lexer {
        result: LexResult::default(),
        line: 0,
        state: LexerState::Between,
        depth: 0,
        parent: None,
    };
    for (number, line) in fragment.lines().enumerate() {
        lexer.line = number;
        lexer.read_line(line);
        if lexer.result.too_deep.is_some() {
            break;
        }
    }
    lexer.result
}

/// The context in which a line starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LexerState {
    /// Between tokens.
    Between,
    /// Inside quotes of this kind.
    Quoted(u8),
    /// After plain text, which continues on a line that is indented more than the parent.
    Plain,
    /// In a block scalar, which continues on lines with this indentation or more. While that is not `known`, it is the
    /// greatest so far.
    Block { indent: usize, known: bool },
}

struct Lexer<'a> {
    result: LexResult<'a>,
    line: usize,
    state: LexerState,
    /// The number of open flow collections.
    depth: usize,
    /// The column of the key or dash that the current value belongs to.
    parent: Option<usize>,
}

impl<'a> Lexer<'a> {
    fn read_line(&mut self, line: &'a str) {
        let indent = line.bytes().take_while(|byte| *byte == b' ').count();
        let blank = line.trim_matches([' ', '\t']).is_empty();
        let inside = self.parent.is_none_or(|parent| indent > parent);
        let is_in_block = self.is_in_block(indent, indent == line.len());
        match self.state {
            LexerState::Quoted(_) => return self.read_tokens(line, 0),
            LexerState::Block { .. } if is_in_block => return,
            LexerState::Plain if blank => return,
            LexerState::Plain if self.depth == 0 && !inside => self.state = LexerState::Between,
            LexerState::Block { .. } => self.state = LexerState::Between,
            _ => {}
        }
        self.read_tokens(line, indent);
    }

    /// Whether a line with this indentation belongs to the block scalar.
    fn is_in_block(&mut self, found: usize, is_blank: bool) -> bool {
        let LexerState::Block { indent, known } = &mut self.state else {
            return false;
        };
        if !*known {
            *indent = found.max(*indent);
            *known = !is_blank;
        }
        is_blank || found >= *indent
    }

    fn read_tokens(&mut self, line: &'a str, start: usize) {
        let bytes = line.as_bytes();
        let mut at = start;
        let mut indicators = 0;
        while at < bytes.len() && self.result.too_deep.is_none() {
            let after_space = at == 0 || matches!(bytes[at - 1], b' ' | b'\t');
            let alone = bytes
                .get(at + 1)
                .is_none_or(|next| matches!(next, b' ' | b'\t'));
            match bytes[at] {
                _ if matches!(self.state, LexerState::Quoted(_)) => {
                    at = self.read_quoted(bytes, at);
                }
                b' ' | b'\t' => at += 1,
                // A comment needs no space before it where a token may begin.
                b'#' if after_space || self.state != LexerState::Plain => {
                    self.result.comments.push(line[at..].trim_end());
                    if self.depth == 0 && self.state == LexerState::Plain {
                        self.state = LexerState::Between;
                    }
                    return;
                }
                byte if self.depth > 0 => at = self.read_flow(bytes, at, byte),
                b'-' | b'?' if alone && self.state == LexerState::Between => {
                    self.parent = Some(at);
                    indicators += 1;
                    self.check_depth(indicators);
                    at += 1;
                }
                b':' if alone => {
                    self.state = LexerState::Between;
                    at += 1;
                }
                byte if self.state == LexerState::Between => at = self.read_node(bytes, at, byte),
                _ => at = self.read_plain(bytes, at),
            }
        }
    }

    fn check_depth(&mut self, depth: usize) {
        if depth > MAX_DEPTH {
            self.result.too_deep = Some(self.line);
        }
    }

    fn read_anchor_or_tag(&mut self, bytes: &[u8], at: usize) -> usize {
        self.result.anchor_or_tag.get_or_insert((self.line, at + 1));
        let length = bytes[at..]
            .iter()
            .take_while(|byte| !matches!(byte, b' ' | b'\t'))
            .count();
        at + length
    }

    /// Reads the start of a value or key outside of flow collections.
    fn read_node(&mut self, bytes: &[u8], at: usize, byte: u8) -> usize {
        match byte {
            b'&' | b'*' | b'!' => self.read_anchor_or_tag(bytes, at),
            b'|' | b'>' => {
                // A comment may follow the header.
                let header = bytes[at..]
                    .iter()
                    .take_while(|byte| !matches!(byte, b' ' | b'\t' | b'#'));
                let digit = header.clone().find(|byte| byte.is_ascii_digit());
                let least = self.parent.map_or(1, |parent| parent + 1);
                self.state = LexerState::Block {
                    indent: digit.map_or(least, |digit| least - 1 + usize::from(digit - b'0')),
                    known: digit.is_some(),
                };
                at + header.count()
            }
            b'"' | b'\'' => self.open_quote(bytes, at, byte),
            b'[' | b'{' => self.open_flow(at),
            b',' | b']' | b'}' => at + 1,
            _ => {
                self.note_key(bytes, at);
                self.start_plain(bytes, at)
            }
        }
    }

    /// Reads the start of plain text, or a merge key.
    fn start_plain(&mut self, bytes: &[u8], at: usize) -> usize {
        self.state = LexerState::Plain;
        let end = self.read_plain(bytes, at);
        let is_alone = bytes[end..]
            .iter()
            .find(|byte| !matches!(byte, b' ' | b'\t'))
            .is_none_or(|byte| b":,]}#".contains(byte));
        if &bytes[at..end] == b"<<" && is_alone {
            self.result.anchor_or_tag.get_or_insert((self.line, at + 1));
        }
        end
    }

    /// Stores the column of the token at `at` if the token is a key.
    fn note_key(&mut self, bytes: &[u8], at: usize) {
        let rest = &bytes[at..];
        let is_key = rest.iter().enumerate().any(|(index, byte)| {
            *byte == b':'
                && rest
                    .get(index + 1)
                    .is_none_or(|next| matches!(next, b' ' | b'\t'))
        });
        if is_key {
            self.parent = Some(at);
        }
    }

    fn open_quote(&mut self, bytes: &[u8], at: usize, quote: u8) -> usize {
        self.state = LexerState::Quoted(quote);
        let end = self.read_quoted(bytes, at + 1);
        if self.depth == 0 && self.state == LexerState::Between {
            let rest = bytes[end..].iter().skip_while(|byte| **byte == b' ');
            if matches!(rest.copied().next(), Some(b':')) {
                self.parent = Some(at);
            }
        }
        end
    }

    fn open_flow(&mut self, at: usize) -> usize {
        self.depth += 1;
        self.check_depth(self.depth);
        self.state = LexerState::Between;
        at + 1
    }

    /// Reads quoted text up to the closing quote or the end of the line.
    fn read_quoted(&mut self, bytes: &[u8], mut at: usize) -> usize {
        let LexerState::Quoted(quote) = self.state else {
            return at;
        };
        while at < bytes.len() {
            match bytes[at] {
                b'\\' if quote == b'"' => at += 2,
                byte if byte != quote => at += 1,
                b'\'' if bytes.get(at + 1) == Some(&b'\'') => at += 2,
                _ => {
                    // After the quote comes an indicator, or a mistake that the decoder reports.
                    self.state = LexerState::Between;
                    return at + 1;
                }
            }
        }
        at
    }

    /// Reads plain text up to a colon, comment or the end of the line.
    fn read_plain(&self, bytes: &[u8], at: usize) -> usize {
        let stop = |index: usize| match bytes[index] {
            b':' => {
                self.depth > 0
                    || bytes
                        .get(index + 1)
                        .is_none_or(|next| matches!(next, b' ' | b'\t'))
            }
            b' ' | b'\t' => true,
            b',' | b'[' | b']' | b'{' | b'}' => self.depth > 0,
            _ => false,
        };
        (at + 1..bytes.len())
            .find(|index| stop(*index))
            .unwrap_or(bytes.len())
    }

    /// Reads one token in a flow collection.
    fn read_flow(&mut self, bytes: &[u8], at: usize, byte: u8) -> usize {
        let next = bytes.get(at + 1);
        let ends_key = byte == b':'
            && next
                .is_none_or(|next| matches!(next, b' ' | b'\t' | b',' | b'[' | b']' | b'{' | b'}'));
        match byte {
            b'[' | b'{' => self.open_flow(at),
            b']' | b'}' => {
                self.depth -= 1;
                self.state = LexerState::Between;
                at + 1
            }
            b',' => {
                self.state = LexerState::Between;
                at + 1
            }
            b':' if ends_key || self.state == LexerState::Between => {
                self.state = LexerState::Between;
                at + 1
            }
            b'?' if self.state == LexerState::Between => at + 1,
            b'&' | b'*' | b'!' if self.state == LexerState::Between => {
                self.read_anchor_or_tag(bytes, at)
            }
            b'"' | b'\'' if self.state == LexerState::Between => self.open_quote(bytes, at, byte),
            _ if self.state == LexerState::Between => self.start_plain(bytes, at),
            _ => self.read_plain(bytes, at),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_told_from_text() {
        for (fragment, comments) in [
            ("a: b # c\n# d\n", &["# c", "# d"][..]),
            ("a: b#c\n  d #e \n", &["#e"]),
            ("a: 'b # c'#d\n", &["#d"]),
            ("a: [b,#c\n  d#e, {f: \"#\"}] # g\n", &["#c", "# g"]),
            ("a: |#b\n  # c\n# d\n", &["#b", "# d"]),
            ("a: >- # b\n\n   c\n  # d\n", &["# b", "# d"]),
            ("a: |2\n    # b\n # c\n", &["# c"]),
            ("- a: |\n    # b\n   # c\n", &["# c"]),
        ] {
            assert_eq!(lex(fragment).comments, comments, "{fragment}");
        }
    }
}
