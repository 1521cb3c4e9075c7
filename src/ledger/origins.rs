//! The servers that answered: the last archived record about each host of the URLs of a domain, in a file of the domain.
//!
//! A run compares what it sees with the file, so it writes a record only when something changed. The file is
//! apart from the others, since the addresses of some hosts change every day.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use urldb_files::{Root, RootFile};
use urldb_format::{Mapping, Schema, read_documents, write_documents};
use urldb_verdict::Certificate;

use super::entry::text;
use super::incidents;
use super::names::name_of;
use crate::limits;

/// The number of quick changes in a row from which on an entry stays as it is: then each capture names the record about
/// its host.
pub const OFTEN: u64 = 3;

const QUICK_CHANGES: &str = "quick-changes";

const SCHEMA: Schema = Schema {
    integers: &[QUICK_CHANGES],
    booleans: &[],
    is_known: |_| true,
};

/// The last record about a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct KnownOrigin {
    /// The `WARC-Date` of the record: since then, captures say nothing else.
    pub since: Timestamp,
    /// Its `WARC-Record-ID`, without brackets.
    pub record: String,
    /// Its `WARC-Payload-Digest`.
    pub digest: String,
    /// The name of the WARC file.
    pub file: String,
    /// The addresses that the resolver gave, sorted; empty for certificates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<String>,
    /// The server's own certificate, if it can be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<Certificate>,
    /// Number of changes in a row, up to this record, each within a week of the one before.
    #[serde(default, skip_serializing_if = "super::history::is_zero")]
    pub quick_changes: u64,
}

/// The last records about the hosts of a domain, by their URIs: `dns:HOST` and `tls:HOST:PORT`.
pub type KnownOrigins = BTreeMap<String, KnownOrigin>;

impl KnownOrigin {
    /// Equal texts mean that nothing changed. A record of the addresses also has its date, so its digest changes
    /// with each one.
    pub fn fact(&self) -> String {
        if self.addresses.is_empty() {
            self.digest.clone()
        } else {
            self.addresses.join(" ")
        }
    }

    /// Whether the host shows another fact every few days.
    pub fn changes_often(&self) -> bool {
        self.quick_changes >= OFTEN
    }

    /// Its statement, for people.
    pub fn in_words(&self) -> String {
        if self.changes_often() {
            return "changes often; each capture in the archive names its own".to_owned();
        }
        let Some(certificate) = &self.certificate else {
            return self.addresses.join(", ");
        };
        let Certificate {
            subject,
            issuer,
            not_after,
            ..
        } = certificate;
        let end = not_after.strftime("%Y-%m-%d");
        let name = if subject.is_empty() { "" } else { ", " };
        format!("{subject}{name}issued by {issuer}, valid until {end}")
    }

    fn to_mapping(&self, uri: &str) -> anyhow::Result<Mapping> {
        let mut mapping = incidents::to_document(self)?;
        mapping.insert("url", uri);
        Ok(mapping)
    }

    fn from_mapping(mapping: &Mapping) -> anyhow::Result<(String, Self)> {
        let url = text(mapping, "url").context("`url` is missing")?;
        Ok((url, incidents::from_document(mapping)?))
    }
}

/// The folder of the files.
pub fn folder(ledger: &Root) -> Root {
    ledger.folder("origins")
}

pub(super) fn file_of(ledger: &Root, domain: &str) -> RootFile {
    folder(ledger).file(name_of(domain))
}

/// Reads the file of a domain, which need not exist.
///
/// # Errors
/// When the file cannot be read, or has another form than this program writes.
pub fn read(ledger: &Root, domain: &str) -> anyhow::Result<KnownOrigins> {
    read_file(&file_of(ledger, domain))
}

fn read_file(file: &RootFile) -> anyhow::Result<KnownOrigins> {
    let text = match file.read_to_string(limits::LEDGER) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        text => text.with_context(|| format!("cannot read {file}"))?,
    };
    let (documents, findings) = read_documents(&text, &SCHEMA);
    if let Some(finding) = findings.first() {
        anyhow::bail!(
            "cannot use {file}: line {}: {}",
            finding.line,
            finding.message
        );
    }
    documents
        .iter()
        .skip(1)
        .map(|document| {
            KnownOrigin::from_mapping(&document.mapping)
                .with_context(|| format!("cannot use {file}: line {}", document.start_line))
        })
        .collect()
}

/// Writes the file of a domain, or removes it if there is no record.
pub(super) fn save(ledger: &Root, domain: &str, known: &KnownOrigins) -> anyhow::Result<()> {
    let file = file_of(ledger, domain);
    if known.is_empty() {
        let removed = file.remove();
        return removed
            .map(drop)
            .with_context(|| format!("cannot remove {file}"));
    }
    let documents = known.iter().map(|(uri, known)| known.to_mapping(uri));
    let all = std::iter::once(Ok(Mapping::new()))
        .chain(documents)
        .collect::<anyhow::Result<Vec<Mapping>>>()?;
    file.root()
        .make()
        .and_then(|()| file.replace(write_documents(&all).as_bytes()))
        .with_context(|| format!("cannot write {file}"))
}

