//! The answer of Apache to a request, as far as the rules of a tree tell it.
//!
//! A condition or a pattern may be unknown: it is about the files of the server, or in another dialect. Then both
//! ways are followed, and the answer is a set.

use std::collections::{BTreeMap, BTreeSet};

use crate::flags::{NextRule, is_redirect};
use crate::pattern::{Captures, Match, Matcher};
use crate::rules::{Condition, Folder, Paths, Redirect, RewriteRule, Test};
use crate::target::{Percent, Request, expand, is_absolute};

/// The units of work to look at a rule on one way.
const STEP: u64 = 500;

/// The units of work to look up a rule of a path.
pub(crate) const LOOK_UP: u64 = 10;

/// Most ways that are followed for one request.
const MOST_WAYS: usize = 64;

/// A rule: the number of its folder, and its own in the folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RuleId {
    Rewrite(usize, usize),
    Redirect(usize, usize),
}

/// The part of the server that answers a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Answer {
    Rule(RuleId),
    /// No rule: a file, an error, or a slash that is added to the name of a folder.
    File,
    Unknown,
}

/// The rules of all folders.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    /// In the order of their paths.
    folders: BTreeMap<String, usize>,
    pub(crate) rules: Vec<Folder>,
    pub(crate) matcher: Matcher,
    /// The decoded path of the root's URL, with a final `/`.
    pub(crate) root: String,
}

/// The rules of `mod_rewrite` that are in force in a folder.
#[derive(Debug, Default)]
pub(crate) struct RulesInForce<'a> {
    /// The path of the folder: the patterns search what is below it.
    pub(crate) path: &'a str,
    /// The file that ended the rules of the folders above.
    pub(crate) file: Option<&'a str>,
    pub(crate) is_on: bool,
    options: Vec<String>,
    pub(crate) rules: Vec<(RuleId, &'a RewriteRule)>,
}

/// A way through the rules.
#[derive(Debug, Clone)]
struct Way {
    /// The next rule.
    at: usize,
    /// The path that patterns search. After a redirect without `L` that is its target, perhaps with the end of the path.
    paths: Vec<String>,
    /// The redirect that is made if no other rule matches.
    redirect: Option<RuleId>,
}

/// The effect of a rule that matches.
enum Step {
    Done(Answer),
    /// No redirect of `mod_rewrite`.
    Declined,
    Next(Way),
}

impl Tree {
    pub(crate) fn add(&mut self, folder: Folder) {
        self.folders.insert(folder.path.clone(), self.rules.len());
        self.rules.push(folder);
    }

