//! The boundaries that clippy holds: docs/robustness.md.
#![allow(clippy::disallowed_methods, clippy::too_many_lines)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The modules that may call functions without the check of a boundary, since they are the check, or work on
/// what belongs to the user or the system alone.
const EXCEPTIONS: [&str; 16] = [
    "crates/fetch/src/client.rs",
    "crates/files/src/lib.rs",
    "crates/text/src/secrets.rs",
    "plugins/command/src/process.rs",
    "plugins/command/src/program.rs",
    "plugins/email/src/sendmail.rs",
    "plugins/http/src/client.rs",
    "src/cli/demo/mod.rs",
    "src/cli/print/github.rs",
    "src/cli/print/output.rs",
    "src/cli/report_file.rs",
    "src/doctor/schedule.rs",
    "src/environment.rs",
    "src/git/command.rs",
    "src/git/inspection.rs",
    "src/git/hook_files.rs",
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn disallowed(file: &str) -> BTreeSet<String> {
    let text = fs::read_to_string(root().join(file)).unwrap();
    let settings: toml::Table = text.parse().unwrap();
    let listed = settings["disallowed-methods"].as_array().unwrap();
    let paths = listed.iter().map(|entry| entry["path"].as_str().unwrap());
    paths.map(str::to_owned).collect()
}

#[test]
fn the_crate_whose_list_hides_that_of_the_workspace_repeats_it() {
    let (all, own) = (
        disallowed("clippy.toml"),
        disallowed("crates/verdict/clippy.toml"),
    );
    let missing: Vec<_> = all.difference(&own).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|it| it == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn the_modules_that_pass_a_boundary_are_known() {
    let mut found = vec![];
    sources(&root().join("src"), &mut found);
    for crates in ["crates", "plugins"] {
        for entry in fs::read_dir(root().join(crates)).unwrap() {
            sources(&entry.unwrap().path().join("src"), &mut found);
        }
    }
    let passes = |path: &PathBuf| {
        let text = fs::read_to_string(path).unwrap();
        let mentions = text.matches("clippy::disallowed_methods").count();
        let of_tests = text
            .matches("cfg_attr(test, allow(clippy::disallowed_methods, clippy::too_many_lines))")
            .count();
        mentions > of_tests
    };
    found.retain(passes);
    let names = found.iter().map(|path| path.strip_prefix(root()).unwrap());
    let names: BTreeSet<&str> = names.map(|name| name.to_str().unwrap()).collect();
    assert_eq!(names, BTreeSet::from(EXCEPTIONS));
}
