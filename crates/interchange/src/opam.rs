//! `opam` files of a repository of opam: the sources of a package, and their checksums.
//!
//! The sections `url` and `extra-source` have `src`, `mirrors` and `checksum`. The `url` files of opam 1 have these fields
//! without a section, and `http` or `archive` in place of `src`. All other fields are skipped.

use std::io::Read;
use std::sync::Arc;

use urldb_format::Digest;

use crate::file_events::{Digests, FileEvents};
use crate::input::{LineBreaks, read_document};
use crate::model::{ListItem, ReadError, Sink};

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
        events: FileEvents { file, sink },
        tokens: Tokens::new(&text),
        breaks: LineBreaks::of(text.as_bytes()),
    };
    reader.package()
}

struct Reader<'a, 'b> {
    events: FileEvents<'a, 'b>,
    tokens: Tokens<'a>,
    breaks: LineBreaks<'a>,
}

/// The fields of opam 1 with a source that is no file on the web, which are the codes of notices too.
const FOREIGN: [&str; 4] = ["git", "hg", "darcs", "local"];

/// A section with a source.
#[derive(Default)]
struct Source {
    /// The URLs: that of `src`, and those of `mirrors`.
    urls: Vec<Token>,
    /// The sources that are no file on the web, by the codes of their notices.
    foreign: Vec<(&'static str, Token)>,
    checksums: Vec<Token>,
}

/// The fields of a section or of a file, as far as they are read.
#[derive(Default)]
struct Fields {
    source: Source,
    /// The name of the last field.
    field: String,
    name: Option<String>,
    /// The number of open braces.
    depth: u32,
    /// The number of open lists.
    lists: u32,
}

impl Fields {
    fn take(&mut self, token: Token) {
        match &token.content {
            Content::Open => self.depth += 1,
            Content::Close => self.depth = self.depth.saturating_sub(1),
            Content::ListOpen => self.lists += 1,
            Content::ListClose => self.lists = self.lists.saturating_sub(1),
            Content::Name(text) => self.name = Some(text.clone()),
            // `NAME :` begins a field.
            Content::Colon => self.field = self.name.take().unwrap_or_default(),
            // A text in braces belongs to a filter or to another section.
            Content::Text(_) if self.depth == 0 => match &*self.field {
                "src" | "http" | "archive" | "mirrors" => self.source.urls.push(token),
                "checksum" => self.source.checksums.push(token),
                other => {
                    let code = FOREIGN.into_iter().find(|code| *code == other);
                    self.source.foreign.extend(code.map(|code| (code, token)));
                }
            },
            _ => {}
        }
    }
}

impl Reader<'_, '_> {
    /// The sections and the fields of the file.
    fn package(&mut self) -> Result<(), ReadError> {
        let mut names = [None, None];
        let mut fields = Fields::default();
        while let Some(token) = self.next()? {
            let is_outside = fields.depth == 0 && fields.lists == 0;
            if matches!(token.content, Content::Open) && is_outside && is_source(&names) {
                self.section(&token)?;
                names = [None, None];
                continue;
            }
            names = [names[1].take(), Some(token.content.clone())];
            fields.take(token);
        }
        self.items(&fields.source)
    }

    fn next(&mut self) -> Result<Option<Token>, ReadError> {
        self.tokens
            .next()
            .transpose()
            .map_err(|(at, message)| self.malformed(at, message))
    }

    /// A section with a source; `start` is its brace.
    fn section(&mut self, start: &Token) -> Result<(), ReadError> {
        let mut fields = Fields::default();
        loop {
            let Some(token) = self.next()? else {
                return Err(self.malformed(start.range.start, "the section has no end"));
            };
            if matches!(token.content, Content::Close) && fields.depth == 0 {
                break;
            }
            fields.take(token);
        }
        let Source { urls, foreign, .. } = &fields.source;
        if urls.is_empty() && foreign.is_empty() {
            let line = self.line(start);
            self.events
                .refuse(line, "no-url", "the section has no `src`")?;
        }
        self.items(&fields.source)
    }

    fn items(&mut self, source: &Source) -> Result<(), ReadError> {
        for (code, token) in &source.foreign {
            self.skip_foreign(token, code)?;
        }
        let Some(digests) = self.digests(&source.checksums)? else {
            return Ok(());
        };
        for token in &source.urls {
            let url = token.content.text();
            if let Some(code) = foreign_code(url) {
                self.skip_foreign(token, code)?;
                continue;
            }
            let item = ListItem::new(self.events.at(self.line(token)), url);
            self.events
                .pass(item.map(|item| item.with_digests(&digests)))?;
        }
        Ok(())
    }

    fn skip_foreign(&mut self, token: &Token, code: &str) -> Result<(), ReadError> {
        let why = format!("{} is no file on the web", token.content.text());
        self.events.skip(self.line(token), code, &why)
    }

    /// The digests of a section; `None` if one is refused.
    fn digests(&mut self, checksums: &[Token]) -> Result<Option<Digests>, ReadError> {
        let mut digests: Digests = vec![];
        for token in checksums {
            let (text, line) = (token.content.text(), self.line(token));
            let Some(found) = self.events.digest(text, None, line, token.span())? else {
                return Ok(None);
            };
            for (digest, place) in found {
                let algorithm = digest.algorithm();
                let is_other =
                    |(known, _): &(Digest, _)| known.algorithm() == algorithm && *known != digest;
                if digests.iter().any(is_other) {
                    let why = format!("there are several values for {algorithm}");
                    self.events.refuse(line, "bad-digest", &why)?;
                    return Ok(None);
                }
                digests.push((digest, place));
            }
        }
        Ok(Some(digests))
    }

    /// The line of a token.
    fn line(&self, token: &Token) -> u64 {
        self.breaks.line(token.range.start)
    }

    /// The error of a mistake at an offset.
    fn malformed(&self, at: usize, message: &str) -> ReadError {
        ReadError::malformed(self.events.file, self.breaks.line(at), message)
    }
}

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
