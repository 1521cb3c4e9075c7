//! `opam` files of a repository of opam: the sources of a package, and their checksums.
//!
//! The sections `url` and `extra-source` have `src`, `mirrors` and `checksum`. All other fields are skipped.

use std::io::Read;
use std::ops::Range;
use std::sync::Arc;

use urldb_format::Digest;

use crate::digest;
use crate::input::{LineBreaks, read_document};
use crate::model::{ListItem, Location, Notice, ReadError, Sink};
use crate::sums::notice;

mod token;

use token::{Content, Token, Tokens};

/// The size limit of a file. Real ones have at most some ten thousand bytes.
const MAX_FILE: u64 = 1 << 20;

/// Reads the file of a package.
///
/// Left out are repositories (`git`, `hg` and `darcs`), local sources (`local`), and checksums of other algorithms
/// (`algorithm`).
///
/// # Errors
/// [`ReadError::Malformed`] if a text, a comment or a section has no end, [`ReadError::Input`] if the file is larger than 1
/// MiB.
pub fn read(input: impl Read, file: &Arc<str>, sink: &mut Sink<'_>) -> Result<(), ReadError> {
    let text = read_document(input, MAX_FILE, file)?;
    let mut reader = Reader {
        file,
        sink,
        tokens: Tokens::new(&text),
        breaks: LineBreaks::of(&text),
    };
    reader.package()
}

struct Reader<'a, 'b> {
    file: &'a Arc<str>,
    sink: &'a mut Sink<'b>,
    tokens: Tokens<'a>,
    breaks: LineBreaks<'a>,
}

/// A section with a source.
#[derive(Default)]
struct Source {
    /// The URLs: that of `src`, and those of `mirrors`.
    urls: Vec<Token>,
    checksums: Vec<Token>,
}

impl Reader<'_, '_> {
    /// The sections of the file.
    fn package(&mut self) -> Result<(), ReadError> {
        let mut depth = 0_u32;
        let mut names = [None, None];
        while let Some(token) = self.next()? {
            match token.content {
                Content::Open if depth == 0 && is_source(&names) => {
                    self.section(&token)?;
                    names = [None, None];
                    continue;
                }
                Content::Open | Content::ListOpen => depth += 1,
                Content::Close | Content::ListClose => depth = depth.saturating_sub(1),
                _ => {}
            }
            names = [names[1].take(), Some(token.content)];
        }
        Ok(())
    }

    fn next(&mut self) -> Result<Option<Token>, ReadError> {
        self.tokens
            .next()
            .transpose()
            .map_err(|(at, message)| ReadError::Malformed {
                location: self.location(at),
                message: message.to_owned(),
            })
    }

    /// A section with a source; `start` is its brace.
    fn section(&mut self, start: &Token) -> Result<(), ReadError> {
        let mut source = Source::default();
        let mut field = String::new();
        let mut name = None;
        let mut depth = 1_u32;
        while depth > 0 {
            let Some(token) = self.next()? else {
                return Err(ReadError::Malformed {
                    location: self.location(start.range.start),
                    message: "the section has no end".to_owned(),
                });
            };
            match &token.content {
                Content::Open => depth += 1,
                Content::Close => depth -= 1,
                Content::Name(text) => name = Some(text.clone()),
                // `NAME :` begins a field.
                Content::Colon => field = name.take().unwrap_or_default(),
                // A text in braces belongs to a filter.
                Content::Text(_) if depth == 1 => match &*field {
                    "src" | "mirrors" => source.urls.push(token),
                    "checksum" => source.checksums.push(token),
                    _ => {}
                },
                _ => {}
            }
        }
        self.items(start, &source)
    }

    fn items(&mut self, start: &Token, source: &Source) -> Result<(), ReadError> {
        if source.urls.is_empty() {
            let location = self.location(start.range.start);
            let message = "the section has no `src`";
            (self.sink)(Notice::refused(location, "no-url", message).into())?;
        }
        let Some(digests) = self.digests(&source.checksums)? else {
            return Ok(());
        };
        for token in &source.urls {
            let location = self.location(token.range.start);
            let url = token.content.text();
            let item = match foreign_code(url) {
                Some(code) => {
                    let message = format!("{url} is no file on the web");
                    Err(Notice::left_out(location, code, message))
                }
                None => ListItem::new(location, url).map(|mut item| {
                    for (digest, range) in &digests {
                        item.set_digest(digest, range.clone());
                    }
                    item
                }),
            };
            (self.sink)(item.into())?;
        }
        Ok(())
    }

    /// The digests of a section; `None` if one is refused.
    fn digests(&mut self, checksums: &[Token]) -> Result<Option<Digests>, ReadError> {
        let mut digests: Digests = vec![];
        for token in checksums {
            let location = self.location(token.range.start);
            let found = digest::parse(token.content.text(), None);
            let found = found.map_err(|unknown| notice(location.clone(), &unknown));
            match found {
                Err(notice) => {
                    let is_refused = notice.code != "algorithm";
                    (self.sink)(notice.into())?;
                    if is_refused {
                        return Ok(None);
                    }
                }
                Ok(found) => {
                    let same = digests
                        .iter()
                        .find(|(known, _)| known.algorithm() == found.algorithm());
                    if same.is_some_and(|(known, _)| *known != found) {
                        let message = format!("there are several values for {}", found.algorithm());
                        (self.sink)(Notice::refused(location, "bad-digest", message).into())?;
                        return Ok(None);
                    }
                    digests.push((found, token.span()));
                }
            }
        }
        Ok(Some(digests))
    }

    /// The location of an offset.
    fn location(&self, at: usize) -> Location {
        Location::line(self.file, self.breaks.line(at))
    }
}

/// Digests, each with its place in the file.
type Digests = Vec<(Digest, Option<Range<u64>>)>;

/// Whether a section of these last tokens has a source: `url`, or `extra-source "NAME"`.
fn is_source(before: &[Option<Content>; 2]) -> bool {
    match before {
        [_, Some(Content::Name(name))] => name == "url",
        [Some(Content::Name(name)), Some(Content::Text(_))] => name == "extra-source",
        _ => false,
    }
}

/// The code of a source that is no file on the web, as opam tells it from the URL.
fn foreign_code(url: &str) -> Option<&'static str> {
    const SYSTEMS: [&str; 3] = ["git", "hg", "darcs"];
    let scheme = url.split_once("://").map(|(scheme, _)| scheme);
    let name = scheme.map(|scheme| scheme.split_once('+').map_or(scheme, |(name, _)| name));
    let system = SYSTEMS.into_iter().find(|system| name == Some(*system));
    let path = url.split('#').next().unwrap_or_default();
    let is_git = || path.strip_suffix(".git").map(|_| "git");
    let is_local = || matches!(name, None | Some("file" | "path" | "rsync")).then_some("local");
    system.or_else(is_git).or_else(is_local)
}
