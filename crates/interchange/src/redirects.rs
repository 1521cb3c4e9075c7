//! `_redirects` of static sites: `FROM TO [STATUS]` on each line, as Netlify, Cloudflare Pages and GitLab Pages read it.
//!
//! The first rule of a URL counts, whether its own path or one with `*` or `:name` matches.

use std::collections::HashSet;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{BufRead, BufReader};
use std::ops::Range;
use std::sync::Arc;

use url::{Origin, Url};

use crate::budget::Budget;
use crate::file_events::{FileEvents, FileLine};
use crate::input::LimitedReader;
use crate::model::{ListItem, Location, Notice, ReadError, Sink};
use crate::scheme::is_http;

/// The size limit of a file. Hosts take at most some thousand rules.
const MAX_FILE: u64 = 16 << 20;

/// Most rules with `*` or `:name` of a file. Hosts take some thousand rules.
const MOST_PATTERNS: usize = 10_000;

/// The units of work to compare a rule with another, or a byte of its path.
const COMPARISON: u64 = 10;

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
/// status 200 (`rewrite`) or one that is no redirect (`status`), all but the first rule of a URL, and those in whose place
/// an earlier `*` or `:name` may answer (`shadowed`). Refused are rules in whose place one of these always answers
/// (`shadowed-rule`).
///
/// # Errors
/// [`ReadError::Malformed`] if `base` is no URL, or to compare the rules takes too much work; [`ReadError::Input`] if the file is
/// larger than 16 MiB.
pub fn read(
    input: impl BufRead,
    file: &Arc<str>,
    base: &str,
    budget: &Budget,
    sink: &mut Sink<'_>,
) -> Result<(), ReadError> {
    let base = Url::parse(base).map_err(|error| {
        let message = format!("{base} is not the URL of a site: {error}");
        ReadError::malformed(file, 1, message)
    })?;
    let host = base.host_str().unwrap_or_default();
    let status = HOSTS.iter().find(|(domain, _)| host.ends_with(domain));
    let mut site = Site {
        status: status.map(|(_, status)| *status),
        base,
        hasher: RandomState::new(),
        known: HashSet::new(),
        patterns: vec![],
        comparisons: 0,
    };
    let input = BufReader::new(LimitedReader::new(input, MAX_FILE));
    FileEvents { file, sink }.each_line(input, &mut |line, events| {
        let location = events.at(line.number);
        let found = site.line(&line, location.clone());
        let malformed = |message| ReadError::Malformed { location, message };
        if site.patterns.len() > MOST_PATTERNS {
            let message =
                format!("the file has more than {MOST_PATTERNS} rules with `*` or `:name`");
            return Err(malformed(message));
        }
        budget
            .spend(std::mem::take(&mut site.comparisons))
            .map_err(|exhausted| malformed(exhausted.to_string()))?;
        found.map_or(Ok(()), |found| events.pass(found))
    })
}

struct Site {
    base: Url,
    /// The status of rules that name none.
    status: Option<u16>,
    hasher: RandomState,
    /// The hashes of the URLs that have a rule.
    known: HashSet<u64>,
    /// The rules for many URLs.
    patterns: Vec<PatternRule>,
    /// The work of comparing a rule with these.
    comparisons: u64,
}

/// A rule with `*` or `:name`.
struct PatternRule {
    line: u64,
    /// The scheme and the host.
    origin: Origin,
    /// The path with its `*` and `:name`.
    path: String,
    /// The length of the path before these.
    start: usize,
    /// Whether the rule counts even where the site has a file.
    is_forced: bool,
    /// Whether the host of the site may ignore the rule, or some visitors do not see it.
    is_doubtful: bool,
}

impl PatternRule {
    /// Whether a path begins as those of the rule do.
    fn is_near(&self, path: &str) -> bool {
        self.path
            .get(..self.start)
            .is_some_and(|start| path.starts_with(start))
    }

    /// Whether the rule answers for a path of its site: `None` if not, and `Some(false)` if that is not certain.
    fn answers(&self, path: &str, is_forced: bool) -> Option<bool> {
        let is_certain = !self.is_doubtful && (self.is_forced || !is_forced);
        let mut segments = path.split('/');
        let mut wanted = self.path.split('/').peekable();
        while let Some(part) = wanted.next() {
            let is_last = wanted.peek().is_none();
            let segment = segments.next()?;
            match part {
                "*" if is_last => return Some(is_certain),
                // Hosts differ in the meaning of any other place.
                _ if part.contains('*') => return Some(false),
                _ if part.strip_prefix(':').is_some_and(is_name) && segment.is_empty() => {
                    return None;
                }
                _ if part.strip_prefix(':').is_some_and(is_name) => {}
                _ if part.starts_with(':') => return Some(false),
                _ if part != segment => return None,
                _ => {}
            }
        }
        segments.next().is_none().then_some(is_certain)
    }
}

/// Whether a text can be the name of a placeholder.
fn is_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// A word of a line, and its place in the file.
type Word<'a> = (&'a str, Range<u64>);

