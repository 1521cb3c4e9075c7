//! Finds the mistakes in a domain file.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use jiff::civil::Date;
use urldb_text::{Code, Finding};

use crate::document_ref::{Content, DocumentRef, canonical_comments};
use crate::domain_file::{ParsedFile, host_of};
use crate::emit::{KeyOrder, ValueRef};
use crate::entry::{RecordEntry, duplicate_record};
use crate::keys;
use crate::layout::Layout;
use crate::metadata::Metadata;
use crate::names::{HELD_URIS, check_host, is_domain_file, is_misnamed};
use crate::record::{ListOrder, RecordIdentity};
use crate::record_checks::{bad_value, check_path_of, check_uri_of, check_values};
use crate::spelling::misspelled;
use crate::value::{Mapping, Value};
use crate::vary::{is_lower_case_token, is_set_by_urldb};

/// The value of `vary`, for people.
const VARY: &str = "a list of names of request headers in lower case";

/// All mistakes in a file, in the order of the lines. A key in `own_keys` is never a misspelling.
pub fn lint(parsed: &ParsedFile, own_keys: &[String]) -> Vec<Finding> {
    let mut linter = Linter::new(&parsed.file.path, own_keys);
    let mut findings = vec![];
    for document in parsed.documents() {
        findings.append(&mut linter.see(&document));
    }
    findings.sort_by_key(|finding| (finding.line, finding.column));
    findings
}

/// Finds the mistakes in a domain file, document by document.
#[derive(Debug)]
pub struct Linter<'a> {
    path: PathBuf,
    host: String,
    own_keys: &'a [String],
    checks: Checks,
    /// Warns of each record whose `mute-until` is not after this day.
    today: Option<Date>,
    /// Whether a line so far ends in CR LF.
    has_crlf: bool,
    /// Whether the last line so far lacks its line break.
    is_line_open: bool,
    /// The last record of a file whose records are not in order.
    last: Option<RecordIdentity>,
    /// `vary` of the metadata.
    vary: Vec<String>,
}

/// The mistakes that are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Checks {
    All,
    /// Those that change the meaning of a promise.
    Values,
}

impl<'a> Linter<'a> {
    /// Finds all mistakes in the file at `path`. A key in `own_keys` is never a misspelling.
    pub fn new(path: &Path, own_keys: &'a [String]) -> Self {
        Self {
            path: path.to_owned(),
            host: host_of(path),
            own_keys,
            checks: Checks::All,
            today: None,
            has_crlf: false,
            is_line_open: false,
            last: None,
            vary: vec![],
        }
    }

    /// Finds only what reading finds, and the mistakes that change the meaning of a promise: mistakes in the file
    /// name, in the metadata and in single records ([`lint_promise`]), and records that contradict an earlier
    /// record for the same request.
    pub fn of_values(path: &Path, own_keys: &'a [String]) -> Self {
        Self {
            checks: Checks::Values,
            ..Self::new(path, own_keys)
        }
    }

    /// Warns also of each record whose `mute-until` has passed on this day.
    #[must_use]
    pub fn with_expired(mut self, today: Date) -> Self {
        self.today = Some(today);
        self
    }

    /// The mistakes in the next document of the file, those of its reader included, in the order of the lines.
    pub fn see(&mut self, document: &DocumentRef<'_>) -> Vec<Finding> {
        let mut findings = document.findings.to_vec();
        if document.metadata().is_some() {
            findings.extend(check_file_name(&self.path));
        }
        match self.checks {
            Checks::All => self.check_all(document, &mut findings),
            Checks::Values => self.check_values(document, &mut findings),
        }
        findings.sort_by_key(|finding| (finding.line, finding.column));
        findings
    }

    fn check_all(&mut self, document: &DocumentRef<'_>, findings: &mut Vec<Finding>) {
        let (text, line) = (document.text, document.start.line);
        if !self.has_crlf
            && !document.is_plain()
            && let Some(at) = text.find("\r\n")
        {
            self.has_crlf = true;
            let line = line + text[..at].matches('\n').count();
            let finding = Finding::new(Code::NotCanonical, line, "lines end in CR LF");
            findings.push(finding.with_help("end them in LF alone; formatting does so"));
        }
        match &document.content {
            Content::Head(head) => {
                self.vary.clone_from(&head.metadata.vary);
                if let Some(layout) = head.layout {
                    self.check_metadata(head.metadata, layout, findings);
                    lint_list("cnames", &head.metadata.cnames, layout, findings);
                    lint_list("vary", &head.metadata.vary, layout, findings);
                    if !document.is_blocked() {
                        lint_form(layout, head.metadata.fields(ListOrder::Source), findings);
                    }
                }
            }
            Content::Footer => {
                let finding = check_footer(text, self.is_line_open);
                findings.extend(finding.map(|(message, help)| {
                    Finding::new(Code::NotCanonical, line, message).with_help(help)
                }));
            }
            Content::Broken => {}
            Content::Plain(_) | Content::Read(_) | Content::Stored(_) => {
                self.check_record(document, findings);
            }
        }
        if !text.is_empty() {
            self.is_line_open = !text.ends_with('\n');
        }
    }

