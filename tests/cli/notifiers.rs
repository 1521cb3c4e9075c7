//! Webhooks, issues and plugins, as urldb.toml names them.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use crate::sandbox::{Case, Sandbox, assert_has, assert_lacks};
use crate::site::{FILE, Site, promises};
use crate::support::{Reply, Request, Server};
use crate::tracker::Tracker;

const TOKEN: &str = "token-never-shown";

/// A URL that is gone, with this configuration of notifiers.
fn broken(notifiers: &str) -> (Site, Sandbox) {
    let site = Site::new();
    let sandbox = Sandbox::new(&format!("{}{notifiers}", site.network()));
    sandbox.write(FILE, promises(&[("/a", "first")]));
    (site, sandbox)
}

fn bodies(server: &Server) -> Vec<Value> {
    let requests = server.requests();
    requests
        .iter()
        .map(|request| serde_json::from_slice(&request.body).unwrap_or_default())
        .collect()
}

#[test]
fn a_webhook_gets_the_envelope_once() {
    let server = Server::new(|_| Reply::ok("ok"));
    let (_site, mut sandbox) = broken(
        "[notify.hook]\ntype = \"webhook\"\nurl-env = \"HOOK_URL\"\nsecret-env = \"HOOK_SECRET\"\n\
         headers-env = { X-Token = \"HOOK_TOKEN\" }\n",
    );
    let url = format!("http://{}/hooks/{TOKEN}", server.address());
    let env = [
        ("HOOK_URL", url.as_str()),
        ("HOOK_SECRET", TOKEN),
        ("HOOK_TOKEN", TOKEN),
    ];
    sandbox.secret = Some(TOKEN);
    sandbox.urldb_with_env("run", &env).code(1);
    sandbox.urldb_with_env("run", &env).code(1);
    let bodies = bodies(&server);
    assert_eq!(bodies.len(), 1, "{bodies:#?}");
    assert_eq!(bodies[0]["protocol"], 2);
    assert_eq!(bodies[0]["incidents"][0]["host"], "example.test");
    let request = &server.requests()[0];
    assert_eq!(request.header("x-token"), Some(TOKEN));
    assert!(request.header("x-hub-signature-256").is_some());
    let delivery = request.header("x-urldb-delivery").unwrap();
    assert_eq!(delivery.rsplit('.').next(), Some("hook"), "{delivery}");
}

#[test]
fn a_run_waits_for_a_service_that_names_a_short_time() {
    for (wait, requests) in [("1", 2), ("61", 1)] {
        let _case = Case(wait);
        let server = Server::new(move |request: &Request| match request.connection {
            0 => Reply::new("429 Slow Down", &[&format!("Retry-After: {wait}")], ""),
            _ => Reply::ok("ok"),
        });
        let (_site, sandbox) = broken(&format!(
            "[notify.chat]\ntype = \"webhook\"\nurl = \"http://{}/\"\ntemplate = \"slack\"\n",
            server.address()
        ));
        sandbox.exits(1, "run");
        assert_eq!(server.requests().len(), requests);
        assert_eq!(sandbox.files("status/outbox", ".json").len(), 2 - requests);
    }
}

/// A broken URL at each of two hosts, and an alert service; with the configuration.
fn alerting(server: &Server) -> (Site, Sandbox, String) {
    let site = Site::new();
    let alerts = format!(
        "[notify.alerts]\ntype = \"webhook\"\nurl = \"http://{}/\"\ntemplate = \"pagerduty\"\n\
         variables = {{ routing_key = \"key\" }}\n",
        server.address()
    );
    let config = format!("{}{alerts}", site.network_of(&["a.test", "b.test"]));
    let sandbox = Sandbox::new(&config);
    for host in ["a", "b"] {
        sandbox.write(
            &format!("urldb/{host}.test.yaml"),
            promises(&[("/a", "first")]),
        );
    }
    (site, sandbox, config)
}

