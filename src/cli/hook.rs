//! `urldb hook`.

mod lists;

use std::cell::RefCell;
use std::io::Write;
use std::path::Path;

use anyhow::Context as _;
use clap::Subcommand;
use urldb_format::{DomainFile, Error};
use urldb_text::Finding;

use super::print::style;
use super::{Context, GlobalArgs};
use crate::cli::print::output;
use crate::database::edit::Edit;
use crate::database::site_rules;
use crate::database::stored_across::staged_mistakes;
use crate::doctor::merge_attributes;
use crate::exit::ExitCode;
use crate::git::{
    CheckedFolder, FileCheck, GitEnv, Hook, Installation, Repository, pre_commit, staged_files,
};
use crate::stop::{Stop, stop_on_signals_and_hangup};

/// Install or run the git hooks and the merge driver that keep domain files canonical
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb hook install           from now on, commits are normalized, and merges go by record
  urldb hook uninstall         as it was before
  urldb hook run pre-commit    the installed hook does this")]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Install the hooks and the merge driver; existing hooks run first
    Install,
    /// Remove the hooks and the merge driver; existing hooks get their names back
    Uninstall,
    /// Run one hook on the staged files
    Run {
        /// pre-commit or pre-merge-commit
        #[arg(value_parser = parse_hook)]
        hook: Hook,
    },
}

fn parse_hook(name: &str) -> Result<Hook, String> {
    Hook::named(name).ok_or_else(|| {
        let names: Vec<_> = Hook::ALL.into_iter().map(Hook::name).collect();
        format!("hooks are {}", names.join(" and "))
    })
}

pub(super) fn run(args: &Args, global: &GlobalArgs) -> anyhow::Result<ExitCode> {
    let env = GitEnv::from_process();
    let (directory, repository) = match &args.command {
        // Git tells a hook its repository relative to the folder where the hook starts.
        Command::Run { .. } if env.is_of_hook() => {
            let directory = std::env::current_dir()?;
            let repository = Repository::discover(&directory, env)?;
            (directory, repository)
        }
        _ => {
            let directory = global.directory()?;
            let repository = Repository::of_project(&directory)?;
            (directory, repository)
        }
    };
    let repository = repository.with_context(|| {
        format!(
            "{} is in no git repository; `git init` makes one",
            directory.display()
        )
    })?;
    match &args.command {
        Command::Install => install(&repository, &Context::new(global)?),
        Command::Uninstall => uninstall(&repository, &Context::new(global)?),
        Command::Run { hook } => match run_hook(&repository, *hook, global)? {
            ExitCode::Success => lists::check(&repository, global),
            other => Ok(other),
        },
    }
}

fn install(repository: &Repository, context: &Context) -> anyhow::Result<ExitCode> {
    // The driver is needed too where another program manages the hooks.
    let changed = repository.install_merge_driver(&merge_attributes(&context.config))?;
    let hooks = repository.install_hooks(&context.config.root);
    let mut out = output::stdout_unless(context.quiet);
    for installation in hooks.iter().flatten() {
        match installation {
            Installation::New(path) => writeln!(
                out,
                "{} {}",
                style::paint(style::GOOD, "installed"),
                path.display()
            )?,
            Installation::Existing(path) => writeln!(
                out,
                "{} {}",
                style::paint(style::DIM, "already there:"),
                path.display()
            )?,
            Installation::Chained { hook, before } => {
                let done = style::paint(style::GOOD, "installed");
                writeln!(
                    out,
                    "{done} {}, which runs the hook that was there first: {}",
                    hook.display(),
                    before.display()
                )?;
            }
        }
    }
    for file in &changed {
        let done = style::paint(style::GOOD, "installed");
        writeln!(out, "{done} the merge driver in {}", file.display())?;
    }
    if changed.iter().any(|file| file.ends_with(".gitattributes")) {
        writeln!(out, "next: commit .gitattributes")?;
    }
    hooks.map(|_| ExitCode::Success)
}

fn uninstall(repository: &Repository, context: &Context) -> anyhow::Result<ExitCode> {
    let mut removed = repository.uninstall_merge_driver(&merge_attributes(&context.config))?;
    removed.extend(repository.uninstall_hooks(&context.config.root)?);
    let mut out = output::stdout_unless(context.quiet);
    for file in &removed {
        let done = style::paint(style::GOOD, "removed");
        writeln!(out, "{done} urldb from {}", file.display())?;
    }
    if removed.is_empty() {
        writeln!(out, "nothing of urldb is installed here")?;
    }
    Ok(ExitCode::Success)
}

