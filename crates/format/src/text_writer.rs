//! Places tokens on lines: spaces between them, indentation, line breaks.

/// The text so far, and the state that decides how the next token is placed.
#[derive(Debug, Default)]
pub(crate) struct TextWriter {
    out: String,
    line: usize,
    /// The column in characters, from 0.
    pub(crate) column: usize,
    /// Whether the last character separates tokens.
    separated: bool,
    /// Whether the line holds nothing but indentation, dashes and question marks.
    indenting: bool,
    /// The indentation of the lines of a folded scalar, in columns.
    pub(crate) indent: usize,
}

impl TextWriter {
    /// The text, its last line ended.
    pub(crate) fn finish(mut self) -> String {
        self.end_line();
        self.out
    }

    /// The number of the line, from 0.
    pub(crate) fn line(&self) -> usize {
        self.line
    }

    /// Whether the line holds nothing but indentation, dashes and question marks.
    pub(crate) fn is_indenting(&self) -> bool {
        self.indenting
    }

    /// Writes these parts as a line of their own.
    pub(crate) fn whole_line(&mut self, parts: &[&str]) {
        self.end_line();
        for part in parts {
            self.out.push_str(part);
        }
        self.line_break();
    }

    /// Appends text without line breaks.
    pub(crate) fn text(&mut self, text: &str) {
        self.out.push_str(text);
        self.column += if text.is_ascii() {
            text.len()
        } else {
            text.chars().count()
        };
        if !text.is_empty() {
            (self.separated, self.indenting) = (false, false);
        }
    }

    /// Appends a space, unless the last character separates tokens.
    pub(crate) fn space(&mut self) {
        if !self.separated {
            self.text(" ");
        }
    }

    /// Appends a token, separated from the previous token.
    pub(crate) fn indicator(&mut self, token: &str) {
        self.space();
        self.text(token);
    }

    /// Appends a token that counts as indentation: `-`, or the `?` and `:` of a long key.
    pub(crate) fn dash(&mut self, token: &str) {
        let indenting = self.indenting;
        self.indicator(token);
        self.indenting = indenting;
    }

    /// Starts a new line inside a scalar.
    pub(crate) fn fold(&mut self) {
        self.indent_to(self.indent);
        (self.separated, self.indenting) = (false, false);
    }

    /// Moves to column `indent`; starts a new line unless this line has only indentation so far.
    pub(crate) fn indent_to(&mut self, indent: usize) {
        if !self.indenting || self.column > indent || (self.column == indent && !self.separated) {
            self.line_break();
        }
        for _ in self.column..indent {
            self.out.push(' ');
        }
        if self.column < indent {
            self.column = indent;
            self.separated = true;
        }
    }

    pub(crate) fn line_break(&mut self) {
        self.out.push('\n');
        self.line += 1;
        self.column = 0;
        (self.separated, self.indenting) = (true, true);
    }

    pub(crate) fn end_line(&mut self) {
        if self.column > 0 {
            self.line_break();
        }
        (self.separated, self.indenting) = (true, true);
    }
}
