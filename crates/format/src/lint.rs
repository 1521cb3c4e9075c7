//! Finds the mistakes in a domain file that could be read.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;
use std::path::Path;

use jiff::civil::Date;
use urldb_text::{Code, Finding};

use crate::canonical::duplicate_record;
use crate::domain_file::{DomainFile, ParsedFile, RecordEntry, Segment};
use crate::emit::{KeyOrder, ValueRef};
use crate::keys;
use crate::layout::Layout;
use crate::names::{check_host, is_domain_file, is_misnamed};
use crate::record::{ListOrder, RecordIdentity};
use crate::record_checks::{bad_value, check_record};
use crate::split;
use crate::value::{Mapping, Value};

/// All mistakes in a file, in the order of the lines. A key in `own_keys` is never a misspelling.
pub fn lint(parsed: &ParsedFile, own_keys: &[String]) -> Vec<Finding> {
    let file = &parsed.file;
    let mut findings = parsed.findings.clone();
    lint_file(file, &mut findings);
    lint_metadata(file, own_keys, &mut findings);
    for entry in file.records() {
        lint_record(file, entry, own_keys, &mut findings);
    }
    lint_order(file, &mut findings);
    findings.sort_by_key(|finding| (finding.line, finding.column));
    findings
}

/// The mistakes that change the meaning of a promise: mistakes in the file name, in the metadata and
/// in single records ([`lint_promise`]), and records that contradict an earlier record for the same request. [`lint`]
/// reports them too, beside mistakes of form.
pub fn lint_values(file: &DomainFile, own_keys: &[String]) -> Vec<Finding> {
    let mut findings = vec![];
    check_file_name(file, &mut findings);
    if let Some(head) = &file.head {
        check_metadata(file, head, own_keys, &mut findings);
    }
    for entry in file.records() {
        findings.extend(lint_promise(entry, own_keys));
    }
    let contradicted = repeated(file).into_iter();
    let contradicted = contradicted.filter(|(first, again)| !first.says_the_same_as(again));
    findings.extend(contradicted.map(|(first, again)| duplicate_record(first, again)));
    findings
}

