//! Markdown: `CommonMark` 0.31 with tables, footnotes and bare URLs of GitHub.
//!
//! A link by a label counts once, at the definition of the label.

use std::convert::Infallible;
use std::ops::Range;

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag, TagEnd};

use super::bare::{BareUrl, InlineText};
use super::html;

/// The most times that a text is parsed. More than two are rare: bare URLs with marks of code or links.
const MAX_PASSES: usize = 8;

/// The offset of a reference in the text, and the reference.
pub(super) type Reference = (usize, String);

/// The references of a text: first those of labels.
pub(super) fn references(text: &str) -> Vec<Reference> {
    let mut source = text.to_owned();
    let mut bare: Vec<Reference> = vec![];
    let mut pass = 1;
    loop {
        let mut state = State::new(&source);
        let mut definitions = state.parse();
        let (mut others, has_more) = (state.references, state.has_more);
        let ranges: Vec<_> = state.urls.iter().map(|it| it.range.clone()).collect();
        bare.extend(state.urls.into_iter().map(|it| (it.range.start, it.url)));
        if !has_more || pass == MAX_PASSES {
            others.append(&mut bare);
            others.sort_by_key(|(offset, _)| *offset);
            definitions.append(&mut others);
            return definitions;
        }
        // A bare URL has no marks: the rest is parsed as if letters were in its place. Blanks of a template stay.
        for range in ranges {
            let letter = |byte: u8| if byte.is_ascii_whitespace() { ' ' } else { 'x' };
            let letters: String = source[range.clone()].bytes().map(letter).collect();
            source.replace_range(range, &letters);
        }
        pass += 1;
    }
}

/// The length of the front matter in YAML or TOML at the start of a document, which is no text of it.
pub(super) fn front_matter(text: &str) -> usize {
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().unwrap_or_default();
    let (ends, separator): (&[&str], char) = match first.trim_end() {
        "---" => (&["---", "..."], ':'),
        "+++" => (&["+++"], '='),
        _ => return 0,
    };
    let mut length = first.len();
    for (number, line) in lines.enumerate() {
        length += line.len();
        if ends.contains(&line.trim_end()) {
            return length;
        }
        // Prose between two lines is no front matter.
        let key = line
            .split(separator)
            .next()
            .filter(|key| key.len() < line.len());
        let is_data =
            key.is_some_and(|key| !key.trim().contains(' ')) || line.starts_with(['#', '[']);
        if number == 0 && !is_data {
            return 0;
        }
    }
    0
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

    /// The offset in the document of a position in the text.
    fn offset(&self, position: usize) -> usize {
        let index = self.starts.partition_point(|(start, _)| *start <= position);
        self.starts
            .get(index.saturating_sub(1))
            .map_or(0, |(start, offset)| offset + position - start)
    }
}

/// The references of a source.
struct State<'a> {
    source: &'a str,
    references: Vec<Reference>,
    /// The bare URLs.
    urls: Vec<BareUrl>,
    /// Whether there may be more bare URLs.
    has_more: bool,
    prose: InlineText,
    is_line_start: bool,
    html: Pieces,
    /// The number of open links and images, whose text is no other use.
    links: usize,
    is_code: bool,
    /// Whether the text is inside a `code` or `pre` element.
    code_elements: usize,
}

impl<'a> State<'a> {
    fn new(source: &'a str) -> Self {
        Self {
            source,
            references: vec![],
            urls: vec![],
            has_more: false,
            prose: InlineText::default(),
            is_line_start: true,
            html: Pieces::default(),
            links: 0,
            is_code: false,
            code_elements: 0,
        }
    }

    /// Parses the source, and returns the definitions of labels.
    fn parse(&mut self) -> Vec<Reference> {
        let options = Options::ENABLE_TABLES
            | Options::ENABLE_FOOTNOTES
            | Options::ENABLE_STRIKETHROUGH
            | Options::ENABLE_TASKLISTS;
        let parser = Parser::new_ext(self.source, options);
        let mut definitions: Vec<Reference> = parser
            .reference_definitions()
            .iter()
            .map(|(_, definition)| (definition.span.start, definition.dest.to_string()))
            .collect();
        definitions.sort();
        for (event, range) in parser.into_offset_iter() {
            self.take(event, range);
        }
        self.flush();
        definitions
    }

    fn take(&mut self, event: Event<'_>, range: Range<usize>) {
        if is_inline(&event) {
            self.prose.end = self.prose.end.max(range.end);
        } else {
            self.flush();
        }
        match event {
            Event::Text(_) => self.text(range),
            Event::Html(text) => self.html.push(&text, range.start),
            Event::End(TagEnd::HtmlBlock) => self.flush_html(),
            Event::Start(Tag::CodeBlock(_)) => self.is_code = true,
            Event::End(TagEnd::CodeBlock) => self.is_code = false,
            Event::SoftBreak | Event::HardBreak => self.is_line_start = true,
            Event::Start(Tag::TableCell) => self.prose.is_cell = true,
            event => {
                self.is_line_start &= !is_inline(&event);
                self.other(event, range.start);
            }
        }
    }

    fn text(&mut self, range: Range<usize>) {
        if self.links == 0 && !self.is_code && self.code_elements == 0 {
            if self.is_line_start {
                self.prose.line_starts.push(range.start);
            }
            self.prose.pieces.push(range);
        }
        self.is_line_start = false;
    }

    /// Takes the bare URLs of a block.
    fn flush(&mut self) {
        let prose = std::mem::take(&mut self.prose);
        let (urls, has_more) = prose.urls(self.source);
        self.urls.extend(urls);
        self.has_more |= has_more;
        self.is_line_start = true;
    }

    fn other(&mut self, event: Event<'_>, offset: usize) {
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
                match link_type {
                    LinkType::Inline | LinkType::Autolink => {
                        self.references.push((offset, dest_url.to_string()));
                    }
                    LinkType::Email => self.references.push((offset, "mailto:".to_owned())),
                    _ => {}
                }
            }
            Event::End(TagEnd::Link | TagEnd::Image) => self.links -= 1,
            Event::InlineHtml(tag) => {
                self.code_element(&tag);
                self.html.push(&tag, offset);
                self.flush_html();
            }
            Event::End(TagEnd::Paragraph | TagEnd::Heading(_)) => self.code_elements = 0,
            _ => {}
        }
    }

    /// Takes the references of a piece of HTML.
    fn flush_html(&mut self) {
        let html = std::mem::take(&mut self.html);
        let Ok(()) = html::read::<Infallible>(html.text.as_bytes(), &mut |position, url| {
            self.references
                .push((html.offset(position), url.to_owned()));
            Ok(())
        });
    }

    fn code_element(&mut self, tag: &str) {
        let tag = tag.to_ascii_lowercase();
        let is = |start: &str| {
            tag.strip_prefix(start)
                .is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_alphanumeric()))
        };
        if is("<code") || is("<pre") {
            self.code_elements += 1;
        } else if is("</code") || is("</pre") {
            self.code_elements = self.code_elements.saturating_sub(1);
        }
    }
}

/// Whether an event belongs to the text of a block.
fn is_inline(event: &Event<'_>) -> bool {
    match event {
        Event::Start(tag) => is_inline_end(tag.to_end()),
        Event::End(tag) => is_inline_end(*tag),
        Event::Html(_) | Event::Rule => false,
        _ => true,
    }
}

fn is_inline_end(tag: TagEnd) -> bool {
    matches!(
        tag,
        TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough | TagEnd::Link | TagEnd::Image
    )
}
