//! A plain list: a URL a line; lines that are empty or begin with `#` say nothing.

use std::io::{self, BufRead, Write};
use std::sync::Arc;

use crate::input::LineReader;
use crate::model::{DomainRecord, ListItem, Location, Notice, ReadError, Sink};

/// Reads a list.
pub fn read(input: impl BufRead, file: &Arc<str>, sink: &mut Sink<'_>) -> Result<(), ReadError> {
    let mut lines = LineReader::new(input);
    while let Some(line) = lines.next().map_err(ReadError::input(file))? {
        let place = Location::line(file, line.number);
        let url = match line.text.map(str::trim) {
            Err(why) => {
                sink(Notice::refused(place, "bad-line", why).into())?;
                continue;
            }
            Ok(text) if text.is_empty() || text.starts_with('#') => continue,
            Ok(text) => text,
        };
        // Editors on Windows mark text files.
        let url = url.strip_prefix('\u{feff}').unwrap_or(url);
        sink(ListItem::new(place, url).into())?;
    }
    Ok(())
}

/// Writes a line.
pub fn write(output: &mut impl Write, domain_record: &DomainRecord<'_>) -> io::Result<()> {
    writeln!(output, "{}", domain_record.url())
}
