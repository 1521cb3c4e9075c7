//! The registry of the secrets that this process knows. No text may show a secret.
//!
//! The code that reads a secret registers it: [`secret_variable`] does so for an environment variable. From
//! then on [`sanitize`](crate::sanitize) redacts the secret in every text. No secret leaves the registry.
//!
//! All tests of a process share the registry. So a test registers only values with its own name in them,
//! which no other text holds.

use std::borrow::Cow;
use std::env::{self, VarError};
use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock};

/// Stands for a secret in messages and reports.
pub const REDACTED: &str = "[redacted]";

/// Fewest bytes of a text that counts as a secret: shorter texts are parts of ordinary words and digests.
const MIN_LENGTH: usize = 6;

/// Fewest bytes of the path and query of a secret URL that are a secret without the host.
const MIN_PATH: usize = 16;

/// Words of a value that name how it is used (RFC 9110, section 11), in lower case.
const SCHEMES: [&str; 3] = ["bearer", "digest", "negotiate"];

static REGISTRY: RwLock<Secrets> = RwLock::new(Secrets { values: Vec::new() });

/// Whether [`REGISTRY`] has any: most processes, and most tests, have none.
static HAS_SECRETS: AtomicBool = AtomicBool::new(false);

/// Redacts this value in all further texts of the process: see [`Secrets::add`].
pub fn register_secret(value: &str) {
    register(|secrets| secrets.add(value));
}

/// Redacts the user name and the password that a URL holds in all further texts of the process. The
/// URL itself is no secret.
pub fn register_credentials(url: &str) {
    register(|secrets| secrets.add_credentials(url));
}

/// The value of an environment variable, which is a secret from then on.
///
/// # Errors
/// When the variable is not set, or is not valid UTF-8.
#[expect(
    clippy::disallowed_methods,
    reason = "the only reader of secrets, which registers them"
)]
pub fn secret_variable(name: &str) -> Result<String, VarError> {
    let value = env::var(name)?;
    register_secret(&value);
    Ok(value)
}

fn register(add: impl FnOnce(&mut Secrets)) {
    let mut secrets = REGISTRY.write().unwrap_or_else(PoisonError::into_inner);
    add(&mut secrets);
    HAS_SECRETS.store(!secrets.values.is_empty(), Ordering::Release);
}

/// The text with [`REDACTED`] in place of each registered secret.
pub fn redact(text: &str) -> Cow<'_, str> {
    if !HAS_SECRETS.load(Ordering::Acquire) {
        return Cow::Borrowed(text);
    }
    REGISTRY
        .read()
        .unwrap_or_else(PoisonError::into_inner)
        .redact(text)
}

/// Secrets, which a server may send back in any part of a response.
#[derive(Clone, Default)]
pub struct Secrets {
    values: Vec<String>,
}

impl Secrets {
    /// The secrets of these values: see [`Secrets::add`].
    pub fn new<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        let mut secrets = Self::default();
        values.into_iter().for_each(|value| secrets.add(value));
        secrets
    }

    /// Adds a value and each of its words: of `Bearer TOKEN`, the token. Of a URL, also the password,
    /// and a long path with its query; a URL of a host alone is no secret. Texts of fewer than 6 bytes are
    /// left out, since no text could be shown without them.
    pub fn add(&mut self, value: &str) {
        self.add_credentials(value);
        if let Some((_, _, path)) = url_parts(value) {
            if path.len() < 2 {
                return;
            }
            self.add_text(Some(path).filter(|path| path.len() >= MIN_PATH));
        }
        self.add_text([value.trim()].into_iter().chain(value.split_whitespace()));
    }

    /// Adds the password in a URL, with and without the user name; the user name alone if there is no
    /// password.
    pub fn add_credentials(&mut self, url: &str) {
        let Some((Some(login), ..)) = url_parts(url) else {
            return;
        };
        let login = percent_decoded(login);
        let password = login.split_once(':').map(|(_, password)| password);
        self.add_text([&*login].into_iter().chain(password));
    }

    fn add_text<'a>(&mut self, texts: impl IntoIterator<Item = &'a str>) {
        for text in texts {
            let is_secret = text.len() >= MIN_LENGTH
                && !SCHEMES.contains(&&*text.to_ascii_lowercase())
                // A text stays as it is when it is redacted again.
                && !REDACTED.contains(text);
            if is_secret && !self.values.iter().any(|known| known == text) {
                self.values.push(text.to_owned());
            }
        }
    }

    /// The text with [`REDACTED`] in place of each secret. Any character of a secret may be escaped, as
    /// URLs, JSON, HTML and shells do it. Other encodings, such as Base64, are not recognized.
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let is_escape = |byte: &u8| matches!(byte, b'%' | b'\\' | b'&');
        // Without an early end, so that the compiler uses vector instructions.
        let has_escapes = text.bytes().fold(false, |any, byte| any | is_escape(&byte));
        let mut found: Vec<Range<usize>> = vec![];
        for secret in self.values.iter().filter(|it| it.len() <= text.len()) {
            if has_escapes || secret.contains(char::is_whitespace) {
                let (text, secret) = (text.as_bytes(), secret.as_bytes());
                let begins = |at: &usize| text[*at] == secret[0] || is_escape(&text[*at]);
                let places = (0..text.len()).filter(begins).filter_map(|at| {
                    let length = length_at(&text[at..], secret)?;
                    Some(at..at + length)
                });
                found.extend(places);
            } else {
                let places = text.match_indices(secret.as_str());
                found.extend(places.map(|(at, _)| at..at + secret.len()));
            }
        }
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        found.sort_by_key(|range| range.start);
        let (mut redacted, mut end) = (String::with_capacity(text.len()), 0);
        for range in found {
            if range.start >= end {
                redacted.push_str(&text[end..range.start]);
                redacted.push_str(REDACTED);
            }
            end = end.max(range.end);
        }
        redacted.push_str(&text[end..]);
        Cow::Owned(redacted)
    }
}

