//! Each code of a finding in the user's files, found by a command in a small example. The codes of the language
//! of site rules have their examples in `crates/canon/tests/rules_findings.rs`.

use std::collections::BTreeSet;
use std::os::unix::fs::symlink;

use urldb_text::{Code, Subject};

use crate::hook::Repository;
use crate::sandbox::{Ran, Sandbox};
use crate::site::FILE;

const SHA256: &str = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03";

/// Domain files, each with a mistake that `lint` finds; `SHA` stands for a digest.
const DOMAIN_FILES: [(Code, &str, &str); 31] = [
    (Code::AnchorOrTag, "", "---\n---\n_path: &x /a\n"),
    (
        Code::BadCname,
        "",
        "---\ncnames:\n- WWW.test\n---\n_path: /a\n",
    ),
    (
        Code::BadContentLength,
        "",
        "---\n---\n_path: /a\ncontent-length: five\n",
    ),
    (
        Code::BadDigest,
        "",
        "---\n---\n_path: /a\ncontent-sha256: abc\n",
    ),
    (Code::BadFileName, "Upper.test", "---\n"),
    (Code::BadPath, "", "---\n---\n_path: /a b\n"),
    (Code::BadStatus, "", "---\n---\n_path: /a\nstatus: 2000\n"),
    (
        Code::BadValue,
        "",
        "---\n---\n_path: /a\ncategories: core\n",
    ),
    (Code::ByteOrderMark, "", "\u{feff}---\n---\n_path: /a\n"),
    (
        Code::ConflictMarker,
        "",
        "---\n---\n_path: /a\n<<<<<<< ours\nname: a\n=======\nname: b\n>>>>>>> theirs\n",
    ),
    (
        Code::DuplicateKey,
        "",
        "---\n---\n_path: /a\nname: a\nname: b\n",
    ),
    (
        Code::DuplicateRecord,
        "",
        "---\n---\n_path: /a\n---\n_path: /a\nname: a\n",
    ),
    (
        Code::ExpiredMute,
        "",
        "---\n---\n_path: /a\nmute-until: 2001-01-01\n",
    ),
    (
        Code::ExpiringUrl,
        "",
        "---\n---\n_path: /a?X-Amz-Signature=b\ncontent-sha256: SHA\n",
    ),
    (
        Code::ForgeArchive,
        "github.com",
        "---\n---\n_path: /o/r/archive/v1.tar.gz\ncontent-sha256: SHA\n",
    ),
    (Code::MissingMetadata, "", "---\n_path: /a\n"),
    (Code::MissingPath, "", "---\n---\nname: a\n"),
    (
        Code::MovingBranch,
        "raw.githubusercontent.com",
        "---\n---\n_path: /o/r/main/a\ncontent-sha256: SHA\n",
    ),
    (
        Code::MovingName,
        "",
        "---\n---\n_path: /latest/a\ncontent-sha256: SHA\n",
    ),
    (Code::NotAMapping, "", "---\n---\n- a\n"),
    (Code::NotCanonical, "", "---\n---\n_path:  /a\n"),
    (Code::PathNotCanonical, "", "---\n---\n_path: /%7Ea\n"),
    (
        Code::SharePage,
        "www.dropbox.com",
        "---\n---\n_path: /s/a/b.zip\ncontent-sha256: SHA\n",
    ),
    (Code::SyntaxError, "", "---\n---\n_path: [/a\n"),
    (
        Code::UnknownCategory,
        "",
        "---\n---\n_path: /a\ncategories:\n- redirect_ok\n",
    ),
    (
        Code::UnknownKey,
        "",
        "---\n---\n_path: /a\ncontent-sha265: a\n",
    ),
    (
        Code::UnreadableFile,
        "",
        "version https://git-lfs.github.com/spec/v1\noid sha256:SHA\nsize 9\n",
    ),
    (Code::UnsortedKeys, "", "---\n---\nname: a\n_path: /a\n"),
    (
        Code::UnsortedList,
        "",
        "---\n---\n_path: /a\ncategories:\n- b\n- a\n",
    ),
    (
        Code::UnsortedRecords,
        "",
        "---\n---\n_path: /b\n---\n_path: /a\n",
    ),
    (
        Code::WeakDigest,
        "",
        "---\n---\n_path: /a\ncontent-md5: b1946ac92492d2347c6235b4d2611184\n",
    ),
];

/// Records that go against these rules.
const DOMAIN_RULES: &str = "main { optional language = flag(\"(en|fr)\\.\"); optional www = website(\"w{1,4}\\.\", \"www\"); };\n";
const WEBSITE_RULES: &str = "main {\n  namespace options { query optional language = flag(\"en|fr\"); };\n  query optional old = redirect(\"[0-9]+\", \"301\");\n  parameters = strict;\n};\n";
const RULED: [(Code, &str, &str); 5] = [
    (Code::NotAdmitted, "ftp.example.org", "/x"),
    (Code::PageNotCanonical, "en.example.org", "/y"),
    (Code::MissingRedirect, "www.example.org", "/x?old=1"),
    (Code::UnknownParameter, "www.example.org", "/x?test=1"),
    (Code::SamePage, "fr.example.org", "/y"),
];

/// Whether a line of the output is a finding of this code in the file.
fn has(ran: &Ran, file: &str, code: Code) -> bool {
    let code = format!(": {code}: ");
    let lines = ran.out.lines().chain(ran.err.lines());
    lines
        .into_iter()
        .any(|line| line.starts_with(file) && line.contains(&code))
}

