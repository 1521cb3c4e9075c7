//! What the subcommands of `archive` say when something is not as it should be.

use std::fs;

use crate::archive_reading::{DATA, archive};
use crate::sandbox::Sandbox;

#[test]
fn archive_get_writes_to_standard_output_or_refuses_the_target() {
    let sandbox = archive();
    let get = |output| sandbox.urldb(&["archive", "get", DATA, "-o", output]);
    assert_eq!(get("-").code(0).out, "a,b\n1,2\n3,5\n");
    assert!(!sandbox.path("-").exists());
    get("no/such/file").code(2).complains(&[
        "no/such/file was not written: there is no folder ",
        "/no/such\n",
    ]);
    get("urldb")
        .code(2)
        .complains("urldb was not written: it is a folder");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_behind_standard_output_is_told() {
    let sandbox = archive();
    for arguments in [
        &["list"][..],
        &["list", "--format", "jsonl"],
        &["get", DATA],
        &["diff", DATA],
        &["verify"],
        &["verify", "--format", "jsonl"],
        &["index"],
        &["repair"],
        &["export", "--warc", "other"],
    ] {
        let mut command = sandbox.urldb_command("archive");
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let output = command.args(arguments).stdout(full).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(
            said.contains("error: cannot write to standard output: No space left on device"),
            "{arguments:?}: {said}"
        );
    } // What was to be done is done.
    assert_eq!(sandbox.files("other", ".warc.gz").len(), 2);
    assert_eq!(sandbox.files("other/index", ".idx").len(), 1);
}

#[test]
fn a_damaged_index_is_an_error_until_archive_index_rebuilds_it() {
    let sandbox = archive();
    for damage in [
        "garbage\n".into(),
        vec![0xff, b' ', 0, b'\n'],
        vec![0x1f; 100],
    ] {
        sandbox.write_index(damage);
        for arguments in [&["list"][..], &["list", DATA], &["get", DATA]] {
            sandbox
                .exits(2, &[&["archive"], arguments].concat())
                .complains("the index is damaged; `urldb archive index` makes it anew");
        }
    }
    sandbox.ok("archive index");
    assert_eq!(sandbox.ok(&["archive", "get", DATA]).out, "a,b\n1,2\n3,5\n");
}

#[test]
fn archive_get_and_list_suggest_what_is_there() {
    let sandbox = archive();
    sandbox
        .exits(2, "archive get http://example.test/date.csv")
        .complains("is not in the archive; did you mean http://example.test/data.csv?");
    for (text, problem) in [
        (
            "data",
            "data is not in the archive; `data` is not an absolute URL",
        ),
        ("ftp://example.test/", "scheme `ftp` is not supported"),
    ] {
        sandbox
            .exits(2, &["archive", "get", text])
            .complains(problem);
    }
    sandbox
        .exits(2, "archive list http://other.example/")
        .complains("`urldb archive list` shows what is");
    Sandbox::new("").exits(2, "archive list").complains(&[
        "there is no archive at",
        "by default of a URL with a promised length or digest",
    ]);
}

#[test]
fn repair_leaves_the_open_file_of_a_running_process_alone() {
    let sandbox = archive();
    let bytes = fs::read(sandbox.path("archive/second.warc.gz")).unwrap();
    sandbox.write("archive/third.warc.gz.open", &bytes[..bytes.len() - 9]);
    let open = fs::File::open(sandbox.path("archive/third.warc.gz.open")).unwrap();
    open.lock().unwrap();
    let repair = || sandbox.ok("archive repair");
    let ran = repair();
    assert_eq!(ran.out, "no damage was found; the index is new\n");
    drop(open);
    repair().says(&[
        "an earlier run left an unfinished archive file: ",
        "the damaged rest is in ",
        "\nno other damage was found; the index is new\n",
    ]);
}
