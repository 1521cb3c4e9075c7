//! `run --commit --push`: machines that push to one branch lose nothing.

use std::collections::BTreeSet;
use std::fs;
use std::process::Stdio;
use std::time::Duration;

use crate::hook::Repository;
use crate::sandbox::{Case, Sandbox, assert_has, assert_lacks};
use crate::site::{FILE, Site, promises};
use crate::support::Reply;

const PATHS: [&str; 5] = ["/a", "/b", "/c", "/d", "/steady"];

/// The folders of two machines: the project, and a clone of the same remote repository.
const MACHINES: [&str; 2] = [".", "../other"];

const RUN: &str = "run --commit --push";

/// Two machines with one remote repository, both with mails in a folder that git ignores.
fn two_machines() -> (Site, Repository) {
    let site = Site::with(&PATHS.map(|path| (path, "x")));
    let mail = "[notify.mail]\ntype = \"email\"\nfrom = \"urldb@example.test\"\n\
                to = [\"me@example.test\"]\nfolder = \"mail\"\n";
    let sandbox = Sandbox::new(&format!("{}{mail}", site.network()));
    sandbox.write(FILE, promises(&PATHS.map(|path| (path, "x"))));
    sandbox.write(".gitignore", "/archive/\n/mail/\n/urldb.lock\n");
    sandbox.write("notes.txt", "committed\n");
    let repository = Repository::of(sandbox);
    repository.git("add .");
    repository.git("commit -q -m base");
    repository.git("init -q --bare -b main ../remote");
    repository.git("remote add origin ../remote");
    repository.git("push -q -u origin main");
    repository.git("clone -q ../remote ../other");
    for machine in MACHINES {
        repository.git(&["-C", machine, "config", "user.name", "Machine"]);
        repository.git(&["-C", machine, "config", "user.email", "m@example.test"]);
    }
    (site, repository)
}

impl Repository {
    fn run_on(&self, machine: &str) -> crate::sandbox::Ran {
        self.urldb(&format!("-C {machine} {RUN}"))
    }

    /// The number of mails of a machine, which are removed.
    fn mails_of(&self, machine: &str) -> usize {
        let folder = self.path(machine).join("mail");
        let mails = self.sandbox.tree(&format!("{machine}/mail")).len();
        let _ = fs::remove_dir_all(folder);
        mails
    }

    /// The lines of the history of a machine.
    fn history_of(&self, machine: &str) -> Vec<String> {
        let folder = self.path(machine).join("status/history");
        let months = fs::read_dir(folder).unwrap();
        let texts = months.map(|month| fs::read_to_string(month.unwrap().path()).unwrap());
        let lines: Vec<Vec<String>> = texts
            .map(|text| text.lines().map(str::to_owned).collect())
            .collect();
        lines.concat()
    }

    fn tree_of(&self, machine: &str) -> String {
        self.git(&["-C", machine, "rev-parse", "HEAD^{tree}"])
    }
}

/// Numbers that look random: the same for a seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % limit
    }
}

/// Both machines run ten times at the same time, and some runs are killed. Then nothing is lost or told twice.
fn diverge(seed: u64) {
    let _case = Case(&format!("seed {seed}"));
    let mut numbers = Numbers(seed);
    let (site, repository) = two_machines();
    repository.write("notes.txt", "edited\n");
    repository.write("new.txt", "untracked\n");
    for _ in 0..10 {
        for path in &PATHS[..4] {
            match numbers.below(4) {
                0 => site.remove(path),
                1 => site.serve(path, Reply::ok("y")),
                _ => site.serve(path, Reply::ok("x")),
            }
        }
        let mut running = MACHINES.map(|machine| {
            let mut command = repository.urldb_command(&format!("-C {machine} {RUN}"));
            command.stdout(Stdio::null()).stderr(Stdio::null());
            command.spawn().unwrap()
        });
        for child in &mut running {
            if numbers.below(3) == 0 {
                std::thread::sleep(Duration::from_millis(numbers.below(900)));
                child.kill().unwrap();
            }
        }
        for child in &mut running {
            child.wait().unwrap();
        }
        // A program that the killed one had started ends by itself.
        std::thread::sleep(Duration::from_millis(200));
    }
    for path in PATHS {
        site.serve(path, Reply::ok("x"));
    }
    for machine in [MACHINES[0], MACHINES[1], MACHINES[0]] {
        repository.run_on(machine).code(0);
    }
    for machine in MACHINES {
        repository.mails_of(machine);
    }

    // The other machine does not tell the news of the first one again. A failure that flapped is no news yet.
    site.remove("/steady");
    repository.run_on(MACHINES[0]).code(1);
    assert_eq!(repository.mails_of(MACHINES[0]), 1);
    repository.run_on(MACHINES[1]).code(1);
    assert_eq!(repository.mails_of(MACHINES[1]), 0);

    repository.git("pull -q --ff-only");
    let remote = repository.git("--git-dir=../remote rev-parse main^{tree}");
    for machine in MACHINES {
        assert_eq!(repository.tree_of(machine), remote);
        let lines = repository.history_of(machine);
        let different: BTreeSet<&String> = lines.iter().collect();
        assert_eq!(different.len(), lines.len(), "a line is there twice");
        assert!(lines.len() > 5);
        let ledger = repository.git(&["-C", machine, "status", "--porcelain", "status"]);
        assert_eq!(ledger, "");
    }
    repository.assert_file("notes.txt", "edited\n");
    repository.assert_file("new.txt", "untracked\n");
}

