//! Checks whether a domain file is in canonical form, part by part, in memory that does not grow with the
//! file.

use std::io::{self, Read};
use std::path::Path;

use urldb_text::Finding;

use crate::domain_file::{DomainFile, ParsedFile};
use crate::error::Error;
use crate::lint::lint;
use crate::parts::{Parts, ScannedPart, open};

impl DomainFile {
    /// Whether the file at `path` is certainly in canonical form: [`Self::canonical`] has its bytes. A file
    /// of comments alone may be called not canonical.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn is_canonical(path: impl AsRef<Path>) -> Result<bool, Error> {
        let path = path.as_ref();
        let parts = Parts::to_scan(path, open(path)?);
        all_parts(parts, is_canonical_part).map_err(|source| Error::Read {
            path: path.to_owned(),
            source,
        })
    }

    /// Whether `bytes`, as the content of the file at `path`, are certainly in canonical form, and
    /// [`lint`] has no error. A file with `case-sensitive-paths: false` is never called so.
    pub fn is_clean(path: impl AsRef<Path>, bytes: &[u8], own_keys: &[String]) -> bool {
        let parts = Parts::to_scan(path.as_ref(), bytes);
        all_parts(parts, |part| is_clean_part(part, own_keys)).unwrap_or(false)
    }
}

/// Whether all records are in strictly ascending order, and each part has only plain records, or is what
/// `accepts` accepts.
fn all_parts<R: Read>(
    mut parts: Parts<R>,
    accepts: impl Fn(&ParsedFile) -> bool,
) -> io::Result<bool> {
    while let Some(part) = parts.scan_next(|_| false)? {
        let is_good = match part {
            ScannedPart::LeftOut(_) => true,
            ScannedPart::Parsed {
                parsed,
                is_in_order,
            } => is_in_order && accepts(&parsed),
        };
        if !is_good {
            return Ok(false);
        }
    }
    Ok(true)
}

fn is_clean_part(part: &ParsedFile, own_keys: &[String]) -> bool {
    // Without case, equal paths need not be neighbours.
    !part.file.metadata().ignores_case()
        && is_canonical_part(part)
        && !lint(part, own_keys).iter().any(Finding::is_error)
}

fn is_canonical_part(part: &ParsedFile) -> bool {
    let file = &part.file;
    let canonical = file.canonical();
    canonical.is_ok_and(|canonical| canonical == file.text())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::plain::tests::{any_file, mutated, plain_file};

    /// Checks that what is called canonical or clean is so.
    fn check(bytes: &[u8], part_size: usize) -> Result<(bool, bool), TestCaseError> {
        let path = Path::new("example.org.yaml");
        let parts = || Parts::new(path, bytes, part_size);
        let is_canonical = all_parts(parts(), is_canonical_part).unwrap();
        let is_clean = all_parts(parts(), |part| is_clean_part(part, &[])).unwrap();
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
        fn files_called_canonical_are_so(text in any_file(), part_size in 1_usize..200) {
            check(text.as_bytes(), part_size)?;
        }

        #[test]
        fn mutated_files_called_canonical_are_so(
            bytes in mutated(plain_file()), part_size in 1_usize..400,
        ) {
            check(&bytes, part_size)?;
        }

        #[test]
        fn files_of_plain_records_are_canonical_and_clean(
            text in plain_file(), part_size in 1_usize..400,
        ) {
            prop_assert_eq!(check(text.as_bytes(), part_size)?, (true, true), "{}", text);
        }
    }

    #[test]
    fn canonical_files_with_other_than_plain_records_are_recognized_too() {
        let text = "# top\n---\ncnames:\n- www.example.org\n---\n_path: /\nname: 'yes'\n# about /b\n---\n_path: /b\nmethod: HEAD\n---\n_path: /c\n# end\n";
        for part_size in 1..120 {
            assert_eq!(check(text.as_bytes(), part_size).unwrap(), (true, true));
            for (before, after) in [
                ("'yes'", "\"yes\""),
                ("/c", "/a"),
                ("# end\n", "# end"),
                ("/b\n", "/b\r\n"),
                ("/c", "/b\nmethod: HEAD"),
            ] {
                let text = text.replacen(before, after, 1);
                assert_eq!(
                    check(text.as_bytes(), part_size).unwrap(),
                    (false, false),
                    "{text}"
                );
            }
            // A canonical file may have errors.
            let text = text.replacen("/c", "c", 1);
            assert_eq!(check(text.as_bytes(), part_size).unwrap(), (true, false));
        }
    }
}
