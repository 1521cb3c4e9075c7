//! Several repositories archive into one folder at once: all is there in the end, and in one index.

use std::process::Stdio;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use urldb_warc::CdxjLine;

use crate::sandbox::{Sandbox, eventually};
use crate::site::{FILE, promise};
use crate::support::{Reply, Request, Server};

/// Longer than a run takes even on a busy machine; nothing waits for it to pass.
const PATIENCE: Duration = Duration::from_mins(1);

/// Lets requests for `/gate` wait until so many have come; all of them at once if it is opened.
#[derive(Default)]
struct Gate {
    waiting: Mutex<usize>,
    changed: Condvar,
}

impl Gate {
    /// Answers nothing before `wanted` have come.
    fn pass(&self, wanted: usize) {
        let mut waiting = self.waiting.lock().unwrap();
        *waiting += 1;
        self.changed.notify_all();
        let passed = |waiting: &mut usize| *waiting < wanted;
        drop(self.changed.wait_timeout_while(waiting, PATIENCE, passed));
    }

    fn waiting(&self) -> usize {
        *self.waiting.lock().unwrap()
    }
}

/// A page for each path; `/gate` when `wanted` have asked for it.
fn server(gate: &Arc<Gate>, wanted: usize) -> Server {
    let gate = Arc::clone(gate);
    Server::new(move |request: &Request| {
        if request.target == "/gate" {
            gate.pass(wanted);
        }
        Reply::ok(body(&request.target))
    })
}

fn body(path: &str) -> String {
    format!("the page at {path}")
}

/// A repository with ten pages of its own, that archives into the folder.
fn repository(server: &Server, archive: &Sandbox, name: &str, more: &str) -> Sandbox {
    let folder = archive.path("archive");
    let sandbox = Sandbox::new(&format!(
        "[network]\nmap = [\"example.test={}\"]\n[archive]\npath = '{}'\n{more}",
        server.address(),
        folder.display()
    ));
    let pages = (0..10)
        .map(|n| format!("/{name}-{n}"))
        .chain(["/gate".to_owned()]);
    let promises: String = pages.map(|path| promise(&path, &body(&path))).collect();
    sandbox.write(FILE, format!("---\n{promises}"));
    sandbox
}

/// The lines of the index, which is in order and has none twice.
fn index(archive: &Sandbox) -> Vec<CdxjLine> {
    let text = archive.index();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.is_sorted_by(|a, b| a < b), "{text}");
    lines
        .iter()
        .map(|line| CdxjLine::parse(line).unwrap())
        .collect()
}

/// All that is there is whole, and index and records agree.
fn verify(archive: &Sandbox) {
    archive
        .ok("archive verify")
        .says(": 0 errors, 0 warnings\n");
    assert_eq!(
        archive.files("archive", ".open"),
        [] as [std::path::PathBuf; 0]
    );
    assert_eq!(
        archive.files("archive", ".tmp"),
        [] as [std::path::PathBuf; 0]
    );
}

/// Three processes that have their files open at the same time; with files so small that each capture
/// begins another one too, with its request, under names of the same second.
#[test]
fn processes_that_archive_at_once_lose_nothing() {
    for (more, files) in [("", 1 + 1 + 1), ("max-size = 1\n", 11 + 11 + 11)] {
        let gate = Arc::new(Gate::default());
        let server = server(&gate, 3);
        let archive = Sandbox::new("");
        let writers = ["a", "b", "c"].map(|name| repository(&server, &archive, name, more));
        for run in 1..=3 {
            *gate.waiting.lock().unwrap() = 0;
            let running = writers.each_ref().map(|writer| {
                let mut command = writer.urldb_command("run");
                command.stdout(Stdio::piped()).stderr(Stdio::piped());
                command.spawn().unwrap()
            });
            for child in running {
                let ran = child.wait_with_output().unwrap();
                assert!(ran.status.success(), "{ran:?}");
            }
            assert_eq!(gate.waiting(), 3, "all were at work at once");
            verify(&archive);
            let lines = index(&archive);
            assert_eq!(lines.len(), 3 * 11 * run);
            let revisits = lines.iter().filter(|line| line.mime == "warc/revisit");
            assert_eq!(revisits.count(), 3 * 11 * (run - 1));
        }
        assert_eq!(archive.files("archive", ".warc.gz").len(), 3 * files);
    }
}

/// One of two processes is killed while both have a file open. The other one goes on; the next run
/// takes the file over that is left, and leaves the one alone that is being written.
#[test]
fn the_file_of_a_dead_process_is_taken_over_beside_a_living_one() {
    let gate = Arc::new(Gate::default());
    let server = server(&gate, 3);
    let archive = Sandbox::new("");
    let [dead, living, next] = ["a", "b", "c"].map(|name| repository(&server, &archive, name, ""));
    let mut killed = dead.start("run");
    let mut at_work = living.start("run");
    eventually("both have archived what is before the gate", || {
        let open = archive.files("archive", ".open");
        let records = open
            .iter()
            .map(|file| std::fs::metadata(file).unwrap().len());
        gate.waiting() == 2 && open.len() == 2 && records.min() > Some(2000)
    });
    killed.signal("-KILL");
    killed.end();
    assert_eq!(archive.files("archive", ".open").len(), 2);
    // Its request opens the gate for the living one.
    next.ok("run")
        .says("an earlier run left an unfinished archive file");
    assert!(at_work.end().success());
    verify(&archive);
    let lines = index(&archive);
    for name in ["b", "c"] {
        for n in 0..10 {
            let url = format!("http://example.test/{name}-{n}");
            assert_eq!(
                lines.iter().filter(|line| line.url == url).count(),
                1,
                "{url}"
            );
        }
    }
    assert!(
        lines.iter().any(|line| line.url.contains("/a-")),
        "what was whole is kept"
    );
    // The dead one had no time to remember anything, and captures all of it again.
    dead.ok("run");
    verify(&archive);
}
