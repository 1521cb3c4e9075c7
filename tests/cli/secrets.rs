//! What must appear nowhere.

use crate::archive::records;
use crate::sandbox::{Ran, Sandbox, assert_has, assert_lacks};
use crate::site::{FILE, Site, promises};
use crate::smtp::{Server, SmtpReplies};
use crate::support::{self, Reply};

const PASSWORD: &str = "hunter2-never-shown";
const TOKEN: &str = "token-never-shown";
const BEARER: &str = "Bearer token-never-shown";

/// Whether one of the secrets is in these bytes, as it is or in the form in which it is sent.
fn leaks(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    // The middle of `\0me\0hunter2-never-shown` in Base64.
    [PASSWORD, TOKEN, "aHVudGVyMi1uZXZlci1zaG93"]
        .iter()
        .any(|secret| text.contains(secret))
}

#[track_caller]
fn assert_keeps_secrets(ran: &Ran) {
    let shown = [&ran.out, &ran.err]
        .iter()
        .any(|text| leaks(text.as_bytes()));
    assert!(!shown, "{ran:#?}");
}

/// No file of a folder has a secret.
#[track_caller]
fn assert_files_keep_secrets(sandbox: &Sandbox, folder: &str) {
    for (path, content) in sandbox.tree(folder) {
        assert!(!leaks(&content.0), "{}", path.display());
    }
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
         {}[notify.mail]\ntype = \"email\"\nfrom = \"urldb@example.test\"\n\
         to = [\"me@example.test\"]\nserver = \"127.0.0.1\"\nport = {}\ntls = \"none\"\n\
         user = \"me\"\npassword-env = \"SMTP_PASSWORD\"\n\
         [notify.page]\ntype = \"html\"\npath = \"site\"\n",
        site.network_of(&["example.test", "other.test"]),
        mail.port,
    ));
    let config = sandbox.read("urldb.toml");
    let pages = [("/a", "first"), ("/away", "elsewhere"), ("/gone", "x")];
    sandbox.write(FILE, promises(&pages));
    let env = [("SMTP_PASSWORD", PASSWORD), ("DATA_TOKEN", TOKEN)];
    let runs = [
        sandbox.urldb_with_env("-v run", &env),
        sandbox.urldb_with_env("run --format json", &env),
        sandbox.urldb_with_env("check --format json", &env),
    ];
    let received = mail.received();
    let mut commands = received.commands.iter();
    assert!(commands.any(|line| line.starts_with("AUTH")));
    runs.iter().for_each(assert_keeps_secrets);

    // The header went where it was meant to go, and not with the redirect to somebody else.
    for request in site.requests() {
        let meant = (request.header("host") == Some("example.test")).then_some(TOKEN);
        assert_eq!(request.header("x-token"), meant, "{request:?}");
    }

    assert!(sandbox.path("site/index.html").is_file());
    std::fs::remove_file(sandbox.path("urldb.toml")).unwrap();
    assert_files_keep_secrets(&sandbox, "");
    let files = sandbox.files("archive", ".warc.gz");
    let stored: Vec<_> = files.iter().flat_map(|file| records(file)).collect();
    assert!(
        stored.iter().any(|record| {
            String::from_utf8_lossy(&record.block).contains("X-Token: [redacted]")
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
        let ran = sandbox.urldb_with_env("check", &env).code(2);
        assert!(!leaks(ran.err.as_bytes()), "{ran:#?}");
    }
    sandbox.write("urldb.toml", config);
    sandbox
        .urldb_with_env("check", &[env[0]])
        .code(2)
        .complains(&["\"X-Token\"", "environment variable DATA_TOKEN"]);
    sandbox
        .urldb_with_env("run", &[env[1]])
        .code(2)
        .complains_in_words("[notify.mail]: the environment variable SMTP_PASSWORD is not set");
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
    sandbox.write(FILE, format!("{pages}{promised}"));
    for arguments in ["-v check", "check --format json", "-v run", "run --github"] {
        let ran = sandbox.urldb(arguments);
        assert!(
            ran.out.contains("[redacted]@") || ran.out.contains("redirect"),
            "{ran:#?}"
        );
        assert_keeps_secrets(&ran);
    }
    sandbox.urldb("accept --all --yes --force");
    assert_files_keep_secrets(&sandbox, "status");
    assert_files_keep_secrets(&sandbox, "urldb");
    for path in sandbox.tree("urldb").into_keys() {
        assert_lacks(&sandbox.read(path.to_str().unwrap()), "[redacted]");
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
    let mut sandbox = Sandbox::new(&format!(
        "[check]\nheaders-env = {{ Authorization = \"DATA_TOKEN\" }}\ncanonical = true\n\
         {}[notify.page]\ntype = \"html\"\npath = \"site\"\n",
        site.network_of(&["example.test", "other.test"]),
    ));
    let pages = ["/away", "/invalid", "/loop", "/reason"].map(|path| (path, "x"));
    let pages = promises(&pages);
    let other = "---\n_path: /other\nredirects-to: http://example.test/b\n---\n_path: /page\n---\n_path: /type\ncontent-type: text/plain\n";
    site.serve("/other", Reply::redirect(302, &format!("/b?{TOKEN}")));
    sandbox.write(FILE, format!("{pages}{other}"));
    sandbox.env = vec![("DATA_TOKEN", BEARER)];
    for arguments in [
        "-v check",
        "check --format json",
        "-v run",
        "run --format json",
        "run --github",
        "accept --all --yes --force",
        "add --redirect http://example.test/elsewhere",
        "add --content-type http://example.test/typed",
        "archive list",
        "archive list --format jsonl",
    ] {
        let ran = sandbox.urldb(arguments);
        let shown = ran.out.contains("[redacted]") || ran.err.contains("[redacted]");
        if arguments.starts_with("add") {
            assert_eq!(ran.code, 1, "{ran:#?}");
            let refused = "sends a secret of the request back, which is never promised";
            assert_has(&ran.err, refused);
        } else {
            assert!(shown, "{ran:#?}");
        }
        assert_keeps_secrets(&ran);
    }
    site.serve("/reason", Reply::new("403 Forbidden", &[], body.repeat(2)));
    sandbox.urldb("run");
    let ran = sandbox.urldb("archive diff --any http://example.test/reason");
    let ran = ran.says("Who is [redacted]?");
    assert!(!leaks(ran.out.as_bytes()), "{ran:#?}");
    assert_files_keep_secrets(&sandbox, "site");
    let promised = sandbox.read(FILE);
    assert!(
        !leaks(promised.as_bytes()) && !promised.contains("[redacted]"),
        "{promised}"
    );
    // The archive has what the server sent.
    let got = sandbox.urldb("archive get --any http://example.test/reason");
    assert!(leaks(got.out.as_bytes()));
}

/// A part of every secret below that no escape changes.
const CANARY: &str = "canary-never-shown";

/// The secret of a kind: with characters that URLs, JSON and HTML escape.
fn canary(kind: &str) -> String {
    format!("{kind}/&\"<{CANARY}>'{kind}")
}

/// A text as it is, and as URLs, JSON and HTML have it. A cut before redaction would leave half of one.
fn forms(text: &str) -> String {
    let percent = |is_lower: bool| {
        let encode = |byte: u8| match byte {
            byte if byte.is_ascii_alphanumeric() || byte == b'-' => char::from(byte).to_string(),
            byte if is_lower => format!("%{byte:02x}"),
            byte => format!("%{byte:02X}"),
        };
        text.bytes().map(encode).collect::<String>()
    };
    let json = text.replace('/', "\\/").replace('"', "\\\"");
    let units = text.replace('<', "\\u003c").replace('"', "\\u0022");
    let html = text.replace('&', "&amp;").replace('"', "&quot;");
    let html = html.replace('<', "&lt;").replace('\'', "&#39;");
    let padding = "x".repeat(100);
    [
        text,
        &percent(true),
        &percent(false),
        &json,
        &units,
        &html,
        text,
        text,
    ]
    .map(|form| format!("{form} {padding}"))
    .concat()
}

/// Every secret that the program gets, as a variable.
fn canaries() -> Vec<(&'static str, String)> {
    let kinds = [
        ("DATA_TOKEN", "header"),
        ("SMTP_PASSWORD", "mail"),
        ("HOOK_TOKEN", "hook"),
        ("TRACKER_TOKEN", "tracker"),
        ("ROOM_KEY", "plugin"),
        ("GITHUB_TOKEN", "github"),
        ("AWS_SECRET_ACCESS_KEY", "aws"),
    ];
    let mut env: Vec<_> = kinds.map(|(name, kind)| (name, canary(kind))).into();
    env.push((
        "https_proxy",
        format!("http://me:proxy-{CANARY}@proxy.test:3128"),
    ));
    env
}

/// A repository whose servers and plugin repeat every secret, wherever a text could come from.
fn repeating(site: &Site, mail: u16, hook: &support::Server, tracker: &support::Server) -> Sandbox {
    let sandbox = Sandbox::new(&format!(
        "[check]\nheaders-env = {{ X-Token = \"DATA_TOKEN\" }}\n{}\
         [notify.mail]\ntype = \"email\"\nfrom = \"urldb@example.test\"\n\
         to = [\"me@example.test\"]\nserver = \"127.0.0.1\"\nport = {mail}\ntls = \"none\"\n\
         user = \"me\"\npassword-env = \"SMTP_PASSWORD\"\n\
         [notify.folder]\ntype = \"email\"\nfrom = \"urldb@example.test\"\n\
         to = [\"me@example.test\"]\nfolder = \"mail\"\n\
         [notify.page]\ntype = \"html\"\npath = \"site\"\n\
         [notify.hook]\ntype = \"webhook\"\nurl = \"http://{}/hooks/x\"\n\
         headers-env = {{ X-Token = \"HOOK_TOKEN\" }}\n\
         [notify.tracker]\ntype = \"issues\"\nservice = \"github\"\nrepository = \"a/b\"\n\
         api-url = \"http://{}\"\ntoken-env = \"TRACKER_TOKEN\"\n\
         [notify.room]\ntype = \"command\"\ncommand = [\"/bin/sh\", \"tools/room\"]\nenv = [\"ROOM_KEY\"]\n",
        site.network(),
        hook.address(),
        tracker.address(),
    ));
    let plugin = "cat >tools/report.json\nenv >tools/variables\n\
        id=$(sed 's/.*\"incidents\":\\[{\"id\":\"\\([0-9a-f]*\\)\".*/\\1/' tools/report.json)\n\
        echo \"cannot reach $ROOM_KEY through $https_proxy\" >&2\n\
        sed \"s/ID/$id/g\" tools/answer\n";
    sandbox.write("tools/room", plugin);
    let answer = serde_json::json!({
        "outcome": "failed",
        "message": repeated(),
        "remember": [
            { "incident": "ID", "key": "plain", "value": canary("plugin") },
            { "incident": "ID", "key": "escaped", "value": forms(&canary("plugin")) },
        ],
    });
    sandbox.write("tools/answer", answer.to_string());
    sandbox
}

/// All secrets in all forms.
fn repeated() -> String {
    let values = canaries().into_iter().map(|(_, value)| forms(&value));
    values.collect()
}

/// Whatever reads what was repeated, or makes somebody repeat it.
const COMMANDS: [&str; 27] = [
    "-v run",
    "run --format json",
    "run --github",
    "-v check",
    "check --format json",
    "check --format jsonl",
    "check --format junit",
    "check --format sarif",
    "check --format markdown",
    "check --format github",
    "run --shard 1/1 --to bundles",
    "run --from bundles",
    "accept --all --yes --force",
    "add --redirect http://example.test/b",
    "add --content-type http://example.test/d",
    "status",
    "status --format json",
    "log",
    "log --format jsonl",
    "notify list",
    "notify test",
    "notify retry",
    "site build",
    "archive list",
    "archive list --format jsonl",
    "doctor --verbose",
    "doctor --format json",
];

/// A site whose answers hold this text, or a secret in their redirects.
fn repeating_site(all: &str) -> Site {
    let site = Site::new();
    let html = ["Content-Type: text/html"];
    site.serve(
        "/a",
        Reply::new(
            &format!("403 {all}"),
            &html,
            format!("<title>{all}</title>"),
        ),
    );
    let target = format!("/c?{}", canary("header").replace('"', "%22"));
    site.serve(
        "/b",
        Reply::redirect(
            302,
            &format!("{target}&{}", canary("aws").replace('"', "%22")),
        ),
    );
    site.serve(
        "/d",
        Reply::new("200 OK", &[&format!("Content-Type: text/{all}")], all),
    );
    site.serve(
        "/e",
        Reply::redirect(302, &format!("ftp://{}/", canary("github"))),
    );
    site.serve(
        "/f",
        Reply::redirect(302, &format!("/{}", canary("hook").replace('"', "%22"))),
    );
    site
}

#[test]
fn no_file_and_no_output_has_a_secret_that_somebody_repeats() {
    let all = repeated();
    let site = repeating_site(&all);
    let said = forms(&canary("mail")).replace(&"x".repeat(100), "\r\n535-");
    let replies = SmtpReplies {
        ehlo: "250-mail.example.test\r\n250 AUTH PLAIN LOGIN",
        auth: Box::leak(format!("535-{said}\r\n535 no").into_boxed_str()),
        ..SmtpReplies::default()
    };
    let mail = Server::start(replies);
    let answer = all.clone();
    let hook = support::Server::new(move |_| Reply::new("400 Bad", &[], &answer));
    let answer = serde_json::json!({ "message": all }).to_string();
    let tracker = support::Server::new(move |_| Reply::new("403 Bad", &[], &answer));
    let sandbox = repeating(&site, mail.port, &hook, &tracker);
    let pages = [("/a", "x"), ("/b", "x"), ("/d", "x"), ("/e", "x")];
    let typed = "---\n_path: /f\nredirects-to: http://example.test/b\n";
    sandbox.write(FILE, format!("{}{typed}", promises(&pages)));
    let env = canaries();
    let env: Vec<(&str, &str)> = env
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    for arguments in COMMANDS {
        let words: Vec<&str> = arguments.split(' ').collect();
        let ran = sandbox.urldb_with_env(&words, &env);
        for text in [&ran.out, &ran.err] {
            assert!(!text.contains("canary-"), "{arguments}: {text}");
        }
        assert!(!ran.err.contains("Usage:"), "{arguments}: {ran:#?}");
        let aside = "note: room: cannot reach [redacted] through http://[redacted]@proxy.test:3128";
        assert!(arguments != "-v run" || ran.err.contains(aside), "{ran:#?}");
    }
    // The plugin sees its own secret, and no other.
    let variables = sandbox.read("tools/variables");
    assert_has(&variables, &format!("ROOM_KEY={}", canary("plugin")));
    let others = variables.lines().filter(|line| line.contains(CANARY));
    assert_eq!(others.count(), 2, "ROOM_KEY and https_proxy: {variables}");
    for notifier in ["hook", "mail", "room", "tracker"] {
        let outbox = format!("{:?}", sandbox.tree(&format!("status/outbox/{notifier}")));
        // A mail that waits has no text, and its server has not repeated the password.
        assert_eq!(
            outbox.contains("[redacted]"),
            notifier != "mail",
            "{outbox}"
        );
    }
    assert_files_are_clean(&sandbox);
}

fn assert_files_are_clean(sandbox: &Sandbox) {
    let mut folders = std::collections::BTreeSet::new();
    for (path, content) in sandbox.tree("") {
        // Mails have soft line breaks.
        let text = String::from_utf8_lossy(&content.0).replace("=\r\n", "");
        let folder = path.iter().next().unwrap().to_string_lossy().into_owned();
        if text.contains("[redacted]") {
            folders.insert(folder.clone());
        }
        assert!(
            folder == "tools" || !text.contains("canary-"),
            "{}: {text}",
            path.display()
        );
    }
    for folder in ["bundles", "mail", "site", "status"] {
        assert!(
            folders.contains(folder),
            "nothing is redacted in {folder}: {folders:?}"
        );
    }
    // The archive has what servers sent, and requests without secrets.
    let files = sandbox.files("", ".warc.gz");
    let stored = files.iter().flat_map(|file| records(file));
    let (responses, others): (Vec<_>, Vec<_>) =
        stored.partition(|it| it.header.get("WARC-Type") == Some("response"));
    assert!(
        responses
            .iter()
            .any(|it| String::from_utf8_lossy(&it.block).contains(CANARY))
    );
    assert!(
        others
            .iter()
            .any(|it| String::from_utf8_lossy(&it.block).contains("X-Token: [redacted]"))
    );
    for it in &others {
        // The address may be one that a server has redirected to.
        let text = String::from_utf8_lossy(&it.block);
        let headers = text.split_once("\r\n").unwrap_or_default().1;
        let is_request = it.header.get("WARC-Type") == Some("request");
        assert!(!is_request || !headers.contains("canary-"), "{text}");
    }
}
