//! The keys of notifiers that are services or programs of others: webhooks, issues, plugins.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

pub use urldb_fetch::HeaderSource as TextSource;
use urldb_issues::Service;
use urldb_render::Each;

use super::headers::{headers, texts_and_variables};
use super::section::Section;

/// The longest time limit of one request or program. The deliveries of one report may take two minutes.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(100);

/// Most characters of a label, on GitHub and Forgejo.
const LONGEST_LABEL: usize = 50;

/// The begin of the name of a plugin's program; the type follows.
const PLUGIN: &str = "urldb-notify-";

/// The settings of a notifier's requests.
#[derive(Debug, Clone)]
pub struct NotifyHttp {
    /// Whether the URL may be plain http on another machine.
    pub allow_http: bool,
    /// A PEM file of certificate authorities that are trusted beside those of the system.
    pub ca_file: Option<PathBuf>,
    /// The time limit of one request.
    pub timeout: Option<Duration>,
}

/// The keys of a webhook.
#[derive(Debug, Clone)]
pub struct NotifyWebhook {
    /// The URL that gets the reports.
    pub url: TextSource,
    /// Headers besides those of the notifier.
    pub headers: BTreeMap<String, TextSource>,
    /// The environment variable that holds the key of the signature.
    pub secret_env: Option<String>,
    /// The name of the template that makes the body; without it, the body is the envelope.
    pub template: Option<String>,
    /// The values of `variables` in the template.
    pub variables: BTreeMap<String, TextSource>,
    /// A folder of templates that stand in for ours of the same name.
    pub templates: Option<PathBuf>,
    /// The number of messages for a run; absent for that of the template.
    pub each: Option<Each>,
    /// The settings of requests.
    pub http: NotifyHttp,
}

/// The keys of a notifier that keeps issues.
#[derive(Debug, Clone)]
pub struct NotifyIssues {
    /// The service whose interface the server has.
    pub service: Service,
    /// The repository.
    pub repository: String,
    /// The root of the interface.
    pub api_url: String,
    /// The environment variable that holds the token.
    pub token_env: String,
    /// The labels of new issues.
    pub labels: Vec<String>,
    /// The settings of requests.
    pub http: NotifyHttp,
}

/// The keys of a plugin.
#[derive(Debug, Clone)]
pub struct NotifyCommand {
    /// The program: a path below the root, or the name of a file on PATH.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Secret environment variables of this plugin, besides the variables that every plugin gets.
    pub variables: Vec<String>,
    /// The number of messages for a run.
    pub each: Each,
    /// The time limit.
    pub timeout: Option<Duration>,
}

pub(super) fn webhook(section: &Section<'_>) -> NotifyWebhook {
    let http = http(section);
    let url = url(section, "url", http.allow_http);
    let url_env = section.variable("url-env");
    if section.has("url") == section.has("url-env") {
        section.problem("one of `url` and `url-env` (an environment variable) is needed");
    }
    let template = section.checked("template", |name| {
        let is_plain = |char: char| char.is_ascii_lowercase() || char.is_ascii_digit() || char == '-';
        if !name.is_empty() && name.chars().all(is_plain) {
            Ok(name.to_owned())
        } else {
            Err("`template` should be a name such as \"slack\": lower-case letters, digits and hyphens"
                .to_owned())
        }
    });
    for key in ["templates", "variables", "variables-env"] {
        if section.has(key) && !section.has("template") {
            section.wrong(
                key,
                format!("`{key}` is about a `template`, which is missing"),
            );
        }
    }
    NotifyWebhook {
        url: match (url, url_env) {
            (_, Some(name)) => TextSource::Env(name),
            (Some(url), None) => TextSource::Text(url),
            (None, None) => TextSource::Text(String::new()),
        },
        headers: headers(section, &BTreeMap::new()),
        secret_env: section.variable("secret-env"),
        template,
        variables: texts_and_variables(section, "variable", ["variables", "variables-env"]),
        templates: section.text("templates").map(PathBuf::from),
        each: each(section),
        http,
    }
}

