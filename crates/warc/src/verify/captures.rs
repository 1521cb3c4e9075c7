//! Whether the index and the records agree, both ways.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::Path;

use super::Report;
use crate::cdxj::{CdxjLine, Keys, url_of};
use crate::date::WarcDate;
use crate::digest::Digest;
use crate::finding::Code;
use crate::header::Header;
use crate::http::StoredRequest;
use crate::index::{Lines, Near};

/// The records that an index has to have, by file and offset.
#[derive(Default)]
pub(super) struct Captures {
    chance: RandomState,
    known: BTreeMap<(u32, u64), Capture>,
    /// Those whose requests may follow.
    near: Near<Waiting>,
}

struct Waiting {
    at: (u32, u64),
    url: String,
    capture: Capture,
}

struct Capture {
    length: u64,
    /// Of URI and date.
    name: u64,
    digest: Option<u64>,
    /// Of the answer to another request than GET. The URL alone makes any other.
    key: Option<u64>,
    seen: bool,
}

impl Captures {
    /// Takes in the next record of a file, with its place and length if it can be read from there,
    /// and with what was asked, if it is about that.
    pub(super) fn add(
        &mut self,
        place: Option<((u32, u64), u64)>,
        header: &Header,
        request: Option<StoredRequest>,
        keys: &dyn Keys,
    ) {
        let capture = place.and_then(|(at, length)| self.capture(at, length, header));
        let chance = &self.chance;
        let ask = |waiting: &mut Waiting, request: &_| {
            if let Some((key, _)) = keys.key_of_request(&waiting.url, request) {
                waiting.capture.key = Some(chance.hash_one(key));
            }
        };
        let ready = self.near.add(header, capture, request, ask);
        self.known.extend(ready.map(|it| (it.at, it.capture)));
    }

    /// No more records follow in the file.
    pub(super) fn end_file(&mut self) {
        let rest = self.near.rest().map(|it| (it.at, it.capture));
        self.known.extend(rest);
    }

    fn capture(&self, at: (u32, u64), length: u64, header: &Header) -> Option<Waiting> {
        let date: WarcDate = header.get("WARC-Date")?.parse().ok()?;
        let url = url_of(header).filter(|_| CdxjLine::is_about(header))?;
        let capture = Capture {
            length,
            name: self.name(&url, &date.to_timestamp14()),
            digest: header.payload_digest().map(|it| self.chance.hash_one(it)),
            key: None,
            seen: false,
        };
        Some(Waiting { at, url, capture })
    }

    fn name(&self, uri: &str, timestamp: &str) -> u64 {
        self.chance.hash_one((uri, timestamp))
    }

    /// Reads the index. `names` has the files by their name.
    pub(super) fn compare(
        &mut self,
        path: &Path,
        names: &HashMap<String, u32>,
        keys: &dyn Keys,
        report: &mut Report<'_>,
    ) -> io::Result<()> {
        let mut last = Vec::new();
        let mut offset = 0;
        for line in Lines::open(path)? {
            let line = line?;
            report.place.offset = Some(offset);
            offset += line.len() as u64 + 1;
            if line < last {
                let meaning = Code::IndexOrder.meaning();
                report.add(Code::IndexOrder, meaning.to_owned());
            }
            match CdxjLine::parse(&String::from_utf8_lossy(&line)) {
                Ok(parsed) => self.look_up(&parsed, names, keys, report),
                Err(error) => report.add(Code::IndexLine, error.to_string()),
            }
            last = line;
        }
        Ok(())
    }

    fn look_up(
        &mut self,
        line: &CdxjLine,
        names: &HashMap<String, u32>,
        keys: &dyn Keys,
        report: &mut Report<'_>,
    ) {
        let CdxjLine {
            url,
            filename,
            extent,
            ..
        } = line;
        let name = self.name(url, &line.timestamp);
        let digest = parse_digest(&line.digest).map(|it| self.chance.hash_one(it));
        let found = names
            .get(filename)
            .and_then(|file| self.known.get_mut(&(*file, extent.offset)));
        let Some(capture) = found else {
            let message = format!(
                "at byte {} of {filename} no capture of {url} begins",
                extent.offset
            );
            report.add(Code::IndexStale, message);
            return;
        };
        let is_found = match capture.key {
            Some(key) => key == self.chance.hash_one(&line.key),
            None => keys.key(url) == line.key,
        };
        let differs = if capture.length != extent.length {
            Some("length")
        } else if capture.name != name {
            Some("URL or date")
        } else if digest.is_some() && capture.digest.is_some() && digest != capture.digest {
            Some("digest")
        } else {
            None
        };
        if let Some(what) = differs {
            let message = format!(
                "the record at byte {} of {filename} has another {what}",
                extent.offset
            );
            report.add(Code::IndexDiffers, message);
        } else if !is_found {
            let message = format!(
                "the record at byte {} of {filename} is not looked for under {:?}",
                extent.offset, line.key
            );
            report.add(Code::IndexKey, message);
        }
        if std::mem::replace(&mut capture.seen, true) {
            let message = format!(
                "the record at byte {} of {filename} has another line",
                extent.offset
            );
            report.add(Code::IndexRepeated, message);
        }
    }

    /// The records that no line was about.
    pub(super) fn unseen(&mut self) -> impl Iterator<Item = (u32, u64)> + use<> {
        let unseen = std::mem::take(&mut self.known);
        unseen
            .into_iter()
            .filter(|(_, capture)| !capture.seen)
            .map(|(at, _)| at)
    }
}

/// Some programs leave out that it is SHA-1.
fn parse_digest(text: &str) -> Option<Digest> {
    text.parse()
        .or_else(|_| format!("sha1:{text}").parse())
        .ok()
}