#[test]
fn machines_that_diverge_and_are_killed_lose_nothing() {
    // The acceptance tries more.
    let seeds = std::env::var("URLDB_PUSH_SEEDS").map_or(1, |seeds| seeds.parse().unwrap());
    (1..=seeds).for_each(diverge);
}

#[test]
fn both_sides_of_a_rejected_push_are_kept() {
    let (site, repository) = two_machines();
    repository.run_on(MACHINES[0]).code(0);
    repository.git("-C ../other pull -q");
    // The second machine cannot fetch before its run.
    repository.git("-C ../other remote set-url origin ../nowhere");
    site.remove("/a");
    repository.run_on(MACHINES[0]).code(1);
    repository.run_on(MACHINES[1]).code(2).complains(&[
        "the runs of others are not known yet",
        "the commits are not pushed",
    ]);
    repository.git("-C ../other remote set-url origin ../remote");
    let lines: BTreeSet<String> = MACHINES
        .iter()
        .flat_map(|machine| repository.history_of(machine))
        .collect();
    repository.run_on(MACHINES[1]).code(1);
    let merged: BTreeSet<String> = repository.history_of(MACHINES[1]).into_iter().collect();
    assert!(merged.is_superset(&lines));
    let subjects = repository.git("--git-dir=../remote log --format=%s main");
    assert_has(&subjects, "Merge branch 'main' of the remote repository\n");
    assert_eq!(
        subjects.matches("URLs: 1 broken (1 new), 4 ok: ").count(),
        2,
        "{subjects}"
    );
}

#[test]
fn commits_are_pushed_without_a_run() {
    let (site, repository) = two_machines();
    repository.run_on(MACHINES[0]).code(0);
    let asked = site.requests().len();
    repository.git("-C ../other commit -q --allow-empty -m waits");
    repository.ok("-C ../other run --commit");
    repository.ok("-C ../other push").says(" to main");
    let subjects = repository.git("--git-dir=../remote log --format=%s main");
    assert_has(&subjects, "Merge branch 'main' of the remote repository\n");
    assert_has(&subjects, "waits\n");
    repository.ok("-C ../other push").says(" to main");
    assert_eq!(site.requests().len(), asked + PATHS.len());
    repository.git("branch --unset-upstream");
    repository
        .exits(2, "push")
        .complains("`git push --set-upstream origin HEAD` makes it follow one");
}

/// Rewrites of a branch whose last commit adds `secret.txt`.
const REWRITES: [&str; 4] = [
    "git checkout -q --orphan new && git rm -q -f secret.txt && git commit -q -m new",
    "git rm -q secret.txt && git commit -q --amend --allow-empty -m amended",
    "git reset -q --hard HEAD^",
    "git rebase -q --root --exec 'git rm -q --ignore-unmatch secret.txt && git commit -q --amend --allow-empty -m x'",
];

/// Two machines whose branch had a secret, and has been rewritten by somebody else.
fn rewritten(script: &str) -> (Site, Repository) {
    let (site, repository) = two_machines();
    repository.write("secret.txt", "secret\n");
    repository.git("add secret.txt");
    repository.git("commit -q -m secret");
    repository.git("push -q");
    repository.git("-C ../other pull -q");
    repository.git("clone -q ../remote ../rewriter");
    for (key, value) in [("user.name", "Other"), ("user.email", "o@example.test")] {
        repository.git(&["-C", "../rewriter", "config", key, value]);
    }
    let push = "git push -q --force origin HEAD:main";
    shell(
        &repository,
        &format!("cd ../rewriter && {script} && {push}"),
    );
    assert_lacks(&remote_files(&repository), "secret.txt");
    (site, repository)
}

