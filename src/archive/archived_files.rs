//! The files in two contents that are archives.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::time::{Duration, Instant};

use urldb_contents::{Bounds, Change, Comparison, Difference};
use urldb_protocol::{Contents, MemberChange, MemberDifference};
use urldb_text::Shown;

use super::text_difference::text_difference;

/// Most files and folders that are named, and most of them with the lines that differ.
const MOST_MEMBERS: usize = 10;
const MOST_TEXTS: usize = 2;

/// The longest text in an archive that is compared line by line, in bytes.
const LONGEST_TEXT: u64 = 64 << 10;

/// Most characters of a name.
const LONGEST_NAME: usize = 200;

/// After this time there is no comparison. Two archives of 1 GB each take 7 s with gzip and 14 s with zstd, but longer than
/// this with xz and bzip2.
const PATIENCE: Duration = Duration::from_mins(1);

/// Compares the files in two archives. `None` if they are no archives, or if the result could be wrong.
pub fn contents(old: &mut File, new: &mut File) -> Option<Contents> {
    let bounds = Bounds::default();
    let end = Instant::now() + PATIENCE;
    let (mut old, mut new) = (TimedFile { file: old, end }, TimedFile { file: new, end });
    let comparison = urldb_contents::compare(&mut old, &mut new, bounds).ok()?;
    let (files, single, differences) = match comparison {
        Comparison::File { is_same } => (1, true, unnamed(is_same)),
        Comparison::Archive { files, differences } => (files, false, differences),
    };
    let (mut folders, mut shown): (Vec<&Difference>, Vec<&Difference>) =
        differences.iter().partition(|member| member.is_folder);
    let (folder_count, file_count) = (folders.len(), shown.len());
    shown.append(&mut folders);
    shown.truncate(MOST_MEMBERS);
    let names: Vec<&[u8]> = shown
        .iter()
        .filter(|member| member.change == Change::Changed)
        .map(|member| &*member.name)
        .collect();
    let texts = |file: &mut TimedFile<'_>| {
        let names = names.iter().copied();
        let texts = urldb_contents::texts(file, bounds, names, LONGEST_TEXT);
        // The comparison stands without them.
        texts.unwrap_or_default()
    };
    let (old, new) = if names.is_empty() {
        Default::default()
    } else {
        (texts(&mut old), texts(&mut new))
    };
    let mut left = MOST_TEXTS;
    let members = shown.into_iter().map(|member| {
        let mut text = None;
        if left > 0
            && let Some((old, new)) = text_of(&old, member).zip(text_of(&new, member))
        {
            text = Some(text_difference(old, new)).filter(|it| it.added + it.removed > 0);
            left -= usize::from(text.is_some());
        }
        MemberDifference {
            name: shown_name(member),
            change: match member.change {
                Change::Changed => MemberChange::Changed,
                Change::Added => MemberChange::Added,
                Change::Removed => MemberChange::Removed,
            },
            text,
        }
    });
    Some(Contents {
        files,
        single,
        differing: file_count as u64,
        folders: folder_count as u64,
        members: members.collect(),
    })
}

/// The difference of a single compressed file, which has no name.
fn unnamed(is_same: bool) -> Vec<Difference> {
    let difference = Difference {
        name: vec![],
        is_folder: false,
        change: Change::Changed,
    };
    if is_same { vec![] } else { vec![difference] }
}

fn text_of<'a>(texts: &'a BTreeMap<Vec<u8>, Vec<u8>>, member: &Difference) -> Option<&'a str> {
    let text = std::str::from_utf8(texts.get(&member.name)?).ok()?;
    (!text.contains('\0')).then_some(text)
}

fn shown_name(member: &Difference) -> Shown {
    let mut name = String::from_utf8_lossy(&member.name).into_owned();
    if name.chars().count() > LONGEST_NAME {
        name = name.chars().take(LONGEST_NAME).chain(['…']).collect();
    }
    if member.is_folder && name != "/" {
        name.push('/');
    }
    Shown::new(&name, LONGEST_NAME + 2)
}

/// A file that cannot be read after a time.
struct TimedFile<'a> {
    file: &'a mut File,
    end: Instant,
}

impl Read for TimedFile<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if Instant::now() > self.end {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.file.read(buffer)
    }
}

impl Seek for TimedFile<'_> {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        self.file.seek(position)
    }
}
