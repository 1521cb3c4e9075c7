//! A promise for each text that a rule matches.

use std::collections::BTreeSet;

use percent_encoding::{percent_decode_str, utf8_percent_encode};
use urldb_canon::identify;

use crate::escape::PATH;
use crate::event::{OutOfWork, RuleEvent, RuleNote, RulePromise};
use crate::flags::{NextRule, is_redirect};
use crate::pattern::{Captures, Pattern};
use crate::rules::{Condition, Folder, Paths, Redirect, RewriteRule, Test};
use crate::target::{Percent, Request, expand, is_absolute, is_accept_alone};
use crate::tree::{Answer, LOOK_UP, Lookup, RuleId, Tree, is_own_host};

/// The header `Accept` of a record without `request-headers`.
const ANY: &str = "*/*";

/// Types that an `Accept` names, the usual ones first.
const TYPES: &[&str] = &[
    "text/html",
    "text/turtle",
    "application/rdf+xml",
    "application/ld+json",
    "application/json",
    "application/n-triples",
    "application/xhtml+xml",
    "application/xml",
    "application/owl+xml",
    "application/trig",
    "text/n3",
    "text/csv",
    "text/plain",
];

/// Most values of `Accept` that are tried for a rule.
const MOST_ACCEPTS: usize = 48;

/// The promises of a tree.
pub(crate) struct Promises<'a> {
    tree: &'a Tree,
    /// The URL of the root, with a final `/`.
    base: &'a str,
    /// The URL of the host, without a final `/`.
    origin: &'a str,
    host: &'a str,
}

/// A rule, and the answer that it promises.
struct Promise<'a> {
    id: RuleId,
    line: u64,
    status: u16,
    /// The target with its variables.
    target: Option<&'a str>,
    /// The only path, without a promise for all below it.
    path: Option<&'a str>,
    /// The pattern of the paths. Without path and pattern, the rule is about all of a folder, without a promise.
    pattern: Option<&'a Pattern>,
    conditions: &'a [Condition],
    percent: Percent,
}

impl Promise<'_> {
    /// The promised paths; `None` if they are too many.
    fn texts(&self) -> Option<Vec<String>> {
        match self.path {
            Some(path) => Some(vec![path.to_owned()]),
            None => self.pattern?.texts(),
        }
    }
}

/// The result for one text of a rule.
enum Outcome {
    Promise(RulePromise),
    Note(RuleNote),
    /// No request reaches the rule at this text.
    Unreachable(String),
}

/// The reason why a rule promises nothing: a code and a sentence.
type LeftOut = (&'static str, &'static str);

impl<'a> Promises<'a> {
    pub(crate) fn new(tree: &'a Tree, base: &'a str, origin: &'a str, host: &'a str) -> Self {
        Self {
            tree,
            base,
            origin,
            host,
        }
    }

    pub(crate) fn read<E: From<OutOfWork>>(
        &self,
        take: &mut dyn FnMut(RuleEvent) -> Result<(), E>,
    ) -> Result<(), E> {
        for (number, folder) in self.tree.rules.iter().enumerate() {
            // The patterns of one folder are in memory at a time.
            self.tree.matcher.forget();
            let is_on = self.tree.in_force(&folder.path).is_on;
            for (index, rule) in folder.rewrites.rules.iter().enumerate() {
                let promise = if is_on {
                    self.of_rewrite(RuleId::Rewrite(number, index), rule)
                } else {
                    Err(("engine-off", "there is no RewriteEngine on"))
                };
                self.rule(folder, rule.line, promise, take)?;
            }
            for (index, redirect) in folder.redirects.iter().enumerate() {
                let promise = of_redirect(RuleId::Redirect(number, index), redirect);
                self.rule(folder, redirect.line, promise, take)?;
            }
        }
        Ok(())
    }

