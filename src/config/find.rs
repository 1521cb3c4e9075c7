//! `[find.NAME]` of urldb.toml: places that may have promised bytes, which `urldb get` asks.

use std::collections::BTreeMap;

use percent_encoding::percent_decode_str;
use url::{Position, Url};
use urldb_fetch::HeaderSource;
use urldb_format::Algorithm;
use urldb_text::nearest;

use super::headers::headers;
use super::section::Section;
use super::source::is_name;

/// Places that need no `url`, by their names.
const KNOWN: [(&str, &str); 3] = [
    ("nix", "https://tarballs.nixos.org/{alg}/{hex}"),
    (
        "software-heritage",
        "https://archive.softwareheritage.org/api/1/content/sha256:{sha256}/raw/",
    ),
    ("wayback", "https://web.archive.org/web/2id_/{url}"),
];

/// One `[find.NAME]`: a place that may have promised bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindPlace {
    /// The URL of a content in the place.
    pub url: UrlTemplate,
    /// The headers of its requests. Only URLs that begin with [`UrlTemplate::within`] get them.
    pub headers: BTreeMap<String, HeaderSource>,
}

/// The URL of a content, with values in braces: `https://cache.example/{sha256:2}/{sha256}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UrlTemplate {
    parts: Vec<TemplatePart>,
    within: String,
}

/// A part of a [`UrlTemplate`].
#[derive(Debug, Clone, PartialEq, Eq)]
enum TemplatePart {
    Text(String),
    /// The digits of a digest, or the first ones of them.
    Digest(Algorithm, Option<usize>),
    /// The name of the strongest known algorithm.
    Algorithm,
    /// The digits of the strongest known digest.
    Digits,
    /// The promised URL.
    Url,
}

impl UrlTemplate {
    /// The template in a text.
    ///
    /// # Errors
    /// A sentence about the value in braces that is not known.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts = vec![];
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            let (name, after) = after
                .split_once('}')
                .ok_or_else(|| format!("a brace is open in \"{text}\""))?;
            parts.push(TemplatePart::Text(before.to_owned()));
            parts.push(TemplatePart::parse(name)?);
            rest = after;
        }
        parts.push(TemplatePart::Text(rest.to_owned()));
        let names_content = parts
            .iter()
            .any(|part| !matches!(part, TemplatePart::Text(_) | TemplatePart::Algorithm));
        if !names_content {
            return Err(
                "without {sha256}, {hex} or {url}, every content has the same URL".to_owned(),
            );
        }
        let within = literal_start(text)?;
        Ok(Self { parts, within })
    }

    /// The scheme, the host, the port and the start of the path, as far as no value in braces decides them. Every URL of
    /// the template begins so.
    pub fn within(&self) -> &str {
        &self.within
    }

    /// The URL, if all values are known: `digits` has the digits of an algorithm, `strongest` the strongest one of these
    /// algorithms, and `url` is the promised URL. `None` too if the promised URL would lead out of
    /// [`within`](Self::within), such as by `..`. With `as_path`, the query of the promised URL is no query here.
    pub fn fill<'a>(
        &self,
        digits: impl Fn(Algorithm) -> Option<&'a str>,
        strongest: Algorithm,
        url: Option<&str>,
        as_path: bool,
    ) -> Option<String> {
        let mut filled = String::new();
        for part in &self.parts {
            match part {
                TemplatePart::Text(text) => filled.push_str(text),
                TemplatePart::Digest(algorithm, length) => {
                    let digits = digits(*algorithm)?;
                    filled.push_str(digits.get(..length.unwrap_or(digits.len()))?);
                }
                TemplatePart::Algorithm => filled.push_str(strongest.name()),
                TemplatePart::Digits => filled.push_str(digits(strongest)?),
                TemplatePart::Url => {
                    let is_query = filled.contains('?');
                    filled.push_str(&embedded(url?, is_query, as_path)?);
                }
            }
        }
        let is_inside = |url: Url| url.as_str().starts_with(&self.within);
        Url::parse(&filled).is_ok_and(is_inside).then_some(filled)
    }
}

