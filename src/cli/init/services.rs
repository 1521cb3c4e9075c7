//! The files that run urldb regularly, or at each commit.

use std::path::PathBuf;

use super::project::{ProjectFacts, program, user};
use super::template::TemplateValues;

/// The version of the action, the wheel and the hooks that written files name.
pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Whether there is a release of this version: until then, nothing has the names that written files have.
/// docs/releasing.md says when this changes.
pub(super) const IS_RELEASED: bool = false;

pub(super) struct NewFile {
    pub(super) path: PathBuf,
    pub(super) text: String,
    /// The purpose of the file: `which runs urldb every day`.
    pub(super) purpose: &'static str,
}

/// The files of one way to run urldb, and the next steps.
pub(super) struct Service {
    /// The program that runs urldb, for people.
    pub(super) name: &'static str,
    pub(super) files: Vec<NewFile>,
    pub(super) steps: [String; 3],
    /// Parts that do not work yet, each with a way out.
    pub(super) notes: Vec<SetupNote>,
}

/// A sentence that ends with a colon, and a command.
pub(super) struct SetupNote {
    pub(super) text: String,
    pub(super) command: String,
}

pub(super) fn common(project: &ProjectFacts<'_>) -> TemplateValues {
    let minute = project.minute();
    TemplateValues::default()
        .with("version", VERSION)
        .with("name", project.name.replace('%', "%%"))
        .with("minute", minute)
        .with("minute2", format!("{minute:02}"))
}

/// `key: 'value'` in YAML.
pub(super) fn yaml(key: &str, value: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "_./-".contains(char);
    let is_word =
        value.starts_with(|char: char| char.is_ascii_alphabetic()) && value.chars().all(is_plain);
    match value {
        "true" | "false" | "yes" | "no" | "on" | "off" | "null" | "none" => {
            format!("{key}: \"{value}\"")
        }
        _ if is_word => format!("{key}: {value}"),
        _ => format!("{key}: '{}'", value.replace('\'', "''")),
    }
}

/// The inputs that say where the parts of the project are, as far as these are not the defaults.
pub(super) fn places(project: &ProjectFacts<'_>) -> anyhow::Result<Vec<String>> {
    let folder = project.folder()?;
    Ok(match folder.as_str() {
        "" => vec![],
        folder => vec![yaml("working-directory", folder)],
    })
}

pub(super) const FIRST: &str =
    "urldb add --static URL               promises the bytes of a URL; repeat it for each";

/// A note for a project whose notifiers reach nobody, although `init` added what it could. `again` is the command for the
/// time when `init` can add more.
pub(super) fn silent(project: &ProjectFacts<'_>, again: String, server: &str) -> Option<SetupNote> {
    if project.config.tells_people() {
        return None;
    }
    let (next, command) = match &project.url {
        None => (
            format!(
                "once the repository on {server} is the remote origin, this adds an issue for each incident:"
            ),
            again,
        ),
        Some(url) => (
            format!(
                "{url} is no repository on {server} that can have issues. Add a [notify.NAME]:"
            ),
            "\"${EDITOR:-vi}\" urldb.toml".to_owned(),
        ),
    };
    Some(SetupNote {
        text: format!("nobody is told about broken promises yet: {next}"),
        command,
    })
}

