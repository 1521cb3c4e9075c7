//! The schedules that run urldb, as far as the files of the project show them.
#![expect(clippy::disallowed_methods, reason = "lists the folders of workflows")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use urldb_render::numbers::age_in_words;

use super::{Check, ProjectSetup};
use crate::limits;

/// The folders of workflows of GitHub and of servers with the same format.
const WORKFLOWS: [&str; 3] = [
    ".github/workflows",
    ".forgejo/workflows",
    ".gitea/workflows",
];

/// The pipeline of GitLab.
const PIPELINE: &str = ".gitlab-ci.yml";

/// The script of the action that the pipeline of `urldb init --gitlab` runs.
const GITLAB: &str = "/.github/action/gitlab.sh";

/// Days with a run, without a visible schedule, that show that there is one.
const REGULAR_RUNS: usize = 4;

/// The time in which they must have begun, in days.
const REGULAR_DAYS: i64 = 30;

/// The place where a workflow stores the ledger between its runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum StoredLedger {
    /// The branch of the action.
    Branch,
    /// The branch that is checked out, or a place of the workflow's own.
    Elsewhere,
    /// No place: each run sees every failure for the first time.
    Nowhere,
}

/// A workflow of a server that runs urldb.
pub(super) struct Workflow {
    /// Relative to the top of the work tree.
    pub(super) file: String,
    /// The action of urldb that the workflow names.
    pub(super) action: Option<String>,
    /// The text without comments.
    pub(super) text: String,
    pub(super) ledger: StoredLedger,
    /// The cron expressions, in UTC.
    crons: Vec<String>,
}

impl Workflow {
    fn read(top: &Path, file: String) -> Option<Self> {
        // A shell joins lines that end with a backslash.
        let text = without_comments(&read(&top.join(&file))?).replace("\\\n", " ");
        let steps = text
            .lines()
            .map(|line| line.trim_start().trim_start_matches("- "));
        let actions = steps.clone().filter_map(|line| {
            let action = line.strip_prefix("uses:")?.split_whitespace().next()?;
            action.contains("urldb").then_some(action)
        });
        let uses_action =
            actions.clone().count() > 0 || steps.clone().any(|line| line.trim_end() == "id: urldb");
        if is_for_pull_requests(&text) || !uses_action && !text.lines().any(runs_urldb) {
            return None;
        }
        let is_action = |it: &&str| it.contains('@') && !it.contains(".yml@");
        let action = actions.clone().next().filter(is_action).map(str::to_owned);
        let crons = text
            .lines()
            .filter_map(|line| {
                let line = line.trim_start().strip_prefix("- cron:")?;
                Some(line.trim().trim_matches(['"', '\'']).to_owned())
            })
            .collect();
        let ledger = stored_ledger(&text, uses_action.then_some(actions.count().max(1)));
        Some(Self {
            file,
            action,
            text,
            ledger,
            crons,
        })
    }
}

