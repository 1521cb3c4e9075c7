//! `[[check.challenge]]`, and the program's own list in the same form: how an answer that says
//! nothing about the content is recognized.

use toml::de::DeTable;

use super::section::{Problem, Problems, Section};

/// One rule. An answer has to show all that the rule names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Challenge {
    /// What it is, so that "answers with NAME" can be read.
    pub name: String,
    /// The status is one of these; any when empty.
    pub status: Vec<u16>,
    /// This header is there, in lower case.
    pub header: Option<String>,
    /// Its value begins with this, in lower case.
    pub prefix: Option<String>,
    /// Its value contains this, in lower case.
    pub contains: Option<String>,
    /// The first 4 KiB of the answer, which is HTML, contain this, in lower case.
    pub body: Option<String>,
    /// It stands in for a whole site, whose domain is for sale.
    pub parked: bool,
}

/// The rules `[[challenge]]` of a whole text.
pub(crate) fn parse(text: &str) -> Result<Vec<Challenge>, String> {
    let table = DeTable::parse(text).map_err(|error| error.message().to_owned())?;
    let problems = Problems::default();
    let top = Section::new("", &table, &problems);
    let rules = read_all(&top);
    top.finish();
    match problems.into_sorted().first() {
        None => Ok(rules),
        Some(Problem { offset, message }) => Err(format!("at byte {offset}: {message}")),
    }
}

/// The rules `[[challenge]]` below a section.
pub(super) fn read_all(section: &Section<'_>) -> Vec<Challenge> {
    let rules = section.sections("challenge");
    rules.into_iter().map(read).collect()
}

fn read(section: Section<'_>) -> Challenge {
    let lower = |key| section.text(key).map(|text| text.to_ascii_lowercase());
    let name = section.text("name");
    let rule = Challenge {
        name: name.clone().unwrap_or_default(),
        status: section.numbers("status").unwrap_or_default(),
        header: lower("header"),
        prefix: lower("prefix"),
        contains: lower("contains"),
        body: lower("body"),
        parked: section.flag("parked").unwrap_or_default(),
    };
    if name.is_none() {
        section.problem("`name` is missing, such as name = \"a login page\"");
    }
    if rule.header.is_none() && rule.body.is_none() {
        section.problem("one of `header` and `body` is needed: a status alone marks no challenge");
    }
    if rule.header.is_none() && (rule.prefix.is_some() || rule.contains.is_some()) {
        section.problem("`prefix` and `contains` are about a `header`, which is missing");
    }
    section.finish();
    rule
}