    fn check_record(&mut self, document: &DocumentRef<'_>, findings: &mut Vec<Finding>) {
        if document.is_plain() && !document.may_repeat && self.host != HELD_URIS {
            return;
        }
        let Some(entry) = document.to_entry() else {
            return;
        };
        findings.extend(self.check_promise(&entry));
        if !document.is_plain() {
            let (record, layout) = (&entry.record, &entry.layout);
            lint_list("categories", &record.categories, layout, findings);
            if entry.intact && !document.is_blocked() {
                lint_form(layout, record.fields(ListOrder::Source), findings);
            }
        }
        findings.extend(document.first.map(|first| duplicate_record(first, &entry)));
        if document.may_repeat {
            findings.extend(self.check_order(&entry));
        }
        findings.extend(self.today.and_then(|today| expired_mute(&entry, today)));
    }

    /// The mistakes that change the meaning of a record of this file.
    fn check_promise(&self, entry: &RecordEntry) -> Vec<Finding> {
        if self.host != HELD_URIS {
            return lint_promise(entry, self.own_keys);
        }
        let mut findings = lint_values(entry, self.own_keys);
        findings.extend(check_uri_of(entry));
        findings
    }

    /// The finding that a record should come before the last one.
    fn check_order(&mut self, entry: &RecordEntry) -> Option<Finding> {
        let identity = entry.record.identity_with(false, &self.vary);
        let before = self.last.replace(identity.clone());
        let before = before.filter(|before| *before > identity)?;
        let message = format!(
            "the record for {} should come before {}",
            identity.path, before.path
        );
        let finding = Finding::new(Code::UnsortedRecords, entry.line(), message);
        Some(finding.with_help("records are sorted by `_path`; `urldb fmt` sorts them"))
    }

    fn check_values(&self, document: &DocumentRef<'_>, findings: &mut Vec<Finding>) {
        match &document.content {
            Content::Head(head) => {
                if let Some(layout) = head.layout {
                    self.check_metadata(head.metadata, layout, findings);
                }
            }
            Content::Plain(_) if self.host != HELD_URIS => {}
            Content::Plain(_) | Content::Read(_) | Content::Stored(_) => {
                let Some(entry) = document.to_entry() else {
                    return;
                };
                findings.extend(self.check_promise(&entry));
                let first = document.first;
                let contradicted = first.filter(|first| !first.says_the_same_as(&entry));
                findings.extend(contradicted.map(|first| duplicate_record(first, &entry)));
            }
            Content::Broken | Content::Footer => {}
        }
    }

    /// Checks the values of the metadata against their keys.
    fn check_metadata(&self, metadata: &Metadata, head: &Layout, findings: &mut Vec<Finding>) {
        lint_cnames(&self.host, metadata, head, findings);
        findings.extend(bad_vary(metadata, head));
        for (key, value) in metadata.extra.iter() {
            let bad = |wanted| bad_value(key, value, wanted, head.line_of(key));
            match key {
                "cnames" | "vary" if *value == Value::List(Vec::new()) => {}
                "vary" => findings.push(bad(VARY)),
                "cnames" => findings.push(bad("a list of host names")),
                "http" | "https" | "case-sensitive-paths" if !matches!(value, Value::Bool(_)) => {
                    findings.push(bad("true or false"));
                }
                _ => {}
            }
        }
        for (key, offset) in &head.keys {
            let line = head.start + offset;
            findings.extend(unknown_key(key, keys::METADATA, self.own_keys, line));
            if self.host == HELD_URIS && keys::METADATA.contains(&key.as_ref()) {
                let message = format!("`{key}` means nothing here: no run requests a held URI");
                let finding = Finding::new(Code::UnknownKey, line, message);
                findings.push(finding.with_help("remove it"));
            }
        }
    }
}

/// The mistakes that change the meaning of one record: wrong values, and misspelled keys and
/// categories. A record with an error among them must not be fetched.
pub fn lint_promise(entry: &RecordEntry, own_keys: &[String]) -> Vec<Finding> {
    if entry.is_plain {
        return vec![];
    }
    let mut findings = lint_values(entry, own_keys);
    findings.extend(check_path_of(entry));
    findings
}

