//! Converts an archive to another version, record by record, streaming each block.
//!
//! Blocks are copied unchanged. This module translates headers to WARC/1.1; the [`Writer`] translates
//! them to the version that it writes. docs/archive-format.md lists the translation of each field.

use std::io::{Read, Write};

use crate::digest::{DigestAlgorithm, DigestHasher};
use crate::draft::HTTP_RESPONSE;
use crate::header::id::strip_brackets;
use crate::header::{Header, RecordId, RecordType, Version};
use crate::reader::{ReadError, Reader, Record};
use crate::render::{FILEDESC, PROFILES_10, PROFILES_11, UNKNOWN_TYPE, type_from_09};
use crate::writer::{WriteError, WriteErrorKind, Writer};

/// Why an archive was not converted. The records written before the error are complete.
#[derive(Debug, thiserror::Error)]
pub enum ConvertError {
    /// A record cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A record cannot be written.
    #[error("the record at byte {from}: {source}")]
    Write {
        /// The offset of the record in the input.
        from: u64,
        /// The cause.
        source: WriteError,
    },
}

/// Copies all records and returns their number. Deviations that the reader tolerates are corrected in
/// the output. After an error the caller can call [`Reader::skip_damage`] and continue.
pub fn convert<R: Read, W: Write>(
    reader: &mut Reader<R>,
    writer: &mut Writer<W>,
) -> Result<u64, ConvertError> {
    let mut records = 0;
    while let Some(mut record) = reader.next_record()? {
        let (from, length) = (record.offset(), record.block_length());
        let header = to_warc11_header(&record);
        if let Err(source) = writer.write_record(&header, &mut record, length) {
            // An unreadable block is an error of the input.
            return Err(match source.kind {
                WriteErrorKind::Block(error) => record.fault(error).into(),
                kind => ConvertError::Write {
                    from,
                    source: WriteError { kind, ..source },
                },
            });
        }
        record.finish()?;
        records += 1;
    }
    Ok(records)
}

/// The header of a record with the names and values of WARC/1.1, without `Content-Length`.
pub(crate) fn to_warc11_header<R: Read>(record: &Record<'_, R>) -> Header {
    let (version, old) = (record.version(), record.header());
    let block_length = record.block_length();
    let mut new = Header::default();
    if version == Version::Arc {
        new.push_read(
            "WARC-Record-ID",
            &id_from_content(old, record.offset()).bracketed(),
        );
    }
    for (name, value) in old.iter() {
        match name.to_ascii_lowercase().as_str() {
            "content-length" => {}
            "content-type" => {
                if let Some(value) = content_type(version, old, value, block_length) {
                    new.push_read(name, value);
                }
            }
            "warc-target-uri" => push_subject(&mut new, old, value),
            "warc-profile" => new.push_read(name, &profile(value)),
            _ => new.push_read(name, value),
        }
    }
    new
}

fn content_type<'a>(
    version: Version,
    header: &Header,
    value: &'a str,
    block_length: u64,
) -> Option<&'a str> {
    let kind = header.record_type();
    match version {
        // The line of an ARC record has the media type of the payload.
        Version::Arc if kind == Some(RecordType::Response) => Some(HTTP_RESPONSE),
        Version::Warc09 => {
            let needs_none = block_length == 0 || kind == Some(RecordType::Continuation);
            let value = type_from_09(header.get("WARC-Type").unwrap_or_default(), value);
            (!needs_none || value != UNKNOWN_TYPE).then_some(value)
        }
        _ => Some(value),
    }
}

/// Adds the target URI. In versions that require one, it may instead name the described file, or
/// repeat the record's own id.
fn push_subject(new: &mut Header, old: &Header, value: &str) {
    let uri = strip_brackets(value);
    if old.get("WARC-Record-ID").map(strip_brackets) == Some(uri) {
        return;
    }
    match uri.strip_prefix(FILEDESC) {
        Some(file) if old.record_type() == Some(RecordType::Warcinfo) => {
            if old.get("WARC-Filename") != Some(file) {
                new.push_read("WARC-Filename", file);
            }
        }
        _ => new.push_read("WARC-Target-URI", uri),
    }
}

fn profile(value: &str) -> String {
    match value.strip_prefix(PROFILES_10) {
        Some(profile) => format!("{PROFILES_11}{profile}"),
        None => value.to_owned(),
    }
}

/// An id for an ARC record, which has none. The id depends only on header and offset, so each
/// conversion gives the same id.
fn id_from_content(header: &Header, offset: u64) -> RecordId {
    let mut hasher = DigestHasher::new(DigestAlgorithm::Sha256);
    hasher.update(&offset.to_be_bytes());
    hasher.update(header.render_fields().as_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hasher.finish().as_bytes()[..16]);
    RecordId::from_random(bytes)
}
