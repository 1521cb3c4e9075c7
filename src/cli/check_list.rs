//! `urldb check --list`: a list in place of the database.

use tempfile::TempDir;
use urldb_interchange::Notice;
use urldb_protocol::{Mistake, Shown};
use urldb_text::{Finding, Severity};

use super::Context;
use super::add_list::ListArg;
use super::print::style;
use crate::database::edit::Edit;
use crate::database::mistakes::mistakes;
use crate::run::CheckedLists;
use crate::sync::{FollowOptions, Plan, follow_sources, with_empty_database};

/// Records of a list in a temporary folder.
pub(super) struct ListDatabase {
    pub(super) lists: CheckedLists,
    /// Removed at the end.
    _folder: TempDir,
}

impl ListDatabase {
    /// Makes records of a list. From now on, `context` has these records in place of its database.
    pub(super) fn new(list: &ListArg, context: &mut Context) -> anyhow::Result<Self> {
        // The list need not be in the repository.
        let path = list.path(context)?;
        if !path.starts_with(&context.config.root) {
            let folder = path.parent().unwrap_or(&path);
            folder.clone_into(&mut context.config.root);
        }
        let (name, source) = list.source(context)?;
        let (config, folder) = with_empty_database(&context.config)?;
        context.config = config;
        let config = &mut context.config;
        config.sources = [(name, source)].into();
        let mut edit = Edit::begin(folder.path())?;
        let plan = follow_sources(config, FollowOptions::default(), Some(&mut edit))?;
        edit.commit()?;
        let left_out: Vec<String> = plan
            .left_out
            .iter()
            .map(|(kind, number)| format!("{number} {kind}"))
            .collect();
        if !left_out.is_empty() && !context.quiet {
            style::print_note(&format!("left out: {}", left_out.join(", ")));
        }
        let lists = checked_lists(plan);
        Ok(Self {
            lists: CheckedLists {
                locations: lists.locations.hiding_records(),
                ..lists
            },
            _folder: folder,
        })
    }
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
pub(super) fn of_finding(finding: &Finding) -> Vec<Mistake> {
    let file = finding.file.as_deref().unwrap_or(std::path::Path::new(""));
    let name = file.to_string_lossy();
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
