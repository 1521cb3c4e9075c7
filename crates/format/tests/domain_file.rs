//! Domain files as people write them: what is found, what formatting does, what edits do.
#![allow(clippy::disallowed_methods, clippy::too_many_lines)]

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use insta::assert_snapshot;
use urldb_format::{DomainFile, Error, Linter, Metadata, Record, RecordIdentity, Value, lint};
use urldb_text::Code;

fn file(text: &str) -> DomainFile {
    DomainFile::parse("example.com.yaml", text.as_bytes()).file
}

/// The findings in the file of a name, one to a line.
fn findings_in(name: &str, bytes: &[u8]) -> String {
    let mut lines = String::new();
    for finding in lint(&DomainFile::parse(name, bytes), &[]) {
        let (line, column) = (finding.line, finding.column);
        let (severity, code, message) = (finding.severity, finding.code, &finding.message);
        write!(lines, "{line}:{column}: {severity}[{code}]: {message}").unwrap();
        if let Some(help) = &finding.help {
            write!(lines, " ({help})").unwrap();
        }
        lines.push('\n');
    }
    lines
}

fn findings(text: &str) -> String {
    findings_in("example.com.yaml", text.as_bytes())
}

fn codes(text: &str) -> Vec<Code> {
    lint(&DomainFile::parse("example.com.yaml", text.as_bytes()), &[])
        .into_iter()
        .map(|finding| finding.code)
        .collect()
}

#[test]
fn the_minimal_file_of_the_specification_is_canonical() {
    let text = "---\n---\n_path: /\n";
    assert_eq!(findings(text), "");
    assert_eq!(file(text).canonical().unwrap(), text);
}

#[test]
fn empty_metadata_is_read_in_any_form_and_written_bare() {
    for head in ["--- {}\n", "---\n{}\n", "---\n\n", "---\n"] {
        assert_eq!(
            file(&format!("{head}---\n_path: /\n")).canonical().unwrap(),
            "---\n---\n_path: /\n",
            "{head:?}"
        );
    }
}

#[test]
fn values_are_text() {
    let digest = [
        "1".repeat(64),
        "0".repeat(64),
        format!("{}89", "0".repeat(62)),
        format!("{}2e4", "1".repeat(61)),
    ];
    for digest in digest {
        for quote in ["", "'", "\""] {
            let text = format!(
                "---\n---\n_path: /\ncontent-sha256: {quote}{digest}{quote}\nversion: 1.10\n"
            );
            let parsed = file(&text);
            let record = parsed.records().next().unwrap().record();
            assert_eq!(record.content_sha256.as_deref(), Some(digest.as_str()));
            assert_eq!(
                record.extra.get("version"),
                Some(&Value::Plain("1.10".to_owned()))
            );
            assert!(parsed.canonical().unwrap().contains("version: 1.10\n"));
        }
    }
}

#[test]
fn own_keys_keep_their_type() {
    let scalars = [
        "5",
        "'5'",
        "1.10",
        "0x1f",
        "017",
        "1_000",
        "0b11",
        "1:30",
        "yes",
        "'yes'",
        "Off",
        "null",
        "'null'",
        "~",
        "''",
        "-.inf",
        "2020-01-01",
        "'2020-01-01'",
        "2020-01-01 10:20:30 +1:00",
        "'2020-01-01 10:20:30'",
        "1e5",
        "'1e5'",
        "089",
        "'089'",
        "0o7",
        "'0o7'",
        ".5e3",
        "'-.5e3'",
        "'1.e3'",
        "text",
    ];
    for scalar in scalars {
        for own in [
            format!("priority: {scalar}"),
            format!("priority:\n- {scalar}\n- a b"),
            format!("priority:\n- - {scalar}\n- '5': {scalar}"),
            format!("priority:\n  high: {scalar}"),
        ] {
            let text = format!("---\nown: {scalar}\n---\n_path: /\n{own}\n");
            assert_eq!(findings(&text), "", "{text}");
            assert_eq!(file(&text).canonical().unwrap(), text);
        }
        let flow = format!("---\n---\n_path: /\nz: [\"5\", {scalar}, {{\"k\":{scalar}}}] # why\n");
        let block = format!("---\n---\n_path: /\n# why\nz:\n- '5'\n- {scalar}\n- k: {scalar}\n");
        assert_eq!(file(&flow).canonical().unwrap(), block);
    }
    let empty = "---\n---\n_path: /\nempty:\nlist:\n-\n- a\nname:\n";
    assert_eq!(
        file(empty).canonical().unwrap(),
        "---\n---\n_path: /\nempty: null\nlist:\n- null\n- a\nname: ''\n"
    );
    let known = "---\n---\n_path: /\ncatalogue:\n  id: 5\nname: 5\n";
    assert_eq!(
        file(known).canonical().unwrap(),
        known.replace('5', "'5'"),
        "the values of our keys are text"
    );
}