/// The same mistakes, but for those in the path.
fn lint_values(entry: &RecordEntry, own_keys: &[String]) -> Vec<Finding> {
    let mut findings = vec![];
    check_values(entry, &mut findings);
    for category in &entry.record.categories {
        findings.extend(unknown_category(category, &entry.layout));
    }
    for (key, line) in entry.key_lines() {
        if keys::METADATA.contains(&key) && !own_keys.iter().any(|own| own == key) {
            let message = format!("`{key}` means nothing in a record");
            let finding = Finding::new(Code::UnknownKey, line, message);
            findings.push(finding.with_help("it belongs in the first document, the metadata"));
        } else {
            findings.extend(unknown_key(key, keys::RECORD, own_keys, line));
        }
    }
    findings
}

/// The warning about a record whose `mute-until` has passed.
fn expired_mute(entry: &RecordEntry, today: Date) -> Option<Finding> {
    let until = entry.record.muted_until().filter(|until| *until <= today)?;
    let line = entry.key_line("mute-until").unwrap_or_else(|| entry.line());
    let message = format!("`mute-until` has passed: people are notified again since {until}");
    let finding = Finding::new(Code::ExpiredMute, line, message);
    Some(finding.with_help("remove `mute-until` and `mute-reason`, or write a later date"))
}

/// Checks that the file is named after a host, or holds URIs.
fn check_file_name(path: &Path) -> Option<Finding> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let host = host_of(path);
    let finding = |message| Finding::new(Code::BadFileName, 1, message);
    if !name.ends_with(".yaml") {
        let message = format!("the file name `{name}` does not end in `.yaml`");
        let help = format!("name it {}.yaml", name.trim_end_matches(".yml"));
        Some(finding(message).with_help(help))
    } else if !is_domain_file(path) {
        let message =
            format!("the file name `{name}` begins with a dot, so urldb does not read it");
        let host = host.trim_start_matches('.');
        Some(finding(message).with_help(format!("name the file {host}.yaml, or remove it")))
    } else if host == HELD_URIS {
        None
    } else if let Err(bad) = check_host(&host) {
        let message = format!("the host in the file name, `{host}`, {}", bad.problem);
        let mut finding = finding(message);
        let suggestion = bad.suggestion;
        finding.help = suggestion.map(|name| format!("name the file {name}.yaml"));
        Some(finding)
    } else {
        None
    }
}

/// The finding for a file of the database if its name ends in `.yml`: [`is_misnamed`].
pub fn lint_misnamed(path: &Path) -> Vec<Finding> {
    is_misnamed(path)
        .then(|| check_file_name(path))
        .flatten()
        .into_iter()
        .collect()
}

/// Message and help about the comments at the end of the file, or about its last line.
fn check_footer(footer: &str, is_line_open: bool) -> Option<(&'static str, &'static str)> {
    if footer.replace("\r\n", "\n") != canonical_comments(footer) {
        let message = "the comments at the end are not in canonical form";
        let help = "one line each, without blank lines; formatting does so";
        Some((message, help))
    } else if footer.is_empty() && is_line_open {
        Some(("the last line lacks its line break", "formatting adds it"))
    } else {
        None
    }
}

/// Checks the names in `cnames`. A finding is at the line of the name if the list has one line for
/// each name, else at the line of the key.
fn lint_cnames(host: &str, metadata: &Metadata, head: &Layout, findings: &mut Vec<Finding>) {
    let list_line = head.line_of("cnames");
    let mut lines = head.source.lines().skip(list_line - head.start + 1);
    for (index, name) in metadata.cnames.iter().enumerate() {
        let has_own_line = lines
            .next()
            .is_some_and(|line| line.contains(name.as_str()));
        let (problem, help) = match check_host(name) {
            Err(bad) => (
                bad.problem,
                bad.suggestion.map(|name| format!("write {name}")),
            ),
            Ok(()) if name == host => (
                "is the domain of the file itself",
                Some("remove it".to_owned()),
            ),
            Ok(()) => continue,
        };
        let line = list_line + if has_own_line { 1 + index } else { 0 };
        let message = format!("the cname `{name}` {problem}");
        let mut finding = Finding::new(Code::BadCname, line, message);
        finding.help = help;
        findings.push(finding);
    }
}

/// The finding for an unknown key that is probably a misspelled known key.
fn unknown_key(key: &str, known: &[&str], own_keys: &[String], line: usize) -> Option<Finding> {
    if own_keys.iter().any(|own| own == key) {
        return None;
    }
    let other = misspelled(key, known)?;
    let finding = Finding::new(
        Code::UnknownKey,
        line,
        format!("`{key}` means nothing here"),
    );
    Some(finding.with_help(format!(
        "did you mean `{other}`? If the key is your own, name it in urldb.toml: [lint] keys = [\"{key}\"]"
    )))
}

