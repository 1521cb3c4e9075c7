//! The schedules that run urldb, as far as files of this machine show them.
#![expect(
    clippy::disallowed_methods,
    reason = "looks at the user's crontab and units"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{Check, ProjectSetup};
use crate::config;
use crate::environment;
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

/// The tables of cron that everybody may read.
const CRON_FILES: [&str; 1] = ["/etc/crontab"];
const CRON_FOLDERS: [&str; 5] = [
    "/etc/cron.d",
    "/etc/cron.hourly",
    "/etc/cron.daily",
    "/etc/cron.weekly",
    "/etc/cron.monthly",
];

/// The folders of systemd's units; those of the user are below the home folder.
const UNITS: &str = "/etc/systemd/system";
const USER_UNITS: &str = ".config/systemd/user";

/// Runs without a visible schedule that show that there is one.
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
        let action = actions.clone().next().filter(|action| action.contains('@'));
        let action = action.filter(|action| !action.contains(".yml@"));
        let action = action.map(str::to_owned);
        let crons = text.lines().filter_map(|line| {
            let line = line.trim_start().strip_prefix("- cron:")?;
            Some(line.trim().trim_matches(['"', '\'']).to_owned())
        });
        let crons = crons.collect();
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
        let files = files.into_iter();
        files.filter_map(|file| Workflow::read(top, file)).collect()
    }

    pub(super) fn schedule(&self, workflows: &[Workflow]) -> Check {
        let scheduled = workflows.iter().find(|workflow| !workflow.crons.is_empty());
        if let Some(workflow) = scheduled {
            let times = workflow.crons.iter().map(|cron| in_words(cron, "UTC"));
            let times = times.collect::<Vec<_>>().join(", ");
            return Check::ok("schedule", format!("{}: {times}", workflow.file));
        }
        if let Some(pipeline) = workflows.iter().find(|workflow| workflow.file == PIPELINE) {
            let sentence = format!("{}: as GitLab's settings of the project say", pipeline.file);
            return Check::ok("schedule", sentence);
        }
        if let Some(place) = self.cron_place() {
            return Check::ok("schedule", format!("{place} runs urldb"));
        }
        if let Some(check) = self.own_schedule() {
            return check;
        }
        let runs = self.recent_runs();
        if runs >= REGULAR_RUNS {
            let sentence = format!(
                "no schedule is visible here, but there were {runs} runs in {REGULAR_DAYS} days"
            );
            return Check::ok("schedule", sentence);
        }
        if let Some(workflow) = workflows.first() {
            let sentence = format!("{} runs urldb, but has no schedule", workflow.file);
            return Check::advice("schedule", sentence);
        }
        Check::advice(
            "schedule",
            "nothing runs urldb regularly: urldb.toml has no [[schedule]], and no workflow calls \
             `urldb run`",
        )
        .mended_by("to add one", &["urldb", "init", "--github"])
    }

    /// The check of `[[schedule]]`, which `urldb watch` needs.
    fn own_schedule(&self) -> Option<Check> {
        let schedules = &self.config.schedules;
        if schedules.is_empty() {
            return None;
        }
        let times = schedules.iter().map(|schedule| {
            let config::Schedule { cron, timezone, .. } = schedule;
            in_words(cron, timezone)
        });
        let times = times.collect::<Vec<_>>().join(", ");
        let is_watching = matches!(self.holder(), Ok(Some(_)));
        if is_watching || self.recent_runs() >= REGULAR_RUNS {
            return Some(Check::ok("schedule", format!("urldb.toml: {times}")));
        }
        let sentence = format!("urldb.toml: {times}, but no `urldb watch` is at work here");
        Some(Check::advice("schedule", sentence).mended_by("to start it", &["urldb", "watch"]))
    }

    /// Number of complete runs in the last days.
    fn recent_runs(&self) -> usize {
        let runs =
            crate::ledger::past_runs(&self.config.ledger_root(), self.now).unwrap_or_default();
        let is_recent = |run: &&crate::ledger::PastRun| {
            run.is_complete() && self.now.duration_since(run.at).as_hours() < REGULAR_DAYS * 24
        };
        runs.known.iter().filter(is_recent).count()
    }

    /// The table of cron or the timer of systemd that runs urldb for this project.
    fn cron_place(&self) -> Option<String> {
        let root = urldb_files::real_path(&self.config.root).ok()?;
        let root = root.to_str()?;
        let runs_here = |text: &str| {
            let text = without_comments(text);
            let mut lines = text.lines();
            lines.any(|line| runs_urldb(line) && names_folder(line, root))
        };
        if crontab().is_some_and(|text| runs_here(&text)) {
            return Some("your crontab".to_owned());
        }
        let folders = CRON_FOLDERS
            .iter()
            .flat_map(|folder| listed(Path::new(folder)));
        let mut tables = CRON_FILES.iter().map(PathBuf::from).chain(folders);
        if let Some(table) = tables.find(|path| {
            // A script may change the folder in a line of its own.
            let text = read(path).unwrap_or_default();
            let is_script = text.starts_with("#!");
            let text = without_comments(&text);
            runs_here(&text)
                || is_script && text.lines().any(runs_urldb) && names_folder(&text, root)
        }) {
            return Some(table.display().to_string());
        }
        let home = environment::os_variable("HOME").map(|home| Path::new(&home).join(USER_UNITS));
        let folders = [Some(PathBuf::from(UNITS)), home].into_iter().flatten();
        let units: Vec<PathBuf> = folders.flat_map(|folder| listed(&folder)).collect();
        let is_timer = |path: &&PathBuf| path.extension().is_some_and(|it| it == "timer");
        let timer = units.iter().filter(is_timer).find(|timer| {
            let service = read(&timer.with_extension("service")).unwrap_or_default();
            let service = without_comments(&service);
            service.lines().any(runs_urldb) && names_folder(&service, root)
        });
        timer.map(|timer| timer.display().to_string())
    }
}

