//! What must appear nowhere.

use crate::archive::records;
use crate::sandbox::Sandbox;
use crate::site::{Site, promises};
use crate::smtp::{Server, SmtpReplies};
use crate::support::Reply;

const PASSWORD: &str = "hunter2-never-shown";
const TOKEN: &str = "token-never-shown";

/// Whether one of the secrets is in these bytes, as it is or in the form in which it is sent.
fn leaks(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    // The middle of `\0me\0hunter2-never-shown` in Base64.
    [PASSWORD, TOKEN, "aHVudGVyMi1uZXZlci1zaG93"]
        .iter()
        .any(|secret| text.contains(secret))
}

#[test]
fn secrets_stay_between_those_who_need_them() {
    let site = Site::with(&[("/a", "first")]);
    site.serve("/away", Reply::redirect(302, "http://other.test/b"));
    site.serve("/b", Reply::ok("elsewhere"));
    let mail = Server::start(SmtpReplies {
        ehlo: "250-mail.example.test\r\n250 AUTH PLAIN LOGIN",
        auth: "535 who are you?",
        ..SmtpReplies::default()
    });
    let sandbox = Sandbox::new(&format!(
        "[check]\nheaders-env = {{ X-Token = \"DATA_TOKEN\" }}\n\
         [network]\nmap = [\"{}\", \"{}\"]\n\
         [notify.mail]\ntype = \"email\"\nfrom = \"urldb@example.test\"\n\
         to = [\"me@example.test\"]\nserver = \"127.0.0.1\"\nport = {}\ntls = \"none\"\n\
         user = \"me\"\npassword-env = \"SMTP_PASSWORD\"\n\
         [notify.page]\ntype = \"html\"\npath = \"site\"\n",
        site.map("example.test"),
        site.map("other.test"),
        mail.port,
    ));
    let config = sandbox.read("urldb.toml");
    let pages = [("/a", "first"), ("/away", "elsewhere"), ("/gone", "x")];
    sandbox.write("urldb/example.test.yaml", promises(&pages));
    let env = [("SMTP_PASSWORD", PASSWORD), ("DATA_TOKEN", TOKEN)];
    let runs = [
        sandbox.urldb_with_env(&["-v", "run"], &env),
        sandbox.urldb_with_env(&["run", "--format", "json"], &env),
        sandbox.urldb_with_env(&["check", "--format", "json"], &env),
    ];
    let received = mail.received();
    assert!(
        received
            .commands
            .iter()
            .any(|line| line.starts_with("AUTH"))
    );
    for ran in &runs {
        assert!(
            !leaks(ran.out.as_bytes()) && !leaks(ran.err.as_bytes()),
            "{ran:#?}"
        );
    }

    // The header went where it was meant to go, and not with the redirect to somebody else.
    for request in site.requests() {
        let meant = (request.header("host") == Some("example.test")).then_some(TOKEN);
        assert_eq!(request.header("x-token"), meant, "{request:?}");
    }

    assert!(sandbox.path("site/index.html").is_file());
    std::fs::remove_file(sandbox.path("urldb.toml")).unwrap();
    for (path, content) in sandbox.tree("") {
        assert!(!leaks(&content.0), "{}", path.display());
    }
    let files = sandbox.files("archive", ".warc.gz");
    let stored: Vec<_> = files.iter().flat_map(|file| records(file)).collect();
    assert!(
        stored.iter().any(|record| {
            String::from_utf8_lossy(&record.block).contains("x-token: [redacted]")
        })
    );
    for record in &stored {
        assert!(!leaks(&record.block), "{:?}", record.header);
    }

    // Nor where things are wrong.
    for (from, to) in [
        ("X-Token", "Host"),
        ("DATA_TOKEN", "DATA_BROKEN"),
        ("headers-env", "headers"),
        ("[network]", "[netwrk]"),
    ] {
        sandbox.write("urldb.toml", config.replace(from, to));
        let env = [env[0], env[1], ("DATA_BROKEN", "token-never-shown\u{7}")];
        let ran = sandbox.urldb_with_env(&["check"], &env).code(2);
        assert!(!leaks(ran.err.as_bytes()), "{ran:#?}");
    }
    sandbox.write("urldb.toml", config);
    sandbox
        .urldb_with_env(&["check"], &[env[0]])
        .code(2)
        .complains(&["\"X-Token\"", "environment variable DATA_TOKEN"]);
    sandbox
        .urldb_with_env(&["run"], &[env[1]])
        .code(2)
        .complains_in_words(&["[notify.mail]: the environment variable SMTP_PASSWORD is not set"]);
}

