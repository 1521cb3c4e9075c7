//! A plain list: one URL on each line. Empty lines and lines that begin with `#` are skipped. A line with blanks inside
//! is refused, since a comment or another URL may follow the first one.

use std::io::{self, BufRead, Write};
use std::sync::Arc;

use crate::input::LineReader;
use crate::model::{DomainRecord, ListItem, Location, Notice, ReadError, Sink};

/// Reads a plain list.
pub fn read(input: impl BufRead, file: &Arc<str>, sink: &mut Sink<'_>) -> Result<(), ReadError> {
    let mut lines = LineReader::new(input);
    while let Some(line) = lines.next().map_err(ReadError::input(file))? {
        let location = Location::line(file, line.number);
        let url = match line.text.map(str::trim) {
            Err(why) => {
                sink(Notice::refused(location, "bad-line", why).into())?;
                continue;
            }
            Ok(text) if text.is_empty() || text.starts_with('#') => continue,
            Ok(text) => text,
        };
        // Some editors on Windows write a byte order mark.
        let url = url.strip_prefix('\u{feff}').unwrap_or(url);
        let found = if url.contains(char::is_whitespace) {
            let message = "the line has more than a URL: write `%20` for a blank in the URL, and a comment on a line of its own";
            Err(Notice::refused(location, "bad-line", message))
        } else {
            ListItem::new(location, url)
        };
        sink(found.into())?;
    }
    Ok(())
}

/// Writes each URL of a record on a line.
pub fn write(output: &mut impl Write, domain_record: &DomainRecord<'_>) -> io::Result<()> {
    for url in domain_record.urls() {
        writeln!(output, "{}", url.as_str())?;
    }
    Ok(())
}
