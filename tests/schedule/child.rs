//! Another process: this test program again, told by the environment to run one test as a child.

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Command, Stdio};

const ROLE: &str = "URLDB_TEST_CHILD";

/// A child that is killed, at the latest, with the test.
pub(crate) struct Other {
    pub(crate) process: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Other {
    /// Starts this program with only the test of that name, which then finds `argument` in
    /// [`argument`].
    pub(crate) fn start(test: &str, argument: &str) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args([test, "--exact", "--nocapture", "--test-threads=1"])
            .env(ROLE, argument)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        Self { process, lines }
    }

    /// Waits for a line with this in it.
    pub(crate) fn expect(&mut self, text: &str) {
        let said = self.lines.by_ref().map(Result::unwrap);
        assert!(
            said.into_iter().any(|line| line.contains(text)),
            "the child never said {text:?}"
        );
    }

    #[cfg(unix)]
    pub(crate) fn signal(&self, signal: &str) {
        let pid = self.process.id().to_string();
        let sent = Command::new("kill").args([signal, &pid]).status().unwrap();
        assert!(sent.success());
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// What the parent passed, in a child.
pub(crate) fn argument() -> Option<String> {
    std::env::var(ROLE).ok()
}
