//! `[find.NAME]` of urldb.toml: places that may have promised bytes, which `urldb get` and `urldb find` ask.

use std::collections::BTreeMap;

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
    /// The headers of its requests.
    pub headers: BTreeMap<String, HeaderSource>,
}

/// The URL of a content, with values in braces: `https://cache.example/{sha256:2}/{sha256}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UrlTemplate {
    parts: Vec<TemplatePart>,
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
        let is_web = text.starts_with("https://") || text.starts_with("http://");
        if !is_web {
            return Err(format!("\"{text}\" is no web address"));
        }
        Ok(Self { parts })
    }

    /// The URL, if all values are known: `digits` has the digits of an algorithm, `strongest` the strongest one of these
    /// algorithms, and `url` is the promised URL.
    pub fn fill<'a>(
        &self,
        digits: impl Fn(Algorithm) -> Option<&'a str>,
        strongest: Algorithm,
        url: Option<&str>,
    ) -> Option<String> {
        let parts = self.parts.iter().map(|part| {
            Some(match part {
                TemplatePart::Text(text) => text.as_str(),
                TemplatePart::Digest(algorithm, length) => {
                    let digits = digits(*algorithm)?;
                    digits.get(..length.unwrap_or(digits.len()))?
                }
                TemplatePart::Algorithm => strongest.name(),
                TemplatePart::Digits => digits(strongest)?,
                TemplatePart::Url => url?,
            })
        });
        parts.collect()
    }
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

pub(super) fn find_place(name: &str, section: Section<'_>) -> Option<FindPlace> {
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
    let place = FindPlace {
        url: url?,
        headers: headers(&section, &BTreeMap::new()),
    };
    section.finish();
    Some(place)
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
            template.fill(digits, Algorithm::Sha512, Some("http://a.test/b?c"))
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
            template.fill(digits, Algorithm::Sha256, None).as_deref(),
            Some("https://a.test/ab/abcd")
        );
        assert_eq!(template.fill(|_| None, Algorithm::Md5, None), None);
        for wrong in [
            "https://a.test/{sha3}",
            "https://a.test/{sha256",
            "https://a.test/",
            "ftp://a.test/{hex}",
            "https://a.test/{sha256:x}",
        ] {
            UrlTemplate::parse(wrong).unwrap_err();
        }
    }
}
