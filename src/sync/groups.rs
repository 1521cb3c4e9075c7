//! Groups of keys of a record, which a list owns together: no old SHA-256 stays beside a new SHA-512.

use urldb_format::{Algorithm, Record};

use crate::config::Format;

/// A group of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    /// `content-length` and all digests.
    Bytes,
    /// `content-type`.
    Type,
    /// `status` and `redirects-to`.
    Answer,
    /// `name`.
    Name,
}

impl Group {
    /// Every group.
    pub(crate) const ALL: &'static [Self] = &[Self::Bytes, Self::Type, Self::Answer, Self::Name];

    /// Gives a record the values of another one, and removes those that the other one lacks.
    pub(super) fn copy(self, from: &Record, to: &mut Record) {
        match self {
            Self::Bytes => {
                to.content_length = from.content_length;
                to.content_sha256.clone_from(&from.content_sha256);
                to.further_digests.clone_from(&from.further_digests);
            }
            Self::Type => to.content_type.clone_from(&from.content_type),
            Self::Answer => {
                to.status = from.status;
                to.redirects_to.clone_from(&from.redirects_to);
            }
            Self::Name => to.name.clone_from(&from.name),
        }
        // Values of the wrong kind.
        let is_own = |key: &str| group_of(key) == Some(self);
        to.extra.retain(|key| !is_own(key));
        let more = from.extra.iter().filter(|(key, _)| is_own(key));
        to.extra
            .extend(more.map(|(key, value)| (key.to_owned(), value.clone())));
    }

    /// Whether the keys say what must come back.
    pub(crate) fn is_promise(self) -> bool {
        self != Self::Name
    }
}

/// The group of a key of a record.
pub(crate) fn group_of(key: &str) -> Option<Group> {
    match key {
        "content-length" => Some(Group::Bytes),
        "content-type" => Some(Group::Type),
        "status" | "redirects-to" => Some(Group::Answer),
        "name" => Some(Group::Name),
        _ => Algorithm::of_key(key).map(|_| Group::Bytes),
    }
}

/// Whether the key says what must come back.
pub(super) fn is_promise(key: &str) -> bool {
    group_of(key).is_some_and(Group::is_promise)
}

/// The keys that say what is asked: records with other ones are about other answers.
pub(super) const REQUEST_KEYS: [&str; 4] = [
    "method",
    "request-body",
    "request-content-type",
    "request-headers",
];

/// The groups of keys that items of a format can state.
pub(crate) fn states(format: Format) -> &'static [Group] {
    match format {
        Format::List | Format::Sitemap | Format::Schemastore | Format::Links | Format::Lychee => {
            &[]
        }
        Format::Sums
        | Format::Tfds
        | Format::BazelRegistry
        | Format::Conandata
        | Format::NixSources
        | Format::BrewJson
        | Format::DebianSources
        | Format::Datapackage
        | Format::Jsonld
        | Format::Metalink
        | Format::Dvc
        | Format::Annex
        | Format::Files
        | Format::Bagit
        | Format::Warc
        | Format::Cdxj => &[Group::Bytes],
        Format::Redirects | Format::Htaccess => &[Group::Answer],
        Format::Ssd3 | Format::Table | Format::Jsonl => Group::ALL,
    }
}
