//! The body of a request, and its signature.

use std::collections::BTreeMap;

use data_encoding::HEXLOWER;
use hmac::{Hmac, KeyInit, Mac};
use serde::Serialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use sha2::Sha256;
use urldb_http::Options;
use urldb_protocol::Envelope;
use urldb_render::{
    Block, Each, OpenIncidents, Part, Renderer, Text, WordedReport, WordsWriter, template_data,
    to_json,
};

/// Makes the bodies of requests: the envelope itself, or the result of a template.
#[derive(Debug)]
pub(crate) struct BodyWriter {
    words: WordsWriter,
    template: Option<ParsedTemplate>,
}

/// A template that makes a body.
#[derive(Debug)]
struct ParsedTemplate {
    name: String,
    renderer: Renderer,
    variables: BTreeMap<String, String>,
}

/// The data of a template.
#[derive(Debug, Serialize)]
struct Data<'a> {
    #[serde(flatten)]
    envelope: Value,
    blocks: &'a [Block],
    /// The titles of the first blocks, in a line each.
    causes: &'a [String],
    also_open: &'a Option<OpenIncidents>,
    coverage: &'a Text,
    variables: &'a BTreeMap<String, String>,
}

impl BodyWriter {
    /// Parses the templates. `html` is the source of `email.html`, which makes the HTML of the words.
    pub(crate) fn new(name: &str, html: String, template: Option<Template>) -> Result<Self, Error> {
        let parse = |template: Template| {
            Ok::<_, Error>(ParsedTemplate {
                renderer: Renderer::new([(template.name.clone(), template.source)])?,
                name: template.name,
                variables: template.variables,
            })
        };
        Ok(Self {
            words: WordsWriter::new(name, html)?,
            template: template.map(parse).transpose()?,
        })
    }

    /// The body of the message about a part of a report.
    pub(crate) fn body(&self, envelope: &Envelope, part: &Part) -> Result<Vec<u8>, Error> {
        let report = self.words.write(envelope, part)?;
        let Some(template) = &self.template else {
            return Ok(to_json(&report.envelope)?);
        };
        let WordedReport {
            envelope,
            content,
            causes,
        } = &report;
        let data = Data {
            envelope: template_data(envelope),
            blocks: &content.blocks,
            causes,
            also_open: &content.also_open,
            coverage: &content.coverage,
            variables: &template.variables,
        };
        let text = template.renderer.render(&template.name, &data)?;
        let text = text.trim();
        match serde_json::from_str::<IgnoredAny>(text) {
            Ok(_) => Ok(text.as_bytes().to_vec()),
            Err(source) => Err(Error::NoJson {
                name: template.name.clone(),
                source,
            }),
        }
    }
}

/// `sha256=` and the HMAC-SHA-256 of the body in lower-case hexadecimal digits.
pub(crate) fn signature(key: &str, body: &[u8]) -> String {
    // HMAC takes keys of every length.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key.as_bytes()) else {
        return String::new();
    };
    mac.update(body);
    format!("sha256={}", HEXLOWER.encode(&mac.finalize().into_bytes()))
}

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
    /// The source of `email.html`, which makes the HTML of the message.
    pub html: String,
    /// The number of messages for a report.
    pub each: Each,
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of GitHub's documentation.
    #[test]
    fn the_signature_is_that_of_github() {
        let signed = signature("It's a Secret to Everybody", b"Hello, World!");
        let expected = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
        assert_eq!(signed, format!("sha256={expected}"));
    }
}
