//! The notifiers that a project on GitHub or GitLab begins with: the status site, and an issue for each incident.

use std::path::Path;

use anyhow::{Context as _, ensure};

use super::Args;
use super::project::ProjectFacts;
use super::template::TemplateValues;
use crate::config::{Config, FILE_NAME, NotifierKind};
use crate::limits;

const PAGE: &str = include_str!("../../../templates/init/page.toml");
const ISSUES: &str = include_str!("../../../templates/init/issues.toml");

/// The lines that urldb.toml lacks; none if its notifiers tell people, or if nothing is known to add.
pub(super) fn missing(args: &Args, project: &ProjectFacts<'_>) -> anyhow::Result<Option<String>> {
    let config = project.config;
    if !(args.github || args.gitlab) || config.tells_people() {
        return Ok(None);
    }
    let mut kinds = config.notifiers.values().map(|notify| &notify.kind);
    let mut lines = String::new();
    if !kinds.any(|kind| matches!(kind, NotifierKind::Html(_))) {
        lines += &TemplateValues::default()
            .with("name", free_name(config, "page"))
            .fill(PAGE)?;
    }
    let url = project.url.as_deref().unwrap_or_default();
    let issues = args
        .github
        .then(|| on_github(url))
        .flatten()
        .or_else(|| args.gitlab.then(|| on_gitlab(url)).flatten());
    if let Some(issues) = issues {
        lines += &issues
            .with("name", free_name(config, "issues"))
            .fill(ISSUES)?;
    }
    Ok((!lines.is_empty()).then_some(lines))
}

/// Adds the lines at the end of urldb.toml: everything before them stays as it is.
///
/// # Errors
/// When the file would have a mistake: its notifiers are written in a form that no section can follow.
pub(super) fn add(file: &Path, lines: &str) -> anyhow::Result<()> {
    let shown = file.display();
    let mut text = urldb_files::read_to_string(file, limits::SETTINGS)
        .with_context(|| format!("cannot read {shown}"))?;
    let lines_of_file = if text.contains("\r\n") {
        lines.replace('\n', "\r\n")
    } else {
        lines.to_owned()
    };
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text += &lines_of_file;
    ensure!(
        text.parse::<toml::Table>().is_ok(),
        "{FILE_NAME} tells nobody about broken promises, and its `notify` has a form that no section can follow: \
         add these settings yourself, in that form:\n{}",
        lines.trim()
    );
    super::write(file, &text)
}

/// The name, or a longer one that no notifier has.
fn free_name(config: &Config, name: &str) -> String {
    let mut free = name.to_owned();
    while config.notifiers.contains_key(&free) {
        free += "-2";
    }
    free
}

/// The values of [`ISSUES`] for a repository on GitHub, whose workflows have a token.
fn on_github(url: &str) -> Option<TemplateValues> {
    let name = url.strip_prefix("https://github.com/")?;
    let is_repository = name.matches('/').count() == 1 && is_plain(name);
    is_repository.then(|| values("github", name, "", "GITHUB_TOKEN"))
}

/// The same for a project on a server of GitLab.
fn on_gitlab(url: &str) -> Option<TemplateValues> {
    let (host, name) = url.strip_prefix("https://")?.split_once('/')?;
    if host == "github.com" || !name.contains('/') || !is_plain(host) || !is_plain(name) {
        return None;
    }
    let api = match host {
        "gitlab.com" => String::new(),
        host => format!("https://{host}/api/v4"),
    };
    Some(values("gitlab", name, &api, "GITLAB_TOKEN"))
}

fn values(service: &str, repository: &str, api_url: &str, token: &str) -> TemplateValues {
    TemplateValues::default()
        .with("service", service)
        .with("repository", repository)
        .with("api_url", api_url)
        .with("token", token)
}

/// Whether the text can stand between the quotation marks of TOML.
fn is_plain(text: &str) -> bool {
    let is_word = |char: char| char.is_ascii_alphanumeric() || "._-/:".contains(char);
    text.chars().all(is_word)
}