    /// The folders with rules around a path without its first slash, the root first.
    fn around<'a>(&'a self, path: &'a str) -> impl DoubleEndedIterator<Item = (usize, &'a Folder)> {
        let ends: Vec<usize> = path.match_indices('/').map(|(at, _)| at + 1).collect();
        std::iter::once("")
            .chain(ends.into_iter().map(|end| &path[..end]))
            .filter_map(|path| self.folders.get(path).copied())
            .filter_map(|number| Some((number, self.rules.get(number)?)))
    }

    /// The rules that are in force for a path without its first slash. A folder with a directive of `mod_rewrite` ends
    /// those of its parent, unless it inherits them.
    pub(crate) fn in_force<'a>(&'a self, path: &'a str) -> RulesInForce<'a> {
        let mut all = RulesInForce::default();
        for (number, folder) in self.around(path) {
            let rewrites = &folder.rewrites;
            if !rewrites.are_there {
                continue;
            }
            let options = rewrites.options.as_ref().unwrap_or(&all.options).clone();
            let has = |options: &[String], name: &str| options.iter().any(|it| it == name);
            let is_handed_down =
                |name: &str| has(&all.options, name) && !has(&options, "ignoreinherit");
            let is_behind = has(&options, "inherit") || is_handed_down("inheritdown");
            let is_before = has(&options, "inheritbefore") || is_handed_down("inheritdownbefore");
            let own = rewrites
                .rules
                .iter()
                .enumerate()
                .map(|(index, rule)| (RuleId::Rewrite(number, index), rule));
            let inherited = std::mem::take(&mut all.rules);
            all.rules = if is_behind {
                own.chain(inherited).collect()
            } else if is_before {
                inherited.into_iter().chain(own).collect()
            } else {
                own.collect()
            };
            all.path = &folder.path;
            all.file = Some(&folder.file);
            all.is_on = rewrites.engine.unwrap_or(all.is_on);
            all.options = options;
        }
        all
    }

    /// Finds the rules that decide about a decoded path; `None` for a path that is not below the root.
    pub(crate) fn look_up<'a>(&'a self, path: &'a str) -> Option<Lookup<'a>> {
        let below_root = path.strip_prefix(&*self.root)?;
        let as_folder = format!("{below_root}/");
        let own = self.folders.get_key_value(&*as_folder);
        let around = own.map_or(below_root, |(folder, _)| folder);
        let rules = self.in_force(around);
        self.matcher.spend(LOOK_UP * rules.rules.len() as u64);
        let below = below_root.strip_prefix(rules.path).unwrap_or(below_root);
        let may_match = |(number, (_, rule)): (usize, &(RuleId, &RewriteRule))| {
            let found = self.matcher.is_match(&rule.pattern, below);
            let is_certain = found == Some(rule.is_negated);
            (!is_certain || rule.flags.is_chained).then_some(number)
        };
        Some(Lookup {
            tree: self,
            path,
            around,
            is_name: own.is_some(),
            below,
            may_match: rules
                .rules
                .iter()
                .enumerate()
                .filter_map(may_match)
                .collect(),
            rules,
        })
    }

    /// Whether a rule matches, and the captures of its pattern; each is `None` if it is not known.
    fn find(
        &self,
        rule: &RewriteRule,
        way: &Way,
        request: &Request<'_>,
        is_assumed: bool,
    ) -> (Option<bool>, Option<Captures>) {
        let mut found: Vec<Match> = way
            .paths
            .iter()
            .map(|path| self.search(rule, path))
            .collect();
        let is_match = |it: &Match| it.is_match().map(|it| it != rule.is_negated);
        let first = found.first().and_then(is_match);
        let pattern = first.filter(|_| found.iter().all(|it| is_match(it) == first));
        let captures = found
            .pop()
            .filter(|_| found.is_empty() && !rule.is_negated)
            .and_then(Match::captures);
        let conditions = if is_assumed {
            None
        } else {
            self.holds(&rule.conditions, request, captures.as_ref())
        };
        (both(pattern, conditions), captures)
    }

    /// Searches a path for the pattern of a rule. Captures that no text of the rule names are not found.
    fn search(&self, rule: &RewriteRule, path: &str) -> Match {
        let mut subjects = rule.conditions.iter().map(|it| &it.subject);
        if rule.target.contains('$') || subjects.any(|it| it.contains('$')) {
            return self.matcher.find(&rule.pattern, path);
        }
        match self.matcher.is_match(&rule.pattern, path) {
            None => Match::Unknown,
            Some(false) => Match::No,
            Some(true) => Match::Yes(Captures::new()),
        }
    }

    /// Whether the conditions hold: each of them, or one of those that `[OR]` joins.
    fn holds(
        &self,
        conditions: &[Condition],
        request: &Request<'_>,
        captures: Option<&Captures>,
    ) -> Option<bool> {
        conditions
            .chunk_by(|one, _| one.is_or)
            .map(|group| {
                group
                    .iter()
                    .map(|it| self.condition(it, request, captures))
                    .reduce(either)
                    .unwrap_or(Some(true))
            })
            .reduce(both)
            .unwrap_or(Some(true))
    }

    fn condition(
        &self,
        condition: &Condition,
        request: &Request<'_>,
        captures: Option<&Captures>,
    ) -> Option<bool> {
        self.matcher.spend(STEP);
        let has_capture = condition.subject.contains('$');
        let none = Captures::new();
        let captures = captures.or(Some(&none).filter(|_| !has_capture))?;
        let subject = expand(&condition.subject, request, captures, Percent::Capture)?;
        let holds = match &condition.test {
            Test::Matches(pattern) => self.matcher.is_match(pattern, &subject)?,
            Test::Equals(text) => subject == *text,
            Test::Other => return None,
        };
        Some(holds != condition.is_negated)
    }

    /// The answer of `mod_alias`: a redirect of a whole folder, or the first redirect of the deepest folder.
    fn redirect(&self, around: &str, path: &str) -> Answer {
        let folders = || self.around(around).rev();
        let whole = folders().find_map(|(number, folder)| {
            let is_whole = |it: &Redirect| matches!(it.paths, Paths::Whole);
            let index = folder.redirects.iter().rposition(is_whole)?;
            Some(RuleId::Redirect(number, index))
        });
        if let Some(whole) = whole {
            return Answer::Rule(whole);
        }
        for (number, folder) in folders() {
            for (index, redirect) in folder.redirects.iter().enumerate() {
                match self.is_at(&redirect.paths, path) {
                    Some(true) => return Answer::Rule(RuleId::Redirect(number, index)),
                    Some(false) => {}
                    None => return Answer::Unknown,
                }
            }
        }
        Answer::File
    }

    fn is_at(&self, paths: &Paths, path: &str) -> Option<bool> {
        match paths {
            Paths::Whole => Some(false),
            Paths::Matching(pattern) => self.matcher.is_match(pattern, path),
            Paths::Below(start) => {
                if !self.matcher.spend(LOOK_UP) {
                    return None;
                }
                let rest = path.strip_prefix(&**start);
                Some(
                    rest.is_some_and(|it| {
                        it.is_empty() || it.starts_with('/') || start.ends_with('/')
                    }),
                )
            }
        }
    }
}

