//! The bytes that the arguments of `urldb get` name.

use std::collections::HashSet;

use anyhow::Context as _;
use urldb_format::{Algorithm, Digest, DomainReader, Metadata, Record};
use urldb_verdict::JobKey;

use crate::cli::Context;
use crate::cli::args::find_records;
use crate::copies::Content;
use crate::ledger::Ledger;

/// The bytes that an argument names.
pub(super) struct Sought {
    pub(super) bytes: Content,
    /// The record of the URL, if a URL was named.
    pub(super) own: Option<JobKey>,
}

impl Sought {
    /// The bytes of a URL or of a digest.
    ///
    /// # Errors
    /// When the text is neither, or the URL has no record with a digest, or several with different ones.
    pub(super) fn named(text: &str, context: &Context) -> anyhow::Result<Self> {
        let named = text
            .split_once(':')
            .and_then(|(name, hex)| Some((Algorithm::from_name(name)?, hex)));
        if let Some((algorithm, hex)) = named {
            let digest =
                Digest::from_hex(algorithm, hex.to_ascii_lowercase()).with_context(|| {
                    format!("{hex} is no {} in hexadecimal digits", algorithm.name())
                })?;
            return Ok(Self {
                bytes: Content::with(digest),
                own: None,
            });
        }
        let records = find_records(context, &[text.to_owned()])?;
        let named = records.first().context("a URL was named")?;
        let mut file = DomainReader::open(context.domain_file(&named.domain))?;
        let metadata = file.metadata().clone();
        let mut found: Vec<(Content, Record)> = vec![];
        while let Some(document) = file.next()? {
            let entry = document
                .to_entry()
                .filter(|entry| entry.record().path == named.path);
            let Some(record) = entry.map(|entry| entry.record().clone()) else {
                continue;
            };
            if let Some(content) = Content::of(&record).filter(|_| record.request_key().is_none())
                && found.iter().all(|(known, _)| *known != content)
            {
                found.push((content, record));
            }
        }
        anyhow::ensure!(
            found.len() < 2,
            "{text} has several records with different bytes: name the digest, such as sha256:HEX"
        );
        let (bytes, record) = found.pop().with_context(|| {
            format!("{text} promises no digest, so that nothing that comes could be verified")
        })?;
        Ok(Self {
            bytes,
            own: Some(key_of(&named.domain, &metadata, &record)),
        })
    }
}

/// The bytes of the URLs that are confirmed to be broken.
pub(super) fn broken(context: &Context) -> anyhow::Result<Vec<Sought>> {
    let mut ledger = Ledger::new(&context.ledger());
    // Bytes that several broken URLs promise are sought once.
    let (mut sought, mut known) = (vec![], HashSet::new());
    for path in context.config.open_database()?.files() {
        let host = urldb_format::host_of(path);
        let mut file = DomainReader::open(path)?;
        let metadata = file.metadata().clone();
        while let Some(document) = file.next()? {
            let Some(entry) = document.to_entry() else {
                continue;
            };
            let record = entry.record();
            let Some(bytes) = Content::of(record).filter(|_| record.request_key().is_none()) else {
                continue;
            };
            let key = key_of(&host, &metadata, record);
            ledger.open(&host)?;
            let state = ledger.get(&key).map(|entry| entry.url_status.state);
            let mut is_new = || known.insert(bytes.strongest().cloned());
            if state.is_some_and(urldb_protocol::State::is_broken) && is_new() {
                sought.push(Sought {
                    bytes,
                    own: Some(key),
                });
            }
        }
        ledger.close(&host);
    }
    Ok(sought)
}

/// The key of a record without a request body.
fn key_of(host: &str, metadata: &Metadata, record: &Record) -> JobKey {
    JobKey {
        domain: host.to_owned(),
        path: record.path.clone(),
        request: None,
        variant: metadata.variant_of(record),
        alias: None,
        scheme: metadata.scheme_of(record),
    }
}
