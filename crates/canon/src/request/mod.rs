//! Method and body of a request as query parameters, so that requests which are not GET have keys.
//!
//! `POST http://example.org/` with the form `a=b` becomes `http://example.org/?__wb_method=POST&…`.
//! [`Compat`] says whose reading of the request body canonicalization specification is followed;
//! docs/request-canonicalization.md lists where they differ.
//!
//! Time and memory grow with the body at most linearly: what is nested too deeply, has too many
//! values or would become too long is encoded as a binary body is.

mod encode;
mod json;
mod leaves;
mod multipart;
mod number;
mod python;
mod warcio_js;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use multipart::Part;

/// Values of a JSON body that are looked at.
const MAX_VALUES: usize = 100_000;
/// Levels of lists, objects or multiparts in each other.
const MAX_DEPTH: usize = 200;
/// Bytes that JSON may become: a long name that is repeated would multiply the body.
const MAX_QUERY: usize = 1 << 20;
/// Characters of the parameters that pywb and warcio.js keep.
const PRACTICAL_LENGTH: usize = 4096;

/// Whose reading of the specification is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compat {
    /// The text, and where it leaves a choice, whatever keeps different requests apart.
    #[default]
    Spec,
    /// pywb 2.10, which looks requests up in our archives.
    Pywb,
    /// warcio.js 2.4, which indexes for browsers.
    WarcioJs,
}

/// What a request says besides its URL.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The method, as sent.
    pub method: &'a str,
    /// The value of `Content-Type`; empty if there is none.
    pub content_type: &'a str,
    /// The body; empty if there is none.
    pub body: &'a [u8],
}

impl Request<'_> {
    /// The query parameters that stand for the request, such as `__wb_method=POST&a=b`; `None` for
    /// a GET. They are not fit for a URL yet: pywb's have spaces and any other character.
    pub fn query(self, compat: Compat) -> Option<String> {
        let method = match compat {
            Compat::Pywb => self.method.to_uppercase(),
            Compat::Spec | Compat::WarcioJs => self.method.to_owned(),
        };
        if method == "GET" {
            return None;
        }
        let parameters = match compat {
            Compat::Spec if self.body.is_empty() => String::new(),
            Compat::Spec => self.as_specified(),
            Compat::Pywb if !matches!(method.as_str(), "POST" | "PUT") => String::new(),
            Compat::Pywb if self.body.is_empty() => String::new(),
            Compat::Pywb => {
                let parameters = self.as_pywb_has_it();
                parameters.chars().take(PRACTICAL_LENGTH).collect()
            }
            Compat::WarcioJs => warcio_js::parameters(self),
        };
        let mut query = format!("__wb_method={method}");
        // warcio.js has an ampersand even before nothing.
        if !parameters.is_empty() || compat == Compat::WarcioJs {
            query.push('&');
            query.push_str(&parameters);
        }
        Some(query)
    }

    /// `url` with the query parameters that stand for the request; as it is for a GET.
    pub fn append_to(self, url: &str, compat: Compat) -> String {
        let Some(query) = self.query(compat) else {
            return url.to_owned();
        };
        // The others append behind a fragment, where no server and no key would see it.
        let (url, fragment) = match (compat, url.find('#')) {
            (Compat::Spec, Some(at)) => url.split_at(at),
            _ => (url, ""),
        };
        let separator = if url.contains('?') { '&' } else { '?' };
        format!("{url}{separator}{query}{fragment}")
    }

    fn as_specified(self) -> String {
        let media_type = self.media_type().to_ascii_lowercase();
        let parameters = match media_type.as_str() {
            "application/json" | "text/plain" => {
                json::parse(self.body, Compat::Spec).and_then(|value| leaves::specified(&value))
            }
            "application/x-www-form-urlencoded" => {
                std::str::from_utf8(self.body).ok().map(|form| {
                    let decoded = encode::percent_decode(form.as_bytes());
                    format!("__wb_post_data={}", encode::percent_plus(&decoded))
                })
            }
            multipart if multipart.starts_with("multipart/") => {
                multipart::parse(self.content_type, self.body).and_then(|form| fields(&form))
            }
            _ => None,
        };
        parameters.unwrap_or_else(|| self.binary())
    }

    fn as_pywb_has_it(self) -> String {
        let is = |prefix| self.content_type.starts_with(prefix);
        let json = || json::parse(self.body, Compat::Pywb).and_then(|value| leaves::pywb(&value));
        if is("application/x-www-form-urlencoded") {
            let form = std::str::from_utf8(self.body);
            form.map_or_else(|_| self.binary(), encode::unquote_plus)
        } else if is("multipart/") {
            multipart::parse(self.content_type, self.body)
                .map_or_else(|| self.binary(), |form| python::urlencode(&form.parts))
        } else if is("application/json") {
            json().unwrap_or_default()
        } else if is("text/plain") {
            json().unwrap_or_else(|| self.binary())
        } else {
            self.binary()
        }
    }

    /// The media type as written, without its parameters.
    fn media_type(&self) -> &str {
        let end = self.content_type.find(';');
        self.content_type[..end.unwrap_or(self.content_type.len())].trim()
    }

    fn binary(&self) -> String {
        format!("__wb_post_data={}", BASE64_STANDARD.encode(self.body))
    }
}

/// The fields of a form. Files that share a field are values of it. `None` if this is no form.
fn fields(form: &multipart::Multipart) -> Option<String> {
    let mut query = Vec::new();
    for Part { name, content, .. } in &form.parts {
        let name = encode::percent_plus(name.as_deref()?.as_bytes());
        let values: Vec<&[u8]> = match content {
            multipart::Content::Bytes(value) => vec![value],
            multipart::Content::Parts(parts) => {
                let bytes = parts.iter().map(|part| part.content.bytes());
                bytes.collect::<Option<_>>()?
            }
        };
        let pairs = values
            .into_iter()
            .map(|value| format!("{name}={}", encode::percent_plus(value)));
        query.extend(pairs);
    }
    (form.is_closed && !query.is_empty()).then(|| query.join("&"))
}
