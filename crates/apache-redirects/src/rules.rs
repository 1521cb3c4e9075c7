//! The rules of a `.htaccess` file: the directives of `mod_rewrite` and `mod_alias`.

use std::sync::Arc;

use crate::event::RuleNote;
use crate::flags::{ConditionFlags, RuleFlags, status_of};
use crate::lines::{self, Directive, raw_words, words};
use crate::pattern::Pattern;

/// The rules of one folder.
#[derive(Debug)]
pub(crate) struct Folder {
    /// The path below the root: empty, or with a final `/`.
    pub(crate) path: String,
    /// The name of the file.
    pub(crate) file: Arc<str>,
    pub(crate) rewrites: Rewrites,
    pub(crate) redirects: Vec<Redirect>,
    /// Whether a rule may be in force or not, since it is in a section whose condition is not known.
    pub(crate) is_doubtful: bool,
}

/// The directives of `mod_rewrite`.
#[derive(Debug, Default)]
pub(crate) struct Rewrites {
    /// Whether there is any. Then the rules of the parent folder are not in force.
    pub(crate) are_there: bool,
    /// The value of `RewriteEngine`.
    pub(crate) engine: Option<bool>,
    /// The words of `RewriteOptions`, in lower case.
    pub(crate) options: Option<Vec<String>>,
    pub(crate) rules: Vec<RewriteRule>,
}

/// A `RewriteRule` with its conditions.
#[derive(Debug)]
pub(crate) struct RewriteRule {
    pub(crate) line: u64,
    pub(crate) pattern: Pattern,
    /// `!` before the pattern.
    pub(crate) is_negated: bool,
    pub(crate) target: String,
    pub(crate) flags: RuleFlags,
    pub(crate) conditions: Vec<Condition>,
}

/// A `RewriteCond`.
#[derive(Debug)]
pub(crate) struct Condition {
    /// The text that is looked at, with its variables.
    pub(crate) subject: String,
    pub(crate) test: Test,
    pub(crate) is_negated: bool,
    pub(crate) is_or: bool,
}

#[derive(Debug)]
pub(crate) enum Test {
    Matches(Pattern),
    Equals(String),
    /// A test of files, numbers or an expression.
    Other,
}

/// A `Redirect` or `RedirectMatch`.
#[derive(Debug)]
pub(crate) struct Redirect {
    pub(crate) line: u64,
    pub(crate) paths: Paths,
    pub(crate) status: u16,
    /// The target; none for a status that is no redirect.
    pub(crate) target: Option<String>,
}

/// The URLs of a redirect.
#[derive(Debug)]
pub(crate) enum Paths {
    /// All of the folder. Such a redirect comes before all others.
    Whole,
    /// The path, and all below it.
    Below(String),
    Matching(Pattern),
}

impl Folder {
    /// The note that a line promises nothing.
    pub(crate) fn note(&self, line: u64, code: &'static str, why: impl Into<String>) -> RuleNote {
        RuleNote {
            file: Arc::clone(&self.file),
            line,
            code,
            message: why.into(),
            is_mistake: false,
        }
    }
}

/// Reads the rules of a file.
pub(crate) fn read(
    lines: impl IntoIterator<Item = Result<String, &'static str>>,
    path: &str,
    file: &Arc<str>,
    notes: &mut Vec<RuleNote>,
) -> Folder {
    let mut parser = Parser {
        folder: Folder {
            path: path.to_owned(),
            file: Arc::clone(file),
            rewrites: Rewrites::default(),
            redirects: vec![],
            is_doubtful: false,
        },
        conditions: vec![],
        sections: vec![],
        notes,
    };
    lines::read(lines, &mut parser, Parser::take, |parser, line, why| {
        parser.refuse(line, "bad-line", why);
    });
    parser.folder
}

struct Parser<'a> {
    folder: Folder,
    /// The conditions of the next rule.
    conditions: Vec<Condition>,
    /// The open sections.
    sections: Vec<Section>,
    notes: &'a mut Vec<RuleNote>,
}

/// A section of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Section {
    InForce,
    Ignored,
    Unknown,
}

impl Section {
    /// The section that a line opens. Only modules that the rules need are known to be there.
    fn of(directive: &Directive<'_>) -> Self {
        let module = directive
            .arguments
            .trim_end_matches('>')
            .trim()
            .trim_matches('"');
        let (is_absent, module) = match module.strip_prefix('!') {
            Some(module) => (true, module),
            None => (false, module),
        };
        let is_known = matches!(
            module,
            "mod_rewrite.c" | "rewrite_module" | "mod_alias.c" | "alias_module"
        );
        match &*directive.name {
            "<ifmodule" if is_known && is_absent => Self::Ignored,
            "<ifmodule" if is_known => Self::InForce,
            _ => Self::Unknown,
        }
    }
}

