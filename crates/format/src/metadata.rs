//! The metadata of a domain file.

use serde::{Deserialize, Serialize};
use urldb_canon::Scheme;

use crate::emit::ValueRef;
use crate::record::{ListOrder, Record, RecordIdentity, into_texts, to_mapping, with_extra};
use crate::value::{Mapping, Value};

/// Every scheme, in the order in which runs ask.
const SCHEMES: [Scheme; 2] = [Scheme::Http, Scheme::Https];

/// The first document of a domain file: data about the domain.
///
/// A value of the wrong kind at a known key, and an explicit default (`https: false`), are in
/// `extra`. `Serialize` is for temporary files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metadata {
    /// `cnames`: other names of the domain.
    pub cnames: Vec<String>,
    /// `https`: whether runs check the URLs over https.
    pub https: bool,
    /// `http`: whether runs check the URLs over http; true if absent.
    pub http: bool,
    /// `case-sensitive-paths`: whether paths that differ only in case are different.
    pub case_sensitive_paths: Option<bool>,
    /// `vary`: names of request headers in lower case, whose values tell records of one URL apart.
    pub vary: Vec<String>,
    /// Every other key.
    pub extra: Mapping,
}

impl Default for Metadata {
    fn default() -> Self {
        Self {
            cnames: Vec::new(),
            https: false,
            http: true,
            case_sensitive_paths: None,
            vary: Vec::new(),
            extra: Mapping::new(),
        }
    }
}

impl Metadata {
    /// Metadata that says only over which schemes runs check the domain.
    ///
    /// ```
    /// use urldb_canon::Scheme::{Http, Https};
    /// use urldb_format::Metadata;
    ///
    /// assert_eq!(Metadata::for_schemes(&[Http]), Metadata::default());
    /// assert_eq!(Metadata::for_schemes(&[Https]).schemes(), [Https]);
    /// assert_eq!(Metadata::for_schemes(&[Https, Http]).schemes(), [Http, Https]);
    /// ```
    pub fn for_schemes(schemes: &[Scheme]) -> Self {
        Self {
            http: schemes.contains(&Scheme::Http),
            https: schemes.contains(&Scheme::Https),
            ..Self::default()
        }
    }

    /// The schemes over which runs check the records of the domain that have none of their own.
    pub fn schemes(&self) -> Vec<Scheme> {
        let https = (self.https || !self.http).then_some(Scheme::Https);
        self.http
            .then_some(Scheme::Http)
            .into_iter()
            .chain(https)
            .collect()
    }

    /// The scheme for a URL that represents all schemes of the domain: http if it is checked.
    pub fn scheme(&self) -> Scheme {
        if self.http {
            Scheme::Http
        } else {
            Scheme::Https
        }
    }

    /// The schemes over which runs check a record: those of its `schemes`, else those of the domain.
    ///
    /// ```
    /// use urldb_canon::Scheme::{Http, Https};
    /// use urldb_format::{Metadata, Record};
    ///
    /// let metadata = Metadata::for_schemes(&[Https]);
    /// let mut record = Record::new("/");
    /// assert_eq!(metadata.schemes_of(&record), [Https]);
    /// record.schemes = vec!["https".to_owned(), "http".to_owned()];
    /// assert_eq!(metadata.schemes_of(&record), [Http, Https]);
    /// ```
    pub fn schemes_of(&self, record: &Record) -> Vec<Scheme> {
        let is_own = |scheme: &Scheme| record.schemes.iter().any(|own| own == scheme.as_str());
        let own: Vec<Scheme> = SCHEMES.into_iter().filter(is_own).collect();
        if own.is_empty() { self.schemes() } else { own }
    }

    /// The scheme for a URL that represents all schemes of a record: http if it is checked.
    pub fn scheme_of(&self, record: &Record) -> Scheme {
        self.schemes_of(record)
            .first()
            .copied()
            .unwrap_or_else(|| self.scheme())
    }

    /// Lets runs check a record over these schemes. Its `schemes` are left out where they are those of the domain.
    pub fn set_schemes(&self, record: &mut Record, schemes: &[Scheme]) {
        let wanted: Vec<Scheme> = SCHEMES
            .into_iter()
            .filter(|scheme| schemes.contains(scheme))
            .collect();
        record.schemes = vec![];
        if wanted != self.schemes() {
            record.schemes = wanted.iter().map(|it| it.as_str().to_owned()).collect();
        }
    }

    /// Whether paths that differ only in case are one URL.
    pub(crate) fn ignores_case(&self) -> bool {
        self.case_sensitive_paths == Some(false)
    }

    /// The identity of a record in a file with these metadata. With `case-sensitive-paths: false` the case of the
    /// path makes no difference; the case of the query does.
    pub fn identity_of(&self, record: &Record) -> RecordIdentity {
        record.identity_with(self.ignores_case(), &self.vary)
    }

    /// The identity of a record with its path as written: the key of edits, and the order of the canonical form.
    pub fn exact_identity_of(&self, record: &Record) -> RecordIdentity {
        record.identity_with(false, &self.vary)
    }

    /// The values of the record's request headers that `vary` names, as [`RecordIdentity::variant`] has them.
    ///
    /// ```
    /// use urldb_format::{Metadata, Record};
    ///
    /// let metadata = Metadata { vary: vec!["accept".to_owned()], ..Metadata::default() };
    /// let mut record = Record::new("/ns/a");
    /// assert_eq!(metadata.variant_of(&record), None);
    /// record.request_headers.insert("Accept", "text/turtle");
    /// assert_eq!(metadata.variant_of(&record).as_deref(), Some("accept: text/turtle"));
    /// ```
    pub fn variant_of(&self, record: &Record) -> Option<String> {
        record.variant(&self.vary)
    }

    /// The metadata in a document.
    pub fn from_mapping(mapping: Mapping) -> Self {
        let mut metadata = Self::default();
        for (key, value) in mapping {
            match (key.as_str(), value) {
                ("https", Value::Bool(true)) => metadata.https = true,
                ("http", Value::Bool(false)) => metadata.http = false,
                ("case-sensitive-paths", Value::Bool(flag)) => {
                    metadata.case_sensitive_paths = Some(flag);
                }
                ("cnames" | "vary", value) => match into_texts(value) {
                    Ok(texts) if key == "vary" => metadata.vary = texts,
                    Ok(texts) => metadata.cnames = texts,
                    Err(value) => metadata.extra.push(key, value),
                },
                (_, value) => metadata.extra.push(key, value),
            }
        }
        metadata
    }

    /// The document of the metadata in the canonical form.
    pub fn to_mapping(&self) -> Mapping {
        to_mapping(self.fields(ListOrder::Sorted))
    }

    /// The keys and values, sorted by key.
    pub(crate) fn fields(&self, lists: ListOrder) -> Vec<(&str, ValueRef<'_>)> {
        let mut fields = Vec::new();
        fields.extend(
            self.case_sensitive_paths
                .map(|flag| ("case-sensitive-paths", ValueRef::Bool(flag))),
        );
        if !self.cnames.is_empty() {
            fields.push(("cnames", lists.field(&self.cnames)));
        }
        if !self.http {
            fields.push(("http", ValueRef::Bool(false)));
        }
        if self.https {
            fields.push(("https", ValueRef::Bool(true)));
        }
        if !self.vary.is_empty() {
            fields.push(("vary", lists.field(&self.vary)));
        }
        with_extra(fields, &self.extra)
    }
}
