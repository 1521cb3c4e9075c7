//! `urldb archive compact`.

use super::rewrite::{RewriteArgs, plan_and_carry_out};
use super::{Context, ExitCode};
use crate::archive::plan_compaction;

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
    plan_and_carry_out(&args.rewrite, context, |catalogue| {
        plan_compaction(catalogue, &context.config.archive)
    })
}
