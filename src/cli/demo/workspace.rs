//! The demo's temporary folder, and commands that run there as a user would run them.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, pipe};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs, iter};

use anyhow::{Context, Result};
use tempfile::TempDir;

use crate::environment;

/// The name of the repository's folder, which reports show.
const REPOSITORY: &str = "promises";
/// The name of the folder on PATH that has `urldb`.
const PROGRAMS: &str = "bin";

/// Git's only configuration, in place of the user's.
const GIT_CONFIG: &str = "\
[user]
\tname = A. Maintainer
\temail = maintainer@demo.example
[init]
\tdefaultBranch = main
[commit]
\tgpgSign = false
[core]
\tautocrlf = false
[gc]
\tauto = 0
[maintenance]
\tauto = false
";

/// The folder, removed when this is dropped.
pub(super) struct Workspace {
    folder: TempDir,
    path: OsString,
    colour: bool,
}

impl Workspace {
    /// Makes the folder. `colour` asks commands for colours.
    pub(super) fn create(colour: bool) -> Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("urldb-demo-")
            .tempdir()
            .with_context(|| format!("cannot make a folder in {}", env::temp_dir().display()))?;
        let path = path_with(folder.path().join(PROGRAMS))?;
        let workspace = Self {
            folder,
            path,
            colour,
        };
        for folder in [
            workspace.repository(),
            workspace.programs(),
            workspace.scratch(),
        ] {
            fs::create_dir(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        }
        put_program(&workspace.programs()).context("cannot put urldb on the PATH of the demo")?;
        let colours = if colour { "always" } else { "never" };
        let config = format!("{GIT_CONFIG}[color]\n\tui = {colours}\n");
        fs::write(workspace.git_config(), config)
            .context("cannot write a configuration for git")?;
        Ok(workspace)
    }

    /// The whole folder.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The git repository, where every command runs.
    pub(super) fn repository(&self) -> PathBuf {
        self.folder().join(REPOSITORY)
    }

    /// Keeps the folder when this is dropped.
    pub(super) fn keep(&mut self, keep: bool) {
        self.folder.disable_cleanup(keep);
    }

    pub(super) fn remove(self) -> Result<()> {
        let path = self.folder().to_owned();
        self.folder
            .close()
            .with_context(|| format!("cannot remove {}", path.display()))
    }

    /// Runs a command in the repository and passes on each line that it prints, while it runs.
    /// Returns the exit code of the command.
    pub(super) fn run(
        &self,
        words: &[&str],
        mut line: impl FnMut(&str) -> Result<()>,
    ) -> Result<i32> {
        let (reader, writer) = pipe().context("cannot make a pipe")?;
        let mut command = self.command(words);
        command
            .stdin(Stdio::null())
            .stdout(writer.try_clone()?)
            .stderr(writer);
        let mut child = command.spawn().with_context(|| cannot_run(words))?;
        // `command` holds the writing end of the pipe; while that is open, reading never ends.
        drop(command);
        let passed_on = BufReader::new(reader)
            .split(b'\n')
            .try_for_each(|text| line(String::from_utf8_lossy(&text?).trim_end_matches('\r')));
        let status = child.wait()?;
        passed_on?;
        status
            .code()
            .with_context(|| format!("`{}` was ended by a signal", words.join(" ")))
    }

    fn command(&self, words: &[&str]) -> Command {
        let (program, arguments) = words.split_first().unwrap_or((&"", &[]));
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.repository());
        for name in environment::names() {
            if name.as_encoded_bytes().starts_with(b"GIT_") {
                command.env_remove(name);
            }
        }
        command
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", self.git_config());
        command.env("PATH", &self.path);
        for name in ["TMPDIR", "TMP", "TEMP"] {
            command.env(name, self.scratch());
        }
        if self.colour {
            command.env_remove("NO_COLOR").env("CLICOLOR_FORCE", "1");
        } else {
            command.env_remove("CLICOLOR_FORCE").env("NO_COLOR", "1");
        }
        command
    }

    fn programs(&self) -> PathBuf {
        self.folder().join(PROGRAMS)
    }

    /// The folder for temporary files of commands, so that none outlives the demo.
    fn scratch(&self) -> PathBuf {
        self.folder().join("tmp")
    }

    fn git_config(&self) -> PathBuf {
        self.folder().join("gitconfig")
    }
}

/// The search path with `first` in front.
fn path_with(first: PathBuf) -> Result<OsString> {
    let others = environment::os_variable("PATH").unwrap_or_default();
    let folders = iter::once(first).chain(env::split_paths(&others));
    env::join_paths(folders).context("the temporary folder cannot be put on PATH")
}

/// Makes this very program available as `urldb`, to the demo and to the hook that git runs.
fn put_program(folder: &Path) -> Result<()> {
    let program = env::current_exe()?;
    let name = format!("urldb{}", env::consts::EXE_SUFFIX);
    #[cfg(unix)]
    std::os::unix::fs::symlink(program, folder.join(name))?;
    #[cfg(not(unix))]
    fs::copy(program, folder.join(name))?;
    Ok(())
}

fn cannot_run(words: &[&str]) -> String {
    let program = words.first().unwrap_or(&"");
    format!("cannot run `{program}`; the demo needs it installed and on PATH")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_sees_the_workspace_and_nothing_else() {
        let workspace = Workspace::create(false).expect("a temporary folder");
        let mut lines = vec![];
        for words in [
            &["git", "init", "--quiet"][..],
            &["git", "config", "--list", "--name-only"],
        ] {
            let code = workspace.run(words, |line| {
                lines.push(line.to_owned());
                Ok(())
            });
            assert_eq!(code.expect("git runs"), 0);
        }
        assert!(lines.contains(&"user.email".to_owned()), "{lines:?}");
        assert!(workspace.repository().join(".git").is_dir());
        let folder = workspace.folder().to_owned();
        workspace.remove().expect("the folder can be removed");
        assert!(!folder.exists());
    }

    #[test]
    fn a_failure_is_an_exit_code_and_its_message_is_passed_on() {
        let workspace = Workspace::create(false).expect("a temporary folder");
        let mut words = String::new();
        let code = workspace.run(&["git", "log"], |line| {
            words.push_str(line);
            Ok(())
        });
        assert_ne!(code.expect("git runs"), 0);
        assert!(words.contains("not a git repository"), "{words}");
    }

    #[test]
    fn a_missing_program_is_named() {
        let workspace = Workspace::create(false).expect("a temporary folder");
        let error = workspace
            .run(&["urldb-demo-no-such-program"], |_| Ok(()))
            .expect_err("it does not exist");
        assert!(
            error.to_string().contains("`urldb-demo-no-such-program`"),
            "{error}"
        );
    }
}
