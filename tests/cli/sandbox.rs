//! A folder for one test, with nothing of the machine in it, and the binary in it.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use flate2::write::GzEncoder;
use tempfile::TempDir;

use crate::mime::{Mail, mail_of};

/// Long enough for two busy cores and a slow disk: a compaction waits for the disk some thirty times. Reached
/// only by a test that fails.
pub(crate) const PATIENCE: Duration = Duration::from_mins(5);

/// A repository of promises in a temporary folder.
#[derive(Debug)]
pub(crate) struct Sandbox {
    /// Where urldb.toml is.
    pub(crate) root: PathBuf,
    /// The value of `PATH`.
    pub(crate) search_path: String,
    /// Further variables of the environment.
    pub(crate) env: Vec<(&'static str, &'static str)>,
    /// Text that no output may have.
    pub(crate) secret: Option<&'static str>,
    home: PathBuf,
    _dir: TempDir,
}

/// The content of a file.
#[derive(PartialEq)]
pub(crate) struct Content(pub(crate) Vec<u8>);

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.escape_ascii())
    }
}

/// One text or several.
pub(crate) trait Texts {
    fn texts(&self) -> Vec<&str>;

    /// The arguments of a program. One text alone is a command line, divided at its spaces.
    fn arguments(&self) -> Vec<&str> {
        match &self.texts()[..] {
            [line] => line.split_whitespace().collect(),
            list => list.to_vec(),
        }
    }
}

impl Texts for str {
    fn texts(&self) -> Vec<&str> {
        vec![self]
    }
}

impl Texts for String {
    fn texts(&self) -> Vec<&str> {
        vec![self]
    }
}

impl<T: AsRef<str>> Texts for [T] {
    fn texts(&self) -> Vec<&str> {
        self.iter().map(AsRef::as_ref).collect()
    }
}

impl<T: AsRef<str>, const N: usize> Texts for [T; N] {
    fn texts(&self) -> Vec<&str> {
        self[..].texts()
    }
}

impl<T: AsRef<str>> Texts for Vec<T> {
    fn texts(&self) -> Vec<&str> {
        self[..].texts()
    }
}

impl<T: Texts + ?Sized> Texts for &T {
    fn texts(&self) -> Vec<&str> {
        (**self).texts()
    }
}

/// What one invocation came to.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    fn new(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("output is text");
        Self {
            code: output.status.code().expect("the program ends by itself"),
            out: text(output.stdout),
            err: text(output.stderr),
        }
    }

    /// It ended with this code.
    #[track_caller]
    pub(crate) fn code(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:#?}");
        self
    }

    /// Standard output has all of these.
    #[track_caller]
    pub(crate) fn says(self, parts: &(impl Texts + ?Sized)) -> Self {
        for part in parts.texts() {
            assert!(self.out.contains(part), "no {part:?} in {self:#?}");
        }
        self
    }

    /// Standard error has all of these.
    #[track_caller]
    pub(crate) fn complains(self, parts: &(impl Texts + ?Sized)) -> Self {
        for part in parts.texts() {
            assert!(self.err.contains(part), "no {part:?} in {self:#?}");
        }
        self
    }

    /// Standard error has all of these, wherever its lines end.
    #[track_caller]
    pub(crate) fn complains_in_words(self, parts: &(impl Texts + ?Sized)) -> Self {
        let words: Vec<&str> = self.err.split_whitespace().collect();
        let words = words.join(" ");
        for part in parts.texts() {
            assert!(words.contains(part), "no {part:?} in {self:#?}");
        }
        self
    }

    /// Standard output, as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }

    /// Standard output, as one JSON document a line.
    #[track_caller]
    pub(crate) fn json_lines(&self) -> Vec<serde_json::Value> {
        let lines = self.out.lines();
        lines
            .map(|line| {
                serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
            })
            .collect()
    }
}

