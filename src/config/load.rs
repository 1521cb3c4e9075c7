//! Finds urldb.toml and reads it into a [`Config`].

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use toml::de::DeTable;
use url::Url;
use urldb_files::{Outside, is_there, read_to_string};
use urldb_text::{Code, Finding, register_credentials};

use super::archive::archive;
use super::check::{check, network};
use super::find;
use super::notify;
use super::owners::owners;
use super::roots::repository;
use super::section::{Problems, Section};
use super::source;
use super::untrusted::{Author, line_of, remove_untrusted};
use super::watch;
use super::{Config, Database, FILE_NAME, Git, Ledger, Lint, Project, Schedule};
use crate::limits;
use crate::schedule::{Cron, CronError};

/// Most characters of the project's name.
const MOST_NAME: usize = 100;

/// The reason why there is no configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read {path}: {source}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The file has mistakes: all of them.
    #[error("{0}")]
    Invalid(ProblemList),
    /// A link leads this folder of the repository out of it.
    #[error(transparent)]
    Outside(#[from] Outside),
}

/// The problems of one file, one per line.
#[derive(Debug)]
pub struct ProblemList(Vec<String>);

impl fmt::Display for ProblemList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("\n"))
    }
}

/// Loads the configuration that holds in `directory`: the nearest urldb.toml
/// upwards, or the defaults. Without a file the root is the git work tree
/// that `directory` lies in, or else `directory` itself.
pub fn discover(directory: &Path) -> Result<Config, ConfigError> {
    discover_by(directory, Author::Maintainer)
}

/// [`discover`], for the file of an author.
pub fn discover_by(directory: &Path, author: Author) -> Result<Config, ConfigError> {
    let Some(path) = find(directory) else {
        let config = Config {
            root: default_root(directory),
            author,
            ..Config::default()
        };
        config.ensure_inside()?;
        return Ok(config);
    };
    load_by(&path, author)
}

/// The folder of domain files that holds in `directory`, by the configuration in `file` or else the
/// nearest urldb.toml upwards. Mistakes in the configuration are passed over.
///
/// # Errors
/// [`ConfigError::Outside`] for a link out of the repository.
pub fn database_folder(directory: &Path, file: Option<&Path>) -> Result<PathBuf, ConfigError> {
    let mut path = Database::default().path;
    let root = match file.map(Path::to_owned).or_else(|| find(directory)) {
        None => default_root(directory),
        Some(file) => {
            let text = read(&file).unwrap_or_default();
            let (table, _) = DeTable::parse_recoverable(&text);
            let section = table.get_ref().get("database");
            path = section
                .and_then(|section| section.get_ref().get("path")?.get_ref().as_str())
                .map_or(path, PathBuf::from);
            root_of(&file).to_owned()
        }
    };
    let config = Config {
        root,
        database: Database {
            path,
            ..Database::default()
        },
        ..Config::default()
    };
    config.rules_root().check()?;
    Ok(config.database_root().path().to_owned())
}

/// The nearest urldb.toml upwards, of any kind: reading refuses all but regular files.
fn find(directory: &Path) -> Option<PathBuf> {
    directory
        .ancestors()
        .map(|folder| folder.join(FILE_NAME))
        .find(|path| is_there(path))
}

/// The root without a configuration file.
fn default_root(directory: &Path) -> PathBuf {
    directory
        .ancestors()
        .find(|folder| is_there(&folder.join(".git")))
        .unwrap_or(directory)
        .to_owned()
}

