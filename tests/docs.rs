//! The documentation is complete where completeness can be checked, and its links lead somewhere.
#![allow(clippy::disallowed_methods, clippy::too_many_lines)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use urldb::report::ALIAS_DIFFERS;
use urldb_protocol::{NoticeKind, Reason, State};
use urldb_text::{Code, Subject};
use urldb_verdict::{VerdictOptions, Warning};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The headings of the third level below one of the second, without backquotes.
fn headings<'a>(page: &'a str, section: &str) -> BTreeSet<&'a str> {
    let start = page
        .find(&format!("\n## {section}\n"))
        .unwrap_or_else(|| panic!("there is no section {section:?}"));
    page[start + 1..]
        .lines()
        .skip(1)
        .take_while(|line| !line.starts_with("## "))
        .filter_map(|line| line.strip_prefix("### "))
        .map(|heading| heading.trim_matches('`'))
        .collect()
}

#[test]
fn every_code_of_a_finding_is_explained() {
    let page = read("docs/findings.md");
    let codes = |subject| {
        let codes = Code::ALL.iter().filter(|code| code.subject() == subject);
        codes.map(|code| code.as_str()).collect()
    };
    assert_eq!(
        headings(&page, "In domain files"),
        codes(Subject::DomainFile)
    );
    assert_eq!(headings(&page, "In site rules"), codes(Subject::SiteRules));
    assert_eq!(headings(&page, "In lists"), codes(Subject::List));
    let states = State::ALL.iter().map(|state| state.as_str()).collect();
    assert_eq!(headings(&page, "States of URLs"), states);
    let warnings = Warning::ALL
        .iter()
        .map(|warning| warning.as_str())
        .collect();
    assert_eq!(headings(&page, "Warnings"), warnings);
    assert_eq!(headings(&page, "Other names"), [ALIAS_DIFFERS].into());
}

#[test]
fn every_notice_is_explained() {
    let page = read("docs/findings.md");
    for kind in NoticeKind::ALL {
        let heading = format!("\n### `{}`\n", kind.as_str());
        assert!(page.contains(&heading), "{heading}");
    }
}

#[test]
fn every_reason_is_explained() {
    let page = read("docs/findings.md");
    let reasons = Reason::ALL.map(Reason::as_str).into();
    assert_eq!(headings(&page, "Reasons"), reasons);
}

#[test]
fn every_key_of_the_configuration_is_explained() {
    let page = read("docs/configuration.md");
    let keys: toml::Table = read("tests/data/every-key.toml").parse().unwrap();
    let check = |section: &str, value: &toml::Value| {
        for key in value.as_table().unwrap().keys() {
            assert!(
                page.contains(&format!("\n| `{key}` | ")),
                "{section} has the key {key}, which docs/configuration.md does not explain"
            );
        }
    };
    for (section, value) in &keys {
        assert!(page.contains(&format!("[{section}")), "{section}");
        if let Some(toml::Value::Array(tables)) = value.get("challenge") {
            for table in tables {
                check("check.challenge", table);
            }
        }
        match value {
            toml::Value::Array(tables) => tables.iter().for_each(|table| check(section, table)),
            toml::Value::Table(tables) if matches!(&**section, "find" | "notify" | "source") => {
                tables.values().for_each(|table| check(section, table));
            }
            // The keys of owners are the user's own.
            _ if section == "owners" => {}
            table => check(section, table),
        }
    }
}

#[test]
fn the_defaults_of_verdicts_are_those_on_the_page() {
    let page = read("docs/configuration.md");
    let options = VerdictOptions::default();
    for (key, default) in [
        ("retries", options.retries.to_string()),
        (
            "retry-wait",
            format!("\"{}s\"", options.retry_wait.as_secs()),
        ),
        ("confirm", options.confirm.to_string()),
        (
            "blocked-after",
            format!("\"{}d\"", options.blocked_after.as_secs() / 86_400),
        ),
    ] {
        let row = format!("\n| `{key}` | `{default}` |");
        assert!(page.contains(&row), "{row}");
    }
}

