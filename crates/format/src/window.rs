//! Reads the part of a domain file that an edit concerns, and writes the file with that part changed.
//! Memory and time for parsing do not grow with the file.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::{Range, RangeInclusive};
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use crate::domain_file::{DomainFile, PartStart};
use crate::error::Error;
use crate::parts::{Parts, ScannedPart, open};

/// The file around the documents that were read.
#[derive(Debug, Clone)]
pub(crate) struct Surroundings {
    file: Arc<File>,
    version: FileVersion,
    /// The bytes that were read.
    window: Range<u64>,
    /// The paths between which records may be: the last one before the window, and the last one in it.
    /// `None` at the ends of the file.
    paths: (Option<String>, Option<String>),
}

/// Tells whether a file was changed since: its length, and when it was last written.
type FileVersion = (u64, Option<SystemTime>);

/// The documents to read.
struct Window {
    start: PartStart,
    end: u64,
    paths: (Option<String>, Option<String>),
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
        Self::read_window(path.as_ref(), &paths, Parts::to_scan)
    }

    fn read_window(
        path: &Path,
        paths: &RangeInclusive<&str>,
        to_parts: impl Fn(&Path, Arc<File>) -> Parts<Arc<File>>,
    ) -> Result<Self, Error> {
        let file = Arc::new(open(path)?);
        let read = || {
            let version = version_of(&file)?;
            let window = find(&mut to_parts(path, Arc::clone(&file)), paths)?;
            let Some(mut window) = window else {
                return Ok(None);
            };
            let bytes = window.start.bytes as u64..window.end;
            let text = read_range(&file, &bytes)?;
            let mut read = Self::parse_part(path, &text, &mut window.start).file;
            read.crlf = window.crlf;
            read.surroundings = Some(Surroundings {
                file: Arc::clone(&file),
                version,
                window: bytes,
                paths: window.paths,
            });
            Ok(Some(read))
        };
        let read = read().map_err(|source| Error::Read {
            path: path.to_owned(),
            source,
        })?;
        read.map_or_else(|| Self::read(path).map(|parsed| parsed.file), Ok)
    }

    /// Writes the file with all edits, also what was not read.
    ///
    /// # Errors
    /// If `out` cannot be written, if the file was changed since, or if records were edited that
    /// [`Self::read_for_edit`] was not asked for.
    pub fn write_to(&self, out: &mut File) -> io::Result<()> {
        let text = self.text();
        let Some(surroundings) = &self.surroundings else {
            return out.write_all(text.as_bytes());
        };
        let Surroundings {
            file,
            version,
            window,
            paths,
        } = surroundings;
        let is_inside = |path: &String| {
            paths.0.as_ref().is_none_or(|first| first <= path)
                && paths.1.as_ref().is_none_or(|last| path <= last)
        };
        let has_new_head = window.start > 0 && self.head.is_some();
        if has_new_head || !self.records().all(|entry| is_inside(&entry.record.path)) {
            return Err(io::Error::other(
                "the edit reaches beyond the records that were read",
            ));
        }
        copy(file, &(0..window.start), out)?;
        out.write_all(text.as_bytes())?;
        copy(file, &(window.end..version.0), out)?;
        if version_of(file)? != *version {
            return Err(io::Error::other(
                "another program has changed the file meanwhile",
            ));
        }
        Ok(())
    }
}

/// The parts that edits of records with `paths` concern; `None` if the whole file matters.
fn find<R: Read>(parts: &mut Parts<R>, paths: &RangeInclusive<&str>) -> io::Result<Option<Window>> {
    let mut window: Option<Window> = None;
    let mut crlf = false;
    loop {
        let (start, before) = (parts.start.clone(), parts.last.clone());
        let Some(part) = parts.scan_next(|_| false)? else {
            break;
        };
        if let ScannedPart::Parsed {
            parsed,
            is_in_order,
        } = part
        {
            let file = &parsed.file;
            if start.bytes == 0 {
                crlf = file.crlf;
            }
            // Equal paths need not be neighbours without case, and bytes that are not UTF-8 would change.
            if !is_in_order || file.metadata.ignores_case() || parts.start.has_invalid_utf8 {
                return Ok(None);
            }
        }
        let end = parts.start.bytes as u64;
        let last = parts.last.as_ref().map(|last| &last.path);
        match &mut window {
            // All records with these paths, and the first one after them, were before.
            Some(window) if window.paths.1.is_some() => {}
            // The part goes on with them.
            Some(window)
                if before
                    .as_ref()
                    .is_some_and(|last| last.path.as_str() >= *paths.start()) =>
            {
                window.end = end;
            }
            _ => {
                window = Some(Window {
                    start,
                    end,
                    paths: (before.map(|last| last.path), None),
                    crlf,
                });
            }
        }
        let is_behind = last.filter(|last| last.as_str() > *paths.end());
        if let Some(window) = &mut window
            && window.paths.1.is_none()
        {
            window.paths.1 = is_behind.cloned();
        }
    }
    Ok(window)
}

fn version_of(file: &File) -> io::Result<FileVersion> {
    let metadata = file.metadata()?;
    Ok((metadata.len(), metadata.modified().ok()))
}

fn read_range(mut file: &File, bytes: &Range<u64>) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(bytes.start))?;
    let mut read = Vec::new();
    file.take(bytes.end - bytes.start).read_to_end(&mut read)?;
    Ok(read)
}

fn copy(mut file: &File, bytes: &Range<u64>, out: &mut File) -> io::Result<()> {
    file.seek(SeekFrom::Start(bytes.start))?;
    io::copy(&mut file.take(bytes.end - bytes.start), out)?;
    Ok(())
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
        part_size: usize,
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
        let to_parts = |path: &Path, file| Parts::new(path, file, part_size);
        let part = DomainFile::read_window(&path, &paths, to_parts).unwrap();
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
            (text, edits) in with_edits(plain_file()), part_size in 1_usize..300,
        ) {
            check(text.as_bytes(), part_size, &edits)?;
        }

        #[test]
        fn edits_of_a_part_of_any_file_are_those_of_the_whole(
            (text, edits) in with_edits(any_file()), part_size in 1_usize..200,
        ) {
            check(text.as_bytes(), part_size, &edits)?;
        }

        #[test]
        fn edits_of_a_part_of_a_mutated_file_are_those_of_the_whole(
            (bytes, edits) in with_edits(mutated(plain_file())), part_size in 1_usize..300,
        ) {
            check(&bytes, part_size, &edits)?;
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
