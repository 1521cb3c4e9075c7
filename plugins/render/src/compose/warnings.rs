//! Blocks about domain files, and about kept promises with a remark.

use urldb_protocol::{Envelope, Finding, FixedMistake, Mistake, NoticeKind};
use urldb_text::{Code, sanitize, variant_suffix};

use super::causes::is_about_state;
use super::links::{list_link, source_link};
use super::scope::Scope;
use super::urls::{host_of, path_of, prefix_of, without_scheme};
use crate::message::{Block, Class, Command, Fact, SourceLink, UrlList, UrlRow};
use crate::numbers::{count, number};
use crate::sentences::warning_sentence;
use crate::text::Text;
use crate::uses::{notable_uses, used_in_row};

/// So many warnings of one kind about a host have a block each, if they differ.
const FEW: usize = 5;

/// The warning about a flapping URL.
const FLAPPING: &str = "flapping";

/// Mistakes in domain files that no notice is about, new ones first.
pub(super) fn mistakes(envelope: &Envelope) -> Vec<Block> {
    let noticed = envelope.files_with_notice();
    let mistakes = envelope
        .mistakes
        .iter()
        .filter(|mistake| !noticed.contains(mistake.file.as_str()));
    let (new, known): (Vec<_>, Vec<_>) = mistakes.partition(|mistake| mistake.new);
    new.into_iter()
        .chain(known)
        .map(|mistake| of_mistake(mistake, envelope))
        .collect()
}

/// The block of one mistake.
pub(super) fn of_mistake(mistake: &Mistake, envelope: &Envelope) -> Block {
    let Mistake {
        code,
        file,
        line,
        message,
        help,
        text,
        ..
    } = mistake;
    let mut facts = Vec::new();
    if !text.is_empty() {
        facts.push(Fact::new("found", Text::new().code(text)));
    }
    if let Some(help) = help {
        facts.push(Fact::new("help", Text::new().outside(help)));
    }
    let (note, command) = if !mistake.is_of_list() {
        let lint = Command::new("to check the file", &["urldb", "lint", file]);
        ("The record is not checked until this is corrected.", lint)
    } else if *code == Code::NotSynced.as_str() {
        let sync = Command::new("to follow the list", &["urldb", "sync"]);
        ("Until then, the records are checked as they are.", sync)
    } else {
        (
            "What the list says is not checked until this is corrected.",
            None,
        )
    };
    let place = format!("{}, line {}", sanitize(file), number(*line as u64));
    Block {
        code: Some(sanitize(code).into_owned()),
        known: !mistake.new,
        place: Some(source_link(envelope, file, Some(*line))),
        short: Text::from(place),
        facts,
        note: Some(Text::from(note)),
        commands: command.into_iter().collect(),
        brief: Text::from(note),
        ..Block::new(Class::Mistake, Text::new(), Text::new().outside(message))
    }
}

/// Corrected mistakes of files that no notice is about.
pub(super) fn fixed_mistakes(envelope: &Envelope) -> Vec<Block> {
    let noticed = envelope.files_with_notice();
    let fixed = envelope.fixed.iter();
    fixed
        .filter(|fixed| !noticed.contains(fixed.file.as_str()))
        .map(of_fixed)
        .collect()
}

/// The block of one corrected mistake.
pub(super) fn of_fixed(FixedMistake { code, file, text }: &FixedMistake) -> Block {
    let sentence = Text::from("a mistake in ").code(file).own(" is corrected");
    let mut facts = vec![Fact::new("mistake", Text::new().outside(code))];
    if !text.is_empty() {
        facts.push(Fact::new("found", Text::new().code(text)));
    }
    Block {
        facts,
        ..Block::new(Class::Recovered, Text::new(), sentence)
    }
}

/// Warnings: one block for each code and host.
pub(super) fn warnings(envelope: &Envelope, scope: Scope<'_>) -> Vec<Block> {
    // A flapping URL has an incident, and a certificate that ends has a notice.
    let is_delivered = |finding: &&Finding| {
        let was_delivered = finding.code == FLAPPING && !scope.is_check();
        let has_notice = finding.code == NoticeKind::CertificateEnds.as_str();
        !is_about_state(finding) && !was_delivered && !has_notice
    };
    let findings: Vec<&Finding> = envelope.findings.iter().filter(is_delivered).collect();
    of_findings(&findings, envelope)
}

/// The blocks of these warnings.
pub(super) fn of_findings(findings: &[&Finding], envelope: &Envelope) -> Vec<Block> {
    let mut groups: Vec<Vec<&Finding>> = Vec::new();
    let mut known = std::collections::HashMap::new();
    for finding in findings {
        let key = (finding.code.as_str(), host_of(&finding.url));
        let index = *known.entry(key).or_insert(groups.len());
        match groups.get_mut(index) {
            Some(group) => group.push(finding),
            None => groups.push(vec![finding]),
        }
    }
    groups
        .iter()
        .flat_map(|group| {
            let is_same = group
                .iter()
                .all(|finding| finding.message == group[0].message);
            let size = if is_same || group.len() > FEW {
                group.len()
            } else {
                1
            };
            group.chunks(size)
        })
        .map(|group| of_warning(group, envelope))
        .collect()
}

fn of_warning(findings: &[&Finding], envelope: &Envelope) -> Block {
    let first = findings[0];
    let total = findings.len() as u64;
    let subject = match total {
        1 => Text::new()
            .code(&first.url)
            .own(sanitize(&variant_suffix(first.variant.as_deref()))),
        _ => Text::new().host(&host_of(&first.url)),
    };
    let sentence = match warning_sentence(&first.code) {
        Some(sentence) => Text::from(sentence),
        None => Text::from("has the warning ").outside(&first.code),
    };
    let sentence = match total {
        1 => sentence,
        _ => sentence.own(format!(" ({})", count(total, "URL"))),
    };
    let short = match total {
        1 => Text::new().code(without_scheme(&first.url)),
        _ => subject.clone(),
    };
    let row = |finding: &&Finding| UrlRow {
        shown: sanitize(&(path_of(&finding.url) + &variant_suffix(finding.variant.as_deref())))
            .into_owned(),
        place: place_of(finding, envelope, true),
        used: used_in_row(&finding.uses),
    };
    let urls = (total > 1).then(|| UrlList {
        has_prefix: prefix_of(findings.iter().map(|finding| finding.url.as_str())).is_some(),
        total,
        rows: findings.iter().map(row).collect(),
    });
    let detail = Text::new().outside(&first.message);
    let brief = Text::from(detail.capitalized()).own(".");
    let mut facts = vec![Fact::new("seen", detail)];
    facts.extend(notable_uses(&first.uses).filter(|_| total == 1));
    Block {
        code: Some(sanitize(&first.code).into_owned()),
        place: Some(place_of(first, envelope, total == 1)),
        short: short.own(" ").and(sentence.clone()),
        urls_total: total,
        facts,
        urls,
        brief,
        ..Block::new(Class::Warning, subject, sentence)
    }
}

fn place_of(finding: &Finding, envelope: &Envelope, is_exact: bool) -> SourceLink {
    let record = || source_link(envelope, &finding.file, is_exact.then_some(finding.line));
    list_link(envelope, &finding.uses).unwrap_or_else(record)
}