/// The place of the ledger, by the settings of the action, or by the words of a workflow of its own. `steps` is the number of
/// steps with the action, if there are any.
fn stored_ledger(text: &str, steps: Option<usize>) -> StoredLedger {
    let values = |key: &'static str| {
        let lines = text.lines().map(str::trim_start);
        let values = lines.filter_map(move |line| line.strip_prefix(key)?.strip_prefix(':'));
        values.map(|value| value.trim().trim_matches(['"', '\'']))
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

/// The user's table of cron.
fn crontab() -> Option<String> {
    let done = Command::new("crontab")
        .arg("-l")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    Some(String::from_utf8_lossy(&done.stdout).into_owned())
}

/// Whether a line of a script or a table runs `urldb run`, or `urldb watch`.
fn runs_urldb(line: &str) -> bool {
    let is_program =
        |word: &str| word == "urldb" || word.ends_with("/urldb") || word.ends_with(GITLAB);
    let words = line.split(|char: char| char.is_whitespace() || "\"'`;&|()[],=".contains(char));
    let mut after = words.skip_while(|word| !is_program(word)).skip(1);
    after.any(|word| matches!(word, "run" | "watch"))
}

/// Whether the text names the folder, and not only one whose name begins in the same way.
fn names_folder(text: &str, folder: &str) -> bool {
    let is_end = |rest: &str| {
        let next = rest.chars().next();
        next.is_none_or(|char| char.is_whitespace() || "/\"';&|)".contains(char))
    };
    let mut found = text.match_indices(folder);
    found.any(|(start, _)| is_end(&text[start + folder.len()..]))
}

/// The text without the lines that are comments.
fn without_comments(text: &str) -> String {
    let lines = text.split_inclusive('\n');
    let lines = lines.filter(|line| !line.trim_start().starts_with('#'));
    lines.collect()
}

/// The text of a file of bounded size.
fn read(path: &Path) -> Option<String> {
    let bytes = urldb_files::read(path, limits::SETTINGS).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn listed(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
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
            ("17 4 * * * cd /srv/p && urldb run -q", true),
            ("ExecStart=/usr/bin/urldb -C /srv/p run", true),
            ("  run: urldb run --github", true),
            ("  script: 'urldb run'", true),
            ("  script: [urldb run, true]", true),
            ("17 4 * * * urldb-other run", false),
            ("  run: urldb lint", false),
            ("  name: run of urldb", false),
        ] {
            assert_eq!(runs_urldb(line), runs, "{line}");
        }
        assert!(names_folder("cd /srv/p && urldb", "/srv/p"));
        assert!(!names_folder("cd /srv/pages && urldb", "/srv/p"));
    }
}
