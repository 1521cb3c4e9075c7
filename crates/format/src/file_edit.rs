//! Reads the part of a domain file that an edit concerns. Memory and time for parsing do not grow with the
//! file.

use std::fs::File;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;

use crate::chunks::CHUNK_SIZE;
use crate::disk::{open, read_error};
use crate::document_ref::DocumentStart;
use crate::domain_file::DomainFile;
use crate::edit_window::{EditWindow, version_of};
use crate::error::Error;
use crate::metadata::Metadata;
use crate::reader::DomainReader;

/// The documents that edits concern.
#[derive(Debug)]
struct Documents {
    start: DocumentStart,
    end: u64,
    /// The paths of the first record and of the last one; `None` at the ends of the file.
    paths: (Option<String>, Option<String>),
    metadata: Metadata,
    /// Whether the first line of the file ends in `\r\n`.
    crlf: bool,
}

impl DomainFile {
    /// Reads the file at `path` for edits of records with `paths`: of a file in canonical order, only the
    /// documents around these records. [`Self::records`] and [`Self::text`] have only those then.
    /// [`Self::write`] and [`Self::write_to`] write the whole file.
    ///
    /// Edits of other records, and of the metadata, are errors when the file is written.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_for_edit(
        path: impl AsRef<Path>,
        paths: RangeInclusive<&str>,
    ) -> Result<Self, Error> {
        Self::read_window(path.as_ref(), &paths, CHUNK_SIZE)
    }

    fn read_window(
        path: &Path,
        paths: &RangeInclusive<&str>,
        chunk_size: usize,
    ) -> Result<Self, Error> {
        let file = Arc::new(open(path)?);
        let version = version_of(&file).map_err(|source| read_error(path, source))?;
        let reader = DomainReader::with_chunks(path, &*file, chunk_size)?;
        let Some(found) = find(reader, paths)? else {
            return Self::read(path).map(|parsed| parsed.file);
        };
        let bytes = found.start.byte..found.end;
        let window = EditWindow::new(Arc::clone(&file), version, bytes, found.paths);
        let source = window.source();
        let source = source.map_err(|source| read_error(path, source))?;
        let reader = if found.start.byte == 0 {
            DomainReader::with_chunks(path, source, chunk_size)?
        } else {
            DomainReader::at(path, source, chunk_size, found.start, found.metadata)
        };
        let mut read = Self::collect(reader, 0)?.file;
        read.crlf = found.crlf;
        read.window = Some(window);
        Ok(read)
    }
}

