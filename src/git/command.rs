//! Running the `git` executable.
#![expect(clippy::disallowed_methods, reason = "the only starts of git")]

use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::path::Path;
use std::process::{Command, ExitStatus, Output, Stdio};

use anyhow::{Context, Result, bail, ensure};
use urldb_process::run_apart;

use super::env::LOCAL;
use super::paths;
use crate::stop::{Interrupted, to_the_end};

/// A `git` command for the repository of `dir`, without the variables that a
/// surrounding hook sets for its own repository.
pub fn command(dir: &Path) -> Command {
    let mut git = Command::new("git");
    git.current_dir(dir);
    for name in LOCAL {
        git.env_remove(name);
    }
    git
}

/// The result of a git command that ran to its end.
pub(super) enum CommandResult {
    /// Exit status 0, with this standard output.
    Success(Vec<u8>),
    /// Another exit status.
    Failure(GitFailure),
}

/// A git that ended with another exit status than 0.
pub(super) struct GitFailure {
    /// The exit status; `None` after a signal.
    pub(super) code: Option<i32>,
    /// Standard error, or the status if that is empty.
    pub(super) complaint: String,
}

/// Runs `git` with `input` on its standard input.
///
/// # Errors
/// When git could not be run at all; and [`Interrupted`] when Ctrl-C or SIGTERM ended it, which this process may have got
/// as well and not yet noticed.
pub(super) fn run(git: &mut Command, input: &[u8]) -> Result<CommandResult> {
    // Messages are compared and shown: keep them in one language.
    git.env("LC_ALL", "C")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let output = feed(git, input).with_context(|| cannot_run(git))?;
    ensure!(
        !is_interrupted(output.status),
        Interrupted("a signal ended `git`")
    );
    Ok(CommandResult::from_output(output))
}

impl CommandResult {
    fn from_output(output: Output) -> Self {
        if output.status.success() {
            return Self::Success(output.stdout);
        }
        let complaint = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Self::Failure(GitFailure {
            code: output.status.code(),
            complaint: if complaint.is_empty() {
                output.status.to_string()
            } else {
                complaint
            },
        })
    }

    /// The output; the failure of `git` is an error.
    fn into_output(self, git: &Command) -> Result<Vec<u8>> {
        match self {
            Self::Success(output) => Ok(output),
            Self::Failure(failure) => bail!("{} failed: {}", shown(git), failure.complaint),
        }
    }
}

/// The output of `git`; its failure is an error.
pub(super) fn output(git: &mut Command, input: &[u8]) -> Result<Vec<u8>> {
    run(git, input)?.into_output(git)
}

/// Whether `git` ends with 0.
pub(super) fn succeeds(git: &mut Command) -> Result<bool> {
    Ok(matches!(run(git, b"")?, CommandResult::Success(_)))
}

/// Runs a `git` that writes the index, the work tree or the configuration, as [`run_whole`] does.
pub(super) fn complete(git: &mut Command, input: &[u8]) -> Result<()> {
    git.env("LC_ALL", "C");
    CommandResult::from_output(run_whole(git, input)?)
        .into_output(git)
        .map(drop)
}

/// Runs `git` to its end: an interrupted one leaves half a work tree. A signal waits for git, and Ctrl-C in the
/// terminal does not reach it. If this process is killed, git goes on: its input and output are files.
pub(super) fn run_whole(git: &mut Command, input: &[u8]) -> Result<Output> {
    let file = || urldb_files::unnamed_file().context("cannot make a temporary file");
    let (mut stdin, mut stdout, mut stderr) = (file()?, file()?, file()?);
    stdin
        .write_all(input)
        .and_then(|()| stdin.rewind())
        .context("cannot write a temporary file")?;
    git.stdin(stdin)
        .stdout(stdout.try_clone()?)
        .stderr(stderr.try_clone()?);
    let status = to_the_end(|| run_apart(git)).map_err(|error| {
        let is_of_system = error.raw_os_error().is_some();
        anyhow::Error::from(error).context(if is_of_system {
            cannot_run(git)
        } else {
            "`git` was ended".to_owned()
        })
    })?;
    Ok(Output {
        status,
        stdout: whole(&mut stdout)?,
        stderr: whole(&mut stderr)?,
    })
}

/// The same command, which ends with all processes of its group when its standard input ends without a line: a killed
/// process leaves no command behind. Systems without process groups get the command itself.
pub(super) fn guarded(git: &Command) -> Command {
    const SCRIPT: &str =
        "exec 3<&0; { read -r _ || kill -TERM 0; } <&3 & exec \"$@\" 3<&- </dev/null";
    let mut guarded = if cfg!(unix) {
        let mut shell = Command::new("sh");
        shell.args(["-c", SCRIPT, "sh"]).arg(git.get_program());
        shell
    } else {
        Command::new(git.get_program())
    };
    guarded.args(git.get_args());
    if let Some(dir) = git.get_current_dir() {
        guarded.current_dir(dir);
    }
    for (name, value) in git.get_envs() {
        match value {
            Some(value) => guarded.env(name, value),
            None => guarded.env_remove(name),
        };
    }
    guarded
}

/// Whether SIGHUP, SIGINT or SIGTERM ended a program. After a crash, or a kill by the system, it has failed.
#[cfg(unix)]
fn is_interrupted(status: ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt;
    matches!(status.signal(), Some(1 | 2 | 15))
}

#[cfg(not(unix))]
fn is_interrupted(_: ExitStatus) -> bool {
    false
}

fn whole(file: &mut File) -> io::Result<Vec<u8>> {
    let mut bytes = vec![];
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The reason why `git` does not start.
pub(super) fn cannot_run(git: &Command) -> String {
    match git.get_current_dir() {
        Some(dir) if !urldb_files::is_folder(dir) => {
            format!(
                "cannot run `git` in {}, which is no folder",
                paths::shown(dir)
            )
        }
        _ => "cannot run `git`; is it installed and on PATH?".to_owned(),
    }
}

fn shown(git: &Command) -> String {
    let args: Vec<_> = git.get_args().map(|a| a.to_string_lossy()).collect();
    format!("`git {}`", args.join(" "))
}

/// Writes the input while reading the output, so that no full pipe stops both.
fn feed(git: &mut Command, input: &[u8]) -> io::Result<Output> {
    let mut child = git.spawn()?;
    let stdin = child.stdin.take();
    std::thread::scope(|scope| {
        let writer = scope.spawn(move || match stdin {
            Some(mut stdin) => stdin.write_all(input),
            None => Ok(()),
        });
        let output = child.wait_with_output()?;
        match writer.join() {
            // Git may stop reading early; its exit status says whether that is bad.
            Ok(Err(error)) if error.kind() != ErrorKind::BrokenPipe => Err(error),
            _ => Ok(output),
        }
    })
}
