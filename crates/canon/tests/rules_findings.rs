//! Site rules: findings report every mistake in a script, with its position.
#![allow(clippy::disallowed_methods, clippy::too_many_lines)]

use std::collections::BTreeSet;

use urldb_canon::rules::{DomainScript, SiteRules, WebsiteScript};
use urldb_text::{Code, Finding, Subject};

fn domain(source: &str) -> Vec<Finding> {
    DomainScript::compile(source).findings
}

fn website(source: &str) -> Vec<Finding> {
    WebsiteScript::compile(source).findings
}

/// `LINE:COLUMN+LENGTH CODE`, without the prefix of all codes.
fn brief(findings: &[Finding]) -> Vec<String> {
    let brief = |found: &Finding| {
        let code = found.code.as_str().trim_start_matches("rule-");
        let length = found.excerpt.as_ref().expect("an excerpt").length;
        format!("{}:{}+{length} {code}", found.line, found.column)
    };
    findings.iter().map(brief).collect()
}

fn excerpt_of(finding: &Finding) -> String {
    let excerpt = finding.excerpt.as_ref().expect("an excerpt");
    excerpt.lines().join("\n")
}

/// Scripts of domains, and their findings.
const DOMAIN: &[(&str, &[&str])] = &[
    ("", &["1:1+1 empty"]),
    (" // nothing", &["1:12+1 empty"]),
    ("a { };\nb { };", &["1:1+1 empty", "2:1+1 empty"]),
    (
        "a { namespace domain { }; optional b = 'c.'; };",
        &["1:15+6 empty"],
    ),
    ("a { optional b = 'c.'; }", &["1:24+1 semicolon"]),
    (
        "a { optional b = 'c.'; }; a { optional b = 'c.'; };",
        &["1:27+1 duplicate"],
    ),
    (
        "a { optional b = 'c.'; required b = 'd.'; };",
        &["1:33+1 duplicate"],
    ),
    (
        "a { optional b = 'c.'; optional domain::b = 'd.'; };",
        &["1:41+1 duplicate"],
    ),
    ("a { optional b = 'c.'; optional options::b = 'd.'; };", &[]),
    (
        "a { optional b = 'c.'; optional canonalize::b = 'd.'; };",
        &[],
    ),
    (
        "a { optional b = redirect('c.', '301'); };",
        &["1:14+1 redirect"],
    ),
    ("a { parameters = strict; };", &["1:5+10 syntax"]),
    (
        "a { optional global::b = flag('c.'); namespace canonicalize { optional b = flag('c.'); } };",
        &["1:72+1 duplicate"],
    ),
    ("a { optional other::b = 'c.'; };", &["1:14+5 namespace"]),
    (
        "a { optional domain::canonalize::b = 'c.'; };",
        &["1:22+10 namespace"],
    ),
    ("a { optional b = 'c'; };", &["1:18+3 separator"]),
    ("a { optional b = '(c|d\\.|)'; };", &[]),
    ("a { optional b = 'c-'; };", &[]),
    ("a { optional b = '(c)(d).'; };", &["1:18+9 pattern"]),
    ("a { optional b = 'é[c'; };", &["1:20+1 pattern"]),
    ("a { optional b = '\\x61\\x62[c'; };", &["1:27+1 pattern"]),
    (
        "a { optional b = 'c.'; optional d = '(?=e)'; };",
        &["1:38+3 pattern"],
    ),
    ("a { optional b = '(?x)c.#'; };", &["1:1+1 pattern"]),
    ("a { optional b = '\\p{L}.'; };", &["1:19+5 pattern"]),
    (
        "a { optional b = '\\bc.'; };",
        &["1:18+6 control-character"],
    ),
    ("a { optional b = '^c.'; };", &["1:18+5 anchor"]),
    ("a { optional b = '\\<c.'; };", &["1:18+6 anchor"]),
    ("a { optional b = '\\0.'; };", &["1:19+2 escape"]),
    (
        "a { optional b = '\\ud800 \\x \\u12 \\777'; };",
        &[
            "1:19+6 escape",
            "1:26+2 escape",
            "1:29+4 escape",
            "1:34+4 escape",
            "1:18+21 separator",
        ],
    ),
    ("a { required b = flag('c.'); };", &["1:14+1 required-flag"]),
    (
        "a { required b = flag('c.', 'c'); };",
        &["1:14+1 required-flag", "1:29+3 required-default"],
    ),
    (
        "a { optional b = website('c.', 'C'); };",
        &["1:32+3 replacement", "1:32+3 replacement-unmatched"],
    ),
    (
        "a { optional b = website('c.', 'd'); };",
        &["1:32+3 replacement-unmatched"],
    ),
    ("a { optional b = website('c.', ''); };", &[]),
    (
        "a { optional canonalize::b = flag('(c|d).', 'e'); };",
        &["1:45+3 replacement-unmatched"],
    ),
    (
        "a { optional b = 'c\r\nd'; };",
        &[
            "1:18+2 syntax",
            "2:1+1 syntax",
            "2:2+5 syntax",
            "2:7+1 syntax",
        ],
    ),
    ("a { optional b = 'c.'; }; /* x", &["1:27+2 syntax"]),
    (
        "a { optional b = 'c.' }; d { ! };",
        &["1:23+1 syntax", "1:30+1 syntax", "1:26+1 empty"],
    ),
    (
        "a {\r optional b = 1;\n required = 'c.';\r\n e",
        &[
            "2:15+1 syntax",
            "2:16+1 syntax",
            "3:11+1 syntax",
            "4:2+1 syntax",
            "4:3+1 syntax",
        ],
    ),
    (
        "namespace { optional b = 'c.'; }; d {} ;",
        &["1:1+9 syntax", "1:35+1 empty"],
    ),
    ("a { protocol = 'any'; };", &["1:5+8 syntax"]),
];

