//! fmt and lint, on files as people leave them.

use crate::sandbox::{Sandbox, assert_lacks, eventually};
use crate::site::{FILE, promise, promises};

fn canonical() -> String {
    promises(&[("/a", "x"), ("/b", "y")])
}

#[test]
fn a_shuffled_file_is_restored() {
    let sandbox = Sandbox::new("");
    let shuffled = format!("---\n{}{}", promise("/b", "y"), promise("/a", "x"));
    sandbox.write(FILE, &shuffled);
    sandbox
        .exits(1, "fmt --check")
        .says("not canonical: urldb/example.test.yaml");
    sandbox.exits(1, "fmt --check --diff").says(&[
        "--- a/urldb/example.test.yaml",
        "+++ b/urldb/example.test.yaml",
        "+_path: /",
    ]);
    assert_eq!(sandbox.read(FILE), shuffled, "--check writes nothing");
    sandbox.ok("fmt").says("formatted");
    sandbox.assert_file(FILE, &canonical());
    let quiet = sandbox.ok("fmt");
    assert_eq!(quiet.out, "", "there is nothing more to do");
    sandbox.ok("fmt --check");
}

#[test]
fn fmt_removes_carriage_returns_and_byte_order_marks() {
    let sandbox = Sandbox::new("");
    let windows = format!("\u{feff}{}", canonical().replace('\n', "\r\n"));
    sandbox.write(FILE, windows);
    sandbox.exits(1, "fmt --check");
    // From another directory, by the file's name.
    sandbox.ok("-C urldb fmt example.test.yaml");
    sandbox.assert_file(FILE, &canonical());
}

#[test]
fn fmt_leaves_a_broken_file_alone_and_formats_the_others() {
    let sandbox = Sandbox::new("");
    let twice = format!("---\n{}{}", promise("/a", "x"), promise("/a", "y"));
    sandbox.write(FILE, &twice);
    sandbox.write("urldb/other.test.yaml", "---\n---\n_path:   /\n");
    let ran = sandbox
        .exits(1, "fmt")
        .says("formatted: urldb/other.test.yaml");
    let place = ran.out.lines().find(|line| line.starts_with(FILE));
    let place: Vec<&str> = place.expect("the finding").split(':').collect();
    assert!(place[1].parse::<u32>().is_ok() && place[2].parse::<u32>().is_ok());
    sandbox.assert_file(FILE, &twice);
    sandbox.assert_file("urldb/other.test.yaml", "---\n---\n_path: /\n");
}

#[test]
fn lint_tells_errors_from_warnings() {
    let sandbox = Sandbox::new("");
    sandbox.write(FILE, canonical());
    sandbox.ok("lint").says("1 file: 0 errors, 0 warnings");
    sandbox.write(FILE, format!("{}---\n_path: /z%7E\n", canonical()));
    sandbox
        .ok("lint")
        .says(&["urldb/example.test.yaml:11:1: ", "0 errors, 1 warning"]);
    sandbox.write(
        "urldb/other.test.yaml",
        "---\n---\n_path: /\ncontent-sha256: abc\n",
    );
    sandbox
        .exits(1, "lint urldb/other.test.yaml")
        .says(&["urldb/other.test.yaml:4:", "1 file: 1 error,"]);
    let quiet = sandbox.ok(&["lint", "-q", FILE]);
    assert_lacks(&quiet.out, "1 file");
}

#[test]
fn a_file_that_is_not_there_is_an_error() {
    let sandbox = Sandbox::new("");
    for command in ["fmt", "lint"] {
        sandbox
            .exits(2, &[command, "urldb/none.test.yaml"])
            .complains("none.test.yaml");
    }
}

#[test]
fn everything_wrong_in_the_configuration_is_said_in_one_pass() {
    let sandbox = Sandbox::empty();
    sandbox.write(
        "urldb.toml",
        "[check]\ntimout = \"5m\"\nconfirm = 0\n[notify.x]\ntype = \"emial\"\n",
    );
    sandbox.exits(2, "list").complains(&[
        "urldb.toml:2:1: unknown key `timout` in [check]; did you mean `timeout`?",
        "urldb.toml:3:11: `confirm` should be a number from 1 up",
        "urldb.toml:5:8: no notifier is of type \"emial\"; did you mean \"email\"?",
    ]);
    sandbox
        .exits(2, "--config none.toml list")
        .complains("none.toml");
}

#[test]
fn a_link_out_of_the_repository_is_not_written_through() {
    let sandbox = Sandbox::new("");
    let text = "---\n---\n_path: /b\n---\n_path: /a\n";
    let outside = sandbox.root.parent().unwrap().join("outside.yaml");
    std::fs::write(&outside, text).unwrap();
    let link = sandbox.path(FILE);
    std::os::unix::fs::symlink(&outside, link).unwrap();
    let parts = [
        "unreadable-file",
        "is a link out of the database: replace it by a file",
    ];
    sandbox.exits(1, "fmt").says(&parts);
    sandbox.exits(1, "fmt urldb/example.test.yaml").says(&parts);
    assert_eq!(std::fs::read_to_string(outside).unwrap(), text);
}

