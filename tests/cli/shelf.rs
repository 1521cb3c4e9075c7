//! An archive made by hand, with dates of its own.

use std::io;
use std::path::PathBuf;

use urldb_warc::cdxj::RecordLocation;
use urldb_warc::draft::{Exchange, OriginalCapture, TruncationReason, warcinfo};
use urldb_warc::http::StoredHead;
use urldb_warc::writer::ArchiveFile;
use urldb_warc::{CdxjLine, Digest, RecordDraft, RecordId, WarcDate};

use crate::sandbox::Sandbox;

/// One archive file that is being filled.
pub(crate) struct Shelf {
    folder: PathBuf,
    file: ArchiveFile,
    lines: Vec<CdxjLine>,
    ids: u8,
}

/// What one capture says.
pub(crate) struct Told<'a> {
    pub(crate) url: &'a str,
    /// The start line without the version, and fields.
    pub(crate) head: &'a str,
    pub(crate) body: &'a [u8],
}

/// Good text at a URL.
pub(crate) fn text<'a>(url: &'a str, body: &'a str) -> Told<'a> {
    Told {
        url,
        head: "200 OK\r\nContent-Type: text/plain",
        body: body.as_bytes(),
    }
}

impl Shelf {
    pub(crate) fn new(sandbox: &Sandbox, name: &str) -> Self {
        Self::with_ids(sandbox, name, 0)
    }

    /// A file whose records have this id and the following ones.
    pub(crate) fn with_ids(sandbox: &Sandbox, name: &str, first: u8) -> Self {
        let folder = sandbox.path("archive");
        std::fs::create_dir_all(&folder).unwrap();
        let date = "2026-01-01T00:00:00Z".parse().unwrap();
        let info = warcinfo(&RecordId::from_random([first; 16]), &date, name, &[]).unwrap();
        let file = ArchiveFile::create(&folder, name, &info).unwrap();
        Self {
            folder,
            file,
            lines: vec![],
            ids: first,
        }
    }

    fn id(&mut self) -> RecordId {
        self.ids += 1;
        RecordId::from_random([self.ids; 16])
    }

    /// A response.
    pub(crate) fn capture(&mut self, date: &str, told: &Told<'_>) -> OriginalCapture {
        let digest = Digest::sha256_of(told.body).unwrap().0;
        self.put(date, told, digest, None)
    }

    /// A response of which the rest was lost.
    pub(crate) fn half(&mut self, date: &str, told: &Told<'_>) -> OriginalCapture {
        let digest = Digest::sha256_of(told.body).unwrap().0;
        self.put(date, told, digest, Some(TruncationReason::Disconnect))
    }

    /// A response with a digest that is that of other bytes.
    pub(crate) fn wrong(&mut self, date: &str, told: &Told<'_>) -> OriginalCapture {
        let digest = Digest::sha256_of(&b"other bytes"[..]).unwrap().0;
        self.put(date, told, digest, None)
    }

    fn put(
        &mut self,
        date: &str,
        told: &Told<'_>,
        digest: Digest,
        truncated: Option<TruncationReason>,
    ) -> OriginalCapture {
        let date: WarcDate = date.parse().unwrap();
        let id = self.id();
        let head = format!("HTTP/1.1 {}\r\n\r\n", told.head).into_bytes();
        let exchange = Exchange {
            target_uri: told.url,
            date: &date,
            ip_address: None,
            protocols: &[],
        };
        let draft = exchange.response(&id, head, &digest, truncated).unwrap();
        self.append(&draft, told.body);
        OriginalCapture {
            record_id: id,
            target_uri: told.url.to_owned(),
            date,
            payload_digest: digest,
        }
    }

    /// The same bytes again.
    pub(crate) fn revisit(&mut self, date: &str, url: &str, original: &OriginalCapture) {
        let date: WarcDate = date.parse().unwrap();
        let id = self.id();
        let exchange = Exchange {
            target_uri: url,
            date: &date,
            ip_address: None,
            protocols: &[],
        };
        let draft = exchange.revisit_identical(&id, original, vec![]).unwrap();
        self.append(&draft, &[]);
    }

    /// The request that a response answers.
    pub(crate) fn request(&mut self, date: &str, url: &str, response: &OriginalCapture) {
        let date: WarcDate = date.parse().unwrap();
        let id = self.id();
        let exchange = Exchange {
            target_uri: url,
            date: &date,
            ip_address: None,
            protocols: &[],
        };
        let head = b"GET / HTTP/1.1\r\n\r\n".to_vec();
        let draft = exchange.request(&id, &response.record_id, head).unwrap();
        self.append(&draft, &[]);
    }

    fn append(&mut self, draft: &RecordDraft, body: &[u8]) {
        let extent = self.file.append(draft, body, body.len() as u64).unwrap();
        let head = StoredHead::read(&mut io::Cursor::new(&draft.head)).unwrap();
        let place = RecordLocation {
            filename: self.file.name(),
            extent,
        };
        let line = CdxjLine::of_record(&draft.header, head.as_ref(), place, urldb_canon::surt);
        self.lines.extend(line);
    }

    /// Closes the file and indexes it.
    pub(crate) fn finish(self) -> PathBuf {
        let file = self.file.finish().unwrap();
        urldb_warc::index::merge_into_index(&self.folder, &self.lines).unwrap();
        file
    }
}