pub(super) fn gitlab(project: &ProjectFacts<'_>) -> anyhow::Result<Service> {
    let folder = project.folder()?;
    let in_folder = |path: String| match folder.as_str() {
        "" => path,
        folder => format!("{folder}/{path}"),
    };
    let working = if folder.is_empty() { "." } else { &folder };
    let mut variables = vec![
        yaml("WORKING_DIRECTORY", working),
        yaml("LEDGER", &project.ledger()?),
    ];
    if project.tracks_ledger()? {
        variables.push(yaml("STATE_BRANCH", ""));
    }
    let quoted = |path: String| format!("'{}'", path.replace('\'', "''"));
    let site = project.site()?.map(|site| quoted(in_folder(site)));
    let mut notes = vec![];
    if !IS_RELEASED {
        notes.push(SetupNote {
            text: format!(
                "urldb {VERSION} is not released, so this pipeline cannot run yet. Until then, a machine of yours can:"
            ),
            command: "urldb init --cron".to_owned(),
        });
    }
    notes.extend(silent(project, "urldb init --gitlab".to_owned(), "GitLab"));
    let values = common(project)
        .with("variables", variables)
        .with("archive", quoted(in_folder(project.archive()?)))
        .with("site", site);
    let settings = match &project.url {
        Some(url) => url.clone(),
        None => "the project".to_owned(),
    };
    let names = project.secrets()?;
    let also = if names.is_empty() {
        String::new()
    } else {
        format!(", set {} too", names.join(", "))
    };
    Ok(Service {
        name: "GitLab",
        files: vec![NewFile {
            path: project.top()?.join(".gitlab-ci.yml"),
            text: values.fill(include_str!("../../../templates/init/gitlab.yml"))?,
            purpose: "which runs urldb when a schedule starts it",
        }],
        steps: [
            FIRST.to_owned(),
            "git add . && git commit -m \"Watch URLs\" && git push".to_owned(),
            format!(
                "in {settings}: make an access token that may write the repository, set it as the masked variable \
                 URLDB_TOKEN{also}, and make a pipeline schedule \"{} 4 * * *\"",
                project.minute()
            ),
        ],
        notes,
    })
}

/// A word of a POSIX shell.
fn shell(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

pub(super) fn cron(project: &ProjectFacts<'_>) -> anyhow::Result<Service> {
    // cron takes a percent sign for the end of a line, and not every cron knows `\%`.
    let percent = |text: String| text.replace('%', "'\"$(printf '\\045')\"'");
    let names = project.secrets()?;
    let secrets = format!("$HOME/.config/urldb/{}.env", project.slug());
    let reads = match names.as_slice() {
        [] => String::new(),
        _ => format!("set -a && . \"{secrets}\" && set +a && "),
    };
    let values = common(project)
        .with("folder", percent(shell(&project.root()?)))
        .with("program", percent(shell(&program()?)))
        .with("secrets", reads)
        .with("sync", commit_option(project.repository.is_some()))
        .with("run", commit_option(project.can_commit_ledger()?));
    let third = match names.as_slice() {
        [] => "crontab -l                           shows the result".to_owned(),
        names => format!(
            "write {} into {secrets}, as NAME='value', with mode 600",
            names.join(", ")
        ),
    };
    Ok(Service {
        name: "cron",
        files: vec![NewFile {
            path: project.cron_file(),
            text: values.fill(include_str!("../../../templates/init/cron"))?,
            purpose: "a line for your crontab",
        }],
        steps: [
            FIRST.to_owned(),
            "(crontab -l; cat urldb.cron) | crontab -".to_owned(),
            third,
        ],
        notes: vec![],
    })
}

/// A word of a unit file: without specifiers and variables.
fn unit_word(word: &str) -> String {
    let escaped = word.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", escaped.replace('%', "%%").replace('$', "$$"))
}

/// The command of the unit, which reads its secrets from credentials.
fn unit_command(project: &ProjectFacts<'_>, secrets: &[String]) -> anyhow::Result<String> {
    let program = unit_word(&program()?);
    let commits = commit_option(project.can_commit_ledger()?);
    if secrets.is_empty() {
        return Ok(format!("{program} --quiet run{commits}"));
    }
    // A credential is a file that only this service can read; urldb reads its environment.
    let exports: Vec<String> = secrets
        .iter()
        .map(|name| {
            format!("{name}=\"$$(cat \"$$CREDENTIALS_DIRECTORY/{name}\")\" && export {name}")
        })
        .collect();
    Ok(format!(
        "/bin/sh -c '{} && exec \"$$0\" --quiet run{commits}' {program}",
        exports.join(" && ")
    ))
}

/// The option that commits what a command writes, if it can.
fn commit_option(commits: bool) -> &'static str {
    if commits { " --commit" } else { "" }
}