/// The root by the configuration in `file`.
fn root_of(file: &Path) -> &Path {
    file.parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// The text of a configuration file.
fn read(path: &Path) -> io::Result<String> {
    read_to_string(path, limits::SETTINGS)
}

/// Loads one configuration file of the maintainers.
pub fn load(path: &Path) -> Result<Config, ConfigError> {
    load_by(path, Author::Maintainer)
}

/// Loads one configuration file.
pub fn load_by(path: &Path, author: Author) -> Result<Config, ConfigError> {
    let root = root_of(path);
    // A message about a mistake shows text of the file.
    let text = match author {
        Author::Maintainer => read(path),
        Author::Stranger => repository(root, author)
            .file(path.file_name().unwrap_or_default())
            .read_to_string(limits::SETTINGS),
    };
    let text = text.map_err(|source| ConfigError::Io {
        path: path.to_owned(),
        source,
    })?;
    // A message about a URL that should hold no password may show the URL.
    text.split(['"', '\'']).for_each(register_credentials);
    let config = parse(&text, root, author)
        .map(|config| Config {
            file: path.to_owned(),
            ..config
        })
        .map_err(|findings| {
            ConfigError::Invalid(ProblemList(
                findings
                    .iter()
                    .map(|finding| format_finding(path, finding))
                    .collect(),
            ))
        })?;
    config.register_secrets();
    config.ensure_inside()?;
    Ok(config)
}

/// A finding as a line of an error. The code is left out: all findings have the same.
fn format_finding(path: &Path, finding: &Finding) -> String {
    let Finding {
        line,
        column,
        message,
        ..
    } = finding;
    format!("{}:{line}:{column}: {message}", path.display())
}

fn parse(text: &str, root: &Path, author: Author) -> Result<Config, Vec<Finding>> {
    let problems = Problems::new(text);
    let mut table = match DeTable::parse(text) {
        Ok(table) => table,
        Err(error) => {
            let offset = error.span().map_or(0, |span| span.start);
            let is_double = error.message() == "duplicate key";
            let line = is_double.then(|| problems.earlier_table(offset)).flatten();
            let message = line.map_or_else(
                || error.message().to_owned(),
                |line| format!("line {line} has this table already: write all its keys there"),
            );
            problems.push(offset, message);
            return Err(problems.into_findings());
        }
    };
    let removed = match author {
        Author::Maintainer => vec![],
        Author::Stranger => remove_untrusted(table.get_mut()),
    };
    let top = Section::new("", &table, &problems);
    let config = Config {
        root: root.to_owned(),
        file: PathBuf::new(),
        author,
        project: top.read("project", project),
        database: top.read("database", database),
        lint: top.read("lint", lint),
        check: top.read("check", check),
        network: top.read("network", |section| network(section, root)),
        archive: top.read("archive", archive),
        ledger: top.read("ledger", ledger),
        git: top.read("git", git),
        schedules: top.read_each("schedule", schedule),
        watch: top.read("watch", watch::watch),
        owners: top.read("owners", owners),
        sources: top.read_named("source", source::source),
        find: top.read_named("find", find::find_place),
        notifiers: top.read_named("notify", notify::notifier),
        without_effect: (!removed.is_empty()).then(|| line_of(&removed)),
        lines: BTreeMap::new(),
    };
    top.finish();
    let lines = problems.take_lines();
    let findings = problems.into_findings();
    if findings.is_empty() {
        Ok(Config { lines, ..config })
    } else {
        Err(findings)
    }
}

fn git(section: &Section<'_>) -> Git {
    Git {
        commit: section.flag("commit").unwrap_or_default(),
    }
}

fn project(section: &Section<'_>) -> Project {
    Project {
        name: section.line("name", "a name", MOST_NAME),
        url: address(section, "url"),
        site_url: address(section, "site-url"),
    }
}

/// A web address without credentials, and without its final `/`.
fn address(section: &Section<'_>, key: &'static str) -> Option<String> {
    let what = "a web address without user and password, such as \"https://example.org/status\"";
    let url: Url = section.parsed(key, what)?;
    let is_web = matches!(url.scheme(), "http" | "https");
    let has_secret = !url.username().is_empty() || url.password().is_some();
    if !is_web || has_secret {
        section.problem(format!("`{key}` should be {what}"));
        return None;
    }
    Some(url.as_str().trim_end_matches('/').to_owned())
}

fn database(section: &Section<'_>) -> Database {
    let default = Database::default();
    Database {
        path: section.text("path").map_or(default.path, PathBuf::from),
        ..default
    }
}

fn lint(section: &Section<'_>) -> Lint {
    Lint {
        keys: section.list("keys", "a list of texts").unwrap_or_default(),
        allow: section
            .checked_list("allow", allowed_code)
            .unwrap_or_default(),
    }
}

/// The code of a warning that `allow` may name.
fn allowed_code(name: &str) -> Result<Code, String> {
    let known = Code::ALL.iter().filter(|code| code.may_be_allowed());
    known
        .clone()
        .find(|code| code.as_str() == name)
        .copied()
        .ok_or_else(|| {
            let names: Vec<&str> = known.map(|code| code.as_str()).collect();
            format!(
                "no warning that `allow` can name is called \"{name}\"; there are {}",
                names.join(", ")
            )
        })
}

fn ledger(section: &Section<'_>) -> Ledger {
    let path = section.text("path").map(PathBuf::from);
    path.map_or_else(Ledger::default, |path| Ledger { path })
}

fn schedule(section: &Section<'_>) -> Option<Schedule> {
    let cron = section.text("cron");
    section.need("cron", ", such as cron = \"17 4 * * *\"");
    let timezone = section.text("timezone").unwrap_or_else(|| "UTC".to_owned());
    if let Some(cron) = &cron {
        match Cron::parse(cron, &timezone) {
            Ok(_) => {}
            Err(error @ CronError::Zone { .. }) => section.wrong("timezone", error.to_string()),
            Err(error) => section.wrong("cron", error.to_string()),
        }
    }
    let schedule = Schedule {
        cron: cron.unwrap_or_default(),
        timezone,
        domain: section.text("domain"),
        category: section.text("category"),
    };
    Some(schedule).filter(|schedule| !schedule.cron.is_empty())
}

#[cfg(test)]
mod tests {
    use super::super::archive::MOST_TEXT;
    use super::*;

    fn problems(text: &str) -> Vec<String> {
        let findings = parse(text, Path::new("/r"), Author::Maintainer).unwrap_err();
        let findings = findings.iter();
        findings
            .map(|finding| format_finding(Path::new("urldb.toml"), finding))
            .collect()
    }

    #[test]
    fn an_empty_file_is_all_defaults() {
        let config = parse("", Path::new("/r"), Author::Maintainer).unwrap();
        assert_eq!(config.database.path, Path::new("urldb"));
        assert_eq!(config.check.verdict.confirm, 2);
        assert!(config.notifiers.is_empty());
    }

    #[test]
    fn every_key_is_read() {
        let text = include_str!("../../tests/data/every-key.toml");
        let config = parse(text, Path::new("/r"), Author::Maintainer).unwrap();
        insta::assert_debug_snapshot!(config);
    }

    #[test]
    fn all_that_is_wrong_is_said_at_once() {
        let text = "[chek]\n[check]\nhost_concurrency = 2\ntimeout = \"soon\"\nconcurrency = 0\n\
                    [check.host.\"a.example\"]\nheadtimeout = \"1s\"\nretries = 2\n\
                    [check.host.\"http://b\"]\n\
                    [[schedule]]\n[notify.x]\ntype = \"emial\"\n[notify.y]\ntype = \"email\"\n";
        insta::assert_snapshot!(problems(text).join("\n"), @r#"
        urldb.toml:1:2: unknown key `chek`; did you mean `check`?
        urldb.toml:3:1: unknown key `host_concurrency` in [check]; did you mean `host-concurrency`?
        urldb.toml:4:11: `timeout` should be a time such as "500ms", "10s", "5m" or "7d"
        urldb.toml:5:15: `concurrency` should be a number from 1 up
        urldb.toml:7:1: unknown key `headtimeout` in [check.host."a.example"]; did you mean `head-timeout`?
        urldb.toml:8:1: unknown key `retries` in [check.host."a.example"]; known are host-concurrency, host-interval, host-patience, limit-patience, timeout, connect-timeout, head-timeout, idle-timeout, max-body, user-agent, headers, headers-env, unsafe-methods, canonical
        urldb.toml:9:1: [check.host."http://b"]: a host without scheme and port is needed here, such as [check.host."data.example.org"]
        urldb.toml:10:1: [schedule]: `cron` is missing, such as cron = "17 4 * * *"
        urldb.toml:12:8: no notifier is of type "emial"; did you mean "email"?
        urldb.toml:13:1: [notify.y]: `from` and `to` are needed, such as to = ["me@example.org"]
        urldb.toml:13:1: [notify.y]: one of `server` (SMTP), `sendmail` (a program) and `folder` (of .eml files) is needed
        "#);
    }

    #[test]
    fn texts_about_the_archive_are_one_line() {
        let long = "x".repeat(MOST_TEXT + 1);
        let text =
            format!("[archive]\noperator = \"Us\\nWARC-Type: x\"\ndescription = \"{long}\"\n");
        insta::assert_snapshot!(problems(&text).join("\n"), @r#"
        urldb.toml:2:12: `operator` should be a text of one line, at most 1000 characters
        urldb.toml:3:15: `description` should be a text of one line, at most 1000 characters
        "#);
    }

    #[test]
    fn a_first_segment_has_room_for_a_head() {
        let text = "[archive]\nsegment-size = \"1MB\"\nsl = 1\n";
        insta::assert_snapshot!(problems(text).join("\n"), @r#"
        urldb.toml:2:16: `segment-size` should be at least "2MB", so that a first segment has the whole head
        urldb.toml:3:6: `sl` should be true or false
        "#);
    }

    #[test]
    fn a_proxy_has_no_secrets_in_its_url() {
        let text = "[network]\nproxy = \"http://me:hunter2@127.0.0.1:3128\"\nproxy-user = \"me\"\n";
        insta::assert_snapshot!(problems(text).join("\n"), @r#"
        urldb.toml:1:1: [network]: `proxy-user` and `proxy-password-env` go together
        urldb.toml:2:9: `proxy` should be the URL of a proxy, without user and password, such as "http://127.0.0.1:3128"
        "#);
    }

    #[test]
    fn secrets_are_not_in_the_file() {
        let text = "[check]\nheaders = { Authorization = \"Basic x\", X-Purpose = \"y\" }\n\
                    [check.host.\"a.example\"]\nheaders = { X-Api-Key = \"x\" }\n\
                    headers-env = { x-api-key = \"KEY\", Cookie = \"\" }\n\
                    [network]\nproxy = \"http://127.0.0.1:3128\"\nproxy-user = \"me\"\n\
                    proxy-password-env = \"GITHUB_TOKEN\"\n";
        insta::assert_snapshot!(problems(text).join("\n"));
    }

    #[test]
    fn a_challenge_has_a_name_and_a_mark() {
        let text = "[[check.challenge]]\nstatus = [403]\nprefix = \"x\"\n\
                    [[check.challenge]]\nname = \"x\"\nbody = \"y\"\nstatuses = [99999]\n";
        insta::assert_snapshot!(problems(text).join("\n"), @r#"
        urldb.toml:1:1: [check.challenge]: `name` is missing, such as name = "a login page"
        urldb.toml:1:1: [check.challenge]: one of `header` and `body` is needed: a status alone marks no challenge
        urldb.toml:1:1: [check.challenge]: `prefix` and `contains` are about a `header`, which is missing
        urldb.toml:7:1: unknown key `statuses` in [check.challenge]; did you mean `status`?
        "#);
    }

    #[test]
    fn a_syntax_error_has_its_place_and_a_second_table_both_lines() {
        let said = |text: &str| problems(text).join("\n");
        insta::assert_snapshot!(said("[check]\ntimeout = = 3\n"), @"urldb.toml:2:11: extra `=`, expected nothing");
        insta::assert_snapshot!(said("#\n[check.host.\"a.example\"]\n[check]\n[check.host.\"a.example\"] #\n"), @"urldb.toml:4:13: line 2 has this table already: write all its keys there");
    }
}
