//! The places and the mistakes of lists, as runs get them.

use std::path::Path;

use urldb_interchange::Notice;
use urldb_protocol::{Mistake, Shown};
use urldb_text::{Code, Finding, Severity};

use crate::config::{Config, FILE_NAME};
use crate::database::mistakes::mistakes;
use crate::explain::explain;
use crate::run::CheckedLists;
use crate::stop::Stop;
use crate::sync::{FollowOptions, ListLocations, Plan, follow_sources};

/// The places of the records in the lists that the database follows, and the mistakes about them. Lists that cannot be
/// read do not stop a run: the database stands for them, and a mistake says so.
///
/// # Errors
/// [`Interrupted`](crate::stop::Interrupted).
pub(crate) fn lists_of_sources(
    config: &Config,
    stop: &Stop,
) -> anyhow::Result<Option<CheckedLists>> {
    if config.sources.is_empty() {
        return Ok(None);
    }
    Ok(
        match follow_sources(config, FollowOptions::default(), None, stop) {
            Err(error) if stop.is_set() => return Err(error),
            Ok(plan) => {
                let root = &config.root;
                let refusals: Vec<String> = plan.refusals().collect();
                let differing: Vec<Mistake> = plan
                    .files
                    .iter()
                    .map(|file| {
                        let finding = file.not_synced(root);
                        if refusals.is_empty() {
                            return finding;
                        }
                        let message = refusals.join(". ");
                        Finding { message, ..finding }
                    })
                    .flat_map(|it| of_finding(&it))
                    .collect();
                let mut lists = checked_lists(plan);
                lists.mistakes.extend(differing);
                Some(lists)
            }
            Err(error) => {
                let message = format!("the lists cannot be followed: {}", explain(&error));
                let mistake =
                    Finding::new(Code::NotSynced, 1, message).in_file(Path::new(FILE_NAME));
                Some(CheckedLists {
                    locations: ListLocations::default(),
                    mistakes: of_finding(&mistake),
                })
            }
        },
    )
}

/// The places and the mistakes of lists.
pub(super) fn checked_lists(plan: Plan) -> CheckedLists {
    let refused = plan.refused.first.iter().map(of_notice);
    let found = plan
        .mistakes
        .first
        .iter()
        .filter(|it| it.severity == Severity::Error);
    CheckedLists {
        mistakes: refused.chain(found.flat_map(of_finding)).collect(),
        locations: plan.into_locations(),
    }
}

/// The mistake in a report for a finding in a file.
fn of_finding(finding: &Finding) -> Vec<Mistake> {
    let name = finding
        .file
        .as_deref()
        .unwrap_or(Path::new(""))
        .to_string_lossy();
    mistakes("", finding.line, &name, std::slice::from_ref(finding))
}

/// A line of a list that cannot be read.
fn of_notice(notice: &Notice) -> Mistake {
    Mistake {
        code: notice.code.clone(),
        file: notice.location.file.to_string(),
        line: notice.location.line_number(),
        column: 1,
        message: Shown::new(&notice.message, Shown::LONGEST),
        help: None,
        text: Shown::default(),
        new: false,
    }
}
