//! Plans a compaction: fewer revisits of quiet periods, and larger files.

use super::catalogue::Catalogue;
use super::quiet_periods::RevisitThinner;
use super::rewrite::{OwnFiles, RewritePlan};
use crate::config;

/// Plans a compaction of the archive by its configuration. Returns notes about files that stay as they are,
/// too.
///
/// # Errors
/// When the index or a file cannot be read.
pub fn plan_compaction(
    catalogue: &Catalogue,
    options: &config::Archive,
) -> anyhow::Result<(RewritePlan, Vec<String>)> {
    let own = OwnFiles::read(&catalogue.files)?;
    let mut plan = RewritePlan::default();
    let mut thinner = RevisitThinner::new(options.keep_revisits, &own.failures);
    for line in catalogue.lines()? {
        if let Some(left_out) = thinner.add(&line?) {
            plan.leave_out(&own, &left_out);
        }
    }
    plan.group(&own, options.max_size, true);
    Ok((plan, own.unsuitable))
}