fn each(section: &Section<'_>) -> Option<Each> {
    section.choice("each", &[("run", Each::Run), ("incident", Each::Incident)])
}

pub(super) fn issues(section: &Section<'_>) -> Option<NotifyIssues> {
    let http = http(section);
    let service = section.choice(
        "service",
        &[
            ("github", Service::GitHub),
            ("gitlab", Service::GitLab),
            ("forgejo", Service::Forgejo),
        ],
    );
    section.need("service", ": \"github\", \"gitlab\" or \"forgejo\"");
    let repository = section.checked("repository", |name| match service {
        None => Ok(name.to_owned()),
        Some(service) => urldb_issues::check_repository(service, name)
            .map(|()| name.to_owned())
            .map_err(|error| error.to_string()),
    });
    section.need("repository", ", such as repository = \"owner/name\"");
    let api_url = url(section, "api-url", http.allow_http);
    let default = service.and_then(Service::default_api_url);
    if service.is_some() && default.is_none() {
        let example = ", such as api-url = \"https://codeberg.org/api/v1\"";
        section.need("api-url", example);
    }
    let token_env = section.variable("token-env");
    let meaning = ": the environment variable that holds the token";
    section.need("token-env", meaning);
    let labels = section.checked_list("labels", |label| {
        let is_label = (1..=LONGEST_LABEL).contains(&label.chars().count())
            && !label.contains(|char: char| char == ',' || char.is_control());
        if is_label {
            Ok(label.to_owned())
        } else {
            Err(format!(
                "a label has 1 to {LONGEST_LABEL} characters and no comma"
            ))
        }
    });
    Some(NotifyIssues {
        service: service?,
        repository: repository?,
        api_url: api_url.or_else(|| default.map(str::to_owned))?,
        token_env: token_env?,
        labels: labels.unwrap_or_else(|| vec!["urldb".to_owned()]),
        http,
    })
}

/// `type = "command"`: the program is in the section.
pub(super) fn command(section: &Section<'_>) -> Option<NotifyCommand> {
    let command = section.words("command");
    let meaning = ": a program, or a list of a program and its arguments";
    section.need("command", meaning);
    let (variables, timeout) = (section.variables("env"), timeout(section));
    let mut words = command?.into_iter();
    Some(NotifyCommand {
        program: words.next()?,
        arguments: words.collect(),
        variables,
        each: each(section).unwrap_or(Each::Run),
        timeout,
    })
}

/// A type that urldb does not know: the program is on PATH.
pub(super) fn plugin(section: &Section<'_>, kind: &str) -> NotifyCommand {
    let arguments = section.checked_list("arguments", |argument| {
        if argument.contains('\0') {
            Err("an argument cannot hold the character NUL".to_owned())
        } else {
            Ok(argument.to_owned())
        }
    });
    NotifyCommand {
        program: format!("{PLUGIN}{kind}"),
        arguments: arguments.unwrap_or_default(),
        variables: section.variables("env"),
        each: each(section).unwrap_or(Each::Run),
        timeout: timeout(section),
    }
}

fn http(section: &Section<'_>) -> NotifyHttp {
    NotifyHttp {
        allow_http: section.flag("allow-http").unwrap_or_default(),
        ca_file: section.text("ca-file").map(PathBuf::from),
        timeout: timeout(section),
    }
}

pub(super) fn timeout(section: &Section<'_>) -> Option<Duration> {
    let timeout = section.duration("timeout");
    if timeout.is_some_and(|timeout| timeout.is_zero() || timeout > LONGEST_TIMEOUT) {
        section.wrong("timeout", "`timeout` should be a time of at most \"100s\"");
    }
    timeout
}

pub(super) fn url(section: &Section<'_>, key: &'static str, allow_http: bool) -> Option<String> {
    section.checked(key, |text| match urldb_http::endpoint(text, allow_http) {
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(format!("`{key}`: {error}")),
    })
}
