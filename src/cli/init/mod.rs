//! `urldb init`.

mod project;
mod services;
mod template;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use urldb_text::sanitize;

use self::project::ProjectFacts;
use self::services::Service;
use self::template::Values;
use super::GlobalArgs;
use super::print::style;
use crate::cli::print::output;
use crate::config::{self, Config, FILE_NAME, NotifierKind};
use crate::exit::ExitCode;
use crate::git::{GitEnv, Repository, add_lines, attribute_line, ignore_line};

/// Set up a repository: urldb.toml, the database folder, and settings for git
///
/// Existing files are not overwritten.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb init             in the current directory
  urldb init promises/   in another one
  urldb init --github    and workflows that run urldb every day and on pull requests
  urldb init --systemd   and a service with a timer")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option on the command line"
)]
pub(super) struct Args {
    /// Directory to initialize (created if missing)
    dir: Option<PathBuf>,
    /// Write workflows for GitHub too: a run every day, and a check of each pull request
    #[arg(long)]
    github: bool,
    /// Write a pipeline for GitLab too
    #[arg(long)]
    gitlab: bool,
    /// Write a line for your crontab too
    #[arg(long)]
    cron: bool,
    /// Write a service and a timer of systemd too
    #[arg(long)]
    systemd: bool,
    /// Write the configuration of pre-commit and prek too
    #[arg(long)]
    pre_commit: bool,
}

type MakeService = fn(&ProjectFacts<'_>) -> anyhow::Result<Service>;

impl Args {
    fn services(&self) -> Vec<MakeService> {
        let all: [(bool, MakeService); 5] = [
            (self.github, services::github),
            (self.gitlab, services::gitlab),
            (self.cron, services::cron),
            (self.systemd, services::systemd),
            (self.pre_commit, services::pre_commit),
        ];
        let wanted = all.into_iter().filter(|(is_wanted, _)| *is_wanted);
        wanted.map(|(_, make)| make).collect()
    }
}

const CONFIG: &str = include_str!("../../../templates/init/urldb.toml");

/// The notifiers that need nothing but the token of a workflow on GitHub.
const GITHUB_CONFIG: &str = include_str!("../../../templates/init/github.toml");

/// The temporary files of a killed urldb.
const TEMPORARY: &str = ".urldb-tmp-*";

/// The folder of the web page in the settings that [`CONFIG`] suggests.
const SITE: &str = "site";

pub(super) fn run(args: &Args, global: &GlobalArgs) -> anyhow::Result<ExitCode> {
    let root = match &args.dir {
        Some(dir) => global.directory()?.join(dir),
        None => global.directory()?,
    };
    let mut out = output::stdout();
    let wrote = style::paint(style::GOOD, "wrote");
    let file = root.join(FILE_NAME);
    if !file.exists() {
        fs::create_dir_all(&root).with_context(|| format!("cannot make {}", root.display()))?;
        write(&file, &new_config(args, &root)?)?;
        writeln!(out, "{wrote} {FILE_NAME}: every key in it is optional")?;
    }
    let config = config::load(&file)?;
    let database = root.join(&config.database.path);
    if !database.is_dir() {
        fs::create_dir_all(&database)
            .with_context(|| format!("cannot make {}", database.display()))?;
        let made = style::paint(style::GOOD, "made");
        let name = config.relative_name(&database);
        writeln!(out, "{made} {name}/, the database: one file a domain")?;
    }
    let repository = Repository::discover(&root, GitEnv::from_process())?;
    let repository = repository.filter(|repository| repository.work_tree().is_ok());
    let attributes = attributes(&config);
    if add_lines(&root.join(".gitattributes"), &attributes)? {
        writeln!(out, "{wrote} .gitattributes, so that histories merge")?;
    }
    let ignored = ignored(args, &config, repository.as_ref())?;
    if add_lines(&root.join(".gitignore"), &ignored)? {
        writeln!(out, "{wrote} .gitignore: {}", ignored.join(", "))?;
    }
    let facts = ProjectFacts::new(&config, repository.as_ref());
    let services: anyhow::Result<Vec<Service>> = args
        .services()
        .into_iter()
        .map(|make| make(&facts))
        .collect();
    let services = services?;
    for file in services.iter().flat_map(|service| &service.files) {
        let below_top = file.path.strip_prefix(facts.top()?).unwrap_or(&file.path);
        let path = file.path.strip_prefix(&config.root).unwrap_or(below_top);
        let name = config.relative_name(path);
        if write_new(&file.path, &file.text)? {
            writeln!(out, "{wrote} {name}, {}", file.purpose)?;
        } else {
            let kept = style::paint(style::WARN, "kept");
            writeln!(out, "{kept} {name}: it exists, and init overwrites nothing")?;
        }
    }
    for service in &services {
        writeln!(out, "next, for {}:", service.name)?;
        for (index, step) in service.steps.iter().enumerate() {
            writeln!(out, "  {}. {}", index + 1, sanitize(step))?;
        }
    }
    if !services.is_empty() {
        return Ok(ExitCode::Success);
    }
    let folders = [&database, &root.join(&config.ledger.path)];
    let [database, ledger] = folders.map(|folder| config.relative_name(folder));
    writeln!(
        out,
        "next: `urldb add --static URL`, then `urldb hook install`, then `urldb check`; \
         commit {FILE_NAME}, {database}/ and later {ledger}/"
    )?;
    Ok(ExitCode::Success)
}

/// The configuration of a new project. On GitHub, the site and an issue for each incident need no setting but
/// the name of the repository.
fn new_config(args: &Args, root: &Path) -> anyhow::Result<String> {
    let config = Config {
        root: root.to_owned(),
        ..Config::default()
    };
    let repository = Repository::discover(root, GitEnv::from_process())?;
    let url = ProjectFacts::new(&config, repository.as_ref()).url;
    let name = url
        .as_deref()
        .and_then(|url| url.strip_prefix("https://github.com/"));
    let is_plain = |name: &&str| {
        let is_word = |char: char| char.is_ascii_alphanumeric() || "._-/".contains(char);
        name.matches('/').count() == 1 && name.chars().all(is_word)
    };
    match name.filter(is_plain).filter(|_| args.github) {
        Some(name) => {
            let values = Values::default().with("REPOSITORY", name);
            Ok(CONFIG.to_owned() + &values.fill(GITHUB_CONFIG))
        }
        None => Ok(CONFIG.to_owned()),
    }
}

/// Writes a file, unless it is there.
fn write_new(path: &Path, text: &str) -> anyhow::Result<bool> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    let written: io::Result<()> =
        urldb_files::write_new_atomically_with(path, |file| file.write_all(text.as_bytes()));
    match written {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error).with_context(|| format!("cannot write {}", path.display())),
    }
}