/// The keys that a section of a notifier can have: an error about another key names them.
fn keys_of_notifier(kind: &str) -> BTreeSet<String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("urldb.toml");
    let unknown = "qqqqqqqqqqqqqqqq";
    fs::write(
        &file,
        format!("[notify.x]\ntype = \"{kind}\"\n{unknown} = 1\n"),
    )
    .unwrap();
    let error = urldb::config::load(&file).unwrap_err().to_string();
    let known = format!("unknown key `{unknown}` in [notify.x]; known are ");
    let keys = error.lines().find_map(|line| line.split_once(&known));
    let (_, keys) = keys.unwrap_or_else(|| panic!("{error}"));
    keys.split(", ").map(str::to_owned).collect()
}

/// The keys in the first column of the tables.
fn keys_in_tables(text: &str) -> BTreeSet<String> {
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.filter_map(|row| Some(row.split_once("` |")?.0.to_owned()))
        .collect()
}

#[test]
fn every_key_of_every_notifier_is_explained() {
    let page = read("docs/configuration.md");
    let (_, section) = page.split_once("\n## `[notify.NAME]`\n").unwrap();
    let mut parts = section.split("\n## ").next().unwrap().split("\nFor ");
    let general = keys_in_tables(parts.next().unwrap());
    let parts: Vec<(&str, BTreeSet<String>)> = parts
        .map(|part| part.split_once(":\n").unwrap())
        .map(|(kinds, table)| (kinds, keys_in_tables(table)))
        .collect();
    let example: toml::Table = read("tests/data/every-key.toml").parse().unwrap();
    let in_example = |kind: Option<&str>| -> BTreeSet<String> {
        let sections = example["notify"].as_table().unwrap().values();
        let of_kind = sections
            .filter(|section| kind.is_none_or(|kind| section["type"].as_str() == Some(kind)));
        let keys = of_kind.flat_map(|section| section.as_table().unwrap().keys());
        keys.cloned().collect()
    };
    assert!(general.is_subset(&in_example(None)));
    let mut known_anywhere = BTreeSet::new();
    for (kind, name) in [
        ("email", "`\"email\"`"),
        ("html", "`\"html\"`"),
        ("webhook", "`\"webhook\"`"),
        ("issues", "`\"issues\"`"),
        ("command", "`\"command\"`"),
        ("matrix", "[plugins]"),
    ] {
        let known = keys_of_notifier(kind);
        let own = parts.iter().filter(|(kinds, _)| kinds.contains(name));
        let own: BTreeSet<String> = own.flat_map(|(_, keys)| keys.clone()).collect();
        let own_keys: BTreeSet<String> = known.difference(&general).cloned().collect();
        assert!(own_keys.is_subset(&own), "{kind}: {own_keys:?} {own:?}");
        let example = in_example(Some(kind));
        assert!(
            own_keys.is_subset(&example),
            "{kind}: {own_keys:?} {example:?}"
        );
        if !["command", "matrix"].contains(&kind) {
            assert_eq!(own, own_keys, "{kind}");
        }
        known_anywhere.extend(known);
    }
    let explained = parts.into_iter().flat_map(|(_, keys)| keys);
    let explained: BTreeSet<String> = explained.chain(general).collect();
    assert_eq!(explained, known_anywhere);
}

#[test]
fn every_template_is_explained() {
    let names = |folder: &str| {
        let entries = fs::read_dir(root().join(folder)).unwrap();
        let entries = entries.map(Result::unwrap);
        let files = entries.filter(|entry| entry.file_type().unwrap().is_file());
        let names = files.map(|entry| entry.file_name().into_string().unwrap());
        names.collect::<Vec<_>>()
    };
    let page = read("docs/notifiers.md");
    for name in names("templates") {
        let is_of_init = name == "init.toml";
        assert!(is_of_init || page.contains(&format!("`{name}`")), "{name}");
    }
    let page = read("docs/site.md");
    let is_page = |name: &String| Path::new(name).extension() == Some("html".as_ref());
    for name in names("templates/site").into_iter().filter(is_page) {
        assert!(page.contains(&format!("`site/{name}`")), "{name}");
    }
}

