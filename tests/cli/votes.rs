//! Content that differs from request to request: a stale replica, an upload in place, a page for each request.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::advice::{assert_commands_work, has_curl, shell, without_map};
use crate::sandbox::{Sandbox, assert_has, assert_lacks};
use crate::site::{FILE, network, promises};
use crate::support::{Reply, Server};

const URL: &str = "http://example.test/data.csv";

const TEXT: &str = "a,b\n1,2\n3,4\n";

/// A server, the number of its next request, and a repository that promises [`TEXT`], and mails into a folder.
struct Votes {
    _server: Server,
    next: Arc<AtomicUsize>,
    sandbox: Sandbox,
}

impl Votes {
    /// With this answer to each request.
    fn new(answer: impl Fn(usize) -> String + Send + Sync + 'static) -> Self {
        let next = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&next);
        let server =
            Server::new(move |_| Reply::ok(answer(counter.fetch_add(1, Ordering::SeqCst))));
        let network = network(server.address(), &["example.test"]);
        let sandbox = Sandbox::new(&format!(
            "[notify.mail]\ntype = \"email\"\nfrom = \"urldb@example.test\"\n\
             to = [\"me@example.test\"]\nfolder = \"mail\"\n\
             [notify.site]\ntype = \"html\"\npath = \"site\"\n{network}"
        ));
        sandbox.write(FILE, promises(&[("/data.csv", TEXT)]));
        Self {
            _server: server,
            next,
            sandbox,
        }
    }

    /// With the promised text, and another one every other time: after a run that happens to get the promised one.
    fn of_stale_replica() -> Self {
        let votes = Self::new(|request| {
            let stale = "a,b\n1,2\n";
            if request % 2 == 0 { TEXT } else { stale }.to_owned()
        });
        votes.sandbox.ok("run");
        votes
    }

    /// What the pages of the site say.
    fn site(&self) -> String {
        let pages = self.sandbox.files("site", ".html").into_iter();
        pages
            .map(|page| std::fs::read_to_string(page).unwrap())
            .collect()
    }
}

#[test]
fn a_stale_replica_is_news_when_confirmed() {
    let votes = Votes::of_stale_replica();
    let sandbox = &votes.sandbox;
    let seen = "1 of 3 requests got the promised bytes";
    let first = sandbox.exits(3, "run").says(&[
        "unconfirmed[changed]",
        "serves other bytes from one request to the next",
        seen,
    ]);
    assert_lacks(&first.out, "urldb accept");
    assert_eq!(votes.next.load(Ordering::SeqCst), 4);
    assert!(sandbox.mails().is_empty());
    assert_has(
        &sandbox.read("status/example.test.yaml"),
        "pending: changed",
    );
    assert_eq!(sandbox.files("status/incidents", ".yaml").len(), 0);

    // The next request would get the promised text.
    votes.next.store(1, Ordering::SeqCst);
    let second = sandbox.exits(1, "run").says(seen);
    assert_lacks(&second.out, "unconfirmed");
    let mails = sandbox.take_mails();
    let [mail] = mails.as_slice() else {
        panic!("{} mails", mails.len());
    };
    assert_has(&mail.text, seen);
    let words: Vec<&str> = mail.text.split_whitespace().collect();
    assert_has(
        &words.join(" "),
        "serves other bytes from one request to the next",
    );
    assert_has(&votes.site(), seen);
    assert_lacks(&mail.text, "urldb accept");
    assert_lacks(&votes.site(), "urldb accept");
    let line = format!("for i in 1 2 3 4 5 6; do curl -sSL {URL} | cksum; done");
    let found = assert_commands_work(&mail.text, sandbox, &[]);
    assert!(found.iter().any(|it| without_map(it) == line), "{found:?}");
    if has_curl() {
        let output = shell(&line, sandbox, &[]);
        let lines = String::from_utf8(output.stdout).unwrap();
        let contents: BTreeSet<&str> = lines.lines().collect();
        assert_eq!((lines.lines().count(), contents.len()), (6, 2), "{lines}");
    }

    // It is told once.
    votes.next.store(1, Ordering::SeqCst);
    sandbox.exits(1, "run").says(seen);
    assert!(sandbox.mails().is_empty());
}

#[test]
fn check_shows_what_the_votes_are_and_exits_with_1() {
    let votes = Votes::of_stale_replica();
    let sandbox = &votes.sandbox;
    let document = sandbox.exits(1, "check --format json").json();
    let finding = &document["findings"][0];
    assert_eq!(
        (&finding["state"], &finding["reason"]),
        (&"changed".into(), &"unstable".into())
    );
    assert_eq!(finding["message"], "1 of 3 requests got the promised bytes");
    assert_eq!(finding["attempts"], 3);
    votes.next.store(1, Ordering::SeqCst);
    let verbose = sandbox.exits(1, "check --verbose");
    assert_has(
        &verbose.out,
        "changed (unstable), by attempt 3; later runs must confirm it",
    );
}