/// Removes the records that were in these archive files. Returns whether there were any.
pub(super) fn forget(known: &mut KnownOrigins, files: &BTreeSet<String>) -> bool {
    let before = known.len();
    known.retain(|_, known| !files.contains(&known.file));
    known.len() < before
}

/// Whether [`save`] wrote this file.
pub(super) fn is_ours(file: &RootFile) -> bool {
    let is_named = file.name().extension().is_some_and(|it| it == "yaml");
    is_named && read_file(file).is_ok_and(|known| !known.is_empty())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use urldb_format::Versions;

    use super::*;
    use crate::ledger::merge;

    fn any_time() -> impl Strategy<Value = Timestamp> {
        (0..4_000_000_000i64).prop_map(|second| Timestamp::from_second(second).unwrap())
    }

    fn any_known() -> impl Strategy<Value = KnownOrigin> {
        let certificate = ("\\PC{0,12}", "\\PC{0,12}", any_time(), any_time());
        let certificate =
            certificate.prop_map(|(subject, issuer, not_before, not_after)| Certificate {
                subject,
                issuer,
                not_before,
                not_after,
                is_authority: false,
            });
        (
            any_time(),
            "urn:uuid:[0-9a-f]{8}",
            "sha256:[0-9a-f]{8}",
            "urldb-[a-z0-9]{1,8}",
            prop::collection::vec("[0-9a-f:.]{1,12}", 0..3),
            prop::option::of(certificate),
            0..9u64,
        )
            .prop_map(
                |(since, record, digest, file, addresses, certificate, quick_changes)| {
                    KnownOrigin {
                        since,
                        record,
                        digest,
                        file,
                        addresses,
                        certificate,
                        quick_changes,
                    }
                },
            )
    }

    fn any_origins() -> impl Strategy<Value = KnownOrigins> {
        prop::collection::btree_map("(dns|tls):[a-z.]{1,8}", any_known(), 1..4)
    }

    fn root() -> (tempfile::TempDir, Root) {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::new(folder.path(), "the ledger");
        (folder, root)
    }

    #[test]
    fn a_certificate_without_a_subject_is_told_by_its_issuer() {
        let words = |subject: &str| {
            let certificate = Certificate {
                subject: subject.to_owned(),
                issuer: "CN=R11".to_owned(),
                not_before: Timestamp::UNIX_EPOCH,
                not_after: Timestamp::UNIX_EPOCH,
                is_authority: false,
            };
            let known = KnownOrigin {
                since: Timestamp::UNIX_EPOCH,
                record: String::new(),
                digest: String::new(),
                file: String::new(),
                addresses: vec![],
                certificate: Some(certificate),
                quick_changes: 0,
            };
            known.in_words()
        };
        assert_eq!(words(""), "issued by CN=R11, valid until 1970-01-01");
        let named = "CN=a.test, issued by CN=R11, valid until 1970-01-01";
        assert_eq!(words("CN=a.test"), named);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn what_is_saved_is_read(origins in any_origins()) {
            let (_folder, root) = root();
            save(&root, "example.org", &origins).unwrap();
            prop_assert_eq!(read(&root, "example.org").unwrap(), origins);
            prop_assert!(is_ours(&file_of(&root, "example.org")));
            save(&root, "example.org", &KnownOrigins::new()).unwrap();
            prop_assert!(!file_of(&root, "example.org").is_file());
        }

        #[test]
        fn damaged_files_are_errors(origins in any_origins(), at: prop::sample::Index, byte: u8) {
            let (_folder, root) = root();
            save(&root, "example.org", &origins).unwrap();
            let file = file_of(&root, "example.org");
            let mut bytes = file.read_to_string(limits::LEDGER).unwrap().into_bytes();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            file.replace(&bytes).unwrap();
            // Another value may be as good as the former.
            let _ = read(&root, "example.org");
        }

        /// Both sides of a merge saw changes: the later record about each host counts, whole.
        #[test]
        fn of_two_records_about_a_host_the_later_stays(base in any_origins(), ours in any_origins(), theirs in any_origins()) {
            let [base, ours, theirs] = [base, ours, theirs].map(|side| {
                let (_folder, root) = root();
                save(&root, "a", &side).unwrap();
                (file_of(&root, "a").read_to_string(limits::LEDGER).unwrap(), side)
            });
            let versions = |ours: &'_ str, theirs: &'_ str| {
                let versions = [&base.0, ours, theirs].map(|text| Some(text.as_bytes().to_vec()));
                let [base, ours, theirs] = versions.each_ref().map(Option::as_deref);
                merge(Versions { base, ours, theirs }).unwrap().unwrap()
            };
            let merged = versions(&ours.0, &theirs.0);
            prop_assert_eq!(&merged, &versions(&theirs.0, &ours.0));
            let (_folder, root) = root();
            root.folder("origins").make().unwrap();
            file_of(&root, "a").replace(&merged).unwrap();
            for (uri, known) in read(&root, "a").unwrap() {
                let sides = [&ours.1, &theirs.1].map(|side| side.get(&uri));
                let later = sides.into_iter().flatten().map(|it| it.since).max();
                let is_changed = sides.iter().all(|side| *side != base.1.get(&uri));
                prop_assert!(sides.contains(&Some(&known)));
                prop_assert!(!is_changed || Some(known.since) == later);
            }
        }
    }
}