/// No secret gets into a log by its debugging form.
impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secrets").finish_non_exhaustive()
    }
}

/// The credentials of a URL, its host, and the rest.
fn url_parts(text: &str) -> Option<(Option<&str>, &str, &str)> {
    let (scheme, rest) = text.trim().split_once("://")?;
    let is_scheme = scheme.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let (login, host) = match authority.rsplit_once('@') {
        Some((login, host)) => (Some(login), host),
        None => (None, authority),
    };
    is_scheme.then_some((login, host, path))
}

/// The text with its percent-encoding undone.
fn percent_decoded(text: &str) -> String {
    let (mut decoded, mut rest) = (vec![], text.as_bytes());
    while let [first, ..] = rest {
        let mut buffer = [0; 4];
        let (meant, length) = unescaped(rest, &mut buffer)
            .filter(|_| *first == b'%')
            .unwrap_or((&rest[..1], 1));
        decoded.extend_from_slice(meant);
        rest = &rest[length..];
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

/// The length of the secret at the beginning of a text, with its escapes.
fn length_at(text: &[u8], secret: &[u8]) -> Option<usize> {
    let (mut at, mut done) = (0, 0);
    while let Some(byte) = secret.get(done) {
        let is_literal = match text.get(at)? {
            b'+' => matches!(byte, b'+' | b' '),
            found => found == byte || byte.is_ascii_whitespace() && found.is_ascii_whitespace(),
        };
        let mut buffer = [0; 4];
        let escape = unescaped(&text[at..], &mut buffer);
        if let Some((meant, length)) = escape.filter(|it| secret[done..].starts_with(it.0)) {
            if !is_literal {
                at += length;
                done += meant.len();
                continue;
            }
            // The character that begins an escape may also mean itself.
            let rest = length_at(&text[at + length..], &secret[done + meant.len()..]);
            if let Some(rest) = rest {
                return Some(at + length + rest);
            }
        }
        if !is_literal {
            return None;
        }
        at += 1;
        done += 1;
    }
    Some(at)
}

/// The meaning of the escape that a text begins with, and its length: `%2F`, `\/`, `\u002f`, `&#47;`,
/// `&#x2F;`, `&amp;`.
fn unescaped<'a>(text: &[u8], buffer: &'a mut [u8; 4]) -> Option<(&'a [u8], usize)> {
    let hex = |digits: &[u8]| {
        let digits = std::str::from_utf8(digits).ok()?;
        digits
            .bytes()
            .all(|byte| byte.is_ascii_hexdigit())
            .then(|| u32::from_str_radix(digits, 16).ok())?
    };
    let (char, length) = match text {
        [b'%', rest @ ..] => {
            buffer[0] = u8::try_from(hex(rest.get(..2)?)?).ok()?;
            return Some((&buffer[..1], 3));
        }
        [b'\\', b'u', rest @ ..] => (char::from_u32(hex(rest.get(..4)?)?)?, 6),
        [b'\\', char, ..] if char.is_ascii_punctuation() => (char::from(*char), 2),
        [b'&', rest @ ..] => {
            let end = rest.iter().take(10).position(|byte| *byte == b';')?;
            let char = match &rest[..end] {
                b"amp" => '&',
                b"lt" => '<',
                b"gt" => '>',
                b"quot" => '"',
                b"apos" => '\'',
                [b'#', b'x' | b'X', digits @ ..] => char::from_u32(hex(digits)?)?,
                [b'#', digits @ ..] => {
                    char::from_u32(std::str::from_utf8(digits).ok()?.parse().ok()?)?
                }
                _ => return None,
            };
            (char, end + 2)
        }
        _ => return None,
    };
    Some((char.encode_utf8(buffer).as_bytes(), length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_secret_is_redacted() {
        let secrets = Secrets::new([
            "Bearer abc/def+gh=",
            "hunter2 \"quoted\"",
            "x<y>&'é'",
            "12345",
            "",
        ]);
        for (text, redacted) in [
            ("x Bearer abc/def+gh= y", "x [redacted] y"),
            ("Bearer realm", "Bearer realm"),
            ("?t=abc/def+gh=&x", "?t=[redacted]&x"),
            ("?t=abc%2Fdef%2Bgh%3D", "?t=[redacted]"),
            ("?t=abc%2fdef+gh%3d%41", "?t=[redacted]%41"),
            (r#"{"a":"hunter2 \"quoted\""}"#, r#"{"a":"[redacted]"}"#),
            (r"abc\/def\u002bgh=\", r"[redacted]\"),
            ("hunter2+%22quoted&quot;", "[redacted]"),
            ("hunter2\t\"quoted\"", "[redacted]"),
            ("hunter2", "[redacted]"),
            ("hunter2hunter2", "[redacted][redacted]"),
            ("x&lt;y&gt;&amp;&#39;é&#x27;!", "[redacted]!"),
            ("x<y>&amp;&apos;%C3%A9%27!", "[redacted]!"),
            ("&amp; %41 %zz & \\", "&amp; %41 %zz & \\"),
            ("12345 Bear", "12345 Bear"),
        ] {
            assert_eq!(secrets.redact(text), redacted, "{text}");
            let again = secrets.redact(redacted);
            assert!(matches!(again, Cow::Borrowed(_)), "{redacted}");
        }
        assert_eq!(format!("{secrets:?}"), "Secrets { .. }");
    }

    /// Nothing of either remains, in whatever order they were added.
    #[test]
    fn secrets_overlap() {
        for values in [["abcdef", "abcdefghij"], ["ijklmno", "abcdefghij"]] {
            let text = "<abcdefghijklmno>";
            let one = Secrets::new(values).redact(text).into_owned();
            let other = Secrets::new([values[1], values[0]])
                .redact(text)
                .into_owned();
            assert_eq!(one, other);
            assert!(one.starts_with("<[redacted]"), "{one}");
            assert!(!one.contains("ghij"), "{one}");
        }
    }

    #[test]
    fn a_character_that_begins_escapes_may_mean_itself() {
        let secrets = Secrets::new([r"100%25&amp;\\"]);
        for text in [r"100%25&amp;\\", r"100%2525&amp;amp;\\\\"] {
            assert_eq!(secrets.redact(text), "[redacted]", "{text}");
        }
    }

    #[test]
    fn of_a_url_only_what_nobody_can_guess_is_a_secret() {
        let secrets = Secrets::new([
            "https://chat.test/hooks/0123456789",
            "https://user:pass@wiki.test/x",
            "https://host.test/",
        ]);
        for (text, redacted) in [
            ("https://chat.test/hooks/0123456789", "[redacted]"),
            ("POST /hooks/0123456789", "POST [redacted]"),
            ("https://chat.test/", "https://chat.test/"),
            ("https://user:pass@wiki.test/x", "[redacted]"),
            ("user:pass", "[redacted]"),
            ("https://host.test/data", "https://host.test/data"),
        ] {
            assert_eq!(secrets.redact(text), redacted, "{text}");
        }
        let mut secrets = Secrets::default();
        secrets.add_credentials("http://me:p%40ssword@proxy.test:3128/");
        secrets.add_credentials("https://token-of-me@git.test/");
        let text = "proxy.test: p@ssword, p%40ssword; token-of-me at git.test";
        let redacted = "proxy.test: [redacted], [redacted]; [redacted] at git.test";
        assert_eq!(secrets.redact(text), redacted);
    }
}
