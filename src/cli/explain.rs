//! `urldb explain`.

use std::io::Write;

use urldb_render::{Text, wrap};
use urldb_text::nearest;

use super::print::output;
use super::print::style::{paint, terminal_width};
use crate::exit::ExitCode;

/// The pages that explain codes; tests keep them complete.
const PAGES: [&str; 2] = [
    include_str!("../../docs/findings.md"),
    include_str!("../../docs/site-rules.md"),
];

/// Bold, as headings are.
const HEADING: anstyle::Style = anstyle::Style::new().bold();

/// Explain the code of a finding, and what to do about it
///
/// Without a code, all codes are listed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb explain gone
  urldb explain 'broken[gone]'    as it stands in a report
  urldb explain                   all codes")]
pub(super) struct Args {
    /// The code of a finding, a state, a reason or a warning
    code: Option<String>,
}

/// The part of a page about one code.
struct Entry {
    code: &'static str,
    /// The kind of codes: the heading of the second level.
    kind: &'static str,
    text: &'static str,
}

pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let entries: Vec<Entry> = PAGES.into_iter().flat_map(entries).collect();
    let mut out = output::stdout();
    let Some(wanted) = &args.code else {
        let mut kind = "";
        for entry in &entries {
            if entry.kind != kind {
                let gap = if kind.is_empty() { "" } else { "\n" };
                writeln!(out, "{gap}{}", paint(HEADING, entry.kind))?;
                kind = entry.kind;
            }
            writeln!(out, "  {}", entry.code)?;
        }
        return Ok(ExitCode::Success);
    };
    // A report says `broken[gone]`.
    let code = match wanted.split_once('[') {
        Some((_, rest)) => rest.trim_end_matches(']'),
        None => wanted,
    };
    let Some(entry) = entries.iter().find(|entry| entry.code == code) else {
        let near = nearest(code, entries.iter().map(|entry| entry.code));
        let hint = near.map_or_else(
            || "`urldb explain` lists all codes".to_owned(),
            |near| format!("did you mean {near}?"),
        );
        anyhow::bail!("no finding has the code {code:?}; {hint}")
    };
    writeln!(out, "{} ({})", paint(HEADING, code), entry.kind)?;
    for line in plain_lines(entry.text, terminal_width()) {
        writeln!(out, "{line}")?;
    }
    Ok(ExitCode::Success)
}

/// The entries of a page, in its order.
fn entries(text: &'static str) -> Vec<Entry> {
    let sections = text.split("\n## ").skip(1);
    let of_section = |section: &'static str| {
        let kind = section.lines().next().unwrap_or_default();
        section.split("\n### `").skip(1).filter_map(move |entry| {
            let (code, text) = entry.split_once('`')?;
            Some(Entry { code, kind, text })
        })
    };
    sections.flat_map(of_section).collect()
}

/// Markdown as lines for a terminal: paragraphs are wrapped, links are their texts, and code, tables and
/// lists keep their lines.
fn plain_lines(markdown: &str, width: usize) -> Vec<String> {
    let mut lines = vec![];
    let mut in_code = false;
    for line in markdown.trim().lines() {
        let is_fence = line.starts_with("```");
        in_code ^= is_fence;
        if is_fence {
            continue;
        }
        if in_code || line.starts_with('|') {
            lines.push(format!("  {line}"));
        } else if line.is_empty() {
            lines.push(String::new());
        } else {
            let indent = if line.starts_with("- ") { 2 } else { 0 };
            lines.extend(wrap(&Text::from(without_links(line)), width, 0, indent));
        }
    }
    lines
}

/// `[text](target)` becomes `text`.
fn without_links(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('[') {
        text.push_str(before);
        let (shown, behind) = link_label(after).unwrap_or(("[", after));
        text.push_str(shown);
        rest = behind;
    }
    text + rest
}

/// The label of a link whose `[` comes just before, and the text behind the link.
fn link_label(after: &str) -> Option<(&str, &str)> {
    let (label, target) = after.split_once("](")?;
    let (_, behind) = target.split_once(')')?;
    (!label.contains('[')).then_some((label, behind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_become_their_texts() {
        for (line, plain) in [
            ("a [b](c.md#d) e [f](g)", "a b e f"),
            ("`[check]` and [`x`](y)", "`[check]` and `x`"),
            ("[open", "[open"),
        ] {
            assert_eq!(without_links(line), plain);
        }
    }
}
