//! `urldb demo`: the whole program at work, in a few seconds and without a network.
//!
//! Every command of the story is run as a user would type it, by this very binary and by git. The
//! demo stops at a command whose exit code is not the expected one.
//!
//! - `workspace`: the temporary folder with the repository, and commands that run there
//! - `preview`: the web server for the status site that the runs have built
//! - `site`: the web server, its pages, and how they break
//! - `narrator`: headings, prose and commands in 80 columns
#![expect(
    clippy::disallowed_methods,
    reason = "a workspace of its own, among temporary files"
)]

mod narrator;
mod preview;
mod site;
mod workspace;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anstream::ColorChoice;
use anyhow::{Context as _, Result, ensure};

use self::narrator::Narrator;
use self::site::{BREAKAGES, HOST, LIVE, STATIC, Site};
use self::workspace::Workspace;
use crate::exit::ExitCode;
use crate::stop::{Stop, stop_on_signals};

/// Longest time between the end of a command by a signal and the arrival of that signal here.
const SIGNAL_DELAY: Duration = Duration::from_millis(50);

/// A record as an editor leaves it: out of order, and so are its keys.
const UNSORTED_RECORD: &str = "\
---
redirects-to: http://demo.example/objects/m51
description: cited in papers
_path: /id/m51
";

/// Show urldb at work, in a few seconds and offline
///
/// In a temporary git repository, with a small site on this machine: promises
/// are made, kept, and broken in five ways, and a run finds exactly these.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb demo           leaves nothing behind
  urldb demo --keep    leaves the repository, the archive and the reports
  urldb demo --serve   shows the status site in your browser until Ctrl-C")]
pub(super) struct Args {
    /// Leave the folder where it is, to look around
    #[arg(long)]
    keep: bool,
    /// Serve the status site on a port of this machine, until Ctrl-C
    #[arg(long)]
    serve: bool,
}

pub(super) fn run(args: &Args) -> Result<ExitCode> {
    let stop = Stop::new();
    stop_on_signals(&stop).context("cannot listen for Ctrl-C")?;
    #[expect(clippy::disallowed_methods, reason = "all text of the demo is its own")]
    let out = anstream::stdout();
    let mut workspace = Workspace::create(out.current_choice() != ColorChoice::Never)?;
    workspace.keep(args.keep);
    let mut demo = Demo {
        narrator: Narrator::new(out.lock()),
        workspace: &workspace,
        site: Site::open().context("cannot open a port on 127.0.0.1 for the demo's site")?,
        stop: &stop,
    };
    let result = demo.play().and_then(|()| {
        if args.serve {
            demo.serve_status_site()
        } else {
            Ok(())
        }
    });
    if args.keep {
        demo.explain_what_is_left()?;
    } else {
        workspace.remove()?;
    }
    match result {
        Err(_) if stop.is_set() => Ok(ExitCode::Interrupted),
        Err(error) => Err(error.context("the demo did not go as it should")),
        Ok(()) => Ok(ExitCode::Success),
    }
}

struct Demo<'a, W> {
    narrator: Narrator<W>,
    workspace: &'a Workspace,
    site: Site,
    stop: &'a Stop,
}

