//! Blocks: evidence, hosts, URLs, commands.

use super::syntax::{code, fenced, inert, inline, link};
use crate::message::{Block, Command, Fact, SourceLink, UrlList, UrlRow};
use crate::numbers::{counted, number};

/// A list of more URLs is folded.
const FOLDED: u64 = 10;

/// The parts of a block below its title, between empty lines.
pub(super) fn block_parts(block: &Block) -> Vec<String> {
    let mut parts = Vec::new();
    parts.extend(facts(block));
    parts.extend(block.note.as_ref().map(inline));
    if let Some(urls) = &block.urls {
        parts.extend(url_list(urls, block));
    }
    parts.extend(code_block(&block.commands));
    parts
}

/// The evidence as a list, and the difference behind it.
pub(super) fn facts(block: &Block) -> Vec<String> {
    let mut lines: Vec<String> = vec![];
    for fact in &block.facts {
        match lines.last_mut() {
            Some(last) if fact.name.is_empty() => {
                last.push_str("\\\n  ");
                last.push_str(&inline(&fact.text));
            }
            _ => lines.push(fact_line(fact)),
        }
    }
    if let Some(place) = &block.place {
        lines.push(place_line(place));
    }
    let mut parts = Vec::new();
    if !lines.is_empty() {
        parts.push(lines.join("\n"));
    }
    let diffs = block.facts.iter().filter(|fact| !fact.diff.is_empty());
    parts.extend(diffs.map(|fact| fenced("diff", &fact.diff.join("\n"))));
    parts
}

fn fact_line(fact: &Fact) -> String {
    format!("- **{}:** {}", fact.name, inline(&fact.text))
}

fn place_line(place: &SourceLink) -> String {
    let name = place.name();
    let line = place
        .line
        .map_or_else(String::new, |line| format!(", line {line}"));
    let label = format!("{}{line}", inert(&place.file));
    match &place.link {
        Some(url) => format!("- **{name}:** {}", link(&label, url)),
        None => format!("- **{name}:** {label}"),
    }
}

fn url_list(urls: &UrlList, block: &Block) -> Vec<String> {
    let mut rows: Vec<String> = urls.rows.iter().map(url_line).collect();
    let more = urls.total.saturating_sub(rows.len() as u64);
    if more > 0 {
        rows.push(format!("- and {} more", number(more)));
    }
    let is_grown = urls.total < block.urls_total;
    let new = if is_grown { "new " } else { "" };
    let total = counted(urls.total, &format!("{new}URL"));
    let rows = rows.join("\n");
    if urls.total > FOLDED {
        let summary = format!("<details><summary>{total}</summary>");
        vec![summary, rows, "</details>".to_owned()]
    } else {
        vec![format!("{total}:"), rows]
    }
}

fn url_line(row: &UrlRow) -> String {
    match (&row.used, &row.place.link) {
        (Some(used), Some(url)) => format!("- {} ({})", code(&row.shown), link(&inert(used), url)),
        (Some(used), None) => format!("- {} ({})", code(&row.shown), inert(used)),
        (None, _) => format!("- {}{}", code(&row.shown), line_of(&row.place)),
    }
}

/// ` (line 49)`, with a link where there is one.
pub(super) fn line_of(place: &SourceLink) -> String {
    let line = place.line.map(|line| format!("line {line}"));
    match (line, &place.link) {
        (Some(line), Some(url)) => format!(" ({})", link(&line, url)),
        (Some(line), None) => format!(" ({line})"),
        (None, _) => String::new(),
    }
}

/// The commands as a script, each with its purpose as a comment.
pub(super) fn code_block(commands: &[Command]) -> Option<String> {
    let lines: Vec<String> = commands
        .iter()
        .map(|command| format!("# {}\n{}", command.purpose, command.line))
        .collect();
    (!lines.is_empty()).then(|| fenced("sh", &lines.join("\n")))
}
