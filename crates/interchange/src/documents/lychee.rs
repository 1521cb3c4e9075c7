//! The output of `lychee --dump`: a URL on each line; with `-v` also `(SOURCE)`, and perhaps
//! `[excluded]`.

use std::io::BufRead;
use std::sync::Arc;

use super::collector::Collector;
use super::options::DocumentOptions;
use crate::input::LineReader;
use crate::model::{ReadError, Sink};
use crate::scheme;

/// Reads the output of `lychee --dump`, with or without `-v`.
///
/// # Errors
/// If `input` or `sink` fails.
pub fn read(input: impl BufRead, file: &Arc<str>, sink: &mut Sink<'_>) -> Result<(), ReadError> {
    let options = DocumentOptions {
        base: None,
        path: "",
        is_local: &|_| false,
    };
    let mut collector = Collector::new(file, &options, sink);
    let mut lines = LineReader::new(input);
    while let Some(line) = lines.next_line().map_err(ReadError::input(file))? {
        let text = match line.text {
            Err(why) => {
                collector.events.refuse(line.number, "bad-line", why)?;
                continue;
            }
            Ok(text) => text.trim(),
        };
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        // No URL has a blank, and a source may.
        let url = text.split(' ').next().unwrap_or_default();
        if url.is_empty() {
            continue;
        }
        if text.ends_with(" [excluded]") {
            collector.count("excluded", line.number);
        } else if scheme::without(url, "file:").is_some() {
            collector.count("local", line.number);
        } else {
            collector.take(url, line.number)?;
        }
    }
    collector.finish()
}
