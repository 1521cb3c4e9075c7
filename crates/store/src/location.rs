//! The place of an archive in a bucket: `s3://BUCKET/PREFIX`.

use std::fmt;
use std::str::FromStr;

/// The longest prefix, in bytes; with the name of a file, a key stays below the 1,024 bytes of S3.
const LONGEST_PREFIX: usize = 512;

/// A bucket, and the prefix of all keys in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    bucket: String,
    /// Without slashes at its ends; empty for the root of the bucket.
    prefix: String,
}

/// A text that is no location.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidLocation(&'static str);

impl Location {
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
        let rest = text
            .strip_prefix("s3://")
            .ok_or(InvalidLocation("it should begin with s3://"))?;
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
            let location: Location = text.parse().expect(text);
            assert_eq!((location.bucket(), location.prefix()), (bucket, prefix));
        }
        let location: Location = "s3://evidence/x".parse().expect("good");
        assert_eq!(location.key("index/a.idx"), "x/index/a.idx");
        assert_eq!(location.to_string(), "s3://evidence/x");
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
        ] {
            assert!(text.parse::<Location>().is_err(), "{text}");
        }
    }
}