/// Without a staged file of the database, nothing else is read or locked: a commit of other files
/// does not depend on urldb.toml.
fn run_hook(repository: &Repository, hook: Hook, global: &GlobalArgs) -> anyhow::Result<ExitCode> {
    let database = global.database_folder()?;
    let folder = repository.relative(&database)?;
    let folders = [
        CheckedFolder {
            path: folder.clone(),
            is_checked: |path| {
                urldb_format::is_domain_file(path) || urldb_format::is_misnamed(path)
            },
        },
        CheckedFolder {
            path: folder.join(site_rules::FOLDER),
            is_checked: site_rules::is_rules_file,
        },
    ];
    let staged = staged_files(repository, &folders)?;
    if staged.is_empty() {
        return Ok(ExitCode::Success);
    }
    let context = Context::new(global).context(
        "the commit is stopped: files of the database are staged, and they cannot be checked \
         without the configuration",
    )?;
    let _edit = Edit::lock(&database)?;
    let own_keys = &context.config.lint.keys;
    let stop = Stop::new();
    stop_on_signals_and_hangup(&stop)?;
    let staged_files = RefCell::new(vec![]);
    let check = |path: &Path, bytes: &[u8]| {
        if urldb_format::is_domain_file(path) {
            staged_files
                .borrow_mut()
                .push(DomainFile::parse_head(path, bytes));
        }
        check(path, bytes, own_keys)
    };
    let stages_rules = staged
        .iter()
        .any(|file| site_rules::is_rules_file(&file.path));
    let before = staged
        .iter()
        .filter_map(|file| Some((file.path.clone(), file.before.clone()?)))
        .collect();
    let outcome = pre_commit(repository, staged, &stop, check, || {
        let staged = staged_files.borrow();
        staged_mistakes(repository, &folder, &staged, &before, stages_rules)
    })?;
    write!(
        output::stderr(),
        "{}",
        outcome.render(hook, repository.prefix())
    )?;
    Ok(if stop.is_set() {
        ExitCode::Interrupted
    } else if outcome.lets_commit(hook) {
        ExitCode::Success
    } else {
        ExitCode::Findings
    })
}

/// Normalizes a domain file. A mistake that cannot be normalized stops the commit.
fn check(path: &Path, bytes: &[u8], own_keys: &[String]) -> anyhow::Result<FileCheck> {
    if site_rules::is_rules_file(path) {
        return Ok(check_rules(site_rules::check_bytes(path, bytes)));
    }
    let misnamed = urldb_format::lint_misnamed(path);
    if !misnamed.is_empty() {
        return Ok(FileCheck::Rejected(misnamed));
    }
    if DomainFile::is_clean(path, bytes, own_keys) {
        return Ok(FileCheck::Clean);
    }
    let parsed = DomainFile::parse(path, bytes);
    let canonical = match parsed.file.canonical() {
        Ok(canonical) => canonical,
        Err(Error::NotNormalizable { findings, .. }) => return Ok(FileCheck::Rejected(findings)),
        Err(error) => return Err(error.into()),
    };
    let mut remaining =
        urldb_format::lint(&DomainFile::parse(path, canonical.as_bytes()), own_keys);
    let mut staged = urldb_format::lint(&parsed, own_keys);
    // A warning may stay.
    let stays = |finding: &Finding| remaining.iter().any(|other| other.code == finding.code);
    let notes = notes(staged.iter().filter(|finding| !stays(finding)));
    remaining.retain(Finding::is_error);
    if !remaining.is_empty() {
        // Lines of the staged text help more than lines of the canonical text.
        let codes: Vec<_> = remaining.iter().map(|finding| finding.code).collect();
        staged.retain(|finding| codes.contains(&finding.code));
        return Ok(FileCheck::Rejected(if staged.is_empty() {
            remaining
        } else {
            staged
        }));
    }
    if canonical.as_bytes() == bytes {
        return Ok(FileCheck::Clean);
    }
    Ok(FileCheck::Normalized(canonical.into_bytes(), notes))
}

fn check_rules(mut findings: Vec<Finding>) -> FileCheck {
    findings.retain(Finding::is_error);
    if findings.is_empty() {
        FileCheck::Clean
    } else {
        FileCheck::Rejected(findings)
    }
}

/// The kinds of findings that normalizing removes, each once.
fn notes<'a>(findings: impl Iterator<Item = &'a Finding>) -> Vec<String> {
    let mut notes: Vec<String> = findings
        .map(|finding| finding.code.as_str().replace('-', " "))
        .collect();
    notes.sort();
    notes.dedup();
    notes
}
