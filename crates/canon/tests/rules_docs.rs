//! Every example of docs/site-rules.md works as the page says.
//!
//! The scripts of a section, ```` ```rules DOMAIN ```` or ```` ```rules website WEBSITE ````, are the
//! rules for the tables below them. The heading of each column selects the value to compare. A block of
//! ```` ```text ```` right after a script has the findings of that script.
#![allow(clippy::disallowed_methods, clippy::too_many_lines)]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use urldb_canon::rules::{Compilation, DomainScript, ResolveError, SiteRules, WebsiteScript};
use urldb_text::{Code, Finding, Subject};

/// The text of the page; `None` in a published package, which has this crate alone.
fn page() -> Option<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/site-rules.md");
    let page = fs::read_to_string(path).ok();
    if page.is_none() {
        eprintln!("skipped: there is no docs/site-rules.md");
    }
    page
}

/// A block of the page.
enum DocBlock<'a> {
    Heading,
    /// The info string of a fenced code block, and its text.
    Code(&'a str, String),
    /// The cells of the rows; the first row is the heading.
    Table(Vec<Vec<&'a str>>),
}

fn blocks(page: &str) -> Vec<DocBlock<'_>> {
    let mut blocks = Vec::new();
    let mut lines = page.lines().peekable();
    while let Some(line) = lines.next() {
        if line.starts_with('#') {
            blocks.push(DocBlock::Heading);
        } else if let Some(info) = line.strip_prefix("```") {
            let block = lines.by_ref().take_while(|line| *line != "```");
            let block: Vec<_> = block.collect();
            blocks.push(DocBlock::Code(info, block.join("\n")));
        } else if line.starts_with('|') {
            let mut rows = vec![cells(line)];
            while let Some(row) = lines.next_if(|line| line.starts_with('|')) {
                rows.push(cells(row));
            }
            blocks.push(DocBlock::Table(rows));
        }
    }
    blocks
}

fn cells(row: &str) -> Vec<&str> {
    let inside = row.trim_matches('|').split('|');
    inside.map(|cell| cell.trim().trim_matches('`')).collect()
}

/// Adds the script of a block to `rules`, and returns its findings.
fn insert(rules: &mut SiteRules, info: &str, source: &str) -> Vec<Finding> {
    if let Some(website) = info.strip_prefix("website ") {
        let Compilation { script, findings } = WebsiteScript::compile(source);
        if let Some(script) = script {
            rules.insert_website(website, script);
        }
        findings
    } else {
        let Compilation { script, findings } = DomainScript::compile(source);
        if let Some(script) = script {
            rules.insert_domain(info, script);
        }
        findings
    }
}

/// The value of `url` for a column, by `rules`.
fn column(rules: &SiteRules, url: &str, head: &str) -> String {
    let found = match rules.resolve(url) {
        Ok(found) => found,
        Err(failure) if matches!(head, "page" | "record") => return failure.code().to_owned(),
        Err(ResolveError::UnknownDomain { default, .. }) if head == "suggestion" => {
            return default.and_then(|it| it.url).unwrap_or_default();
        }
        Err(_) => return String::new(),
    };
    match head {
        "page" => format!("{}{}", found.website, found.page),
        "official" => found
            .official
            .unwrap_or_else(|rejected| rejected.to_string()),
        "record" => match found.record {
            Ok(record) => format!("{}{}", record.host, record.path),
            Err(error) => error.code().to_owned(),
        },
        "redirect" => match found.redirect {
            Some(redirect) => format!("{} to {}", redirect.status, found.page_url),
            None => String::new(),
        },
        "options" => {
            let options = found.options.iter();
            let pairs: Vec<_> = options
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
            pairs.join(", ")
        }
        other => panic!("unknown column {other:?}"),
    }
}

#[test]
fn examples_do_what_the_page_says() {
    let Some(page) = page() else { return };
    let mut rules = SiteRules::new();
    let mut findings: Vec<Finding> = Vec::new();
    let mut compared = 0;
    for doc_block in blocks(&page) {
        match doc_block {
            DocBlock::Heading => {
                assert_eq!(findings, [], "a script of the page");
                rules = SiteRules::new();
            }
            DocBlock::Code("text", block) if !findings.is_empty() => {
                let told: Vec<_> = findings.drain(..).map(|d| d.to_string()).collect();
                assert_eq!(told.join("\n"), block);
            }
            DocBlock::Code(info, source) => {
                if let Some(about) = info.strip_prefix("rules ") {
                    findings = insert(&mut rules, about, &source);
                }
            }
            DocBlock::Table(rows) => {
                let (head, rows) = rows.split_first().expect("a head");
                if head[0] != "URL" {
                    continue;
                }
                assert_eq!(findings, [], "the script above {rows:?}");
                for row in rows.iter().skip(1) {
                    for (head, expected) in head.iter().zip(row).skip(1) {
                        assert_eq!(column(&rules, row[0], head), *expected, "{head} of {row:?}");
                        compared += 1;
                    }
                }
            }
        }
    }
    assert!(compared > 50, "only {compared} cells were compared");
}

#[test]
fn every_code_has_a_section() {
    let Some(page) = page() else { return };
    let told: BTreeSet<_> = page
        .lines()
        .filter_map(|line| line.strip_prefix("### `rule-")?.strip_suffix('`'))
        .map(|name| format!("rule-{name}"))
        .collect();
    let codes = Code::ALL.iter();
    let codes = codes.filter(|code| code.subject() == Subject::RuleScript);
    let codes = codes.map(|code| code.as_str().to_owned());
    assert_eq!(told, codes.collect());
}
