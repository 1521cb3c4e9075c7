//! `[[check.challenge]]`: how answers that say nothing about the content are recognized.

use urldb_verdict::ChallengeRule;

use super::section::Section;

/// The rules `[[challenge]]` below a section.
pub(super) fn read_all(section: &Section<'_>) -> Vec<ChallengeRule> {
    let rules = section.sections("challenge");
    rules.into_iter().map(read).collect()
}

fn read(section: Section<'_>) -> ChallengeRule {
    let lower = |key| section.text(key).map(|text| text.to_ascii_lowercase());
    let name = section.text("name");
    let rule = ChallengeRule {
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
