//! The links of documents: Markdown, HTML, `BibTeX`, CSL-JSON and notebooks, and the output of
//! `lychee --dump`.
//!
//! Each use of a URL is one item. References that are no item (`mailto:`, relative paths, ports and
//! so on) are counted by kind: one notice for each kind and file, at the first such reference. No
//! reader opens another file.

mod bare;
mod bibtex;
mod bibtex_entries;
mod collector;
mod html;
mod json;
pub mod lychee;
mod markdown;
mod options;

use std::io::{BufRead, Read};
use std::path::Path;
use std::sync::Arc;

use self::collector::Collector;
pub use self::options::DocumentOptions;
use crate::controls::control_in;
use crate::input::LineBreaks;
use crate::model::{ReadError, Sink};

/// The size limit of a Markdown text, in bytes. Its parser needs up to a hundred times as much memory.
pub const MAX_MARKDOWN: usize = 512 << 10;

/// The size limit of any other document, in bytes.
pub const MAX_DOCUMENT: usize = 8 << 20;

/// The kind of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentKind {
    /// `CommonMark` with the extensions of GitHub.
    Markdown,
    /// HTML.
    Html,
    /// `BibTeX` and `BibLaTeX`.
    Bibtex,
    /// References in CSL-JSON.
    CslJson,
    /// A Jupyter notebook, nbformat 4.
    Notebook,
}

/// The extensions that [`kind_of`] knows, for messages.
pub const EXTENSIONS: &str = ".md, .markdown, .html, .htm, .bib, .ipynb, .csl.json";

/// The kind of a document, by the extension of its name; `None` if no reader knows it.
pub fn kind_of(path: &Path) -> Option<DocumentKind> {
    let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
    let (stem, extension) = name.rsplit_once('.')?;
    match extension {
        "md" | "markdown" => Some(DocumentKind::Markdown),
        "html" | "htm" => Some(DocumentKind::Html),
        "bib" => Some(DocumentKind::Bibtex),
        "ipynb" => Some(DocumentKind::Notebook),
        "json" => {
            let (_, inner) = stem.rsplit_once('.')?;
            (inner == "csl").then_some(DocumentKind::CslJson)
        }
        _ => None,
    }
}

/// Reads the links of a document.
///
/// A document that is too large or broken is refused by a notice, and so is its first control character; the rest of
/// the document is read.
///
/// # Errors
/// If `input` or `sink` fails.
pub fn read(
    input: impl BufRead,
    kind: DocumentKind,
    file: &Arc<str>,
    options: &DocumentOptions<'_>,
    sink: &mut Sink<'_>,
) -> Result<(), ReadError> {
    let most = match kind {
        DocumentKind::Markdown => MAX_MARKDOWN,
        _ => MAX_DOCUMENT,
    };
    let mut bytes = vec![];
    input
        .take(most as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(ReadError::input(file))?;
    let mut collector = Collector::new(file, options, sink);
    let events = &mut collector.events;
    if bytes.len() > most {
        let why = format!("the document has more than {} KiB", most >> 10);
        return events.refuse(1, "too-large", &why);
    }
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        let why = "the document is UTF-16; save it as UTF-8";
        return events.refuse(1, "encoding", why);
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    if let Some(found) = control_in(bytes) {
        events.refuse(found.line, "control-character", found.message())?;
    }
    match kind {
        DocumentKind::Markdown => {
            let text = String::from_utf8_lossy(bytes);
            let breaks = LineBreaks::of(text.as_bytes());
            let start = markdown::front_matter(&text);
            for (offset, url) in markdown::references(&text[start..]) {
                collector.take(&url, breaks.line(start + offset))?;
            }
        }
        DocumentKind::Html => {
            collector.set_base(html::base(bytes).as_deref());
            let breaks = LineBreaks::of(bytes);
            html::read(bytes, &mut |offset, url| {
                collector.take(url, breaks.line(offset))
            })?;
        }
        DocumentKind::Bibtex => bibtex::read(bytes, &mut collector)?,
        DocumentKind::CslJson => json::read_csl(&String::from_utf8_lossy(bytes), &mut collector)?,
        DocumentKind::Notebook => {
            json::read_notebook(&String::from_utf8_lossy(bytes), &mut collector)?;
        }
    }
    collector.finish()
}