/// The lines of `.gitattributes`. The history of a ledger only grows, at its end: a merge takes the lines of
/// both sides.
fn attributes(config: &Config) -> Vec<String> {
    let history = attribute_line(&config.ledger.path, "history/*.jsonl", "merge=union");
    history.into_iter().collect()
}

/// The lines of `.gitignore`: archive, site and a ledger on a branch, unless they are committed already, and
/// temporary files.
fn ignored(
    args: &Args,
    config: &Config,
    repository: Option<&Repository>,
) -> anyhow::Result<Vec<String>> {
    let is_committed = |folder: &Path| match repository {
        Some(repository) if repository.relative(folder).is_ok() => repository.is_tracked(folder),
        _ => Ok(false),
    };
    let archive = &config.archive.path;
    let mut lines = if is_committed(&config.root.join(archive))? {
        // Runs make the index of the archive from its files, and its locks belong to this machine only.
        vec![ignore_line(archive, "index/"), ignore_line(archive, ".*")]
    } else {
        vec![ignore_line(archive, "")]
    };
    let kinds = config.notifiers.values().map(|notify| &notify.kind);
    let sites = kinds.filter_map(|kind| match kind {
        NotifierKind::Html(html) => Some(html.path.clone()),
        _ => None,
    });
    let mut sites: Vec<PathBuf> = sites.collect();
    if sites.is_empty() {
        sites.push(PathBuf::from(SITE));
    }
    for site in sites {
        if !is_committed(&config.root.join(&site))? {
            lines.push(ignore_line(&site, ""));
        }
    }
    // The action and the pipeline keep the ledger on a branch of its own.
    let keeps_branch = args.github || args.gitlab;
    if keeps_branch && !is_committed(&config.root.join(&config.ledger.path))? {
        lines.push(ignore_line(&config.ledger.path, ""));
    }
    lines.push(Some(TEMPORARY.to_owned()));
    Ok(lines.into_iter().flatten().collect())
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    urldb_files::write_atomically(path, text.as_bytes())
        .with_context(|| format!("cannot write {}", path.display()))
}
