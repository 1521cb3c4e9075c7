//! A plain list: one URL on each line. Empty lines and lines that begin with `#` are skipped. A line with blanks inside
//! is refused, since a comment or another URL may follow the first one.

use std::io::{self, BufRead, Write};
use std::sync::Arc;

use crate::file_events::FileEvents;
use crate::model::{DomainRecord, ListItem, ReadError, Sink};

/// Reads a plain list.
pub fn read(input: impl BufRead, file: &Arc<str>, sink: &mut Sink<'_>) -> Result<(), ReadError> {
    FileEvents { file, sink }.each_line(input, &mut |line, events| {
        let text = line.text.trim();
        if text.is_empty() || text.starts_with('#') {
            return Ok(());
        }
        // Some editors on Windows write a byte order mark.
        let url = text.strip_prefix('\u{feff}').unwrap_or(text);
        if url.contains(char::is_whitespace) {
            let why = "the line has more than a URL: write `%20` for a blank in the URL, and a comment on a line of its own";
            return events.refuse(line.number, "bad-line", why);
        }
        events.pass(ListItem::new(events.at(line.number), url))
    })
}

/// Writes each URL of a record on a line.
pub fn write(output: &mut impl Write, domain_record: &DomainRecord<'_>) -> io::Result<()> {
    for url in domain_record.urls() {
        writeln!(output, "{}", url.as_str())?;
    }
    Ok(())
}