#[track_caller]
fn shell(repository: &Repository, script: &str) {
    let done = repository.command("sh").args(["-c", script]).output();
    assert!(
        done.as_ref().unwrap().status.success(),
        "{script}: {done:?}"
    );
}

fn remote_files(repository: &Repository) -> String {
    repository.git("--git-dir=../remote ls-tree -r --name-only main")
}

#[test]
fn a_rewritten_history_is_not_brought_back() {
    for (number, script) in REWRITES.iter().enumerate() {
        let _case = Case(script);
        let (_site, repository) = rewritten(script);
        if number % 2 == 1 {
            repository.git("fetch -q");
        }
        let before = repository.git("--git-dir=../remote rev-parse main");
        // With and without commits of its own, and again: the first attempt is no excuse.
        for command in ["push", RUN, RUN, "push"] {
            repository.exits(2, command).complains(&[
                "somebody has rewritten the branch main",
                "To take the rewritten history",
                "To put the former commits back",
            ]);
            assert_eq!(repository.git("--git-dir=../remote rev-parse main"), before);
        }
        assert!(repository.path("secret.txt").exists());
    }
}

/// The commands of a message, each in its backticks.
fn commands(message: &str, purpose: &str) -> String {
    let mut lines = message.lines().filter(|line| line.contains(purpose));
    lines.next().unwrap().split('`').nth(1).unwrap().to_owned()
}

#[test]
fn both_ways_on_after_a_rewrite_work() {
    let ways = [("To take", false), ("To put", true)];
    for (script, (purpose, has_secret)) in REWRITES.into_iter().zip(ways.into_iter().cycle()) {
        let _case = Case(&format!("{purpose}, {script}"));
        let (_site, repository) = rewritten(script);
        repository.write("own.txt", "mine\n");
        repository.git("add own.txt");
        repository.git("commit -q -m own");
        let said = repository.exits(2, "push").err;
        shell(&repository, &commands(&said, purpose));
        repository.ok("push").says(" to main");
        let files = remote_files(&repository);
        assert_eq!(files.contains("secret.txt"), has_secret, "{files}");
        assert_has(&files, "own.txt");
    }
}

#[test]
fn a_removed_branch_is_not_made_again() {
    let (_site, repository) = two_machines();
    repository.git("--git-dir=../remote branch -m main old");
    repository.exits(2, "push").complains(&[
        "somebody has removed the branch main",
        "`git push origin HEAD:main`",
    ]);
    // A branch that was never there is made.
    repository.git("checkout -q -b fresh");
    repository.git("config branch.fresh.remote origin");
    repository.git("config branch.fresh.merge refs/heads/fresh");
    repository.ok("push").says(" to fresh");
    repository.git("--git-dir=../remote rev-parse fresh");
}

#[test]
fn unrelated_histories_are_not_joined() {
    let (_site, repository) = two_machines();
    repository.git("init -q -b main ../new");
    repository.write("../new/secret.txt", "secret\n");
    repository.git("-C ../new add .");
    repository.git("-C ../new commit -q -m new");
    repository.git("-C ../new push -q --force ../remote main");
    repository.git("config branch.main.remote ../remote");
    repository
        .exits(2, "push")
        .complains("the histories are unrelated");
    assert_eq!(remote_files(&repository), "secret.txt\n");
}

/// A remote repository that takes connections and says nothing. Sends each connection.
fn silent_remote() -> (String, std::sync::mpsc::Receiver<std::net::TcpStream>) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("git://{}/silent", listener.local_addr().unwrap());
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            if sender.send(stream).is_err() {
                break;
            }
        }
    });
    (address, receiver)
}

#[cfg(unix)]
#[test]
fn a_silent_remote_repository_does_not_hold_a_signal_up() {
    use std::io::Read as _;

    for (command, key) in [("push", "url"), (RUN, "url"), (RUN, "pushurl")] {
        for signal in ["-INT", "-TERM", "-KILL"] {
            let _case = Case(&format!("{signal} {command} {key}"));
            let (_site, repository) = two_machines();
            let (address, connections) = silent_remote();
            repository.git(&["config", &format!("remote.origin.{key}"), &address]);
            let mut command = repository.urldb_command(command);
            let command = command.stdout(Stdio::null()).stderr(Stdio::null());
            let mut running = command.spawn().unwrap();
            let mut connection = connections.recv_timeout(crate::sandbox::PATIENCE).unwrap();
            let begun = std::time::Instant::now();
            let id = running.id().to_string();
            std::process::Command::new("kill")
                .args([signal, &id])
                .status()
                .unwrap();
            let status = running.wait().unwrap();
            if signal != "-KILL" {
                assert_eq!(status.code(), Some(130));
            }
            // git is gone too.
            let limit = Some(Duration::from_mins(1));
            connection.set_read_timeout(limit).unwrap();
            connection.read_to_end(&mut vec![]).unwrap();
            assert!(
                begun.elapsed() < Duration::from_secs(20),
                "{:?}",
                begun.elapsed()
            );
            assert!(!repository.path(".git/index.lock").exists());
        }
    }
}

