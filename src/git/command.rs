//! Running the `git` executable.

use std::io::{ErrorKind, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, bail};

use super::env::LOCAL;

/// `git`, to be run in `dir` for whatever repository stands there: nothing
/// that a surrounding hook says about its own repository reaches it.
pub fn command(dir: &Path) -> Command {
    let mut git = Command::new("git");
    git.current_dir(dir);
    for name in LOCAL {
        git.env_remove(name);
    }
    git
}

/// What came of a git command that was run to its end.
pub(super) enum Ran {
    /// It succeeded and printed this.
    Done(Vec<u8>),
    /// It failed and complained of this.
    Failed(String),
}

/// Runs `git` with `input` on its standard input.
///
/// An `Err` means that it could not be run at all.
pub(super) fn run(git: &mut Command, input: &[u8]) -> Result<Ran> {
    // Messages are compared and shown: keep them in one language.
    git.env("LC_ALL", "C")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let output = feed(git, input).context("cannot run `git`; is it installed and on PATH?")?;
    if output.status.success() {
        return Ok(Ran::Done(output.stdout));
    }
    let complaint = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Ok(Ran::Failed(if complaint.is_empty() {
        output.status.to_string()
    } else {
        complaint
    }))
}

/// The output of `git`, where a failure of git's is an error.
pub(super) fn output(git: &mut Command, input: &[u8]) -> Result<Vec<u8>> {
    match run(git, input)? {
        Ran::Done(output) => Ok(output),
        Ran::Failed(complaint) => {
            let args: Vec<_> = git.get_args().map(|a| a.to_string_lossy()).collect();
            bail!("`git {}` failed: {complaint}", args.join(" "))
        }
    }
}

/// Writes the input beside reading the output, so that neither pipe can fill
/// up and stop both.
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