#[test]
fn the_examples_of_a_configuration_can_be_loaded() {
    for page in [
        "docs/configuration.md",
        "docs/notifiers.md",
        "docs/plugins.md",
        "docs/watch.md",
    ] {
        let text = read(page);
        let examples: Vec<_> = text.split("\n```toml\n").skip(1).collect();
        assert!(!examples.is_empty(), "{page} has no example");
        for example in examples {
            let (example, _) = example.split_once("\n```").unwrap();
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("urldb.toml");
            fs::write(&file, example).unwrap();
            if let Err(error) = urldb::config::load(&file) {
                panic!("{page}: {error}\n{example}");
            }
        }
    }
}

#[test]
fn the_ledger_and_its_keys_are_explained() {
    let page = read("docs/ledger.md");
    let entry = read("src/ledger/entry.rs");
    let written = entry
        .split("mapping.insert(\"")
        .skip(1)
        .chain(entry.split("put(&mut mapping, \"").skip(1));
    let mut keys = 0;
    for key in written.filter_map(|rest| rest.split('"').next()) {
        keys += 1;
        assert!(page.contains(&format!("`{key}`")), "{key}");
    }
    assert!(keys > 10, "only {keys} keys were found in the source");
}

#[test]
fn every_relative_link_leads_to_a_file() {
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for target in links(&text) {
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            let file = if path.is_empty() {
                page.clone()
            } else {
                page.parent().unwrap().join(path)
            };
            assert!(file.exists(), "{}: {target}", page.display());
            if !anchor.is_empty() {
                let anchors = anchors(&fs::read_to_string(&file).unwrap());
                assert!(
                    anchors.contains(anchor),
                    "{}: {target} is no heading",
                    page.display()
                );
            }
        }
    }
}

#[test]
fn the_index_lists_every_page() {
    let index = read("docs/README.md");
    for page in pages()
        .iter()
        .filter(|page| page.parent() == Some(&root().join("docs")))
    {
        let name = page.file_name().unwrap().to_str().unwrap();
        assert!(
            name == "README.md" || links(&index).contains(&name),
            "docs/README.md does not list {name}"
        );
    }
}

/// The folders of the code. Pages also name folders of a user's repository.
const FOLDERS: [&str; 8] = [
    ".ci/",
    "benches/",
    "crates/",
    "fuzz/",
    "plugins/",
    "src/",
    "templates/",
    "tests/",
];

#[test]
fn every_path_of_the_code_exists() {
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for path in in_backquotes(&text) {
            let is_path = FOLDERS.iter().any(|folder| path.starts_with(folder));
            let is_pattern = path.contains(['*', '{', ' ']);
            assert!(
                !is_path || is_pattern || root().join(path).exists(),
                "{}: there is no {path}",
                page.display()
            );
        }
    }
}

/// In the tables of ARCHITECTURE.md, a name of a file that begins with no folder of the
/// project is in a folder that its row names.
#[test]
fn every_file_of_the_architecture_exists() {
    let page = read("ARCHITECTURE.md");
    let mut files = 0;
    for row in page.lines().filter(|line| line.starts_with("| ")) {
        let folders: Vec<PathBuf> = in_backquotes(row)
            .filter(|path| path.contains('/'))
            .map(|path| root().join(path))
            .flat_map(|path| [path.parent().unwrap().to_owned(), path])
            .collect();
        let is_whole = |name: &&str| FOLDERS.iter().any(|folder| name.starts_with(folder));
        let names = in_backquotes(row).filter(|name| !is_whole(name));
        for name in names.filter(|name| Path::new(name).extension() == Some("rs".as_ref())) {
            files += 1;
            let is_there = folders.iter().any(|folder| folder.join(name).exists());
            assert!(
                is_there,
                "ARCHITECTURE.md: no folder of the row has {name}: {row}"
            );
        }
    }
    assert!(files > 50, "only {files} files were found in the tables");
}

/// All source files as one text.
fn sources() -> String {
    let folders = ["crates", "plugins", "src", "tests"];
    let files = folders.map(|folder| files_below(&root().join(folder)));
    let files = files.concat();
    let sources = files
        .iter()
        .filter(|file| file.extension() == Some("rs".as_ref()));
    sources
        .map(|file| fs::read_to_string(file).unwrap())
        .collect()
}