impl ProjectSetup<'_> {
    /// The workflows of the repository that run urldb.
    pub(super) fn workflows(&self) -> Vec<Workflow> {
        let top = self
            .repository
            .as_ref()
            .map(crate::git::Repository::work_tree);
        let Some(Ok(top)) = top else {
            return vec![];
        };
        let mut files = vec![];
        for folder in WORKFLOWS {
            let found = listed(&top.join(folder)).into_iter().filter_map(|path| {
                let name = path.file_name()?.to_str()?.to_owned();
                let extension = path.extension()?;
                let is_workflow = extension == "yml" || extension == "yaml";
                is_workflow.then(|| format!("{folder}/{name}"))
            });
            files.extend(found);
        }
        files.push(PIPELINE.to_owned());
        files
            .into_iter()
            .filter_map(|file| Workflow::read(top, file))
            .collect()
    }

    pub(super) fn schedule(&self, workflows: &[Workflow]) -> Check {
        let scheduled = workflows.iter().find(|workflow| !workflow.crons.is_empty());
        if let Some(workflow) = scheduled {
            let times = workflow
                .crons
                .iter()
                .map(|cron| in_words(cron, "UTC"))
                .collect::<Vec<_>>()
                .join(", ");
            return Check::ok("schedule", format!("{}: {times}", workflow.file));
        }
        if let Some(pipeline) = workflows.iter().find(|workflow| workflow.file == PIPELINE) {
            let sentence = format!("{}: as GitLab's settings of the project say", pipeline.file);
            return Check::ok("schedule", sentence);
        }
        if let Some(check) = self.own_schedule() {
            return check;
        }
        let runs = self.complete_runs();
        let recent = self.recent();
        if recent >= REGULAR_RUNS {
            let sentence = format!(
                "no schedule is visible here, but {recent} of the last {REGULAR_DAYS} days had a run"
            );
            return Check::ok("schedule", sentence);
        }
        if let Some(workflow) = workflows.first() {
            let sentence = format!("{} runs urldb, but has no schedule", workflow.file);
            return Check::advice("schedule", sentence);
        }
        let last = match runs.last() {
            Some(last) => format!("the last run is {} old", age_in_words(*last, self.now)),
            None => "there was no run yet".to_owned(),
        };
        let sentence =
            format!("urldb.toml has no [[schedule]], no workflow calls `urldb run`, and {last}");
        Check::advice("schedule", sentence).fixed_by("to add one", &["urldb", "init", "--cron"])
    }

    /// The check of `[[schedule]]`, which `urldb watch` needs.
    fn own_schedule(&self) -> Option<Check> {
        let schedules = &self.config.schedules;
        if schedules.is_empty() {
            return None;
        }
        let times = schedules
            .iter()
            .map(|it| in_words(&it.cron, &it.timezone))
            .collect::<Vec<_>>()
            .join(", ");
        let is_watching = matches!(self.holder(), Ok(Some(_)));
        if is_watching || self.recent() >= REGULAR_RUNS {
            return Some(Check::ok("schedule", format!("urldb.toml: {times}")));
        }
        let sentence = format!("urldb.toml: {times}, but no `urldb watch` is at work here");
        Some(Check::advice("schedule", sentence).fixed_by("to start it", &["urldb", "watch"]))
    }

    /// The beginnings of the complete runs, in their order.
    fn complete_runs(&self) -> Vec<Timestamp> {
        crate::ledger::past_runs(&self.config.ledger_root(), self.now)
            .unwrap_or_default()
            .known
            .iter()
            .filter(|run| run.is_complete())
            .map(|run| run.at)
            .collect()
    }

    /// Number of the last days in which a complete run began.
    fn recent(&self) -> usize {
        let age = |at: Timestamp| self.now.duration_since(at).as_hours() / 24;
        let days = self.complete_runs().into_iter().map(age);
        days.filter(|age| *age < REGULAR_DAYS)
            .collect::<BTreeSet<_>>()
            .len()
    }
}

/// The place of the ledger, by the settings of the action, or by the words of a workflow of its own. `steps` is the number of
/// steps with the action, if there are any.
fn stored_ledger(text: &str, steps: Option<usize>) -> StoredLedger {
    let values = |key: &'static str| {
        text.lines()
            .map(str::trim_start)
            .filter_map(move |line| line.strip_prefix(key)?.strip_prefix(':'))
            .map(|value| value.trim().trim_matches(['"', '\'']))
    };
    // A shard has no ledger to store; the job that collects the shards has.
    let without = values("commit-ledger").filter(|value| *value == "false");
    if steps.is_some_and(|steps| without.count() < steps) || text.contains(GITLAB) {
        let mut branches = values("state-branch").chain(values("STATE_BRANCH"));
        return match branches.next() {
            Some("") => StoredLedger::Elsewhere,
            _ => StoredLedger::Branch,
        };
    }
    let words = [
        "--push",
        "git push",
        "urldb push",
        "auto-commit",
        "add-and-commit",
        "create-pull-request",
        "cache",
        "-artifact",
    ];
    if words.iter().any(|word| text.contains(word)) {
        StoredLedger::Elsewhere
    } else {
        StoredLedger::Nowhere
    }
}

