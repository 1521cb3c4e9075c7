//! Makes the notifiers that are services or programs of others.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Context;
use urldb_command::CommandNotifier;
use urldb_fetch::HeaderSource;
use urldb_http::Budget;
use urldb_issues::IssuesNotifier;
use urldb_render::Each;
use urldb_webhook::WebhookNotifier;

use super::presets::{self, preset};
use super::section::{EMAIL, NotifierSection, OUR_EMAIL, text};
use super::test_message::sample;
use crate::config::{NotifyCommand, NotifyHttp, NotifyIssues, NotifyWebhook, TextSource};
use crate::environment;

/// The time limit of one request, unless the section has another.
const REQUEST_LIMIT: Duration = Duration::from_secs(30);

/// The time limit of a plugin, unless the section has another.
const PLUGIN_LIMIT: Duration = Duration::from_mins(1);

/// The most that the conversation about one issue may take. The first one reads the lists of issues too.
const ISSUE_BUDGET: Budget = Budget {
    requests: 40,
    bytes: 16 << 20,
    seconds: 120,
};

/// The least time between two requests that write: GitHub asks for it.
const WRITE_INTERVAL: Duration = Duration::from_secs(1);

/// The longest wait for a rate limit in one run.
const PATIENCE: Duration = Duration::from_secs(30);

/// Time in which a change reaches the lists of issues.
const SETTLING: Duration = Duration::from_secs(2);

pub(super) fn new_webhook(
    section: &NotifierSection<'_>,
    webhook: &NotifyWebhook,
) -> anyhow::Result<WebhookNotifier> {
    let mut headers = Vec::new();
    for (name, value) in &webhook.headers {
        let value = match value {
            HeaderSource::Text(text) => text.clone(),
            HeaderSource::Env(variable) => section.variable("headers-env", variable)?,
        };
        headers.push((name.clone(), value));
    }
    let (url_key, url) = match &webhook.url {
        TextSource::Text(url) => ("url", url.clone()),
        TextSource::Env(variable) => ("url-env", section.variable("url-env", variable)?),
    };
    let key = webhook.secret_env.as_ref();
    let settings = urldb_webhook::Settings {
        name: section.name.to_owned(),
        url,
        allow_http: webhook.http.allow_http,
        headers,
        signing_key: key
            .map(|variable| section.variable("secret-env", variable))
            .transpose()?,
        template: template(section, webhook)?,
        html: section.template(webhook.templates.as_deref(), EMAIL, OUR_EMAIL)?,
        each: each(section, webhook)?,
        http: http(section, &webhook.http)?,
    };
    let made = WebhookNotifier::new(settings);
    let key = match &made {
        Err(urldb_webhook::Error::Url(_)) => url_key,
        Err(urldb_webhook::Error::Http(_)) => "ca-file",
        _ => "template",
    };
    let notifier = section.about(key, made.map_err(text))?;
    section.about("template", notifier.try_bodies(&sample()?).map_err(text))?;
    Ok(notifier)
}

/// The number of messages: that of the service, or else that of the section.
fn each(section: &NotifierSection<'_>, webhook: &NotifyWebhook) -> anyhow::Result<Each> {
    let preset = webhook.template.as_deref().and_then(preset);
    let Some(fixed) = preset.and_then(|preset| preset.each) else {
        return Ok(webhook.each.unwrap_or(Each::Run));
    };
    if webhook.each == Some(Each::Run) {
        let name = preset.map_or("", |preset| preset.name);
        let wrong = anyhow::anyhow!("\"{name}\" gets an event for each incident: remove `each`");
        return section.about("each", Err(wrong));
    }
    Ok(fixed)
}

