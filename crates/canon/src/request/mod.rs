//! Method and body of a request as query parameters, so that requests other than GET have keys.
//!
//! `POST http://example.org/` with the form `a=b` becomes `http://example.org/?__wb_method=POST&…`.
//! [`Compat`] selects a reading of the specification "Request Body Canonicalization";
//! docs/request-canonicalization.md lists the differences.
//!
//! Time and memory grow with the body at most linearly: a body beyond the limits (nesting, number of
//! values, length of the query) is encoded as a binary body.

mod compat;
mod encode;
mod json;
mod json_parameters;
mod limits;
mod multipart;
mod parameters;
mod pywb;
mod specification;

pub use compat::Compat;

/// The parts of a request, besides its URL, that identify its response.
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
    /// a GET.
    ///
    /// A URL may need them escaped: those of pywb have spaces and any other character.
    pub fn query(self, compat: Compat) -> Option<String> {
        let Self {
            content_type, body, ..
        } = self;
        let method = match compat {
            Compat::Pywb => self.method.to_uppercase(),
            Compat::Spec => self.method.to_owned(),
        };
        if method == "GET" {
            return None;
        }
        let parameters = match compat {
            Compat::Spec => specification::parameters(content_type, body),
            Compat::Pywb => pywb::parameters(&method, content_type, body),
        };
        let mut query = format!("__wb_method={method}");
        if !parameters.is_empty() {
            query.push('&');
            query.push_str(&parameters);
        }
        Some(query)
    }

    /// `url` with the query parameters that stand for the request; unchanged for a GET.
    pub fn append_to(self, url: &str, compat: Compat) -> String {
        let Some(query) = self.query(compat) else {
            return url.to_owned();
        };
        // pywb appends after a fragment, which no server and no key includes.
        let (url, fragment) = match (compat, url.find('#')) {
            (Compat::Spec, Some(at)) => url.split_at(at),
            _ => (url, ""),
        };
        let separator = if url.contains('?') { '&' } else { '?' };
        format!("{url}{separator}{query}{fragment}")
    }
}
