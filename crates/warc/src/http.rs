//! HTTP heads as an archive keeps them: the start line, the fields, the blank line.
//!
//! The HTTP library hands us a body without its transfer coding. A head that still said `chunked`, or
//! a length that is not the stored one, would make readers cut or reject the body. Such a field is
//! therefore renamed, `X-Archive-Orig-…`, as other archives do, and a `Content-Length` that fits the
//! stored body takes its place. The content coding is kept, in head and body alike.

mod body;
mod stored;

pub(crate) use body::Dechunker;
pub use body::{Body, Framing};
pub(crate) use stored::HeadText;
pub use stored::{MAX_HEAD, StoredHead, StoredRequest};

use crate::header::is_token;

/// Fields of a head: names, and values in the bytes that the server sent.
pub type Fields = [(String, Vec<u8>)];

const RENAMED: &str = "X-Archive-Orig-";

/// The version in a start line. Readers of archives know only these two, so a response over HTTP/2
/// is stored as HTTP/1.1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// HTTP/1.0
    Http10,
    /// HTTP/1.1
    #[default]
    Http11,
}

impl Version {
    fn name(self) -> &'static str {
        match self {
            Self::Http10 => "HTTP/1.0",
            Self::Http11 => "HTTP/1.1",
        }
    }
}

/// A head that cannot be written without changing what it means.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidHead {
    /// The method is not a token, the target has a control character or a blank, or the reason one of
    /// the control characters of ASCII.
    #[error("the start line of an HTTP head cannot have {text:?} in it")]
    StartLine {
        /// The part.
        text: String,
    },
    /// The status is not of three digits.
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

/// What came before a response's body.
#[derive(Clone, Copy, Debug)]
pub struct ResponseHead<'a> {
    /// The version.
    pub version: Version,
    /// The status, 100 to 999.
    pub status: u16,
    /// The reason phrase; may be empty.
    pub reason: &'a str,
    /// The fields, in order.
    pub fields: &'a Fields,
    /// The length of the body as it will be stored, in bytes.
    pub body_length: u64,
}

impl ResponseHead<'_> {
    /// The bytes of the head, through the blank line.
    pub fn render(&self) -> Result<Vec<u8>, InvalidHead> {
        if !(100..=999).contains(&self.status) {
            return Err(InvalidHead::Status {
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
                push_field(&mut head, &format!("{RENAMED}{name}"), value)?;
            } else {
                push_field(&mut head, name, value)?;
            }
        }
        // These never have a body, and no length either (RFC 9112 §6.3).
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

/// The head of a request, through the blank line; its body, if any, follows as it was sent. The
/// caller has redacted what is secret.
pub fn render_request_head(
    method: &str,
    target: &str,
    fields: &Fields,
) -> Result<Vec<u8>, InvalidHead> {
    let method = start_line_part(method, |c| is_token(c.encode_utf8(&mut [0; 4])))?;
    let target = start_line_part(target, |c| !c.is_control() && !c.is_whitespace())?;
    let mut head = format!("{method} {target} HTTP/1.1\r\n").into_bytes();
    for (name, value) in fields {
        push_field(&mut head, name, value)?;
    }
    head.extend(b"\r\n");
    Ok(head)
}

fn start_line_part(text: &str, allowed: impl Fn(char) -> bool) -> Result<&str, InvalidHead> {
    if text.chars().all(allowed) {
        Ok(text)
    } else {
        Err(InvalidHead::StartLine {
            text: text.to_owned(),
        })
    }
}

fn push_field(head: &mut Vec<u8>, name: &str, value: &[u8]) -> Result<(), InvalidHead> {
    if !is_token(name) || value.iter().any(|b| matches!(b, b'\r' | b'\n' | 0)) {
        let value = String::from_utf8_lossy(value).into_owned();
        return Err(InvalidHead::Field {
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
