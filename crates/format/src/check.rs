//! Checks whether a domain file is in canonical form, in memory that does not grow with the file.

use std::io::Read;
use std::path::Path;

use urldb_text::Finding;

use crate::document_ref::DocumentRef;
use crate::domain_file::DomainFile;
use crate::error::Error;
use crate::lint::Linter;
use crate::reader::DomainReader;

impl DomainFile {
    /// Whether the file at `path` is certainly in canonical form: [`Self::canonical`] has its bytes. A file
    /// of comments alone may be called not canonical.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn is_canonical(path: impl AsRef<Path>) -> Result<bool, Error> {
        all_canonical(DomainReader::open(path)?, |_| true)
    }

    /// Whether `bytes`, as the content of the file at `path`, are certainly in canonical form, and
    /// [`crate::lint`] has no error. A file with `case-sensitive-paths: false` is never called so.
    pub fn is_clean(path: impl AsRef<Path>, bytes: &[u8], own_keys: &[String]) -> bool {
        let reader = DomainReader::new(path, bytes);
        reader
            .and_then(|reader| all_clean(reader, own_keys))
            .unwrap_or(false)
    }
}

fn all_clean<R: Read>(reader: DomainReader<R>, own_keys: &[String]) -> Result<bool, Error> {
    let mut linter = Linter::new(reader.path(), own_keys);
    all_canonical(reader, |document| {
        // Without case, equal paths need not be neighbours.
        !document.may_repeat() && !linter.see(document).iter().any(Finding::is_error)
    })
}

/// Whether all records are in strictly ascending order, and each document is canonical and accepted.
fn all_canonical<R: Read>(
    mut reader: DomainReader<R>,
    mut accepts: impl FnMut(&DocumentRef<'_>) -> bool,
) -> Result<bool, Error> {
    while let Some(document) = reader.next()? {
        if !(document.is_ascending && document.is_canonical() && accepts(&document)) {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::lint;
    use crate::plain::tests::{any_file, mutated, plain_file};

    /// Checks that what is called canonical or clean is so.
    fn check(bytes: &[u8], chunk_size: usize) -> Result<(bool, bool), TestCaseError> {
        let path = Path::new("example.org.yaml");
        let reader = || DomainReader::with_chunks(path, bytes, chunk_size);
        let is_canonical = all_canonical(reader().unwrap(), |_| true).unwrap();
        let is_clean = all_clean(reader().unwrap(), &[]).unwrap();
        let whole = DomainFile::parse(path, bytes);
        let canonical = whole.file.canonical();
        let is_same = canonical.is_ok_and(|canonical| canonical.as_bytes() == bytes);
        prop_assert!(
            !is_canonical || is_same,
            "{}",
            String::from_utf8_lossy(bytes)
        );
        let has_error = lint(&whole, &[]).iter().any(Finding::is_error);
        prop_assert!(
            !is_clean || is_same && !has_error,
            "{}",
            String::from_utf8_lossy(bytes)
        );
        // Only these canonical texts are left to the general reader.
        let is_empty = whole.file.records().next().is_none();
        prop_assert!(
            is_canonical || !is_same || is_empty,
            "{}",
            String::from_utf8_lossy(bytes)
        );
        Ok((is_canonical, is_clean))
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn files_called_canonical_are_so(text in any_file(), chunk_size in 1_usize..200) {
            check(text.as_bytes(), chunk_size)?;
        }

        #[test]
        fn mutated_files_called_canonical_are_so(
            bytes in mutated(plain_file()), chunk_size in 1_usize..400,
        ) {
            check(&bytes, chunk_size)?;
        }

        #[test]
        fn files_of_plain_records_are_canonical_and_clean(
            text in plain_file(), chunk_size in 1_usize..400,
        ) {
            prop_assert_eq!(check(text.as_bytes(), chunk_size)?, (true, true), "{}", text);
        }
    }

    #[test]
    fn canonical_files_with_other_than_plain_records_are_recognized_too() {
        let text = "# top\n---\ncnames:\n- www.example.org\n---\n_path: /\nname: 'yes'\n# about /b\n---\n_path: /b\nmethod: HEAD\n---\n_path: /c\n# end\n";
        for chunk_size in 1..120 {
            assert_eq!(check(text.as_bytes(), chunk_size).unwrap(), (true, true));
            for (before, after) in [
                ("'yes'", "\"yes\""),
                ("/c", "/a"),
                ("# end\n", "# end"),
                ("/b\n", "/b\r\n"),
                ("/c", "/b\nmethod: HEAD"),
            ] {
                let text = text.replacen(before, after, 1);
                assert_eq!(
                    check(text.as_bytes(), chunk_size).unwrap(),
                    (false, false),
                    "{text}"
                );
            }
            // A canonical file may have errors.
            let text = text.replacen("/c", "c", 1);
            assert_eq!(check(text.as_bytes(), chunk_size).unwrap(), (true, false));
        }
    }
}