/// The part of a template before its first value in braces, as the URLs of requests begin.
///
/// # Errors
/// A sentence about a text that is no web address, or whose host a value decides.
fn literal_start(text: &str) -> Result<String, String> {
    let literal = text.split('{').next().unwrap_or_default();
    let no_address = || format!("\"{text}\" is no web address without user, password and `#`");
    let (scheme, rest) = literal.split_once("://").ok_or_else(no_address)?;
    if !matches!(scheme, "http" | "https") || text.contains('#') {
        return Err(no_address());
    }
    if !rest.contains('/') {
        return Err(format!(
            "the host in \"{text}\" should be written out, with a `/` behind it: headers are for one host"
        ));
    }
    let url = Url::parse(literal).map_err(|_| no_address())?;
    if !url[Position::BeforeUsername..Position::BeforeHost].is_empty() {
        return Err(no_address());
    }
    Ok(url.into())
}

/// A promised URL within another URL: as it is requested, without dot segments. `None` if a server that undoes escapes
/// could find dot segments in it.
fn embedded(url: &str, is_query: bool, as_path: bool) -> Option<String> {
    let mut url = Url::parse(url).ok()?;
    url.set_fragment(None);
    if is_query {
        let encoded = url::form_urlencoded::byte_serialize(url.as_str().as_bytes());
        return Some(encoded.collect());
    }
    if has_dot_segments(url.as_str()) {
        return None;
    }
    let text = url.as_str();
    Some(if as_path {
        text.replace('?', "%3F")
    } else {
        text.to_owned()
    })
}

/// Most layers of escapes in an embedded URL.
const MOST_LAYERS: usize = 5;

/// Whether a text has a segment `.` or `..`, however it is escaped. Texts with too many layers of escapes count as such.
fn has_dot_segments(text: &str) -> bool {
    let mut text = text.to_owned();
    for _ in 0..MOST_LAYERS {
        let mut segments = text.split(['/', '\\', '?']);
        // Some servers leave out parameters: `..;x`.
        let is_dots = |segment: &str| matches!(segment.split(';').next(), Some("." | ".."));
        if segments.any(is_dots) {
            return true;
        }
        let decoded = percent_decode_str(&text).decode_utf8_lossy().into_owned();
        if decoded == text {
            return false;
        }
        text = decoded;
    }
    true
}

impl TemplatePart {
    fn parse(name: &str) -> Result<Self, String> {
        let (algorithm, length) = match name.split_once(':') {
            Some((algorithm, length)) => (algorithm, Some(length)),
            None => (name, None),
        };
        let known = match (name, Algorithm::from_name(algorithm)) {
            ("alg", _) => Some(Self::Algorithm),
            ("hex", _) => Some(Self::Digits),
            ("url", _) => Some(Self::Url),
            (_, Some(algorithm)) => match length.map(str::parse) {
                None => Some(Self::Digest(algorithm, None)),
                Some(Ok(length)) => Some(Self::Digest(algorithm, Some(length))),
                Some(Err(_)) => None,
            },
            _ => None,
        };
        known.ok_or_else(|| {
            format!("{{{name}}} is not known; there are {{url}}, {{alg}}, {{hex}}, {{sha256}} and other algorithms, and {{sha256:2}} for first digits")
        })
    }
}