/// The mistakes that change the meaning of one record: wrong values, and misspelled keys and
/// categories. A record with an error among them must not be fetched.
pub fn lint_promise(entry: &RecordEntry, own_keys: &[String]) -> Vec<Finding> {
    let mut findings = vec![];
    if entry.is_plain {
        return findings;
    }
    check_record(entry, &mut findings);
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

/// A warning for each record whose `mute-until` has passed.
pub fn lint_expired(file: &DomainFile, today: Date) -> Vec<Finding> {
    let expired = file.records().filter_map(|entry| {
        let until = entry
            .record()
            .muted_until()
            .filter(|until| *until <= today)?;
        let line = entry.key_line("mute-until").unwrap_or_else(|| entry.line());
        let message = format!("`mute-until` has passed: people are notified again since {until}");
        let finding = Finding::new(Code::ExpiredMute, line, message);
        Some(finding.with_help("remove `mute-until` and `mute-reason`, or write a later date"))
    });
    expired.collect()
}

/// Checks that the file is named after a host; the finding is one of its first part.
fn check_file_name(file: &DomainFile, findings: &mut Vec<Finding>) {
    if file.first_line > 1 {
        return;
    }
    let name = file
        .path
        .file_name()
        .map(|name| name.to_string_lossy())
        .unwrap_or_default();
    if !name.ends_with(".yaml") {
        let message = format!("the file name `{name}` does not end in `.yaml`");
        findings.push(
            Finding::new(Code::BadFileName, 1, message)
                .with_help(format!("name it {}.yaml", name.trim_end_matches(".yml"))),
        );
    } else if !is_domain_file(&file.path) {
        let message =
            format!("the file name `{name}` begins with a dot, so urldb does not read it");
        let host = file.host.trim_start_matches('.');
        findings.push(
            Finding::new(Code::BadFileName, 1, message)
                .with_help(format!("name the file {host}.yaml, or remove it")),
        );
    } else if let Err(bad) = check_host(&file.host) {
        let message = format!(
            "the host in the file name, `{}`, {}",
            file.host, bad.problem
        );
        let mut finding = Finding::new(Code::BadFileName, 1, message);
        if let Some(name) = bad.suggestion {
            finding = finding.with_help(format!("name the file {name}.yaml"));
        }
        findings.push(finding);
    }
}

/// The finding for a file of the database if its name ends in `.yml`: [`is_misnamed`].
pub fn lint_misnamed(path: &Path) -> Vec<Finding> {
    let mut findings = vec![];
    if is_misnamed(path) {
        check_file_name(&DomainFile::parse(path, b"").file, &mut findings);
    }
    findings
}

fn lint_file(file: &DomainFile, findings: &mut Vec<Finding>) {
    check_file_name(file, findings);
    if let Some(line) = line_with_carriage_return(file) {
        let finding = Finding::new(Code::NotCanonical, line, "lines end in CR LF");
        findings.push(finding.with_help("end them in LF alone; formatting does so"));
    }
    lint_footer(file, findings);
}

/// The first line that ends in CR LF, unless an earlier part of the file has one.
fn line_with_carriage_return(file: &DomainFile) -> Option<usize> {
    if file.crlf_before {
        return None;
    }
    let sources = file.head.iter().map(|head| head.source.as_str());
    let sources = sources
        .chain(file.segments.iter().map(Segment::source))
        .chain([file.footer.as_str()]);
    let mut lines = file.first_line;
    for source in sources {
        if let Some(at) = source.find("\r\n") {
            return Some(lines + source[..at].matches('\n').count());
        }
        lines += source.matches('\n').count();
    }
    None
}

/// The number of line breaks in all documents, without the footer.
fn line_count(file: &DomainFile) -> usize {
    let head = file.head.as_ref().map_or(0, Layout::line_count);
    let breaks = |segment: &Segment| segment.source().matches('\n').count();
    head + file.segments.iter().map(breaks).sum::<usize>()
}

/// Checks the comments at the end of the file, and the line break after the last line.
fn lint_footer(file: &DomainFile, findings: &mut Vec<Finding>) {
    let last = file.segments.last().map(Segment::source);
    let last = last
        .or(file.head.as_ref().map(|head| head.source.as_str()))
        .unwrap_or_default();
    let canonical: String = split::comments(&file.footer)
        .into_iter()
        .flat_map(|comment| [comment, "\n"])
        .collect();
    if file.footer.replace("\r\n", "\n") != canonical {
        let line = file.first_line + line_count(file);
        let finding = Finding::new(
            Code::NotCanonical,
            line,
            "the comments at the end are not in canonical form",
        );
        findings.push(finding.with_help("one line each, without blank lines; formatting does so"));
    } else if file.footer.is_empty() && !last.is_empty() && !last.ends_with('\n') {
        let line = file.first_line + line_count(file);
        let finding = Finding::new(
            Code::NotCanonical,
            line,
            "the last line lacks its line break",
        );
        findings.push(finding.with_help("formatting adds it"));
    }
}

fn lint_metadata(file: &DomainFile, own_keys: &[String], findings: &mut Vec<Finding>) {
    let Some(head) = &file.head else { return };
    let metadata = &file.metadata;
    check_metadata(file, head, own_keys, findings);
    lint_list("cnames", &metadata.cnames, head, findings);
    lint_form(file, head, metadata.fields(ListOrder::Source), findings);
}

/// Checks the values of the metadata against their keys.
fn check_metadata(
    file: &DomainFile,
    head: &Layout,
    own_keys: &[String],
    findings: &mut Vec<Finding>,
) {
    let metadata = &file.metadata;
    lint_cnames(file, head, findings);
    for (key, value) in metadata.extra.iter() {
        let bad = |wanted| bad_value(key, value, wanted, head.line_of(key));
        match key {
            "cnames" if *value == Value::List(Vec::new()) => {}
            "cnames" => findings.push(bad("a list of host names")),
            "http" | "https" | "case-sensitive-paths" if !matches!(value, Value::Bool(_)) => {
                findings.push(bad("true or false"));
            }
            _ => {}
        }
    }
    for (key, offset) in &head.keys {
        findings.extend(unknown_key(
            key,
            keys::METADATA,
            own_keys,
            head.start + offset,
        ));
    }
}

/// Checks the names in `cnames`. A finding is at the line of the name if the list has one line for
/// each name, else at the line of the key.
fn lint_cnames(file: &DomainFile, head: &Layout, findings: &mut Vec<Finding>) {
    let list_line = file.metadata_line("cnames");
    let mut lines = head.source.lines().skip(list_line - head.start + 1);
    for (index, name) in file.metadata.cnames.iter().enumerate() {
        let has_own_line = lines
            .next()
            .is_some_and(|line| line.contains(name.as_str()));
        let (problem, help) = match check_host(name) {
            Err(bad) => (
                bad.problem,
                bad.suggestion.map(|name| format!("write {name}")),
            ),
            Ok(()) if *name == file.host => (
                "is the domain of the file itself",
                Some("remove it".to_owned()),
            ),
            Ok(()) => continue,
        };
        let line = list_line + if has_own_line { 1 + index } else { 0 };
        let message = format!("the cname `{name}` {problem}");
        let mut finding = Finding::new(Code::BadCname, line, message);
        if let Some(help) = help {
            finding = finding.with_help(help);
        }
        findings.push(finding);
    }
}

fn lint_record(
    file: &DomainFile,
    entry: &RecordEntry,
    own_keys: &[String],
    findings: &mut Vec<Finding>,
) {
    if entry.is_plain {
        return;
    }
    let record = &entry.record;
    findings.extend(lint_promise(entry, own_keys));
    lint_list("categories", &record.categories, &entry.layout, findings);
    if entry.intact {
        lint_form(
            file,
            &entry.layout,
            record.fields(ListOrder::Source),
            findings,
        );
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

/// The known word that `word` probably misspells; `None` for a known word.
pub(crate) fn misspelled<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    if known.contains(&word) {
        return None;
    }
    // `sha256` promises nothing, and looks as if it did.
    let mut promises = known.iter().copied();
    let promise = promises.find(|key| key.strip_prefix("content-") == Some(word));
    promise.or_else(|| urldb_text::nearest(word, known.iter().copied()))
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
                .with_help("formatting sorts it"),
        );
    }
}

