//! A program in a process group with all processes that it starts: they end together, or come to their end whatever
//! signal the terminal sends.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::too_many_lines))]

use std::io;
use std::time::Duration;

use tokio::process::{Child, Command};

/// The first and the longest wait between two looks at the program.
#[cfg(unix)]
const TICKS: [Duration; 2] = [Duration::from_millis(2), Duration::from_millis(50)];

/// The processes of a program. Dropping the group kills them all.
#[derive(Debug)]
pub struct ProcessGroup {
    #[cfg(unix)]
    leader: Option<rustix::process::Pid>,
}

impl ProcessGroup {
    /// Starts a command as the leader of its own process group.
    ///
    /// # Errors
    /// When the program cannot be started.
    pub fn spawn(command: &mut Command) -> io::Result<(Child, Self)> {
        // For systems without process groups, and to leave no zombie behind.
        command.kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        let child = command.spawn()?;
        #[cfg(unix)]
        let leader = child
            .id()
            .and_then(|id| rustix::process::Pid::from_raw(i32::try_from(id).ok()?));
        Ok((
            child,
            Self {
                #[cfg(unix)]
                leader,
            },
        ))
    }

    /// Waits until the program itself has ended, and leaves its exit status to be read. As long as
    /// nobody reads the status, the system gives the id of the group to no other process.
    #[cfg(unix)]
    pub async fn ended(&self, _child: &mut Child) {
        use rustix::process::{WaitId, WaitIdOptions, waitid};

        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let [mut wait, longest] = TICKS;
        while let Some(leader) = self.leader
            && let Ok(None) = waitid(WaitId::Pid(leader), options)
        {
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(longest);
        }
    }

    /// Waits until the program has ended.
    #[cfg(not(unix))]
    pub async fn ended(&self, child: &mut Child) {
        let _ = child.wait().await;
    }

    /// Asks all processes of the group to end (SIGTERM; elsewhere, kills the program), and kills those that have not ended
    /// after this time.
    pub async fn end(&mut self, child: &mut Child, patience: Duration) {
        #[cfg(unix)]
        if let Some(leader) = self.leader {
            let _ = rustix::process::kill_process_group(leader, rustix::process::Signal::TERM);
            let _ = tokio::time::timeout(patience, self.ended(child)).await;
        }
        let _ = patience;
        self.kill(child);
    }

    /// Kills all processes of the group. Must come before the exit status is read.
    pub fn kill(&mut self, child: &mut Child) {
        let _ = child.start_kill();
        self.kill_group();
    }

    /// Leaves the other processes of a program that has ended at work: a mail program may deliver in the
    /// background.
    #[cfg(unix)]
    pub fn release(mut self) {
        self.leader.take();
    }

    /// Does nothing: other systems have no process groups.
    #[cfg(not(unix))]
    pub fn release(self) {}

    #[cfg(unix)]
    fn kill_group(&mut self) {
        if let Some(leader) = self.leader.take() {
            // Fails only if no process is left.
            let _ = rustix::process::kill_process_group(leader, rustix::process::Signal::KILL);
        }
    }

    #[cfg(not(unix))]
    fn kill_group(&mut self) {}
}

/// Runs a command as the leader of its own process group to its end. Ctrl-C in the terminal reaches none of its
/// processes, and they cannot read from the terminal.
///
/// # Errors
/// When the program cannot be started, and when one of its processes reads from the terminal: the system stops the
/// group for ever, so it is ended.
pub fn run_apart(command: &mut std::process::Command) -> io::Result<std::process::ExitStatus> {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    let mut child = command.spawn()?;
    #[cfg(unix)]
    if wants_terminal(&child) {
        child.wait()?;
        let text =
            "a program that it started, such as a hook, reads from the terminal; run it yourself";
        return Err(io::Error::other(text));
    }
    child.wait()
}

/// Waits for the end of a group, and ends it if it stops to read from the terminal. Returns whether it did. The exit
/// status is left to be read.
#[cfg(unix)]
fn wants_terminal(child: &std::process::Child) -> bool {
    use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

    let Some(leader) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else {
        return false;
    };
    let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    loop {
        match waitid(WaitId::Pid(leader), ended | WaitIdOptions::STOPPED) {
            Ok(Some(status)) if status.stopped() => {
                let signal = status.stopping_signal().unwrap_or_default();
                if [Signal::TTIN, Signal::TTOU]
                    .map(Signal::as_raw)
                    .contains(&signal)
                {
                    // git removes its lock files at SIGTERM.
                    let _ = kill_process_group(leader, Signal::TERM);
                    let _ = kill_process_group(leader, Signal::CONT);
                    return true;
                }
                // The system reports each stop once, after this call has read it.
                let _ = waitid(
                    WaitId::Pid(leader),
                    WaitIdOptions::STOPPED | WaitIdOptions::NOHANG,
                );
            }
            Err(rustix::io::Errno::INTR) => {}
            Ok(_) | Err(_) => return false,
        }
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.kill_group();
    }
}
