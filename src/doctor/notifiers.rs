//! Notifiers: their secrets, their settings, and the messages that wait.

use urldb_render::command_line;
use urldb_render::numbers::count;

use super::files::names;
use super::schedule::Workflow;
use super::{Check, ProjectSetup};
use crate::ledger::Incidents;
use crate::notify::{
    FilterReport, Inspection, NotifierStatus, Outbox, UNROUTED_ADVICE, filter_report, inspect,
    unrouted,
};
use crate::project::{Checkout, Project};

impl ProjectSetup<'_> {
    /// A check for each notifier, without contact to its service.
    pub(super) fn notifiers(&self, workflows: &[Workflow]) -> Vec<Check> {
        let outbox = Outbox::new(&self.config.ledger_root());
        let inspections = match inspect(&self.config, &outbox) {
            Ok(inspections) => inspections,
            Err(error) => return vec![Check::failed("notify", &error)],
        };
        let mut checks: Vec<Check> = inspections
            .iter()
            .map(|inspection| self.notifier(inspection, workflows))
            .collect();
        if !self.config.tells_people() {
            checks.insert(0, self.tells_nobody(workflows));
        }
        checks.extend(self.filters());
        checks
    }

    /// A check that fails if every notifier only writes files, so that no message reaches people.
    fn tells_nobody(&self, workflows: &[Workflow]) -> Check {
        let notifiers: Vec<&String> = self.config.notifiers.keys().collect();
        let lack = match notifiers.as_slice() {
            [] => "urldb.toml has no [notify.NAME]".to_owned(),
            [name] => format!("[notify.{name}] only writes files"),
            all => format!(
                "{} only write files",
                names(all.iter().map(|name| format!("[notify.{name}]")))
            ),
        };
        let workflow = workflows.first().map(|workflow| workflow.file.as_str());
        let reports = match workflow {
            Some(file) => {
                format!("nobody is told about broken promises, except by a failed job of {file}")
            }
            None => "nobody is told about broken promises".to_owned(),
        };
        let check = Check::advice("notify", format!("{lack}, so {reports}"));
        let checkout = Checkout::discover(&self.config.root);
        let url = Project::new(&self.config, "", checkout, |_| None).url;
        let is_on_github = url.is_some_and(|url| url.starts_with("https://github.com/"));
        let first = workflows
            .first()
            .filter(|it| it.file.starts_with(".github/"));
        match first
            .filter(|_| is_on_github)
            .and_then(|it| self.with_issues(it))
        {
            Some(script) => check.fixed_by_script("to add issues", &script),
            None => check.fixed_by_script("to add one", "\"${EDITOR:-vi}\" urldb.toml"),
        }
    }

    /// The commands that add issues, and write the workflow anew, with the right to open them.
    fn with_issues(&self, workflow: &Workflow) -> Option<String> {
        let top = self.repository.as_ref()?.work_tree().ok()?;
        let file = self.argument(&top.join(&workflow.file));
        let action = workflow.action.as_deref()?;
        let remove = command_line(&["rm", "--", &file])?;
        let init = command_line(&["urldb", "init", "--github", "--action", action])?;
        Some(format!("{remove} && {init}"))
    }

    /// A check of the filters, if they miss something.
    fn filters(&self) -> Option<Check> {
        // The check of the database says why it cannot be read.
        let FilterReport {
            findings,
            unrouted: records,
        } = filter_report(&self.config).ok()?;
        let mut faults: Vec<String> = findings.into_iter().map(|it| it.message).collect();
        if records > 0 {
            let records = count(records, "record");
            faults.push(format!(
                "no section [notify.NAME] gets {records}: {UNROUTED_ADVICE}"
            ));
        }
        // The check of the ledger says why it cannot be read.
        let incidents = Incidents::load(&self.config.ledger_root(), self.now).ok();
        let known = incidents.as_ref().map_or(&[][..], Incidents::known);
        let broken = unrouted(&self.config, known);
        faults.extend(broken.map(|broken| broken.sentence()));
        let edit = "\"${EDITOR:-vi}\" urldb.toml";
        (!faults.is_empty()).then(|| {
            Check::advice("filters", faults.join("; ")).fixed_by_script("to edit it", edit)
        })
    }

    fn notifier(&self, inspection: &Inspection, workflows: &[Workflow]) -> Check {
        let Inspection {
            status,
            unset,
            error,
        } = inspection;
        let name = &status.notifier;
        let channel = channel(status);
        let sets = |variable: &String| workflows.iter().find(|it| it.text.contains(variable));
        let source = unset.iter().map(sets).collect::<Option<Vec<_>>>();
        if let Some(check) = self.waiting(status) {
            return check;
        }
        let waiting = "nothing is waiting";
        match (error, source.as_deref()) {
            (None, _) => {
                let root = format!("{}/", self.config.root.display());
                let destination = status.destination.replace(&root, "");
                Check::ok(channel, format!("{name}: {destination}; {waiting}"))
            }
            // Only secrets that another place has are missing here.
            (Some(_), Some([workflow, ..])) => {
                let secrets = names(unset.iter().cloned());
                let file = &workflow.file;
                let sentence = format!("{name}: {secrets} comes from {file}; {waiting}");
                Check::ok(channel, sentence)
            }
            (Some(_), None) => {
                let missing = unset.iter().filter(|variable| sets(variable).is_none());
                let secrets = names(missing.cloned());
                let sentence = format!(
                    "{name}: the secret is missing in this environment: {secrets} is not set"
                );
                let first = unset.first().map_or("", String::as_str);
                Check::advice(channel, sentence)
                    .fixed_by_script("to set it", &format!("export {first}=…"))
            }
            (Some(error), Some([])) => Check::fault(channel, format!("{name}: {error}")),
        }
    }

    /// The check of a notifier with messages that wait.
    fn waiting(&self, status: &NotifierStatus) -> Option<Check> {
        let name = &status.notifier;
        let channel = channel(status);
        if let Some(error) = status.errors.first() {
            return Some(Check::fault(channel, format!("{name}: {error}")));
        }
        let since = status.waiting_since()?;
        let number = status.waiting.len() as u64;
        let verb = if number == 1 { "waits" } else { "wait" };
        let since = since.strftime("%Y-%m-%d %H:%M UTC");
        let waiting = format!("{} {verb} since {since}", count(number, "message"));
        if !status.is_configured() {
            let sentence = format!("{name}: {waiting}, and urldb.toml has no [notify.{name}]");
            let check = Check::fault(channel, sentence);
            return Some(check.fixed_by("to discard it", &["urldb", "notify", "skip", name]));
        }
        let fault = status.fault().map(|fault| fault.message.as_str());
        let sentence = format!("{name}: {}; {waiting}", fault.unwrap_or("not tried yet"));
        let check = if status.needs_action(self.now) {
            Check::fault(channel, sentence)
        } else {
            Check::advice(channel, sentence)
        };
        Some(
            check
                .fixed_by("to test it", &["urldb", "notify", "test", name])
                .fixed_by("to send it now", &["urldb", "notify", "retry", name]),
        )
    }
}

/// The word for the channel of a notifier.
fn channel(status: &NotifierStatus) -> &'static str {
    match status.kind {
        "email" => "mail",
        "html" => "page",
        "" => "outbox",
        other => other,
    }
}
