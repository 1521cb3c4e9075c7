//! The canonical URLs that a response names: in its `Link` headers, and in the head of its page.

use html5gum::{DefaultEmitter, StartTag, Token, Tokenizer};
use url::Url;

/// The canonical URLs in the value of a `Link` header (RFC 8288), as written.
pub(super) fn in_header(value: &str) -> Vec<&str> {
    let mut targets = Vec::new();
    let mut rest = value;
    while let Some((target, after)) = rest
        .split_once('<')
        .and_then(|(_, after)| after.split_once('>'))
    {
        let (parameters, following) = parameters(after);
        let has = |name: &str| parameters.iter().find(|(known, _)| known == name);
        // A link with an anchor is about another resource than the response.
        if has("anchor").is_none() && has("rel").is_some_and(|(_, rel)| is_canonical(rel)) {
            targets.push(target);
        }
        rest = following;
    }
    targets
}

/// The parameters of a link, names in lower case, and what follows the comma after them.
fn parameters(text: &str) -> (Vec<(String, String)>, &str) {
    let mut all = Vec::new();
    let mut part = String::new();
    let (mut is_quoted, mut is_escaped) = (false, false);
    let mut take = |part: &mut String| {
        if let Some((name, value)) = std::mem::take(part).split_once('=') {
            all.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
        }
    };
    for (index, char) in text.char_indices() {
        match char {
            _ if is_escaped => {
                part.push(char);
                is_escaped = false;
            }
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            ';' if !is_quoted => take(&mut part),
            ',' if !is_quoted => {
                take(&mut part);
                return (all, &text[index + 1..]);
            }
            _ => part.push(char),
        }
    }
    take(&mut part);
    (all, "")
}

fn is_canonical(rel: &str) -> bool {
    rel.split_ascii_whitespace()
        .any(|relation| relation.eq_ignore_ascii_case("canonical"))
}

/// The tags in and around a head (HTML, 13.2.6.4.4).
const IN_HEAD: [&[u8]; 12] = [
    b"html",
    b"head",
    b"base",
    b"basefont",
    b"bgsound",
    b"link",
    b"meta",
    b"noframes",
    b"noscript",
    b"script",
    b"style",
    b"title",
];

/// The canonical URLs in the head of an HTML page, and the page's base URL.
#[derive(Debug)]
pub(super) struct Head {
    /// The base of the page.
    pub(super) base: Url,
    /// As written.
    pub(super) canonical: Vec<String>,
}

impl Head {
    /// Reads as much of a page as belongs to its head. `url` is where the page is.
    pub(super) fn read(page: &[u8], url: &Url) -> Self {
        let mut base = None;
        let mut canonical = Vec::new();
        let mut emitter = DefaultEmitter::default();
        // A tag within a script is text.
        emitter.naively_switch_states(true);
        for Ok(token) in Tokenizer::new_with_emitter(page, emitter) {
            let Token::StartTag(tag) = token else {
                continue;
            };
            match tag.name.as_slice() {
                b"base" => base = base.or_else(|| url.join(&attribute(&tag, "href")?).ok()),
                b"link" if is_canonical(&attribute(&tag, "rel").unwrap_or_default()) => {
                    canonical.extend(attribute(&tag, "href"));
                }
                name if IN_HEAD.contains(&name) => {}
                // Any other tag begins the body, also without a `<body>`.
                _ => break,
            }
        }
        Self {
            base: base.unwrap_or_else(|| url.clone()),
            canonical,
        }
    }
}

/// An attribute, unless it is empty.
fn attribute(tag: &StartTag<()>, name: &str) -> Option<String> {
    let value = tag.attributes.get(name.as_bytes())?;
    let value = String::from_utf8_lossy(value).trim().to_owned();
    Some(value).filter(|value| !value.is_empty())
}
