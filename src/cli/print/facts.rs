//! Facts about the archive.

use urldb_text::sanitize;

use super::style::{print_error, print_warning};
use crate::archive::Fact;
use crate::exit::ExitCode;

/// Prints facts about the archive, on standard error. The exit code is that of a failure if a person has to act.
pub(crate) fn print_facts(facts: &[Fact]) -> ExitCode {
    let mut code = ExitCode::Success;
    for fact in facts {
        if fact.needs_person {
            print_error(&anyhow::anyhow!("{fact}"));
            code = ExitCode::Failure;
        } else {
            print_warning(sanitize(&fact.to_string()));
        }
    }
    code
}
