//! Texts with variables: the targets of rules, and the subjects of conditions.

use percent_encoding::utf8_percent_encode;

use crate::escape::PATH;
use crate::pattern::Captures;

/// The variable of the header `User-Agent`, of which only the begin is known.
const USER_AGENT: &str = "HTTP_USER_AGENT";

/// A request that reaches the server: a GET without query, or any request for a path.
#[derive(Debug, Clone)]
pub(crate) struct Request<'a> {
    pub(crate) host: &'a str,
    /// The decoded path, which begins with `/`.
    pub(crate) path: String,
    /// The header `Accept`; `None` for any request.
    pub(crate) accept: Option<&'a str>,
}

impl Request<'_> {
    /// The value of a variable; `None` if it is not known.
    fn variable(&self, name: &str) -> Option<&str> {
        match (name, self.accept) {
            ("REQUEST_URI", _) => Some(&self.path),
            ("HTTP_HOST", Some(_)) => Some(self.host),
            (USER_AGENT, Some(_)) => Some("urldb"),
            ("QUERY_STRING", Some(_)) => Some(""),
            ("REQUEST_METHOD", Some(_)) => Some("GET"),
            (name, accept) if is_accept(name) => accept,
            _ => None,
        }
    }
}

/// Whether the variable is the header `Accept`.
fn is_accept(name: &str) -> bool {
    let of_header = name.strip_prefix("HTTP:");
    name == "HTTP_ACCEPT" || of_header.is_some_and(|it| it.eq_ignore_ascii_case("accept"))
}

/// Whether a subject is the header `Accept` alone.
pub(crate) fn is_accept_alone(subject: &str) -> bool {
    subject
        .strip_prefix("%{")
        .and_then(|it| it.strip_suffix('}'))
        .is_some_and(is_accept)
}

/// The meaning of `%` and a digit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Percent {
    /// A capture of a condition, as Apache reads it.
    Capture,
    /// With a second hexadecimal digit it escapes a character, as the author means it.
    Escape,
    /// None, as in the targets of `mod_alias`.
    Plain,
}

/// The text with its variables and captures; `None` if one is not known. In a target, flags decide about the escapes of
/// values, so that only values without such characters are known.
pub(crate) fn expand(
    template: &str,
    request: &Request<'_>,
    captures: &Captures,
    percent: Percent,
) -> Option<String> {
    let is_plain = percent == Percent::Plain;
    let is_certain = |value: &&str| percent == Percent::Capture || is_path(value);
    let (mut text, mut left) = (String::new(), template);
    while let Some(at) = left.find(['\\', '$', '%']) {
        text.push_str(&left[..at]);
        let (mark, rest) = left[at..].split_at(1);
        let mut chars = rest.chars();
        left = rest;
        match (mark, chars.next()) {
            ("\\", Some(escaped)) => {
                text.push(escaped);
                left = chars.as_str();
            }
            ("$", Some(digit)) if digit.is_ascii_digit() => {
                let number = usize::try_from(digit.to_digit(10)?).ok()?;
                let capture = captures.get(number).map_or("", String::as_str);
                text.push_str(Some(capture).filter(is_certain)?);
                left = chars.as_str();
            }
            // A map.
            ("$", Some('{')) if !is_plain => return None,
            ("%", Some('{')) if !is_plain => {
                let (name, after) = chars.as_str().split_once('}')?;
                let is_known = percent == Percent::Capture || name != USER_AGENT;
                let value = request.variable(name).filter(|_| is_known);
                text.push_str(value.filter(is_certain)?);
                left = after;
            }
            ("%", Some(digit)) if digit.is_ascii_digit() && !is_plain => {
                let is_escape = chars.next().is_some_and(|next| next.is_ascii_hexdigit());
                if percent == Percent::Capture || !is_escape {
                    return None;
                }
                text.push('%');
            }
            _ => text.push_str(mark),
        }
    }
    text.push_str(left);
    Some(text)
}

/// Whether a text is the same as a path of a URL.
fn is_path(text: &str) -> bool {
    utf8_percent_encode(text, PATH)
        .next()
        .is_none_or(|part| part.len() == text.len())
}

/// Whether the text is an absolute URL of the web.
pub(crate) fn is_absolute(text: &str) -> bool {
    let has = |scheme: &str| {
        text.get(..scheme.len())
            .is_some_and(|it| it.eq_ignore_ascii_case(scheme))
    };
    has("http://") || has("https://")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_and_captures_are_replaced() {
        let request = Request {
            host: "a.test",
            path: "/ns/a".to_owned(),
            accept: Some("text/html"),
        };
        let captures = ["ns/a", "x"].map(str::to_owned).to_vec();
        let expanded = |text: &str, percent| expand(text, &request, &captures, percent);
        for (template, wanted) in [
            ("http://b/$1/$0$9", "http://b/x/ns/a"),
            ("%{HTTP_HOST}%{REQUEST_URI}?%{QUERY_STRING}", "a.test/ns/a?"),
            ("%{HTTP_ACCEPT}%{HTTP:accept}", "text/htmltext/html"),
            ("100\\%20\\$1\\\\$", "100%20$1\\$"),
            ("a$b%zz%", "a$b%zz%"),
        ] {
            assert_eq!(
                expanded(template, Percent::Capture).as_deref(),
                Some(wanted)
            );
        }
        assert_eq!(expanded("a%20b", Percent::Escape).as_deref(), Some("a%20b"));
        assert_eq!(expanded("a%20b", Percent::Capture), None);
        let any = Request {
            accept: None,
            ..request.clone()
        };
        let agent = "%{HTTP_USER_AGENT}";
        assert_eq!(expanded(agent, Percent::Capture).as_deref(), Some("urldb"));
        for template in ["%{HTTP_HOST}", "%{QUERY_STRING}", "%{HTTP_ACCEPT}"] {
            assert_eq!(expand(template, &any, &captures, Percent::Capture), None);
        }
        let captures = ["a b", "x"].map(str::to_owned).to_vec();
        for (percent, wanted) in [(Percent::Capture, Some("a b")), (Percent::Escape, None)] {
            assert_eq!(
                expand("$0", &request, &captures, percent).as_deref(),
                wanted
            );
        }
        let plain = "$1%1x%{HTTP_ACCEPT}${x}";
        assert_eq!(
            expanded(plain, Percent::Plain).as_deref(),
            Some("x%1x%{HTTP_ACCEPT}${x}")
        );
        for template in ["%1", "%1x", "${map:x}", "%{HTTP_USER_AGENT}", "%{X"] {
            assert_eq!(expanded(template, Percent::Escape), None, "{template}");
        }
    }
}
