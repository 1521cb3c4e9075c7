//! `urldb archive compact`.

use super::rewrite::{RewriteArgs, carry_out};
use super::{Context, ExitCode};
use crate::archive::{ArchiveFiles, Catalogue, plan_compaction};

/// Leave revisits of quiet periods out of the archive, and join small files
///
/// `keep-revisits` in urldb.toml says which revisits stay. The first and the
/// last of each period always stay. Old files are removed only after the new
/// file was read again and compared with them.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb archive compact --dry-run
  urldb archive compact && urldb archive verify")]
pub(super) struct Args {
    #[command(flatten)]
    rewrite: RewriteArgs,
}

pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let _lock = context.lock_repository()?;
    let catalogue = Catalogue::open(ArchiveFiles::open(&context.config)?)?;
    let (plan, notes) = plan_compaction(&catalogue, &context.config.archive)?;
    drop(catalogue);
    carry_out(&plan, &notes, &args.rewrite, context)
}