/// The rules that decide about a path.
pub(crate) struct Lookup<'a> {
    tree: &'a Tree,
    /// The decoded path.
    path: &'a str,
    /// The path below the root; of a folder with a final `/`.
    around: &'a str,
    /// Whether the path is the name of a folder with rules, without a slash.
    is_name: bool,
    /// The path that the patterns search.
    below: &'a str,
    rules: RulesInForce<'a>,
    /// The numbers of the rules that may match, and of those without which the next one is skipped.
    may_match: Vec<usize>,
}

impl Lookup<'_> {
    /// The file whose rules of `mod_rewrite` are in force.
    pub(crate) fn file(&self) -> Option<&str> {
        self.rules.file
    }

    /// The possible answers to a request with this `Accept` (`None` for any request) for the path. The conditions of the
    /// rule `assumed` count as unknown.
    pub(crate) fn answers(
        &self,
        host: &str,
        accept: Option<&str>,
        assumed: Option<RuleId>,
    ) -> BTreeSet<Answer> {
        let mut around = self.tree.around(self.around);
        if around.any(|(_, folder)| folder.is_doubtful) {
            return [Answer::Unknown].into();
        }
        let request = Request {
            host,
            path: self.path.to_owned(),
            accept,
        };
        let mut answers = BTreeSet::new();
        // Apache adds the slash to the name of a folder that has rules before they are looked at.
        let is_own_name = self.is_name && self.rules.path == self.around;
        let allows_no_slash = self.rules.options.iter().any(|it| it == "allownoslash");
        if self.rules.is_on && !is_own_name {
            self.rewrite(&request, assumed, &mut answers);
        } else if is_own_name && allows_no_slash {
            answers.insert(Answer::Unknown);
        } else {
            answers.insert(Answer::File);
        }
        if answers.remove(&Answer::File) {
            answers.insert(self.tree.redirect(self.around, self.path));
        }
        answers
    }

    /// Adds the possible answers of `mod_rewrite`; [`Answer::File`] if none.
    fn rewrite(
        &self,
        request: &Request<'_>,
        assumed: Option<RuleId>,
        answers: &mut BTreeSet<Answer>,
    ) {
        let rules = &self.rules.rules;
        let start = Way {
            at: 0,
            paths: vec![self.below.to_owned()],
            redirect: None,
        };
        let (mut ways, mut number) = (vec![start], 1);
        while let Some(mut way) = ways.pop() {
            if !self.tree.matcher.spend(STEP) {
                answers.insert(Answer::Unknown);
                return;
            }
            if way.redirect.is_none() {
                way.at = self.next(way.at);
            }
            let Some((id, rule)) = rules.get(way.at).copied() else {
                answers.insert(way.redirect.map_or(Answer::File, Answer::Rule));
                continue;
            };
            let (is_match, captures) = self.tree.find(rule, &way, request, assumed == Some(id));
            if is_match != Some(true) {
                let mut unmatched = way.clone();
                unmatched.at = behind_chain(rules, way.at);
                ways.push(unmatched);
            }
            if is_match == Some(false) {
                continue;
            }
            number += usize::from(is_match.is_none());
            if number > MOST_WAYS {
                answers.insert(Answer::Unknown);
                return;
            }
            way.at += 1;
            match step(id, rule, way, request, captures.as_ref()) {
                Step::Done(answer) => drop(answers.insert(answer)),
                Step::Declined => drop(answers.insert(Answer::File)),
                Step::Next(way) => ways.push(way),
            }
        }
    }

    /// The first rule at or behind a number that may match the path.
    fn next(&self, at: usize) -> usize {
        let index = self.may_match.partition_point(|number| *number < at);
        self.may_match
            .get(index)
            .copied()
            .unwrap_or(self.rules.rules.len())
    }
}

