//! `[check]` and `[network]`: how URLs are requested and judged.

use std::path::Path;
use std::time::Duration;

use globset::GlobMatcher;
use url::Host;
use urldb_fetch::{FetchOptions, HostOptions, NetworkOptions, PromisedTargets, Proxy};
use urldb_verdict::{ChallengeRule, Cnames, VerdictOptions};

use super::headers::headers;
use super::section::Section;

/// `[check]`: how URLs are fetched and judged.
#[derive(Debug, Clone)]
pub struct Check {
    /// The options of fetching.
    pub fetch: FetchOptions,
    /// The options of verdicts.
    pub verdict: VerdictOptions,
    /// The time before its end from which a certificate is worth a warning.
    pub expiry_warning: Duration,
    /// Days after which a static record is read in full again, although the server says that it has not
    /// changed.
    pub rehash_every: u64,
    /// The records that are also requested from the other names of their domain.
    pub cnames: Cnames,
    /// Whether a run makes further requests about files that have changed.
    pub probes: bool,
    /// URLs that are not asked; no key, but an option of the command line.
    pub exclude: Vec<GlobMatcher>,
}

impl Default for Check {
    fn default() -> Self {
        Self {
            fetch: FetchOptions::default(),
            verdict: VerdictOptions::default(),
            expiry_warning: Duration::from_hours(14 * 24),
            rehash_every: 1,
            cnames: Cnames::Rotate,
            probes: true,
            exclude: vec![],
        }
    }
}

pub(super) fn check(section: &Section<'_>) -> Check {
    let default = Check::default();
    Check {
        fetch: fetch_options(section, &default.fetch),
        verdict: verdict_options(section, &default.verdict),
        expiry_warning: section
            .duration("expiry-warning")
            .unwrap_or(default.expiry_warning),
        rehash_every: section
            .count("rehash-every", 1)
            .unwrap_or(default.rehash_every),
        cnames: section
            .choice(
                "cnames",
                &[
                    ("rotate", Cnames::Rotate),
                    ("all", Cnames::All),
                    ("none", Cnames::None),
                ],
            )
            .unwrap_or(default.cnames),
        probes: section.flag("probes").unwrap_or(default.probes),
        exclude: default.exclude,
    }
}

fn fetch_options(section: &Section<'_>, default: &FetchOptions) -> FetchOptions {
    let default_host = host_options(section, &default.default_host);
    FetchOptions {
        concurrency: at_least_one(section, "concurrency").or(default.concurrency),
        deadline: section.duration("deadline").or(default.deadline),
        bytes_read: None,
        byte_budget: section.bytes("byte-budget").or(default.byte_budget),
        max_redirects: small(section.count("max-redirects", 0)).unwrap_or(default.max_redirects),
        promised_targets: section
            .choice(
                "promised-targets",
                &[
                    ("follow", PromisedTargets::Follow),
                    ("skip", PromisedTargets::Skip),
                ],
            )
            .unwrap_or(default.promised_targets),
        hosts: section
            .read_named("host", |name, section| host(name, section, &default_host))
            .into_values()
            .collect(),
        default_host,
    }
}

fn verdict_options(section: &Section<'_>, default: &VerdictOptions) -> VerdictOptions {
    VerdictOptions {
        retries: small(section.count("retries", 0)).unwrap_or(default.retries),
        retry_wait: section.duration("retry-wait").unwrap_or(default.retry_wait),
        confirm: section
            .count("confirm", 1)
            .map_or(default.confirm, |count| {
                u32::try_from(count).unwrap_or(u32::MAX)
            }),
        blocked_after: section
            .duration("blocked-after")
            .unwrap_or(default.blocked_after),
        challenges: section.read_each("challenge", |it| Some(challenge(it))),
    }
}

fn host(name: &str, section: &Section<'_>, general: &HostOptions) -> Option<(String, HostOptions)> {
    let host = Host::parse(name).map(|host| host.to_string());
    if host.is_err() {
        section.problem("a host without scheme and port is needed here, such as [check.host.\"data.example.org\"]");
    }
    let host_options = host_options(section, general);
    Some((host.ok()?, host_options))
}

