//! Hands mails to a program with the interface of sendmail.
#![expect(
    clippy::disallowed_methods,
    reason = "starts the program that urldb.toml names"
)]

use std::io;
use std::path::PathBuf;
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use tokio::time::timeout;
use urldb_process::ProcessGroup;
use urldb_protocol::{Delivery, ReportDelivery};
use urldb_render::{one_line, shorten};

use crate::letter::{Letter, Recipient};
use crate::settings::Error;

/// Most bytes of the program's error output that are read.
const MOST_OUTPUT: u64 = 4 << 10;
/// Time in which error output is read after the program has ended: a process that it started may keep the pipe
/// open.
const LAST_OUTPUT: Duration = Duration::from_secs(1);
/// Exit codes of sysexits.h for faults that mend themselves: unavailable, system error, file system
/// error, input or output error, temporary failure.
const TEMPORARY: [i32; 5] = [69, 71, 72, 74, 75];

#[derive(Debug)]
pub(crate) struct Sendmail {
    program: PathBuf,
    arguments: Vec<String>,
    timeout: Duration,
}

/// The way in which the program ended.
enum End {
    Exited(ExitStatus, String),
    CannotStart(io::Error),
    TooLate,
}

impl Sendmail {
    pub(crate) fn new(command: Vec<String>, timeout: Duration) -> Result<Self, Error> {
        let mut words = command.into_iter();
        let program = words.next().filter(|program| !program.is_empty());
        Ok(Self {
            program: program.ok_or(Error::NoProgram)?.into(),
            arguments: words.collect(),
            timeout,
        })
    }

    pub(crate) fn destination(&self) -> String {
        self.program.display().to_string()
    }

    /// Starts the program once for each recipient, so that each recipient has a result.
    pub(crate) async fn deliver(&self, letter: &Letter, report: ReportDelivery<'_>) {
        let message = &letter.mail.message;
        let sender = message
            .envelope()
            .from()
            .map_or(String::new(), ToString::to_string);
        for Recipient { delivery, address } in &letter.recipients {
            let end = self
                .send(&message.formatted(), &sender, address.as_ref())
                .await;
            let (result, stop) = self.result(delivery, &end);
            report(result);
            if stop {
                return;
            }
        }
    }

    async fn send(&self, message: &[u8], sender: &str, recipient: &str) -> End {
        let mut command = Command::new(&self.program);
        // `-i`: a line with a single dot does not end the message.
        command
            .args(&self.arguments)
            .args(["-i", "-f", sender, "--", recipient])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        match timeout(self.timeout, converse(command, message)).await {
            Ok(Ok((status, output))) => End::Exited(status, output),
            Ok(Err(error)) => End::CannotStart(error),
            Err(_) => End::TooLate,
        }
    }

    /// The result, and whether the fault concerns all recipients.
    fn result(&self, delivery: &str, end: &End) -> (Delivery, bool) {
        let program = self.program.display();
        match end {
            End::Exited(status, _) if status.success() => {
                let message = format!("handed to {program}");
                (Delivery::delivered(delivery, message), false)
            }
            End::Exited(status, output) => {
                let message = format!("{program} did not take the message: {status}");
                // A program that a signal ended has no exit code.
                let is_temporary = status.code().is_none_or(|code| TEMPORARY.contains(&code));
                let result = if is_temporary {
                    Delivery::retry(delivery, message)
                } else {
                    Delivery::failed(delivery, message)
                };
                let output = shorten(&one_line(output.trim()), Delivery::LONGEST_TEXT);
                let replies = if output.is_empty() {
                    vec![]
                } else {
                    vec![Delivery::text(output)]
                };
                (Delivery { replies, ..result }, false)
            }
            End::CannotStart(error) => {
                let message = format!("cannot start {program}: {error}");
                let result = Delivery::failed(delivery, message).of_notifier();
                let advice = Some(Delivery::text("check `sendmail`"));
                (Delivery { advice, ..result }, true)
            }
            End::TooLate => {
                let seconds = self.timeout.as_secs_f32();
                let message = format!("{program} did not end within {seconds} s");
                (Delivery::retry(delivery, message).of_notifier(), true)
            }
        }
    }
}

/// Starts the program, gives it the message, and reads its error output. At the time limit, the program and
/// all processes that it started are killed.
async fn converse(mut command: Command, message: &[u8]) -> io::Result<(ExitStatus, String)> {
    let (mut child, group) = ProcessGroup::spawn(&mut command)?;
    let (stdin, stderr) = (child.stdin.take(), child.stderr.take());
    // Programs with this interface expect the line ends of the system.
    let message = String::from_utf8_lossy(message).replace("\r\n", "\n");
    let mut output = Vec::new();
    {
        let write = async {
            if let Some(mut stdin) = stdin {
                // A program that reads only a part says by its exit code whether that was enough.
                let _ = stdin.write_all(message.as_bytes()).await;
            }
        };
        let read = async {
            if let Some(mut stderr) = stderr {
                let _ = (&mut stderr)
                    .take(MOST_OUTPUT)
                    .read_to_end(&mut output)
                    .await;
                // The rest is read too: a full pipe would block the program.
                let _ = tokio::io::copy(&mut stderr, &mut tokio::io::sink()).await;
            }
        };
        let mut talking = pin!(async { tokio::join!(write, read) });
        let is_complete = tokio::select! {
            _ = &mut talking => true,
            () = group.ended(&mut child) => false,
        };
        if !is_complete {
            let _ = timeout(LAST_OUTPUT, talking).await;
        }
    }
    let status = child.wait().await?;
    group.release();
    Ok((status, String::from_utf8_lossy(&output).into_owned()))
}
