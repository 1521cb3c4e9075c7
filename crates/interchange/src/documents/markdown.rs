//! Markdown: `CommonMark` 0.31 with tables, footnotes and bare URLs of GitHub.
//!
//! A link by a label counts once, at the definition of the label.

use pulldown_cmark::{CowStr, Event, LinkType, Options, Parser, Tag, TagEnd};

use super::bare::{self, OnUse};
use super::html;
use crate::model::ReadError;

/// Passes each reference with its offset in the text.
pub(super) fn read(text: &str, each: &mut OnUse<'_>) -> Result<(), ReadError> {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS;
    let parser = Parser::new_ext(text, options);
    let definitions = parser.reference_definitions().iter();
    let mut definitions: Vec<(usize, String)> = definitions
        .map(|(_, definition)| (definition.span.start, definition.dest.to_string()))
        .collect();
    definitions.sort();
    for (offset, url) in definitions {
        each(offset, &url)?;
    }
    let mut state = State::default();
    for (event, range) in parser.into_offset_iter() {
        state.take(event, range.start, each)?;
    }
    state.prose.flush(each, bare::read)
}

/// Text from several events, with the offset of each piece.
#[derive(Default)]
struct Pieces {
    text: String,
    /// Positions in `text`, and offsets in the document.
    starts: Vec<(usize, usize)>,
}

impl Pieces {
    fn push(&mut self, text: &str, offset: usize) {
        self.starts.push((self.text.len(), offset));
        self.text.push_str(text);
    }

    /// Passes what `read` finds, with offsets in the document.
    fn flush(
        &mut self,
        each: &mut OnUse<'_>,
        read: fn(&str, &mut OnUse<'_>) -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        let starts = std::mem::take(&mut self.starts);
        let text = std::mem::take(&mut self.text);
        read(&text, &mut |position, url| {
            let index = starts.partition_point(|(start, _)| *start <= position);
            let piece = starts.get(index.saturating_sub(1));
            let offset = piece.map_or(0, |(start, offset)| offset + position - start);
            each(offset, url)
        })
    }
}

#[derive(Default)]
struct State {
    prose: Pieces,
    html: Pieces,
    /// The number of open links and images, whose text is no other use.
    links: usize,
    is_code: bool,
    /// Whether the text is inside a `code` or `pre` element.
    code_elements: usize,
}

impl State {
    fn take(
        &mut self,
        event: Event<'_>,
        offset: usize,
        each: &mut OnUse<'_>,
    ) -> Result<(), ReadError> {
        match event {
            Event::Text(text) => self.text(&text, offset),
            Event::Html(text) => self.html.push(&text, offset),
            Event::End(TagEnd::HtmlBlock) => {
                self.html
                    .flush(each, |text, each| html::read(text.as_bytes(), each))?;
            }
            Event::Start(Tag::CodeBlock(_)) => self.is_code = true,
            Event::End(TagEnd::CodeBlock) => self.is_code = false,
            Event::SoftBreak | Event::HardBreak => self.prose.push("\n", offset),
            event => {
                self.prose.flush(each, bare::read)?;
                self.other(event, offset, each)?;
            }
        }
        Ok(())
    }

    fn text(&mut self, text: &str, offset: usize) {
        if self.links == 0 && !self.is_code && self.code_elements == 0 {
            self.prose.push(text, offset);
        }
    }

    /// Takes an event that ends a piece of prose.
    fn other(
        &mut self,
        event: Event<'_>,
        offset: usize,
        each: &mut OnUse<'_>,
    ) -> Result<(), ReadError> {
        match event {
            Event::Start(
                Tag::Link {
                    link_type,
                    dest_url,
                    ..
                }
                | Tag::Image {
                    link_type,
                    dest_url,
                    ..
                },
            ) => {
                self.links += 1;
                link(link_type, &dest_url, offset, each)
            }
            Event::End(TagEnd::Link | TagEnd::Image) => {
                self.links -= 1;
                Ok(())
            }
            Event::InlineHtml(tag) => {
                self.code_element(&tag);
                html::read(tag.as_bytes(), &mut |inside, url| {
                    each(offset + inside, url)
                })
            }
            Event::End(TagEnd::Paragraph | TagEnd::Heading(_)) => {
                self.code_elements = 0;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn code_element(&mut self, tag: &str) {
        let tag = tag.to_ascii_lowercase();
        let is = |start: &str| {
            let rest = tag.strip_prefix(start);
            rest.is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_alphanumeric()))
        };
        if is("<code") || is("<pre") {
            self.code_elements += 1;
        } else if is("</code") || is("</pre") {
            self.code_elements = self.code_elements.saturating_sub(1);
        }
    }
}

fn link(
    kind: LinkType,
    url: &CowStr<'_>,
    offset: usize,
    each: &mut OnUse<'_>,
) -> Result<(), ReadError> {
    match kind {
        LinkType::Inline | LinkType::Autolink => each(offset, url),
        LinkType::Email => each(offset, "mailto:"),
        _ => Ok(()),
    }
}
