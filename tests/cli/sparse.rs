//! Sparse checkouts: files that the work tree leaves out are not deleted.

use crate::hook::Repository;
use crate::sandbox::{Case, Sandbox, assert_has, assert_lacks};
use crate::site::{Site, promises};
use crate::support::Reply;

const HOSTS: [&str; 2] = ["one.test", "two.test"];

/// A cone with the sparse index or without, and other patterns.
const KINDS: [&str; 3] = [
    "--cone --sparse-index",
    "--cone --no-sparse-index",
    "--no-cone",
];

/// A repository with a committed ledger, in which a URL of each host is broken and told.
fn after_news() -> (Site, Repository) {
    let site = Site::with(&[("/a", "x"), ("/b", "x")]);
    let mail = "[notify.mail]\ntype = \"email\"\nfrom = \"urldb@example.test\"\n\
                to = [\"me@example.test\"]\nfolder = \"mail\"\n";
    let sandbox = Sandbox::new(&format!("{}{mail}", site.network_of(&HOSTS)));
    for host in HOSTS {
        let text = promises(&[("/a", "x"), ("/b", "x")]);
        sandbox.write(&format!("urldb/{host}.yaml"), text);
    }
    sandbox.write(".gitignore", "/archive/\n/mail/\n");
    sandbox.write("docs/notes.txt", "one\n");
    let repository = Repository::of(sandbox);
    repository.git("config user.name A");
    repository.git("config user.email a@example.test");
    repository.git("add .");
    repository.git("commit -q -m base");
    repository.ok("hook install");
    site.remove("/a");
    repository.exits(1, "run --commit");
    assert_eq!(repository.mails(), 1);
    repository.git("add .");
    repository.git("commit -q -m attributes");
    (site, repository)
}

impl Repository {
    /// The number of mails, which are removed.
    fn mails(&self) -> usize {
        let mails = self.sandbox.tree("mail").len();
        let _ = std::fs::remove_dir_all(self.path("mail"));
        mails
    }

    /// Leaves all files out of the work tree but those at the top, in these folders and, without a cone, these files.
    fn leave_out(&self, kind: &str, kept: &[&str]) {
        let folders = kept.iter().map(|folder| match kind {
            "--no-cone" => format!("/{folder}"),
            _ => (*folder).to_owned(),
        });
        let top = (kind == "--no-cone").then(|| "/*.toml".to_owned());
        let words: Vec<String> = folders.chain(top).collect();
        let words = words.iter().map(String::as_str);
        let command = ["sparse-checkout", "set"]
            .into_iter()
            .chain(kind.split(' '));
        self.git(&command.chain(words).collect::<Vec<_>>());
    }
}

#[test]
fn a_ledger_that_is_left_out_is_known_all_the_same() {
    for kind in KINDS {
        let _case = Case(kind);
        let (site, repository) = after_news();
        let history = |repository: &Repository| {
            let month = repository.git("ls-tree -r --name-only HEAD status/history");
            repository.in_head(month.trim())
        };
        let before = history(&repository);
        repository.leave_out(kind, &["urldb", "docs"]);
        assert!(!repository.path("status").exists());
        let ran = repository.exits(1, "run --commit");
        ran.complains("that the sparse checkout leaves out");
        assert_eq!(repository.mails(), 0, "news is told again");
        assert_has(&history(&repository), &before);
        // A new file of the ledger too.
        repository.git("sparse-checkout reapply");
        repository.write("urldb/three.test.yaml", promises(&[("/c", "x")]));
        repository.git("add urldb");
        repository.git("commit -q -m three");
        repository.exits(1, "run --commit");
        assert_has(
            &repository.git("ls-tree -r --name-only HEAD"),
            "status/three.test.yaml",
        );
        site.serve("/a", Reply::ok("x"));
        repository.git("sparse-checkout disable");
        assert_eq!(repository.git("status --porcelain"), "");
        assert_eq!(repository.git("fsck --no-dangling"), "");
    }
}

#[test]
fn a_domain_file_that_is_left_out_is_not_gone() {
    let (site, repository) = after_news();
    site.serve("/c", Reply::ok("x"));
    let before = repository.git("ls-tree -r HEAD status/incidents status/two.test.yaml");
    repository.leave_out("--no-cone", &["status", "docs", "urldb/one.test.yaml"]);
    assert!(!repository.path("urldb/two.test.yaml").exists());
    let ran = repository.exits(1, "run --commit");
    ran.complains("the sparse checkout leaves out 1 domain file");
    assert_eq!(repository.mails(), 0);
    let after = repository.git("ls-tree -r HEAD status/incidents status/two.test.yaml");
    assert_eq!(after, before, "the incident ended");
    // No command takes the file for a new one.
    let new = "http://two.test/b";
    for command in [
        "add http://two.test/c --commit",
        "mv one.test two.test --commit",
    ] {
        repository
            .exits(2, command)
            .complains("the sparse checkout leaves out");
        assert!(!repository.path("urldb/two.test.yaml").exists());
    }
    repository.write("list", new);
    let words = repository.urldb("import list list");
    assert_has(&words.err, "the sparse checkout leaves out");
    assert!(!repository.path("urldb/two.test.yaml").exists());
    repository.git("sparse-checkout disable");
    assert_lacks(&repository.git("log --format= --name-status"), "D\turldb");
}

#[test]
fn a_staged_file_that_is_left_out_is_normalized() {
    for (kind, is_left_out) in KINDS.into_iter().zip([true, false].into_iter().cycle()) {
        let _case = Case(&format!("{kind}, {is_left_out}"));
        let (_site, repository) = after_news();
        let file = "urldb/one.test.yaml";
        let text = promises(&[("/z", "x"), ("/a", "x")]);
        let canonical = promises(&[("/a", "x"), ("/z", "x")]);
        repository.leave_out(kind, &["docs"]);
        repository.write("docs/notes.txt", "two\n");
        repository.git("add docs");
        repository.git("commit -q -m docs");
        repository.write(file, text);
        repository.git(&["add", "--sparse", file]);
        if is_left_out {
            repository.git("sparse-checkout reapply");
            assert!(!repository.path(file).exists());
        }
        repository.git("commit -q -m change");
        assert_eq!(repository.in_head(file), canonical);
        assert_eq!(repository.git("status --porcelain"), "");
        assert_eq!(repository.git("fsck --no-dangling"), "");
        assert_has(
            &repository.git("ls-tree -r --name-only HEAD"),
            "urldb/two.test.yaml",
        );
    }
}