/// A machine whose git takes a second to write each file of the ledger, and has news of the other machine to write.
#[cfg(unix)]
fn slow_machine() -> (Site, Repository) {
    let (site, repository) = two_machines();
    repository.run_on(MACHINES[0]).code(0);
    repository.run_on(MACHINES[1]).code(0);
    site.remove("/a");
    repository.run_on(MACHINES[0]).code(1);
    let attributes = repository.path("../other/.git/info/attributes");
    fs::write(attributes, "status/** filter=slow\n").unwrap();
    let smudge = "touch ../writes; sleep 1; cat";
    for (key, value) in [("smudge", smudge), ("clean", "cat")] {
        let key = format!("filter.slow.{key}");
        repository.git(&["-C", MACHINES[1], "config", &key, value]);
    }
    (site, repository)
}

/// Starts a run of the second machine in its own process group, and waits until its git writes the ledger.
#[cfg(unix)]
fn interrupted(repository: &Repository, signal: &str, target: &str) -> std::process::ExitStatus {
    use std::os::unix::process::CommandExt as _;

    let mut command = repository.urldb_command(&format!("-C {} {RUN}", MACHINES[1]));
    command.process_group(0).stdout(Stdio::null());
    let mut running = command.stderr(Stdio::null()).spawn().unwrap();
    let begun = std::time::Instant::now();
    while !repository.path("../writes").exists() {
        assert!(
            begun.elapsed() < crate::sandbox::PATIENCE,
            "git writes nothing"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
    let target = format!("{target}{}", running.id());
    let sent = std::process::Command::new("kill")
        .args([signal, "--", &target])
        .status();
    assert!(sent.unwrap().success());
    running.wait().unwrap()
}

/// As Ctrl-C in a terminal, `timeout` and a service manager send their signals, and as a lack of memory ends a program.
#[cfg(unix)]
#[test]
fn a_signal_while_git_writes_the_ledger_leaves_no_half() {
    for (signal, target) in [("-INT", "-"), ("-TERM", "-"), ("-TERM", ""), ("-KILL", "")] {
        let _case = Case(&format!("{signal} {target}"));
        let (_site, repository) = slow_machine();
        let added = |machine: &str| {
            let text = repository.read(&format!("{machine}/status/example.test.yaml"));
            let lines = text.lines().filter(|line| line.starts_with("added:"));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        let before = added(MACHINES[0]);
        let status = interrupted(&repository, signal, target);
        if signal != "-KILL" {
            assert_eq!(status.code(), Some(130));
            assert_eq!(
                repository.git(&["-C", MACHINES[1], "status", "--porcelain"]),
                ""
            );
        }
        repository.run_on(MACHINES[1]).code(1);
        assert_eq!(added(MACHINES[1]), before);
        assert_eq!(repository.mails_of(MACHINES[1]), 0, "news is told again");
        assert_eq!(
            repository.git("--git-dir=../remote rev-parse main^{tree}"),
            repository.tree_of(MACHINES[1])
        );
    }
}

#[test]
fn a_damaged_ledger_is_restored_and_never_committed() {
    let (site, repository) = two_machines();
    site.remove("/a");
    repository.run_on(MACHINES[0]).code(1);
    repository.mails_of(MACHINES[0]);
    let files: Vec<String> = repository
        .git("ls-files status")
        .lines()
        .map(str::to_owned)
        .collect();
    assert!(files.len() > 3, "{files:?}");
    let damages: [fn(&str) -> &str; 2] = [|_| "", |text| &text[..text.len() / 2]];
    for file in &files {
        for damage in damages {
            let _case = Case(&format!("{file}, {} bytes", damage("ab").len()));
            let whole = repository.read(file);
            repository.write(file, damage(&whole));
            repository
                .exits(1, "doctor")
                .says(&["damaged file of the ledger", file]);
            repository
                .exits(1, "status")
                .complains(&[file, "restored from the last commit"]);
            repository.assert_file(file, &whole);
            repository.write(file, damage(&whole));
            repository
                .ok("push")
                .complains(&[file, "restored from the last commit"]);
            repository.assert_file(file, &whole);
        }
    }
    for file in &files {
        repository.write(file, "");
    }
    repository
        .run_on(MACHINES[0])
        .code(1)
        .complains("restored from the last commit");
    assert_eq!(repository.mails_of(MACHINES[0]), 0, "news is told again");
    let ledger = repository.git("diff --stat HEAD^ -- status");
    assert_has(&ledger, "1 file changed, 1 insertion(+)");
}

/// Merges of both sides in both orders give two common ancestors.
#[test]
fn after_a_criss_cross_merge_the_base_is_the_merge_of_both() {
    let (_site, repository) = two_machines();
    let commit = |machine: &str, file: &str, text: &str| {
        repository.write(&format!("{machine}/{file}"), text);
        repository.git(&["-C", machine, "add", "."]);
        repository.git(&["-C", machine, "commit", "-q", "-m", text]);
    };
    commit(MACHINES[0], "one.txt", "one\n");
    commit(MACHINES[1], "notes.txt", "changed\n");
    repository.git("fetch -q ../other main");
    let theirs = repository.git("rev-parse FETCH_HEAD");
    let ours = repository.git("rev-parse HEAD");
    repository.git(&["merge", "-q", "--no-edit", theirs.trim()]);
    let here = repository.path(".");
    repository.git(&[
        "-C",
        "../other",
        "fetch",
        "-q",
        here.to_str().unwrap(),
        "main",
    ]);
    repository.git(&["-C", "../other", "merge", "-q", "--no-edit", ours.trim()]);
    // Ours takes the change back, which theirs still has.
    commit(MACHINES[0], "notes.txt", "committed\n");
    repository.git("-C ../other push -q");
    repository.ok("push");
    repository.assert_file("notes.txt", "committed\n");
    repository.assert_file("one.txt", "one\n");
}

#[test]
fn an_edited_file_is_named_before_the_push() {
    let (_site, repository) = two_machines();
    repository.run_on(MACHINES[1]).code(0);
    repository.write("../other/notes.txt", "theirs\n");
    repository.write("../other/new.txt", "theirs\n");
    repository.git("-C ../other add .");
    repository.git(&["-C", "../other", "commit", "-q", "-m", "Edit the notes"]);
    repository.git("-C ../other push -q");
    repository.write("notes.txt", "mine\n");
    repository.write("new.txt", "mine\n");
    let before = repository.git("--git-dir=../remote rev-parse main");
    repository.run_on(MACHINES[0]).code(2).complains(&[
        "others have changed files that you have edited",
        "notes.txt",
        "new.txt",
    ]);
    assert_eq!(repository.git("--git-dir=../remote rev-parse main"), before);
    repository.assert_file("notes.txt", "mine\n");
    repository.assert_file("new.txt", "mine\n");
    // The commit waits for the next run.
    repository.git("checkout -q notes.txt");
    fs::remove_file(repository.path("new.txt")).unwrap();
    repository.run_on(MACHINES[0]).code(0);
    repository.assert_file("notes.txt", "theirs\n");
    let lines = repository.history_of(MACHINES[0]);
    assert_eq!(lines.len(), 3);
}

#[test]
fn a_branch_that_follows_none_is_an_error_before_the_run() {
    let (site, repository) = two_machines();
    repository.git("branch --unset-upstream");
    repository
        .run_on(MACHINES[0])
        .code(2)
        .complains("--push: the branch follows no branch");
    assert!(site.requests().is_empty());
    repository.exits(2, "run --push").complains("--commit");
    assert_lacks(&repository.git("log --format=%s"), "promised");
}

#[test]
fn a_merge_that_a_person_has_begun_stays_theirs() {
    let (_site, repository) = two_machines();
    for (branch, text) in [("other", "theirs"), ("main", "ours")] {
        repository.git(&["checkout", "-q", "-B", branch, "origin/main"]);
        repository.write("notes.txt", text);
        repository.git(&["commit", "-q", "-a", "-m", text]);
    }
    repository.git_fails("merge other");
    let before = repository.git("--git-dir=../remote rev-parse main");
    repository
        .run_on(MACHINES[0])
        .code(2)
        .complains("a merge is in progress");
    assert!(repository.path(".git/MERGE_HEAD").exists());
    assert_eq!(repository.git("--git-dir=../remote rev-parse main"), before);
}