#[test]
fn an_unreadable_file_that_is_named_keeps_no_other_from_fmt_and_lint() {
    let sandbox = Sandbox::new("");
    std::fs::create_dir_all(sandbox.path("urldb/rules")).unwrap();
    let (bad, good, late) = (
        "urldb/bad.test.yaml",
        "urldb/good.test.yaml",
        "urldb/z.test.yaml",
    );
    std::fs::create_dir(sandbox.path(bad)).unwrap();
    sandbox.write(good, "---\n---\n_path: /b\n---\n_path: /a\n");
    sandbox.write(late, "---\n---\n_path: /a\ncontent-sha256: abc\n");
    let rules = "urldb/rules/bad.test.rules";
    std::os::unix::fs::symlink("absent", sandbox.path(rules)).unwrap();
    let dangling = "urldb/dangling.test.yaml";
    std::os::unix::fs::symlink("absent", sandbox.path(dangling)).unwrap();
    let found = "urldb/bad.test.yaml:1:1: unreadable-file: the file cannot be read: it is a folder";
    sandbox.exits(1, &["lint", bad, good, late, rules]).says(&[
        found,
        "urldb/good.test.yaml:5:1: unsorted-records",
        "urldb/z.test.yaml:4:1: bad-digest",
        "urldb/rules/bad.test.rules:1:1: ",
        "4 files: ",
    ]);
    sandbox.exits(1, &["fmt", dangling, bad, good]).says(&[
        found,
        "urldb/dangling.test.yaml:1:1: unreadable-file",
        "formatted: urldb/good.test.yaml",
    ]);
    sandbox.assert_file(good, "---\n---\n_path: /a\n---\n_path: /b\n");
}

#[test]
fn a_pointer_of_git_lfs_is_called_that_and_stays_as_it_is() {
    let sandbox = Sandbox::new("");
    let file = "urldb/example.test.yaml";
    let pointer = format!(
        "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 12\n",
        "a".repeat(64)
    );
    sandbox.write(file, &pointer);
    sandbox.write("urldb/other.test.yaml", "---\n");
    let said = "it is a pointer of Git LFS";
    for (arguments, code) in [
        (&["lint"][..], 1),
        (&["lint", file], 1),
        (&["fmt"], 1),
        (&["fmt", "--check"], 1),
        (&["check"], 1),
        (&["list"], 2),
        (&["add", "--no-fetch", "http://example.test/a"], 2),
        (&["rm", "http://example.test/a"], 2),
    ] {
        let ran = sandbox.exits(code, arguments);
        assert!(
            ran.out.contains(said) || ran.err.contains(said),
            "{arguments:?}: {ran:?}"
        );
        assert_eq!(ran.out.matches("1:1: ").count().max(1), 1, "{ran:?}");
        sandbox.assert_file(file, &pointer);
    }
}

#[test]
fn a_file_name_with_a_line_break_stays_on_one_line() {
    let sandbox = Sandbox::new("");
    sandbox.write("urldb/a\n::error::b.yaml", "---\n");
    let said = sandbox.exits(1, "lint").out;
    assert_lacks(&said, "\n::error::");
}

/// The most memory that the program has used so far, in KiB, or 0 if it has ended.
#[cfg(target_os = "linux")]
fn peak_memory(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.map(|peak| peak.trim().trim_end_matches(" kB").parse().unwrap());
    peak.unwrap_or_default()
}

#[test]
#[cfg(target_os = "linux")]
fn the_memory_of_lint_and_list_does_not_grow_with_a_file() {
    let sandbox = Sandbox::new("");
    let text = "x".repeat(2_500);
    let record = |number| format!("---\n_path: /{number:06}\ndescription: {text}\n");
    let peak_of = |command: &str| {
        let mut child = sandbox.urldb_command(&[command]);
        let mut child = child.stdout(std::process::Stdio::null()).spawn().unwrap();
        let (mut peak, mut status) = (0, None);
        eventually("the command ends", || {
            peak = peak.max(peak_memory(child.id()));
            status = child.try_wait().unwrap();
            status.is_some()
        });
        assert!(status.unwrap().success());
        assert!(peak > 0);
        peak
    };
    for command in ["lint", "list"] {
        // Most of it are the pages of the program. The files have 24 and 96 MiB.
        let [small, large] = [10_000, 40_000].map(|records| {
            let records: String = (0..records).map(record).collect();
            sandbox.write(FILE, format!("---\n{records}"));
            peak_of(command)
        });
        assert!(
            large < small + (8 << 10),
            "{command}: {small} KiB, {large} KiB"
        );
    }
}

/// YAML lets the end of a list stand in the first column.
#[test]
fn the_end_of_a_list_may_stand_in_the_first_column() {
    let sandbox = Sandbox::new("");
    let text = "---\n---\n_path: /\nown: [a,\n b\n]\nmore: {a: b,\n c: d\n}\n";
    sandbox.write(FILE, text);
    sandbox.ok("fmt");
    let canonical = "---\n---\n_path: /\nmore:\n  a: b\n  c: d\nown:\n- a\n- b\n";
    sandbox.assert_file(FILE, canonical);
}
