//! The place of an archive: a bucket, as `s3://BUCKET/PREFIX`, or a folder, as `file:///mnt/backup/urldb`.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use url::Url;

/// The longest prefix, in bytes; with the name of a file, a key stays below the 1,024 bytes of S3.
const LONGEST_PREFIX: usize = 512;

/// The place of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// A bucket of an S3 server.
    Bucket(BucketLocation),
    /// The absolute path of a folder.
    Folder(PathBuf),
}

/// A bucket, and the prefix of all keys in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketLocation {
    bucket: String,
    /// Without slashes at its ends; empty for the root of the bucket.
    prefix: String,
}

/// A text that is no location.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidLocation(&'static str);

impl BucketLocation {
    /// The name of the bucket.
    pub fn bucket(&self) -> &str {
        &self.bucket
    }

    /// The prefix of all keys, without slashes at its ends.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    pub(crate) fn key(&self, name: &str) -> String {
        if self.prefix.is_empty() {
            name.to_owned()
        } else {
            format!("{}/{name}", self.prefix)
        }
    }
}

impl FromStr for Location {
    type Err = InvalidLocation;

    fn from_str(text: &str) -> Result<Self, InvalidLocation> {
        if let Some(rest) = text.strip_prefix("s3://") {
            return BucketLocation::parse(rest).map(Self::Bucket);
        }
        if !text.starts_with("file://") {
            return Err(InvalidLocation("it should begin with s3:// or file://"));
        }
        let url = Url::parse(text).ok();
        let url = url.filter(|url| url.query().is_none() && url.fragment().is_none());
        let path = url.and_then(|url| url.to_file_path().ok());
        path.filter(|path| path.parent().is_some())
            .map(Self::Folder)
            .ok_or(InvalidLocation(
                "a folder should be an absolute path, such as file:///mnt/backup/urldb",
            ))
    }
}

impl BucketLocation {
    fn parse(rest: &str) -> Result<Self, InvalidLocation> {
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let is_bucket = (3..=63).contains(&bucket.len())
            && bucket
                .bytes()
                .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'-'))
            && bucket.starts_with(|first: char| first.is_ascii_alphanumeric())
            && bucket.ends_with(|last: char| last.is_ascii_alphanumeric())
            && !bucket.contains("..");
        if !is_bucket {
            return Err(InvalidLocation(
                "the name of the bucket should have 3 to 63 lower-case letters, digits, dots and hyphens",
            ));
        }
        let prefix = prefix.trim_end_matches('/');
        let is_plain = |part: &str| {
            !part.is_empty()
                && part != "."
                && part != ".."
                && part
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"-_.=+@!'()".contains(&byte))
        };
        if !prefix.is_empty() && !prefix.split('/').all(is_plain) {
            return Err(InvalidLocation(
                "the prefix should have letters, digits and -_.=+@!'() between single slashes",
            ));
        }
        if prefix.len() > LONGEST_PREFIX {
            return Err(InvalidLocation("the prefix is too long"));
        }
        Ok(Self {
            bucket: bucket.to_owned(),
            prefix: prefix.to_owned(),
        })
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bucket(bucket) => bucket.fmt(f),
            Self::Folder(path) => match Url::from_file_path(path) {
                Ok(url) => f.write_str(url.as_str().trim_end_matches('/')),
                Err(()) => path.display().fmt(f),
            },
        }
    }
}

impl fmt::Display for BucketLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s3://{}", self.bucket)?;
        if self.prefix.is_empty() {
            return Ok(());
        }
        write!(f, "/{}", self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_are_read() {
        for (text, bucket, prefix) in [
            ("s3://evidence", "evidence", ""),
            ("s3://evidence/", "evidence", ""),
            ("s3://a.b-1/x/y_z.2/", "a.b-1", "x/y_z.2"),
        ] {
            let Location::Bucket(location) = text.parse().expect(text) else {
                panic!("{text} is a bucket")
            };
            assert_eq!((location.bucket(), location.prefix()), (bucket, prefix));
        }
        let Ok(Location::Bucket(location)) = "s3://evidence/x".parse() else {
            panic!("a bucket")
        };
        assert_eq!(location.key("index/a.idx"), "x/index/a.idx");
        assert_eq!(location.to_string(), "s3://evidence/x");
    }

    #[test]
    fn folders_are_read() {
        for (text, path, shown) in [
            (
                "file:///mnt/backup/urldb",
                "/mnt/backup/urldb",
                "file:///mnt/backup/urldb",
            ),
            (
                "file:///mnt/our%20disk/",
                "/mnt/our disk",
                "file:///mnt/our%20disk",
            ),
            ("file:///mnt/../x", "/x", "file:///x"),
        ] {
            let location: Location = text.parse().expect(text);
            assert_eq!(location, Location::Folder(PathBuf::from(path)), "{text}");
            assert_eq!(location.to_string(), shown);
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "evidence",
            "https://evidence/x",
            "s3://",
            "s3://ab",
            "s3://Evidence",
            "s3://user:password@evidence",
            "s3://evidence/../other",
            "s3://evidence//x",
            "s3://evidence/x?y",
            "s3://evidence/x y",
            "s3://-ab/x",
            "s3://a..b/x",
            "file://",
            "file:///",
            "file:relative",
            "file://server/share",
            "file:///mnt/x?y",
            "file:///mnt/x#y",
            "/mnt/backup",
        ] {
            assert!(text.parse::<Location>().is_err(), "{text}");
        }
    }
}
