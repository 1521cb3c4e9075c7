//! Facts about a project, for the files that run urldb.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use sha2::{Digest, Sha256};

use crate::config::{Config, NotifierKind};
use crate::environment;
use crate::git::Repository;
use crate::limits;
use crate::project::{Checkout, Project};

/// A project that urldb.toml describes.
pub(super) struct ProjectFacts<'a> {
    pub(super) config: &'a Config,
    pub(super) repository: Option<&'a Repository>,
    /// The name of the project, as in messages.
    pub(super) name: String,
    /// The address of the repository for people.
    pub(super) url: Option<String>,
}

impl<'a> ProjectFacts<'a> {
    pub(super) fn new(config: &'a Config, repository: Option<&'a Repository>) -> Self {
        let folder = config
            .root
            .file_name()
            .unwrap_or_default()
            .to_string_lossy();
        let project = Project::new(config, &folder, Checkout::discover(&config.root), |_| None);
        Self {
            config,
            repository,
            name: project.name,
            url: project.url,
        }
    }

    /// The top of the work tree, or the root of the project.
    pub(super) fn top(&self) -> anyhow::Result<&Path> {
        self.repository
            .map_or(Ok(&self.config.root), Repository::work_tree)
    }

    /// The folder of the project below [`Self::top`]; empty if both are the same.
    pub(super) fn folder(&self) -> anyhow::Result<String> {
        let relative = self.repository.map(|it| it.relative(&self.config.root));
        text_of(&relative.transpose()?.unwrap_or_default())
    }

    /// The root of the project, absolute.
    pub(super) fn root(&self) -> anyhow::Result<String> {
        let root = urldb_files::real_path(&self.config.root)
            .with_context(|| format!("cannot find {}", self.config.root.display()))?;
        text_of(&root)
    }

    /// The folders that urldb may write to: the work tree with its `.git`, or the root.
    pub(super) fn writable(&self) -> anyhow::Result<Vec<String>> {
        let mut folders = vec![self.root()?];
        if let Some(repository) = self.repository {
            folders = vec![text_of(repository.work_tree()?)?];
            let git = text_of(repository.common_dir())?;
            if !Path::new(&git).starts_with(&folders[0]) {
                folders.push(git);
            }
        }
        Ok(folders)
    }

    /// The name as a part of file names: lower-case letters, digits and hyphens.
    pub(super) fn slug(&self) -> String {
        let plain = |char: char| {
            if char.is_ascii_alphanumeric() {
                char.to_ascii_lowercase()
            } else {
                '-'
            }
        };
        let slug: String = self.name.chars().take(40).map(plain).collect();
        match slug.trim_matches('-') {
            "" => "project".to_owned(),
            slug => slug.to_owned(),
        }
    }

    /// A minute at which few other schedules begin, the same whenever it is asked for: odd, and neither near
    /// the full nor the half hour.
    pub(super) fn minute(&self) -> u8 {
        const MINUTES: [u8; 24] = [
            3, 5, 7, 9, 11, 13, 17, 19, 21, 23, 25, 27, 33, 35, 37, 39, 41, 43, 47, 49, 51, 53, 55,
            57,
        ];
        let hash = Sha256::digest(self.name.as_bytes());
        MINUTES[usize::from(hash[0]) % MINUTES.len()]
    }

    /// The environment variables that the owner of the project sets: those with secrets, and the name of the key
    /// to the object store. The token of a session is for programs that renew it themselves.
    ///
    /// # Errors
    /// When one has a name that a shell or a service does not know as a variable.
    pub(super) fn secrets(&self) -> anyhow::Result<Vec<String>> {
        let mut names = self.config.secret_variables();
        for place in &self.config.archive.stores {
            let prefix = &place.env_prefix;
            names.remove(&format!("{prefix}AWS_SESSION_TOKEN"));
            if names.contains(&format!("{prefix}AWS_SECRET_ACCESS_KEY")) {
                names.insert(format!("{prefix}AWS_ACCESS_KEY_ID"));
            }
        }
        let names: Vec<String> = names.into_iter().collect();
        for name in &names {
            let is_word = |char: char| char.is_ascii_alphanumeric() || char == '_';
            let is_name =
                name.chars().all(is_word) && !name.starts_with(|char: char| char.is_ascii_digit());
            ensure!(
                is_name,
                "urldb.toml names the variable {name:?}, which no service can set: use letters, digits and _"
            );
        }
        Ok(names)
    }

