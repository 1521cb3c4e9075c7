//! What happens in the demo, step by step.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::evidence::{self, Warc};
use super::narrator::Narrator;
use super::site::Site;
use super::stage::Stage;
use super::world::{self, BREAKAGES, BY_HAND, Breakage, HOST, LIVE, STATIC};
use crate::stop::Stop;

/// How long a signal may take to be noticed.
const NOTICE: Duration = Duration::from_millis(50);

/// Everything that the demo needs to play.
pub(super) struct Script<'a, W> {
    pub(super) narrator: Narrator<W>,
    pub(super) stage: &'a Stage,
    pub(super) site: &'a Site,
    pub(super) stop: &'a Stop,
}

impl<W: Write> Script<'_, W> {
    /// Plays it all.
    ///
    /// # Errors
    /// When anything is not as the story has it: the demo tests the program, too.
    pub(super) fn play(&mut self) -> Result<()> {
        let began = Instant::now();
        self.introduce()?;
        self.set_up()?;
        self.promise()?;
        self.commit()?;
        self.first_run()?;
        self.second_run()?;
        self.third_run()?;
        self.look_around()?;
        self.conclude(began)
    }

    fn introduce(&mut self) -> Result<()> {
        let (folder, address) = (self.stage.folder().display(), self.site.address());
        self.narrator.say(&format!(
            "This is urldb at work: a small site makes promises, keeps them for a while and breaks five of them. \
             All of it really happens, in {folder}, with a web server on {address} that plays http://{HOST}/. \
             Nothing leaves this machine."
        ))?;
        Ok(())
    }

    fn set_up(&mut self) -> Result<()> {
        self.narrator.step("Make a place for promises")?;
        self.narrator.say(
            "Any git repository will do. The hook keeps the promises in order at each commit.",
        )?;
        self.succeed(&["git", "init", "--quiet"])?;
        self.succeed(&["urldb", "init"])?;
        self.succeed(&["urldb", "hook", "install"])?;
        self.narrator.say(
            "The demo's host is in no DNS, so it is mapped to the port. An answer that takes more than \
             a second is too late, and one run is enough to believe that: normally, two in a row must see \
             such a thing before anybody is told. Mail goes into a folder.",
        )?;
        let settings = self.settings();
        self.narrator.edit("urldb.toml", &settings)?;
        fs::write(self.stage.repository().join("urldb.toml"), settings)
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
            "What is static is downloaded once; its length and its SHA-256 are the promise.",
        )?;
        self.succeed(&[&["urldb", "add", "--static"], &STATIC[..]].concat())?;
        self.narrator
            .say("Other URLs have to answer, with whatever they like.")?;
        self.succeed(&[&["urldb", "add"], &LIVE[..]].concat())?;
        self.narrator
            .say("The database is text: a permalink is added with an editor, in a hurry.")?;
        self.append(&domain_file(), BY_HAND)
    }

    fn commit(&mut self) -> Result<()> {
        self.narrator
            .step("Commit them; the hook puts them in order")?;
        self.succeed(&["git", "add", "."])?;
        self.succeed(&["git", "commit", "--quiet", "-m", "Promise seven URLs"])?;
        self.narrator
            .say("What was committed has its records sorted, and the keys in each:")?;
        self.succeed(&["git", "show", &format!("HEAD:{}", domain_file())])
    }

    fn first_run(&mut self) -> Result<()> {
        self.narrator.step("The first run captures what is there")?;
        self.urldb_run(0, "all is as promised")?;
        let warcs = self.warcs()?;
        self.narrator
            .say("The archive has the bytes of each static URL now:")?;
        self.list_archive(&warcs)?;
        let all_static = STATIC.len() as u64;
        let expected = [(all_static, 0)];
        ensure!(
            counts(&warcs) == expected,
            "the first run should have captured each static URL once"
        );
        self.expect_mails(0)?;
        self.narrator
            .say("What is known of every URL, the ledger, is text as well, and belongs in git.")?;
        self.succeed(&["git", "add", "status"])?;
        self.succeed(&["git", "commit", "--quiet", "-m", "First run"])
    }

    fn second_run(&mut self) -> Result<()> {
        self.narrator
            .step("The second run finds nothing new, and is silent")?;
        self.urldb_run(0, "all is as promised")?;
        let warcs = self.warcs()?;
        self.narrator.say(
            "No mail. The bytes are the same, so the archive gets short revisit records in their place, \
             and the ledger one line:",
        )?;
        self.list_archive(&warcs)?;
        let all_static = STATIC.len() as u64;
        let expected = [(all_static, 0), (0, all_static)];
        ensure!(
            counts(&warcs) == expected,
            "the second run should have archived revisits, and nothing else"
        );
        self.expect_mails(0)?;
        self.expect_news(&[])?;
        self.succeed(&["git", "diff", "--stat"])?;
        self.succeed(&["git", "commit", "--quiet", "-a", "-m", "Second run"])
    }

    fn third_run(&mut self) -> Result<()> {
        self.narrator
            .step("The site breaks in five ways, and the third run finds them")?;
        let stories = BREAKAGES
            .each_ref()
            .map(|breakage| format!("{} {}", breakage.path, breakage.story));
        self.narrator.list(&stories)?;
        world::break_down(self.site);
        self.urldb_run(1, "promises are broken")?;
        self.expect_news(&BREAKAGES)
    }

    fn look_around(&mut self) -> Result<()> {
        self.narrator.step("What people get to see")?;
        self.narrator
            .say("The mail, which was sent because there is news:")?;
        let mail = self.expect_mails(1)?.pop().context("there is no mail")?;
        let text = evidence::readable(&fs::read(&mail).context("cannot read the mail")?)?;
        self.narrator.quote(&text)?;
        for url in BREAKAGES.iter().map(Breakage::url) {
            ensure!(text.contains(&url), "the mail should name {url}");
        }
        let page = self.stage.repository().join("site").join("index.html");
        ensure!(
            page.is_file(),
            "the third run should have written {}",
            page.display()
        );
        self.narrator.say("The web page, made anew by each run:")?;
        self.narrator.quote(&file_url(&page))?;
        self.narrator
            .say("The archive, with what the third run got instead as evidence:")?;
        let warcs = self.warcs()?;
        self.list_archive(&warcs)?;
        ensure!(
            warcs
                .last()
                .is_some_and(|warc| warc.responses > 0 && warc.revisits == world::unbroken()),
            "the third run should have captured what has changed, and revisited what has not"
        );
        self.narrator
            .say("And the ledger, which remembers for the next run:")?;
        self.succeed(&["git", "diff", "--stat"])?;
        self.succeed(&["git", "diff", "--unified=0", &format!("status/{HOST}.yaml")])
    }

    fn conclude(&mut self, began: Instant) -> Result<()> {
        self.narrator.step("That was all")?;
        self.narrator.say(&format!(
            "Five promises were broken, five were found, and nothing else was reported; {:.1} seconds. \
             To watch URLs of your own: `urldb init` in a git repository of yours.",
            began.elapsed().as_secs_f32()
        ))?;
        Ok(())
    }

    /// Says where everything is, when it stays.
    pub(super) fn leave_open(&mut self) -> Result<()> {
        let (folder, repository) = (self.stage.folder(), self.stage.repository());
        let [folder, repository] = [folder, &repository].map(Path::to_string_lossy);
        self.narrator
            .say("Everything is still there, but for the site. To look around:")?;
        self.narrator.command(&["cd", &repository])?;
        self.narrator.command(&["git", "log", "--patch"])?;
        self.narrator.command(&["urldb", "list"])?;
        self.narrator.say("And when you have seen enough:")?;
        self.narrator.command(&["rm", "-r", &folder])?;
        Ok(())
    }

    /// Runs `urldb run`, which must end with this code.
    fn urldb_run(&mut self, expected: i32, meaning: &str) -> Result<()> {
        let code = self.run(&["urldb", "run"])?;
        ensure!(
            code == expected,
            "`urldb run` should have ended with exit code {expected}, not {code}"
        );
        self.narrator
            .remark(&format!("exit code {code}: {meaning}"))?;
        Ok(())
    }

    fn succeed(&mut self, words: &[&str]) -> Result<()> {
        let code = self.run(words)?;
        ensure!(
            code == 0,
            "`{}` ended with exit code {code}",
            words.join(" ")
        );
        Ok(())
    }

    /// Narrates a command, and runs it.
    fn run(&mut self, words: &[&str]) -> Result<i32> {
        self.narrator.command(words)?;
        let narrator = &mut self.narrator;
        let code = self.stage.run(words, |line| Ok(narrator.output(line)?));
        // Ctrl-C reaches the command as well as us, and it may be the first to notice.
        let grace = if matches!(code, Ok(0)) {
            Duration::ZERO
        } else {
            NOTICE
        };
        ensure!(!self.stop.wait_timeout(grace), "interrupted");
        code
    }

    /// Appends to a file of the repository, as if with an editor.
    fn append(&mut self, file: &str, text: &str) -> Result<()> {
        self.narrator.edit(file, text)?;
        let path = self.stage.repository().join(file);
        let append = || {
            fs::OpenOptions::new()
                .append(true)
                .open(&path)?
                .write_all(text.as_bytes())
        };
        append().with_context(|| format!("cannot add to {}", path.display()))
    }

    fn warcs(&self) -> Result<Vec<Warc>> {
        evidence::warcs(&self.stage.repository().join("archive"))
    }

    fn list_archive(&mut self, warcs: &[Warc]) -> Result<()> {
        for warc in warcs {
            self.narrator.quote(&warc.to_string())?;
        }
        Ok(())
    }

    fn expect_mails(&self, expected: usize) -> Result<Vec<PathBuf>> {
        let mails = evidence::mails(&self.stage.repository().join("mail"))?;
        ensure!(
            mails.len() == expected,
            "there should be {expected} mails by now, not {}",
            mails.len()
        );
        Ok(mails)
    }

    /// These breakages must be news, and nothing else.
    fn expect_news(&self, breakages: &[Breakage]) -> Result<()> {
        let news = evidence::news(&self.stage.repository().join("status"))?;
        let expected = breakages
            .iter()
            .map(|breakage| (breakage.url(), breakage.state.to_owned()))
            .collect();
        ensure!(
            news == expected,
            "the history has {news:?} as news, and should have {expected:?}"
        );
        Ok(())
    }
}

fn domain_file() -> String {
    format!("urldb/{HOST}.yaml")
}

fn counts(warcs: &[Warc]) -> Vec<(u64, u64)> {
    warcs
        .iter()
        .map(|warc| (warc.responses, warc.revisits))
        .collect()
}

fn file_url(path: &Path) -> String {
    url::Url::from_file_path(path).map_or_else(|()| path.display().to_string(), String::from)
}