/// Scripts of websites, and their findings.
const WEBSITE: &[(&str, &[&str])] = &[
    ("a { protocol = 'any'; port = '080'; };", &[]),
    (
        "a { protocol = 'ftp'; port = '0'; };",
        &["1:16+5 protocol", "1:30+3 port"],
    ),
    (
        "a { port = '65536'; port = '+80'; };",
        &["1:12+7 port", "1:28+5 duplicate", "1:28+5 port"],
    ),
    (
        "a { protocol = 'http'; protocol = 'https'; };",
        &["1:35+7 duplicate"],
    ),
    ("a { optional b = 'c'; };", &[]),
    (
        "a { optional b = 'c'; path optional d = 'e'; };",
        &["1:18+3 separator"],
    ),
    ("a { optional b = 'c/'; query optional b = 'd'; };", &[]),
    (
        "a { query optional b = 'c'; query optional options::b = 'd'; };",
        &["1:53+1 duplicate"],
    ),
    (
        "a { optional canonalize::b = flag('c/'); query optional canonalize::b = flag('c'); };",
        &["1:69+1 official"],
    ),
    (
        "a { optional b = website('c/', 'c/?d'); };",
        &["1:32+6 replacement", "1:32+6 replacement-unmatched"],
    ),
    (
        "a { optional b = website('.*', '/c'); };",
        &["1:32+4 replacement"],
    ),
    (
        "a { optional b = website('.*', '..'); };",
        &["1:32+4 replacement"],
    ),
    (
        "a { optional b = website('.*', 'c d'); };",
        &["1:32+5 replacement"],
    ),
    ("a { query optional b = website('.*', 'c d'); };", &[]),
    ("a { query path optional b = 'c'; };", &["1:11+4 syntax"]),
    (
        "a { parameters = strict; path = lower; parameters = redirect('301'); path = lower; };",
        &["1:53+8 duplicate", "1:77+5 duplicate"],
    ),
    (
        "a { parameters = lower; parameters = lower; path = parameter('q'); path = parameter('p'); };",
        &["1:38+5 duplicate", "1:75+9 duplicate"],
    ),
    (
        "a { parameters = redirect('303'); path = parameter('a=b'); };",
        &["1:27+5 redirect", "1:52+5 parameter"],
    ),
    (
        "a { parameters = any; path = strict; parameters optional b = 'c'; };",
        &["1:18+3 syntax", "1:30+6 syntax", "1:49+8 syntax"],
    ),
    (
        "a { query optional b = redirect('c'); optional d = redirect('e', 301); };",
        &["1:36+1 syntax", "1:66+3 syntax", "1:69+1 syntax"],
    ),
    (
        "a { query required b = redirect('c', '301'); optional global::d = redirect('e', '300'); };",
        &["1:20+1 redirect", "1:63+1 redirect", "1:81+5 redirect"],
    ),
    (
        "a { query optional 'b c' = 'd'; query optional '' = flag(lower('e')); };",
        &["1:20+5 parameter", "1:48+2 parameter"],
    ),
    (
        "a { optional b = lower('(?x)c # d'); };",
        &["1:24+11 pattern"],
    ),
];

