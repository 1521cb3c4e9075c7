//! The server that answered a capture, for `urldb archive list --origin`.

use std::io::{self, Write};

use jiff::Timestamp;
use serde::Serialize;
use urldb_text::sanitize;

use crate::archive::date;
use crate::archive::origins::{CaptureOrigin, OriginFact, OriginRecord};

/// The server that answered a capture.
#[derive(Serialize)]
pub(super) struct OriginLine<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<&'a str>,
    protocols: &'a [String],
    records: Vec<RecordLine<'a>>,
}

/// One record about the host.
#[derive(Serialize)]
struct RecordLine<'a> {
    uri: &'a str,
    date: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    addresses: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    certificate: Option<Certificate<'a>>,
    digest: &'a str,
    file: &'a str,
    offset: u64,
}

#[derive(Serialize)]
struct Certificate<'a> {
    subject: &'a str,
    issuer: &'a str,
    not_before: String,
    not_after: String,
}

impl<'a> OriginLine<'a> {
    pub(super) fn new(origin: &'a CaptureOrigin) -> Self {
        Self {
            address: origin.address.as_deref(),
            protocols: &origin.protocols,
            records: origin.records.iter().map(RecordLine::new).collect(),
        }
    }

    /// For people: a line for the connection, and one for each record.
    pub(super) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let address = self.address.unwrap_or("an unknown address");
        let protocols = self.protocols.join(", ");
        writeln!(out, "      {}  {}", sanitize(address), sanitize(&protocols))?;
        for record in &self.records {
            writeln!(
                out,
                "      {}  {}  {}",
                sanitize(record.uri),
                record.date,
                sanitize(&record.text())
            )?;
        }
        Ok(())
    }
}

impl<'a> RecordLine<'a> {
    fn new(record: &'a OriginRecord) -> Self {
        let (addresses, certificate) = match &record.fact {
            OriginFact::Addresses(addresses) => (Some(addresses.as_slice()), None),
            OriginFact::Certificate(names) => (
                None,
                names.as_ref().map(|names| Certificate {
                    subject: &names.subject,
                    issuer: &names.issuer,
                    not_before: time(names.not_before.as_secs()),
                    not_after: time(names.not_after.as_secs()),
                }),
            ),
        };
        let line = &record.line;
        Self {
            uri: &line.url,
            date: date::shown(&line.timestamp),
            addresses,
            certificate,
            digest: &line.digest,
            file: &line.filename,
            offset: line.extent.offset,
        }
    }

    fn text(&self) -> String {
        match (&self.addresses, &self.certificate) {
            (Some(addresses), _) => addresses.join(", "),
            (None, Some(certificate)) => {
                let Certificate {
                    subject,
                    issuer,
                    not_before,
                    not_after,
                } = certificate;
                // Authorities leave it empty: the names of the server are elsewhere in the certificate.
                let name = if subject.is_empty() { "" } else { ", " };
                format!("{subject}{name}issued by {issuer}, valid from {not_before} to {not_after}")
            }
            (None, None) => "a certificate that cannot be read".to_owned(),
        }
    }
}

fn time(seconds: u64) -> String {
    i64::try_from(seconds)
        .ok()
        .and_then(|seconds| Timestamp::from_second(seconds).ok())
        .map_or_else(|| "an unknown time".to_owned(), |time| time.to_string())
}
