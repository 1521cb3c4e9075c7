//! The built-in templates of webhooks, one for each service.

use urldb_render::Each;
use urldb_text::nearest;

/// A built-in template, and the number of messages that its service needs.
pub struct Preset {
    /// The name in urldb.toml.
    pub name: &'static str,
    pub(super) template: &'static str,
    /// The number of messages; absent if people choose it.
    pub(super) each: Option<Each>,
}

/// All built-in templates.
pub const PRESETS: [Preset; 8] = [
    chat("slack", include_str!("../../templates/webhook-slack.json")),
    chat(
        "mattermost",
        include_str!("../../templates/webhook-mattermost.json"),
    ),
    chat("ntfy", include_str!("../../templates/webhook-ntfy.json")),
    chat(
        "discord",
        include_str!("../../templates/webhook-discord.json"),
    ),
    chat("teams", include_str!("../../templates/webhook-teams.json")),
    chat(
        "telegram",
        include_str!("../../templates/webhook-telegram.json"),
    ),
    chat(
        "google-chat",
        include_str!("../../templates/webhook-google-chat.json"),
    ),
    Preset {
        name: "pagerduty",
        template: include_str!("../../templates/webhook-pagerduty.json"),
        each: Some(Each::EveryIncident),
    },
];

const fn chat(name: &'static str, template: &'static str) -> Preset {
    Preset {
        name,
        template,
        each: None,
    }
}

/// The preset of this name.
pub(super) fn preset(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

/// Advice about a name that no preset has.
pub(super) fn advice(name: &str) -> String {
    let names = PRESETS.iter().map(|preset| preset.name);
    match nearest(name, names.clone()) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => format!("built in are {}", names.collect::<Vec<_>>().join(", ")),
    }
}