/// Each incident is an alert there, which its end resolves.
#[test]
fn an_alert_service_gets_an_event_for_each_incident() {
    let server = Server::new(|_| Reply::ok("ok"));
    let (site, sandbox, config) = alerting(&server);
    sandbox.exits(1, "run");
    site.serve("/a", Reply::ok("first"));
    sandbox.ok("run");
    let events = bodies(&server);
    let events: BTreeSet<(&str, &str)> = events
        .iter()
        .map(|event| ["event_action", "dedup_key"].map(|key| event[key].as_str().unwrap()))
        .map(|[action, key]| (key, action))
        .collect();
    let actions: Vec<&str> = events.iter().map(|(_, action)| *action).collect();
    assert_eq!(actions, ["resolve", "trigger", "resolve", "trigger"]);
    sandbox.write("urldb.toml", format!("{config}each = \"run\"\n"));
    sandbox.exits(2, "run").complains("remove `each`");
}

/// Of two events of a run, the service takes one: the next run sends the other, and only that.
#[test]
fn an_event_that_was_not_taken_is_sent_by_the_next_run() {
    let is_busy = Arc::new(AtomicBool::new(true));
    let busy = Arc::clone(&is_busy);
    let server = Server::new(move |request: &Request| {
        let text = String::from_utf8_lossy(&request.body);
        let is_refused = busy.load(Ordering::SeqCst) && text.contains("b.test");
        Reply::new(if is_refused { "503 Busy" } else { "200 OK" }, &[], "")
    });
    let (_site, sandbox, _) = alerting(&server);
    let sources = || -> Vec<String> {
        let sources = bodies(&server);
        let sources = sources
            .iter()
            .map(|event| event["payload"]["source"].as_str().unwrap().to_owned());
        sources.collect()
    };
    sandbox.exits(1, "run").complains("answers 503");
    let tried = sources();
    assert_eq!(BTreeSet::from_iter(&tried).len(), 2, "{tried:?}");
    is_busy.store(false, Ordering::SeqCst);
    sandbox.exits(1, "run");
    sandbox.exits(1, "run");
    assert_eq!(sources()[tried.len()..], ["b.test"]);
}

#[test]
fn a_plugin_is_a_program_on_path_or_in_the_repository() {
    let plugin = "cat >$1.json\nenv >$1.env\necho '{\"outcome\": \"delivered\"}'\n";
    let (_site, sandbox) = broken(
        "[notify.own]\ntype = \"command\"\ncommand = [\"/bin/sh\", \"tools/plugin.sh\", \"own\"]\n\
         [notify.other]\ntype = \"sky\"\narguments = [\"other\"]\nenv = [\"SKY_KEY\"]\n\
         [notify.hook]\ntype = \"webhook\"\nurl-env = \"HOOK_URL\"\n",
    );
    let server = Server::new(|_| Reply::ok("ok"));
    let url = format!("http://{}/{TOKEN}", server.address());
    sandbox.write("tools/plugin.sh", plugin);
    sandbox.write_program("bin/urldb-notify-sky", plugin);
    let path = format!("{}:{}", sandbox.path("bin").display(), sandbox.search_path);
    let env = [
        ("PATH", path.as_str()),
        ("HOOK_URL", &url),
        ("SKY_KEY", "key-of-sky"),
        ("URLDB_TOKEN", TOKEN),
        ("ANYTHING_ELSE", "x"),
        ("LC_TIME", "C"),
        ("SSL_CERT_X", "x"),
        ("no_proxy", "here"),
    ];
    sandbox.urldb_with_env("run", &env).code(1);
    for name in ["own", "other"] {
        let envelope: Value = serde_json::from_str(&sandbox.read(&format!("{name}.json"))).unwrap();
        assert_eq!(envelope["incidents"][0]["host"], "example.test");
        let variables = sandbox.read(&format!("{name}.env"));
        assert_has(&variables, &format!("URLDB_NOTIFIER={name}\n"));
        // Secrets of other notifiers are hidden.
        assert_lacks(&variables, TOKEN);
        // The shell adds the rest.
        let names = variables
            .lines()
            .filter_map(|line| Some(line.split_once('=')?.0));
        let names = names.filter(|name| !matches!(*name, "PWD" | "SHLVL" | "OLDPWD" | "_"));
        let own = (name == "other").then_some("SKY_KEY");
        let seen = ["HOME", "LC_TIME", "PATH", "SSL_CERT_X", "no_proxy"];
        let added = ["URLDB_DELIVERY", "URLDB_NOTIFIER", "URLDB_PROTOCOL"];
        let seen = seen.into_iter().chain(added).chain(own);
        assert_eq!(names.collect::<BTreeSet<_>>(), seen.collect(), "{name}");
    }
}

