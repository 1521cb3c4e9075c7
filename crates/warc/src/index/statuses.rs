//! Gives the lines of revisits with an empty block the status of the capture whose payload they repeat.
//!
//! A revisit states no status where its block is empty, and programs that read an index expect one. The
//! capture with the same key and digest has it: in the index, or among the new lines.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::path::Path;

use super::lines::IndexLines;
use crate::cdxj::{CdxjLine, REVISIT_MIME};

/// The statuses of the captures with one key, by digest.
type Statuses = HashMap<String, u16>;

/// Fills in the statuses of new lines for the index at `path`, which need not exist.
pub(super) fn fill(path: &Path, new: &mut BTreeSet<Vec<u8>>) -> io::Result<()> {
    let lacking: Vec<Vec<u8>> = new
        .iter()
        .filter(|line| may_lack_status(line))
        .cloned()
        .collect();
    if lacking.is_empty() {
        return Ok(());
    }
    let mut known: HashMap<Vec<u8>, Statuses> = lacking
        .iter()
        .map(|line| (key_of(line).to_vec(), Statuses::new()))
        .collect();
    for line in new.iter() {
        add_status(line, &mut known);
    }
    for line in IndexLines::open(path)? {
        add_status(&line?, &mut known);
    }
    for line in lacking {
        if let Some(filled) = filled(&line, &known) {
            new.remove(&line);
            new.insert(filled);
        }
    }
    Ok(())
}

/// Whether the line, which this crate has rendered, is that of a revisit without a status.
fn may_lack_status(line: &[u8]) -> bool {
    let has = |text: &str| memchr::memmem::find(line, text.as_bytes()).is_some();
    has("\"mime\": \"warc/revisit\"") && !has("\"status\": \"")
}

fn key_of(line: &[u8]) -> &[u8] {
    let end = memchr::memchr(b' ', line).unwrap_or(line.len());
    &line[..end]
}

fn parse(line: &[u8]) -> Option<CdxjLine> {
    CdxjLine::parse(std::str::from_utf8(line).ok()?).ok()
}

/// Adds the status of a capture whose key is in `known`.
fn add_status(line: &[u8], known: &mut HashMap<Vec<u8>, Statuses>) {
    if let Some(statuses) = known.get_mut(key_of(line))
        && let Some(line) = parse(line)
        && line.mime != REVISIT_MIME
        && let Some(status) = line.status
    {
        statuses.insert(line.digest, status);
    }
}

fn filled(line: &[u8], known: &HashMap<Vec<u8>, Statuses>) -> Option<Vec<u8>> {
    let mut parsed = parse(line).filter(|line| line.status.is_none())?;
    let status = known.get(key_of(line))?.get(&parsed.digest)?;
    parsed.status = Some(*status);
    Some(parsed.render().ok()?.into_bytes())
}
