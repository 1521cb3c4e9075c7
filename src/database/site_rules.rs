//! The site rules of a database: the files in its folder `rules`.
//!
//! [`read`] returns all rules with their problems; [`load`] fails on rules with errors. [`PageCheck`]
//! compares records with the rules.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::Context;
use urldb_canon::rules::{
    Compilation, DomainScript, ResolveError, ScriptFile, SiteRules, WebsiteScript,
};
use urldb_files::{Root, RootFile};
use urldb_text::{Code, Finding};

pub use super::pages::PageCheck;

use crate::config::Config;
use crate::limits;

/// The name of the folder of site rules within the database.
pub const FOLDER: &str = "rules";

/// The rules of a database.
#[derive(Debug, Default)]
pub struct LoadedRules {
    /// The rules without errors.
    pub rules: SiteRules,
    /// Their files, sorted.
    pub files: Vec<PathBuf>,
    /// The findings about the rules, by file and line.
    pub findings: Vec<Finding>,
}

impl LoadedRules {
    /// The rules, if there are any, and none has an error.
    pub fn holding(&self) -> Option<&SiteRules> {
        let holds = !self.files.is_empty() && !self.findings.iter().any(Finding::is_error);
        holds.then_some(&self.rules)
    }

    /// The rules in these files, of which the bytes are known.
    pub fn of_bytes<'a>(files: impl IntoIterator<Item = (&'a Path, &'a [u8])>) -> Self {
        Self::from_files(
            files
                .into_iter()
                .map(|(path, bytes)| (path.to_owned(), compile(path, bytes))),
        )
    }

    fn from_files(files: impl Iterator<Item = (PathBuf, CompiledFile)>) -> Self {
        let mut loaded = Self::default();
        let mut websites = vec![];
        for (path, (script, source, findings)) in files {
            loaded.findings.extend(findings);
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
        let file_of = |website: &str| websites.iter().find(|(name, ..)| name == website);
        let source_of = |website: &str| file_of(website).map_or("", |(_, _, source)| source);
        for (website, finding) in loaded.rules.conflicts(source_of) {
            let file = file_of(website).map(|(_, path, _)| finding.in_file(path));
            loaded.findings.extend(file);
        }
        loaded
            .findings
            .sort_by(|a, b| (&a.file, a.line, a.column).cmp(&(&b.file, b.line, b.column)));
        loaded
    }
}

/// The file for the rules of a registrable domain.
pub fn domain_file(database: &Path, domain: &str) -> PathBuf {
    database.join(FOLDER).join(format!("{domain}.rules"))
}

/// The file for the rules of a website.
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
/// When files cannot be listed; never about one of them.
pub fn read(database: &Path) -> anyhow::Result<LoadedRules> {
    Ok(LoadedRules::from_files(
        list(&database.join(FOLDER))?.into_iter().map(|path| {
            let compiled = check_file(&path);
            (path, compiled)
        }),
    ))
}

/// The rules of the configured database.
///
/// # Errors
/// When they cannot be read, or have errors: all are named, each with its place.
pub fn load(config: &Config) -> anyhow::Result<SiteRules> {
    let loaded = read(&config.root.join(&config.database.path))?;
    let errors: Vec<String> = loaded
        .findings
        .into_iter()
        .filter(Finding::is_error)
        .map(|mut finding| {
            finding.file = finding.file.map(|file| config.relative_name(&file).into());
            format!("{finding:#}")
        })
        .collect();
    anyhow::ensure!(
        errors.is_empty(),
        "the site rules have mistakes:\n{}",
        errors.join("\n")
    );
    Ok(loaded.rules)
}

/// The findings about the file of rules at `path`.
pub fn check(path: &Path) -> Vec<Finding> {
    check_file(path).2
}

/// The findings about a file of rules with this name and content.
pub fn check_bytes(path: &Path, bytes: &[u8]) -> Vec<Finding> {
    compile(path, bytes).2
}

/// The code and the message of a URL that the rules refuse.
pub(crate) fn refusal(url: &str, failure: &ResolveError) -> (Code, String) {
    if let ResolveError::UnknownParameter { .. } = failure {
        return (Code::UnknownParameter, format!("{url}: {failure}"));
    }
    let message = format!("{url}: {failure} ({})", failure.code());
    (Code::NotAdmitted, message)
}

fn list(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let context = || format!("cannot list the site rules in {}", folder.display());
    let files = Root::new(folder, "the site rules").files();
    Ok(files
        .with_context(context)?
        .into_iter()
        .map(|file| file.path())
        .filter(|path| is_rules_file(path))
        .collect())
}

/// The script, if it has no errors, its text, and its findings.
type CompiledFile = (Option<Script>, String, Vec<Finding>);

enum Script {
    Domain(String, DomainScript),
    Website(String, WebsiteScript),
}

/// A file that cannot be read is a finding of that file.
fn check_file(path: &Path) -> CompiledFile {
    match read_start(path) {
        Ok(bytes) => compile(path, &bytes),
        Err(error) => {
            let message = format!("the file cannot be read: {error}");
            let finding = Finding::new(Code::UnreadableFile, 1, message).in_file(path);
            (None, String::new(), vec![finding])
        }
    }
}

/// The bytes of a file, up to the first one that is too much. A link out of the folder is refused.
fn read_start(path: &Path) -> io::Result<Vec<u8>> {
    let file = RootFile::at(path, "the site rules").open()?;
    let mut bytes = vec![];
    file.take(limits::SITE_RULES.get() + 1)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn compile(path: &Path, bytes: &[u8]) -> CompiledFile {
    let Some(subject) = path
        .file_name()
        .and_then(|name| name.to_str())
        .and_then(ScriptFile::from_name)
    else {
        let message = "the name should be that of a registrable domain plus `.rules`, or of a \
                       website plus `.website.rules`, in lower case and Punycode";
        return (None, String::new(), vec![bad_file(path, 1, message)]);
    };
    let source = match String::from_utf8(bytes.to_vec()) {
        Ok(source) => source,
        // The limit may have cut a character in two.
        Err(error) if bytes.len() as u64 > limits::SITE_RULES.get() => {
            String::from_utf8_lossy(error.as_bytes()).into_owned()
        }
        Err(error) => {
            let good = &bytes[..error.utf8_error().valid_up_to()];
            let line = good.split(|byte| *byte == b'\n').count();
            let finding = bad_file(path, line, "bytes that are not UTF-8");
            return (None, String::new(), vec![finding]);
        }
    };
    let (script, findings) = match subject {
        ScriptFile::Domain(domain) => {
            let Compilation { script, findings } = DomainScript::compile(&source);
            (
                script.map(|script| Script::Domain(domain, script)),
                findings,
            )
        }
        ScriptFile::Website(website) => {
            let Compilation { script, findings } = WebsiteScript::compile(&source);
            (
                script.map(|script| Script::Website(website, script)),
                findings,
            )
        }
    };
    let findings = findings
        .into_iter()
        .map(|finding| finding.in_file(path))
        .collect();
    (script, source, findings)
}

/// A finding about a file as a whole.
fn bad_file(path: &Path, line: usize, message: &str) -> Finding {
    Finding::new(Code::RuleFile, line, message).in_file(path)
}
