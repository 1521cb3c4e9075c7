//! The text of a manifest.

use std::borrow::Cow;
use std::collections::BTreeMap;

use data_encoding::HEXLOWER;
use serde::Deserialize;

use super::{LARGEST_FILE, LARGEST_SERIAL, Manifest, check_name};

pub(super) const FORMAT: &str = "urldb-archive-2";

/// A manifest that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct InvalidManifest {
    problem: String,
    is_other_format: bool,
}

impl InvalidManifest {
    fn new(problem: String) -> Self {
        Self {
            problem,
            is_other_format: false,
        }
    }

    /// Whether the text may be a good manifest for another version of urldb.
    pub fn is_other_format(&self) -> bool {
        self.is_other_format
    }
}

impl Manifest {
    /// Reads a manifest.
    ///
    /// # Errors
    /// When the text is no manifest, is one of a later format, or names a file that cannot be one of an
    /// archive.
    pub fn parse(text: &[u8]) -> Result<Self, InvalidManifest> {
        let invalid = InvalidManifest::new;
        // A later format may have anything beside its name.
        let FormatText { format } =
            serde_json::from_slice(text).map_err(|error| invalid(error.to_string()))?;
        if format != FORMAT {
            return Err(InvalidManifest {
                problem: format!(
                    "it has format {format:?}, and this urldb reads format {FORMAT:?}"
                ),
                is_other_format: true,
            });
        }
        let ManifestText {
            serial,
            files,
            removed,
            lost,
        } = serde_json::from_slice(text).map_err(|error| invalid(error.to_string()))?;
        if serial > LARGEST_SERIAL {
            return Err(invalid(format!("no manifest has the serial {serial}")));
        }
        let mut manifest = Self {
            serial,
            ..Self::default()
        };
        for FileText {
            name,
            length,
            sha256,
        } in files
        {
            check_name(&name).map_err(|problem| invalid(format!("{name:?}: {problem}")))?;
            let mut digest = [0; 32];
            let decoded = (sha256.len() == 64)
                .then(|| HEXLOWER.decode_mut(sha256.as_bytes(), &mut digest).ok())
                .flatten();
            if decoded.is_none() {
                return Err(invalid(format!("{name}: {sha256:?} is no SHA-256")));
            }
            if length > LARGEST_FILE {
                return Err(invalid(format!("{name}: no file has {length} bytes")));
            }
            if manifest
                .files
                .insert(name.clone(), (length, digest))
                .is_some()
            {
                return Err(invalid(format!("{name} is in it twice")));
            }
        }
        manifest.add_former(removed, lost)?;
        Ok(manifest)
    }

    /// Adds what a manifest says of files that are no more.
    fn add_former(
        &mut self,
        removed: BTreeMap<String, Option<String>>,
        lost: Vec<String>,
    ) -> Result<(), InvalidManifest> {
        let check = |name: &String, files: &BTreeMap<String, (u64, [u8; 32])>| {
            check_name(name)
                .map_err(|problem| format!("{name:?}: {problem}"))
                .map_err(InvalidManifest::new)?;
            if files.contains_key(name) {
                let problem = format!("{name} is in it as a file and as one that is no more");
                return Err(InvalidManifest::new(problem));
            }
            Ok(())
        };
        for (name, successor) in removed {
            check(&name, &self.files)?;
            if let Some(successor) = &successor {
                check(successor, &BTreeMap::new())?;
            }
            self.removed.insert(name, successor);
        }
        for name in lost {
            check(&name, &self.files)?;
            self.lost.insert(name);
        }
        Ok(())
    }

    /// The text of the manifest; the same manifest always has the same text.
    pub fn render(&self) -> String {
        // Names of a manifest need no escapes.
        let files = self.files.iter().map(|(name, (length, sha256))| {
            let sha256 = HEXLOWER.encode(sha256);
            format!("{{\"name\": \"{name}\", \"length\": {length}, \"sha256\": \"{sha256}\"}}")
        });
        let removed = self
            .removed
            .iter()
            .map(|(name, successor)| match successor {
                Some(successor) => format!("\"{name}\": \"{successor}\""),
                None => format!("\"{name}\": null"),
            });
        let lost = self.lost.iter().map(|name| format!("\"{name}\""));
        let serial = self.serial;
        let mut text =
            format!("{{\n \"format\": \"{FORMAT}\",\n \"serial\": {serial},\n \"files\": ");
        add_list(&mut text, ['[', ']'], files);
        text.push_str(",\n \"removed\": ");
        add_list(&mut text, ['{', '}'], removed);
        text.push_str(",\n \"lost\": ");
        add_list(&mut text, ['[', ']'], lost);
        text.push_str("\n}\n");
        text
    }
}

