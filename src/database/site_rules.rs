//! The site rules of a database: the files in its folder `rules`.
//!
//! [`read`] returns all rules with their problems; [`load`] fails on rules with errors. [`PageCheck`]
//! compares records with the rules.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::Context;
use urldb_canon::rules::{
    Compilation, Diagnostic, DomainScript, ScriptFile, Severity, SiteRules, WebsiteScript,
};

pub use super::pages::PageCheck;

use crate::config::Config;

/// The folder of the files, in that of the database.
pub const FOLDER: &str = "rules";

/// No script is longer; `rule-too-large` says so.
const LONGEST: u64 = 64 << 10;

/// The codes of problems, besides those of scripts themselves.
pub const CODES: [&str; 4] = [
    "not-admitted",
    "page-not-canonical",
    "rule-file",
    "same-page",
];

/// Something wrong with a file of rules, or with what rules make of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file that has to change.
    pub path: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The stable code.
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong, for people.
    pub message: String,
    /// The line, and carets under what is meant.
    pub excerpt: Option<String>,
}

impl Problem {
    /// At the start of a line.
    pub(super) fn new(
        path: &Path,
        line: usize,
        code: &'static str,
        message: impl Into<String>,
    ) -> Self {
        let is_spelling = code == "page-not-canonical";
        Self {
            path: path.to_owned(),
            line,
            column: 1,
            code,
            severity: if is_spelling {
                Severity::Warning
            } else {
                Severity::Error
            },
            message: message.into(),
            excerpt: None,
        }
    }

    fn of_file(path: &Path, line: usize, message: &str) -> Self {
        Self::new(path, line, "rule-file", message)
    }

    fn of_script(path: &Path, diagnostic: &Diagnostic, source: &str) -> Self {
        Self {
            path: path.to_owned(),
            line: diagnostic.line,
            column: diagnostic.column,
            code: diagnostic.code.as_str(),
            severity: diagnostic.severity(),
            message: diagnostic.message.clone(),
            excerpt: Some(diagnostic.excerpt(source)),
        }
    }

    /// Whether the file has to change.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// `LINE:COLUMN: CODE: MESSAGE`, and the excerpt below.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            line,
            column,
            code,
            message,
            ..
        } = self;
        write!(f, "{line}:{column}: {code}: {message}")?;
        for line in self.excerpt.iter().flat_map(|excerpt| excerpt.lines()) {
            write!(f, "\n  {line}")?;
        }
        Ok(())
    }
}

/// The rules of a database.
#[derive(Debug, Default)]
pub struct LoadedRules {
    /// Those without errors.
    pub rules: SiteRules,
    /// Their files, sorted.
    pub files: Vec<PathBuf>,
    /// What is wrong with them, by file and line.
    pub problems: Vec<Problem>,
}

/// Where the rules of a registrable domain are, or would be.
pub fn domain_file(database: &Path, domain: &str) -> PathBuf {
    database.join(FOLDER).join(format!("{domain}.rules"))
}

/// Where the rules of a website are, or would be.
pub fn website_file(database: &Path, website: &str) -> PathBuf {
    database
        .join(FOLDER)
        .join(format!("{website}.website.rules"))
}

/// Whether this is the name of a file of rules; one that begins with a dot is a tool's.
pub fn is_rules_file(path: &Path) -> bool {
    let is_hidden = path
        .file_name()
        .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    !is_hidden
        && path
            .extension()
            .is_some_and(|extension| extension == "rules")
}

/// Reads the rules of the database in this folder. There need not be any.
///
/// # Errors
/// When files cannot be listed or read; never about what one says.
pub fn read(database: &Path) -> anyhow::Result<LoadedRules> {
    let mut loaded = LoadedRules::default();
    let mut websites = vec![];
    for path in list(&database.join(FOLDER))? {
        let (script, source, problems) = check_file(&path)?;
        loaded.problems.extend(problems);
        match script {
            Some(Script::Domain(domain, script)) => loaded.rules.insert_domain(&domain, script),
            Some(Script::Website(website, script)) => {
                loaded.rules.insert_website(&website, script);
                websites.push((website, path.clone(), source));
            }
            None => {}
        }
        loaded.files.push(path);
    }
    for (website, diagnostic) in loaded.rules.conflicts() {
        let file = websites.iter().find(|(name, ..)| name == website);
        let problem = |(_, path, source): &(_, PathBuf, String)| {
            Problem::of_script(path, &diagnostic, source)
        };
        loaded.problems.extend(file.map(problem));
    }
    loaded
        .problems
        .sort_by(|a, b| (&a.path, a.line, a.column).cmp(&(&b.path, b.line, b.column)));
    Ok(loaded)
}