/// The codes that `lint` finds in an example of each.
fn found_by_lint(found: &mut BTreeSet<Code>) {
    let sandbox = Sandbox::new(
        "[notify.team]\ntype = \"email\"\nfrom = \"a@example.test\"\nto = [\"b@example.test\"]\nfolder = \"mail\"\n\
         domains = [\"nowhere.test\"]\n",
    );
    let mut expected = vec![(Code::UnusedFilter, "urldb.toml".to_owned())];
    let mut example = |code: Code, host: &str, text: &[u8]| {
        let host = if host.is_empty() {
            format!("{code}.test")
        } else {
            host.to_owned()
        };
        let file = format!("urldb/{host}.yaml");
        sandbox.write(&file, text);
        expected.push((code, file));
    };
    for (code, host, text) in DOMAIN_FILES {
        example(code, host, text.replace("SHA", SHA256).as_bytes());
    }
    example(Code::InvalidUtf8, "", b"---\n---\n_path: /a\nname: \xff\n");
    let long = |length| format!("---\n---\n_path: /a\nname: {}\n", "a".repeat(length));
    example(Code::LineTooLong, "", long(1 << 20).as_bytes());
    let many = format!("---\n---\n_path: /a\n{}", "# nothing\n".repeat(450_000));
    example(Code::RecordTooLong, "", many.as_bytes());
    sandbox.write("urldb/rules/data.other.test.rules", DOMAIN_RULES);
    expected.push((
        Code::RuleFile,
        "urldb/rules/data.other.test.rules".to_owned(),
    ));
    let ran = sandbox.exits(1, "lint");
    for (code, file) in expected {
        assert!(has(&ran, &file, code), "{file} has no {code}: {}", ran.out);
        found.insert(code);
    }
}

/// The codes of records that go against site rules.
fn found_by_rules(found: &mut BTreeSet<Code>) {
    let sandbox = Sandbox::new("");
    sandbox.write("urldb/rules/example.org.rules", DOMAIN_RULES);
    sandbox.write("urldb/rules/www.example.org.website.rules", WEBSITE_RULES);
    for (_, host, _) in RULED {
        let paths = RULED.iter().filter(|(_, other, _)| *other == host);
        let records = paths.map(|(_, _, path)| format!("---\n_path: {path}\n"));
        let text = format!("---\n{}", records.collect::<String>());
        sandbox.write(&format!("urldb/{host}.yaml"), text);
    }
    let ran = sandbox.exits(1, "lint");
    for (code, host, _) in RULED {
        let file = format!("urldb/{host}.yaml");
        assert!(has(&ran, &file, code), "{file} has no {code}: {}", ran.out);
        found.insert(code);
    }
}

/// The codes that only the hook finds, in what is staged.
fn found_by_the_hook(found: &mut BTreeSet<Code>) {
    let repository = Repository::without_hook();
    repository.write(FILE, "---\n---\n_path: /a\nname: one\n");
    repository.git("add .");
    repository.git("commit -q -m one");
    repository.git("checkout -q -b side");
    for (branch, name) in [("side", "two"), ("main", "three")] {
        repository.git(&format!("checkout -q {branch}"));
        repository.write(FILE, format!("---\n---\n_path: /a\nname: {name}\n"));
        repository.git("commit -q -a -m more");
    }
    repository.git_fails("merge -q side");
    let link = "urldb/link.test.yaml";
    symlink("example.test.yaml", repository.path(link)).unwrap();
    repository.git(&["add", link]);
    let ran = repository.exits(1, "hook run pre-commit");
    for (code, file) in [(Code::UnmergedFile, FILE), (Code::NotAFile, link)] {
        assert!(has(&ran, file, code), "{code}: {ran:?}");
        found.insert(code);
    }
}

/// The codes of lists that the database follows.
fn found_by_sync(found: &mut BTreeSet<Code>) {
    let source = |name, path| format!("[source.{name}]\nformat = \"table\"\npath = [\"{path}\"]\n");
    let sandbox = Sandbox::new(&format!(
        "{}{}",
        source("all", "*.csv"),
        source("a", "a.csv")
    ));
    sandbox.write("urldb/rules/example.org.rules", DOMAIN_RULES);
    sandbox.write("a.csv", "url,size\nhttp://a.test/x,1\nhttp://a.test/x,2\nhttp://example.org/y,3\nhttp://a.test/z,4\n");
    let ran = sandbox.exits(1, "sync --check");
    for (code, file) in [
        (Code::ListContradiction, "a.csv:3"),
        (Code::OtherPage, "a.csv:4"),
        (Code::RepeatedSource, ""),
        (Code::NotSynced, "urldb/a.test.yaml"),
    ] {
        assert!(has(&ran, file, code), "{code}: {ran:?}");
        found.insert(code);
    }
}

#[test]
fn each_code_is_found_in_its_example() {
    let mut found = BTreeSet::new();
    found_by_lint(&mut found);
    found_by_rules(&mut found);
    found_by_the_hook(&mut found);
    found_by_sync(&mut found);
    // Mistakes in `urldb.toml` are errors, which show no code.
    let shown =
        |code: &&Code| code.subject() != Subject::RuleScript && **code != Code::BadConfiguration;
    let all: BTreeSet<Code> = Code::ALL.iter().filter(shown).copied().collect();
    assert_eq!(found, all);
}