/// The cells of the rows of all tables, without their heads.
fn rows(text: &str) -> Vec<Vec<&str>> {
    let lines: Vec<&str> = text.lines().collect();
    let is_body = |index: &usize| {
        let has_row = |index: usize| lines.get(index).is_some_and(|line| line.starts_with('|'));
        let is_rule = |index: usize| lines.get(index).is_some_and(|line| line.starts_with("|--"));
        has_row(*index) && !is_rule(*index) && !is_rule(index + 1)
    };
    (0..lines.len())
        .filter(is_body)
        .map(|index| {
            lines[index]
                .trim_matches('|')
                .split(" | ")
                .map(str::trim)
                .collect()
        })
        .collect()
}

/// Boundaries and limits have their tests in tests/README.md, by the first words of their row; a trial has
/// them in its last column, or a script that people run.
#[test]
fn every_row_of_robustness_has_its_test() {
    let page = read("docs/robustness.md");
    let sources = sources();
    let has_tests = |cell: &str| {
        let names: Vec<&str> = in_backquotes(cell).collect();
        let is_there = |name: &&str| match name.strip_prefix(".ci/") {
            Some(script) => root()
                .join(".ci")
                .join(script.split(' ').next().unwrap())
                .exists(),
            None => name.contains('/') || sources.contains(&format!("fn {name}(")),
        };
        let missing = names.iter().find(|name| !is_there(name));
        assert_eq!(missing, None, "there is no such test: {cell}");
        cell == "the same" || !names.is_empty()
    };
    let tests = read("tests/README.md");
    let (_, tests) = tests.split_once("\n## Tests of boundaries").unwrap();
    let (text, trials) = page.split_once("\n## Trials\n").unwrap();
    for trial in rows(trials) {
        assert!(has_tests(trial.last().unwrap()), "{trial:?}");
    }
    let mut tests = rows(tests);
    let mut rows = rows(text);
    assert!(rows.len() > 20, "{rows:?}");
    rows.retain(|row| {
        let of_row = |test: &Vec<&str>| row[0].starts_with(test[0]) && has_tests(test[1]);
        tests.extract_if(.., |test| of_row(test)).count() != 1
    });
    assert_eq!(rows, [[""; 0]; 0], "these have no test");
    assert_eq!(tests, [[""; 0]; 0], "these are of no row");
}

/// A code about a URL that no behaviour of a single server shows, and a test that shows it.
const SHOWN_ELSEWHERE: [(&str, &str); 15] = [
    ("alias-differs", "an_alias_that_is_named_is_asked_itself"),
    (
        "canonical-differs",
        "pages_are_asked_for_their_official_url",
    ),
    (
        "canonical-missing",
        "pages_are_asked_for_their_official_url",
    ),
    (
        "certificate-ends",
        "a_certificate_near_its_end_is_one_warning_for_a_host",
    ),
    (
        "digests-disagree",
        "a_contradiction_is_believed_in_the_first_run_and_told",
    ),
    (
        "evidence-lost",
        "lost_promised_bytes_are_told_once_until_they_are_archived_again",
    ),
    (
        "host-silent",
        "inconclusive_is_settled_at_once_and_never_sure",
    ),
    ("flapping", "a_url_that_fails_often_is_a_warning_once"),
    (
        "impaired",
        "a_host_that_is_too_slow_for_two_runs_in_a_row_is_told_once",
    ),
    (
        "mistake",
        "a_promise_with_an_invalid_value_is_a_mistake_and_not_ok",
    ),
    (
        "not-asked",
        "a_missing_shard_is_named_and_its_urls_are_not_asked",
    ),
    (
        "own-limit",
        "too_many_open_files_are_tried_again_and_inconclusive",
    ),
    (
        "own-network",
        "the_hosts_of_a_shard_without_network_are_no_alarm",
    ),
    (
        "run-ended",
        "inconclusive_is_settled_at_once_and_never_sure",
    ),
    ("same-content", "one_content_under_many_urls_is_no_edit"),
];