/// A redirect to a URL with a password: only the archive has it, as the server sent it.
#[test]
fn credentials_of_a_redirect_are_not_shown() {
    let site = Site::new();
    for (path, target) in [
        ("/login", format!("http://me:{PASSWORD}@other.test/b")),
        ("/file", format!("ftp://me:{PASSWORD}@other.test/b")),
        ("/broken", format!("http://me:{PASSWORD}@[/b")),
    ] {
        site.serve(path, Reply::redirect(302, &target));
    }
    let sandbox = Sandbox::new(&site.network());
    let promised = "---\n_path: /kept\nredirects-to: http://example.test/b\n";
    let pages = promises(&[("/login", "x"), ("/file", "x"), ("/broken", "x")]);
    site.serve(
        "/kept",
        Reply::redirect(302, &format!("//me:{PASSWORD}@other.test/b")),
    );
    sandbox.write("urldb/example.test.yaml", format!("{pages}{promised}"));
    for arguments in [
        &["-v", "check"][..],
        &["check", "--format", "json"],
        &["-v", "run"],
        &["run", "--github"],
    ] {
        let ran = sandbox.urldb(arguments);
        assert!(
            ran.out.contains("[redacted]@") || ran.out.contains("redirect"),
            "{ran:#?}"
        );
        assert!(
            !leaks(ran.out.as_bytes()) && !leaks(ran.err.as_bytes()),
            "{ran:#?}"
        );
    }
    sandbox.urldb(&["accept", "--all", "--yes", "--force"]);
    for folder in ["status", "urldb"] {
        for (path, content) in sandbox.tree(folder) {
            let text = String::from_utf8_lossy(&content.0);
            assert!(!leaks(&content.0), "{}", path.display());
            let is_promised = folder == "urldb" && text.contains("[redacted]");
            assert!(!is_promised, "{}: {text}", path.display());
        }
    }
}

/// A server sends a secret of the request back, wherever a message could take it from.
#[test]
fn secrets_that_a_server_sends_back_are_not_shown() {
    let site = Site::new();
    let body = format!("<title>Who is {TOKEN}?</title>");
    site.serve(
        "/reason",
        Reply::new(&format!("403 not for {TOKEN}"), &[], &body),
    );
    let target = format!("http://other.test/b?token={TOKEN}");
    site.serve("/away", Reply::redirect(302, &target));
    site.serve(&format!("/b?token={TOKEN}"), Reply::ok("elsewhere"));
    site.serve("/invalid", Reply::redirect(302, &format!("ftp://{TOKEN}/")));
    site.serve("/loop", Reply::redirect(302, &format!("/loop?{TOKEN}")));
    site.serve(&format!("/loop?{TOKEN}"), Reply::redirect(302, "/loop"));
    let typed = [&*format!("Content-Type: text/{TOKEN}")];
    site.serve("/type", Reply::new("200 OK", &typed, &body));
    site.serve("/elsewhere", Reply::redirect(302, &target));
    site.serve("/typed", Reply::new("200 OK", &typed, &body));
    let link = format!("<link rel=canonical href=\"/{TOKEN}\">");
    site.serve(
        "/page",
        Reply::new("200 OK", &["Content-Type: text/html"], &link),
    );
    let sandbox = Sandbox::new(&format!(
        "[check]\nheaders-env = {{ Authorization = \"DATA_TOKEN\" }}\ncanonical = true\n\
         [network]\nmap = [\"{}\", \"{}\"]\n\
         [notify.page]\ntype = \"html\"\npath = \"site\"\n",
        site.map("example.test"),
        site.map("other.test"),
    ));
    let pages = promises(&[
        ("/away", "x"),
        ("/invalid", "x"),
        ("/loop", "x"),
        ("/reason", "x"),
    ]);
    let other = "---\n_path: /other\nredirects-to: http://example.test/b\n---\n_path: /page\n---\n_path: /type\ncontent-type: text/plain\n";
    site.serve("/other", Reply::redirect(302, &format!("/b?{TOKEN}")));
    sandbox.write("urldb/example.test.yaml", format!("{pages}{other}"));
    let bearer = format!("Bearer {TOKEN}");
    let env = [("DATA_TOKEN", &*bearer)];
    for arguments in [
        &["-v", "check"][..],
        &["check", "--format", "json"],
        &["-v", "run"],
        &["run", "--format", "json"],
        &["run", "--github"],
        &["accept", "--all", "--yes", "--force"],
        &["add", "--redirect", "http://example.test/elsewhere"],
        &["add", "--content-type", "http://example.test/typed"],
        &["archive", "list"],
        &["archive", "list", "--format", "jsonl"],
    ] {
        let ran = sandbox.urldb_with_env(arguments, &env);
        let shown = ran.out.contains("[redacted]") || ran.err.contains("[redacted]");
        if arguments[0] == "add" {
            assert_eq!(ran.code, 1, "{ran:#?}");
            let refused = "sends a secret of the request back, which is never promised";
            assert!(ran.err.contains(refused), "{ran:#?}");
        } else {
            assert!(shown, "{ran:#?}");
        }
        assert!(
            !leaks(ran.out.as_bytes()) && !leaks(ran.err.as_bytes()),
            "{ran:#?}"
        );
    }
    let diff = &["archive", "diff", "--any", "http://example.test/reason"][..];
    site.serve("/reason", Reply::new("403 Forbidden", &[], body.repeat(2)));
    sandbox.urldb_with_env(&["run"], &env);
    let ran = sandbox.urldb_with_env(diff, &env);
    let ran = ran.says(&["Who is [redacted]?"]);
    assert!(!leaks(ran.out.as_bytes()), "{ran:#?}");
    for (path, content) in sandbox.tree("site") {
        assert!(!leaks(&content.0), "{}", path.display());
    }
    let promised = sandbox.read("urldb/example.test.yaml");
    assert!(
        !leaks(promised.as_bytes()) && !promised.contains("[redacted]"),
        "{promised}"
    );
    // The archive has what the server sent.
    let get = ["archive", "get", "--any", "http://example.test/reason"];
    assert!(leaks(sandbox.urldb_with_env(&get, &env).out.as_bytes()));
}
