//! `urldb hook`.

use std::io::Write;
use std::path::Path;

use clap::Subcommand;
use urldb_format::{DomainFile, Error, Finding, Severity};

use super::Context;
use super::print::style;
use crate::database::edit::Edit;
use crate::database::site_rules::{self, Problem};
use crate::exit::ExitCode;
use crate::git::{GitEnv, Hook, Installed, Judged, Message, Repository, pre_commit};

/// Install or run the git hooks that keep domain files canonical
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb hook install           from now on, commits are normalized
  urldb hook run pre-commit    what the installed hook does")]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Install the hooks beside any that are there
    Install,
    /// Run one hook on what is staged
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

pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let repository =
        Repository::discover(&context.directory, GitEnv::from_process())?.ok_or_else(|| {
            anyhow::anyhow!("{} is in no git repository", context.directory.display())
        })?;
    match &args.command {
        Command::Install => install(&repository),
        Command::Run { hook } => run_hook(&repository, *hook, context),
    }
}

fn install(repository: &Repository) -> anyhow::Result<ExitCode> {
    let mut out = anstream::stdout().lock();
    for hook in Hook::ALL {
        match repository.install_hook(hook)? {
            Installed::New(path) => writeln!(
                out,
                "{} {}",
                style::paint(style::GOOD, "installed"),
                path.display()
            )?,
            Installed::Already(path) => writeln!(
                out,
                "{} {}",
                style::paint(style::DIM, "already there:"),
                path.display()
            )?,
            Installed::Chained { hook, before } => {
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
    Ok(ExitCode::Success)
}

fn run_hook(repository: &Repository, hook: Hook, context: &Context) -> anyhow::Result<ExitCode> {
    let _edit = Edit::begin(&context.database())?;
    let outcome = pre_commit(repository, &context.database(), judge)?;
    write!(
        anstream::stderr(),
        "{}",
        outcome.render(hook, repository.prefix())
    )?;
    Ok(if outcome.lets_commit(hook) {
        ExitCode::Success
    } else {
        ExitCode::Findings
    })
}

/// What can be put in order is; any other mistake stops the commit.
fn judge(path: &Path, bytes: &[u8]) -> Judged {
    if site_rules::is_rules_file(path) {
        return judge_rules(&site_rules::check_bytes(path, bytes));
    }
    let parsed = DomainFile::parse(path, bytes);
    let canonical = match parsed.file.canonical() {
        Ok(canonical) => canonical,
        Err(Error::NotNormalizable { findings, .. }) => return refuse(&findings),
        Err(error) => {
            return Judged::Refused(vec![Message {
                line: 1,
                column: 1,
                text: error.to_string(),
            }]);
        }
    };
    let mut remaining = urldb_format::lint(&DomainFile::parse(path, canonical.as_bytes()));
    remaining.retain(|finding| finding.severity == Severity::Error);
    if !remaining.is_empty() {
        // Told with the lines of what is staged, where the mistakes show there too.
        let codes: Vec<_> = remaining.iter().map(|finding| finding.code).collect();
        let mut staged = urldb_format::lint(&parsed);
        staged.retain(|finding| codes.contains(&finding.code));
        return refuse(if staged.is_empty() {
            &remaining
        } else {
            &staged
        });
    }
    if canonical.as_bytes() == bytes {
        return Judged::Clean;
    }
    Judged::Fixed(canonical.into_bytes(), notes(&urldb_format::lint(&parsed)))
}

fn judge_rules(problems: &[Problem]) -> Judged {
    let errors = problems.iter().filter(|problem| problem.is_error());
    let messages: Vec<_> = errors
        .map(|problem| Message {
            line: problem.line,
            column: problem.column,
            text: format!("{}: {}", problem.code, problem.message),
        })
        .collect();
    if messages.is_empty() {
        Judged::Clean
    } else {
        Judged::Refused(messages)
    }
}

fn refuse(findings: &[Finding]) -> Judged {
    let messages = findings.iter().map(|finding| Message {
        line: finding.line,
        column: finding.column,
        text: format!("{}: {}", finding.code.as_str(), finding.message),
    });
    Judged::Refused(messages.collect())
}

/// Each kind of thing that was put in order, once.
fn notes(findings: &[Finding]) -> Vec<String> {
    let mut notes: Vec<String> = findings
        .iter()
        .map(|finding| finding.code.as_str().replace('-', " "))
        .collect();
    notes.sort();
    notes.dedup();
    notes
}
