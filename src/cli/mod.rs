//! The command line: a file or folder for each subcommand, and the code that they share.
//!
//! A subcommand has `Args`, the arguments as typed, and `run`, which returns the
//! exit code.

mod accept;
mod ack;
mod add;
mod archive;
mod args;
mod check;
mod check_list;
mod completions;
mod demo;
mod diff;
mod doctor;
mod execute;
mod explain;
mod export;
mod fmt;
mod get;
mod hook;
mod import;
mod init;
mod lint;
mod list;
mod log;
mod man;
mod mv;
mod notify;
mod print;
mod push;
mod report_file;
mod resolve;
mod rm;
mod run_commit;
mod shard;
mod site;
mod status;
mod sync;
mod url;
mod watch;

use std::error::Error;
use std::fmt::Write;
use std::io;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use urldb_files::UnsyncedFolder;
use urldb_render::{Text, wrap};
use urldb_text::sanitize;

use crate::config::ConfigError;
use crate::environment;
use crate::exit::ExitCode;
use crate::stop::Interrupted;
pub use args::{Context, GlobalArgs};
use print::style;

const EXIT_CODES: &str = "\
Exit codes:
  0    everything is as promised
  1    findings: a broken URL, a file that is not canonical
  2    urldb could not do its work
  3    nothing worse than blocked or inconclusive
  130  interrupted";

/// Watches that URLs stay up and serve exactly the bytes they promise.
///
/// The promises are a directory of small, sorted YAML files in git, one a
/// domain. `urldb demo` shows everything in a few seconds, offline.
#[derive(Debug, Parser)]
#[command(name = "urldb", version, after_help = EXIT_CODES)]
struct Cli {
    #[command(flatten)]
    global: GlobalArgs,
    #[command(subcommand)]
    command: Command,
}

/// In the order of [`GROUPS`].
#[derive(Debug, Subcommand)]
enum Command {
    Add(add::Args),
    Rm(rm::Args),
    Mv(mv::Args),
    List(list::Args),
    Accept(accept::Args),
    Get(get::Args),
    Import(import::Args),
    Export(export::Args),
    Sync(sync::Args),
    Fmt(fmt::Args),
    Lint(lint::Args),
    Diff(diff::Args),
    Resolve(resolve::Args),
    Check(check::CheckArgs),
    Run(check::RunArgs),
    Push(push::Args),
    Watch(watch::Args),
    Status(status::Args),
    Log(log::Args),
    Ack(ack::Args),
    Notify(notify::Args),
    Site(site::Args),
    Archive(archive::Args),
    Init(init::Args),
    Hook(hook::Args),
    Doctor(doctor::Args),
    Completions(completions::Args),
    Man(man::Args),
    Demo(demo::Args),
    Explain(explain::Args),
    Url(url::Args),
}

/// Runs the program with the arguments of this process.
pub fn main() -> std::process::ExitCode {
    let matches = grouped(Cli::command()).get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    cli.global.apply_color();
    environment::register_secrets();
    let done = dispatch(&cli);
    if let Some(folder) = urldb_files::unsynced_folder() {
        style::print_warning(unsynced(folder));
    }
    // A reader that closes the pipe early (`| head`) is no error.
    done.unwrap_or_else(|error| {
        if is_broken_pipe(&error) {
            return ExitCode::Success;
        }
        style::print_error(&error);
        if error.chain().any(<dyn Error>::is::<Interrupted>) {
            return ExitCode::Interrupted;
        }
        match error.downcast_ref() {
            // The same as for a file that is such a link: `unreadable-file`.
            Some(ConfigError::Outside(_)) => ExitCode::Findings,
            _ => ExitCode::Failure,
        }
    })
    .into()
}