/// What a plugin remembers about an incident is in the next report about the incident.
#[test]
fn a_plugin_remembers_its_thread() {
    let (site, sandbox) =
        broken("[notify.room]\ntype = \"command\"\ncommand = [\"/bin/sh\", \"plugin.sh\"]\n");
    let plugin = "cat >report.json\n\
        id=$(sed 's/.*\"incidents\":\\[{\"id\":\"\\([0-9a-f]*\\)\".*/\\1/' report.json)\n\
        printf '{\"outcome\": \"delivered\", \"remember\": [{\"incident\": \"%s\", \"key\": \"thread\", \
        \"value\": \"42\"}]}' \"$id\"\n";
    sandbox.write("plugin.sh", plugin);
    sandbox.exits(1, "run");
    let report = |sandbox: &Sandbox| -> Value {
        serde_json::from_str(&sandbox.read("report.json")).unwrap()
    };
    let opening = report(&sandbox);
    assert_eq!(opening["incidents"][0]["phase"], "opened");
    let incident = fs::read_to_string(&sandbox.files("status/incidents", ".yaml")[0]).unwrap();
    assert_has(&incident, "thread: '42'");
    site.serve("/a", Reply::ok("first"));
    sandbox.ok("run");
    let closing = report(&sandbox);
    assert_eq!(closing["incidents"][0]["phase"], "closed");
    assert_eq!(closing["incidents"][0]["threads"]["room"]["thread"], "42");
}

#[test]
fn a_plugin_may_get_a_message_for_each_incident() {
    let (site, sandbox) = broken(
        "[notify.room]\ntype = \"command\"\ncommand = [\"/bin/sh\", \"plugin.sh\"]\neach = \"incident\"\n",
    );
    sandbox.write(FILE, promises(&[("/a", "first"), ("/b", "second")]));
    site.serve("/b", Reply::ok("another"));
    let plugin = "cat >\"$URLDB_DELIVERY.json\"\necho '{\"outcome\": \"delivered\"}'\n";
    sandbox.write("plugin.sh", plugin);
    let messages = || {
        let files = fs::read_dir(sandbox.path(".")).unwrap();
        let files = files.map(|entry| entry.unwrap().path());
        let files = files.filter(|path| path.extension().is_some_and(|it| it == "json"));
        let texts = files.map(|path| {
            let text = fs::read_to_string(&path).unwrap();
            fs::remove_file(&path).unwrap();
            let envelope: Value = serde_json::from_str(&text).unwrap();
            let words = &envelope["message"];
            assert_eq!(
                format!("{}.json", words["id"].as_str().unwrap()),
                path.file_name().unwrap().to_str().unwrap()
            );
            assert_eq!(words["thread"], envelope["incidents"][0]["id"]);
            assert_eq!(envelope["incidents"].as_array().unwrap().len(), 1);
            let action = words["action"].as_str().unwrap();
            format!("{action} {}", words["lines"][0].as_str().unwrap())
        });
        let mut texts: Vec<String> = texts.collect();
        texts.sort();
        texts
    };
    sandbox.exits(1, "run");
    assert_eq!(
        messages(),
        [
            "open broken: http://example.test/a answers 404 Not Found",
            "open broken: http://example.test/b grew by 1 byte"
        ]
    );
    sandbox.exits(1, "run");
    assert_eq!(messages(), Vec::<String>::new());
    site.serve("/a", Reply::ok("first"));
    sandbox.exits(1, "run");
    assert_eq!(messages(), ["close recovered: http://example.test/a"]);
}

