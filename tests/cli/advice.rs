//! Advice that works: each command that a message prints is run as it is printed, in a copy of the
//! repository that the message is about.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Output;

use crate::sandbox::Sandbox;
use crate::site::{Site, promise, sha256};
use crate::support::Reply;

/// The commands of urldb that messages offer.
const COMMANDS: [&str; 7] = ["accept", "ack", "archive", "check", "lint", "notify", "run"];

/// The commands in a text: what follows the begin of a line, or the purpose of the command.
pub(crate) fn commands_of(text: &str) -> BTreeSet<&str> {
    let lines = text.lines().filter(|line| !line.starts_with("::"));
    let command = |line: &str| {
        let word = line.split(' ').nth(1).unwrap_or_default();
        line.starts_with("curl ")
            || line.starts_with("for i in ")
            || line.starts_with("urldb ") && COMMANDS.contains(&word)
    };
    lines
        .filter_map(|line| {
            let line = line.trim_start();
            let after_purpose = || line.rsplit_once("  ").map(|(_, rest)| rest);
            Some(line)
                .filter(|line| command(line))
                .or_else(|| after_purpose().filter(|line| command(line)))
        })
        .collect()
}

/// A command without the address to which `map` sends its request.
pub(crate) fn without_map(line: &str) -> String {
    match line.split_once(" --connect-to ") {
        Some((start, rest)) => format!("{start} {}", rest.split_once(' ').unwrap().1),
        None => line.to_owned(),
    }
}

/// Runs each command that the text offers, and asserts that the command does what it is offered for.
/// Returns the commands.
#[track_caller]
pub(crate) fn assert_commands_work(
    text: &str,
    sandbox: &Sandbox,
    env: &[(&str, &str)],
) -> Vec<String> {
    let commands = commands_of(text);
    for command in &commands {
        let copy = sandbox.copy();
        let run = |line: &str| shell(line, &copy, env);
        let output = run(command);
        let code = output.status.code();
        let (out, err) = (words(&output.stdout), words(&output.stderr));
        let shown = format!("{command}: {code:?}\n{out}\n{err}");
        assert!(!err.contains("Usage:"), "{shown}");
        if is_request(command) {
            // Not a usage error, no URL, no host, or no program.
            assert!(!matches!(code, Some(2 | 3 | 6)), "{shown}");
        } else if command.starts_with("urldb accept ") {
            assert!(err.contains("there is no terminal to ask on"), "{shown}");
            let answered = run(&format!("{command} --yes"));
            let (out, err) = (words(&answered.stdout), words(&answered.stderr));
            let code = answered.status.code();
            // With `--all`, other URLs may be refused.
            let is_good = code == Some(0) || code == Some(1) && command.contains(" --all ");
            assert!(
                is_good && !out.contains("accepted 0"),
                "{command}: {code:?}\n{out}\n{err}"
            );
        } else if command.starts_with("urldb archive ") || command.starts_with("urldb ack ") {
            assert_eq!(code, Some(0), "{shown}");
        } else {
            assert!(matches!(code, Some(0 | 1 | 3)), "{shown}");
        }
    }
    commands.into_iter().map(str::to_owned).collect()
}