/// The options of the section, and those of `general` where it has none.
fn host_options(section: &Section<'_>, general: &HostOptions) -> HostOptions {
    let time = |key, otherwise| section.duration(key).unwrap_or(otherwise);
    HostOptions {
        host_concurrency: at_least_one(section, "host-concurrency")
            .unwrap_or(general.host_concurrency),
        host_interval: time("host-interval", general.host_interval),
        host_patience: time("host-patience", general.host_patience),
        limit_patience: time("limit-patience", general.limit_patience),
        timeout: time("timeout", general.timeout),
        connect_timeout: time("connect-timeout", general.connect_timeout),
        head_timeout: time("head-timeout", general.head_timeout),
        idle_timeout: time("idle-timeout", general.idle_timeout),
        max_body: section.bytes("max-body").unwrap_or(general.max_body),
        user_agent: section
            .text("user-agent")
            .unwrap_or_else(|| general.user_agent.clone()),
        headers: headers(section, &general.headers),
        unsafe_methods: section
            .flag("unsafe-methods")
            .unwrap_or(general.unsafe_methods),
        canonical: section.flag("canonical").unwrap_or(general.canonical),
    }
}

fn at_least_one(section: &Section<'_>, key: &'static str) -> Option<usize> {
    small(section.count(key, 1))
}

fn small(count: Option<u64>) -> Option<usize> {
    count.map(|count| usize::try_from(count).unwrap_or(usize::MAX))
}

pub(super) fn network(section: &Section<'_>, root: &Path) -> NetworkOptions {
    NetworkOptions {
        allow: section
            .list("allow", "a list of ranges such as [\"127.0.0.1/32\"]")
            .unwrap_or_default(),
        ca_file: section.text("ca-file").map(|path| root.join(path)),
        map: section
            .list("map", "a list such as [\"example.org=127.0.0.1:8080\"]")
            .unwrap_or_default(),
        clock: None,
        proxy: proxy(section),
    }
}

/// A rule `[[challenge]]` below a section.
fn challenge(section: &Section<'_>) -> ChallengeRule {
    let lower = |key| section.text(key).map(|text| text.to_ascii_lowercase());
    let name = section.text("name");
    let rule = ChallengeRule {
        name: name.clone().unwrap_or_default(),
        status: section.numbers("status").unwrap_or_default(),
        header: lower("header"),
        prefix: lower("prefix"),
        contains: lower("contains"),
        body: lower("body"),
        parked: section.flag("parked").unwrap_or_default(),
        text_is_enough: section.flag("text-is-enough").unwrap_or_default(),
    };
    section.need("name", ", such as name = \"a login page\"");
    if rule.header.is_none() && rule.body.is_none() {
        section.problem("one of `header` and `body` is needed: a status alone marks no challenge");
    }
    if rule.body.is_none() && rule.text_is_enough {
        section.problem("`text-is-enough` is about a `body`, which is missing");
    }
    if rule.header.is_none() && (rule.prefix.is_some() || rule.contains.is_some()) {
        section.problem("`prefix` and `contains` are about a `header`, which is missing");
    }
    rule
}

/// Prefix of the variables that may hold a proxy's password. Without it, a configuration from elsewhere
/// could send another secret of the environment to a proxy of its choice.
const PASSWORD_VARIABLE: &str = "URLDB_PROXY_";

/// The proxy that a section names, if it names one.
fn proxy(section: &Section<'_>) -> Option<Proxy> {
    let address = section.parsed(
        "proxy",
        "the URL of a proxy, without user and password, such as \"http://127.0.0.1:3128\"",
    );
    let user = section.text("proxy-user");
    let password_env = section.text("proxy-password-env");
    if user.is_some() != password_env.is_some() {
        section.problem("`proxy-user` and `proxy-password-env` go together");
    }
    let variable = password_env.as_deref().unwrap_or(PASSWORD_VARIABLE);
    if !variable.starts_with(PASSWORD_VARIABLE) {
        section.problem(format!(
            "`proxy-password-env` names {variable}; a password for a proxy is read only from a \
             variable whose name begins with {PASSWORD_VARIABLE}, such as {PASSWORD_VARIABLE}PASSWORD"
        ));
    }
    Some(Proxy {
        address: address?,
        user,
        password_env,
    })
}