/// The requests that write, as method and path.
fn writes(tracker: &Tracker) -> Vec<String> {
    let requests = tracker.requests().into_iter();
    let writes = requests.filter(|request| request.method != "GET");
    let shown = writes.map(|request| {
        let path = request.target.trim_start_matches("/repos/example/sky");
        format!("{} {path}", request.method)
    });
    shown.collect()
}

#[test]
fn an_issue_follows_its_incident() {
    let server = Tracker::new();
    let (site, mut sandbox) = broken(&format!("[notify.tracker]\n{}", server.keys()));
    let pages = [("/a", "first"), ("/b", "second")];
    sandbox.write(FILE, promises(&pages));
    sandbox.env = vec![("TRACKER_TOKEN", TOKEN)];
    sandbox.secret = Some(TOKEN);
    let run = |code| sandbox.exits(code, "run");
    run(1);
    assert_eq!(writes(&server), ["POST /issues"]);
    let requests = server.requests();
    let opened = requests.iter().find(|request| request.method == "POST");
    let opened = opened.unwrap();
    let bearer = format!("Bearer {TOKEN}");
    assert_eq!(opened.header("authorization"), Some(bearer.as_str()));
    let body: Value = serde_json::from_slice(&opened.body).unwrap();
    let title = body["title"].as_str().unwrap();
    assert_has(title, "example.test");
    // The ledger remembers the number.
    let incidents = sandbox.files("status/incidents", ".yaml");
    let incident = fs::read_to_string(&incidents[0]).unwrap();
    assert_has(&incident, "issue: '1'");

    // Nothing is new: nothing is asked.
    run(1);
    assert_eq!(server.requests().len(), requests.len());

    // Half of the URLs recover: a comment, and another body.
    site.serve("/a", Reply::ok("first"));
    run(1);
    let told = ["POST /issues/1/comments", "PATCH /issues/1"];
    assert_eq!(writes(&server)[1..], told);

    // All recover.
    site.serve("/b", Reply::ok("second"));
    run(0);
    assert_eq!(writes(&server)[3..], told);
    let requests = server.requests();
    let closed: Value = serde_json::from_slice(&requests.last().unwrap().body).unwrap();
    assert_eq!(closed["state"], "closed");
}

#[test]
fn mistakes_in_sections_are_found_before_anything_is_fetched() {
    let sandbox = Sandbox::new(
        "[notify.a]\ntype = \"webhook\"\nurl = \"http://chat.example.org/x\"\ntopic = \"x\"\n\
         [notify.b]\ntype = \"webhook\"\nurl = \"https://me:pw@chat.example.org/\"\nurl-env = \"X\"\n\
         [notify.c]\ntype = \"issues\"\nservice = \"forgejo\"\nrepository = \"sky\"\nlabels = [\"a,b\"]\n\
         [notify.d]\ntype = \"issues\"\nservice = \"bugzilla\"\n\
         [notify.e]\ntype = \"command\"\ntimeout = \"1h\"\n\
         [notify.f]\ntype = \"comand\"\n\
         [notify.g]\ntype = \"a/b\"\n\
         [notify.h]\ntype = \"webhook\"\nurl = \"https://chat.example.org/\"\ntemplate = \"../x\"\n\
         headers = { Authorization = \"Bearer x\" }\n",
    );
    let complaint = sandbox.exits(2, "run").err;
    let root = sandbox.root.display().to_string();
    insta::assert_snapshot!(complaint.replace(&format!("{root}/"), ""));
}