/// The documents from the records of the last path before `paths` to those of the first one after; `None` if the whole file matters.
fn find(
    mut reader: DomainReader<&File>,
    paths: &RangeInclusive<&str>,
) -> Result<Option<Documents>, Error> {
    let mut start = DocumentStart { byte: 0, line: 1 };
    let mut first: Option<String> = None;
    let mut last: Option<(u64, String)> = None;
    while let Some(document) = reader.next()? {
        // Equal paths need not be neighbours without case.
        if document.may_repeat() {
            return Ok(None);
        }
        let Some(path) = document.path() else {
            continue;
        };
        if path < *paths.start() {
            if first.as_deref() != Some(path) {
                start = document.start();
                let first = first.get_or_insert_default();
                first.clear();
                first.push_str(path);
            }
        } else if path > *paths.end() && last.as_ref().is_none_or(|last| last.1 == path) {
            let end = document.start().byte + document.text().len() as u64;
            last = Some((end, path.to_owned()));
        }
    }
    // Bytes that are not UTF-8 would change.
    Ok(reader.is_utf8().then(|| Documents {
        start,
        end: last
            .as_ref()
            .map_or(reader.next_start().byte, |last| last.0),
        paths: (first, last.map(|last| last.1)),
        metadata: reader.metadata().clone(),
        crlf: reader.has_crlf(),
    }))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;

    use proptest::prelude::*;

    use super::*;
    use crate::plain::tests::{any_file, mutated, plain_file};
    use crate::record::{Record, RecordIdentity};

    /// An edit of the record for a path.
    #[derive(Debug, Clone, Copy)]
    enum Change {
        Put,
        Insert,
        Update,
        Rename,
        Remove,
    }

    /// Makes the edits, and returns the new text; the error in place of it.
    fn edited(
        mut file: DomainFile,
        edits: &[(Change, String)],
        out: &Path,
    ) -> Result<Vec<u8>, String> {
        for (change, path) in edits {
            let identity = RecordIdentity::get(path.as_str());
            let record = Record {
                content_length: Some(7),
                ..Record::new(path)
            };
            let done = match change {
                Change::Put => file.put_all([record]),
                Change::Insert => file.insert(record),
                Change::Update => file.update(&identity, |record| record.status = Some(404)),
                Change::Rename => file.update(&identity, |record| {
                    record.path.clone_from(&edits[0].1);
                }),
                Change::Remove => file.remove_all(&BTreeSet::from([identity])).map(|_| ()),
            };
            done.map_err(|error| error.to_string())?;
        }
        let mut new = File::create(out).unwrap();
        file.write_to(&mut new).map_err(|error| error.to_string())?;
        let lines = |file: &DomainFile| {
            let lines = file
                .records()
                .map(|entry| (entry.record.path.clone(), entry.line()));
            lines.collect::<Vec<_>>()
        };
        let bytes = fs::read(out).unwrap();
        let fresh = DomainFile::parse(&file.path, &bytes).file;
        let all = lines(&fresh);
        assert!(
            lines(&file).iter().all(|line| all.contains(line)),
            "{all:?}"
        );
        Ok(bytes)
    }

    /// Checks that edits of a part of the file do what edits of the whole file do. Returns the number of
    /// bytes that were not read.
    fn check(
        bytes: &[u8],
        chunk_size: usize,
        edits: &[(Change, String)],
    ) -> Result<usize, TestCaseError> {
        let folder = tempfile::tempdir().unwrap();
        let (path, out) = (
            folder.path().join("example.org.yaml"),
            folder.path().join("out"),
        );
        fs::write(&path, bytes).unwrap();
        let paths = edits.iter().map(|(_, path)| path.as_str());
        let paths = paths.clone().min().unwrap()..=paths.max().unwrap();
        let part = DomainFile::read_window(&path, &paths, chunk_size).unwrap();
        let unread = bytes.len().saturating_sub(part.text().len());
        let whole = DomainFile::read(&path).unwrap().file;
        prop_assert_eq!(part.metadata(), whole.metadata());
        prop_assert_eq!(
            edited(part, edits, &out),
            edited(whole, edits, &out),
            "{:?}",
            edits
        );
        Ok(unread)
    }

    /// Edits of some of the paths in a text, and of others.
    fn edits(text: &str) -> impl Strategy<Value = Vec<(Change, String)>> + use<> {
        let known = text.lines().filter_map(|line| line.strip_prefix("_path: "));
        let mut paths: Vec<String> = known.map(str::to_owned).collect();
        paths.extend(["/".to_owned(), "/m".to_owned(), "~".to_owned()]);
        let change = prop::sample::select(vec![
            Change::Put,
            Change::Insert,
            Change::Update,
            Change::Rename,
            Change::Remove,
        ]);
        prop::collection::vec((change, prop::sample::select(paths)), 1..3)
    }

    fn with_edits<S: AsRef<[u8]> + Clone + std::fmt::Debug>(
        text: impl Strategy<Value = S>,
    ) -> impl Strategy<Value = (S, Vec<(Change, String)>)> {
        text.prop_flat_map(|text| {
            let edits = edits(&String::from_utf8_lossy(text.as_ref()));
            (Just(text), edits)
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn edits_of_a_part_are_those_of_the_whole(
            (text, edits) in with_edits(plain_file()), chunk_size in 1_usize..300,
        ) {
            check(text.as_bytes(), chunk_size, &edits)?;
        }

        #[test]
        fn edits_of_a_part_of_any_file_are_those_of_the_whole(
            (text, edits) in with_edits(any_file()), chunk_size in 1_usize..200,
        ) {
            check(text.as_bytes(), chunk_size, &edits)?;
        }

        #[test]
        fn edits_of_a_part_of_a_mutated_file_are_those_of_the_whole(
            (bytes, edits) in with_edits(mutated(plain_file())), chunk_size in 1_usize..300,
        ) {
            check(&bytes, chunk_size, &edits)?;
        }
    }

    fn numbered(records: usize) -> String {
        let record = |number| format!("---\n_path: /{number:06}\ncontent-length: 5\n");
        format!(
            "---\nhttps: true\n{}# end\n",
            (0..records).map(record).collect::<String>()
        )
    }

    #[test]
    fn only_the_part_of_an_edit_is_read() {
        let text = numbered(100);
        for (change, path) in [
            (Change::Update, "/000000"),
            (Change::Update, "/000050"),
            (Change::Insert, "/000050b"),
            (Change::Remove, "/000099"),
            (Change::Put, "/zzz"),
            (Change::Put, "/"),
        ] {
            let unread = check(text.as_bytes(), 200, &[(change, path.to_owned())]).unwrap();
            assert!(
                unread > text.len() - 400,
                "{path}: {unread} of {}",
                text.len()
            );
        }
        for (before, after) in [
            ("/000098", "/000001"),
            ("https: true", "case-sensitive-paths: false"),
            ("# end", "# \u{e9}"),
        ] {
            let text = text.replacen(before, after, 1);
            let mut bytes = text.into_bytes();
            // Part of the `é`.
            bytes.retain(|byte| *byte != 0xc3);
            let unread = check(&bytes, 200, &[(Change::Update, "/000050".to_owned())]).unwrap();
            assert_eq!(unread, 0, "{after}");
        }
    }

    #[test]
    fn an_edit_beyond_what_was_read_or_of_a_changed_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("example.org.yaml");
        let text = numbered(10_000);
        fs::write(&path, &text).unwrap();
        let read = || DomainFile::read_for_edit(&path, "/005000"..="/005001").unwrap();
        for beyond in ["/000001b", "/009000"] {
            let mut file = read();
            file.insert(Record::new(beyond)).unwrap();
            let error = file.write().unwrap_err().to_string();
            assert!(
                error.ends_with("the edit reaches beyond the records that were read"),
                "{error}"
            );
        }
        let mut file = read();
        file.update_metadata(|metadata| metadata.https = false)
            .unwrap();
        file.write().unwrap_err();
        let mut file = read();
        file.insert(Record::new("/005000b")).unwrap();
        fs::write(&path, format!("{text}# more\n")).unwrap();
        let error = file.write().unwrap_err().to_string();
        assert!(
            error.ends_with("another program has changed the file meanwhile"),
            "{error}"
        );
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            format!("{text}# more\n")
        );
    }
}
