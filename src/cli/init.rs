//! `urldb init`.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

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
  urldb init --github    and a workflow that runs urldb every day")]
pub(super) struct Args {
    /// Directory to initialize (created if missing)
    dir: Option<PathBuf>,
    /// Write a workflow for GitHub too: .github/workflows/urldb.yml
    #[arg(long)]
    github: bool,
}

const CONFIG: &str = include_str!("../../templates/init.toml");

/// The workflow of the example, which users may edit.
const WORKFLOW: &str = include_str!("../../examples/repository/.github/workflows/urldb.yml");
const WORKFLOW_FILE: &str = ".github/workflows/urldb.yml";

/// The line of the workflow after which the folder of the project is named.
const ACTION: &str = "      - uses: urldb/urldb@main # zizmor: ignore[unpinned-uses]\n";

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
        write(&file, CONFIG)?;
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
    let ignored = ignored(&config, repository.as_ref())?;
    if add_lines(&root.join(".gitignore"), &ignored)? {
        writeln!(out, "{wrote} .gitignore: {}", ignored.join(", "))?;
    }
    if args.github {
        let top = repository
            .as_ref()
            .map_or(Ok(&*root), Repository::work_tree)?;
        let project = repository.as_ref().map(|it| it.relative(&root));
        if write_workflow(top, &project.transpose()?.unwrap_or_default())? {
            let name = config.relative_name(&top.join(WORKFLOW_FILE));
            writeln!(out, "{wrote} {name}, which runs urldb every day")?;
        }
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

/// The lines of `.gitattributes`. The history of a ledger only grows, at its end: a merge takes the lines of
/// both sides.
fn attributes(config: &Config) -> Vec<String> {
    let history = attribute_line(&config.ledger.path, "history/*.jsonl", "merge=union");
    history.into_iter().collect()
}

/// The lines of `.gitignore`: archive and site, unless they are committed already, and temporary files.
fn ignored(config: &Config, repository: Option<&Repository>) -> anyhow::Result<Vec<String>> {
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
    lines.push(Some(TEMPORARY.to_owned()));
    Ok(lines.into_iter().flatten().collect())
}

/// Writes the workflow of GitHub for the project in a folder of the work tree, unless it is there.
fn write_workflow(top: &Path, project: &Path) -> anyhow::Result<bool> {
    let file = top.join(WORKFLOW_FILE);
    if file.exists() {
        return Ok(false);
    }
    let folder = project
        .to_str()
        .filter(|folder| !folder.contains(char::is_control))
        .with_context(|| format!("no workflow can name the folder {}", project.display()))?;
    let workflow = if folder.is_empty() {
        WORKFLOW.to_owned()
    } else {
        let quoted = folder.replace('\'', "''");
        let inputs = format!("        with:\n          working-directory: '{quoted}'\n");
        let archive = format!("path: '{quoted}/archive/'");
        let workflow = WORKFLOW.replace(ACTION, &format!("{ACTION}{inputs}"));
        workflow.replace("path: archive/", &archive)
    };
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    write(&file, &workflow)?;
    Ok(true)
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    urldb_files::write_atomically(path, text.as_bytes())
        .with_context(|| format!("cannot write {}", path.display()))
}