#[test]
fn all_that_is_wrong_is_told() {
    let mut seen = BTreeSet::new();
    let mut wrong = Vec::new();
    let all = [(DOMAIN, domain as fn(&str) -> _), (WEBSITE, website)];
    for (table, compile) in all {
        for (source, expected) in table {
            let mut found = compile(source);
            let mut told = brief(&found);
            let mut expected = expected.to_vec();
            told.sort_unstable();
            expected.sort_unstable();
            if told != expected {
                wrong.push(format!("{source}: {told:?}"));
            }
            seen.extend(found.drain(..).map(|d| d.code));
        }
    }
    assert_eq!(wrong, [""; 0]);
    seen.insert(Code::RuleTooLarge); // below
    let codes = Code::ALL.iter().copied();
    let codes = codes.filter(|code| code.subject() == Subject::RuleScript);
    assert_eq!(seen, codes.collect());
}

#[test]
fn limits_hold() {
    let lines = |count: usize, line: fn(usize) -> String| -> String {
        let lines: Vec<_> = (0..count).map(line).collect();
        lines.join("\n")
    };
    let rules = |count| lines(count, |n| format!("r{n} {{ optional b = 'c.'; }};"));
    assert_eq!(brief(&domain(&rules(64))), [""; 0]);
    assert_eq!(brief(&domain(&rules(65))), ["65:1+3 too-large"]);
    let variables = |count| {
        let all = lines(count, |n| format!("optional v{n} = 'c.';"));
        format!("a {{\n{all}\n}};")
    };
    assert_eq!(brief(&domain(&variables(32))), [""; 0]);
    assert_eq!(brief(&domain(&variables(33))), ["34:10+3 too-large"]);
    let script = "a { optional b = 'c.'; };";
    let padded = |length: usize| format!("{script}{}", " ".repeat(length - script.len()));
    assert_eq!(brief(&domain(&padded(64 << 10))), [""; 0]);
    assert_eq!(brief(&domain(&padded((64 << 10) + 1))), ["1:1+1 too-large"]);
}

#[test]
fn open_namespaces_do_not_nest_the_parser() {
    let source = format!("a {{ {}", "namespace a{".repeat(5000));
    assert_eq!(domain(&source).len(), 1);
}

#[test]
fn patterns_are_bounded_together() {
    let large = |pattern: &str| format!("a {{ optional b = '{pattern}'; }};");
    let found = domain(&large(r"(?:[a-z]{60}\.){60}"));
    assert_eq!(brief(&found), ["1:1+1 pattern"]);
    assert_eq!(
        found[0].message,
        "the patterns are too large: over 64 KiB compiled"
    );
    let nested = format!("{}c{}", "(?:".repeat(200), ")".repeat(200));
    assert_eq!(domain(&large(&nested))[0].code, Code::RulePattern);
}

#[test]
fn an_excerpt_shows_the_place() {
    let source = "a {\n\toptional b = 'c\u{1b}.' 'd';\n};";
    let found = domain(source);
    assert_eq!(
        excerpt_of(found.last().expect("one")),
        " optional b = 'c\u{fffd}.' 'd';\n                    ^^^"
    );
    let long = format!("a {{ optional b = {}'c' 'd'; }};", " ".repeat(1000));
    let excerpt = excerpt_of(&domain(&long)[0]);
    let lines: Vec<_> = excerpt.lines().collect();
    assert_eq!(lines[0].find("'d'"), lines[1].find("^^^"));
    assert!(lines[0].len() < 130);
}

#[test]
fn scripts_can_be_in_conflict() {
    let official = "optional canonalize::lang = flag";
    let domain = DomainScript::compile(&format!("a {{ {official}('en.'); }};")).script;
    let source = format!("a {{\n  {official}('en/'); }};");
    let website = WebsiteScript::compile(&source).script;
    let mut rules = SiteRules::new();
    rules.insert_website("www.example.org", website.expect("good"));
    assert_eq!(rules.conflicts(|_| &source), []);
    rules.insert_domain("example.org", domain.expect("good"));
    let [(website, finding)] = &rules.conflicts(|_| &source)[..] else {
        panic!("one conflict");
    };
    assert_eq!(*website, "www.example.org");
    assert_eq!(
        finding.to_string(),
        "2:24: rule-official: `lang` has an official position in the rules of the domain already"
    );
    assert_eq!(
        excerpt_of(finding),
        "  optional canonalize::lang = flag('en/'); };\n                       ^^^^"
    );
}
