//! The workflows of GitHub.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::ensure;

use super::project::ProjectFacts;
use super::services::{
    FIRST, IS_RELEASED, NewFile, Service, VERSION, common, places, silent, yaml,
};
use super::template::TemplateValues;
use crate::config::NotifierKind;

const WORKFLOW: &str = include_str!("../../../templates/init/github.yml");
const OF_PULL_REQUEST: &str = include_str!("../../../templates/init/github-pull-request.yml");

/// The variable with the token of the job, as programs on GitHub expect it.
const TOKEN: &str = "GITHUB_TOKEN";

/// Reads `OWNER/REPO@REF`, or `OWNER/REPO/FOLDER@REF`, as workflows name an action.
pub(super) fn action(text: &str) -> Result<String, String> {
    let is_path = |text: &str| {
        let is_word = |char: char| char.is_ascii_alphanumeric() || "._-".contains(char);
        text.split('/')
            .all(|part| !part.is_empty() && part.chars().all(is_word) && part != "..")
    };
    let is_action = text.split_once('@').is_some_and(|(repository, version)| {
        repository.contains('/') && is_path(repository) && is_path(version)
    });
    if is_action && !text.ends_with("@COMMIT") {
        Ok(text.to_owned())
    } else {
        Err("write it as OWNER/REPO@REF, where REF is a commit, a tag or a branch".to_owned())
    }
}

/// The action of a release, if there is one.
///
/// # Errors
/// When there is none: a name that nobody owns yet would run the code of whoever takes it, with the rights of the workflow.
pub(super) fn released() -> anyhow::Result<String> {
    let default = format!("urldb/urldb@v{VERSION}");
    ensure!(
        IS_RELEASED,
        "--github: {default} is not released. Whoever takes that name could write to your repository, so no workflow names \
         it. Push the source of urldb to a repository of yours, and name its commit: \
         `urldb init --github --action OWNER/REPO@COMMIT`"
    );
    Ok(default)
}

/// The workflows, which use this action.
pub(super) fn workflows(project: &ProjectFacts<'_>, action: &str) -> anyhow::Result<Service> {
    let common = || uses(common(project), action);
    let names = project.secrets()?;
    let (tokens, secrets): (Vec<&String>, Vec<&String>) =
        names.iter().partition(|name| *name == TOKEN);
    let mut env: Vec<String> = tokens
        .iter()
        .map(|name| format!("{name}: ${{{{ github.token }}}}"))
        .collect();
    let of_secret = |name: &&String| format!("{name}: ${{{{ secrets.{name} }}}}");
    env.extend(secrets.iter().map(of_secret));
    // Secrets of an environment are out of reach for every other workflow.
    let workflow = rights(common(), project)?
        .with("inputs", inputs(project)?)
        .with("env", env)
        .with("has_secrets", !secrets.is_empty());
    let mut of_changes = places(project)?;
    of_changes.push("diff: comment".to_owned());
    let of_pull_request = common().with("inputs", of_changes);
    let folder = project.top()?.join(".github/workflows");
    // The workflow of now has no right to open issues.
    let again = format!(
        "rm {}.github/workflows/urldb.yml && urldb init --github --action {action}",
        "../".repeat(Path::new(&project.folder()?).components().count())
    );
    Ok(Service {
        name: "GitHub",
        files: vec![
            NewFile {
                path: folder.join("urldb.yml"),
                text: workflow.fill(WORKFLOW)?,
                purpose: "which runs urldb every day",
            },
            NewFile {
                path: folder.join("urldb-pull-request.yml"),
                text: of_pull_request.fill(OF_PULL_REQUEST)?,
                purpose: "which checks what a pull request changes",
            },
        ],
        steps: [
            FIRST.to_owned(),
            "git add . && git commit -m \"Watch URLs\" && git push".to_owned(),
            format!(
                "on GitHub: {}start the workflow URLs",
                settings(project, &secrets)?
            ),
        ],
        notes: silent(project, again, "GitHub").into_iter().collect(),
    })
}

/// The rights of the job, and the job that publishes the site: only what the project has use for.
fn rights(values: TemplateValues, project: &ProjectFacts<'_>) -> anyhow::Result<TemplateValues> {
    let branch = if project.tracks_ledger()? {
        "the branch that is checked out"
    } else {
        "the branch urldb-status"
    };
    let opens_issues = project
        .config
        .notifiers
        .values()
        .map(|notify| &notify.kind)
        .any(|kind| match kind {
            NotifierKind::Issues(issues) => {
                issues.service == urldb_issues::Service::GitHub && issues.token_env == TOKEN
            }
            _ => false,
        });
    Ok(values
        .with("branch", branch)
        .with("opens_issues", opens_issues)
        .with("has_site", project.site()?.is_some()))
}

/// The inputs of the action, as far as they are not the defaults.
fn inputs(project: &ProjectFacts<'_>) -> anyhow::Result<Vec<String>> {
    let mut inputs = places(project)?;
    let ledger = project.ledger()?;
    if ledger != "status" {
        inputs.push(yaml("ledger", &ledger));
    }
    if project.tracks_ledger()? {
        inputs.push("state-branch: \"\"".to_owned());
    }
    let store = !project.config.archive.stores.is_empty();
    inputs.push(yaml("archive", if store { "store" } else { "artifact" }));
    let archive = project.archive()?;
    if !store && archive != "archive" {
        inputs.push(yaml("archive-folder", &archive));
    }
    let site = project.site()?;
    inputs.push(yaml("site", if site.is_some() { "pages" } else { "none" }));
    if let Some(site) = site.filter(|site| site != "site") {
        inputs.push(yaml("site-folder", &site));
    }
    Ok(inputs)
}

/// The name of the action, and whether it is a commit.
fn uses(values: TemplateValues, action: &str) -> TemplateValues {
    let version = action.rsplit('@').next().unwrap_or_default();
    let is_commit = version.len() >= 40 && version.chars().all(|char| char.is_ascii_hexdigit());
    values.with("action", action).with("is_commit", is_commit)
}

/// The settings that the workflow needs on GitHub before it starts.
fn settings(project: &ProjectFacts<'_>, secrets: &[&String]) -> anyhow::Result<String> {
    let mut settings = String::new();
    if !secrets.is_empty() {
        let names: Vec<&str> = secrets.iter().map(|name| name.as_str()).collect();
        let _ = write!(
            settings,
            "set {} as secrets of the environment urldb, ",
            names.join(", ")
        );
    }
    if project.site()?.is_some() {
        let place = match &project.url {
            Some(url) => format!("{url}/settings/pages"),
            None => "Settings > Pages of the repository".to_owned(),
        };
        let _ = write!(
            settings,
            "choose the source \"GitHub Actions\" at {place}, "
        );
    }
    if !settings.is_empty() {
        settings += "then ";
    }
    Ok(settings)
}