#[test]
fn every_comment_occurs_once_after_formatting() {
    let records = [
        "description: |\n   text\n # 1\nname: x\n",
        "description: >2\n   text # no comment\n # 1\nname: x\n",
        "own:\n  a: |-\n      text\n    # 1\n  b: y # 2\n",
        "? \"x: y\"\n: |\n  # no comment\n  text\n",
        "? \"a\n  # no comment\"\n: b # 1\n",
        "'k # no comment': v #1\n",
        "\"k\\\" # no comment\" : |\n  text\n# 1\n",
        "name: \"x\"# 1\n",
        "own: [a, 'b']#1\n",
        "own: {a: b, #1\n  'c # no comment': d} # 2\n",
        "own: |# 1\n  text\n",
        "own:\n# 1\n- a # 2\n # 3\n- 'b # no comment' # 4 # still 4\n",
        "name: x\n... # 1\n# 2\n",
    ];
    for record in records {
        let text = format!("---\n---\n_path: /\n{record}");
        let canonical = file(&text).canonical().unwrap();
        let comments = record.lines().filter_map(|line| {
            let at = line
                .match_indices('#')
                .find(|(at, _)| !line[*at..].starts_with("# no"))?
                .0;
            Some(&line[at..])
        });
        let comments: Vec<&str> = comments.collect();
        let above: Vec<&str> = canonical
            .lines()
            .filter(|line| line.starts_with('#'))
            .collect();
        assert_eq!(above, comments, "{text}\n{canonical}");
        assert_eq!(
            canonical.matches("# no").count(),
            record.matches("# no").count()
        );
        assert_eq!(file(&canonical).canonical().unwrap(), canonical);
    }
}

#[test]
fn booleans_are_read_in_the_spellings_of_yaml_1_1() {
    let parsed = file("---\nhttps: yes\nhttp: Off\ncase-sensitive-paths: TRUE\n");
    let Metadata {
        https,
        http,
        case_sensitive_paths,
        ..
    } = parsed.metadata();
    assert_eq!(
        (*https, *http, *case_sensitive_paths),
        (true, false, Some(true))
    );
    assert_eq!(
        parsed.canonical().unwrap(),
        "---\ncase-sensitive-paths: true\nhttp: false\nhttps: true\n"
    );
}

#[test]
fn a_default_that_was_written_out_stays() {
    let text = "---\nhttp: true\nhttps: false\n---\n_path: /\ncategories: []\n";
    assert_eq!(findings(text), "");
    assert_eq!(file(text).canonical().unwrap(), text);
}