    fn of_rewrite(&self, id: RuleId, rule: &'a RewriteRule) -> Result<Promise<'a>, LeftOut> {
        let flags = &rule.flags;
        if flags.next == NextRule::Proxy {
            return Err(("proxy", "the server asks another server"));
        }
        let (status, target) = match flags.status {
            Some(status) if !(300..400).contains(&status) => (status, None),
            Some(status) if !is_redirect(status) => {
                return Err(("status", "the status is no redirect to another URL"));
            }
            _ if rule.target == "-" => return Err(("internal", "the rule makes no answer")),
            None if !is_absolute(&rule.target) || is_own_host(&rule.target, self.host) => {
                return Err(("internal", "the server itself answers for another path"));
            }
            status => (status.unwrap_or(302), Some(&*rule.target)),
        };
        if flags.escapes_captures && rule.target.contains('$') {
            return Err(("variable", "the target has escaped captures"));
        }
        if rule.is_negated {
            return Err(("pattern", "the pattern is negated"));
        }
        Ok(Promise {
            id,
            line: rule.line,
            status,
            target,
            path: None,
            pattern: Some(&rule.pattern),
            conditions: &rule.conditions,
            percent: Percent::Escape,
        })
    }

    /// Passes on the promises of a rule, or the reasons why there are none.
    fn rule<E: From<OutOfWork>>(
        &self,
        folder: &Folder,
        line: u64,
        promise: Result<Promise<'_>, LeftOut>,
        take: &mut dyn FnMut(RuleEvent) -> Result<(), E>,
    ) -> Result<(), E> {
        let many = "the pattern has more than 16 texts, or is not understood";
        let found = promise.and_then(|it| Ok((it.texts().ok_or(("pattern", many))?, it)));
        let (texts, promise) = match found {
            Ok(found) => found,
            Err((code, why)) => {
                return take(RuleEvent::Note(folder.note(line, code, why)));
            }
        };
        let accepts = self.accepts(folder, promise.conditions);
        let outcomes: Vec<Outcome> = texts
            .iter()
            .map(|text| self.outcome(folder, &promise, text, &accepts))
            .collect();
        // Without work, the answers are not known.
        if self.tree.matcher.is_spent() {
            let file = folder.file.clone();
            return Err(OutOfWork { file, line }.into());
        }
        let is_unreachable = |it: &Outcome| matches!(it, Outcome::Unreachable(_));
        if promise.pattern.is_none_or(Pattern::is_exact) && outcomes.iter().all(is_unreachable) {
            let why = outcomes
                .into_iter()
                .find_map(|it| match it {
                    Outcome::Unreachable(why) => Some(why),
                    _ => None,
                })
                .unwrap_or_else(|| "the pattern matches no path".to_owned());
            let message = format!("no request reaches this rule: {why}");
            return take(RuleEvent::Note(RuleNote {
                is_mistake: true,
                ..folder.note(line, "shadowed-rule", message)
            }));
        }
        for outcome in outcomes {
            take(match outcome {
                Outcome::Promise(promise) => RuleEvent::Promise(promise),
                Outcome::Note(note) => RuleEvent::Note(note),
                Outcome::Unreachable(why) => {
                    RuleEvent::Note(folder.note(line, "shadowed-url", why))
                }
            })?;
        }
        Ok(())
    }

    fn outcome(
        &self,
        folder: &Folder,
        promise: &Promise<'_>,
        text: &str,
        accepts: &[String],
    ) -> Outcome {
        let url = match self.url(folder, promise, text) {
            Ok(url) => url,
            Err(why) => return Outcome::Unreachable(why.to_owned()),
        };
        let path = match identify(&url) {
            Ok(identity) => merged(&decoded(&identity.path)),
            Err(error) => {
                return Outcome::Note(RuleNote {
                    is_mistake: true,
                    ..folder.note(promise.line, error.code(), error.to_string())
                });
            }
        };
        let own = BTreeSet::from([Answer::Rule(promise.id)]);
        let lookup = self.tree.look_up(&path);
        let is_own = |accept: &&String| {
            lookup
                .as_ref()
                .is_some_and(|it| it.answers(self.host, Some(accept), None) == own)
        };
        let Some(accept) = accepts.iter().find(is_own) else {
            return self.unreached(folder, promise, &url, &path);
        };
        let request = Request {
            host: self.host,
            path: path.clone(),
            accept: Some(accept),
        };
        let target = promise
            .target
            .map(|it| self.target(it, promise, text, &request));
        match target.transpose() {
            Ok(target) => Outcome::Promise(RulePromise {
                file: folder.file.clone(),
                line: promise.line,
                url,
                status: promise.status,
                target,
                accept: Some(accept).filter(|accept| *accept != ANY).cloned(),
            }),
            Err((code, why)) => Outcome::Note(folder.note(promise.line, code, why)),
        }
    }

    /// The URL of a text; a sentence if no URL can have it.
    fn url(
        &self,
        folder: &Folder,
        promise: &Promise<'_>,
        text: &str,
    ) -> Result<String, &'static str> {
        if text.contains('?') {
            return Err("rules look at the path, which has no query");
        }
        match promise.id {
            RuleId::Rewrite(..) => {
                let below = utf8_percent_encode(&folder.path, PATH);
                Ok(format!("{}{below}{}", self.base, escaped(text)))
            }
            RuleId::Redirect(..) if text.starts_with('/') => {
                Ok(format!("{}{}", self.origin, escaped(text)))
            }
            RuleId::Redirect(..) => Err("the path does not begin with /"),
        }
    }

