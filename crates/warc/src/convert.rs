//! Rewrites an archive in another version, record by record, without holding any in memory.
//!
//! Blocks are copied as they are; headers are brought into the words of WARC/1.1 here, and into those
//! of the version that is written by the [`Writer`]. docs/archive.md says what becomes of each field.

use std::io::{Read, Write};

use crate::digest::{Algorithm, Hasher};
use crate::header::{Header, RecordType};
use crate::id::{RecordId, strip_brackets};
use crate::reader::{ReadError, Reader, Record};
use crate::record::HTTP_RESPONSE;
use crate::render::{FILEDESC, PROFILES_10, PROFILES_11, UNKNOWN_TYPE, type_from_09};
use crate::version::Version;
use crate::writer::{self, WriteError, Writer};

/// Why an archive was not converted. What was written before is good.
#[derive(Debug, thiserror::Error)]
pub enum ConvertError {
    /// A record cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A record cannot be written.
    #[error("the record at byte {from}: {source}")]
    Write {
        /// Where the record begins in the input.
        from: u64,
        /// What happened.
        source: WriteError,
    },
}

/// Copies all records, and returns how many there were. What the reader tolerates comes out as it
/// should be; after an error the reader can be told to go on behind the damage.
pub fn convert<R: Read, W: Write>(
    reader: &mut Reader<R>,
    writer: &mut Writer<W>,
) -> Result<u64, ConvertError> {
    let mut records = 0;
    while let Some(mut record) = reader.next_record()? {
        let (from, length) = (record.offset(), record.block_length());
        let header = modernise(&record);
        if let Err(source) = writer.write_record(&header, &mut record, length) {
            // A block that cannot be read is a fault of the input.
            return Err(match source.problem {
                writer::Problem::Block(error) => record.fault(error).into(),
                problem => ConvertError::Write {
                    from,
                    source: WriteError { problem, ..source },
                },
            });
        }
        record.finish()?;
        records += 1;
    }
    Ok(records)
}

/// The header of a record that was read, in the words of WARC/1.1, without `Content-Length`.
pub fn modernise<R: Read>(record: &Record<'_, R>) -> Header {
    let (version, old) = (record.version(), record.header());
    let block_length = record.block_length();
    let mut new = Header::default();
    if version == Version::Arc {
        new.push_read(
            "WARC-Record-ID",
            &made_up_id(old, record.offset()).bracketed(),
        );
    }
    for (at, (name, value)) in old.iter().enumerate() {
        let is_repeated = || {
            let mut rest = old.iter().skip(at + 1);
            version == Version::Warc09 && rest.any(|(other, _)| other.eq_ignore_ascii_case(name))
        };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => {}
            // What WARC 0.9 could not say in full by position it says again as a field.
            "warc-date" | "content-type" | "warc-target-uri" if is_repeated() => {}
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
        // The media type in the line of an ARC record is that of the payload.
        Version::Arc if kind == Some(RecordType::Response) => Some(HTTP_RESPONSE),
        Version::Warc09 => {
            let needs_none = block_length == 0 || kind == Some(RecordType::Continuation);
            let value = type_from_09(header.get("WARC-Type").unwrap_or_default(), value);
            (!needs_none || value != UNKNOWN_TYPE).then_some(value)
        }
        _ => Some(value),
    }
}

/// Adds the target URI, or what it stands for where there has to be one: a file that is described, or
/// nothing at all.
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

/// Records of ARC files have no id. One that is made of what they have is the same each time.
fn made_up_id(header: &Header, offset: u64) -> RecordId {
    let mut hasher = Hasher::new(Algorithm::Sha256);
    hasher.update(&offset.to_be_bytes());
    hasher.update(header.render_fields().as_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hasher.finish().as_bytes()[..16]);
    RecordId::from_random(bytes)
}
