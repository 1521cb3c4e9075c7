//! HTML: the URLs that its attributes refer to, by the tokenizer of the WHATWG.

use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Span, Tokenizer};

/// Attributes that refer to something, or that decide whether another one does.
const ATTRIBUTES: &[&str] = &[
    "cite",
    "content",
    "data",
    "href",
    "http-equiv",
    "poster",
    "rel",
    "src",
    "srcset",
    "xlink:href",
];

/// An element with the attributes that count, each once, with the offset of its value.
struct Element {
    name: String,
    attributes: Vec<(&'static str, usize, String)>,
}

impl Element {
    fn value(&self, name: &str) -> Option<&str> {
        self.attributes
            .iter()
            .find(|(known, _, _)| *known == name)
            .map(|(_, _, value)| value.as_str())
    }

    /// Whether the attribute holds a URL.
    fn refers(&self, attribute: &str) -> bool {
        match (&*self.name, attribute) {
            ("link", "href") => {
                let rel = self.value("rel").unwrap_or_default();
                !rel.split_ascii_whitespace().any(|word| {
                    ["preconnect", "dns-prefetch"]
                        .iter()
                        .any(|known| word.eq_ignore_ascii_case(known))
                })
            }
            ("a" | "area" | "image" | "use", "href")
            | ("a" | "image" | "use", "xlink:href")
            | (
                "img" | "source" | "script" | "iframe" | "embed" | "video" | "audio" | "track",
                "src",
            )
            | ("video", "poster")
            | ("object", "data")
            | ("blockquote" | "q" | "del" | "ins", "cite") => true,
            _ => false,
        }
    }
}

/// Collects the attributes of an element.
#[derive(Default)]
struct Builder {
    element: Option<Element>,
    attribute: Option<&'static str>,
}

impl Builder {
    fn take(&mut self, event: &CallbackEvent<'_>, span: Span<usize>) -> Option<Element> {
        match event {
            CallbackEvent::OpenStartTag { name } => {
                self.attribute = None;
                self.element = Some(Element {
                    name: String::from_utf8_lossy(name).into_owned(),
                    attributes: vec![],
                });
            }
            CallbackEvent::AttributeName { name } => {
                let known = ATTRIBUTES.iter().find(|known| known.as_bytes() == *name);
                let is_new = |name: &&str| {
                    self.element
                        .as_ref()
                        .is_some_and(|element| element.value(name).is_none())
                };
                self.attribute = known.copied().filter(is_new);
                // An attribute may have no value: `href` alone is empty.
                if let (Some(name), Some(element)) = (self.attribute, &mut self.element) {
                    element.attributes.push((name, span.start, String::new()));
                }
            }
            CallbackEvent::AttributeValue { value } => {
                let is_known = self.attribute.take().is_some();
                let last = self.element.as_mut();
                if let Some(last) = last.and_then(|element| element.attributes.last_mut())
                    && is_known
                {
                    last.1 = span.start;
                    last.2 = String::from_utf8_lossy(value).into_owned();
                }
            }
            CallbackEvent::CloseStartTag { .. } => return self.element.take(),
            CallbackEvent::EndTag { .. } => self.element = None,
            _ => {}
        }
        None
    }
}

fn elements(bytes: &[u8]) -> impl Iterator<Item = Element> {
    let mut builder = Builder::default();
    let mut emitter = CallbackEmitter::new(move |event: CallbackEvent<'_>, span: Span<usize>| {
        builder.take(&event, span)
    });
    emitter.naively_switch_states(true);
    // Reading from memory cannot fail.
    Tokenizer::new_with_emitter(bytes, emitter).map_while(Result::ok)
}

/// The `href` of the first `base` element that has one.
pub(super) fn base(bytes: &[u8]) -> Option<String> {
    bytes
        .windows(5)
        .any(|window| window.eq_ignore_ascii_case(b"<base"))
        .then(|| elements(bytes))?
        .find_map(|element| {
            let is_base = element.name == "base";
            element.value("href").filter(|_| is_base).map(str::to_owned)
        })
}

/// Passes each reference with its offset.
pub(super) fn read<E>(
    bytes: &[u8],
    each: &mut dyn FnMut(usize, &str) -> Result<(), E>,
) -> Result<(), E> {
    for element in elements(bytes) {
        for (name, offset, value) in &element.attributes {
            if element.refers(name) {
                each(*offset, value)?;
            } else if *name == "srcset" && ["img", "source"].contains(&&*element.name) {
                for url in candidates(value) {
                    each(*offset, url)?;
                }
            } else if *name == "content" && element.name == "meta" {
                let kind = element.value("http-equiv").unwrap_or_default();
                let target = refresh(value);
                if let Some(url) = target.filter(|_| kind.eq_ignore_ascii_case("refresh")) {
                    each(*offset, url)?;
                }
            }
        }
    }
    Ok(())
}

/// The URLs of a `srcset`.
fn candidates(srcset: &str) -> Vec<&str> {
    let mut urls = vec![];
    let mut rest = srcset;
    loop {
        rest = rest.trim_start_matches(|next: char| next.is_ascii_whitespace() || next == ',');
        if rest.is_empty() {
            return urls;
        }
        let end = rest.find(|next: char| next.is_ascii_whitespace());
        let (url, after) = rest.split_at(end.unwrap_or(rest.len()));
        urls.push(url.trim_end_matches(','));
        rest = after;
        if !url.ends_with(',') {
            // Descriptors follow, until a comma outside parentheses.
            let mut is_inside = false;
            let end = after.find(|next: char| {
                is_inside = (is_inside || next == '(') && next != ')';
                next == ',' && !is_inside
            });
            rest = after.get(end.unwrap_or(after.len())..).unwrap_or_default();
        }
    }
}

/// The URL of `5; url=https://a.example/`.
fn refresh(content: &str) -> Option<&str> {
    let (_, rest) = content.split_once([';', ','])?;
    let rest = rest.trim_start();
    let (word, url) = rest.split_at_checked(3)?;
    let url = url.trim_start().strip_prefix('=')?.trim();
    let quote = url.chars().next().filter(|first| "'\"".contains(*first));
    let inside = quote.and_then(|quote| url.strip_prefix(quote)?.split(quote).next());
    word.eq_ignore_ascii_case("url")
        .then_some(inside.unwrap_or(url))
}
