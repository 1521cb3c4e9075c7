//! The ZIP file of a package, and `datapackage.json` with the digest of every other file.
//!
//! All files are stored uncompressed: WACZ demands it of compressed files, and the others are small
//! beside them. The sizes of a file stand behind it, so the package can be written to a pipe.

use std::collections::HashSet;
use std::io::Write;

use anyhow::Context;
use data_encoding::HEXLOWER;
use jiff::Timestamp;
use rawzip::ZipArchiveWriter;
use rawzip::time::UtcDateTime;
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::archive::hashing::HashingWriter;

const PACKAGE: &str = "datapackage.json";
const PACKAGE_DIGEST: &str = "datapackage-digest.json";

/// A regular file that everybody may read.
const FILE_MODE: u32 = 0o100_644;

const WACZ_VERSION: &str = "1.1.1";

/// The description of a package in `datapackage.json`, without its files.
#[derive(Debug, Clone)]
pub struct PackageDescription {
    /// The title.
    pub title: String,
    /// A description.
    pub description: Option<String>,
    /// When the package is made, in whole seconds.
    pub created: Timestamp,
}

/// The page that a player shows first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MainPage {
    pub(super) url: String,
    /// RFC 3339.
    pub(super) date: String,
}

/// A package that is being written.
pub(super) struct Package<W> {
    zip: ZipArchiveWriter<W>,
    modified: UtcDateTime,
    resources: Vec<Resource>,
}

/// A file of the package, as `datapackage.json` lists it.
#[derive(Debug, Serialize)]
struct Resource {
    name: String,
    path: String,
    hash: String,
    bytes: u64,
}

/// The content of `datapackage.json`.
#[derive(Debug, Serialize)]
struct DataPackage<'a> {
    profile: &'static str,
    wacz_version: &'static str,
    title: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    software: &'static str,
    created: String,
    #[serde(flatten)]
    main: Option<MainPageFields<'a>>,
    resources: &'a [Resource],
}

/// The main page. Its key is `mainPageUrl` in the specification and `mainPageURL` in py-wacz.
#[derive(Debug, Serialize)]
struct MainPageFields<'a> {
    #[serde(rename = "mainPageUrl")]
    url: &'a str,
    #[serde(rename = "mainPageURL")]
    same_url: &'a str,
    #[serde(rename = "mainPageDate")]
    date: &'a str,
}

impl<W: Write> Package<W> {
    pub(super) fn new(output: W, created: Timestamp) -> Self {
        Self {
            zip: ZipArchiveWriter::new(output),
            modified: UtcDateTime::from_unix(created.as_second()),
            resources: vec![],
        }
    }

    /// Adds a file, whose content `fill` writes.
    pub(super) fn add(
        &mut self,
        path: &str,
        fill: impl FnOnce(&mut dyn Write) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let resource = self.write(path, fill)?;
        self.resources.push(resource);
        Ok(())
    }

    /// Writes `datapackage.json` and its digest, and closes the ZIP file.
    pub(super) fn finish(
        mut self,
        about: &PackageDescription,
        main: Option<&MainPage>,
    ) -> anyhow::Result<W> {
        let package = serde_json::to_vec_pretty(&DataPackage {
            profile: "data-package",
            wacz_version: WACZ_VERSION,
            title: &about.title,
            description: about.description.as_deref(),
            software: concat!("urldb/", env!("CARGO_PKG_VERSION")),
            created: about.created.to_string(),
            main: main.map(|MainPage { url, date }| MainPageFields {
                url,
                same_url: url,
                date,
            }),
            resources: &self.resources,
        })?;
        let digest = serde_json::to_vec_pretty(&serde_json::json!({
            "path": PACKAGE,
            "hash": hash(&Sha256::digest(&package).into()),
        }))?;
        for (path, text) in [(PACKAGE, package), (PACKAGE_DIGEST, digest)] {
            self.write(path, |output| Ok(output.write_all(&text)?))?;
        }
        Ok(self.zip.finish()?)
    }