/// Whether only pull requests start a workflow: such a workflow records nothing.
fn is_for_pull_requests(text: &str) -> bool {
    let others = ["schedule:", "workflow_dispatch", "workflow_call", "push:"];
    text.contains("pull_request") && !others.iter().any(|event| text.contains(event))
}

/// Whether a line of a workflow runs `urldb run`, or `urldb watch`.
fn runs_urldb(line: &str) -> bool {
    let is_program =
        |word: &str| word == "urldb" || word.ends_with("/urldb") || word.ends_with(GITLAB);
    line.split(|char: char| char.is_whitespace() || "\"'`;&|()[],=".contains(char))
        .skip_while(|word| !is_program(word))
        .skip(1)
        .any(|word| matches!(word, "run" | "watch"))
}

/// The text without the lines that are comments.
fn without_comments(text: &str) -> String {
    text.split_inclusive('\n')
        .filter(|line| !line.trim_start().starts_with('#'))
        .collect()
}

/// The text of a file of bounded size.
fn read(path: &Path) -> Option<String> {
    let bytes = urldb_files::read(path, limits::SETTINGS).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn listed(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    paths.sort();
    paths
}

/// `every day at 04:17 UTC`; the expression itself where no plain words say the same.
fn in_words(cron: &str, zone: &str) -> String {
    const DAYS: [&str; 8] = [
        "Sunday",
        "Monday",
        "Tuesday",
        "Wednesday",
        "Thursday",
        "Friday",
        "Saturday",
        "Sunday",
    ];
    let fields: Vec<&str> = cron.split_whitespace().collect();
    let number = |field: &str| field.parse::<u8>().ok();
    if let [minute, hour, "*", "*", day] = fields[..]
        && let Some(minute) = number(minute)
    {
        let at = number(hour).map(|hour| format!("at {hour:02}:{minute:02} {zone}"));
        match (at, day, number(day)) {
            (Some(at), "*", _) => return format!("every day {at}"),
            (Some(at), _, Some(day @ 0..=7)) => {
                return format!("every {} {at}", DAYS[usize::from(day)]);
            }
            (None, "*", _) if hour == "*" => return format!("every hour at minute {minute}"),
            _ => {}
        }
    }
    format!("cron \"{cron}\", {zone}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_schedules_are_said_in_words() {
        for (cron, words) in [
            ("17 4 * * *", "every day at 04:17 UTC"),
            ("5 * * * *", "every hour at minute 5"),
            ("0 6 * * 1", "every Monday at 06:00 UTC"),
            ("0 6 * * 7", "every Sunday at 06:00 UTC"),
            ("0 6 * * 8", "cron \"0 6 * * 8\", UTC"),
            ("0 6 1 * *", "cron \"0 6 1 * *\", UTC"),
            ("*/5 * * * *", "cron \"*/5 * * * *\", UTC"),
            ("@daily", "cron \"@daily\", UTC"),
        ] {
            assert_eq!(in_words(cron, "UTC"), words, "{cron}");
        }
    }

    #[test]
    fn a_line_runs_urldb_by_its_words() {
        for (line, runs) in [
            ("  run: cd /srv/p && urldb run -q", true),
            ("  run: /usr/bin/urldb -C /srv/p run", true),
            ("  run: urldb run --github", true),
            ("  script: 'urldb run'", true),
            ("  script: [urldb run, true]", true),
            ("  run: urldb-other run", false),
            ("  run: urldb lint", false),
            ("  name: run of urldb", false),
        ] {
            assert_eq!(runs_urldb(line), runs, "{line}");
        }
    }
}