    /// The result for a path with which no tried request reaches the rule.
    fn unreached(&self, folder: &Folder, promise: &Promise<'_>, url: &str, path: &str) -> Outcome {
        let lookup = self.tree.look_up(path);
        let answers = |lookup: &Lookup<'_>| lookup.answers(self.host, None, Some(promise.id));
        let others = lookup.as_ref().map(answers).unwrap_or_default();
        let is_reached = |answers: &BTreeSet<Answer>| {
            answers.contains(&Answer::Unknown) || answers.contains(&Answer::Rule(promise.id))
        };
        if is_reached(&others) {
            let why = "the answer depends on more than the URL and Accept";
            return Outcome::Note(folder.note(promise.line, "condition", why));
        }
        let why = self.other_answer(folder, promise, url, lookup.as_ref(), &others);
        let is_reached_below = promise.path.is_some()
            && ["/", "/-/-"].iter().any(|end| {
                let path = format!("{path}{end}");
                self.tree
                    .look_up(&path)
                    .as_ref()
                    .map(answers)
                    .is_some_and(|it| is_reached(&it))
            });
        if is_reached_below {
            Outcome::Note(folder.note(promise.line, "shadowed-url", why))
        } else {
            Outcome::Unreachable(why)
        }
    }

    /// A sentence about the rules that answer in place of one.
    fn other_answer(
        &self,
        folder: &Folder,
        promise: &Promise<'_>,
        url: &str,
        lookup: Option<&Lookup<'_>>,
        answers: &BTreeSet<Answer>,
    ) -> String {
        let decides = lookup
            .and_then(Lookup::file)
            .filter(|file| **file != *folder.file);
        if let (RuleId::Rewrite(..), Some(file)) = (promise.id, decides) {
            return format!(
                "{file} has rules of its own, which replace those of its parent for {url}"
            );
        }
        let mut rules = answers.iter().filter_map(|it| match it {
            Answer::Rule(id) => Some(self.place(*id)),
            Answer::File | Answer::Unknown => None,
        });
        match rules.next() {
            Some(place) => format!("{url} is answered by {place}"),
            None => format!("it does not match the path of {url}, as the server sees it"),
        }
    }

    /// The URL to which a rule redirects a path.
    fn target(
        &self,
        template: &str,
        promise: &Promise<'_>,
        text: &str,
        request: &Request<'_>,
    ) -> Result<String, LeftOut> {
        let target = match promise.pattern {
            None => template.to_owned(),
            Some(pattern) => {
                let captures = self.tree.matcher.find(pattern, &decoded(text)).captures();
                let is_known = captures.is_some() || !template.contains('$');
                let captures: Captures = captures.unwrap_or_default();
                let target = expand(template, request, &captures, promise.percent);
                let why = "the target has a variable";
                target.filter(|_| is_known).ok_or(("variable", why))?
            }
        };
        let target = match target.strip_suffix('?') {
            // A question mark at the end drops the query of the request.
            Some(target) if promise.percent == Percent::Escape => target,
            _ => &target,
        };
        let target = if target.starts_with('/') && !target.starts_with("//") {
            format!("{}{target}", self.origin)
        } else {
            target.to_owned()
        };
        let is_url = is_absolute(&target) && url::Url::parse(&target).is_ok();
        Some(target)
            .filter(|_| is_url)
            .ok_or(("target", "the target is no URL of the web"))
    }