#[test]
fn a_notifier_that_cannot_work_stops_no_check() {
    for (section, message) in [
        (
            "type = \"nowhere\"\n",
            "there is no program urldb-notify-nowhere on PATH that may be executed",
        ),
        (
            "type = \"command\"\ncommand = \"tools/none\"\n",
            "none is no program: it is missing, or may not be executed, which `chmod +x` permits",
        ),
        (
            "type = \"command\"\ncommand = \"/bin/sh\"\nenv = [\"NO_SUCH_VARIABLE\"]\n",
            "NO_SUCH_VARIABLE is not set",
        ),
        (
            "type = \"webhook\"\nurl = \"https://a.test\"\ntemplate = \"team\"\n",
            "did you mean \"teams\"?",
        ),
        (
            "type = \"webhook\"\nurl = \"https://a.test\"\ntemplate = \"ntfy\"\n",
            "undefined",
        ),
        (
            "type = \"issues\"\nservice = \"gitlab\"\nrepository = \"a/b\"\ntoken-env = \"NO_SUCH_VARIABLE\"\n",
            "NO_SUCH_VARIABLE is not set",
        ),
    ] {
        let _case = Case(section);
        let (site, sandbox) = broken(&format!("[notify.x]\n{section}"));
        sandbox
            .exits(2, "run")
            .complains_in_words(&["urldb.toml:", "[notify.x]:", message]);
        sandbox.exits(2, "notify test").says("x: cannot work\n");
        assert!(!site.requests().is_empty());
        assert_eq!(sandbox.files("status/outbox/x", ".json").len(), 1);
    }
}

/// The message of one waits, and is delivered once its secret is set; the others are delivered at once.
#[test]
fn a_missing_secret_holds_up_only_its_own_notifier() {
    let server = Server::new(|_| Reply::ok("ok"));
    let url = format!("http://{}/", server.address());
    let config = format!(
        "[notify.a]\ntype = \"webhook\"\nurl-env = \"HOOK_URL\"\n\
         [notify.b]\ntype = \"webhook\"\nurl = \"{url}\"\nca-file = \"absent.pem\"\n\
         [notify.m]\ntype = \"email\"\nfrom = \"urldb@example.test\"\nto = [\"me@example.test\"]\n\
         folder = \"mail\"\n\
         [notify.z]\ntype = \"webhook\"\nurl = \"{url}\"\n"
    );
    let ways: [&[&str]; 2] = [
        &["run"],
        &["run --shard 1/1 --to bundles", "run --from bundles"],
    ];
    for (way, told) in ways.into_iter().zip(1..) {
        let (_site, sandbox) = broken(&config);
        let (last, before) = way.split_last().unwrap();
        for command in before {
            sandbox.ok(command);
        }
        let complaints = [
            "a: urldb.toml:",
            "[notify.a]: the environment variable HOOK_URL is not set",
            "[notify.b]: cannot read",
        ];
        let root = format!("{}/", sandbox.root.display());
        let mut ran = sandbox.exits(2, last);
        ran.err = ran.err.replace(&root, "");
        ran.complains_in_words(&complaints);
        assert_eq!(sandbox.take_mails().len(), 1);
        let in_folder = |folder: &str| sandbox.files(folder, ".json").len();
        let waiting = || ["a", "b", "m", "z"].map(|it| in_folder(&format!("status/outbox/{it}")));
        assert_eq!(waiting(), [1, 1, 0, 0]);
        // Nothing is news, and the fault stays.
        sandbox.exits(2, "run");
        assert_eq!(waiting(), [1, 1, 0, 0]);
        let before = server.requests().len();
        sandbox.urldb_with_env("run", &[("HOOK_URL", &url)]).code(2);
        assert_eq!(waiting(), [0, 1, 0, 0]);
        assert_eq!(server.requests().len(), before + 1, "{told}");
        assert!(sandbox.mails().is_empty());
    }
}

