//! Folds over the documents of a domain file.

use std::path::Path;

use crate::document_ref::DocumentRef;
use crate::domain_file::DomainFile;
use crate::error::Error;
use crate::reader::DomainReader;

/// Reads the domain file at `path` document by document, and returns the state that `see` has made of the
/// one of `start`.
///
/// At the first record out of order, all begins again with a new state, and the file in memory: only so the
/// records for the same request are known. So the effects of `see` on anything but the state must be the same
/// if it sees the file again from the start. A file that cannot be read is one of no records, with a finding.
pub fn fold<A>(
    path: impl AsRef<Path>,
    start: impl Fn() -> A,
    mut see: impl FnMut(&mut A, &DocumentRef<'_>),
) -> A {
    let path = path.as_ref();
    let folded = fold_ordered(path, start(), &mut see);
    let whole = match folded {
        Ok(Some(state)) => return state,
        Ok(None) => DomainFile::read_or_report(path),
        Err(error) => DomainFile::reported(path, &error),
    };
    let mut state = start();
    for document in whole.documents() {
        see(&mut state, &document);
    }
    state
}

/// Folds over a file whose records are in order; `None` for another file.
fn fold_ordered<A>(
    path: &Path,
    mut state: A,
    see: &mut impl FnMut(&mut A, &DocumentRef<'_>),
) -> Result<Option<A>, Error> {
    let mut reader = DomainReader::open(path)?;
    while let Some(document) = reader.next()? {
        if document.may_repeat() {
            return Ok(None);
        }
        see(&mut state, &document);
    }
    Ok(Some(state))
}