fn add_list(text: &mut String, [begin, end]: [char; 2], entries: impl Iterator<Item = String>) {
    let empty = text.len() + 1;
    text.push(begin);
    for entry in entries {
        let separator = if text.len() == empty { "\n  " } else { ",\n  " };
        text.push_str(separator);
        text.push_str(&entry);
    }
    if text.len() > empty {
        text.push_str("\n ");
    }
    text.push(end);
}

#[derive(Deserialize)]
struct FormatText {
    format: String,
}

#[derive(Deserialize)]
struct ManifestText<'a> {
    serial: u64,
    #[serde(borrow)]
    files: Vec<FileText<'a>>,
    removed: BTreeMap<String, Option<String>>,
    lost: Vec<String>,
}

#[derive(Deserialize)]
struct FileText<'a> {
    name: String,
    length: u64,
    #[serde(borrow)]
    sha256: Cow<'a, str>,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn hostile_manifests_are_refused() {
        let digest = "ab".repeat(32);
        let with = |name: &str, length: &str, digest: &str| {
            format!(
                r#"{{"format": "{FORMAT}", "serial": 1, "files": [{{"name": {name}, "length": {length}, "sha256": "{digest}"}}], "removed": {{}}, "lost": []}}"#
            )
        };
        assert!(Manifest::parse(with(r#""a.warc.gz""#, "1", &digest).as_bytes()).is_ok());
        for name in [
            "../x",
            "/etc/passwd",
            "a/../b",
            "a/b/c",
            "",
            "a/",
            ".hidden",
            "a/.b",
            "a\\\\b",
            "a\\nb",
            "a\\u0000",
            "é",
            "manifest.json",
            "manifests/1.json",
            "manifests",
            "..",
            "a b",
            "C:x",
            "a*",
        ] {
            let text = with(&format!("\"{name}\""), "1", &digest);
            assert!(Manifest::parse(text.as_bytes()).is_err(), "{name}");
        }
        let long = format!("\"{}\"", "x".repeat(256));
        for text in [
            with(&long, "1", &digest),
            with(r#""a""#, "-1", &digest),
            with(r#""a""#, "1.5", &digest),
            with(r#""a""#, "99999999999999999", &digest),
            with(r#""a""#, "1", "abcd"),
            with(r#""a""#, "1", &digest.to_uppercase()),
            with(r#""a""#, "1", &"zz".repeat(32)),
            r#"{"format": "urldb-archive-1", "files": [], "removing": [], "removed": []}"#
                .to_owned(),
            r#"{"format": "urldb-archive-3", "serial": "text"}"#.to_owned(),
            r#"{"serial": 1, "files": [], "removed": {}, "lost": []}"#.to_owned(),
            "[]".to_owned(),
            "<html>".to_owned(),
            with(r#""a""#, "1", &digest).replace(r#""serial": 1, "#, ""),
            with(r#""a""#, "1", &digest).replace("1, ", "9007199254740993, "),
            with(r#""a""#, "1", &digest).replace("{}", r#"["b"]"#),
            with(r#""a""#, "1", &digest).replace("{}", r#"{"a": null}"#),
            with(r#""a""#, "1", &digest).replace("{}", r#"{"../x": null}"#),
            with(r#""a""#, "1", &digest).replace("{}", r#"{"x": "../x"}"#),
            with(r#""a""#, "1", &digest).replace(r#""lost": []"#, r#""lost": ["a"]"#),
            with(r#""a""#, "1", &digest).replace(r#""lost": []"#, r#""lost": ["../x"]"#),
        ] {
            assert!(Manifest::parse(text.as_bytes()).is_err(), "{text}");
        }
        let entry = format!(r#"{{"name": "a", "length": 1, "sha256": "{digest}"}}"#);
        let twice = format!(
            r#"{{"format": "{FORMAT}", "serial": 1, "files": [{entry}, {entry}], "removed": {{}}, "lost": []}}"#
        );
        assert!(Manifest::parse(twice.as_bytes()).is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in r#"(\PC|[{}\[\]":,]|"files"|"format"|"serial"|"urldb-archive-2"){0,60}"#) {
            let _ = Manifest::parse(text.as_bytes());
        }

        #[test]
        fn a_manifest_is_read_as_it_was_written(
            files in prop::collection::btree_map("[a-z0-9_+~-]{1,9}(/[a-z]{1,3})?", (0..LARGEST_FILE, any::<[u8; 32]>()), 0..6),
            removed in prop::collection::btree_map("[A-Z]{1,9}", prop::option::of("[a-z]{1,9}"), 0..4),
            lost in prop::collection::btree_set("[0-9]{10}", 0..4),
            serial in 0..=LARGEST_SERIAL,
        ) {
            let manifest = Manifest { serial, files, removed, lost };
            prop_assert_eq!(Manifest::parse(manifest.render().as_bytes()), Ok(manifest));
        }
    }
}