impl Parser<'_> {
    fn take(&mut self, directive: &Directive<'_>) {
        if directive.name.starts_with("</") {
            self.sections.pop();
            return;
        }
        if directive.name.starts_with('<') {
            self.sections.push(Section::of(directive));
            return;
        }
        let is_ours = matches!(
            &*directive.name,
            "redirect" | "redirectmatch" | "redirectpermanent" | "redirecttemp"
        );
        if !is_ours && !directive.name.starts_with("rewrite")
            || self.sections.contains(&Section::Ignored)
        {
            return;
        }
        if self.sections.contains(&Section::Unknown) {
            self.folder.is_doubtful = true;
            let why = "the rule is in a section whose condition urldb does not know";
            self.leave_out(directive.line, "section", why);
            return;
        }
        let taken = if is_ours {
            self.redirect(directive)
        } else {
            self.rewrite(directive)
        };
        if let Err(why) = taken {
            let message = format!("{why}: Apache answers every URL of the folder with 500");
            self.refuse(directive.line, "bad-directive", &message);
        }
    }

    fn rewrite(&mut self, directive: &Directive<'_>) -> Result<(), String> {
        let rewrites = &mut self.folder.rewrites;
        rewrites.are_there = true;
        match &*directive.name {
            "rewriteengine" => {
                let word = words(directive.arguments).join(" ").to_ascii_lowercase();
                match &*word {
                    "on" => rewrites.engine = Some(true),
                    "off" => rewrites.engine = Some(false),
                    _ => return Err("RewriteEngine is neither on nor off".to_owned()),
                }
            }
            "rewriteoptions" => {
                let words = words(&directive.arguments.to_ascii_lowercase());
                rewrites.options.get_or_insert_default().extend(words);
            }
            "rewritecond" => {
                let condition = Self::condition(directive)?;
                self.conditions.push(condition);
            }
            "rewriterule" => self.rule(directive)?,
            _ => {}
        }
        Ok(())
    }

    fn rule(&mut self, directive: &Directive<'_>) -> Result<(), String> {
        let conditions = std::mem::take(&mut self.conditions);
        let found = raw_words(directive.arguments);
        let [pattern, target, ..] = *found else {
            return Err("the rule has no target".to_owned());
        };
        let flags = RuleFlags::parse(found.get(2).copied())?;
        let (is_negated, pattern) = negated(pattern);
        let pattern = Pattern::new(pattern, flags.ignores_case);
        self.folder.rewrites.rules.push(RewriteRule {
            line: directive.line,
            pattern,
            is_negated,
            target: target.to_owned(),
            flags,
            conditions,
        });
        Ok(())
    }

    fn condition(directive: &Directive<'_>) -> Result<Condition, String> {
        let found = raw_words(directive.arguments);
        let [subject, test, ..] = *found else {
            return Err("the condition has no pattern".to_owned());
        };
        let flags = ConditionFlags::parse(found.get(2).copied())?;
        let (is_negated, test) = negated(test);
        let test = match test.strip_prefix('=') {
            _ if subject.eq_ignore_ascii_case("expr") => Test::Other,
            Some(value) if !flags.ignores_case && !test.starts_with("==") => {
                Test::Equals(value.trim_matches('"').to_owned())
            }
            _ if test.starts_with(['-', '<', '>', '=']) => Test::Other,
            _ => Test::Matches(Pattern::new(test, flags.ignores_case)),
        };
        Ok(Condition {
            subject: subject.to_owned(),
            test,
            is_negated,
            is_or: flags.is_or,
        })
    }

    fn redirect(&mut self, directive: &Directive<'_>) -> Result<(), String> {
        let mut found = words(directive.arguments);
        let named = match &*directive.name {
            "redirectpermanent" => Some(301),
            "redirecttemp" => Some(302),
            _ => None,
        };
        let first = found.first().and_then(|word| status_of(word));
        let status = match (named, first) {
            (Some(status), _) => status,
            (None, Some(status)) => {
                found.remove(0);
                status
            }
            (None, None) => 302,
        };
        let is_redirect = (300..400).contains(&status);
        let (path, target) = match &mut *found {
            [] if named.is_none() && first.is_some() => (None, None),
            [target] if directive.name == "redirect" && is_redirect => {
                (None, Some(std::mem::take(target)))
            }
            [path] => (Some(std::mem::take(path)), None),
            [path, target] => (Some(std::mem::take(path)), Some(std::mem::take(target))),
            _ => return Err(format!("{} has no path", directive.name)),
        };
        if is_redirect != target.is_some() {
            return Err(format!(
                "a redirect with status {status} must have a target, and no other status may have one"
            ));
        }
        let is_local = target.as_deref().is_some_and(|it| it.starts_with('/'));
        let is_url = target.as_deref().is_none_or(|it| it.contains(':'));
        if directive.name != "redirectmatch" && !is_url && !is_local {
            return Err("the target is no URL".to_owned());
        }
        let paths = match path {
            None => Paths::Whole,
            Some(path) if directive.name == "redirectmatch" => {
                Paths::Matching(Pattern::new(&path, false))
            }
            Some(path) => Paths::Below(path),
        };
        self.folder.redirects.push(Redirect {
            line: directive.line,
            paths,
            status,
            target,
        });
        Ok(())
    }

    fn refuse(&mut self, line: u64, code: &'static str, why: &str) {
        self.notes.push(RuleNote {
            is_mistake: true,
            ..self.folder.note(line, code, why)
        });
    }

    fn leave_out(&mut self, line: u64, code: &'static str, why: &str) {
        self.notes.push(self.folder.note(line, code, why));
    }
}

/// Whether a pattern begins with `!`, and the rest.
fn negated(text: &str) -> (bool, &str) {
    match text.strip_prefix('!') {
        Some(rest) => (true, rest),
        None => (false, text),
    }
}
