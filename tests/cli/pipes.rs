//! What is no regular file, where one is expected: said at once, and never waited for.

use std::fs;
use std::os::unix::net::UnixListener;
use std::process::Command;

use crate::sandbox::Sandbox;
use crate::site::{FILE, Site, promises};

/// Makes a named pipe that nobody writes to.
fn make_pipe(sandbox: &Sandbox, path: &str) {
    let path = sandbox.path(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let made = Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(made.success());
}

#[test]
fn fmt_lint_and_config_refuse_what_is_no_regular_file() {
    let sandbox = Sandbox::new("");
    make_pipe(&sandbox, "pipe.yaml");
    let _socket = UnixListener::bind(sandbox.path("socket.yaml")).unwrap();
    fs::create_dir(sandbox.path("folder.yaml")).unwrap();
    for (name, what) in [
        ("pipe.yaml", "a named pipe"),
        ("socket.yaml", "a socket"),
        ("/dev/zero", "a device"),
        ("folder.yaml", "a folder"),
    ] {
        let says = format!("{name}: it is {what}, not a regular file");
        for command in ["fmt", "lint"] {
            let found =
                format!("{name}:1:1: unreadable-file: the file cannot be read: it is {what}");
            sandbox.exits(1, &[command, name]).says(&[&found]);
        }
        sandbox
            .exits(2, &["--config", name, "list"])
            .complains(&[&says]);
    }
}

#[test]
fn a_pipe_in_the_database_is_not_passed_over() {
    let sandbox = Sandbox::new("");
    make_pipe(&sandbox, FILE);
    sandbox
        .exits(2, "list")
        .complains(&[FILE, "it is a named pipe"]);
    for command in ["fmt", "lint", "check", "run"] {
        sandbox
            .exits(1, &[command])
            .says(&[FILE, "unreadable-file", "it is a named pipe"]);
    }
}

#[test]
fn a_pipe_in_place_of_the_database_is_no_folder() {
    let sandbox = Sandbox::new("[database]\npath = \"pipe\"\n");
    make_pipe(&sandbox, "pipe");
    sandbox.exits(2, "fmt").complains("pipe");
}

#[test]
fn what_a_run_reads_besides_is_no_pipe_either() {
    let site = Site::with(&[("/a", "first")]);
    for (path, config) in [
        ("ca.pem", "ca-file = \"ca.pem\"\n"),
        ("status/example.test.yaml", ""),
        (
            "status/history/2026-01.jsonl",
            "[check]\nrehash-every = 2\n",
        ),
        (
            "words/site/overview.html",
            "[notify.page]\ntype = \"html\"\npath = \"public\"\ntemplates = \"words\"\n",
        ),
    ] {
        let sandbox = Sandbox::new(&format!("{}{config}", site.network()));
        sandbox.write(FILE, promises(&[("/a", "first")]));
        make_pipe(&sandbox, path);
        sandbox
            .exits(2, "run")
            .complains_in_words(&[path, "it is a named pipe"]);
    }
}

#[test]
fn init_does_not_replace_a_pipe() {
    let sandbox = Sandbox::empty();
    make_pipe(&sandbox, ".gitignore");
    sandbox
        .exits(2, "init")
        .complains(".gitignore: it is a named pipe");
}

#[test]
fn a_list_may_come_through_a_pipe() {
    let sandbox = Sandbox::new("");
    make_pipe(&sandbox, "pipe");
    let sitemap = "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\
                   <url><loc>http://example.test/b</loc></url></urlset>";
    for (format, list) in [("list", "http://example.test/a\n"), ("sitemap", sitemap)] {
        let pipe = sandbox.path("pipe");
        // Opening waits for the reader.
        let writer = std::thread::spawn(move || fs::write(pipe, list).unwrap());
        sandbox.ok(&["import", format, "pipe"]);
        writer.join().unwrap();
    }
    // As a shell hands over the output of another command.
    let list = "http://example.test/c\n";
    sandbox
        .urldb_with_input("import list /dev/fd/0", list)
        .code(0);
    let records = ["/a", "/b", "/c"].map(|path| format!("---\n_path: {path}\n"));
    sandbox.assert_file(FILE, &format!("---\n{}", records.concat()));
}

#[test]
fn an_import_refuses_pipes_that_its_list_refers_to() {
    let sandbox = Sandbox::new("");
    let index = "<sitemapindex xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\
                 <sitemap><loc>http://example.test/pages.xml</loc></sitemap></sitemapindex>";
    sandbox.write("index.xml", index);
    make_pipe(&sandbox, "pages.xml");
    sandbox
        .exits(1, "import sitemap index.xml")
        .complains("sitemap-not-found");
    make_pipe(&sandbox, "bag/manifest-sha256.txt");
    sandbox
        .exits(2, "import bagit bag")
        .complains(&["manifest-sha256.txt", "it is a named pipe"]);
}