fn dispatch(cli: &Cli) -> anyhow::Result<ExitCode> {
    let context = || Context::new(&cli.global);
    let with_ledger = || {
        let context = context()?;
        context.restore_ledger()?;
        Ok::<_, anyhow::Error>(context)
    };
    match &cli.command {
        Command::Init(args) => init::run(args, &cli.global),
        Command::Add(args) => add::run(args, &mut context()?),
        Command::Rm(args) => rm::run(args, &context()?),
        Command::Mv(args) => mv::run(args, &context()?),
        Command::List(args) => list::run(args, &context()?),
        Command::Url(args) => url::run(args, context),
        Command::Export(args) => export::run(args, &context()?),
        Command::Import(args) => import::run(args, &mut context()?),
        Command::Sync(args) => sync::run(args, &mut context()?),
        Command::Fmt(args) => fmt::run(args, &context()?),
        Command::Lint(args) => lint::run(args, &Context::with_trust(&cli.global, &args.trust)?),
        Command::Diff(args) => diff::run(args, &context()?),
        Command::Resolve(args) => resolve::run(args, &cli.global, context),
        Command::Check(args) => {
            check::check(args, &mut Context::with_trust(&cli.global, &args.trust)?)
        }
        Command::Run(args) => check::run(args, &mut context()?),
        Command::Push(push::Args {}) => push::run(&context()?),
        Command::Get(args) => get::run(args, &with_ledger()?),
        Command::Accept(args) => accept::run(args, &mut with_ledger()?),
        Command::Status(args) => status::run(args, &with_ledger()?),
        Command::Log(args) => log::run(args, &with_ledger()?),
        Command::Archive(args) => archive::run(args, &context()?),
        Command::Hook(args) => hook::run(args, &cli.global),
        Command::Doctor(args) => doctor::run(args, &cli.global),
        Command::Watch(args) => watch::run(args, &cli.global),
        Command::Ack(args) => ack::run(args, &context()?),
        Command::Notify(args) => notify::run(args, &context()?),
        Command::Site(args) => site::run(args, &with_ledger()?),
        Command::Demo(args) => demo::run(args),
        Command::Explain(args) => explain::run(args),
        Command::Completions(args) => completions::run(args),
        Command::Man(args) => man::run(args),
    }
}

fn unsynced(UnsyncedFolder { path, error }: &UnsyncedFolder) -> String {
    format!(
        "the file system of {} cannot make new file names durable ({error}): after a power failure, the last changes \
         may be missing",
        sanitize(&path.to_string_lossy())
    )
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let kind = |cause: &(dyn Error + 'static)| {
        // An error of serde_json does not show the I/O error within as its source.
        let json = cause.downcast_ref::<serde_json::Error>();
        let io = cause.downcast_ref::<io::Error>();
        json.and_then(serde_json::Error::io_error_kind)
            .or(io.map(io::Error::kind))
    };
    error
        .chain()
        .filter_map(kind)
        .any(|kind| kind == io::ErrorKind::BrokenPipe)
}

/// The groups and their commands, in the order of the list.
const GROUPS: [(&str, &[&str]); 7] = [
    (
        "Promises",
        &[
            "add", "rm", "mv", "list", "accept", "get", "import", "export",
        ],
    ),
    ("Lists", &["sync"]),
    ("Files", &["fmt", "lint", "diff", "resolve"]),
    (
        "Watching",
        &["check", "run", "push", "watch", "status", "log", "ack"],
    ),
    ("Output", &["notify", "site", "archive"]),
    ("Setup", &["init", "hook", "doctor", "completions", "man"]),
    ("Learning", &["demo", "explain", "url"]),
];

/// Columns where the output is no terminal, and most columns of a terminal: as clap has it.
const WIDTH: usize = 100;

/// The command with the groups in its help, in place of one list.
fn grouped(command: clap::Command) -> clap::Command {
    let terminal = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    let list = command_list(&command, terminal.unwrap_or(WIDTH).min(WIDTH));
    command
        // The template lists them.
        .mut_subcommands(|subcommand| subcommand.hide(true))
        .override_usage("urldb [OPTIONS] <COMMAND>")
        .help_template(format!(
            "{{before-help}}{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{list}{{all-args}}{{after-help}}"
        ))
}

/// The groups as text, with colours.
fn command_list(command: &clap::Command, width: usize) -> String {
    let names = GROUPS.iter().flat_map(|(_, names)| names.iter());
    let column = names.map(|name| name.len()).max().unwrap_or_default() + 4;
    let (header, literal) = (
        command.get_styles().get_header(),
        command.get_styles().get_literal(),
    );
    let mut text = String::new();
    for (group, names) in GROUPS {
        let _ = writeln!(text, "{header}{group}:{header:#}");
        for name in names {
            let about = Text::from(
                command
                    .find_subcommand(name)
                    .and_then(clap::Command::get_about)
                    .map(ToString::to_string)
                    .unwrap_or_default(),
            );
            let lines = wrap(&about, width.saturating_sub(column), 0, 0);
            let gap = " ".repeat(column.saturating_sub(2 + name.len()));
            let lines = lines.join(&format!("\n{}", " ".repeat(column)));
            let _ = writeln!(text, "  {literal}{name}{literal:#}{gap}{lines}");
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_arguments_fit_together() {
        Cli::command().debug_assert();
    }

    #[test]
    fn each_command_is_in_one_group_in_the_order_of_the_groups() {
        let command = crate::cli::Cli::command();
        let declared: Vec<&str> = command
            .get_subcommands()
            .map(clap::Command::get_name)
            .collect();
        let grouped: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, names)| *names)
            .copied()
            .collect();
        assert_eq!(declared, grouped);
    }
}
