//! Metrics in the text format of Prometheus and `OpenMetrics`, for a collector that reads files.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::Context as _;
use jiff::Timestamp;
use urldb_protocol::{Overview, State};

use crate::config::Config;
use crate::exit::ExitCode;
use crate::notify::Outbox;
use crate::overview::Sources;

/// The exit code of the last run of the daemon; absent before the first run.
pub(super) type LastExit = Option<ExitCode>;

/// Writes the file that `[watch]` names, in one step; does nothing without one.
///
/// # Errors
/// When the ledger or a domain file cannot be read, or the file cannot be written.
pub(super) fn write(config: &Config, last: LastExit, now: Timestamp) -> anyhow::Result<()> {
    let Some(path) = &config.watch.metrics else {
        return Ok(());
    };
    let path = config.root.join(path);
    let text = metrics(config, last, now)?;
    urldb_files::write_atomically(&path, text.as_bytes())
        .with_context(|| format!("cannot write the metrics to {}", path.display()))
}

fn metrics(config: &Config, last: LastExit, now: Timestamp) -> anyhow::Result<String> {
    let (states, overview) = count_states(config, now)?;
    let mut text = MetricsText(String::new());
    text.gauge("urldb_urls", "URLs by the state that is believed.");
    for (state, urls) in states {
        text.sample("urldb_urls", &[("state", state)], urls);
    }
    text.gauge("urldb_affected_urls", "URLs of open incidents.");
    text.sample("urldb_affected_urls", &[], overview.counts.affected());
    text.gauge("urldb_open_incidents", "Open incidents.");
    text.sample("urldb_open_incidents", &[], overview.open.len() as u64);
    if let Some(run) = &overview.last_run {
        text.gauge(
            "urldb_last_run_timestamp_seconds",
            "Start of the last run with a conclusion.",
        );
        text.sample("urldb_last_run_timestamp_seconds", &[], seconds(run.at));
    }
    let verified = overview.hosts.iter().filter_map(|host| host.verified).max();
    if let Some(verified) = verified {
        let name = "urldb_last_verified_timestamp_seconds";
        text.gauge(
            name,
            "Start of the last run that read promised bytes in full.",
        );
        text.sample(name, &[], seconds(verified));
    }
    if let Some(last) = last {
        text.gauge(
            "urldb_last_run_exit_code",
            "Exit code of the last scheduled run.",
        );
        text.sample("urldb_last_run_exit_code", &[], u64::from(last.code()));
    }
    let outbox = "urldb_outbox_messages";
    text.gauge(outbox, "Messages that wait for their delivery.");
    for (notifier, messages) in waiting_messages(config)? {
        text.sample(outbox, &[("notifier", &notifier)], messages);
    }
    Ok(text.0 + "# EOF\n")
}

/// The number of URLs in each state, and the overview without URLs.
fn count_states(
    config: &Config,
    now: Timestamp,
) -> anyhow::Result<(BTreeMap<&'static str, u64>, Overview)> {
    let mut states: BTreeMap<&str, u64> =
        State::ALL.iter().map(|state| (state.as_str(), 0)).collect();
    let mut unknown = 0;
    let overview = Sources::read(config, now)?.overview(
        |_| true,
        |host| {
            for url in &host.urls {
                match url.state {
                    Some(state) => *states.entry(state.as_str()).or_default() += 1,
                    None => unknown += 1,
                }
            }
            Ok(())
        },
    )?;
    states.insert("unknown", unknown);
    Ok((states, overview))
}

/// The number of undelivered messages of each notifier, configured or not.
fn waiting_messages(config: &Config) -> anyhow::Result<BTreeMap<String, u64>> {
    let outbox = Outbox::new(&config.ledger_root());
    Ok(config
        .notifiers
        .keys()
        .cloned()
        .chain(outbox.notifiers()?)
        .map(|name| {
            let messages = outbox.messages(&name).len() as u64;
            (name, messages)
        })
        .collect())
}

fn seconds(at: Timestamp) -> u64 {
    u64::try_from(at.as_second()).unwrap_or_default()
}

struct MetricsText(String);

impl MetricsText {
    fn gauge(&mut self, name: &str, help: &str) {
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} gauge\n");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: u64) {
        let labels: Vec<String> = labels
            .iter()
            .map(|(label, text)| format!("{label}=\"{}\"", escaped(text)))
            .collect();
        let labels = match labels.as_slice() {
            [] => String::new(),
            labels => format!("{{{}}}", labels.join(",")),
        };
        let _ = writeln!(self.0, "{name}{labels} {value}");
    }
}

/// The value of a label. The name of a folder of the outbox may hold any character.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}
