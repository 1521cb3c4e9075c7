//! An explanation for people, who need not know how site rules are written.

use std::io::{self, Write};

use urldb_text::sanitize;

use super::explanation::{Explanation, RecordLocation, Rule, RuleFile, Variable};
use crate::cli::print::style::{BAD, DIM, paint};

/// Writes an explanation, section by section.
pub(super) fn write(out: &mut impl Write, explanation: &Explanation) -> io::Result<()> {
    if let Some(url) = &explanation.url {
        writeln!(out, "{url}")?;
        for (title, rows) in [
            ("The URL", parts(explanation)),
            ("Its host", host(explanation)),
            ("The rest of it", rest(explanation)),
            (
                "What the rules found in it",
                variables(&explanation.variables),
            ),
            ("What it comes to", result(explanation)),
        ] {
            section(out, title, &rows)?;
        }
    }
    if let Some(problem) = &explanation.problem {
        let code = paint(BAD, problem.code);
        if explanation.url.is_some() {
            writeln!(out)?;
        }
        writeln!(out, "{code}: {}", sanitize(&problem.message))?;
    }
    Ok(())
}

type Rows = Vec<Vec<String>>;

fn section(out: &mut impl Write, title: &str, rows: &Rows) -> io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}", paint(DIM, title))?;
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let widths: Vec<usize> = (0..columns)
        .map(|column| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            cells
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or_default()
        })
        .collect();
    for row in rows {
        let cells = row.iter().zip(&widths);
        let cells: Vec<String> = cells
            .map(|(cell, width)| format!("{cell:width$}"))
            .collect();
        writeln!(out, "  {}", cells.join("  ").trim_end())?;
    }
    Ok(())
}

fn row<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells
        .iter()
        .map(|cell| sanitize(cell).into_owned())
        .collect()
}

fn parts(explanation: &Explanation) -> Rows {
    let Some(parts) = &explanation.parts else {
        return vec![];
    };
    vec![
        row(["scheme", parts.scheme]),
        row(["host", &parts.host]),
        row(["port", &parts.port.to_string()]),
        row(["path", &parts.path]),
        row(["query", parts.query.as_deref().unwrap_or("none")]),
    ]
}

fn host(explanation: &Explanation) -> Rows {
    let Some(domain) = &explanation.registrable_domain else {
        return vec![];
    };
    let mut rows = vec![row(["registered name", domain])];
    match &explanation.domain_rules {
        Some(script) => rows.extend(rules(script)),
        None => rows.push(row(["rules", "none: each host is a website of its own"])),
    }
    if let Some(website) = &explanation.website {
        rows.push(row(["website", website]));
    }
    rows
}

fn rest(explanation: &Explanation) -> Rows {
    match (&explanation.website, &explanation.website_rules) {
        (None, _) => vec![],
        (Some(_), Some(script)) => rules(script),
        (Some(_), None) => vec![row(["rules", "none: path and query are the page"])],
    }
}

/// The file, and each rule that was tried.
fn rules(script: &RuleFile) -> Rows {
    let mut rows = vec![row(["rules", &script.file])];
    rows.extend(script.tried.iter().map(|rule| {
        let name = format!("rule {:?}, line {}", rule.name, rule.line);
        row([&name, &verdict(rule)])
    }));
    rows
}

fn verdict(rule: &Rule) -> String {
    let text = match rule.verdict {
        "matched" => "taken: it matches",
        "matched-with-separators" => "taken: it matches, once its patterns end in separators",
        "other-protocol" => "not taken: it is about another protocol",
        "other-port" => "not taken: it is about another port",
        "other-query" => "not taken: it wants another query",
        "other-path" => "not taken: it wants another path",
        _ => "not taken: it wants another host",
    };
    if rule.lower_case {
        format!("{text} (in lower case)")
    } else {
        text.to_owned()
    }
}

fn variables(variables: &[Variable]) -> Rows {
    if variables.is_empty() {
        return vec![];
    }
    let mut rows = vec![row(["NAME", "VALUE", "FROM", "USE", "NAMESPACE"])];
    rows.extend(variables.iter().map(|variable| {
        let value = variable.value.as_deref();
        let value = value.map_or_else(|| "none".to_owned(), |value| format!("{value:?}"));
        let from = match (&variable.matched, variable.source) {
            (Some(text), _) => format!("{text:?} in the {}", variable.part),
            (None, "default") => format!("the default, line {}", variable.line),
            _ => format!("nothing in the {}", variable.part),
        };
        let usage = match variable.role {
            "flag" => "an option: left out of the page",
            "retired" => "a retired option: the site redirects to the page",
            "website" => "a fixed name: stands in the page",
            _ => "as it is: stands in the page",
        };
        row([&variable.name, &value, &from, usage, variable.namespace])
    }));
    rows
}

fn result(explanation: &Explanation) -> Rows {
    let mut rows = vec![];
    let mut add = |name: &str, value: &Option<String>| {
        rows.extend(value.as_ref().map(|value| row([name, value])));
    };
    add("page", &explanation.page_url);
    add("official URL", &explanation.official_url);
    let redirect = explanation.redirect.as_ref().map(|redirect| {
        let names = redirect.removed.join(", ");
        format!("{} to the page, without {names}", redirect.status)
    });
    add("redirect", &redirect);
    if let Some(record) = &explanation.record {
        add("domain file", &Some(file(record)));
        add("_path", &Some(record.path.clone()));
    }
    add("SURT", &explanation.surt);
    add("in the database", &Some(known(explanation)));
    rows
}

fn file(record: &RecordLocation) -> String {
    match &record.cname {
        Some(cname) => format!("{}, which has {cname} among its cnames", record.file),
        None => record.file.clone(),
    }
}

fn known(explanation: &Explanation) -> String {
    match (&explanation.database, &explanation.record) {
        (None, _) => "there is no database here, and so no rules".to_owned(),
        (_, None) => "no, and it cannot be".to_owned(),
        (
            _,
            Some(RecordLocation {
                line: Some(line), ..
            }),
        ) => format!("yes, line {line}"),
        (_, Some(_)) => "no; `urldb add` adds it".to_owned(),
    }
}
