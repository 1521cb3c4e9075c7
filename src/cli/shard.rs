//! The options of `urldb run` for several machines: one shard, or the collecting run.

use std::io::Write;
use std::path::{Path, PathBuf};

use urldb_text::sanitize;
use urldb_verdict::{Selection, Shard};

use super::Context;
use super::args::TargetArgs;
use super::execute::execute;
use super::print::output;
use super::print::style::{self, DIM, count, paint};
use crate::exit::ExitCode;
use crate::run::{self, Results};
use crate::stop::{Stop, stop_on_signals};

/// The options for several machines.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Several machines")]
pub(super) struct ShardArgs {
    /// Check only this part of the hosts, and write a bundle in place of ledger and messages: 3/8
    #[arg(
        long,
        value_name = "I/N",
        requires = "to",
        conflicts_with_all = ["from", "format", "commit", "message"]
    )]
    shard: Option<Shard>,
    /// Folder for the bundles of this run, the same for all shards
    #[arg(long, value_name = "DIR", requires = "shard")]
    to: Option<PathBuf>,
    /// Take what the shards have seen from the bundles in these folders, in place of the network
    #[arg(long, value_name = "DIR", num_args = 1..)]
    from: Vec<PathBuf>,
}

impl ShardArgs {
    /// The shard, and the folder for its bundle, if this is a shard.
    pub(super) fn shard(&self, context: &Context) -> Option<(Shard, PathBuf)> {
        Some((self.shard?, context.directory.join(self.to.as_ref()?)))
    }

    /// The folders with the bundles of a collecting run; none of another run.
    pub(super) fn folders(&self, context: &Context) -> Vec<PathBuf> {
        self.from
            .iter()
            .map(|it| context.directory.join(it))
            .collect()
    }
}

/// Runs one shard, and prints its result.
pub(super) fn run(
    shard: Shard,
    folder: &Path,
    targets: &TargetArgs,
    context: &mut Context,
) -> anyhow::Result<ExitCode> {
    targets.map.apply(context, &[])?;
    let selection: Selection = targets.resolve(context)?;
    let stop = Stop::new();
    stop_on_signals(&stop)?;
    let work = |options: &run::RunOptions<'_>| run::shard(options, shard, folder);
    let (outcome, attempts) = execute(context, &selection, &stop, Results::Dropped, None, work)?;
    let mut out = output::stdout();
    attempts.write(&mut out)?;
    if let Some(trouble) = &outcome.trouble {
        style::print_error(&anyhow::anyhow!("{trouble}"));
    }
    let name = format!("shard {} of {}", shard.number(), shard.count());
    let Some(bundle) = &outcome.bundle else {
        style::print_warning(format!("{name} was interrupted, and wrote no bundle"));
        return Ok(ExitCode::Interrupted);
    };
    if !context.quiet {
        for note in &outcome.notes {
            writeln!(out, "{}", paint(DIM, sanitize(note)))?;
        }
        writeln!(
            out,
            "{name}: {} of {}; the bundle is {}",
            count(outcome.jobs, "URL"),
            count(outcome.hosts as u64, "host"),
            sanitize(&bundle.display().to_string()),
        )?;
    }
    Ok(ExitCode::Success)
}
