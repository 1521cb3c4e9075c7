//! An explanation for people, who need not know how site rules are written.

use std::io::{self, Write};

use urldb_canon::rules::{MatchResult, RuleAttempt, ValueSource, Variable, VariableRole};
use urldb_text::sanitize;

use super::explanation::{Explanation, RecordLocation};
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
                variables(&explanation.trace.variables),
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
            rows.iter()
                .filter_map(|row| row.get(column))
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or_default()
        })
        .collect();
    for row in rows {
        let cells: Vec<String> = row
            .iter()
            .zip(&widths)
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
    let Some(parts) = &explanation.trace.parts else {
        return vec![];
    };
    vec![
        row(["scheme", parts.scheme.as_str()]),
        row(["host", &parts.host]),
        row(["port", &parts.port.to_string()]),
        row(["path", &parts.path]),
        row(["query", parts.query.as_deref().unwrap_or("none")]),
    ]
}

fn host(explanation: &Explanation) -> Rows {
    let trace = &explanation.trace;
    let Some(domain) = &trace.domain else {
        return vec![];
    };
    let mut rows = vec![row(["registered name", domain])];
    match (&explanation.domain_file, &trace.domain_rules) {
        (Some(file), Some(tried)) => rows.extend(rules(file, tried)),
        _ => rows.push(row(["rules", "none: each host is a website of its own"])),
    }
    if let Some(website) = &trace.website {
        rows.push(row(["website", website]));
    }
    rows
}

fn rest(explanation: &Explanation) -> Rows {
    let trace = &explanation.trace;
    match (&explanation.website_file, &trace.website_rules) {
        (Some(file), Some(tried)) => rules(file, tried),
        _ if trace.website.is_none() => vec![],
        _ => vec![row(["rules", "none: path and query are the page"])],
    }
}

/// The file, and each rule that was tried.
fn rules(file: &str, tried: &[RuleAttempt]) -> Rows {
    let mut rows = vec![row(["rules", file])];
    rows.extend(tried.iter().map(|attempt| {
        let name = format!("rule {:?}, line {}", attempt.rule.name, attempt.rule.line);
        row([&name, &verdict(attempt)])
    }));
    rows
}

fn verdict(attempt: &RuleAttempt) -> String {
    let text = match attempt.result {
        MatchResult::Matched => "taken: it matches",
        MatchResult::MatchedWithSeparators => {
            "taken: it matches, once its patterns end in separators"
        }
        MatchResult::Protocol => "not taken: it is about another protocol",
        MatchResult::Port => "not taken: it is about another port",
        MatchResult::Query => "not taken: it wants another query",
        MatchResult::Path => "not taken: it wants another path",
        MatchResult::Host => "not taken: it wants another host",
    };
    if attempt.lower_case {
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
        let value = variable
            .value
            .as_deref()
            .map_or_else(|| "none".to_owned(), |value| format!("{value:?}"));
        let from = match &variable.source {
            ValueSource::Matched(text) => format!("{text:?} in the {}", variable.part),
            ValueSource::Default => format!("the default, line {}", variable.line),
            ValueSource::Unset => format!("nothing in the {}", variable.part),
        };
        let usage = match variable.role {
            VariableRole::Flag => "an option: left out of the page",
            VariableRole::Retired => "a retired option: the site redirects to the page",
            VariableRole::Website => "a fixed name: stands in the page",
            VariableRole::Group => "as it is: stands in the page",
        };
        row([
            &variable.name,
            &value,
            &from,
            usage,
            variable.namespace.as_str(),
        ])
    }));
    rows
}

fn result(explanation: &Explanation) -> Rows {
    let found = explanation.resolution();
    let redirect = found
        .and_then(|found| found.redirect.as_ref())
        .map(|redirect| {
            let names = redirect.removed.join(", ");
            format!("{} to the page, without {names}", redirect.status)
        });
    let official = found.and_then(|found| found.official.clone().ok());
    let mut rows = vec![];
    let mut add = |name: &str, value: &Option<String>| {
        rows.extend(value.as_ref().map(|value| row([name, value])));
    };
    add("page", &found.map(|found| found.page_url.clone()));
    add("official URL", &official);
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
