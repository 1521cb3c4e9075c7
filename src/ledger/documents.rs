//! The documents of the files of a domain: their entries, and the contents of these.

use std::io::{self, Read};

use anyhow::Context;
use urldb_files::RootFile;
use urldb_format::{Document, Mapping, Value, read_documents_from};
use urldb_protocol::CertificateDates;
use urldb_verdict::JobKey;

use super::entry::{self, Content, Entry, SCHEMA, key_of};
use super::incidents;
use crate::limits;

/// Whether this is a file of statuses of a domain, with anything in it.
///
/// # Errors
/// When it cannot be read, or is another file.
pub(super) fn has_statuses(file: &RootFile, domain: &str) -> anyhow::Result<bool> {
    let mut documents = documents(file)?;
    let Some(head) = documents.next() else {
        return Ok(false);
    };
    let mut has_any = parse_head(&head?.mapping)?.is_some();
    for document in documents {
        status(domain, &document?)?;
        has_any = true;
    }
    Ok(has_any)
}

/// Whether this is a file of captures, with anything in it.
///
/// # Errors
/// As [`has_statuses`].
pub(super) fn has_contents(file: &RootFile) -> anyhow::Result<bool> {
    let mut has_any = false;
    for document in documents(file)?.skip(1) {
        content("", &document?)?;
        has_any = true;
    }
    Ok(has_any)
}

/// The documents of a file, which need not exist.
pub(super) fn documents(
    file: &RootFile,
) -> anyhow::Result<impl Iterator<Item = anyhow::Result<Document>> + use<>> {
    let open = match file.open_within(limits::LEDGER) {
        Ok(open) => Some(open),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error).with_context(|| format!("cannot read {file}")),
    };
    Ok(open.into_iter().flat_map(documents_in))
}

/// The documents of a stream.
pub(super) fn documents_in<R: Read>(source: R) -> impl Iterator<Item = anyhow::Result<Document>> {
    read_documents_from(source, &SCHEMA).flat_map(|part| {
        let read =
            part.map_err(anyhow::Error::from)
                .and_then(|(documents, findings)| match findings.first() {
                    Some(finding) => anyhow::bail!("line {}: {}", finding.line, finding.message),
                    None => Ok(documents),
                });
        let (documents, error) = match read {
            Ok(documents) => (documents, None),
            Err(error) => (vec![], Some(Err(error))),
        };
        documents.into_iter().map(Ok).chain(error)
    })
}

/// The certificate of a domain.
pub(super) fn parse_head(head: &Mapping) -> anyhow::Result<Option<CertificateDates>> {
    let certificate = head.get("certificate").and_then(Value::as_map);
    certificate
        .map(entry::certificate)
        .transpose()
        .context("`certificate`")
}

/// The entry of a document of the file of statuses, without content.
pub(super) fn status(domain: &str, document: &Document) -> anyhow::Result<(JobKey, Entry)> {
    Entry::from_mapping(domain, &document.mapping)
        .with_context(|| format!("line {}", document.start_line))
}

/// The content of a document of the file of captures.
pub(super) fn content(domain: &str, document: &Document) -> anyhow::Result<(JobKey, Content)> {
    let at = || format!("line {}", document.start_line);
    let key = key_of(domain, &document.mapping).with_context(at)?;
    let content = incidents::from_document(&document.mapping);
    Ok((key, content.with_context(at)?))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use proptest::prelude::*;
    use urldb_canon::Scheme;
    use urldb_format::write_documents;
    use urldb_protocol::State;
    use urldb_verdict::{Doubt, Pending, UrlStatus};

    use super::super::entries::Entries;
    use super::super::entry::{BadResponse, Capture};
    use super::*;

    /// Texts that a file could leave out, or that YAML could take for something else.
    fn odd() -> impl Strategy<Value = String> {
        prop_oneof![
            Just(String::new()),
            prop::sample::select(vec![
                " ", "null", "true", "0123", "- a: b #", "x\ny\n", "---", "\u{feff}"
            ])
            .prop_map(str::to_owned),
            "\\PC{1,12}",
            "[\u{0}-\u{a0}\u{2028}]{1,6}",
        ]
    }

    fn time() -> impl Strategy<Value = Timestamp> {
        (0..4_000_000_000i64).prop_map(|second| Timestamp::from_second(second).unwrap())
    }

    proptest! {
        #[test]
        fn whatever_entry_is_written_is_read_again(
            texts in prop::collection::vec(prop::option::of(odd()), 14),
            times in prop::collection::vec(time(), 7),
            number in any::<u32>(),
            present in any::<[bool; 5]>(),
        ) {
            let text = |at: usize| texts[at].clone();
            let needed = |at: usize| text(at).unwrap_or_default();
            let key = JobKey {
                domain: "a.example".to_owned(),
                path: needed(0),
                request: text(1),
                variant: text(2),
                alias: text(3),
                scheme: Scheme::Https,
            };
            let other = present[0].then_some(Doubt { first: times[0], count: number });
            let pending = Pending { state: State::Gone, first: times[1], count: number, other };
            let capture = Capture {
                record: needed(4),
                date: needed(5),
                uri: needed(6),
                file: needed(7),
                digest: text(8),
            };
            let content = Content {
                digest: needed(9),
                fits: text(10),
                etag: text(11),
                last_modified: text(12),
                redirects: text(13),
                capture: present[1].then_some(capture),
                lost: present[2].then_some(times[2]),
            };
            let entry = Entry {
                url_status: UrlStatus {
                    state: State::Ok,
                    since: times[4],
                    reason: text(5),
                    pending: present[3].then_some(pending),
                },
                content: Some(content),
                bad_response: present[4].then(|| BadResponse {
                    digest: needed(6),
                    count: number.into(),
                    file: needed(7),
                }),
                added: times[5],
                updated: times[6],
                breaks: vec![needed(8), needed(9)],
                incident: text(10),
                has_text_of_challenge: present[3],
            };
            let content = entry.content.as_ref().unwrap().to_mapping(&key).unwrap();
            let [statuses, contents] = [entry.to_mapping(&key), content].map(|it| write_documents(&[it]));
            let document = |text: &str| documents_in(text.as_bytes()).next().unwrap().unwrap();
            let (read_key, mut read) = status("a.example", &document(&statuses)).unwrap();
            let (content_key, content) = super::content("a.example", &document(&contents)).unwrap();
            read.content = Some(content);
            prop_assert_eq!([&read_key, &content_key], [&key; 2], "{}{}", statuses, contents);
            let mut in_memory = Entries::new("a.example");
            in_memory.set(&key, &entry).unwrap();
            prop_assert_eq!([Some(read), in_memory.get(&key)], [Some(entry.clone()), Some(entry)], "{}{}", statuses, contents);
        }
    }
}