/// Whether both are the case; `None` if that is not known.
fn both(one: Option<bool>, other: Option<bool>) -> Option<bool> {
    match (one, other) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

/// Whether one is the case.
fn either(one: Option<bool>, other: Option<bool>) -> Option<bool> {
    both(one.map(|it| !it), other.map(|it| !it)).map(|it| !it)
}

/// The number of the rule after one that does not match: the rules that are chained to it are skipped.
fn behind_chain(rules: &[(RuleId, &RewriteRule)], at: usize) -> usize {
    let chained = rules[at..]
        .iter()
        .take_while(|(_, rule)| rule.flags.is_chained);
    at + chained.count() + 1
}

/// The effect of a rule that matches; the way is at the next one.
fn step(
    id: RuleId,
    rule: &RewriteRule,
    mut way: Way,
    request: &Request<'_>,
    captures: Option<&Captures>,
) -> Step {
    let is_end = rule.flags.next == NextRule::End;
    match rule.flags.next {
        NextRule::Proxy | NextRule::Again => return Step::Done(Answer::Unknown),
        NextRule::Next | NextRule::End => way.at += rule.flags.skipped,
    }
    match rule.flags.status {
        Some(status) if !(300..400).contains(&status) => return Step::Done(Answer::Rule(id)),
        // A redirect to where the request is already.
        Some(_) if rule.target == "-" => return Step::Done(Answer::Unknown),
        _ => {}
    }
    if rule.target == "-" {
        return match (is_end, way.redirect) {
            (false, _) => Step::Next(way),
            (true, Some(redirect)) => Step::Done(Answer::Rule(redirect)),
            (true, None) => Step::Declined,
        };
    }
    let none = Captures::new();
    let is_known = captures.is_some() || !rule.target.contains('$');
    let captures = captures.unwrap_or(&none);
    let target = expand(&rule.target, request, captures, Percent::Capture).filter(|_| is_known);
    let start = target.as_deref().unwrap_or(&rule.target);
    let is_explicit = rule.flags.status.is_some_and(is_redirect);
    let is_own = is_own_host(start, request.host);
    if !is_explicit && (!is_absolute(start) || is_own) {
        // The server begins anew with another path.
        return Step::Done(Answer::Unknown);
    }
    if is_end {
        return Step::Done(Answer::Rule(id));
    }
    let Some(target) = target.filter(|it| is_absolute(it)) else {
        return Step::Done(Answer::Unknown);
    };
    way.redirect = Some(id);
    way.paths = targets_with_ends(&target, &request.path);
    Step::Next(way)
}

/// Whether a target is on the server itself.
pub(crate) fn is_own_host(target: &str, host: &str) -> bool {
    target
        .split_once("://")
        .map_or("", |(_, rest)| rest)
        .split(['/', '?', '#'])
        .next()
        .unwrap_or_default()
        .split(':')
        .next()
        .unwrap_or_default()
        .eq_ignore_ascii_case(host)
}

/// The texts that later rules see after a redirect: the target, and behind it that end of the path for which the server
/// has no file.
fn targets_with_ends(target: &str, path: &str) -> Vec<String> {
    let target = target.split('?').next().unwrap_or_default();
    let ends = path.match_indices('/').skip(1).map(|(at, _)| &path[at..]);
    std::iter::once("")
        .chain(ends)
        .map(|end| format!("{target}{end}"))
        .collect()
}
