//! A repository in a temporary folder, and a check that knows no YAML: lines
//! must be sorted (the hook can fix that), and none may say `bad` (it cannot).

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::Result;
use tempfile::TempDir;
use urldb::database::site_rules::{FOLDER, is_rules_file};
use urldb::git::{
    CheckedFolder, FileCheck, GitEnv, Hook, PreCommitOutcome, Repository, command, pre_commit,
    staged_files,
};
use urldb::stop::Stop;
use urldb_text::{Code, Finding};

/// Nothing of the machine's own configuration, and a name to commit under.
pub(crate) const SETTINGS: [(&str, &str); 7] = [
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_SYSTEM", "/dev/null"),
    ("GIT_AUTHOR_NAME", "A U Thor"),
    ("GIT_AUTHOR_EMAIL", "author@example.com"),
    ("GIT_COMMITTER_NAME", "C O Mitter"),
    ("GIT_COMMITTER_EMAIL", "committer@example.com"),
    ("GIT_EDITOR", "true"),
];

pub(crate) struct Sandbox {
    pub(crate) top: PathBuf,
    _dir: TempDir,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        Self::init(&[])
    }

    /// `git init` with more options.
    pub(crate) fn init(options: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap().join("repo");
        fs::create_dir(&top).unwrap();
        let sandbox = Self { top, _dir: dir };
        let mut args = vec!["init", "-q", "-b", "main"];
        args.extend(options);
        sandbox.git(&args);
        fs::create_dir(sandbox.top.join("urldb")).unwrap();
        sandbox
    }

    /// With the hook in place, for `git commit` to run.
    pub(crate) fn with_hook() -> Self {
        let sandbox = Self::new();
        sandbox.add_hook(Hook::PreCommit);
        sandbox
    }

    pub(crate) fn add_hook(&self, hook: Hook) {
        let this_test = std::env::current_exe().unwrap();
        let script = format!(
            "#!/bin/sh\nURLDB_TEST_HOOK={} exec '{}' --exact commit::as_the_hook --ignored --nocapture >/dev/null\n",
            hook.name(),
            this_test.display()
        );
        self.write_hook(hook.name(), &script);
    }

    pub(crate) fn write_hook(&self, name: &str, script: &str) {
        let hook = self.top.join(".git/hooks").join(name);
        fs::create_dir_all(hook.parent().unwrap()).unwrap();
        fs::write(&hook, script).unwrap();
        make_executable(&hook);
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let file = self.top.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.top.join(path)).unwrap()
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        run(command_in(&self.top).args(args))
    }

    pub(crate) fn try_git(&self, args: &[&str]) -> Output {
        output(command_in(&self.top).args(args))
    }

    /// Stages `bytes` as `path` without a file.
    pub(crate) fn stage(&self, mode: &str, path: &OsStr, bytes: &str) {
        let scratch = self.top.join(".git/scratch");
        fs::write(&scratch, bytes).unwrap();
        let id = self.git(&["hash-object", "-w", "--no-filters", ".git/scratch"]);
        let mut git = command_in(&self.top);
        git.args(["update-index", "--add", "--cacheinfo", mode, id.trim()]);
        run(git.arg(path));
    }

    /// A commit of everything, made without the hook.
    pub(crate) fn commit_unchecked(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.commit_unchecked_index(message);
    }

    /// The same, of what is in the index only.
    pub(crate) fn commit_unchecked_index(&self, message: &str) {
        let commit = ["commit", "-q", "--no-verify", "--allow-empty", "-m"];
        self.git(&[&commit[..], &[message]].concat());
    }

    pub(crate) fn repository(&self) -> Repository {
        self.repository_with(env())
    }

    pub(crate) fn repository_with(&self, env: GitEnv) -> Repository {
        Repository::discover(&self.top, env).unwrap().unwrap()
    }

    /// The environment that sends everything to the git executable.
    pub(crate) fn env_for_git(&self) -> GitEnv {
        env().with("GIT_DIR", self.top.join(".git"))
    }

    pub(crate) fn pre_commit(&self) -> PreCommitOutcome {
        check_staged(&self.repository(), &self.top.join("urldb")).unwrap()
    }

    /// What the hook says, to a user at the top.
    pub(crate) fn report(&self) -> String {
        self.pre_commit().render(Hook::PreCommit, Path::new(""))
    }

    pub(crate) fn staged_text(&self, path: &str) -> String {
        self.git(&["cat-file", "blob", &format!(":{path}")])
    }

    pub(crate) fn status(&self) -> String {
        self.git(&["status", "--porcelain"])
    }
}

pub(crate) fn env() -> GitEnv {
    SETTINGS
        .iter()
        .fold(GitEnv::default(), |env, (name, value)| {
            env.with(name, value)
        })
}

pub(crate) fn command_in(dir: &Path) -> Command {
    let mut git = command(dir);
    git.envs(SETTINGS);
    git
}

pub(crate) fn git_executable() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap();
    let mut candidates = std::env::split_paths(&path).map(|dir| dir.join("git"));
    candidates.find(|git| git.is_file()).unwrap()
}

/// The output of git. Another test's child may hold a hook open that was just written, until that child
/// executes its program; Linux refuses to execute the hook so long.
pub(crate) fn output(git: &mut Command) -> Output {
    loop {
        let output = git.output().unwrap();
        if !String::from_utf8_lossy(&output.stderr).contains("Text file busy") {
            return output;
        }
    }
}

pub(crate) fn run(git: &mut Command) -> String {
    let output = output(git);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{git:?}: {complaint}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Runs the hook on the domain files and site rules of a database.
pub(crate) fn check_staged(repo: &Repository, database: &Path) -> Result<PreCommitOutcome> {
    let folder = repo.relative(database)?;
    let folders = [
        CheckedFolder {
            path: folder.clone(),
            is_checked: |path| urldb_format::is_domain_file(path),
        },
        CheckedFolder {
            path: folder.join(FOLDER),
            is_checked: is_rules_file,
        },
    ];
    let staged = staged_files(repo, &folders)?;
    let stop = Stop::new();
    pre_commit(
        repo,
        staged,
        &stop,
        |path, bytes| Ok(check(path, bytes)),
        || Ok(vec![]),
    )
}

fn check(_path: &Path, bytes: &[u8]) -> FileCheck {
    let text = String::from_utf8_lossy(bytes);
    let mut lines: Vec<&str> = text.lines().collect();
    let bad: Vec<Finding> = (1..)
        .zip(&lines)
        .filter(|(_, line)| line.contains("bad"))
        .map(|(line, _)| Finding::new(Code::SyntaxError, line, "a bad line"))
        .collect();
    if !bad.is_empty() {
        return FileCheck::Rejected(bad);
    }
    lines.sort_unstable();
    let sorted: String = lines.iter().flat_map(|line| [line, "\n"]).collect();
    if sorted.as_bytes() == bytes {
        FileCheck::Clean
    } else {
        FileCheck::Normalized(sorted.into_bytes(), vec!["lines sorted".to_owned()])
    }
}

pub(crate) fn make_executable(file: &Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
}
