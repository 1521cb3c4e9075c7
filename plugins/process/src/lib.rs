//! A program of the user's own, in a process group with all processes that it starts: they end together.
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

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.kill_group();
    }
}
