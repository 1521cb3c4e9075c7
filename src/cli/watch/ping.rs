//! Requests to a monitor that notices when no run comes, such as healthchecks.io.

use std::time::Duration;

use anyhow::{Context as _, bail};
use urldb_http::{Budget, Client, Method, Options, Request, Url};
use urldb_text::secret_variable;

use crate::config::{Config, TextSource};

/// Most time, requests and bytes of one signal. A run waits for it, and its answer has no effect.
const BUDGET: Budget = Budget {
    requests: 1,
    bytes: 1 << 10,
    seconds: 10,
};

/// The event that a request reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signal {
    /// A run begins.
    Start,
    /// The run did its work, whatever it found.
    Success,
    /// The run could not do its work.
    Failure,
}

pub(super) struct Monitor {
    client: Client,
    url: Url,
}

impl Monitor {
    /// The monitor that `[watch]` names, if it names one. Connects nowhere.
    ///
    /// # Errors
    /// When the variable with the address is not set, or holds no address.
    pub(super) fn new(config: &Config) -> anyhow::Result<Option<Self>> {
        let (key, text) = match &config.watch.ping_url {
            None => return Ok(None),
            Some(TextSource::Text(text)) => ("ping-url", text.clone()),
            Some(TextSource::Env(name)) => {
                let place = || config.place("watch", "ping-url-env");
                let value = secret_variable(name).with_context(|| {
                    format!("{}: the environment variable {name} is not set", place())
                })?;
                ("ping-url-env", value)
            }
        };
        let url = urldb_http::endpoint(text.trim(), false).map_err(|error| {
            // The address is a secret.
            anyhow::anyhow!("{}: {error}", config.place("watch", key))
        })?;
        let authorities = config.network.ca_file.as_ref().map(|path| {
            urldb_files::read(path, urldb_fetch::LARGEST_CA_FILE)
                .with_context(|| format!("cannot read {}", path.display()))
        });
        let client = Client::new(&Options {
            authorities: authorities.transpose()?,
            proxy: config.http_proxy()?,
            timeout: Duration::from_secs(BUDGET.seconds),
            user_agent: concat!("urldb/", env!("CARGO_PKG_VERSION")).to_owned(),
        })?;
        Ok(Some(Self { client, url }))
    }

    /// Sends a signal about the run with this id; `text` is kept with it.
    ///
    /// # Errors
    /// When the monitor does not answer with a success. The error does not show the address.
    pub(super) fn send(&self, signal: Signal, run: &str, text: &str) -> anyhow::Result<()> {
        let request = Request {
            method: Method::Post,
            url: self.address(signal, run),
            headers: vec![(
                "content-type".to_owned(),
                "text/plain; charset=utf-8".to_owned(),
            )],
            body: Some(text.as_bytes().to_vec()),
        };
        let answer = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?
            .block_on(self.client.converse(BUDGET).send(request));
        match answer {
            Ok(answer) if (200..300).contains(&answer.status) => Ok(()),
            Ok(answer) => bail!("ping-url answers with status {}", answer.status),
            Err(error) => bail!("ping-url: {error}"),
        }
    }

    /// `URL/start?rid=ID`, `URL?rid=ID` and `URL/fail?rid=ID`.
    fn address(&self, signal: Signal, run: &str) -> Url {
        let mut url = self.url.clone();
        let part = match signal {
            Signal::Start => Some("start"),
            Signal::Success => None,
            Signal::Failure => Some("fail"),
        };
        if let (Some(part), Ok(mut path)) = (part, url.path_segments_mut()) {
            path.pop_if_empty().push(part);
        }
        url.query_pairs_mut().append_pair("rid", run);
        url
    }
}

/// A new id of a run, in the form of a UUID of version 4, as the protocol wants it.
pub(super) fn run_id(random: [u8; 16]) -> String {
    let mut bytes = random;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let text = data_encoding::HEXLOWER.encode(&bytes);
    [
        &text[..8],
        &text[8..12],
        &text[12..16],
        &text[16..20],
        &text[20..],
    ]
    .join("-")
}

#[cfg(test)]
#[path = "../../../tests/support/mod.rs"]
mod support;

#[cfg(test)]
mod tests {
    use super::support::{Reply, Server};
    use super::*;

    #[test]
    fn a_monitor_that_never_ends_its_answer_holds_up_no_run() {
        let head = || Reply::raw("HTTP/1.1 200 OK\r\n\r\n");
        let second = Duration::from_secs(1);
        let late = Some("ping-url: no answer within 1 seconds");
        for (reply, timeout, expected) in [
            (Reply::default().hang(), second, late),
            (head().endless("x", second), second, late),
            // The signal has arrived.
            (
                head().endless([b'x'; 4096], Duration::ZERO),
                60 * second,
                None,
            ),
            (
                Reply::redirect(302, "/"),
                60 * second,
                Some("ping-url answers with status 302"),
            ),
        ] {
            let server = Server::new(move |_| reply.clone());
            let options = Options {
                authorities: None,
                proxy: None,
                timeout,
                user_agent: "urldb/test".to_owned(),
            };
            let monitor = Monitor {
                client: Client::new(&options).unwrap(),
                url: Url::parse(&format!("http://{}/", server.address())).unwrap(),
            };
            let sent = monitor.send(Signal::Success, "1", "");
            let error = sent.err().map(|error| error.to_string());
            assert_eq!(error.as_deref(), expected);
        }
    }

    #[test]
    fn an_id_is_a_uuid() {
        assert_eq!(run_id([0xff; 16]), "ffffffff-ffff-4fff-bfff-ffffffffffff");
        assert_eq!(run_id([0; 16]), "00000000-0000-4000-8000-000000000000");
    }
}
