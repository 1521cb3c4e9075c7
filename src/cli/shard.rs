//! The options of `urldb run` for several machines: one shard, or the collecting run.

use std::io::Write;
use std::path::{Path, PathBuf};

use urldb_text::sanitize;
use urldb_verdict::{InvalidShard, Selection, Shard};

use super::Context;
use super::args::TargetArgs;
use super::execute::execute;
use super::print::output;
use super::print::style::{self, DIM, count, paint};
use crate::environment;
use crate::exit::ExitCode;
use crate::run::{self, Results};
use crate::stop::{Stop, stop_on_signals};

/// The options for several machines.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Several machines")]
pub(super) struct ShardArgs {
    /// Check only this part of the hosts, and write a bundle in place of ledger and messages: 3/8, or /8
    /// where the engine numbers its tasks (Slurm, Kubernetes, GitLab and others)
    #[arg(
        long,
        value_name = "I/N",
        requires = "to",
        conflicts_with_all = ["from", "format", "commit", "message"]
    )]
    shard: Option<String>,
    /// Folder for the bundles of this run, the same for all shards
    #[arg(long, value_name = "DIR", requires = "shard")]
    to: Option<PathBuf>,
    /// Take what the shards have seen from the bundles in these folders, in place of the network
    #[arg(long, value_name = "DIR", num_args = 1..)]
    from: Vec<PathBuf>,
}

impl ShardArgs {
    /// The shard, and the folder for its bundle, if this is a shard.
    ///
    /// # Errors
    /// When there is no such shard, or its number cannot be told from the environment.
    pub(super) fn shard(&self, context: &Context) -> anyhow::Result<Option<(Shard, PathBuf)>> {
        let (Some(text), Some(to)) = (&self.shard, &self.to) else {
            return Ok(None);
        };
        let shard = match text.strip_prefix('/') {
            None => text
                .parse()
                .map_err(|error: InvalidShard| error.to_string()),
            Some(count) => of_environment(count, environment::variable),
        };
        let shard = shard.map_err(|why| anyhow::anyhow!("--shard {}: {why}", sanitize(text)))?;
        Ok(Some((shard, context.directory.join(to))))
    }