fn words(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What a shell makes of the line. A request by curl reaches the scripted servers, whatever its host.
pub(crate) fn shell(line: &str, sandbox: &Sandbox, env: &[(&str, &str)]) -> Output {
    let binary = Path::new(env!("CARGO_BIN_EXE_urldb")).parent().unwrap();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let paths = [binary.to_owned()]
        .into_iter()
        .chain(std::env::split_paths(&path));
    let config = sandbox.read("urldb.toml");
    let maps = config
        .split('"')
        .filter_map(|text| text.split_once("=127.0.0.1:"));
    let maps: Vec<_> = maps.collect();
    let mut curlrc = "max-time = 2\nnoproxy = \"*\"\n".to_owned();
    // Another host, such as the target of a redirect, is the first server too.
    let first = maps.first().map_or("9", |(_, port)| port);
    for (host, port) in maps.into_iter().chain([("", first)]) {
        writeln!(curlrc, "connect-to = \"{host}::127.0.0.1:{port}\"").unwrap();
    }
    let home = sandbox.path("../home");
    fs::write(home.join(".curlrc"), curlrc).unwrap();
    let mut command = sandbox.command("sh");
    command
        .args(["-c", line])
        .env("PATH", std::env::join_paths(paths).unwrap())
        .envs(env.iter().copied());
    if is_request(line) && !has_curl() {
        // The words are checked all the same.
        command = sandbox.command("sh");
        command.args(["-nc", line]);
    }
    command.output().unwrap()
}

/// Whether a command makes requests by curl.
fn is_request(line: &str) -> bool {
    line.starts_with("curl ") || line.starts_with("for i in ")
}

pub(crate) fn has_curl() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join("curl").exists())
}

/// What `check` and `run` say, and the mails of `run`.
fn texts(sandbox: &Sandbox) -> String {
    let check = sandbox.urldb("check --verbose").out;
    let summary = sandbox.urldb("check --format markdown").out;
    let run = sandbox.urldb("run").out;
    let mails = sandbox.files("mail", ".eml");
    let mails = mails
        .iter()
        .map(|file| crate::mime::mail_of(&fs::read(file).unwrap()).text);
    [check, summary, run].into_iter().chain(mails).collect()
}

/// A repository whose mails go into a folder.
fn repository(site: &Site, hosts: &[&str], files: &[(&str, String)]) -> Sandbox {
    let maps: Vec<String> = hosts.iter().map(|host| site.map(host)).collect();
    let sandbox = Sandbox::new(&format!(
        "[check]\nretries = 1\n[network]\nmap = {maps:?}\n[notify.mail]\ntype = \"email\"\n\
         from = \"a@example.test\"\nto = [\"b@example.test\"]\nfolder = \"mail\"\n"
    ));
    for (name, text) in files {
        sandbox.write(&format!("urldb/{name}.yaml"), text);
    }
    sandbox
}

/// After a run in which all is well, so that the archive has the promised bytes.
fn archived(sandbox: Sandbox) -> Sandbox {
    sandbox.ok("run");
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    sandbox
}

/// Addresses that a shell or curl would read otherwise.
#[test]
fn commands_of_changed_and_truncated_files_work_as_printed() {
    let paths = [
        "/data/a[1-3].csv",
        "/data/it's.csv",
        "/data/b?x=1&y={2,3}",
        "/data/$(id).csv",
    ];
    let site = Site::new();
    for path in paths {
        site.serve(path, Reply::ok("first,1\n"));
    }
    let records: String = paths
        .iter()
        .map(|path| promise(path, "first,1\n"))
        .collect();
    let file = ("data.test", format!("---\n{records}"));
    let sandbox = archived(repository(&site, &["data.test"], &[file]));
    // One after the other, and then all.
    for (path, reply) in [
        (paths[0], Reply::ok("first,2\n")),
        (paths[1], Reply::ok("first,1\nsecond,2\n")),
        (
            paths[2],
            Reply::raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhal").close(),
        ),
        (paths[3], Reply::new("404 Not Found", &[], "")),
    ] {
        site.serve(path, reply);
        let one = sandbox.copy();
        let found = assert_commands_work(&texts(&one), &one, &[]).join("\n");
        assert!(
            found.contains("curl ") || found.contains("accept"),
            "{found}"
        );
        site.serve(path, Reply::ok("first,1\n"));
    }
    for path in paths {
        site.serve(path, Reply::ok("other bytes\n"));
    }
    let found = assert_commands_work(&texts(&sandbox), &sandbox, &[]);
    assert!(
        found.contains(&"urldb accept --all -d data.test --path-prefix /data/".to_owned()),
        "{found:?}"
    );
    let curl = found.iter().find(|line| line.starts_with("curl ")).unwrap();
    assert_eq!(
        without_map(curl),
        r"curl -sSL -o /dev/null -w '%{size_download} bytes\n' -g 'http://data.test/data/a[1-3].csv'"
    );
}

