//! The workflows of GitHub.

use std::fmt::Write as _;

use super::project::ProjectFacts;
use super::services::{
    FIRST, IS_RELEASED, NewFile, Service, SetupNote, VERSION, common, places, untold, yaml,
};
use super::template::TemplateValues;

const WORKFLOW: &str = include_str!("../../../templates/init/github.yml");
const OF_PULL_REQUEST: &str = include_str!("../../../templates/init/github-pull-request.yml");

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
    if is_action {
        Ok(text.to_owned())
    } else {
        Err("write it as OWNER/REPO@REF, where REF is a commit, a tag or a branch".to_owned())
    }
}

/// The workflows, which use this action, or else the release of this version.
pub(super) fn workflows(
    project: &ProjectFacts<'_>,
    action: Option<&str>,
) -> anyhow::Result<Service> {
    let default = format!("urldb/urldb@v{VERSION}");
    let common = || uses(common(project), action.unwrap_or(&default));
    let names = project.secrets()?;
    // Issues may be added later.
    let token = (!project.config.tells_people()).then(|| "GITHUB_TOKEN".to_owned());
    let (tokens, secrets): (Vec<&String>, Vec<&String>) = names
        .iter()
        .chain(&token)
        .partition(|name| *name == "GITHUB_TOKEN");
    let mut env = String::new();
    for name in tokens {
        let _ = writeln!(env, "{name}: ${{{{ github.token }}}}");
    }
    for name in &secrets {
        let _ = writeln!(env, "{name}: ${{{{ secrets.{name} }}}}");
    }
    // Secrets of an environment are out of reach for every other workflow.
    let environment = if secrets.is_empty() {
        ""
    } else {
        "environment: urldb # has the secrets"
    };
    let workflow = common()
        .with("INPUTS", inputs(project)?)
        .with("SECRETS", env)
        .with("ENVIRONMENT", environment);
    let of_pull_request = common().with("INPUTS", places(project)? + "diff: comment\n");
    let folder = project.top()?.join(".github/workflows");
    let mut notes = vec![];
    if action.is_none() && !IS_RELEASED {
        notes.push(unreleased(project, &default)?);
    }
    notes.extend(untold(project, "--github", "GitHub"));
    Ok(Service {
        name: "GitHub",
        files: vec![
            NewFile {
                path: folder.join("urldb.yml"),
                text: workflow.fill(WORKFLOW),
                purpose: "which runs urldb every day",
            },
            NewFile {
                path: folder.join("urldb-pull-request.yml"),
                text: of_pull_request.fill(OF_PULL_REQUEST),
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
        notes,
    })
}

/// The inputs of the action, as far as they are not the defaults.
fn inputs(project: &ProjectFacts<'_>) -> anyhow::Result<String> {
    let mut inputs = places(project)?;
    let ledger = project.ledger()?;
    if ledger != "status" {
        inputs += &yaml("ledger", &ledger);
    }
    if project.tracks_ledger()? {
        inputs += "state-branch: \"\"\n";
    }
    let store = !project.config.archive.stores.is_empty();
    inputs += &yaml("archive", if store { "store" } else { "artifact" });
    let archive = project.archive()?;
    if !store && archive != "archive" {
        inputs += &yaml("archive-folder", &archive);
    }
    let site = project.site()?;
    inputs += &yaml("site", if site.is_some() { "pages" } else { "none" });
    if let Some(site) = site.filter(|site| site != "site") {
        inputs += &yaml("site-folder", &site);
    }
    Ok(inputs)
}

/// The name of the action; unless it is a commit, with a comment for a linter, and advice for people.
fn uses(values: TemplateValues, action: &str) -> TemplateValues {
    let version = action.rsplit('@').next().unwrap_or_default();
    let is_commit = version.len() >= 40 && version.chars().all(|char| char.is_ascii_hexdigit());
    if is_commit {
        return values.with("ACTION", action).with("ADVICE", "");
    }
    values
        .with(
            "ACTION",
            format!("{action} # zizmor: ignore[unpinned-uses]"),
        )
        .with(
            "ADVICE",
            "# Replace the name after @ by a commit, once you rely on this workflow.",
        )
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

/// A note for the time before the release: the default action does not exist yet.
fn unreleased(project: &ProjectFacts<'_>, default: &str) -> anyhow::Result<SetupNote> {
    let folder = project.folder()?;
    let depth = folder.split('/').filter(|part| !part.is_empty()).count();
    let top = "../".repeat(depth);
    Ok(SetupNote {
        text: format!(
            "{default} is not released, so these workflows cannot run yet. Until then, push the source of urldb to a \
             repository of yours, and name its commit:"
        ),
        command: format!(
            "rm {top}.github/workflows/urldb.yml {top}.github/workflows/urldb-pull-request.yml && \
             urldb init --github --action OWNER/urldb@COMMIT"
        ),
    })
}