    /// The folders with the bundles of a collecting run; none of another run.
    pub(super) fn folders(&self, context: &Context) -> Vec<PathBuf> {
        let folders = self.from.iter();
        folders.map(|it| context.directory.join(it)).collect()
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

/// The environment variables by which an engine numbers its tasks.
struct Engine {
    /// The environment variable with the number.
    number: &'static str,
    /// The number of the first task.
    first: u32,
    /// The variable with the number of all tasks, if there is one that stays the same when a task runs
    /// again.
    count: Option<&'static str>,
}

/// Engines whose variables name no task set the text in [`NO_TASK`], or 0 where the first task is 1.
const ENGINES: [Engine; 8] = [
    // Users of Slurm and PBS choose the first number. It must be 1 here: a task does not know the others.
    engine("SLURM_ARRAY_TASK_ID", 1, None),
    engine("PBS_ARRAY_INDEX", 1, None),
    engine("SGE_TASK_ID", 1, None),
    engine("LSB_JOBINDEX", 1, None),
    engine("CI_NODE_INDEX", 1, Some("CI_NODE_TOTAL")),
    engine("JOB_COMPLETION_INDEX", 0, None),
    engine("CLOUD_RUN_TASK_INDEX", 0, Some("CLOUD_RUN_TASK_COUNT")),
    engine("AWS_BATCH_JOB_ARRAY_INDEX", 0, None),
];

/// The value of `SGE_TASK_ID` outside of an array.
const NO_TASK: &str = "undefined";

const fn engine(number: &'static str, first: u32, count: Option<&'static str>) -> Engine {
    Engine {
        number,
        first,
        count,
    }
}

/// The shard whose number the engine has set in the environment; `count` is the number of shards.
fn of_environment(count: &str, env: impl Fn(&str) -> Option<String>) -> Result<Shard, String> {
    let is_task = |value: &String| !value.is_empty() && value != NO_TASK;
    let set = |engine: &&Engine| env(engine.number).as_ref().is_some_and(is_task);
    let mut engines = ENGINES.iter().filter(set);
    let Some(engine) = engines.next() else {
        let names: Vec<&str> = ENGINES.iter().map(|engine| engine.number).collect();
        return Err(format!(
            "no engine has numbered this task: none of {} is set; write --shard I/{count}",
            names.join(", ")
        ));
    };
    if let Some(other) = engines.next() {
        return Err(format!(
            "both {} and {} are set; write --shard I/{count}",
            engine.number, other.number
        ));
    }
    let name = engine.number;
    let all: u32 = count
        .parse()
        .map_err(|_| "the number of shards is missing, as in /8".to_owned())?;
    let value = env(name).unwrap_or_default();
    let number: u32 = value
        .parse()
        .map_err(|_| format!("{name} is {value:?}, which is no number"))?;
    let number = number.checked_sub(engine.first).map(|number| number + 1);
    let advice = || match engine.first {
        0 => format!("the tasks of {all} shards are 0 to {}", all - 1),
        _ => format!("the tasks of {all} shards are 1 to {all}, as in --array=1-{all}"),
    };
    let shard = number.map(|number| Shard::new(number, all));
    let Some(Ok(shard)) = shard else {
        // A wrong number of shards is named in any case.
        Shard::new(1, all).map_err(|error| error.to_string())?;
        return Err(format!("{name} is {value}: {}", advice()));
    };
    if let Some(name) = engine.count
        && let Some(total) = env(name).filter(|total| *total != all.to_string())
    {
        return Err(format!("{name} is {total}: there are not {all} tasks"));
    }
    slurm_fits(all, &env)?;
    Ok(shard)
}

/// Refuses an array of Slurm that numbers other tasks than the shards. An array of a few of them runs these
/// again.
fn slurm_fits(all: u32, env: &impl Fn(&str) -> Option<String>) -> Result<(), String> {
    let value = |name: &str| env(name).and_then(|value| value.parse::<u32>().ok());
    let bounds = ["SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_MAX"].map(value);
    if let [Some(least), Some(most)] = bounds
        && (least == 0 || most > all)
    {
        return Err(format!(
            "the array has the tasks {least} to {most}: write --array=1-{all}"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shard(count: &str, variables: &[(&str, &str)]) -> Result<String, String> {
        let env = |name: &str| {
            let known = variables.iter().find(|(other, _)| *other == name);
            known.map(|(_, value)| (*value).to_owned())
        };
        of_environment(count, env).map(|shard| shard.to_string())
    }

    #[test]
    fn each_engine_counts_from_its_own_first_task() {
        for (name, first, last) in [
            ("SLURM_ARRAY_TASK_ID", "1", "8"),
            ("PBS_ARRAY_INDEX", "1", "8"),
            ("SGE_TASK_ID", "1", "8"),
            ("LSB_JOBINDEX", "1", "8"),
            ("CI_NODE_INDEX", "1", "8"),
            ("JOB_COMPLETION_INDEX", "0", "7"),
            ("CLOUD_RUN_TASK_INDEX", "0", "7"),
            ("AWS_BATCH_JOB_ARRAY_INDEX", "0", "7"),
        ] {
            assert_eq!(shard("8", &[(name, first)]).unwrap(), "1/8", "{name}");
            assert_eq!(shard("8", &[(name, last)]).unwrap(), "8/8", "{name}");
            let beyond = if first == "0" { "8" } else { "9" };
            assert!(shard("8", &[(name, beyond)]).is_err(), "{name}");
            assert!(shard("8", &[(name, "-1")]).is_err(), "{name}");
            assert!(shard("0", &[(name, first)]).is_err(), "{name}");
            assert!(shard("", &[(name, first)]).is_err(), "{name}");
        }
    }

    #[test]
    fn a_task_that_runs_again_alone_is_the_same_shard() {
        let again = [
            ("SLURM_ARRAY_TASK_ID", "3"),
            ("SLURM_ARRAY_TASK_COUNT", "1"),
            ("SLURM_ARRAY_TASK_MIN", "3"),
            ("SLURM_ARRAY_TASK_MAX", "3"),
        ];
        assert_eq!(shard("8", &again).unwrap(), "3/8");
    }

    #[test]
    fn a_number_of_tasks_that_does_not_fit_is_refused() {
        let slurm = |task, least, most| {
            shard(
                "8",
                &[
                    ("SLURM_ARRAY_TASK_ID", task),
                    ("SLURM_ARRAY_TASK_MIN", least),
                    ("SLURM_ARRAY_TASK_MAX", most),
                ],
            )
        };
        assert_eq!(slurm("1", "1", "8").unwrap(), "1/8");
        for (task, least, most) in [("1", "0", "7"), ("0", "0", "7"), ("1", "1", "16")] {
            let refused = slurm(task, least, most).unwrap_err();
            assert!(refused.contains("--array=1-8"), "{refused}");
        }
        for (number, total) in [
            ("CI_NODE_INDEX", "CI_NODE_TOTAL"),
            ("CLOUD_RUN_TASK_INDEX", "CLOUD_RUN_TASK_COUNT"),
        ] {
            assert!(shard("8", &[(number, "1"), (total, "8")]).is_ok());
            let refused = shard("8", &[(number, "1"), (total, "4")]).unwrap_err();
            assert!(refused.contains(total), "{refused}");
        }
    }

    #[test]
    fn without_one_engine_the_number_must_be_given() {
        let none = shard("8", &[("SGE_TASK_ID", "undefined")]).unwrap_err();
        assert!(none.contains("--shard I/8"), "{none}");
        let two = [("CI_NODE_INDEX", "1"), ("JOB_COMPLETION_INDEX", "1")];
        let two = shard("8", &two).unwrap_err();
        assert!(two.contains("both"), "{two}");
    }
}
