//! `_redirects` of static sites: `FROM TO [STATUS]` on each line, as Netlify, Cloudflare Pages and GitLab Pages read it.
//!
//! The first rule of a URL counts.

use std::collections::HashSet;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{BufRead, BufReader};
use std::ops::Range;
use std::sync::Arc;

use url::Url;

use crate::input::{InputLine, LimitedReader, LineReader};
use crate::model::{ListItem, Location, Notice, ReadError, Sink};

/// The size limit of a file. Hosts take at most some thousand rules.
const MAX_FILE: u64 = 16 << 20;

/// Domains of hosts, and the status of their rules that name none.
const HOSTS: [(&str, u16); 3] = [
    (".netlify.app", 301),
    (".gitlab.io", 301),
    (".pages.dev", 302),
];

/// Reads the rules of the site at `base`, from the root of its host. A rule without a status promises the one that the
/// host of the site sends, if the host is known.
///
/// Left out are rules with `*` or `:name` (`pattern`), with a query (`query`), with a condition (`condition`), with the
/// status 200 (`rewrite`) or one that is no redirect (`status`), and all but the first rule of a URL (`shadowed`).
///
/// # Errors
/// [`ReadError::Malformed`] if `base` is no URL, [`ReadError::Input`] if the file is larger than 16 MiB.
pub fn read(
    input: impl BufRead,
    file: &Arc<str>,
    base: &str,
    sink: &mut Sink<'_>,
) -> Result<(), ReadError> {
    let base = Url::parse(base).map_err(|error| ReadError::Malformed {
        location: Location::line(file, 1),
        message: format!("{base} is not the URL of a site: {error}"),
    })?;
    let host = base.host_str().unwrap_or_default();
    let status = HOSTS.iter().find(|(domain, _)| host.ends_with(domain));
    let mut site = Site {
        status: status.map(|(_, status)| *status),
        base,
        hasher: RandomState::new(),
        known: HashSet::new(),
    };
    let mut lines = LineReader::new(BufReader::new(LimitedReader::new(input, MAX_FILE)));
    while let Some(line) = lines.next().map_err(ReadError::input(file))? {
        let location = Location::line(file, line.number);
        if let Some(found) = site.line(&line, location) {
            sink(found.into())?;
        }
    }
    Ok(())
}

struct Site {
    base: Url,
    /// The status of rules that name none.
    status: Option<u16>,
    hasher: RandomState,
    /// The hashes of the URLs that have a rule.
    known: HashSet<u64>,
}

/// A word of a line, and its place in the file.
type Word<'a> = (&'a str, Range<u64>);

impl Site {
    /// The item of a line; `None` for a line without a rule.
    fn line(
        &mut self,
        line: &InputLine<'_>,
        location: Location,
    ) -> Option<Result<ListItem, Notice>> {
        let text = match line.text {
            Ok(text) => text,
            Err(why) => return Some(Err(Notice::refused(location, "bad-line", why))),
        };
        let content = text.strip_prefix('\u{feff}').unwrap_or(text);
        let words = content.split_ascii_whitespace();
        let words = words.take_while(|word| !word.starts_with('#'));
        let words: Vec<Word> = words
            .map(|word| {
                let start = line.offset + (word.as_ptr().addr() - text.as_ptr().addr()) as u64;
                (word, start..start + word.len() as u64)
            })
            .collect();
        let (from, rest) = words.split_first()?;
        Some(self.rule(from.0, rest, location))
    }

    fn rule(
        &mut self,
        from: &str,
        rest: &[Word<'_>],
        location: Location,
    ) -> Result<ListItem, Notice> {
        let refused = |message: &str| Notice::refused(location.clone(), "bad-line", message);
        let left_out = |code, message: &str| Notice::left_out(location.clone(), code, message);
        let url = self.base.join(from).ok().filter(|_| is_place(from));
        let url = url.ok_or_else(|| refused("the line does not begin with a path or a URL"))?;
        let queries = rest.iter().take_while(|(word, _)| !is_place(word));
        let queries = queries.count();
        let mut rest = rest[queries..].iter();
        let Some((to, to_range)) = rest.next() else {
            return Err(refused("the rule has no target"));
        };
        let stated = rest.as_slice().first().and_then(|(word, range)| {
            let status = status_of(word)?;
            // `301!` is a status too.
            Some((status, range.start..range.start + 3))
        });
        let rest = &rest.as_slice()[usize::from(stated.is_some())..];
        if from.contains('*') || from.contains("/:") {
            return Err(left_out("pattern", "the rule is for many URLs"));
        }
        if queries > 0 || url.query().is_some() {
            return Err(left_out("query", "the rule is for some queries"));
        }
        if rest.iter().any(|(word, _)| !word.contains('=')) {
            return Err(refused("the line is not FROM TO STATUS"));
        }
        if !rest.is_empty() {
            return Err(left_out("condition", "the rule is for some visitors"));
        }
        if !self.known.insert(self.hasher.hash_one(url.as_str())) {
            return Err(left_out("shadowed", "a line before has a rule for the URL"));
        }
        let status = stated.as_ref().map(|(status, _)| *status);
        match status {
            None | Some(301 | 302 | 303 | 307 | 308) => {}
            Some(200) => return Err(left_out("rewrite", "the rule does not redirect")),
            Some(_) => return Err(left_out("status", "the rule does not redirect")),
        }
        let mut item = ListItem::new(location, url.as_str())?;
        item.set_redirect(*to, Some(to_range.clone()));
        if let Some(status) = status.or(self.status) {
            item.set_status(status, stated.map(|(_, range)| range));
        }
        Ok(item)
    }
}

/// Whether a word is a path or a URL.
fn is_place(word: &str) -> bool {
    let has = |scheme: &str| {
        let start = word.get(..scheme.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    word.starts_with('/') || has("http://") || has("https://")
}

/// The status of a word such as `301` or `301!`.
fn status_of(word: &str) -> Option<u16> {
    let digits = word.strip_suffix('!').unwrap_or(word);
    let is_status = digits.len() == 3 && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| is_status)
}
