//! Byte positions as people count them.

/// The lines of a text without their ends, which are LF, CR or both.
pub fn lines(source: &str) -> impl Iterator<Item = &str> {
    source
        .split('\n')
        .map(|line| line.strip_suffix('\r').unwrap_or(line))
        .flat_map(|line| line.split('\r'))
}

/// A position in a text that moves forward only, so that many positions cost one reading.
///
/// Lines end with LF, CR or both.
#[derive(Debug, Default)]
pub struct Cursor {
    at: usize,
    /// The offset at which the line begins.
    start: usize,
    line: usize,
    column: usize,
}

impl Cursor {
    /// Line and column, in characters, of the byte `at` of `source`; both from 1.
    ///
    /// `source` must be the same text in every call. A position before that of the last call gives
    /// the place of the last call; one that is behind the end or within a character is not moved to.
    pub fn place(&mut self, source: &str, at: usize) -> (usize, usize) {
        self.advance(source, at);
        (self.line + 1, self.column + 1)
    }

    /// The text of the line that the cursor is in, without its end.
    pub fn line<'a>(&self, source: &'a str) -> &'a str {
        let rest = source.get(self.start..).unwrap_or("");
        rest.split(['\r', '\n']).next().unwrap_or("")
    }

    fn advance(&mut self, source: &str, to: usize) {
        let passed = source.get(self.at..to).unwrap_or("");
        for (at, c) in passed.char_indices() {
            // A CR ends a line, unless an LF follows that will.
            let before_lf = source.as_bytes().get(self.at + at + 1) == Some(&b'\n');
            if c == '\n' || (c == '\r' && !before_lf) {
                self.line += 1;
                self.column = 0;
                self.start = self.at + at + 1;
            } else {
                self.column += 1;
            }
        }
        self.at = self.at.max(to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_lines_and_characters() {
        let source = "é=1\r\nb\rc\n";
        let mut cursor = Cursor::default();
        assert_eq!(cursor.place(source, 0), (1, 1));
        assert_eq!(cursor.place(source, 2), (1, 2));
        assert_eq!(cursor.place(source, 6), (2, 1));
        assert_eq!(cursor.place(source, 8), (3, 1));
        assert_eq!(cursor.line(source), "c");
        assert_eq!(cursor.place(source, source.len()), (4, 1));
        assert_eq!(cursor.line(source), "");
        assert_eq!(lines(source).collect::<Vec<_>>(), ["é=1", "b", "c", ""]);
    }
}