/// Checks the order of the keys and the text of one document, unless it has a blocking finding.
fn lint_form(
    file: &DomainFile,
    layout: &Layout,
    fields: Vec<(&str, ValueRef)>,
    findings: &mut Vec<Finding>,
) {
    // Blocking findings are in the order of their lines.
    let before = file
        .blocking
        .partition_point(|finding| finding.line < layout.start);
    let next = file.blocking.get(before);
    if next.is_some_and(|finding| finding.line < layout.start + layout.line_count()) {
        return;
    }
    lint_key_order(layout, &fields, findings);
    lint_text(layout, fields, findings);
}

/// Checks the order of the keys of a document, and of those in nested mappings.
fn lint_key_order(layout: &Layout, fields: &[(&str, ValueRef)], findings: &mut Vec<Finding>) {
    let unsorted = layout.keys.windows(2).find(|pair| pair[0].0 > pair[1].0);
    if let Some([(before, _), (key, offset)]) = unsorted {
        let message = format!("`{key}` should come before `{before}`");
        let finding = Finding::new(Code::UnsortedKeys, layout.start + offset, message);
        findings.push(finding.with_help("keys are sorted; formatting sorts them"));
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
                .with_help("formatting sorts them"),
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

/// The records for the same request as an earlier record, each with the first such record.
fn repeated(file: &DomainFile) -> Vec<(&RecordEntry, &RecordEntry)> {
    let paths = file.records().map(|entry| &entry.record.path);
    if !file.metadata.ignores_case() && paths.is_sorted_by(|one, other| one < other) {
        return vec![];
    }
    let mut seen: HashMap<RecordIdentity, &RecordEntry> = HashMap::new();
    let mut repeated = vec![];
    for entry in file.records() {
        match seen.entry(file.identity_of(&entry.record)) {
            Slot::Occupied(first) => repeated.push((*first.get(), entry)),
            Slot::Vacant(slot) => {
                slot.insert(entry);
            }
        }
    }
    repeated
}

/// Checks the order of the records, and reports records for the same request.
fn lint_order(file: &DomainFile, findings: &mut Vec<Finding>) {
    let repeated = repeated(file).into_iter();
    findings.extend(repeated.map(|(first, again)| duplicate_record(first, again)));
    let paths = file.records().map(|entry| &entry.record.path);
    if paths.is_sorted_by(|one, other| one < other) {
        return;
    }
    let mut previous: Option<(RecordIdentity, &RecordEntry)> = None;
    for entry in file.records() {
        let identity = entry.record.identity();
        if let Some((before, other)) = previous.replace((identity.clone(), entry))
            && before > identity
        {
            let message = format!(
                "the record for {} should come before {}",
                identity.path, other.record.path
            );
            let finding = Finding::new(Code::UnsortedRecords, entry.line(), message);
            findings
                .push(finding.with_help("records are sorted by `_path`; formatting sorts them"));
        }
    }
}
