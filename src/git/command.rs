//! Running the `git` executable.
#![expect(clippy::disallowed_methods, reason = "the only starts of git")]

use std::io::{ErrorKind, Seek, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, bail};

use super::env::LOCAL;

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
    /// Another exit status, with standard error (or the status, if that is empty).
    Failure(String),
}

/// Runs `git` with `input` on its standard input.
///
/// # Errors
/// When git could not be run at all.
pub(super) fn run(git: &mut Command, input: &[u8]) -> Result<CommandResult> {
    // Messages are compared and shown: keep them in one language.
    git.env("LC_ALL", "C")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    CommandResult::from_output(feed(git, input))
}

impl CommandResult {
    fn from_output(output: std::io::Result<Output>) -> Result<Self> {
        let output = output.context("cannot run `git`; is it installed and on PATH?")?;
        if output.status.success() {
            return Ok(Self::Success(output.stdout));
        }
        let complaint = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Ok(Self::Failure(if complaint.is_empty() {
            output.status.to_string()
        } else {
            complaint
        }))
    }

    /// The output; the failure of `git` is an error.
    fn into_output(self, git: &Command) -> Result<Vec<u8>> {
        match self {
            Self::Success(output) => Ok(output),
            Self::Failure(complaint) => bail!("{} failed: {complaint}", shown(git)),
        }
    }
}

/// The output of `git`; its failure is an error.
pub(super) fn output(git: &mut Command, input: &[u8]) -> Result<Vec<u8>> {
    run(git, input)?.into_output(git)
}

/// Runs `git` to its end: Ctrl-C in the terminal does not reach git, and if this process is killed, git
/// still has the whole input, since the input is in a file.
pub(super) fn complete(git: &mut Command, input: &[u8]) -> Result<()> {
    let mut file = urldb_files::unnamed_file().context("cannot make a temporary file")?;
    file.write_all(input)
        .and_then(|()| file.rewind())
        .context("cannot write a temporary file")?;
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(git, 0);
    git.env("LC_ALL", "C").stdin(file);
    CommandResult::from_output(git.output())?
        .into_output(git)
        .map(drop)
}

fn shown(git: &Command) -> String {
    let args: Vec<_> = git.get_args().map(|a| a.to_string_lossy()).collect();
    format!("`git {}`", args.join(" "))
}

/// Writes the input while reading the output, so that no full pipe stops both.
fn feed(git: &mut Command, input: &[u8]) -> std::io::Result<Output> {
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
