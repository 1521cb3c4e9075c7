//! The entries of a bibliography, with the places of their values. Nothing is expanded.

/// A field of an entry, or an abbreviation of `@string`.
pub(super) struct Field<'a> {
    pub(super) name: &'a str,
    /// The offset of the value.
    pub(super) start: usize,
    pub(super) value: Vec<Chunk<'a>>,
}

/// A part of a value, between two `#`.
pub(super) enum Chunk<'a> {
    Text(&'a str),
    Abbreviation(&'a str),
}

/// An entry, or the abbreviations of a `@string`.
pub(super) struct BibEntry<'a> {
    pub(super) is_string: bool,
    pub(super) fields: Vec<Field<'a>>,
}

/// Reads all entries, and skips what is between them.
///
/// # Errors
/// The offset of the first mistake.
pub(super) fn entries(text: &str) -> Result<Vec<BibEntry<'_>>, usize> {
    let mut cursor = Cursor { text, at: 0 };
    let mut entries = Vec::new();
    loop {
        cursor.blanks();
        match cursor.next() {
            Some('@') => entries.extend(cursor.entry()?),
            Some(_) => {}
            None => return Ok(entries),
        }
    }
}

struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek();
        self.at += next.map_or(0, char::len_utf8);
        next
    }

    fn take(&mut self, wanted: char) -> Result<(), usize> {
        match self.peek() {
            Some(found) if found == wanted => self.next().map(drop).ok_or(self.at),
            _ => Err(self.at),
        }
    }

    fn take_while(&mut self, is_part: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let length = rest.find(|next| !is_part(next)).unwrap_or(rest.len());
        self.at += length;
        rest.get(..length).unwrap_or_default()
    }

    /// Skips blanks, and comments to the ends of their lines.
    fn blanks(&mut self) {
        loop {
            self.take_while(char::is_whitespace);
            if self.take('%').is_err() {
                return;
            }
            self.take_while(|next| next != '\n');
        }
    }

    fn name(&mut self) -> Result<&'a str, usize> {
        match self.peek() {
            Some(':' | '<' | '-' | '>') => Err(self.at),
            _ => Some(self.take_while(is_of_name))
                .filter(|name| !name.is_empty())
                .ok_or(self.at),
        }
    }

    /// An entry, behind its `@`. `None` for a comment and for TeX.
    fn entry(&mut self) -> Result<Option<BibEntry<'a>>, usize> {
        let kind = self.name()?.to_ascii_lowercase();
        self.take_while(char::is_whitespace);
        self.take('{')?;
        self.take_while(char::is_whitespace);
        let is_string = kind == "string";
        let entry = match kind.as_str() {
            "preamble" => {
                self.quoted()?;
                None
            }
            "comment" => {
                self.take_while(|next| next != '}');
                None
            }
            _ => {
                if !is_string {
                    let is_of_key = |next| !matches!(next, ',' | '}') && !is_blank(next);
                    self.take_while(is_of_key);
                    self.take_while(char::is_whitespace);
                    self.take(',')?;
                }
                let fields = self.fields()?;
                Some(BibEntry { is_string, fields })
            }
        };
        self.take_while(char::is_whitespace);
        self.take('}')?;
        Ok(entry)
    }

    fn fields(&mut self) -> Result<Vec<Field<'a>>, usize> {
        let mut fields = Vec::new();
        loop {
            self.blanks();
            if self.peek() == Some('}') {
                return Ok(fields);
            }
            let name = self.name()?;
            self.take_while(char::is_whitespace);
            self.take('=')?;
            self.take_while(char::is_whitespace);
            let (start, value) = (self.at, self.value()?);
            fields.push(Field { name, start, value });
            self.blanks();
            if self.peek() != Some('}') {
                self.take(',')?;
            }
        }
    }

    fn value(&mut self) -> Result<Vec<Chunk<'a>>, usize> {
        let mut chunks = Vec::new();
        loop {
            chunks.push(match self.peek() {
                Some('{') => Chunk::Text(self.braced()?),
                Some('"') => Chunk::Text(self.quoted()?),
                Some('0'..='9') => {
                    Chunk::Text(self.take_while(|next| matches!(next, '0'..='9' | '.')))
                }
                _ => Chunk::Abbreviation(self.name()?),
            });
            self.take_while(char::is_whitespace);
            if self.take('#').is_err() {
                return Ok(chunks);
            }
            self.take_while(char::is_whitespace);
        }
    }

    fn quoted(&mut self) -> Result<&'a str, usize> {
        self.take('"')?;
        self.until(|next| next == '"')
    }

    fn braced(&mut self) -> Result<&'a str, usize> {
        self.take('{')?;
        self.until(closing_brace())
    }

    /// The text before a character, which is skipped. A backslash escapes the next character.
    fn until(&mut self, mut is_end: impl FnMut(char) -> bool) -> Result<&'a str, usize> {
        let start = self.at;
        loop {
            let end = self.at;
            match self.next().ok_or(end)? {
                '\\' => drop(self.next()),
                next if is_end(next) => return self.text.get(start..end).ok_or(end),
                _ => {}
            }
        }
    }
}

/// Whether a character is the brace that ends a group, for all characters from its beginning.
pub(super) fn closing_brace() -> impl FnMut(char) -> bool {
    let mut depth = 0_usize;
    move |next| {
        match next {
            '{' => depth += 1,
            '}' if depth == 0 => return true,
            '}' => depth -= 1,
            _ => {}
        }
        false
    }
}

fn is_blank(next: char) -> bool {
    next.is_control() || next.is_whitespace()
}

/// Whether a character may be in the name of a field, of an abbreviation or of a kind of entries.
fn is_of_name(next: char) -> bool {
    let is_special = matches!(
        next,
        '@' | '{' | '}' | '"' | '#' | '\'' | '(' | ')' | ',' | '=' | '%' | '\\' | '~'
    );
    !is_special && !is_blank(next)
}