#[test]
fn the_words_of_a_plugin_about_a_fault_go_to_the_terminal_alone() {
    for script in [
        "echo /home/me/canary-path >&2; exit 7",
        "echo /home/me/canary-path; exit 7",
        "echo '/home/me/canary-path \u{1b}[2J' >&2; echo '{\"outcome\": \"retry\"}'",
    ] {
        let (_site, sandbox) =
            broken("[notify.room]\ntype = \"command\"\ncommand = [\"/bin/sh\", \"plugin.sh\"]\n");
        sandbox.write("plugin.sh", script);
        let ran = sandbox.urldb("run");
        assert_has(&ran.err, "note: room: /home/me/canary-path");
        assert!(!ran.err.contains('\u{1b}'), "{ran:#?}");
        let stored = format!("{:?}", sandbox.tree("status"));
        assert_lacks(&stored, "canary-path");
        assert_eq!(
            stored.contains("exit code 7"),
            script.ends_with("exit 7"),
            "{stored}"
        );
        assert_eq!(sandbox.files("status/outbox", ".json").len(), 1);
    }
}

#[test]
fn broken_urls_that_no_section_gets_are_named() {
    let mail = "type = \"email\"\nfrom = \"urldb@example.test\"\nto = [\"me@example.test\"]\nfolder = \"mail\"\n";
    let page = "[notify.page]\ntype = \"html\"\npath = \"site\"\n";
    let line = "warning[unrouted]: no section [notify.NAME] gets 1 broken URL of example.test: \
                add \"else = true\" to a section";
    let owners = "[owners]\n\"example.test/a\" = \"ada\"\n";
    for (filter, is_heard) in [
        ("", true),
        ("categories = [\"core\"]\n", true),
        ("categories = [\"coer\"]\n", false),
        ("domains = [\"*.test\"]\n", true),
        ("domains = [\"exmaple.test\"]\n", false),
        ("states = [\"changed\"]\n", false),
        ("on = [\"recovered\"]\n", false),
        ("owners = [\"ada\"]\n", true),
        ("owners = [\"bob\"]\n", false),
        ("else = true\n", true),
        ("after = \"3d\"\n", false),
    ] {
        let (_site, sandbox) = broken(&format!("{owners}{page}[notify.team]\n{mail}{filter}"));
        let text = sandbox.read(FILE);
        let text = text.replace("_path: /a\n", "_path: /a\ncategories:\n- core\n");
        sandbox.write(FILE, text);
        let ran = sandbox.exits(1, "run");
        // A section with `after` gets the URL in time.
        let is_named = !is_heard && !filter.starts_with("after");
        let status = sandbox.exits(1, "status").out;
        for text in [ran.out, status] {
            let times = text.lines().filter(|it| *it == line).count();
            assert_eq!(times, usize::from(is_named), "{filter}: {text}");
        }
        assert_eq!(sandbox.mails().len(), usize::from(is_heard), "{filter}");
        let doctor = sandbox.urldb("doctor").out;
        let words = doctor.split_whitespace().collect::<Vec<_>>().join(" ");
        let gets = "no section [notify.NAME] gets 1 broken URL of example.test";
        assert_eq!(words.contains(gets), is_named, "{filter}: {words}");
    }
    // Without a notifier that tells anybody, another check has it.
    let (_site, sandbox) = broken(page);
    assert_lacks(&sandbox.exits(1, "run").out, "unrouted");
}

/// A failure that is not confirmed yet stands in the envelope beside the news, if it is one of the section's URLs.
#[test]
fn a_section_hears_of_no_failure_of_other_urls() {
    for (filter, hears_both) in [("", true), ("categories = [\"core\"]\n", false)] {
        let server = Server::new(|_| Reply::ok("ok"));
        let (site, sandbox) = broken(&format!(
            "[notify.team]\ntype = \"webhook\"\nurl = \"http://{}/\"\n{filter}",
            server.address()
        ));
        site.serve("/a", Reply::ok("first"));
        let mut text = promises(&[("/a", "first"), ("/other", "second"), ("/z", "third")]);
        for path in ["/a", "/z"] {
            let record = format!("_path: {path}\n");
            text = text.replace(&record, &format!("{record}categories:\n- core\n"));
        }
        sandbox.write(FILE, text);
        site.serve("/other", Reply::ok("second"));
        site.serve("/z", Reply::ok("third"));
        sandbox.ok("run");
        site.remove("/a");
        // The evidence of this failure is about the first URL.
        for path in ["/other", "/z"] {
            site.serve(path, Reply::new("500 Oh No", &[], ""));
        }
        sandbox.exits(1, "run");
        let envelope = bodies(&server).pop().unwrap()["incidents"].to_string();
        assert_has(
            &envelope,
            &["http://example.test/a", "http://example.test/z"],
        );
        let other = envelope.contains("http://example.test/other");
        assert_eq!(other, hears_both, "{filter}: {envelope}");
    }
}

