//! HTTP heads in archives: the start line, the fields, the blank line.
//!
//! HTTP libraries return a body without its transfer coding. A stored head with `chunked`, or with a
//! length other than that of the stored body, would make readers cut or reject the body. Such a field
//! is therefore renamed to `X-Archive-Orig-…`, as in other archives, and replaced by the
//! `Content-Length` of the stored body. The content coding stays, in head and body.

mod body;
mod stored;

pub(crate) use body::Dechunker;
pub use body::{BodyFraming, StoredBody};
pub(crate) use stored::HeadBytes;
pub use stored::{MAX_HTTP_HEAD, MAX_REQUEST_BODY, StoredHead, StoredRequest};

use crate::header::is_token;

/// The fields of a head: names, and values as bytes.
pub type HttpFields = [(String, Vec<u8>)];

const RENAMED_PREFIX: &str = "X-Archive-Orig-";

/// The HTTP version in a start line. Readers of archives accept only these two, so a response over
/// HTTP/2 is stored as HTTP/1.1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HttpVersion {
    /// HTTP/1.0
    Http10,
    /// HTTP/1.1
    #[default]
    Http11,
}

impl HttpVersion {
    fn name(self) -> &'static str {
        match self {
            Self::Http10 => "HTTP/1.0",
            Self::Http11 => "HTTP/1.1",
        }
    }
}

/// A head that cannot be written without changing its meaning.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidHttpHead {
    /// The method is not a token, the target has a control character or a blank, or the reason has an
    /// ASCII control character.
    #[error("the start line of an HTTP head cannot have {text:?} in it")]
    StartLine {
        /// The part.
        text: String,
    },
    /// The status does not have three digits.
    #[error("{status} is not an HTTP status")]
    Status {
        /// The status.
        status: u16,
    },
    /// The name is not a token, or the value has a line break or a NUL.
    #[error("the HTTP field {name:?} cannot be written: {value:?}")]
    Field {
        /// The name.
        name: String,
        /// The value.
        value: String,
    },
}

/// The head of a response, to be rendered.
#[derive(Clone, Copy, Debug)]
pub struct ResponseHead<'a> {
    /// The version.
    pub version: HttpVersion,
    /// The status, 100 to 999.
    pub status: u16,
    /// The reason phrase; may be empty.
    pub reason: &'a str,
    /// The fields, in order.
    pub fields: &'a HttpFields,
    /// The length of the body as stored, in bytes.
    pub body_length: u64,
}

impl ResponseHead<'_> {
    /// Renders the head through the blank line.
    pub fn render(&self) -> Result<Vec<u8>, InvalidHttpHead> {
        if !(100..=999).contains(&self.status) {
            return Err(InvalidHttpHead::Status {
                status: self.status,
            });
        }
        let reason = start_line_part(self.reason, |c| !c.is_ascii_control() || c == '\t')?;
        let mut head = format!("{} {} {reason}\r\n", self.version.name(), self.status).into_bytes();
        let mut has_length = false;
        for (name, value) in self.fields {
            let fits = !has_length && self.is_length_of_body(value);
            if name.eq_ignore_ascii_case("content-length") && fits {
                has_length = true;
                push_field(&mut head, name, value)?;
            } else if ["content-length", "transfer-encoding"]
                .iter()
                .any(|it| name.eq_ignore_ascii_case(it))
            {
                push_field(&mut head, &format!("{RENAMED_PREFIX}{name}"), value)?;
            } else {
                push_field(&mut head, name, value)?;
            }
        }
        // These responses have neither body nor length (RFC 9112 §6.3).
        let bodiless = self.body_length == 0 && matches!(self.status, 100..=199 | 204 | 304);
        if !has_length && !bodiless {
            push_field(
                &mut head,
                "Content-Length",
                self.body_length.to_string().as_bytes(),
            )?;
        }
        head.extend(b"\r\n");
        Ok(head)
    }

    fn is_length_of_body(&self, value: &[u8]) -> bool {
        value.trim_ascii() == self.body_length.to_string().as_bytes()
    }
}

/// Renders the head of a request through the blank line. The caller has already removed secrets.
pub fn render_request_head(
    method: &str,
    target: &str,
    fields: &HttpFields,
) -> Result<Vec<u8>, InvalidHttpHead> {
    let method = start_line_part(method, |c| is_token(c.encode_utf8(&mut [0; 4])))?;
    let target = start_line_part(target, |c| !c.is_control() && !c.is_whitespace())?;
    let mut head = format!("{method} {target} HTTP/1.1\r\n").into_bytes();
    for (name, value) in fields {
        push_field(&mut head, name, value)?;
    }
    head.extend(b"\r\n");
    Ok(head)
}

fn start_line_part(text: &str, allowed: impl Fn(char) -> bool) -> Result<&str, InvalidHttpHead> {
    if text.chars().all(allowed) {
        Ok(text)
    } else {
        Err(InvalidHttpHead::StartLine {
            text: text.to_owned(),
        })
    }
}

fn push_field(head: &mut Vec<u8>, name: &str, value: &[u8]) -> Result<(), InvalidHttpHead> {
    if !is_token(name) || value.iter().any(|b| matches!(b, b'\r' | b'\n' | 0)) {
        let value = String::from_utf8_lossy(value).into_owned();
        return Err(InvalidHttpHead::Field {
            name: name.to_owned(),
            value,
        });
    }
    head.extend(name.as_bytes());
    head.extend(b": ");
    head.extend(value);
    head.extend(b"\r\n");
    Ok(())
}
