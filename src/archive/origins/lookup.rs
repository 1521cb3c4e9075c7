//! Finds who answered a capture: the records that it names, and else the last ones of its date.

use std::io::Read;

use urldb_tls::CertificateNames;
use urldb_warc::{CdxjLine, Header, RecordId};

use super::{CERTIFICATES, uris_of};
use crate::archive::rewrite::OWN_PREFIX;
use crate::archive::{Catalogue, IndexedCapture};

/// Most bytes of a record that are read.
const LONGEST: u64 = 256 << 10;

/// The server that answered a capture.
#[derive(Debug)]
pub struct CaptureOrigin {
    /// The address that answered, unless a proxy hid it.
    pub address: Option<String>,
    /// The protocols of the connection, such as `http/1.1` and `tls/1.3`.
    pub protocols: Vec<String>,
    /// The records about the host, as it showed itself when the capture was made. Captures of other programs have
    /// none.
    pub records: Vec<OriginRecord>,
}

/// A record about the host of a capture.
#[derive(Debug)]
pub struct OriginRecord {
    /// Its line of the index.
    pub line: CdxjLine,
    /// Its statement.
    pub fact: OriginFact,
}

/// A fact that a connection showed.
#[derive(Debug)]
pub enum OriginFact {
    /// The addresses that the resolver gave.
    Addresses(Vec<String>),
    /// The server's own certificate; `None` if it cannot be read.
    Certificate(Option<CertificateNames>),
}

/// A record about a host, as it is stored.
struct StoredOrigin {
    line: CdxjLine,
    id: Option<RecordId>,
    block: Vec<u8>,
}

impl Catalogue {
    /// The server that answered a capture.
    ///
    /// # Errors
    /// When the index or a file is damaged, or a file is missing.
    pub fn origin_of(&self, capture: &IndexedCapture) -> anyhow::Result<CaptureOrigin> {
        let header = self.with_record(&capture.line, |header, _| Ok(header.clone()))?;
        let records = self
            .stored_origins(&capture.line, &header)?
            .into_iter()
            .map(|StoredOrigin { line, block, .. }| {
                let fact = if line.mime == CERTIFICATES {
                    OriginFact::Certificate(CertificateNames::read_pem(&block))
                } else {
                    OriginFact::Addresses(addresses(&block))
                };
                OriginRecord { line, fact }
            });
        Ok(CaptureOrigin {
            address: header.get("WARC-IP-Address").map(str::to_owned),
            protocols: values(&header, "WARC-Protocol")
                .map(str::to_owned)
                .collect(),
            records: records.collect(),
        })
    }

    /// The lines of the records about the host of a capture.
    ///
    /// # Errors
    /// As [`Catalogue::origin_of`].
    pub(in crate::archive) fn origin_lines(
        &self,
        capture: &CdxjLine,
    ) -> anyhow::Result<Vec<CdxjLine>> {
        let header = self.with_record(capture, |header, _| Ok(header.clone()))?;
        let records = self.stored_origins(capture, &header)?.into_iter();
        Ok(records.map(|record| record.line).collect())
    }

    /// The records that a capture with this header names, and else the last ones of its date.
    fn stored_origins(
        &self,
        capture: &CdxjLine,
        header: &Header,
    ) -> anyhow::Result<Vec<StoredOrigin>> {
        if !capture.filename.starts_with(OWN_PREFIX) {
            return Ok(vec![]);
        }
        let mut named: Vec<RecordId> = values(header, "WARC-Concurrent-To")
            .filter_map(|id| id.parse().ok())
            .collect();
        let (mut found, mut others) = (vec![], vec![]);
        // A named record is of the same run, and so almost always in the same file.
        for uri in uris_of(&capture.url) {
            let mut lines = self.lines_at(&urldb_canon::surt(&uri))?;
            lines.retain(|line| line.url == uri && line.filename.starts_with(OWN_PREFIX));
            let is_near = |line: &&CdxjLine| line.filename == capture.filename;
            match self.take_named(lines.iter().filter(is_near), &mut named)? {
                Some(record) => found.push(record),
                None => others.push(lines),
            }
        }
        for lines in others {
            let named = self.take_named(lines.iter().rev(), &mut named)?;
            let record = match named {
                Some(named) => Some(named),
                None => self.last_origin(&lines, capture, header)?,
            };
            found.extend(record);
        }
        found.sort_by(|a, b| a.line.url.cmp(&b.line.url));
        Ok(found)
    }

    /// The first record of these lines that is among `named`, which it leaves.
    fn take_named<'a>(
        &self,
        lines: impl Iterator<Item = &'a CdxjLine>,
        named: &mut Vec<RecordId>,
    ) -> anyhow::Result<Option<StoredOrigin>> {
        for line in lines {
            if named.is_empty() {
                break;
            }
            let record = self.read_origin(line)?;
            let position = named.iter().position(|id| Some(id) == record.id.as_ref());
            if let Some(position) = position {
                named.remove(position);
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    /// The last of these records with the date of a capture or an earlier one.
    fn last_origin(
        &self,
        lines: &[CdxjLine],
        capture: &CdxjLine,
        header: &Header,
    ) -> anyhow::Result<Option<StoredOrigin>> {
        let mut lines = lines.iter().rev();
        let Some(line) = lines.find(|line| line.timestamp <= capture.timestamp) else {
            return Ok(None);
        };
        let record = self.read_origin(line)?;
        // Behind a proxy, or with `--map`, the resolver was not asked.
        let address = header.get("WARC-IP-Address");
        let of_answer = || addresses(&record.block);
        let fits = record.line.mime == CERTIFICATES
            || address.is_some_and(|it| of_answer().iter().any(|own| own == it));
        Ok(fits.then_some(record))
    }

    fn read_origin(&self, line: &CdxjLine) -> anyhow::Result<StoredOrigin> {
        let (id, block) = self.with_record(line, |header, record| {
            let mut block = vec![];
            record.take(LONGEST).read_to_end(&mut block)?;
            let id = header.get("WARC-Record-ID").and_then(|id| id.parse().ok());
            Ok((id, block))
        })?;
        Ok(StoredOrigin {
            line: line.clone(),
            id,
            block,
        })
    }
}

/// All values of a field.
fn values<'a>(header: &'a Header, name: &'a str) -> impl Iterator<Item = &'a str> {
    header
        .iter()
        .filter(move |(known, _)| known.eq_ignore_ascii_case(name))
        .map(|(_, value)| value)
}

/// The addresses in the lines of a master file, with or without times.
fn addresses(block: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(block)
        .lines()
        .filter_map(|line| {
            let mut words = line.split_ascii_whitespace().rev();
            let address = words.next()?;
            matches!(words.next(), Some("A" | "AAAA")).then(|| address.to_owned())
        })
        .collect()
}