impl Sandbox {
    /// With a folder for the database, and no configuration.
    pub(crate) fn empty() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let (root, home) = (top.join("promises"), top.join("home"));
        fs::create_dir_all(root.join("urldb")).unwrap();
        fs::create_dir(&home).unwrap();
        Self {
            root,
            search_path: std::env::var("PATH").unwrap(),
            env: vec![],
            secret: None,
            home,
            _dir: dir,
        }
    }

    /// With this configuration, and no waiting between attempts unless it says otherwise.
    pub(crate) fn new(config: &str) -> Self {
        let sandbox = Self::empty();
        let check = "[check]\nretry-wait = \"1ms\"\n";
        let config = if config.contains("[check]") {
            config.replace("[check]\n", check)
        } else {
            format!("{check}{config}")
        };
        sandbox.write("urldb.toml", config);
        sandbox
    }

    /// Another sandbox with the same files.
    pub(crate) fn copy(&self) -> Self {
        let copy = Self::empty();
        for (path, Content(bytes)) in self.tree("") {
            let file = copy.root.join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, bytes).unwrap();
        }
        copy
    }

    /// A program in this sandbox, with an environment of its own.
    pub(crate) fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command
            .current_dir(&self.root)
            .env_clear()
            .env("PATH", &self.search_path)
            .env("HOME", &self.home)
            .envs(self.env.iter().copied())
            .stdin(Stdio::null());
        command
    }

    /// The program with these arguments.
    pub(crate) fn urldb_command(&self, arguments: &(impl Texts + ?Sized)) -> Command {
        let mut command = self.command(env!("CARGO_BIN_EXE_urldb"));
        command.args(arguments.arguments());
        command
    }

    pub(crate) fn urldb(&self, arguments: &(impl Texts + ?Sized)) -> Ran {
        self.urldb_with_env(arguments, &[])
    }

    /// The program, which ends with this code.
    #[track_caller]
    pub(crate) fn exits(&self, code: i32, arguments: &(impl Texts + ?Sized)) -> Ran {
        self.urldb(arguments).code(code)
    }

    /// The program, which finds nothing wrong.
    #[track_caller]
    pub(crate) fn ok(&self, arguments: &(impl Texts + ?Sized)) -> Ran {
        self.exits(0, arguments)
    }

    /// The program with so much address space that it can hold about this many MiB in memory.
    pub(crate) fn urldb_within(&self, mebibytes: u64, arguments: &(impl Texts + ?Sized)) -> Ran {
        self.urldb_with_limit(&format!("-v {}", (mebibytes + 100) << 10), arguments)
    }

    /// The program below a limit of `ulimit`.
    pub(crate) fn urldb_with_limit(&self, limit: &str, arguments: &(impl Texts + ?Sized)) -> Ran {
        let limited = format!("ulimit {limit}; exec \"$0\" \"$@\"");
        let mut shell = self.command("sh");
        shell.args(["-c", &limited, env!("CARGO_BIN_EXE_urldb")]);
        shell.args(arguments.arguments());
        Ran::new(
            assert_cmd::Command::from_std(shell)
                .timeout(PATIENCE)
                .output()
                .unwrap(),
        )
    }

    pub(crate) fn urldb_with_env(
        &self,
        arguments: &(impl Texts + ?Sized),
        env: &[(&str, &str)],
    ) -> Ran {
        let mut command = self.urldb_command(arguments);
        command.envs(env.iter().copied());
        // Killed if it hangs, and then it did not end by itself.
        let mut bounded = assert_cmd::Command::from_std(command);
        let ran = Ran::new(bounded.timeout(PATIENCE).output().unwrap());
        let texts = [&ran.out, &ran.err];
        let is_secret = |secret| texts.iter().any(|text| text.contains(secret));
        assert!(!self.secret.is_some_and(is_secret), "{ran:?}");
        ran
    }

    /// The program with a clock that stands at this time, such as `2026-11-02T04:17:03Z`, and its commits too.
    pub(crate) fn urldb_at(&self, at: &str, arguments: &(impl Texts + ?Sized)) -> Ran {
        let bin = Path::new(env!("CARGO_BIN_EXE_urldb"));
        let mut command = self.command(bin.parent().unwrap().join("examples/urldb-at"));
        command.args(arguments.arguments()).env("URLDB_AT", at);
        for date in ["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"] {
            command.env(date, at);
        }
        let mut bounded = assert_cmd::Command::from_std(command);
        Ran::new(bounded.timeout(PATIENCE).output().unwrap())
    }

    pub(crate) fn urldb_with_input(&self, arguments: &(impl Texts + ?Sized), input: &str) -> Ran {
        let mut command = self.urldb_command(arguments);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // The program may have refused before it has read everything.
        let _ = stdin.write_all(input.as_bytes());
        drop(stdin);
        Ran::new(child.wait_with_output().unwrap())
    }

    /// The program, left running.
    pub(crate) fn start(&self, arguments: &(impl Texts + ?Sized)) -> Running {
        self.start_with_env(arguments, &[])
    }

    pub(crate) fn start_with_env(
        &self,
        arguments: &(impl Texts + ?Sized),
        env: &[(&str, &str)],
    ) -> Running {
        let mut command = self.urldb_command(arguments);
        command.envs(env.iter().copied());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                // The test may have heard enough.
                let _ = sender.send(line);
            }
        });
        Running { child, lines }
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// Writes a file at one stroke, as whoever watches it expects of an editor.
    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let (file, draft) = (self.path(path), self.home.join("draft"));
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&draft, content).unwrap();
        fs::rename(draft, file).unwrap();
    }

    /// Writes a script that can be executed; gives its path. Another process writes it: a child of another
    /// test could hold the file open for writing, and then nobody can execute it.
    pub(crate) fn write_program(&self, path: &str, script: &str) -> PathBuf {
        let file = self.path(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        let write = "printf '#!/bin/sh\\n%s' \"$2\" >\"$1\" && chmod +x \"$1\"";
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", write, "sh"]).arg(&file).arg(script);
        assert!(shell.status().unwrap().success());
        file
    }

    #[track_caller]
    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    #[track_caller]
    pub(crate) fn assert_file(&self, path: &str, text: &(impl AsRef<str> + ?Sized)) {
        assert_eq!(self.read(path), text.as_ref(), "{path}");
    }

    /// All lines of the archive's index, in order.
    #[track_caller]
    pub(crate) fn index(&self) -> String {
        let index = urldb_warc::index::CdxjIndex::open(&self.path("archive").as_path()).unwrap();
        let lines = index.into_lines().unwrap();
        lines
            .map(|line| line.unwrap().render().unwrap() + "\n")
            .collect()
    }

    /// Makes the archive's index one segment with these lines, valid or not. They are sorted.
    pub(crate) fn write_index(&self, text: impl AsRef<[u8]>) {
        self.remove_index();
        let mut lines: Vec<&[u8]> = text.as_ref().split(|byte| *byte == b'\n').collect();
        lines.retain(|line| !line.is_empty());
        lines.sort_unstable();
        lines.dedup();
        let Some(first) = lines.first() else {
            return self.write("archive/index/segment.loc", "");
        };
        let end = first.iter().position(|byte| *byte == b'\t');
        let key = first[..end.unwrap_or(first.len())].splitn(3, |byte| *byte == b' ');
        let key = key.take(2).collect::<Vec<_>>().join(&b' ');
        let mut data = GzEncoder::new(vec![], flate2::Compression::fast());
        data.write_all(&lines.join(&b'\n')).unwrap();
        let data = data.finish().unwrap();
        let position = format!("\tcdxj\t0\t{}\t1\n", data.len());
        self.write("archive/index/segment.cdxj.gz", data);
        self.write("archive/index/segment.loc", "cdxj\tsegment.cdxj.gz\n");
        self.write(
            "archive/index/segment.idx",
            [&key, position.as_bytes()].concat(),
        );
    }

    pub(crate) fn remove_index(&self) {
        let _ = fs::remove_dir_all(self.path("archive/index"));
    }

    /// All files below a folder, with what is in them; but locks, which only say who had them last.
    pub(crate) fn tree(&self, folder: &str) -> BTreeMap<PathBuf, Content> {
        let mut files = BTreeMap::new();
        let mut folders = vec![self.path(folder)];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if !path.to_string_lossy().ends_with(".lock") {
                    let content = Content(fs::read(&path).unwrap());
                    files.insert(path.strip_prefix(&self.root).unwrap().to_owned(), content);
                }
            }
        }
        files
    }

    /// Files below a folder whose names end like this, sorted.
    pub(crate) fn files(&self, folder: &str, end: &str) -> Vec<PathBuf> {
        let files = self.tree(folder).into_keys();
        files
            .filter(|path| path.to_string_lossy().ends_with(end))
            .map(|path| self.root.join(path))
            .collect()
    }

    /// The mails in `mail/`, sorted by file name.
    pub(crate) fn mails(&self) -> Vec<Mail> {
        let files = self.files("mail", ".eml").into_iter();
        files
            .map(|file| mail_of(&fs::read(file).unwrap()))
            .collect()
    }

    /// The mails since the last call, in no order if several came.
    pub(crate) fn take_mails(&self) -> Vec<Mail> {
        let mails = self.mails();
        for file in self.files("mail", ".eml") {
            fs::remove_file(file).unwrap();
        }
        mails
    }

    /// What the ledger knows of archived content.
    pub(crate) fn captures(&self) -> String {
        let files = self.files("status/captures", ".yaml").into_iter();
        files
            .map(|file| fs::read_to_string(file).unwrap())
            .collect()
    }

    /// The lines of the ledger's history, month by month.
    pub(crate) fn history(&self) -> Vec<serde_json::Value> {
        let months = self.files("status/history", ".jsonl").into_iter();
        let text: String = months
            .map(|file| fs::read_to_string(file).unwrap())
            .collect();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

/// The program at work; killed, at the latest, with the test.
pub(crate) struct Running {
    child: Child,
    lines: Receiver<String>,
}

impl Running {
    /// Waits for a line of standard output with this in it.
    pub(crate) fn expect(&mut self, text: &str) -> String {
        let mut said = vec![];
        while let Ok(line) = self.lines.recv_timeout(PATIENCE) {
            if line.contains(text) {
                return line;
            }
            said.push(line);
        }
        panic!("{text:?} was never said, only {said:#?}");
    }

    /// All lines of standard output up to one with this in it.
    pub(crate) fn lines_until(&mut self, text: &str) -> Vec<String> {
        let mut said = vec![];
        while let Ok(line) = self.lines.recv_timeout(PATIENCE) {
            said.push(line);
            if said.last().is_some_and(|line| line.contains(text)) {
                return said;
            }
        }
        panic!("{text:?} was never said, only {said:#?}");
    }

    pub(crate) fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args([signal, &pid]).status().unwrap();
        assert!(sent.success());
    }

    /// Whether the program has this file open.
    #[cfg(target_os = "linux")]
    pub(crate) fn has_open(&self, file: &Path) -> bool {
        let open = fs::read_dir(format!("/proc/{}/fd", self.child.id()));
        let mut open = open.into_iter().flatten().flatten();
        open.any(|entry| fs::read_link(entry.path()).is_ok_and(|it| it == file))
    }

    /// Waits for its end.
    pub(crate) fn end(&mut self) -> ExitStatus {
        let mut status = None;
        eventually("the program ends", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until something holds.
#[track_caller]
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < until, "never: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Names a row of a table if the test fails in it.
pub(crate) struct Case<T: fmt::Debug>(pub(crate) T);

impl<T: fmt::Debug> Drop for Case<T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("in the case {:?}", self.0);
        }
    }
}

#[track_caller]
pub(crate) fn assert_has(text: &str, parts: &(impl Texts + ?Sized)) {
    for part in parts.texts() {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
}

#[track_caller]
pub(crate) fn assert_lacks(text: &str, parts: &(impl Texts + ?Sized)) {
    for part in parts.texts() {
        assert!(!text.contains(part), "{part:?} is in {text}");
    }
}