#[test]
fn a_section_for_the_rest_gets_what_no_other_section_tells() {
    let section = |name: &str, keys: &str| {
        format!(
            "[notify.{name}]\ntype = \"email\"\nfrom = \"urldb@example.test\"\n\
             to = [\"{name}@example.test\"]\nfolder = \"mail/{name}\"\n{keys}\n"
        )
    };
    let rest = section("rest", "else = true");
    for (others, is_rest) in [
        (String::new(), true),
        (section("ada", "owners = [\"ada\"]"), false),
        (section("bob", "owners = [\"bob\"]"), true),
        (section("gone", "states = [\"gone\"]"), false),
        (section("changed", "states = [\"changed\"]"), true),
        (section("head", "after = \"3d\""), true),
        (section("good", "on = [\"recovered\"]"), true),
        (section("all", "else = true"), true),
    ] {
        let owners = "[owners]\n\"example.test/a\" = \"ada\"\n\"example.test/b\" = \"bob\"\n";
        let (_site, sandbox) = broken(&format!("{owners}{others}{rest}"));
        sandbox.exits(1, "run");
        let mails = sandbox.files("mail/rest", ".eml").len();
        assert_eq!(mails, usize::from(is_rest), "{others}");
    }
}

#[test]
fn each_section_explains_what_it_gets_and_what_holds_the_next_message() {
    let section = |name: &str, keys: &str| {
        format!(
            "[notify.{name}]\ntype = \"email\"\nfrom = \"urldb@example.test\"\n\
             to = [\"{name}@example.test\"]\nfolder = \"mail/{name}\"\n{keys}\n"
        )
    };
    let sections = [
        section("ada", "owners = [\"ada\"]"),
        section("bob", "owners = [\"bob\"]\nremind = \"7d\""),
        section("changed", "states = [\"changed\"]"),
        section("core", "categories = [\"core\"]"),
        section("good", "on = [\"recovered\"]"),
        section("head", "after = \"3d\""),
        section("other", "domains = [\"other.test\"]"),
        section("rest", "else = true"),
        "[notify.down]\ntype = \"webhook\"\nurl-env = \"NO_SUCH_HOOK\"\n".to_owned(),
        "[notify.page]\ntype = \"html\"\npath = \"site\"\n".to_owned(),
    ];
    let owners = "[owners]\n\"example.test/a\" = \"ada\"\n\"other.test\" = \"bob\"\n";
    let (_site, sandbox) = broken(&format!("{owners}{}", sections.concat()));
    let muted = sandbox.read(FILE) + "---\n_path: /b\nmute-until: 2999-01-01\n";
    sandbox.write(FILE, muted);
    sandbox.urldb("run");
    let explained = sandbox.ok("notify explain http://example.test/a");
    let digits = |text: &str| {
        let number = |byte: char| if byte.is_ascii_digit() { '0' } else { byte };
        text.chars().map(number).collect::<String>()
    };
    let (first, rest) = explained.out.split_once('\n').unwrap();
    assert!(
        first.ends_with(" of example.test: http://example.test/a"),
        "{first}"
    );
    insta::assert_snapshot!(digits(rest));
    let id = first.split(' ').nth(1).unwrap();
    let json = sandbox
        .ok(&format!("notify explain {id} --format json"))
        .out;
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["urls"], &json["incident"]), (&2.into(), &id.into()));
    assert_eq!(json["sections"].as_array().unwrap().len(), 10);
    // The explanation agrees with the deliveries.
    for section in json["sections"].as_array().unwrap() {
        let name = section["section"].as_str().unwrap();
        let mails = sandbox.files(&format!("mail/{name}"), ".eml").len();
        let is_delivered = !section["delivered"].is_null();
        assert_eq!(mails, usize::from(is_delivered), "{section}");
    }
    let muted = sandbox.ok("notify explain http://example.test/b").out;
    assert_has(&muted, "it is muted");
    let unknown = sandbox.exits(2, "notify explain http://example.test/c").err;
    assert_has(&unknown, "no open incident affects http://example.test/c");
}

