//! The setup of a project, and for each gap the command that closes it: `urldb doctor`.
//!
//! [`examine`] gathers a list of [`Check`]s. Nothing here changes a file, or uses the network but to ask
//! the places of the archive what they have.
//!
//! - `archive`: the places of the archive.
//! - `files`: configuration, database, ledger, archive, and files that killed processes left.
//! - `repository`: git, hooks, the merge driver, ignore rules, locks.
//! - `notifiers`: secrets, settings, and messages that wait.
//! - `schedule`: the schedules that run urldb.

mod archive;
mod files;
mod notifiers;
mod repository;
mod schedule;

use std::path::Path;

use jiff::Timestamp;
use serde::{Serialize, Serializer};
use urldb_render::numbers::NO_BREAK;
use urldb_text::sanitize;

use crate::config::{Config, ConfigError};
use crate::explain::explain;
use crate::git::Repository;

pub use repository::merge_attributes;

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// As it should be.
    Ok,
    /// Not set up.
    Advice,
    /// Broken.
    Fault,
}

/// A command that mends something, or tells more about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Remedy {
    /// The purpose: "to send it now".
    pub purpose: &'static str,
    /// The command, for a POSIX shell in the user's directory.
    pub command: String,
}

/// A check of one part of the setup, with its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// The name of the part: "hook".
    pub name: &'static str,
    /// The result.
    pub outcome: Outcome,
    /// One sentence for people, in which [`NO_BREAK`] joins numbers and units.
    #[serde(serialize_with = "with_spaces")]
    pub sentence: String,
    /// The commands, the most useful first.
    pub remedies: Vec<Remedy>,
    /// Whether people want to know about the thing only if it is not as it should be.
    #[serde(skip)]
    pub is_minor: bool,
}

fn with_spaces<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&text.replace(NO_BREAK, " "))
}

impl Check {
    fn new(name: &'static str, outcome: Outcome, sentence: impl AsRef<str>) -> Self {
        Self {
            name,
            outcome,
            sentence: sanitize(sentence.as_ref()).into_owned(),
            remedies: vec![],
            is_minor: false,
        }
    }

    fn ok(name: &'static str, sentence: impl AsRef<str>) -> Self {
        Self::new(name, Outcome::Ok, sentence)
    }

    fn advice(name: &'static str, sentence: impl AsRef<str>) -> Self {
        Self::new(name, Outcome::Advice, sentence)
    }

    fn fault(name: &'static str, sentence: impl AsRef<str>) -> Self {
        Self::new(name, Outcome::Fault, sentence)
    }

    /// The check could not be made.
    fn failed(name: &'static str, error: &anyhow::Error) -> Self {
        Self::fault(name, explain(error))
    }

    /// Adds a command of these words. A word that no terminal may get makes no command.
    fn fixed_by(mut self, purpose: &'static str, words: &[&str]) -> Self {
        let command = urldb_render::command_line(words);
        let remedy = command.map(|command| Remedy { purpose, command });
        self.remedies.extend(remedy);
        self
    }

    /// Adds a command that is written out.
    fn fixed_by_script(mut self, purpose: &'static str, script: &str) -> Self {
        self.remedies.push(Remedy {
            purpose,
            command: script.to_owned(),
        });
        self
    }

    /// Adds the command that edits a file.
    fn edited(self, purpose: &'static str, file: &str) -> Self {
        match urldb_render::command_line(&[file]) {
            Some(file) => self.fixed_by_script(purpose, &format!("\"${{EDITOR:-vi}}\" {file}")),
            None => self,
        }
    }

    fn minor(mut self) -> Self {
        self.is_minor = true;
        self
    }
}

/// The project that the checks look at.
struct ProjectSetup<'a> {
    /// The user's directory: commands work there.
    directory: &'a Path,
    config: Config,
    repository: Option<Repository>,
    now: Timestamp,
}

/// Examines the project that `config` belongs to, for a user in `directory`. After mistakes in the
/// configuration, only the checks run that do not depend on it.
///
/// # Errors
/// When git refuses the repository.
pub fn examine(
    directory: &Path,
    config: Result<Config, ConfigError>,
    now: Timestamp,
) -> anyhow::Result<Vec<Check>> {
    let (config, mistakes) = match config {
        Ok(config) => (config, None),
        Err(error) => {
            let config = Config {
                root: directory.to_owned(),
                ..Config::default()
            };
            (config, Some(error))
        }
    };
    let repository = Repository::of_project(&config.root)?;
    let setup = ProjectSetup {
        directory,
        config,
        repository,
        now,
    };
    if let Some(error) = mistakes {
        return Ok(vec![
            files::mistakes(&error, directory),
            setup.git(),
            setup.git_locks(),
        ]);
    }
    if setup.config.file.as_os_str().is_empty() && !urldb_files::is_there(&setup.database_folder())
    {
        let none = "there is no urldb project here: no urldb.toml, and no database";
        let check = Check::advice("config", none).fixed_by("to begin", &["urldb", "init"]);
        return Ok(vec![check]);
    }
    let workflows = setup.workflows();
    let mut checks = vec![setup.configuration(), setup.git(), setup.database()];
    checks.extend(setup.repository_checks());
    checks.push(setup.git_locks());
    checks.push(setup.running());
    checks.push(setup.temporary_files());
    checks.push(setup.ledger(&workflows));
    checks.push(setup.archive());
    let stores = setup.stores(&workflows);
    let can_ask = stores.iter().all(|check| check.outcome == Outcome::Ok);
    checks.extend(stores);
    if can_ask {
        checks.extend(setup.archive_facts());
    }
    checks.extend(setup.notifiers(&workflows));
    checks.push(setup.schedule(&workflows));
    Ok(checks)
}

impl ProjectSetup<'_> {
    /// The path as a word of a command: relative to the user's directory, if it is below.
    fn argument(&self, path: &Path) -> String {
        path.strip_prefix(self.directory)
            .unwrap_or(path)
            .to_string_lossy()
            .into_owned()
    }

    fn name(&self, path: &Path) -> String {
        self.config.relative_name(path)
    }

    fn folder_name(&self, path: &Path) -> String {
        format!("{}/", self.name(path))
    }
}