/// The rules of the configured database.
///
/// # Errors
/// When they cannot be read, or have errors: all are named, each with its place.
pub fn load(config: &Config) -> anyhow::Result<SiteRules> {
    let loaded = read(&config.root.join(&config.database.path))?;
    let errors = loaded.problems.iter().filter(|problem| problem.is_error());
    let errors: Vec<String> = errors
        .map(|problem| format!("{}:{problem}", config.relative_name(&problem.path)))
        .collect();
    anyhow::ensure!(
        errors.is_empty(),
        "the site rules have mistakes:\n{}",
        errors.join("\n")
    );
    Ok(loaded.rules)
}

/// What is wrong with the file of rules at `path`.
///
/// # Errors
/// When it cannot be read.
pub fn check(path: &Path) -> anyhow::Result<Vec<Problem>> {
    Ok(check_file(path)?.2)
}

/// What is wrong with a file of rules of this name and content.
pub fn check_bytes(path: &Path, bytes: &[u8]) -> Vec<Problem> {
    compile(path, bytes).2
}

fn list(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let context = || format!("cannot list the site rules in {}", folder.display());
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
        other => other.with_context(context)?,
    };
    let mut files = vec![];
    for entry in entries {
        let path = entry.with_context(context)?.path();
        if is_rules_file(&path) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

enum Script {
    Domain(String, DomainScript),
    Website(String, WebsiteScript),
}

fn check_file(path: &Path) -> anyhow::Result<(Option<Script>, String, Vec<Problem>)> {
    let context = || format!("cannot read the site rules in {}", path.display());
    if !path.symlink_metadata().with_context(context)?.is_file() {
        let problem = Problem::of_file(path, 1, "is no regular file");
        return Ok((None, String::new(), vec![problem]));
    }
    let mut bytes = vec![];
    let file = File::open(path).with_context(context)?;
    // One byte more, so that too long is seen to be.
    file.take(LONGEST + 1)
        .read_to_end(&mut bytes)
        .with_context(context)?;
    Ok(compile(path, &bytes))
}

/// The script, if it is good, its text, and what is wrong with it.
fn compile(path: &Path, bytes: &[u8]) -> (Option<Script>, String, Vec<Problem>) {
    let name = path.file_name().and_then(|name| name.to_str());
    let Some(subject) = name.and_then(ScriptFile::of) else {
        let message = "the name should be that of a registrable domain plus `.rules`, or of a \
                       website plus `.website.rules`, in lower case and Punycode";
        return (
            None,
            String::new(),
            vec![Problem::of_file(path, 1, message)],
        );
    };
    let source = match String::from_utf8(bytes.to_vec()) {
        Ok(source) => source,
        // Where it was cut, a character may have been.
        Err(error) if bytes.len() as u64 > LONGEST => {
            String::from_utf8_lossy(error.as_bytes()).into_owned()
        }
        Err(error) => {
            let good = &bytes[..error.utf8_error().valid_up_to()];
            let line = good.split(|byte| *byte == b'\n').count();
            let problem = Problem::of_file(path, line, "bytes that are not UTF-8");
            return (None, String::new(), vec![problem]);
        }
    };
    let (script, diagnostics) = match subject {
        ScriptFile::Domain(domain) => {
            let Compilation {
                script,
                diagnostics,
            } = DomainScript::compile(&source);
            (
                script.map(|script| Script::Domain(domain, script)),
                diagnostics,
            )
        }
        ScriptFile::Website(website) => {
            let Compilation {
                script,
                diagnostics,
            } = WebsiteScript::compile(&source);
            (
                script.map(|script| Script::Website(website, script)),
                diagnostics,
            )
        }
    };
    let problems = diagnostics
        .iter()
        .map(|diagnostic| Problem::of_script(path, diagnostic, &source))
        .collect();
    (script, source, problems)
}
