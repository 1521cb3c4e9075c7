//! `urldb init`.

mod github;
mod notifiers;
mod project;
mod services;
mod template;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use urldb_text::sanitize;

use self::project::ProjectFacts;
use self::services::{NewFile, Service, SetupNote};
use super::GlobalArgs;
use super::print::style;
use crate::cli::print::output;
use crate::config::{self, Config, FILE_NAME, NotifierKind};
use crate::exit::ExitCode;
use crate::git::{Repository, add_lines, attribute_line, ignore_line};
use crate::limits;

/// Set up a repository: urldb.toml, the database folder, and settings for git
///
/// Existing files are not overwritten.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb init             in the current directory
  urldb init promises/   in another one
  urldb init --github --action ada/urldb@COMMIT   and workflows for GitHub
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
    /// The action in these workflows, by its commit; needed until urldb has a release
    #[arg(long, value_name = "OWNER/REPO@REF", requires = "github", value_parser = github::action)]
    action: Option<String>,
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
    /// The action for the workflows of GitHub, if they are wanted.
    fn action(&self) -> anyhow::Result<Option<String>> {
        let named = self.action.clone().map(Ok);
        self.github
            .then(|| named.unwrap_or_else(github::released))
            .transpose()
    }

    /// The services that the options ask for.
    fn services(
        &self,
        project: &ProjectFacts<'_>,
        action: Option<&str>,
    ) -> anyhow::Result<Vec<Service>> {
        let mut wanted: Vec<Service> = action
            .map(|action| github::workflows(project, action))
            .into_iter()
            .collect::<anyhow::Result<_>>()?;
        let others: [(bool, MakeService); 4] = [
            (self.gitlab, services::gitlab),
            (self.cron, services::cron),
            (self.systemd, services::systemd),
            (self.pre_commit, services::pre_commit),
        ];
        for (is_wanted, make) in others {
            if is_wanted {
                wanted.push(make(project)?);
            }
        }
        Ok(wanted)
    }
}

const CONFIG: &str = include_str!("../../../templates/init/urldb.toml");

/// The temporary files of a killed urldb.
const TEMPORARY: &str = ".urldb-tmp-*";

/// The folder of the web page in the settings that [`CONFIG`] suggests.
const SITE: &str = "site";

pub(super) fn run(args: &Args, global: &GlobalArgs) -> anyhow::Result<ExitCode> {
    let root = match &args.dir {
        Some(dir) => global.directory()?.join(dir),
        None => global.directory()?,
    };
    let action = args.action()?;
    let mut out = output::stdout_unless(global.is_quiet());
    write_config(&mut out, &root)?;
    let repository =
        Repository::of_project(&root)?.filter(|repository| repository.work_tree().is_ok());
    let config = add_notifiers(&mut out, args, &root.join(FILE_NAME), repository.as_ref())?;
    let database = root.join(&config.database.path);
    if !urldb_files::is_folder(&database) {
        make_folder(&database)?;
        let made = style::paint(style::GOOD, "made");
        let name = config.relative_name(&database);
        writeln!(out, "{made} {name}/, the database: one file a domain")?;
    }
    let wrote = style::paint(style::GOOD, "wrote");
    if add_lines(&root.join(".gitattributes"), &attributes(&config))? {
        writeln!(out, "{wrote} .gitattributes, so that histories merge")?;
    }
    let facts = ProjectFacts::new(&config, repository.as_ref());
    let ignored = ignored(args, &facts)?;
    if add_lines(&root.join(".gitignore"), &ignored)? {
        writeln!(out, "{wrote} .gitignore: {}", ignored.join(", "))?;
    }
    let services = args.services(&facts, action.as_deref())?;
    for file in services.iter().flat_map(|service| &service.files) {
        write_service_file(&mut out, file, &facts)?;
    }
    write_steps(&mut out, &services)?;
    if !services.is_empty() {
        return Ok(ExitCode::Success);
    }
    let folders = [&database, &root.join(&config.ledger.path)];
    let [database, ledger] = folders.map(|folder| config.relative_name(folder));
    writeln!(
        out,
        "next: `urldb add --static URL`, then, in a git repository, `urldb hook install`, then `urldb check`; \
         commit {FILE_NAME}, {database}/ and later {ledger}/"
    )?;
    Ok(ExitCode::Success)
}