/// The finding for a category that is probably a misspelled category with a meaning.
fn unknown_category(category: &str, layout: &Layout) -> Option<Finding> {
    let other = misspelled(category, keys::CATEGORIES)?;
    let message = format!("urldb does not act on the category `{category}`");
    let finding = Finding::new(Code::UnknownCategory, layout.line_of("categories"), message);
    Some(finding.with_help(format!("did you mean `{other}`?")))
}

fn lint_list(key: &str, items: &[String], layout: &Layout, findings: &mut Vec<Finding>) {
    if let Some(pair) = items.windows(2).find(|pair| pair[0] >= pair[1]) {
        let message = if pair[0] == pair[1] {
            format!("`{key}` lists `{}` twice", pair[0])
        } else {
            format!(
                "`{key}` is not sorted: `{}` should come before `{}`",
                pair[1], pair[0]
            )
        };
        findings.push(
            Finding::new(Code::UnsortedList, layout.line_of(key), message)
                .with_help("`urldb fmt` sorts it"),
        );
    }
}

/// Checks the order of the keys and the text of one document.
fn lint_form(layout: &Layout, fields: Vec<(&str, ValueRef)>, findings: &mut Vec<Finding>) {
    lint_key_order(layout, &fields, findings);
    lint_text(layout, fields, findings);
}

/// Checks the order of the keys of a document, and of those in nested mappings.
fn lint_key_order(layout: &Layout, fields: &[(&str, ValueRef)], findings: &mut Vec<Finding>) {
    let unsorted = layout.keys.windows(2).find(|pair| pair[0].0 > pair[1].0);
    if let Some([(before, _), (key, offset)]) = unsorted {
        let message = format!("`{key}` should come before `{before}`");
        let finding = Finding::new(Code::UnsortedKeys, layout.start + offset, message);
        findings.push(finding.with_help("keys are sorted; `urldb fmt` sorts them"));
    }
    let nested = fields.iter().find(|(_, field)| match field {
        ValueRef::Map(mapping) => !is_sorted_mapping(mapping),
        ValueRef::List(items) => !items.iter().all(is_sorted),
        _ => false,
    });
    if let Some((key, _)) = nested {
        let message = format!("the keys inside `{key}` are not sorted");
        findings.push(
            Finding::new(Code::UnsortedKeys, layout.line_of(key), message)
                .with_help("`urldb fmt` sorts them"),
        );
    }
}

/// Reports the first line of a document that differs from the canonical text in the same order.
fn lint_text(layout: &Layout, fields: Vec<(&str, ValueRef)>, findings: &mut Vec<Finding>) {
    let canonical = layout.render(&layout.in_source_order(fields), KeyOrder::Source);
    let source = if layout.source.contains('\r') {
        Cow::Owned(layout.source.replace("\r\n", "\n"))
    } else {
        Cow::Borrowed(&*layout.source)
    };
    // Only the last line of a file can lack its line break; `lint_footer` reports that.
    if source == canonical || canonical.strip_suffix('\n') == Some(&*source) {
        return;
    }
    let mut wanted = canonical.lines();
    let same = source
        .lines()
        .take_while(|line| wanted.next() == Some(line))
        .count();
    let finding = Finding::new(
        Code::NotCanonical,
        layout.start + same,
        "this is not in canonical form",
    );
    let help = match canonical.lines().nth(same) {
        Some(line) if line.len() <= 120 => {
            format!("the line should be `{line}`; formatting does it")
        }
        _ => "formatting rewrites it".to_owned(),
    };
    findings.push(finding.with_help(help));
}

fn is_sorted_mapping(mapping: &Mapping) -> bool {
    mapping.iter().map(|(key, _)| key).is_sorted()
        && mapping.iter().all(|(_, value)| is_sorted(value))
}

fn is_sorted(value: &Value) -> bool {
    match value {
        Value::Map(mapping) => is_sorted_mapping(mapping),
        Value::List(items) => items.iter().all(is_sorted),
        _ => true,
    }
}

/// The finding for the first name in `vary` that no record can be told apart by.
fn bad_vary(metadata: &Metadata, head: &Layout) -> Option<Finding> {
    let name = metadata
        .vary
        .iter()
        .find(|name| !is_lower_case_token(name) || is_set_by_urldb(name))?;
    let value = Value::from(name.as_str());
    let line = head.line_of("vary");
    if !is_lower_case_token(name) {
        let finding = bad_value("vary", &value, VARY, line);
        let lower = name.to_ascii_lowercase();
        return Some(if is_lower_case_token(&lower) {
            finding.with_help(format!("write `{lower}`"))
        } else {
            finding
        });
    }
    let message = format!("`vary` cannot name `{name}`, which urldb sets itself");
    let finding = Finding::new(Code::BadValue, line, message);
    Some(finding.with_help("name a header that only records set, such as `accept`"))
}
