//! Runs a plugin within limits of time and output.
#![expect(
    clippy::disallowed_methods,
    reason = "starts the program that urldb.toml names"
)]

use std::io;
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStdin, Command};
use tokio::time::timeout;
use urldb_process::ProcessGroup;

use crate::Settings;
use crate::program::first_line_fault;

/// Most bytes that a plugin may write to standard output.
const LARGEST_ANSWER: usize = 64 << 10;

/// Most bytes that a plugin may write to standard error.
const LARGEST_COMPLAINT: usize = 1 << 20;

/// Bytes that are kept of the end of standard error.
const KEPT_COMPLAINT: usize = 4 << 10;

/// Time in which output is read after the plugin has ended. Only a process that has left the group can
/// keep a pipe open for so long.
const LAST_OUTPUT: Duration = Duration::from_secs(1);

/// The end of a plugin, and its output.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) how: How,
    /// Standard output.
    pub(crate) output: Vec<u8>,
    /// The end of standard error.
    pub(crate) complaint: Vec<u8>,
}

/// The way in which a plugin ended.
#[derive(Debug)]
pub(crate) enum How {
    /// By itself, or by a signal.
    Exited(ExitStatus),
    /// Killed after so much time.
    TimedOut(Duration),
    /// Killed, since it wrote more than this limit.
    Flooded(&'static str),
    /// Not started.
    NotStarted(io::Error),
}

/// Runs the plugin to its end, and leaves none of its processes behind.
pub(crate) async fn run(settings: &Settings, variables: &[(&str, String)], input: &[u8]) -> Ended {
    let (mut output, mut complaint) = (Vec::new(), Vec::new());
    let how = talk(settings, variables, input, &mut output, &mut complaint)
        .await
        .unwrap_or_else(How::NotStarted);
    let fault = match &how {
        // ENOEXEC: the file is no program.
        How::NotStarted(error) if error.raw_os_error() == Some(8) => Some(
            "Exec format error: a script names its interpreter in the first line, such as #!/bin/sh".to_owned(),
        ),
        How::NotStarted(_) | How::Exited(_) if output.is_empty() => {
            first_line_fault(&settings.program)
        }
        _ => None,
    };
    let how = fault.map_or(how, |fault| How::NotStarted(io::Error::other(fault)));
    Ended {
        how,
        output,
        complaint,
    }
}

async fn talk(
    settings: &Settings,
    variables: &[(&str, String)],
    input: &[u8],
    output: &mut Vec<u8>,
    complaint: &mut Vec<u8>,
) -> io::Result<How> {
    let (mut child, mut group) = ProcessGroup::spawn(&mut command(settings, variables))?;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let mut feeding = pin!(feed(stdin, input));
    let mut reading = pin!(async {
        tokio::try_join!(
            read_output(stdout, output),
            read_complaint(stderr, complaint)
        )
    });
    let (mut fed, mut read) = (false, false);
    let first = {
        let mut ended = pin!(group.ended(&mut child));
        let talking = async {
            loop {
                tokio::select! {
                    () = &mut ended => return None,
                    () = &mut feeding, if !fed => fed = true,
                    all = &mut reading, if !read => {
                        read = true;
                        if let Err(flood) = all {
                            return Some(flood);
                        }
                    }
                }
            }
        };
        timeout(settings.timeout, talking).await
    };
    group.kill(&mut child);
    // The last output of the plugin may still be in the pipes.
    let late = if read {
        None
    } else {
        timeout(LAST_OUTPUT, &mut reading)
            .await
            .ok()
            .and_then(Result::err)
    };
    let status = child.wait().await?;
    Ok(match (first, late) {
        (Err(_), _) => How::TimedOut(settings.timeout),
        (Ok(Some(flood)), _) | (Ok(None), Some(flood)) => How::Flooded(flood),
        (Ok(None), None) => How::Exited(status),
    })
}

/// The command with its environment, and nothing else of that of urldb.
fn command(settings: &Settings, variables: &[(&str, String)]) -> Command {
    let mut command = Command::new(&settings.program);
    command
        .args(&settings.arguments)
        .current_dir(&settings.directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.env_clear();
    command.envs(settings.variables.iter().map(|(name, value)| (name, value)));
    command.envs(variables.iter().map(|(name, value)| (name, value)));
    command
}

/// Writes the input. A plugin may close its standard input early: what it answers counts.
async fn feed(stdin: Option<ChildStdin>, input: &[u8]) {
    if let Some(mut stdin) = stdin
        && stdin.write_all(input).await.is_ok()
    {
        let _ = stdin.shutdown().await;
    }
}

async fn read_output(
    pipe: Option<impl AsyncRead + Unpin>,
    output: &mut Vec<u8>,
) -> Result<(), &'static str> {
    let Some(pipe) = pipe else { return Ok(()) };
    let limit = u64::try_from(LARGEST_ANSWER).unwrap_or(u64::MAX);
    // An error ends the output like its end does: the exit status says more.
    let _ = pipe.take(limit + 1).read_to_end(output).await;
    if output.len() > LARGEST_ANSWER {
        output.truncate(LARGEST_ANSWER);
        return Err("64 KiB to standard output");
    }
    Ok(())
}

/// Reads standard error, and keeps its end.
async fn read_complaint(
    pipe: Option<impl AsyncRead + Unpin>,
    complaint: &mut Vec<u8>,
) -> Result<(), &'static str> {
    let Some(mut pipe) = pipe else { return Ok(()) };
    let mut total = 0;
    let mut chunk = [0; KEPT_COMPLAINT];
    while let Ok(length @ 1..) = pipe.read(&mut chunk).await {
        total += length;
        complaint.extend_from_slice(&chunk[..length]);
        let surplus = complaint.len().saturating_sub(KEPT_COMPLAINT);
        complaint.drain(..surplus);
        if total > LARGEST_COMPLAINT {
            return Err("1 MiB to standard error");
        }
    }
    Ok(())
}