pub(super) fn find_place(name: &str, section: &Section<'_>) -> Option<FindPlace> {
    if !is_name(name) {
        section.problem(
            "the name of a place has only lower-case letters, digits and hyphens".to_owned(),
        );
    }
    let known = KNOWN.iter().find(|(known, _)| *known == name);
    let url = section.checked("url", UrlTemplate::parse);
    let url = match known {
        _ if section.has("url") => url,
        Some((_, url)) => UrlTemplate::parse(url).ok(),
        None => {
            let names = KNOWN.map(|(name, _)| name);
            section.problem(match nearest(name, names) {
                Some(near) => {
                    format!("`url` is missing; did you mean [find.{near}], which needs none?")
                }
                None => format!("`url` is missing; only {} need none", names.join(", ")),
            });
            None
        }
    };
    Some(FindPlace {
        url: url?,
        headers: headers(section, &BTreeMap::new()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_places_have_urls_of_contents() {
        let filled = |name: &str| {
            let (_, text) = KNOWN.iter().find(|(known, _)| *known == name).unwrap();
            let digits = |algorithm| match algorithm {
                Algorithm::Sha256 => Some("abcd"),
                Algorithm::Sha512 => Some("ef01"),
                _ => None,
            };
            let template = UrlTemplate::parse(text).unwrap();
            template.fill(digits, Algorithm::Sha512, Some("http://a.test/b?c"), false)
        };
        assert_eq!(
            filled("nix").unwrap(),
            "https://tarballs.nixos.org/sha512/ef01"
        );
        assert_eq!(
            filled("software-heritage").unwrap(),
            "https://archive.softwareheritage.org/api/1/content/sha256:abcd/raw/"
        );
        assert_eq!(
            filled("wayback").unwrap(),
            "https://web.archive.org/web/2id_/http://a.test/b?c"
        );
    }

    #[test]
    fn first_digits_make_folders_and_unknown_values_are_refused() {
        let template = UrlTemplate::parse("https://a.test/{sha256:2}/{sha256}").unwrap();
        let digits = |algorithm| (algorithm == Algorithm::Sha256).then_some("abcd");
        assert_eq!(
            template
                .fill(digits, Algorithm::Sha256, None, false)
                .as_deref(),
            Some("https://a.test/ab/abcd")
        );
        assert_eq!(template.fill(|_| None, Algorithm::Md5, None, false), None);
        for wrong in [
            "https://a.test/{sha3}",
            "https://a.test/{sha256",
            "https://a.test/",
            "ftp://a.test/{hex}",
            "https://a.test/{sha256:x}",
            "https://a.test{url}",
            "https://{sha256:2}.a.test/{sha256}",
            "https://user@a.test/{sha256}",
            "https://a.test/#{sha256}",
        ] {
            UrlTemplate::parse(wrong).unwrap_err();
        }
    }

    #[test]
    fn no_promised_url_leads_out_of_the_literal_start() {
        let path = "https://A.test:443/raw/{url}";
        let query = "https://a.test/raw?to={url}";
        let fill = |template: &str, url| {
            let template = UrlTemplate::parse(template).unwrap();
            template.fill(|_| None, Algorithm::Md5, Some(url), true)
        };
        assert_eq!(
            UrlTemplate::parse(path).unwrap().within(),
            "https://a.test/raw/"
        );
        for (url, in_path, in_query) in [
            (
                "http://b.test/x",
                Some("http://b.test/x"),
                "http%3A%2F%2Fb.test%2Fx",
            ),
            (
                "http://b.test/../../api?delete=1",
                Some("http://b.test/api%3Fdelete=1"),
                "http%3A%2F%2Fb.test%2Fapi%3Fdelete%3D1",
            ),
            (
                "http://b.test/%2e%2E/api#x",
                Some("http://b.test/api"),
                "http%3A%2F%2Fb.test%2Fapi",
            ),
            (
                "http://b.test/a\\..\\..\\api",
                Some("http://b.test/api"),
                "http%3A%2F%2Fb.test%2Fapi",
            ),
            (
                "http://b.test/@c.test//x",
                Some("http://b.test/@c.test//x"),
                "http%3A%2F%2Fb.test%2F%40c.test%2F%2Fx",
            ),
            (
                "http://b.test/..%2f..%2fapi",
                None,
                "http%3A%2F%2Fb.test%2F..%252f..%252fapi",
            ),
            (
                "http://b.test/%252e%252e%255capi",
                None,
                "http%3A%2F%2Fb.test%2F%25252e%25252e%25255capi",
            ),
            (
                "http://b.test/x?y=/../../../api",
                None,
                "http%3A%2F%2Fb.test%2Fx%3Fy%3D%2F..%2F..%2F..%2Fapi",
            ),
            (
                "http://b.test/x?\\..\\..\\..\\api",
                None,
                "http%3A%2F%2Fb.test%2Fx%3F%5C..%5C..%5C..%5Capi",
            ),
            (
                "http://b.test/..;/..;/api",
                None,
                "http%3A%2F%2Fb.test%2F..%3B%2F..%3B%2Fapi",
            ),
        ] {
            let whole = in_path.map(|it| format!("https://A.test:443/raw/{it}"));
            assert_eq!(fill(path, url), whole, "{url}");
            let whole = format!("https://a.test/raw?to={in_query}");
            assert_eq!(fill(query, url).as_deref(), Some(&*whole), "{url}");
        }
    }
}
