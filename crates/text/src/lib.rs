//! Text that people read, in a terminal, a log, a mail or a page.
//!
//! | item | purpose |
//! |---|---|
//! | [`Finding`], [`Code`], [`Severity`] | something wrong in a text file, with its place |
//! | [`Cursor`], [`lines`] | byte positions as lines and columns |
//! | [`sanitize`] | text from outside, which must not control a terminal or another output |
//! | [`Shown`] | such text where it is kept: sanitized and bounded |
//! | [`Secrets`], [`register_secret`], [`redact`] | secrets, which no text may show |
//! | [`named_enum`] | enums whose variants have names |
//! | [`nearest`] | "did you mean …?" |
//! | [`variant_suffix`] | the request headers that tell records of a URL apart |
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::too_many_lines))]

mod code;
mod finding;
mod named;
mod sanitize;
mod secrets;
mod shown;
mod suggest;
mod variant;

pub use code::{Code, Severity, Subject};
pub use finding::{Cursor, Excerpt, Finding, lines};
pub use sanitize::{has_unsafe, is_unsafe, sanitize, sanitize_lines};
pub use secrets::{
    REDACTED, Secrets, redact, register_credentials, register_secret, secret_variable,
};
pub use shown::Shown;
pub use suggest::nearest;
pub use variant::variant_suffix;