#[test]
fn lint_and_doctor_find_names_in_filters_that_no_record_has() {
    let sandbox = Sandbox::new(
        "[notify.team]\ntype = \"email\"\nfrom = \"urldb@example.test\"\nto = [\"me@example.test\"]\n\
         folder = \"mail\"\ncategories = [\"core\", \"dat\"]\n\
         domains = [\"exmaple.test\", \"*.other.test\"]\n",
    );
    let record = |category: &str| format!("---\n---\n_path: /a\ncategories:\n- {category}\n");
    sandbox.write(FILE, record("core"));
    sandbox.write("urldb/www.other.test.yaml", record("data"));
    let ran = sandbox.ok("lint");
    let lines = ran.out.lines();
    let found: Vec<&str> = lines.filter(|it| it.contains("unused-filter")).collect();
    insta::assert_snapshot!(found.join("\n"));
    let doctor = sandbox.urldb("doctor").out;
    let words = doctor.split_whitespace().collect::<Vec<_>>().join(" ");
    let lacks = "no record has the category \"dat\"";
    assert_has(&words, &[lacks, "no section [notify.NAME] gets 2 records"]);
    let named = sandbox.ok("lint urldb/example.test.yaml");
    assert_lacks(&named.out, "unused-filter");
}

/// Settings that every command may read, and only requests need: their errors have a place too.
#[test]
fn what_requests_need_is_named_with_its_line() {
    let site = Site::with(&[("/a", "first")]);
    let network = site.network();
    let with = |more: &str| {
        let sandbox = Sandbox::new(&format!("{network}{more}"));
        sandbox.write(FILE, promises(&[("/a", "first")]));
        sandbox.write("bad.pem", "-----BEGIN CERTIFICATE-----\n???");
        let root = sandbox.root.display().to_string();
        let complaint = sandbox.exits(2, "run").err;
        complaint.replace(&format!("{root}/"), "")
    };
    let header = |section: &str| {
        format!("[check.host.\"{section}\"]\nheaders-env = {{ X-Key = \"NO_SUCH_VARIABLE\" }}\n")
    };
    let proxy = "proxy = \"http://127.0.0.1:1\"\nproxy-user = \"me\"\n\
                 proxy-password-env = \"URLDB_PROXY_NO_SUCH\"\n";
    let hook = "[notify.x]\ntype = \"webhook\"\nurl = \"https://a.test\"\n";
    let complaints = [
        with("ca-file = \"absent.pem\"\n"),
        with("ca-file = \"bad.pem\"\n"),
        with(&format!("ca-file = \"absent.pem\"\n{hook}")),
        with(&header("Example.Test")),
        with("[check.host.\"example.test\"]\nuser-agent = \"a\\nb\"\n"),
        with(proxy),
        with(&format!("{proxy}{hook}")),
    ];
    insta::assert_snapshot!(complaints.concat());
    assert!(site.requests().is_empty());

    // A relative path is relative to urldb.toml, wherever urldb runs.
    let sandbox = Sandbox::new(&format!("{network}ca-file = \"ca.pem\"\n"));
    sandbox.write(FILE, promises(&[("/a", "first")]));
    let key = rcgen::KeyPair::generate().unwrap();
    let params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    sandbox.write("ca.pem", params.self_signed(&key).unwrap().pem());
    sandbox.ok("-C urldb check");
}
