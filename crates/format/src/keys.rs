//! The known keys of the format.

use std::borrow::Cow;

/// The keys of the metadata document, sorted.
pub(crate) const METADATA: &[&str] = &["case-sensitive-paths", "cnames", "http", "https", "vary"];

/// The keys of a record, sorted.
pub(crate) const RECORD: &[&str] = &[
    "_path",
    "catalogue",
    "categories",
    "content-length",
    "content-md5",
    "content-sha1",
    "content-sha256",
    "content-sha384",
    "content-sha512",
    "content-type",
    "description",
    "method",
    "mute-reason",
    "mute-until",
    "name",
    "redirects-to",
    "request-body",
    "request-content-type",
    "request-headers",
    "schemes",
    "source",
    "status",
];

/// The keys of a record that its promise is made of, sorted: they say what is requested, and what must
/// come back.
pub(crate) const PROMISE: &[&str] = &[
    "_path",
    "content-length",
    "content-md5",
    "content-sha1",
    "content-sha256",
    "content-sha384",
    "content-sha512",
    "content-type",
    "method",
    "redirects-to",
    "request-body",
    "request-content-type",
    "request-headers",
    "schemes",
    "status",
];

/// The categories that urldb acts on, sorted.
pub(crate) const CATEGORIES: &[&str] = &["content-type-change-ok", "deprecated", "redirect-ok"];

/// Whether the format knows the key, in records or in metadata.
pub(crate) fn is_known(key: &str) -> bool {
    RECORD.contains(&key) || METADATA.contains(&key)
}

/// Whether the value of the key is a list whose order has no meaning.
pub(crate) fn is_set(key: &str) -> bool {
    matches!(key, "categories" | "cnames" | "schemes" | "source" | "vary")
}

/// A key; a known key needs no allocation.
pub(crate) type Key = Cow<'static, str>;

/// Makes a [`Key`].
pub(crate) fn intern(key: &str) -> Key {
    let known = RECORD.iter().chain(METADATA).find(|known| **known == key);
    known.map_or_else(|| Cow::Owned(key.to_owned()), |known| Cow::Borrowed(*known))
}
