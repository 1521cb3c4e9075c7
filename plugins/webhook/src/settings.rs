//! The settings of the notifier.

use std::collections::BTreeMap;

use urldb_http::Options;

/// The settings of the webhook notifier.
#[derive(Clone)]
pub struct Settings {
    /// The notifier's name.
    pub name: String,
    /// The address that gets the reports. May be a secret.
    pub url: String,
    /// Whether `url` may be plain http on another machine.
    pub allow_http: bool,
    /// Headers besides those of the notifier: names and values.
    pub headers: Vec<(String, String)>,
    /// The key of the signature in `X-Hub-Signature-256`.
    pub signing_key: Option<String>,
    /// The template of the body; without a template, the body is the envelope.
    pub template: Option<Template>,
    /// The settings of requests.
    pub http: Options,
}

/// A template of a body in JSON.
#[derive(Debug, Clone)]
pub struct Template {
    /// The file name, for errors. Ends in `.json`.
    pub name: String,
    /// The text of the template.
    pub source: String,
    /// The values of `variables` in the template, such as a topic.
    pub variables: BTreeMap<String, String>,
}

/// The notifier cannot work with its settings.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The URL. The text does not show it.
    #[error("`url`: {0}")]
    Url(String),
    /// The template does not parse, or cannot be rendered.
    #[error(transparent)]
    Template(#[from] urldb_render::Error),
    /// The template makes no JSON.
    #[error("the template {name} makes no valid JSON: {source}")]
    NoJson {
        /// The name of the template.
        name: String,
        /// The mistake, by line and column of the rendered text.
        source: serde_json::Error,
    },
    /// The envelope cannot be written.
    #[error("cannot write the report as JSON")]
    Json(#[from] serde_json::Error),
    /// TLS or a file of certificates.
    #[error(transparent)]
    Http(#[from] urldb_http::Error),
}
