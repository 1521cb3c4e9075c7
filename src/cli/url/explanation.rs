//! The explanation of `urldb url explain`, as data: the object of `--format json`.

use serde::Serialize;
use urldb_canon::rules::{Resolution, ResolveError, Trace};

/// Each step from a URL to its record. Steps after a failed one are null or empty.
#[derive(Debug, Serialize)]
pub(super) struct Explanation {
    /// As it is spelled; null for what is no URL.
    pub(super) url: Option<String>,
    #[serde(flatten)]
    pub(super) trace: Trace,
    /// The file with the rules of the domain; null where there is none.
    pub(super) domain_file: Option<String>,
    /// The file with the rules of the website; null where there is none.
    pub(super) website_file: Option<String>,
    /// The record that it is, or would be.
    pub(super) record: Option<RecordLocation>,
    /// The key of the record's URL in the archive's index; that of the URL where it is no record.
    pub(super) surt: Option<String>,
    /// The folder of the database; null where there is none.
    pub(super) database: Option<String>,
    /// The reason why there is no record.
    pub(super) problem: Option<UrlProblem>,
}

#[derive(Debug, Serialize)]
pub(super) struct RecordLocation {
    pub(super) file: String,
    /// The host of the page, where it is another name of the domain.
    pub(super) cname: Option<String>,
    #[serde(rename = "_path")]
    pub(super) path: String,
    /// Whether the database has it; null where there is no database.
    pub(super) known: Option<bool>,
    pub(super) line: Option<usize>,
}

/// The reason why a URL has no record. It is no finding, since a typed URL has no file and line.
#[derive(Debug, Serialize)]
pub(super) struct UrlProblem {
    pub(super) code: &'static str,
    pub(super) message: String,
    /// The URL at the default website of the domain, if the rules admit that.
    pub(super) suggestion: Option<String>,
}

impl Explanation {
    pub(super) fn resolution(&self) -> Option<&Resolution> {
        self.trace.outcome.as_ref().ok()
    }
}

impl UrlProblem {
    pub(super) fn new(failure: &ResolveError) -> Self {
        let suggestion = match failure {
            ResolveError::UnknownDomain { default, .. }
            | ResolveError::UnknownWebsite { default, .. } => {
                default.as_ref().and_then(|default| default.url.clone())
            }
            _ => None,
        };
        Self {
            code: failure.code(),
            message: failure.to_string(),
            suggestion,
        }
    }
}