/// The template of the body: of the user's folder, or built in.
fn template(
    section: &NotifierSection<'_>,
    webhook: &NotifyWebhook,
) -> anyhow::Result<Option<urldb_webhook::Template>> {
    let Some(name) = &webhook.template else {
        return Ok(None);
    };
    let file = format!("webhook-{name}.json");
    let ours = preset(name).map_or("", |preset| preset.template);
    let template = section.template(webhook.templates.as_deref(), &file, ours)?;
    if template.is_empty() {
        let place = match &webhook.templates {
            Some(folder) => format!(", and no {file} in {}", folder.display()),
            None => String::new(),
        };
        let advice = presets::advice(name);
        let unknown = anyhow::anyhow!("no template \"{name}\" is built in{place}; {advice}");
        return section.about("template", Err(unknown));
    }
    let mut variables = BTreeMap::new();
    for (name, source) in &webhook.variables {
        let value = match source {
            TextSource::Text(text) => text.clone(),
            TextSource::Env(variable) => section.variable("variables-env", variable)?,
        };
        variables.insert(name.clone(), value);
    }
    Ok(Some(urldb_webhook::Template {
        name: file,
        source: template,
        variables,
    }))
}

pub(super) fn new_issues(
    section: &NotifierSection<'_>,
    issues: &NotifyIssues,
) -> anyhow::Result<IssuesNotifier> {
    let settings = urldb_issues::Settings {
        name: section.name.to_owned(),
        service: issues.service,
        repository: issues.repository.clone(),
        api_url: issues.api_url.clone(),
        allow_http: issues.http.allow_http,
        token: urldb_issues::Token {
            variable: issues.token_env.clone(),
            value: section.variable("token-env", &issues.token_env)?,
        },
        labels: issues.labels.clone(),
        http: http(section, &issues.http)?,
        budget: ISSUE_BUDGET,
        write_interval: WRITE_INTERVAL,
        patience: PATIENCE,
        settling: SETTLING,
    };
    let made = IssuesNotifier::new(settings);
    let key = match &made {
        Err(urldb_issues::Error::ApiUrl(_)) => "api-url",
        Err(urldb_issues::Error::Http(_)) => "ca-file",
        _ => "repository",
    };
    section.about(key, made.map_err(text))
}

pub(super) fn new_command(
    section: &NotifierSection<'_>,
    command: &NotifyCommand,
) -> anyhow::Result<CommandNotifier> {
    let root =
        std::path::absolute(&section.config.root).context("cannot name the current folder")?;
    let key = if section.has_key("command") {
        "command"
    } else {
        "type"
    };
    let path = environment::os_variable("PATH");
    let program = urldb_command::find(&command.program, &root, path.as_deref());
    let mut variables = environment::of_plugins(&section.config.secret_variables());
    for name in &command.variables {
        let value = section.variable("env", name)?;
        variables.push((name.into(), value.into()));
    }
    let made = CommandNotifier::new(urldb_command::Settings {
        name: section.name.to_owned(),
        program: section.about(key, program)?,
        arguments: command.arguments.clone(),
        directory: root,
        variables,
        html: OUR_EMAIL.to_owned(),
        each: command.each,
        timeout: command.timeout.unwrap_or(PLUGIN_LIMIT),
    });
    section.about(key, made)
}

/// Options of requests: the proxy of `[network]`, and its authorities, unless the
/// section has its own.
fn http(section: &NotifierSection<'_>, http: &NotifyHttp) -> anyhow::Result<urldb_http::Options> {
    let network = &section.config.network;
    let own = http.ca_file.as_ref().map(|path| section.path(path));
    let authorities = own.as_ref().or(network.ca_file.as_ref()).map(|path| {
        let read = urldb_files::read(path, urldb_fetch::LARGEST_CA_FILE)
            .with_context(|| format!("cannot read {}", path.display()));
        match own {
            Some(_) => section.about("ca-file", read),
            None => section.about_network("ca-file", read),
        }
    });
    Ok(urldb_http::Options {
        authorities: authorities.transpose()?,
        proxy: section.config.http_proxy()?,
        timeout: http.timeout.unwrap_or(REQUEST_LIMIT),
        user_agent: concat!("urldb/", env!("CARGO_PKG_VERSION")).to_owned(),
    })
}
