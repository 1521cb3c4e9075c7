//! Extended headers of POSIX (pax): records `LENGTH KEY=VALUE`.

use crate::refusal::Refusal;

/// Keys without effect on names, types, modes, links and bytes.
const IGNORED: [&[u8]; 12] = [
    b"atime",
    b"ctime",
    b"mtime",
    b"uid",
    b"gid",
    b"uname",
    b"gname",
    b"comment",
    b"LIBARCHIVE.creationtime",
    b"SCHILY.dev",
    b"SCHILY.ino",
    b"SCHILY.nlink",
];

/// The records of an extended header that replace values of the next header.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Records {
    pub(super) path: Option<Vec<u8>>,
    pub(super) link_path: Option<Vec<u8>>,
    pub(super) size: Option<u64>,
}

impl Records {
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Refuses all keys that could mean something for the comparison, such as those of sparse files.
    pub(super) fn parse(mut content: &[u8]) -> Result<Self, Refusal> {
        let mut records = Self::default();
        while !content.is_empty() {
            let (key, value);
            (key, value, content) = record(content).ok_or(Refusal::Damaged("a record of pax"))?;
            match key {
                b"path" => super::replace(&mut records.path, text(value)?)?,
                b"linkpath" => super::replace(&mut records.link_path, text(value)?)?,
                b"size" => {
                    let size = decimal(value).ok_or(Refusal::Damaged("a size of pax"))?;
                    super::replace(&mut records.size, size)?;
                }
                _ if IGNORED.contains(&key) => {}
                _ => return Err(Refusal::Unsupported("a key of pax")),
            }
        }
        Ok(records)
    }
}

/// An empty value would undo the one of a global header.
fn text(value: &[u8]) -> Result<Vec<u8>, Refusal> {
    if value.is_empty() || value.contains(&0) {
        return Err(Refusal::Damaged("a name of pax"));
    }
    Ok(value.to_vec())
}

/// Key and value of the first record, and the rest.
fn record(content: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let space = content.iter().position(|byte| *byte == b' ')?;
    let length = usize::try_from(decimal(&content[..space])?).ok()?;
    let (record, rest) = content.split_at_checked(length)?;
    let record = record.get(space + 1..)?.strip_suffix(b"\n")?;
    let equals = record.iter().position(|byte| *byte == b'=')?;
    Some((&record[..equals], &record[equals + 1..], rest))
}

fn decimal(digits: &[u8]) -> Option<u64> {
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(digits)
        .ok()?
        .parse()
        .ok()
        .filter(|_| is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_replace_values() {
        let records = Records::parse(b"12 path=a/b\n20 mtime=1.123456789\n").unwrap_err();
        assert!(matches!(records, Refusal::Damaged(_)), "{records}");
        let records = Records::parse(b"12 path=a/b\n21 mtime=1.123456789\n9 size=7\n").unwrap();
        assert_eq!(records.path.as_deref(), Some(&b"a/b"[..]));
        assert_eq!(records.size, Some(7));
        assert!(Records::parse(b"13 comment=a\n").unwrap().is_empty());
    }

    #[test]
    fn other_keys_are_refused() {
        for wrong in [
            &b"22 GNU.sparse.major=1\n"[..],
            b"10 path=a\n\n",
            b"12 path=a\0b\n",
            b"x",
            b"99999999999999999999 a=b\n",
            b"0 a=b\n",
            b"11 size=-1\n",
            b"10 path=a\n10 path=a\n",
        ] {
            assert!(Records::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