/// A HEAD request shows neither the size nor the bytes.
#[test]
fn a_command_shows_what_is_at_stake() {
    let site = Site::with(&[
        ("/a.csv", "first\n"),
        ("/b", "x"),
        ("/c", "x"),
        ("/d.csv", "first\n"),
    ]);
    let records = format!(
        "---\n{}---\n_path: /b\ncontent-type: text/plain\n---\n_path: /c\nstatus: 200\n{}",
        promise("/a.csv", "first\n"),
        promise("/d.csv", "first\n"),
    );
    let plain = || Reply::new("200 OK", &["Content-Type: text/plain"], "x");
    site.serve("/b", plain());
    let sandbox = repository(&site, &["data.test"], &[("data.test", records)]);
    let cut = Reply::raw("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nfir").close();
    let html = Reply::new("200 OK", &["Content-Type: text/html"], "x");
    for (path, reply, command) in [
        (
            "/a.csv",
            Reply::ok("zeros\n"),
            "urldb check --verbose http://data.test/a.csv",
        ),
        (
            "/a.csv",
            cut,
            "curl -sSL -o /dev/null http://data.test/a.csv",
        ),
        (
            "/b",
            html,
            r"curl -sSL -o /dev/null -w '%{content_type}\n' http://data.test/b",
        ),
        (
            "/b",
            Reply::redirect(302, "/elsewhere"),
            "curl -sSL -r 0-0 -D - -o /dev/null http://data.test/b",
        ),
    ] {
        site.serve(path, reply);
        let copy = sandbox.copy();
        let text = copy.urldb("run").out + &copy.urldb("run").out;
        let found = assert_commands_work(&text, &copy, &[]);
        assert!(
            found.iter().any(|it| without_map(it) == command),
            "{command} not in {text}"
        );
        if command.ends_with("-o /dev/null http://data.test/a.csv") && has_curl() {
            let output = shell(command, &copy, &[]);
            assert_eq!(output.status.code(), Some(18), "a partial file");
        }
        site.serve("/a.csv", Reply::ok("first\n"));
        site.serve("/b", plain());
    }
}

/// Where `urldb accept` refuses, no message offers to accept: a page in place of the file, and the bytes of
/// an alias.
#[test]
fn accept_is_offered_only_where_it_accepts() {
    let site = Site::with(&[("/a.csv", "a,b\n"), ("/b.csv", "a,b\n")]);
    let record = promise("/a.csv", "a,b\n");
    let aliased = format!("---\naliases:\n- www.data.test\n{record}");
    let sandbox = repository(
        &site,
        &["data.test", "www.data.test"],
        &[("data.test", aliased)],
    );
    let page = "<html><title>Sign in</title><p>Please sign in to read this file.</p></html>";
    site.serve(
        "/a.csv",
        Reply::new("200 OK", &["Content-Type: text/html"], page),
    );
    for _ in 0..3 {
        let found = assert_commands_work(&texts(&sandbox), &sandbox, &[]);
        assert!(
            !found.iter().any(|line| line.contains(" accept ")),
            "{found:?}"
        );
    }
    sandbox
        .exits(1, "accept --yes http://data.test/a.csv")
        .complains("an HTML page in place of a file that ends in .csv");

    site.serve("/a.csv", Reply::ok(format!("{}\n", sha256("other"))));
    let found = assert_commands_work(&texts(&sandbox), &sandbox, &[]);
    let accepts: Vec<_> = found
        .iter()
        .filter(|line| line.contains(" accept "))
        .collect();
    assert_eq!(accepts, ["urldb accept http://data.test/a.csv"]);
}