    /// The file and the line of a rule.
    fn place(&self, id: RuleId) -> String {
        let (RuleId::Rewrite(folder, index) | RuleId::Redirect(folder, index)) = id;
        let folder = &self.tree.rules[folder];
        let line = match id {
            RuleId::Rewrite(..) => folder.rewrites.rules[index].line,
            RuleId::Redirect(..) => folder.redirects[index].line,
        };
        format!("{}:{line}", folder.file)
    }

    /// The values of `Accept` that are tried: those without which the rules of the folder cannot be told apart.
    fn accepts(&self, folder: &Folder, conditions: &[Condition]) -> Vec<String> {
        let rules = self.tree.in_force(&folder.path).rules;
        self.tree.matcher.spend(LOOK_UP * rules.len() as u64);
        let mut all = rules.iter().flat_map(|(_, rule)| &rule.conditions);
        let mut accepts = vec![ANY.to_owned()];
        if !all.any(|it| is_accept_alone(&it.subject)) {
            return accepts;
        }
        accepts.extend(TYPES.iter().map(|it| (*it).to_owned()));
        let samples: Vec<Vec<String>> = conditions
            .iter()
            .filter(|it| is_accept_alone(&it.subject) && !it.is_negated)
            .map(|it| match &it.test {
                Test::Matches(pattern) => pattern.samples(),
                Test::Equals(text) => vec![text.clone()],
                Test::Other => vec![],
            })
            .collect();
        let together: Vec<&str> = samples
            .iter()
            .filter_map(|it| it.first())
            .map(String::as_str)
            .collect();
        accepts.extend(samples.iter().flatten().cloned());
        accepts.push(together.join(", "));
        accepts.retain(|it| is_field_value(it));
        accepts.truncate(MOST_ACCEPTS);
        accepts
    }
}

fn of_redirect(id: RuleId, redirect: &Redirect) -> Result<Promise<'_>, LeftOut> {
    if (300..400).contains(&redirect.status) && !is_redirect(redirect.status) {
        return Err(("status", "the status is no redirect to another URL"));
    }
    let (path, pattern) = match &redirect.paths {
        Paths::Whole => (None, None),
        Paths::Below(path) => (Some(&**path), None),
        Paths::Matching(pattern) => (None, Some(pattern)),
    };
    Ok(Promise {
        id,
        line: redirect.line,
        status: redirect.status,
        target: redirect.target.as_deref(),
        path,
        pattern,
        conditions: &[],
        percent: Percent::Plain,
    })
}

/// Whether a text can be the value of a header.
fn is_field_value(text: &str) -> bool {
    !text.is_empty() && text.trim() == text && text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

/// A path as a URL has it; escapes stay.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for (index, part) in text.split('%').enumerate() {
        let is_escape = part
            .as_bytes()
            .first_chunk::<2>()
            .is_some_and(|it| it.iter().all(u8::is_ascii_hexdigit));
        if index > 0 {
            escaped.push_str(if is_escape { "%" } else { "%25" });
        }
        escaped.extend(utf8_percent_encode(part, PATH));
    }
    escaped
}

/// A path without escapes.
pub(crate) fn decoded(path: &str) -> String {
    percent_decode_str(path).decode_utf8_lossy().into_owned()
}

/// A path as the server sees it: of several slashes one is left.
fn merged(path: &str) -> String {
    let mut merged = String::new();
    for char in path.chars() {
        if char != '/' || !merged.ends_with('/') {
            merged.push(char);
        }
    }
    merged
}