impl Site {
    /// The item of a line; `None` for a line without a rule.
    fn line(
        &mut self,
        line: &FileLine<'_>,
        location: Location,
    ) -> Option<Result<ListItem, Notice>> {
        let text = line.text;
        let words: Vec<Word> = text
            .strip_prefix('\u{feff}')
            .unwrap_or(text)
            .split_ascii_whitespace()
            .take_while(|word| !word.starts_with('#'))
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
        let url = self
            .base
            .join(from)
            .ok()
            .filter(|_| is_place(from))
            .ok_or_else(|| refused("the line does not begin with a path or a URL"))?;
        let queries = rest.iter().take_while(|(word, _)| !is_place(word)).count();
        let mut rest = rest[queries..].iter();
        let Some((to, to_range)) = rest.next() else {
            return Err(refused("the rule has no target"));
        };
        let stated = rest.as_slice().first().and_then(|(word, range)| {
            let status = status_of(word)?;
            // `301!` is a status too.
            Some((status, range.start..range.start + 3))
        });
        let word = rest.as_slice().first().filter(|_| stated.is_some());
        let is_forced = word.is_some_and(|(word, _)| word.ends_with('!'));
        let status = stated.as_ref().map(|(status, _)| *status);
        let rest = &rest.as_slice()[usize::from(stated.is_some())..];
        if from.contains('*') || from.contains("/:") {
            if queries == 0 && url.query().is_none() {
                let conditions = rest.iter().map(|(word, _)| *word);
                self.add_pattern(&location, &url, (to, status, is_forced), conditions);
            }
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
        match status {
            None | Some(301 | 302 | 303 | 307 | 308) => {}
            Some(200) => return Err(left_out("rewrite", "the rule does not redirect")),
            Some(_) => return Err(left_out("status", "the rule does not redirect")),
        }
        self.refuse_shadowed(&location, &url, is_forced)?;
        let mut item = ListItem::new(location, url.as_str())?;
        item.set_redirect(*to, Some(to_range.clone()));
        if let Some(status) = status.or(self.status) {
            item.set_status(status, stated.map(|(_, range)| range));
        }
        Ok(item)
    }
}

impl Site {
    /// Keeps a rule with `*` or `:name`: its URL, target, status, and whether it is forced.
    fn add_pattern<'a>(
        &mut self,
        location: &Location,
        url: &Url,
        (to, status, is_forced): (&str, Option<u16>, bool),
        mut conditions: impl Iterator<Item = &'a str> + Clone,
    ) {
        // urldb sends neither a language nor a cookie, but a server may know its country.
        let is_of_country = |word: &str| word.starts_with("Country=");
        if conditions.clone().any(|word| !is_of_country(word)) {
            return;
        }
        let path = url.path();
        let mut rule = PatternRule {
            line: location.line_number() as u64,
            origin: url.origin(),
            start: path.find(['*', ':']).unwrap_or(path.len()),
            path: path.to_owned(),
            is_forced,
            is_doubtful: conditions.next().is_some(),
        };
        // Some hosts ignore a rewrite to a path of its own, and rules of other statuses.
        rule.is_doubtful |= match status {
            None | Some(301 | 302 | 303 | 307 | 308) => false,
            Some(200) => self
                .base
                .join(to)
                .is_ok_and(|to| rule.answers(to.path(), false).is_some()),
            Some(_) => true,
        };
        self.patterns.push(rule);
    }

    /// Refuses a rule in whose place an earlier one with `*` or `:name` answers, and leaves out one in whose place one may.
    fn refuse_shadowed(
        &mut self,
        location: &Location,
        url: &Url,
        is_forced: bool,
    ) -> Result<(), Notice> {
        let (path, origin) = (url.path(), url.origin());
        let mut doubt = None;
        for rule in &self.patterns {
            self.comparisons += COMPARISON;
            if !rule.is_near(path) || rule.origin != origin {
                continue;
            }
            self.comparisons += COMPARISON * path.len() as u64;
            match rule.answers(path, is_forced) {
                Some(true) => {
                    let message = format!(
                        "no request reaches this rule: {url} is answered by line {}",
                        rule.line
                    );
                    let location = location.clone();
                    return Err(Notice::refused(location, "shadowed-rule", message));
                }
                Some(false) => doubt = doubt.or(Some(rule.line)),
                None => {}
            }
        }
        let Some(line) = doubt else {
            return Ok(());
        };
        let message = format!("line {line} may answer for the URL before");
        Err(Notice::left_out(location.clone(), "shadowed", message))
    }
}

/// Whether a word is a path or a URL.
fn is_place(word: &str) -> bool {
    word.starts_with('/') || is_http(word)
}

/// The status of a word such as `301` or `301!`.
fn status_of(word: &str) -> Option<u16> {
    let digits = word.strip_suffix('!').unwrap_or(word);
    let is_status = digits.len() == 3 && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| is_status)
}