/// Writes urldb.toml, unless it is there.
fn write_config(out: &mut impl Write, root: &Path) -> anyhow::Result<()> {
    let file = root.join(FILE_NAME);
    if !urldb_files::is_there(&file) {
        make_folder(root)?;
        write(&file, CONFIG)?;
        let wrote = style::paint(style::GOOD, "wrote");
        writeln!(out, "{wrote} {FILE_NAME}: every key in it is optional")?;
    }
    Ok(())
}

/// Adds the notifiers to urldb.toml that the wanted services need, and loads the file.
fn add_notifiers(
    out: &mut impl Write,
    args: &Args,
    file: &Path,
    repository: Option<&Repository>,
) -> anyhow::Result<Config> {
    let config = config::load(file)?;
    let Some(lines) = notifiers::missing(args, &ProjectFacts::new(&config, repository))? else {
        return Ok(config);
    };
    notifiers::add(file, &lines)?;
    let added = style::paint(style::GOOD, "added");
    writeln!(out, "{added} to {FILE_NAME}:")?;
    for line in lines.trim().lines() {
        writeln!(out, "{}", format!("    {line}").trim_end())?;
    }
    Ok(config::load(file)?)
}

/// Writes a file of a service, unless it is there, and prints the result.
fn write_service_file(
    out: &mut impl Write,
    file: &NewFile,
    facts: &ProjectFacts<'_>,
) -> anyhow::Result<()> {
    let below_top = file.path.strip_prefix(facts.top()?).unwrap_or(&file.path);
    let path = file.path.strip_prefix(&facts.config.root);
    let name = facts.config.relative_name(path.unwrap_or(below_top));
    if write_new(&file.path, &file.text)? {
        let wrote = style::paint(style::GOOD, "wrote");
        writeln!(out, "{wrote} {name}, {}", file.purpose)?;
        return Ok(());
    }
    let kept = style::paint(style::WARN, "kept");
    let is_current = urldb_files::read_to_string(&file.path, limits::SETTINGS)
        .is_ok_and(|text| text == file.text);
    let differs = if is_current {
        ""
    } else {
        "; to get the text of today, remove the file and repeat the command"
    };
    writeln!(
        out,
        "{kept} {name}: it exists, and init overwrites nothing{differs}"
    )?;
    Ok(())
}

/// Prints the next steps of the reader, and notes on what does not work yet.
fn write_steps(out: &mut impl Write, services: &[Service]) -> io::Result<()> {
    for service in services {
        writeln!(out, "next, for {}:", service.name)?;
        for (index, step) in service.steps.iter().enumerate() {
            writeln!(out, "  {}. {}", index + 1, sanitize(step))?;
        }
        for SetupNote { text, command } in &service.notes {
            let word = style::paint(style::WARN, "note:");
            writeln!(out, "{word} {}", sanitize(text))?;
            writeln!(out, "      {}", sanitize(command))?;
        }
    }
    Ok(())
}

/// Writes a file, unless it is there.
fn write_new(path: &Path, text: &str) -> anyhow::Result<bool> {
    if let Some(folder) = path.parent() {
        make_folder(folder)?;
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
    attribute_line(&config.ledger.path, "history/*.jsonl", "merge=union")
        .into_iter()
        .collect()
}

/// The lines of `.gitignore`: archive, site, written mails and a ledger on a branch, unless they are committed
/// already, and temporary files.
fn ignored(args: &Args, project: &ProjectFacts<'_>) -> anyhow::Result<Vec<String>> {
    let (config, repository) = (project.config, project.repository);
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
    let mut written: Vec<&Path> = kinds.clone().filter_map(NotifierKind::folder).collect();
    if !kinds
        .clone()
        .any(|kind| matches!(kind, NotifierKind::Html(_)))
    {
        written.push(Path::new(SITE));
    }
    for folder in written {
        if !is_committed(&config.root.join(folder))? {
            lines.push(ignore_line(folder, ""));
        }
    }
    // The action and the pipeline keep the ledger on a branch of its own.
    let keeps_branch = args.github || args.gitlab;
    if keeps_branch && !project.tracks_ledger()? {
        lines.push(ignore_line(&config.ledger.path, ""));
    }
    lines.push(Some(TEMPORARY.to_owned()));
    Ok(lines.into_iter().flatten().collect())
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    urldb_files::write_atomically(path, text.as_bytes())
        .with_context(|| format!("cannot write {}", path.display()))
}

fn make_folder(folder: &Path) -> anyhow::Result<()> {
    urldb_files::make_folder(folder).with_context(|| format!("cannot make {}", folder.display()))
}