impl<W: Write> Demo<'_, W> {
    fn play(&mut self) -> Result<()> {
        let (folder, address) = (self.workspace.folder().display(), self.site.address());
        self.narrator.say(&format!(
            "This is urldb at work: a small site makes promises, keeps them for a while and breaks five of them. \
             All of it really happens, in {folder}, with a web server on {address} that plays http://{HOST}/. \
             Nothing leaves this machine."
        ))?;
        self.set_up()?;
        self.promise()?;
        self.commit()?;
        self.first_run()?;
        self.second_run()?;
        self.third_run()?;
        self.show_reports()
    }

    fn set_up(&mut self) -> Result<()> {
        self.narrator.step("Make a place for promises")?;
        self.narrator.say(
            "Any git repository will do. The hook keeps the promises in order at each commit.",
        )?;
        self.command(&["git", "init", "--quiet"])?;
        self.command(&["urldb", "init"])?;
        self.command(&["urldb", "hook", "install"])?;
        self.narrator.say(
            "No DNS server knows the demo's host, so urldb.toml maps it to the port. A response that takes \
             more than a second is too late. One run is enough to report a broken promise: normally, \
             two runs in a row must find it. Mail goes into a folder.",
        )?;
        let settings = self.settings();
        self.narrator.file("urldb.toml", &settings)?;
        fs::write(self.workspace.repository().join("urldb.toml"), settings)
            .context("cannot write urldb.toml")
    }

    fn settings(&self) -> String {
        let address = self.site.address();
        format!(
            "[network]\n\
             map = [\"{HOST}={address}\"]\n\n\
             [check]\n\
             timeout = \"1s\"\n\
             retry-wait = \"100ms\"\n\
             confirm = 1\n\n\
             [notify.mail]\n\
             type = \"email\"\n\
             from = \"urldb@{HOST}\"\n\
             to = [\"maintainer@{HOST}\"]\n\
             folder = \"mail\"\n\n\
             [notify.page]\n\
             type = \"html\"\n\
             path = \"site\"\n"
        )
    }

    fn promise(&mut self) -> Result<()> {
        self.narrator.step("Promise URLs")?;
        self.narrator.say(
            "urldb downloads a static URL once; the length and the SHA-256 of its bytes are the promise.",
        )?;
        self.command(&[&["urldb", "add", "--static"], &STATIC[..]].concat())?;
        self.narrator
            .say("Other URLs have to answer, with any content.")?;
        self.command(&[&["urldb", "add"], &LIVE[..]].concat())?;
        self.narrator
            .say("The database is text, so an editor can add a permalink.")?;
        self.narrator.file(&domain_file(), UNSORTED_RECORD)?;
        let path = self.workspace.repository().join(domain_file());
        fs::OpenOptions::new()
            .append(true)
            .open(&path)
            .and_then(|mut file| file.write_all(UNSORTED_RECORD.as_bytes()))
            .with_context(|| format!("cannot add to {}", path.display()))
    }

    fn commit(&mut self) -> Result<()> {
        self.narrator
            .step("Commit them; the hook puts them in order")?;
        self.command(&["git", "add", "."])?;
        self.command(&["git", "commit", "--quiet", "-m", "Promise seven URLs"])?;
        self.narrator
            .say("The commit has the records sorted, and the keys in each:")?;
        self.command(&["git", "show", &format!("HEAD:{}", domain_file())])
    }

    fn first_run(&mut self) -> Result<()> {
        self.narrator.step("The first run captures what is there")?;
        self.urldb_run(0, "all is as promised")?;
        self.narrator
            .say("The archive has the bytes of each static URL now, for example:")?;
        self.command(&["urldb", "archive", "list", STATIC[1]])?;
        self.narrator.say(
            "The ledger says what is known of every URL. It is text as well, and belongs in git.",
        )?;
        self.command(&["git", "add", "status"])?;
        self.command(&["git", "commit", "--quiet", "-m", "First run"])
    }

    fn second_run(&mut self) -> Result<()> {
        self.narrator
            .step("The second run finds nothing new, and is silent")?;
        self.urldb_run(0, "all is as promised")?;
        self.narrator.say(
            "No mail. The bytes are the same, so the archive gets short revisit records in their place, \
             and the ledger one line:",
        )?;
        self.command(&["urldb", "archive", "list", STATIC[1]])?;
        self.command(&["git", "diff", "--stat"])?;
        self.command(&["git", "commit", "--quiet", "-a", "-m", "Second run"])
    }

    fn third_run(&mut self) -> Result<()> {
        self.narrator
            .step("The site breaks in five ways, and the third run finds them")?;
        self.narrator.list(&BREAKAGES)?;
        self.site.break_pages();
        self.urldb_run(1, "promises are broken")
    }

    fn show_reports(&mut self) -> Result<()> {
        self.narrator.step("What people get to see")?;
        let mail = first_file(&self.workspace.repository().join("mail"))?;
        let text =
            fs::read_to_string(&mail).with_context(|| format!("cannot read {}", mail.display()))?;
        self.narrator
            .say("The mail, which was sent because there is news, up to its HTML part:")?;
        let plain_part = text.split("Content-Type: text/html").next();
        self.narrator.quote(plain_part.unwrap_or(&text))?;
        self.narrator.say(
            "The status site, which each run renews: the state of all promises, a page for each host and each \
             incident, feeds and badges. `urldb demo --serve` shows it in a browser.",
        )?;
        let site = self.status_site();
        self.narrator.quote(&file_url(&site.join("index.html")))?;
        let names = preview::names(&site).context("cannot list the status site")?;
        let is_page = |name: &&str| Path::new(name).extension() == Some("html".as_ref());
        let pages: Vec<&str> = names.iter().map(String::as_str).filter(is_page).collect();
        self.narrator.list(&pages)?;
        self.narrator
            .say("The archive, with the response of the third run as evidence:")?;
        self.command(&["urldb", "archive", "list", STATIC[1]])?;
        self.narrator
            .say("And the ledger, which remembers for the next run:")?;
        self.command(&["git", "diff", "--stat"])?;
        self.command(&["git", "diff", "--unified=0", &format!("status/{HOST}.yaml")])?;
        self.narrator.step("That was all")?;
        self.narrator.say(
            "Five promises were broken, five were found, and nothing else was reported. \
             To watch URLs of your own: `urldb init` in a git repository of yours.",
        )?;
        Ok(())
    }

    /// The folder of the site that the runs have built.
    fn status_site(&self) -> PathBuf {
        self.workspace.repository().join("site")
    }

    /// Serves the status site until Ctrl-C, which is no failure here.
    fn serve_status_site(&mut self) -> Result<()> {
        let address =
            preview::serve(&self.status_site()).context("cannot serve the status site")?;
        self.narrator.step("The status site, in your browser")?;
        self.narrator
            .say("Only this machine can see it. Ctrl-C ends the demo.")?;
        self.narrator.quote(&format!("http://{address}/"))?;
        while !self.stop.wait_timeout(Duration::from_mins(1)) {}
        Ok(())
    }

    fn explain_what_is_left(&mut self) -> Result<()> {
        let (folder, repository) = (self.workspace.folder(), self.workspace.repository());
        let [folder, repository] = [folder, &repository].map(Path::to_string_lossy);
        self.narrator
            .say("Everything is still there, except the web server. To look around:")?;
        self.narrator.command(&["cd", &repository])?;
        self.narrator.command(&["git", "log", "--patch"])?;
        self.narrator.command(&["urldb", "list"])?;
        self.narrator.say("And when you have seen enough:")?;
        self.narrator.command(&["rm", "-r", &folder])?;
        Ok(())
    }

    fn urldb_run(&mut self, expected: i32, meaning: &str) -> Result<()> {
        self.command_with_exit_code(&["urldb", "run"], expected)?;
        self.narrator
            .remark(&format!("exit code {expected}: {meaning}"))?;
        Ok(())
    }

    fn command(&mut self, words: &[&str]) -> Result<()> {
        self.command_with_exit_code(words, 0)
    }

    /// Shows a command and its output while it runs.
    ///
    /// # Errors
    /// When the command cannot run, ends with another exit code, or the user has pressed Ctrl-C.
    fn command_with_exit_code(&mut self, words: &[&str], expected: i32) -> Result<()> {
        self.narrator.command(words)?;
        let narrator = &mut self.narrator;
        let code = self.workspace.run(words, |line| Ok(narrator.output(line)?));
        // Ctrl-C reaches the command too, which may end before the signal is noticed here.
        let delay = if matches!(code, Ok(0)) {
            Duration::ZERO
        } else {
            SIGNAL_DELAY
        };
        ensure!(!self.stop.wait_timeout(delay), "interrupted");
        let code = code?;
        ensure!(
            code == expected,
            "`{}` ended with exit code {code} instead of {expected}",
            words.join(" ")
        );
        Ok(())
    }
}

fn domain_file() -> String {
    format!("urldb/{HOST}.yaml")
}

/// The first file in a folder.
fn first_file(folder: &Path) -> Result<PathBuf> {
    let entry = fs::read_dir(folder)
        .with_context(|| format!("cannot read {}", folder.display()))?
        .next()
        .with_context(|| format!("the run wrote no mail into {}", folder.display()))??;
    Ok(entry.path())
}

fn file_url(path: &Path) -> String {
    url::Url::from_file_path(path).map_or_else(|()| path.display().to_string(), String::from)
}
