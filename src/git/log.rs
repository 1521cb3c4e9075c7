//! The commits that changed files, with their differences, in one pass over `git log`.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{ChildStdout, Stdio};

use anyhow::{Context, Result, bail};
use jiff::Timestamp;

use super::command::cannot_run;
use super::paths;
use super::repository::Repository;

/// Begins the line of a commit: no line of a difference begins so.
const COMMIT: u8 = 1;

/// A commit of `git log`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedCommit {
    /// The id, in hexadecimal.
    pub id: String,
    /// When it was committed.
    pub at: Timestamp,
    /// The name of the author.
    pub author: String,
    /// The first line of the message.
    pub subject: String,
}

/// A part of the output of `git log`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogPart {
    /// A commit, to which the following lines belong.
    Commit(LoggedCommit),
    /// A file, relative to the work tree: the hunks that follow belong to it.
    File(PathBuf),
    /// A changed part of the file, without context.
    Hunk {
        /// The number of lines before the part in the old file.
        start: usize,
        /// The lines that the commit removed.
        removed: Vec<String>,
        /// The lines that the commit added.
        added: Vec<String>,
    },
}

impl Repository {
    /// The commits that changed files below one of `paths` (relative to the work tree), oldest first. A merged
    /// branch counts as its merge, so that each commit continues the one before.
    ///
    /// # Errors
    /// When git fails; the error of `take` ends the work.
    pub fn log(&self, paths: &[PathBuf], take: impl FnMut(LogPart) -> Result<()>) -> Result<()> {
        if self.head_commit().is_none() {
            return Ok(());
        }
        let paths = paths.iter().map(|path| paths::pathspec(path));
        let mut git = self.git();
        git.args(["-c", "core.quotePath=false", "log", "--reverse"])
            .args(["--first-parent", "--diff-merges=first-parent", "--root"])
            .args(["--patch", "--unified=0", "--text", "--no-renames"])
            .args(["--no-color", "--no-ext-diff", "--no-textconv"])
            .args(["--src-prefix=a/", "--dst-prefix=b/", "--no-show-signature"])
            .args(["--format=%x01%H%x00%ct%x00%an%x00%s", "--"])
            .args(paths)
            .env("GIT_LITERAL_PATHSPECS", "1")
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = git.spawn().with_context(|| cannot_run(&git))?;
        let read = match child.stdout.take() {
            Some(stdout) => read(stdout, take),
            None => Ok(()),
        };
        if read.is_err() {
            // The caller needs no more.
            let _ = child.kill();
        }
        let status = child.wait().context("cannot wait for `git log`")?;
        read?;
        if !status.success() {
            bail!("`git log` failed: {status}");
        }
        Ok(())
    }
}

fn read(stdout: ChildStdout, mut take: impl FnMut(LogPart) -> Result<()>) -> Result<()> {
    let mut hunk: Option<LogPart> = None;
    let mut reader = BufReader::new(stdout);
    let mut bytes = vec![];
    loop {
        bytes.clear();
        if reader.read_until(b'\n', &mut bytes)? == 0 {
            break;
        }
        let text = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        if let (Some(LogPart::Hunk { removed, added, .. }), Some(sign @ (b'+' | b'-'))) =
            (&mut hunk, text.first())
        {
            let text = String::from_utf8_lossy(&text[1..]).into_owned();
            if *sign == b'+' {
                added.push(text);
            } else {
                removed.push(text);
            }
            continue;
        }
        // `\ No newline at end of file` belongs to the line before.
        if text.first() == Some(&b'\\') {
            continue;
        }
        if let Some(done) = hunk.take() {
            take(done)?;
        }
        match text.first() {
            Some(&COMMIT) => take(LogPart::Commit(commit(&text[1..])?))?,
            Some(b'@') => hunk = Some(begin_hunk(text)?),
            // A file has two of these lines; one of them is /dev/null if the file is new or gone.
            Some(b'-') => name(text, b"--- ", b"a/").map_or(Ok(()), &mut take)?,
            Some(b'+') => name(text, b"+++ ", b"b/").map_or(Ok(()), &mut take)?,
            _ => {}
        }
    }
    hunk.map_or(Ok(()), take)
}

/// The file after the signs of a line. Its name begins with `prefix`.
fn name(text: &[u8], signs: &[u8], prefix: &[u8]) -> Option<LogPart> {
    let name = text.strip_prefix(signs)?;
    let name = match name.strip_prefix(b"\"") {
        Some(quoted) => paths::unquoted(quoted),
        // Git adds a tab to a name with spaces.
        None => name.strip_suffix(b"\t").unwrap_or(name).to_owned(),
    };
    let path = name.strip_prefix(prefix)?;
    Some(LogPart::File(paths::from_bytes(path)))
}

fn commit(text: &[u8]) -> Result<LoggedCommit> {
    let text = String::from_utf8_lossy(text);
    let mut fields = text.splitn(4, '\0').map(str::to_owned);
    let mut field = || {
        fields
            .next()
            .context("`git log` printed something unexpected")
    };
    let (id, seconds, author, subject) = (field()?, field()?, field()?, field()?);
    Ok(LoggedCommit {
        id,
        at: Timestamp::from_second(seconds.parse()?)?,
        author,
        subject,
    })
}

/// Reads `@@ -START[,COUNT] +START[,COUNT] @@`.
fn begin_hunk(text: &[u8]) -> Result<LogPart> {
    let parse = || {
        let old = std::str::from_utf8(text.get(..text.len().min(200))?)
            .ok()?
            .strip_prefix("@@ -")?
            .split(' ')
            .next()?;
        let (start, count) = old.split_once(',').unwrap_or((old, "1"));
        let (start, count): (usize, usize) = (start.parse().ok()?, count.parse().ok()?);
        // Without removed lines, START is the line before the added ones.
        Some(if count == 0 {
            start
        } else {
            start.checked_sub(1)?
        })
    };
    let start = parse().context("`git log` printed an unexpected hunk")?;
    Ok(LogPart::Hunk {
        start,
        removed: vec![],
        added: vec![],
    })
}