    /// The folder of the status site, if there is one.
    pub(super) fn site(&self) -> anyhow::Result<Option<String>> {
        self.config
            .notifiers
            .values()
            .find_map(|notify| match &notify.kind {
                NotifierKind::Html(html) => Some(text_of(&html.path)),
                _ => None,
            })
            .transpose()
    }

    pub(super) fn archive(&self) -> anyhow::Result<String> {
        text_of(&self.config.archive.path)
    }

    pub(super) fn ledger(&self) -> anyhow::Result<String> {
        text_of(&self.config.ledger.path)
    }

    /// Whether the branch that is checked out has the ledger: git tracks it, or the files of cron or systemd commit it.
    pub(super) fn tracks_ledger(&self) -> anyhow::Result<bool> {
        let folder = self.config.root.join(&self.config.ledger.path);
        match self.repository {
            Some(repository) if repository.relative(&folder).is_ok() => {
                Ok(repository.is_tracked(&folder)? || self.is_committed_here())
            }
            _ => Ok(false),
        }
    }

    fn is_committed_here(&self) -> bool {
        let commits = |file: PathBuf| {
            urldb_files::read_to_string(&file, limits::SETTINGS)
                .is_ok_and(|text| text.contains(" run --commit"))
        };
        [self.cron_file(), self.unit_file("service")]
            .into_iter()
            .any(commits)
    }

    /// The line for a crontab.
    pub(super) fn cron_file(&self) -> PathBuf {
        self.config.root.join("urldb.cron")
    }

    /// The name of the units of systemd.
    pub(super) fn unit(&self) -> String {
        format!("urldb-{}", self.slug())
    }

    /// A unit of systemd of a kind, such as `timer`.
    pub(super) fn unit_file(&self, kind: &str) -> PathBuf {
        self.config
            .root
            .join("systemd")
            .join(format!("{}.{kind}", self.unit()))
    }

    /// Whether `urldb run` can commit the ledger: there is a repository, and git does not ignore the ledger, as in a project
    /// whose action or pipeline keeps it on a branch.
    pub(super) fn can_commit_ledger(&self) -> anyhow::Result<bool> {
        let folder = self.config.root.join(&self.config.ledger.path);
        match Repository::of_project(&folder)? {
            Some(repository) => Ok(!repository.ignores(&folder.join("history"))?),
            None => Ok(false),
        }
    }
}

/// The program that is running, absolute, as it was found on PATH.
pub(super) fn program() -> anyhow::Result<String> {
    let path = env::current_exe().context("cannot find out where urldb is installed")?;
    text_of(&path)
}

/// A path as one line of text.
fn text_of(path: &Path) -> anyhow::Result<String> {
    let text = path
        .to_str()
        .filter(|text| !text.contains(char::is_control))
        .with_context(|| format!("no settings file can name {}", path.display()))?;
    Ok(text.to_owned())
}

/// The user that owns this process, by name.
pub(super) fn user() -> String {
    let name = ["USER", "LOGNAME"]
        .into_iter()
        .find_map(environment::variable);
    let is_plain = |name: &String| {
        let is_word = |char: char| char.is_ascii_alphanumeric() || "._-".contains(char);
        !name.is_empty() && name.chars().all(is_word) && !name.starts_with('-')
    };
    name.filter(is_plain).unwrap_or_else(|| "root".to_owned())
}