/// The bytes that a run got wrong, and then right, are not in the archive: the report says so.
#[test]
fn bytes_before_the_promised_ones_are_not_archived() {
    let votes = Votes::new(|request| match request {
        1 => "one\n".to_owned(),
        2 => "the other\n".to_owned(),
        _ => TEXT.to_owned(),
    });
    let sandbox = &votes.sandbox;
    sandbox.ok("run");
    let document = sandbox.exits(3, "run --format json").json();
    let evidence = &document["incidents"][0]["evidence"];
    assert_eq!(evidence["detail"], "1 of 3 requests got the promised bytes");
    assert_eq!(evidence["observed"]["length"], "the other\n".len());
    assert!(evidence["not_archived"].is_string(), "{evidence}");
    assert!(sandbox.mails().is_empty());
    sandbox.ok("run");
    assert!(sandbox.mails().is_empty());
}

/// An upload of a file of twelve bytes, of which four are there after each request.
fn upload() -> Votes {
    let votes = Votes::new(|request| match request {
        0 => TEXT.to_owned(),
        _ => TEXT[..(3 * request).min(TEXT.len())].to_owned(),
    });
    votes.sandbox.ok("run");
    votes
}

#[test]
fn an_upload_that_ends_before_the_next_run_is_no_news() {
    let votes = upload();
    let sandbox = &votes.sandbox;
    let first = sandbox.exits(3, "run").says(&[
        "unconfirmed[changed]",
        "is incomplete, and grows",
        "grew from 3 to 9 bytes in less than a second; it may still be",
    ]);
    let check = format!("urldb check {URL}");
    assert_has(&first.out, &check);
    assert_lacks(&first.out, "accept");
    let output = shell(&check, sandbox, &[]);
    assert_eq!(output.status.code(), Some(0), "it is complete by now");
    sandbox.ok("run");
    assert!(sandbox.mails().is_empty());
    sandbox.ok("log").says("No events.");
}

#[test]
fn a_file_that_grows_is_accepted_only_by_force() {
    let votes = upload();
    let sandbox = &votes.sandbox;
    let before = sandbox.read(FILE);
    sandbox
        .exits(1, &["accept", "--yes", URL])
        .complains(&["it may still be uploading", "--force"])
        .says("accepted 0, refused 1");
    sandbox.assert_file(FILE, &before);
    votes.next.store(1, Ordering::SeqCst);
    sandbox.ok(&["accept", "--yes", "--force", URL]);
    sandbox.assert_file(FILE, &promises(&[("/data.csv", &TEXT[..9])]));
}

#[test]
fn one_content_at_many_urls_is_accepted_only_by_force() {
    let error = "{\"error\":\"internal\"}";
    let server = Server::new(move |_| Reply::ok(error));
    let sandbox = Sandbox::new(&network(server.address(), &["example.test"]));
    let promised = |[a, b, c]: [&str; 3]| promises(&[("/a.csv", a), ("/b.csv", b), ("/c.csv", c)]);
    sandbox.write(FILE, promised(["one", "two", "three"]));
    sandbox
        .exits(1, "accept --yes --all")
        .complains("(3 URLs answer with one content); --force accepts what came last")
        .says("accepted 0, refused 3");
    sandbox.assert_file(FILE, &promised(["one", "two", "three"]));
    sandbox.ok("accept --yes --all --force");
    sandbox.assert_file(FILE, &promised([error; 3]));

    // One file under several names has changed.
    sandbox.write(FILE, promised(["one"; 3]));
    sandbox.ok("accept --yes --all");
    sandbox.assert_file(FILE, &promised([error; 3]));
}

/// After all other requests, the first changed URL is asked once more, and so is a path beside it that should not
/// exist. A redirect there is not followed, and nothing of it is archived.
#[test]
fn a_change_is_looked_at_again_at_the_end_and_so_is_a_path_beside_it() {
    for (config, asked) in [("", 2), ("[check]\nprobes = false\n", 0)] {
        let site = Server::new(|request| match request.target.as_str() {
            "/c" => Reply::ok("same"),
            target if target.contains("probe") => Reply::redirect(302, "/c"),
            target => Reply::ok(format!("another {target}")),
        });
        let network = network(site.address(), &["example.test"]);
        let sandbox = Sandbox::new(&format!("{config}{network}"));
        sandbox.write(
            FILE,
            promises(&[("/c", "same"), ("/d/a.csv", "a"), ("/d/b.csv", "b")]),
        );
        sandbox.exits(1, "run");
        let targets: Vec<String> = site.requests().into_iter().map(|it| it.target).collect();
        let probes = targets.iter().filter(|it| it.contains("urldb-probe"));
        let probes: Vec<&String> = probes.collect();
        assert_eq!(probes.len() * 2, asked, "{targets:?}");
        assert!(
            probes
                .iter()
                .all(|it| it.starts_with("/d/urldb-probe-") && it.contains(".csv"))
        );
        let of_first = targets.iter().filter(|it| *it == "/d/a.csv").count();
        let of_second = targets.iter().filter(|it| *it == "/d/b.csv").count();
        assert_eq!((of_first, of_second), (2 + asked / 2, 2), "{targets:?}");
        assert_eq!(targets.iter().filter(|it| *it == "/c").count(), 1);
        // They come last.
        let others = targets.len() - asked;
        assert!(!targets[..others].iter().any(|it| it.contains("probe")));
        assert_lacks(&sandbox.index(), "probe");
    }
}
