//! Records that begin in a file of the archive and go on in files that are lost.

use std::collections::{BTreeSet, HashSet};

use urldb_warc::reader::ReadError;
use urldb_warc::{Header, Reader};

use crate::archive::files::ArchiveFiles;
use crate::archive::rewrite::{JOINED_PREFIX, OWN_PREFIX};
use crate::config::Config;

/// The files with first segments of records whose other segments were in one of the `lost` files. A writer
/// finishes a record before the next one, so only the files just before a lost one can have such a segment.
/// A damaged file has none.
///
/// # Errors
/// When the files cannot be listed.
pub(super) fn with_unfinished_records(
    config: &Config,
    lost: &BTreeSet<String>,
) -> anyhow::Result<BTreeSet<String>> {
    let Some(files) = ArchiveFiles::if_any(config)? else {
        return Ok(BTreeSet::new());
    };
    let names: BTreeSet<String> = files.with_records()?.into_iter().collect();
    let mut found = BTreeSet::new();
    for name in lost {
        let before = names.range(..name.clone()).rev();
        let before = before.filter(|before| !lost.contains(*before));
        for before in before.filter(|before| series_of(before) == series_of(name)) {
            let Ok(open) = open_records_in(&files, before) else {
                break;
            };
            if open.begins {
                found.insert(before.clone());
            }
            if !open.continues {
                break;
            }
        }
    }
    Ok(found)
}

/// The prefix and the machine in the name of a file that a run or a rewrite has written.
fn series_of(name: &str) -> Option<(bool, &str)> {
    let rest = name.strip_prefix(JOINED_PREFIX);
    let rest = match rest.and_then(|rest| rest.strip_prefix('-')) {
        Some(rest) => rest,
        None => name.strip_prefix(OWN_PREFIX)?,
    };
    let is_joined = name.starts_with(JOINED_PREFIX);
    // After the timestamp and the serial number.
    rest.splitn(3, '-')
        .nth(2)
        .map(|machine| (is_joined, machine))
}

/// The records that a file leaves unfinished.
struct OpenRecords {
    /// Whether the file has the first segment of one.
    begins: bool,
    /// Whether the file has only later segments of one.
    continues: bool,
}

fn open_records_in(files: &ArchiveFiles, name: &str) -> anyhow::Result<OpenRecords> {
    let whole = files.whole(name)?;
    let mut reader = Reader::open(whole.as_ref())?;
    let (mut begun, mut continued) = (HashSet::new(), HashSet::new());
    while let Some(header) = next_header(&mut reader)? {
        if header.get("WARC-Segment-Number").is_none() {
            continue;
        }
        let is_last = header.get("WARC-Segment-Total-Length").is_some();
        let own = header.get("WARC-Record-ID").unwrap_or_default();
        match header.get("WARC-Segment-Origin-ID") {
            None => drop(begun.insert(own.to_owned())),
            Some(origin) if is_last => {
                begun.remove(origin);
                continued.remove(origin);
            }
            Some(origin) if begun.contains(origin) => {}
            Some(origin) => drop(continued.insert(origin.to_owned())),
        }
    }
    Ok(OpenRecords {
        begins: !begun.is_empty(),
        continues: !continued.is_empty(),
    })
}

fn next_header<R: std::io::Read>(reader: &mut Reader<R>) -> Result<Option<Header>, ReadError> {
    let Some(record) = reader.next_record()? else {
        return Ok(None);
    };
    record.finish_with_header().map(|(_, header)| Some(header))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_has_a_prefix_and_a_machine() {
        let name = "urldb-20261128182238-00001-vm-4d1230f7.warc.gz";
        let next = "urldb-20261128182239-00002-vm-4d1230f7.warc.gz";
        let joined = "urldb-joined-20261128182238-00001-vm-4d1230f7.warc.gz";
        assert_eq!(series_of(name), Some((false, "vm-4d1230f7.warc.gz")));
        assert_eq!(series_of(next), series_of(name));
        assert_eq!(series_of(joined), Some((true, "vm-4d1230f7.warc.gz")));
        assert_eq!(series_of("other.warc.gz"), None);
        assert_eq!(series_of("urldb-1.warc.gz"), None);
    }
}
