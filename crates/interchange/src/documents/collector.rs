//! Items and counts from the references of one document.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use url::Url;
use urldb_canon::identify;

use super::bare::TEMPLATES;
use super::options::DocumentOptions;
use crate::file_events::FileEvents;
use crate::model::{ListItem, Notice, ReadError, Sink};

/// The length limit of a URL, in bytes.
const MAX_URL: usize = 64 * 1024;

/// Characters of a file name that would end the path of a URL, or that no URL has.
const IN_PATH: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// The text, such as a DOI or a file's name, as a path of a URL.
pub(super) fn in_path(text: &str) -> String {
    utf8_percent_encode(text, IN_PATH).to_string()
}

/// Passes an item for each URL, and counts the other references by kind.
pub(super) struct Collector<'a, 's> {
    pub(super) events: FileEvents<'a, 's>,
    is_local: &'a dyn Fn(&str) -> bool,
    /// The URL of the repository's root.
    root: Option<Url>,
    /// The URL against which references are resolved.
    base: Option<Url>,
    /// The first line and the number of the references of each kind.
    counts: BTreeMap<&'static str, (u64, u64)>,
}

impl<'a, 's> Collector<'a, 's> {
    pub(super) fn new(
        file: &'a Arc<str>,
        options: &DocumentOptions<'a>,
        sink: &'a mut Sink<'s>,
    ) -> Self {
        let root = options.base.and_then(|base| Url::parse(base).ok());
        let base = root
            .as_ref()
            .and_then(|root| root.join(&format!("./{}", in_path(options.path))).ok());
        Self {
            events: FileEvents { file, sink },
            is_local: options.is_local,
            root,
            base,
            counts: BTreeMap::new(),
        }
    }

    /// Applies the `base` element of an HTML document.
    pub(super) fn set_base(&mut self, href: Option<&str>) {
        let Some(href) = href else { return };
        let found = match &self.base {
            Some(base) => base.join(href),
            None => Url::parse(&absolute(href)),
        };
        if let Some(url) = found.ok().filter(Url::has_host) {
            self.base = Some(url);
        }
    }

    /// Counts a reference that is no item.
    pub(super) fn count(&mut self, kind: &'static str, line: u64) {
        let (first, count) = self.counts.entry(kind).or_insert((line, 0));
        *first = (*first).min(line);
        *count += 1;
    }

    /// Takes a reference as the document has it.
    pub(super) fn take(&mut self, reference: &str, line: u64) -> Result<(), ReadError> {
        let reference = cleaned(reference);
        if let Some(kind) = counted(&reference) {
            self.count(kind, line);
            return Ok(());
        }
        if reference.starts_with("//") || scheme(&reference).is_some() {
            return self.add(&absolute(&reference), line);
        }
        let resolved = self.base.as_ref().map(|base| base.join(&reference));
        let Some(Ok(mut url)) = resolved else {
            self.count("relative", line);
            return Ok(());
        };
        url.set_fragment(None);
        if self.is_in_repository(&url) {
            self.count("local", line);
            return Ok(());
        }
        self.add(url.as_str(), line)
    }

    fn add(&mut self, url: &str, line: u64) -> Result<(), ReadError> {
        match identify(url) {
            Ok(found) => self.events.pass(ListItem::of(self.events.at(line), found)),
            Err(error) => {
                self.count(error.code(), line);
                Ok(())
            }
        }
    }

    fn is_in_repository(&self, url: &Url) -> bool {
        let Some(root) = &self.root else { return false };
        let is_same_host = url.origin() == root.origin();
        let Some(path) = url.path().strip_prefix(root.path()) else {
            return false;
        };
        let path = percent_decode_str(path).decode_utf8_lossy();
        is_same_host && (self.is_local)(&path)
    }

    /// Passes a notice for each kind that was counted.
    pub(super) fn finish(mut self) -> Result<(), ReadError> {
        for (kind, (line, count)) in &self.counts {
            let verb = if *count == 1 { "is" } else { "are" };
            let message = format!("{count} {verb} no URL to watch: {}", description(kind));
            let notice = Notice::left_out(self.events.at(*line), kind, message);
            self.events.pass(notice.of(*count))?;
        }
        Ok(())
    }
}

/// The reference without surrounding blanks, and without the characters that browsers remove.
fn cleaned(reference: &str) -> Cow<'_, str> {
    let trimmed = reference.trim_matches(|character: char| character <= ' ');
    if trimmed.contains(['\t', '\n', '\r']) {
        Cow::Owned(trimmed.replace(['\t', '\n', '\r'], ""))
    } else {
        Cow::Borrowed(trimmed)
    }
}

/// The URL with `https:` before a host.
fn absolute(reference: &str) -> Cow<'_, str> {
    if reference.starts_with("//") {
        Cow::Owned(format!("https:{reference}"))
    } else {
        Cow::Borrowed(reference)
    }
}

fn scheme(reference: &str) -> Option<&str> {
    let (scheme, _) = reference.split_once(':')?;
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    is_scheme.then_some(scheme)
}

/// The kind of a reference that is counted without a look at its host and path.
fn counted(reference: &str) -> Option<&'static str> {
    if let Some(scheme) = scheme(reference) {
        for kind in ["mailto", "tel", "data", "javascript"] {
            if scheme.eq_ignore_ascii_case(kind) {
                return Some(kind);
            }
        }
    }
    if TEMPLATES.iter().any(|(mark, _)| reference.contains(mark)) {
        Some("template")
    } else if reference.len() > MAX_URL {
        Some("too-long")
    } else if reference.contains('\u{fffd}') {
        Some("encoding")
    } else {
        None
    }
}

fn description(kind: &str) -> &'static str {
    match kind {
        "mailto" => "an e-mail address",
        "tel" => "a telephone number",
        "data" => "data in the document",
        "javascript" => "a script",
        "template" => "a template",
        "relative" => "a relative reference",
        "local" => "a path in the repository",
        "excluded" => "excluded by lychee",
        "too-long" => "too long",
        "encoding" => "not in UTF-8",
        "bad-entry" => "an entry that cannot be read",
        "several-urls" => "one of several in a field, with words between them",
        "scheme" => "another scheme than http and https",
        "port" => "a port of its own",
        "host" => "no host name",
        "userinfo" => "a user name or password",
        _ => "not a valid URL",
    }
}