#[test]
fn comments_travel() {
    let text = "# head\n\n---\ncnames:\n# inside the list\n- b.org # trailing\n- a.org\n# above b\n---\n# before path\n_path: /b\n\
        name: x # about the name\ndescription: |\n  # text\n\n# above a\n--- # behind\n\"_path\": /a\nname: {a: b} # flow\n# end\n";
    assert_snapshot!(file(text).canonical().unwrap(), @r#"
    # head
    ---
    # inside the list
    # trailing
    cnames:
    - a.org
    - b.org
    # above a
    ---
    # behind
    _path: /a
    # flow
    name:
      a: b
    # above b
    ---
    # before path
    _path: /b
    description: '# text

      '
    # about the name
    name: x
    # end
    "#);
}

#[test]
fn line_ends_byte_order_mark_and_last_line_are_normalized() {
    let text = "\u{FEFF}---\r\n---\r\n_path: /\r\nname: a";
    assert_snapshot!(findings(text), @r#"
    1:1: error[byte-order-mark]: the file starts with a byte order mark (save it as UTF-8 without one; formatting removes it)
    1:1: error[not-canonical]: lines end in CR LF (end them in LF alone; formatting does so)
    4:1: error[not-canonical]: the last line lacks its line break (formatting adds it)
    "#);
    assert_eq!(
        file(text).canonical().unwrap(),
        "---\n---\n_path: /\nname: a\n"
    );
    assert_eq!(file(text).text(), text);
}

#[test]
fn order() {
    let text = "---\nhttps: true\ncnames:\n- b.org\n- a.org\n---\n_path: /b\ncontent-type: a\ncategories:\n- x\n- x\n---\n_path: /B\ncatalogue:\n  b: 1\n  a: 2\n";
    assert_snapshot!(findings(text), @r#"
    3:1: error[unsorted-list]: `cnames` is not sorted: `a.org` should come before `b.org` (`urldb fmt` sorts it)
    3:1: error[unsorted-keys]: `cnames` should come before `https` (keys are sorted; `urldb fmt` sorts them)
    9:1: error[unsorted-list]: `categories` lists `x` twice (`urldb fmt` sorts it)
    9:1: error[unsorted-keys]: `categories` should come before `content-type` (keys are sorted; `urldb fmt` sorts them)
    13:1: error[unsorted-records]: the record for /B should come before /b (records are sorted by `_path`; `urldb fmt` sorts them)
    14:1: error[unsorted-keys]: the keys inside `catalogue` are not sorted (`urldb fmt` sorts them)
    15:1: error[not-canonical]: this is not in canonical form (the line should be `  b: '1'`; formatting does it)
    "#);
}

#[test]
fn values_of_the_wrong_kind() {
    let text = "---\ncnames: a.org\nhttps: maybe\n---\n_path: /\ncategories: a\ncontent-length: 0x10\ncontent-sha256: ABC\n\
        content-type: [a]\nstatus: 99\n---\n_path: /b\ncontent-length: -1\nrequest-headers: x\nstatus: teapot\n";
    assert_snapshot!(findings(text), @r#"
    2:1: error[bad-value]: `cnames` should be a list of host names, found `a.org`
    3:1: error[bad-value]: `https` should be true or false, found `maybe`
    6:1: error[bad-value]: `categories` should be a list of texts, found `a`
    7:1: error[bad-content-length]: `content-length` should be a number of bytes, found `0x10` (write it in decimal digits without sign or leading zero)
    7:1: error[not-canonical]: this is not in canonical form (the line should be `content-length: '0x10'`; formatting does it)
    8:1: error[bad-digest]: `content-sha256` should be 64 lower-case hexadecimal digits
    9:1: error[bad-value]: `content-type` should be text, found a list
    10:1: error[bad-status]: `status` should be an HTTP status code, found `99` (write three digits from 100 to 599)
    13:1: error[bad-content-length]: `content-length` should be a number of bytes, found `-1` (write it in decimal digits without sign or leading zero)
    13:1: error[not-canonical]: this is not in canonical form (the line should be `content-length: '-1'`; formatting does it)
    14:1: error[bad-value]: `request-headers` should be a mapping of names to texts, found `x`
    15:1: error[bad-status]: `status` should be an HTTP status code, found `teapot` (write three digits from 100 to 599)
    "#);
}

#[test]
fn names_and_keys() {
    let text = "---\ncase_sensitive_paths: true\ncnames:\n- Bücher.example\n- WWW.example.org\n- a.org:80\n- example.com\n\
        ---\n_path: /\ncontent_type: a\nhttps: true\nmy-own-key: b\n";
    assert_snapshot!(findings(text), @r#"
    2:1: error[unknown-key]: `case_sensitive_paths` means nothing here (did you mean `case-sensitive-paths`? If the key is your own, name it in urldb.toml: [lint] keys = ["case_sensitive_paths"])
    4:1: error[bad-cname]: the cname `Bücher.example` is not in ASCII; international names are written in punycode (write xn--bcher-kva.example)
    4:1: error[not-canonical]: this is not in canonical form (the line should be `- "B\xFCcher.example"`; formatting does it)
    5:1: error[bad-cname]: the cname `WWW.example.org` has characters other than lower-case letters, digits, `-`, `_` and `.` (write www.example.org)
    6:1: error[bad-cname]: the cname `a.org:80` has a port after a colon; a domain file has it after `+` (write a.org)
    7:1: error[bad-cname]: the cname `example.com` is the domain of the file itself (remove it)
    10:1: error[unknown-key]: `content_type` means nothing here (did you mean `content-type`? If the key is your own, name it in urldb.toml: [lint] keys = ["content_type"])
    11:1: error[unknown-key]: `https` means nothing in a record (it belongs in the first document, the metadata)
    "#);
    let names = [
        "Example.com.yaml",
        "bücher.example.yaml",
        "example.com.:80.yaml",
        "a..b.yaml",
        "example.com.yml",
    ];
    let found: String = names
        .iter()
        .map(|name| findings_in(name, b"---\n"))
        .collect();
    assert_snapshot!(found, @r#"
    1:1: error[bad-file-name]: the host in the file name, `Example.com`, has characters other than lower-case letters, digits, `-`, `_` and `.` (name the file example.com.yaml)
    1:1: error[bad-file-name]: the host in the file name, `bücher.example`, is not in ASCII; international names are written in punycode (name the file xn--bcher-kva.example.yaml)
    1:1: error[bad-file-name]: the host in the file name, `example.com.:80`, has a port after a colon; a domain file has it after `+` (name the file example.com.yaml)
    1:1: error[bad-file-name]: the host in the file name, `a..b`, has a part that is empty, too long, or starts or ends with `-`
    1:1: error[bad-file-name]: the file name `example.com.yml` does not end in `.yaml` (name it example.com.yaml)
    "#);
}

#[test]
fn a_key_of_equals_signs_is_no_conflict() {
    let text = "---\n---\n======= a: b\n_path: /\n";
    let file = DomainFile::parse("example.com.yaml", text.as_bytes()).file;
    assert_eq!(file.canonical().unwrap(), text);
}

#[test]
fn misspelled_promises_are_errors_unless_declared() {
    let text = "---\n---\n_path: /\ncategories:\n- deprecated\n- mine\n- redirect_ok\ncontent-sha265: a\nsha256: c\nstate: b\n";
    assert_snapshot!(findings(text), @r#"
    4:1: error[unknown-category]: urldb does not act on the category `redirect_ok` (did you mean `redirect-ok`?)
    8:1: error[unknown-key]: `content-sha265` means nothing here (did you mean `content-sha256`? If the key is your own, name it in urldb.toml: [lint] keys = ["content-sha265"])
    9:1: error[unknown-key]: `sha256` means nothing here (did you mean `content-sha256`? If the key is your own, name it in urldb.toml: [lint] keys = ["sha256"])
    10:1: error[unknown-key]: `state` means nothing here (did you mean `status`? If the key is your own, name it in urldb.toml: [lint] keys = ["state"])
    "#);
    let parsed = DomainFile::parse("example.com.yaml", text.as_bytes());
    let own_keys = ["state".to_owned(), "sha256".to_owned()];
    let mut linter = Linter::of_values(parsed.file.path(), &own_keys);
    let left = parsed
        .documents()
        .flat_map(|document| linter.see(&document));
    let codes: Vec<_> = left.map(|finding| finding.code).collect();
    assert_eq!(codes, [Code::UnknownCategory, Code::UnknownKey]);
}

#[test]
fn paths() {
    let paths = [
        "a",
        "/#x",
        "/a b",
        "/é",
        "/a\\b",
        "/100%",
        "/%zz",
        "/%41",
        "/a?b=c;d#",
    ];
    let mut text = "---\n".to_owned();
    for path in paths {
        writeln!(text, "---\n_path: {path}").unwrap();
    }
    let found: String = findings(&text)
        .lines()
        .filter(|line| line.contains("bad-path"))
        .flat_map(|line| [line, "\n"])
        .collect();
    assert_snapshot!(found, @r#"
    3:8: error[bad-path]: the path does not start with `/` (write an absolute path, without scheme and host)
    5:9: error[bad-path]: the path has a fragment (remove `#` and what follows, or write %23 for a literal `#`)
    7:10: error[bad-path]: the path has the character U+0020 (write it as %20)
    9:9: error[bad-path]: the path has the character U+00E9 (write it as %C3%A9)
    11:10: error[bad-path]: the path has a backslash (write `/` to separate, or %5C for a literal backslash)
    13:12: error[bad-path]: the path has a `%` without two hexadecimal digits after it (write %25 for a literal `%`)
    15:9: error[bad-path]: the path has a `%` without two hexadecimal digits after it (write %25 for a literal `%`)
    19:16: error[bad-path]: the path has a fragment (remove `#` and what follows, or write %23 for a literal `#`)
    "#);
}

#[test]
fn merge_keys_are_refused_as_anchors_are() {
    for own in [
        "<<: {name: x}",
        "own: {<<: {name: x}}",
        "own: {a: b, << : {name: x}}",
        "own:\n  <<:\n    name: x",
        "own:\n- <<: {}",
        "? <<\n: {name: x}",
        "own: <<",
    ] {
        let found = findings(&format!("---\n---\n_path: /\n{own}\n"));
        assert!(found.contains("anchor-or-tag"), "{own}: {found}");
    }
    for own in [
        "'<<': {name: x}",
        "own: {\"<<\": x}",
        "own: a << b",
        "own: <<a",
    ] {
        let found = findings(&format!("---\n---\n_path: /\n{own}\n"));
        assert!(!found.contains("anchor-or-tag"), "{own}: {found}");
    }
}

/// YAML 1.2 reads `1e3` as a number, and YAML 1.1 as text.
#[test]
fn quotes_that_only_newer_readers_need_stay() {
    let text =
        "---\n---\n_path: /\na:\n- '1e3'\n- 1e3\n- b: '0o7'\nc: '08'\nd: 'text'\nname: '1e3'\n";
    let canonical = file(text).canonical().unwrap();
    let expected =
        "---\n---\n_path: /\na:\n- '1e3'\n- 1e3\n- b: '0o7'\nc: '08'\nd: text\nname: 1e3\n";
    assert_eq!(canonical, expected);
    assert_eq!(file(&canonical).canonical().unwrap(), canonical);
}

#[test]
fn what_is_refused() {
    let text = "---\nhttps: &a true\n---\n_path: /a\n_path: /b\n---\n_path: /c\nname: !!str x\nx: \"unterminated\n---\n- a\n---\njust text\n\
        ---\nname: no path\n---\n_path: [a]\n---\n<<<<<<< ours\n_path: /d\n=======\n_path: /e\n>>>>>>> theirs\n---\n_path: /f\nname: a\u{7}b\n";
    assert_snapshot!(findings(text), @r#"
    2:8: error[anchor-or-tag]: anchors (`&`), aliases (`*`), tags (`!`) and merge keys (`<<`) are not part of the format (write the value out, or quote it if it is text)
    5:1: error[duplicate-key]: this key was already given on line 4 (remove one of the two)
    8:7: error[anchor-or-tag]: anchors (`&`), aliases (`*`), tags (`!`) and merge keys (`<<`) are not part of the format (write the value out, or quote it if it is text)
    9:1: error[syntax-error]: found unexpected end of stream (check the quotes, brackets and indentation of this value)
    11:1: error[not-a-mapping]: expected `key: value`, found a list
    13:1: error[not-a-mapping]: expected `key: value`, found text
    14:1: error[missing-path]: this record has no `_path` (add one, or remove the document)
    17:1: error[missing-path]: `_path` is not text (write one path on the line of the key)
    19:1: error[conflict-marker]: a merge left a conflict here (keep one side, or both where they are different records, and remove the marker lines)
    26:8: error[syntax-error]: the character U+0007 is not allowed here (remove it, or write it as an escape in double quotes)
    "#);
    let error = file(text).canonical().unwrap_err();
    assert_snapshot!(error, @"example.com.yaml:2: anchors (`&`), aliases (`*`), tags (`!`) and merge keys (`<<`) are not part of the format; fix this by hand first");
    assert!(file(text).text() == text);
}

#[test]
fn duplicate_records() {
    let same = "---\n---\n# one\n_path: /\nname: a\n---\nname: 'a'\n# two\n_path: /\n";
    assert!(codes(same).contains(&Code::DuplicateRecord));
    assert_eq!(
        file(same).canonical().unwrap(),
        "---\n---\n# one\n# two\n_path: /\nname: a\n"
    );
    let different = "---\n---\n_path: /\nname: a\n---\n_path: /\nname: b\n";
    assert_snapshot!(file(different).canonical().unwrap_err(), @"example.com.yaml:6: line 3 has a record for / already; fix this by hand first");
    let requests = "---\n---\n_path: /\n---\n_path: /\nmethod: POST\nrequest-body: a\n";
    assert_eq!(findings(requests), "");
}

#[test]
fn requests_are_told_apart_by_method_and_body() {
    let record = |body: &str, more: &str| {
        format!("---\n_path: /\nmethod: POST\nrequest-body: '{body}'\n{more}")
    };
    let json = "request-content-type: application/json\n";
    let header = "request-headers:\n  Content-Type: application/json\n";
    let apart = format!(
        "---\n{}{}{}---\n_path: /\nmethod: PUT\n",
        record("{\"a\":1}", ""),
        record("{\"a\":1}", json),
        record("{\"a\":2}", json),
    );
    assert_eq!(findings(&apart), "");
    let same = format!(
        "---\n{}{}",
        record("{\"a\":1}", header),
        record("{\"a\": 1.0}", json)
    );
    assert_snapshot!(findings(&same), @"9:1: error[duplicate-record]: line 3 has a record for POST / already (they differ: keep the right one)");
    let headers = format!(
        "---\n{}{}",
        record("a", ""),
        record("a", "request-headers:\n  A: b\n")
    );
    assert!(codes(&headers).contains(&Code::DuplicateRecord));
    let unsorted = format!("---\n{}{}---\n_path: /\n", record("b", ""), record("a", ""));
    let sorted = file(&unsorted).canonical().unwrap();
    assert_eq!(
        sorted,
        format!(
            "---\n---\n_path: /\n{}{}",
            record("a", "").replace('\'', ""),
            record("b", "").replace('\'', "")
        )
    );
    let mut edited = file(&sorted);
    let identity = edited.records().nth(1).unwrap().record().identity();
    assert_eq!(
        identity.request.as_deref(),
        Some("__wb_method=POST&__wb_post_data=YQ==")
    );
    edited.remove(&identity).unwrap();
    assert_eq!(edited.records().count(), 2);
}

#[test]
fn bytes_that_are_not_utf_8() {
    let found = findings_in("example.com.yaml", b"---\n---\n_path: /\nname: caf\xE9\n");
    assert_snapshot!(found, @"4:10: error[invalid-utf8]: byte 26 (0xE9) of the file is not UTF-8 (save the file as UTF-8)");
}

#[test]
fn missing_metadata_is_added() {
    let text = "---\n_path: /b\n---\n_path: /a\n";
    assert!(codes(text).contains(&Code::MissingMetadata));
    assert_eq!(
        file(text).canonical().unwrap(),
        "---\n---\n_path: /a\n---\n_path: /b\n"
    );
    assert_eq!(file("").canonical().unwrap(), "---\n");
    assert_eq!(
        file("# only a comment").canonical().unwrap(),
        "# only a comment\n---\n"
    );
}

#[test]
fn bombs_are_refused_quickly() {
    let mut aliases = "---\n---\n_path: /\na: &a [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for (before, name) in ('a'..='y').zip('b'..='z') {
        writeln!(
            aliases,
            "{name}: &{name} [*{before}, *{before}, *{before}, *{before}, *{before}, *{before}]"
        )
        .unwrap();
    }
    let n = 100_000;
    let deep = [
        format!(
            "---\n---\n_path: /\na: {}{}\n",
            "[".repeat(n),
            "]".repeat(n)
        ),
        format!("---\n{}{}\n", "{a: ".repeat(n), "}".repeat(n)),
        format!("---\n---\n_path: /\na:\n  {}x\n", "- ".repeat(n)),
        format!("---\n---\n_path: /\na:\n  {}x\n", "? ".repeat(n)),
        format!("---\n---\n_path: /\na: \"{}\n", "[".repeat(n)),
        aliases,
    ];
    for text in deep {
        let start = Instant::now();
        assert!(file(&text).canonical().is_err(), "{}", &text[..40]);
        assert!(start.elapsed() < Duration::from_secs(30));
    }
}

#[test]
fn many_repeated_keys_take_no_longer_than_others() {
    let text = format!("---\n---\n_path: /\n{}", "a: b\n".repeat(200_000));
    let start = Instant::now();
    assert!(codes(&text).contains(&Code::DuplicateKey));
    assert!(start.elapsed() < Duration::from_mins(1));
}

#[test]
fn edits() {
    let text = "# head\n---\n---\n_path:   /b # kept as it is\n---\n# about d\n_path: /d\nname: d";
    let mut file = file(text);
    file.insert(Record {
        content_length: Some(5),
        ..Record::new("/c")
    })
    .unwrap();
    file.insert(Record::new("/e")).unwrap();
    file.update(&RecordIdentity::get("/d"), |record| {
        record.path = "/a".to_owned();
    })
    .unwrap();
    file.update_metadata(|metadata| metadata.cnames.push("www.example.com".to_owned()))
        .unwrap();
    assert_snapshot!(file.text(), @r#"
    # head
    ---
    cnames:
    - www.example.com
    ---
    # about d
    _path: /a
    name: d
    ---
    _path:   /b # kept as it is
    ---
    _path: /c
    content-length: 5
    ---
    _path: /e
    "#);
    assert_eq!(
        file.get(&RecordIdentity::get("/c"))
            .unwrap()
            .key_line("content-length"),
        Some(13)
    );
    assert!(matches!(
        file.insert(Record::new("/b")),
        Err(Error::RecordExists { line: 10, .. })
    ));
    assert!(matches!(
        file.remove(&RecordIdentity::get("/x")),
        Err(Error::NoSuchRecord { .. })
    ));
    assert!(matches!(
        file.update(&RecordIdentity::get("/a"), |record| record.path =
            "/b".to_owned()),
        Err(Error::RecordExists { .. })
    ));
    assert_eq!(
        file.remove(&RecordIdentity::get("/a"))
            .unwrap()
            .name
            .as_deref(),
        Some("d")
    );
}

#[test]
fn a_document_before_a_record_without_marker_does_not_swallow_it() {
    let record = |path: &str| Record {
        content_length: Some(7),
        ..Record::new(path)
    };
    let inserted = |text: &str| {
        let mut edited = file(text);
        edited.insert(record("/")).unwrap();
        let mut put = file(text);
        put.put_all([record("/")]).unwrap();
        assert_eq!(put.text(), edited.text());
        let paths_and_lines = |file: &DomainFile| {
            let records = file.records();
            let lines = records.map(|entry| (entry.record().path.clone(), entry.line()));
            lines.collect::<Vec<_>>()
        };
        let read = file(&edited.text());
        for file in [&edited, &put] {
            assert_eq!(paths_and_lines(file), paths_and_lines(&read));
        }
        edited.text()
    };
    let new = "---\n_path: /\ncontent-length: 7\n";
    for (before, after) in [
        ("_path: /b\n", "---\n_path: /b\n"),
        ("_path: /b", "---\n_path: /b"),
        ("# b\n\n_path: /b\n", "# b\n\n---\n_path: /b\n"),
        ("---9---\n_path: /b\n", "---\n---9---\n_path: /b\n"),
        (
            "_path: /b\n---\n_path: /c\n# end\n",
            "---\n_path: /b\n---\n_path: /c\n# end\n",
        ),
    ] {
        assert_eq!(inserted(before), format!("{new}{after}"));
    }
    let crlf = inserted("_path: /b\r\nname: b\r\n");
    let new = new.replace('\n', "\r\n");
    assert_eq!(crlf, format!("{new}---\r\n_path: /b\r\nname: b\r\n"));
    for text in ["_path: /b\n---\n_path: /c\n", "_path: [b]\n"] {
        let mut edited = file(text);
        edited
            .update_metadata(|metadata| metadata.https = true)
            .unwrap();
        assert_eq!(edited.text(), format!("---\nhttps: true\n---\n{text}"));
    }
    let mut renamed = file("_path: /b\n---\n_path: /c\n");
    renamed
        .update(&RecordIdentity::get("/c"), |record| {
            record.path = "/a".to_owned();
        })
        .unwrap();
    assert_eq!(renamed.text(), "---\n_path: /a\n---\n_path: /b\n");
    // The edit of another record leaves it alone.
    let mut edited = file("_path: /b\n");
    edited.insert(Record::new("/c")).unwrap();
    assert_eq!(edited.text(), "_path: /b\n---\n_path: /c\n");
}

#[test]
fn a_damaged_record_is_not_edited() {
    let mut file = file("---\n---\n_path: /\nname: *x\n---\n_path: /b\n---\n_path: /b\n");
    for path in ["/", "/b"] {
        let edit = file.update(&RecordIdentity::get(path), |record| {
            record.content_length = Some(1);
        });
        assert!(matches!(edit, Err(Error::Unsafe { .. })), "{edit:?}");
    }
}