pub(super) fn systemd(project: &ProjectFacts<'_>) -> anyhow::Result<Service> {
    let unit = project.unit();
    let names = project.secrets()?;
    let command = unit_command(project, &names)?;
    let commits = commit_option(project.repository.is_some());
    let follow = format!("{} --quiet sync{commits}", unit_word(&program()?));
    let store = |name: &str| format!("/etc/credstore.encrypted/{unit}.{name}");
    let credentials: Vec<String> = names
        .iter()
        .map(|name| format!("LoadCredentialEncrypted={name}:{}", store(name)))
        .collect();
    let writable: Vec<String> = project
        .writable()?
        .iter()
        .map(|folder| unit_word(folder))
        .collect();
    let values = common(project)
        .with("user", user())
        .with("folder", project.root()?.replace('%', "%%"))
        .with("follow", follow)
        .with("command", command)
        .with("credentials", credentials)
        .with("writable", writable.join(" "));
    let first = names.first().map_or_else(
        || FIRST.to_owned(),
        |name| {
            format!(
                "for {}: sudo systemd-ask-password -n | sudo systemd-creds encrypt --name={name} - {}",
                names.join(", "),
                store(name)
            )
        },
    );
    Ok(Service {
        name: "systemd",
        files: vec![
            NewFile {
                path: project.unit_file("service"),
                text: values.fill(include_str!("../../../templates/init/urldb.service"))?,
                purpose: "a service that runs urldb once",
            },
            NewFile {
                path: project.unit_file("timer"),
                text: values.fill(include_str!("../../../templates/init/urldb.timer"))?,
                purpose: "a timer that starts the service every day",
            },
        ],
        steps: [
            first,
            format!(
                "sudo cp systemd/{unit}.* /etc/systemd/system/ && sudo systemctl daemon-reload"
            ),
            format!(
                "sudo systemctl enable --now {unit}.timer && sudo systemctl start {unit}.service"
            ),
        ],
        notes: vec![],
    })
}

pub(super) fn pre_commit(project: &ProjectFacts<'_>) -> anyhow::Result<Service> {
    let template = include_str!("../../../templates/init/pre-commit.yaml");
    let mut text = common(project).fill(template)?;
    let folder = project.folder()?;
    let database = project
        .config
        .relative_name(&project.config.root.join(&project.config.database.path));
    if !folder.is_empty() || database != "urldb" {
        // The hooks look at the folder `urldb` of the top otherwise.
        let below = if folder.is_empty() {
            database
        } else {
            format!("{folder}/{database}")
        };
        let mut pattern = String::new();
        for char in below.chars() {
            if !char.is_ascii_alphanumeric() && !"_-/".contains(char) {
                pattern.push('\\');
            }
            pattern.push(char);
        }
        let pattern = pattern.replace('\'', "''");
        text = text
            .replace("      - id: urldb-fmt\n", &format!("      - id: urldb-fmt\n        files: '^{pattern}/[^./][^/]*\\.yaml$'\n"))
            .replace(
                "      - id: urldb-lint\n",
                &format!("      - id: urldb-lint\n        files: '^{pattern}/([^./][^/]*\\.ya?ml|rules/[^./][^/]*\\.rules)$'\n"),
            );
    }
    Ok(Service {
        name: "pre-commit",
        files: vec![NewFile {
            path: project.top()?.join(".pre-commit-config.yaml"),
            text,
            purpose: "which keeps domain files canonical in every commit",
        }],
        steps: [
            "pre-commit install                   (or: prek install)".to_owned(),
            FIRST.to_owned(),
            "git add . && git commit -m \"Watch URLs\"".to_owned(),
        ],
        notes: if IS_RELEASED {
            vec![]
        } else {
            vec![SetupNote {
                text: format!(
                    "urldb {VERSION} is not released, so pre-commit cannot fetch it yet. Until then:"
                ),
                command: "urldb hook install".to_owned(),
            }]
        },
    })
}