/// The behaviours are written by a test, from the verdicts of all servers that it plays.
#[test]
fn every_code_about_a_url_is_shown_by_a_test() {
    let behaviours = read("docs/behaviours.md");
    let sources = sources();
    let states = State::ALL.map(State::as_str).into_iter();
    let reasons = Reason::ALL.map(Reason::as_str).into_iter();
    let warnings = Warning::ALL.iter().map(|warning| warning.as_str());
    let notices = NoticeKind::ALL.iter().map(|kind| kind.as_str());
    let codes = states.chain(reasons).chain(warnings).chain(notices);
    let is_shown = |code: &&str| {
        behaviours.contains(&format!("`{code}`")) || behaviours.contains(&format!("({code})"))
    };
    let hidden: BTreeSet<&str> = codes
        .chain([ALIAS_DIFFERS])
        .filter(|code| !is_shown(code))
        .collect();
    assert_eq!(hidden, SHOWN_ELSEWHERE.map(|(code, _)| code).into());
    for (code, test) in SHOWN_ELSEWHERE {
        let (_, test) = sources
            .split_once(&format!("fn {test}("))
            .unwrap_or_else(|| panic!("there is no test {test}"));
        let (test, _) = test.split_once("\n}\n").unwrap();
        assert!(test.contains(code), "{code}: {test}");
    }
}

/// Comments of the code refer to `docs/PAGE.md` and `docs/PAGE.md#heading`.
#[test]
fn every_page_that_the_code_names_exists() {
    let mut names = 0;
    for file in [
        ".ci",
        "action.yml",
        "Cargo.toml",
        "clippy.toml",
        "crates",
        "plugins",
        "src",
    ] {
        for file in files_below(&root().join(file)) {
            let text = String::from_utf8_lossy(&fs::read(&file).unwrap()).into_owned();
            for rest in text.split("docs/").skip(1) {
                let end =
                    rest.find(|char: char| !(char.is_ascii_lowercase() || "-.#".contains(char)));
                let name = rest[..end.unwrap_or(rest.len())].trim_end_matches('.');
                let (page, anchor) = name.split_once('#').unwrap_or((name, ""));
                if page.strip_suffix(".md").is_none_or(str::is_empty) {
                    continue;
                }
                names += 1;
                let page = fs::read_to_string(root().join("docs").join(page));
                let page =
                    page.unwrap_or_else(|_| panic!("{}: there is no docs/{name}", file.display()));
                assert!(
                    anchor.is_empty() || anchors(&page).contains(anchor),
                    "{}: docs/{name} is no heading",
                    file.display()
                );
            }
        }
    }
    assert!(
        names > 30,
        "only {names} names of pages were found in the code"
    );
}

/// The file itself, or all files below the folder.
fn files_below(path: &Path) -> Vec<PathBuf> {
    if !path.is_dir() {
        return vec![path.to_owned()];
    }
    let entries = fs::read_dir(path).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.flat_map(|path| files_below(&path)).collect()
}

/// The texts between backquotes outside of blocks of code.
fn in_backquotes(text: &str) -> impl Iterator<Item = &str> {
    outside_of_code(text).flat_map(|line| line.split('`').skip(1).step_by(2))
}

/// All pages of the project, the READMEs of its crates included.
fn pages() -> Vec<PathBuf> {
    let crates = ["crates", "plugins"].map(|folder| fs::read_dir(root().join(folder)).unwrap());
    let folders = crates.into_iter().flatten();
    let folders = folders.map(|entry| entry.unwrap().path());
    folders
        .chain([root().to_owned(), root().join("docs"), root().join("tests")])
        .flat_map(|folder| fs::read_dir(folder).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect()
}

/// The lines of a page that are not in a block of code.
fn outside_of_code(text: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        !in_code && !is_fence
    })
}

/// The targets of the links of a page that are neither on the web nor in a block of code.
fn links(text: &str) -> Vec<&str> {
    outside_of_code(text)
        .flat_map(|line| line.split("](").skip(1))
        .filter_map(|rest| rest.split(')').next())
        .filter(|target| !target.contains("://"))
        .collect()
}

/// The anchors of the headings of a page, as GitHub makes them.
fn anchors(text: &str) -> BTreeSet<String> {
    text.lines()
        .filter(|line| line.starts_with('#'))
        .map(|line| {
            let heading = line.trim_start_matches('#').trim().to_lowercase();
            heading
                .chars()
                .filter(|char| char.is_alphanumeric() || matches!(char, ' ' | '-' | '_'))
                .map(|char| if char == ' ' { '-' } else { char })
                .collect()
        })
        .collect()
}