    fn write(
        &mut self,
        path: &str,
        fill: impl FnOnce(&mut dyn Write) -> anyhow::Result<()>,
    ) -> anyhow::Result<Resource> {
        let place = || format!("cannot write {path} of the package");
        let member = self.zip.new_file(path).last_modified(self.modified);
        let (mut entry, config) = member
            .unix_permissions(FILE_MODE)
            .start()
            .with_context(place)?;
        let mut content = HashingWriter::new(config.wrap(&mut entry));
        fill(&mut content).with_context(place)?;
        let (bytes, sha256) = (content.length(), content.sha256());
        let (_, descriptor) = content.into_inner().finish().with_context(place)?;
        entry.finish(descriptor).with_context(place)?;
        let name = path.rsplit('/').next().unwrap_or(path);
        Ok(Resource {
            name: name.to_ascii_lowercase(),
            path: path.to_owned(),
            hash: hash(&sha256),
            bytes,
        })
    }
}

fn hash(sha256: &[u8; 32]) -> String {
    format!("sha256:{}", HEXLOWER.encode(sha256))
}

/// Names of archive files that are safe on any file system, and distinct in lower case, in which
/// `datapackage.json` names its resources.
#[derive(Debug, Default)]
pub(super) struct FileNames(HashSet<String>);

/// Longest name without its suffix, in bytes.
const LONGEST_NAME: usize = 150;

impl FileNames {
    /// A name like that of this archive file. The suffix says whether the file is compressed.
    pub(super) fn add(&mut self, name: &str, is_gzip: bool) -> String {
        let suffix = if is_gzip { ".warc.gz" } else { ".warc" };
        let stem = name.strip_suffix(".gz").unwrap_or(name);
        let stem = stem.strip_suffix(".warc").unwrap_or(stem);
        let is_safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        let stem: String = stem
            .chars()
            .map(|c| if is_safe(c) { c } else { '_' })
            .take(LONGEST_NAME)
            .collect();
        let stem = stem.trim_start_matches('.');
        let stem = if stem.is_empty() { "unknown" } else { stem };
        let numbered = (2..).map(|number| format!("{stem}-{number}{suffix}"));
        let mut names = std::iter::once(format!("{stem}{suffix}")).chain(numbered);
        let is_new = |name: &String| self.0.insert(name.to_ascii_lowercase());
        names.find(is_new).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn about() -> PackageDescription {
        PackageDescription {
            title: "A \"title\"".to_owned(),
            description: None,
            created: "2026-11-20T06:00:00Z".parse().unwrap(),
        }
    }

    #[test]
    fn a_package_lists_each_file_with_its_digest() {
        let mut package = Package::new(Vec::new(), about().created);
        package
            .add("pages/pages.jsonl", |output| Ok(output.write_all(b"{}\n")?))
            .unwrap();
        let main = MainPage {
            url: "http://example.org/".to_owned(),
            date: "2026-11-20T06:00:00Z".to_owned(),
        };
        let bytes = package.finish(&about(), Some(&main)).unwrap();
        let archive = rawzip::ZipArchive::from_slice(&bytes).unwrap();
        let mut names = vec![];
        let mut entries = archive.entries();
        while let Some(entry) = entries.next_entry().unwrap() {
            names.push(String::from_utf8_lossy(entry.file_path().as_bytes()).into_owned());
            assert_eq!(entry.compression_method(), rawzip::CompressionMethod::STORE);
        }
        assert_eq!(
            names,
            [
                "pages/pages.jsonl",
                "datapackage.json",
                "datapackage-digest.json"
            ]
        );
        let text = String::from_utf8_lossy(&bytes);
        insta::assert_snapshot!(
            &text[text.find("{\n  \"profile").unwrap()..text.find("\n}PK").unwrap() + 2]
        );
    }

    proptest! {
        #[test]
        fn names_are_safe_and_different(names in prop::collection::vec(r"(\PC|[./a-cA-C\\]){0,9}(\.warc|\.warc\.gz)?|x{400}", 1..9), is_gzip: bool) {
            let mut known = FileNames::default();
            let safe: Vec<String> = names.iter().map(|name| known.add(name, is_gzip)).collect();
            let folded: HashSet<String> = safe.iter().map(|name| name.to_lowercase()).collect();
            prop_assert_eq!(folded.len(), names.len());
            for name in &safe {
                prop_assert!(!name.starts_with('.') && name.len() < 200, "{}", name);
                let suffix = if is_gzip { ".warc.gz" } else { ".warc" };
                prop_assert!(name.ends_with(suffix), "{}", name);
                prop_assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c)), "{}", name);
            }
        }
    }
}
