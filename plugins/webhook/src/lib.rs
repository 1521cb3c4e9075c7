//! Posts the report of a run to a webhook.
//!
//! The body is the envelope as JSON, or what a template makes of it, such as a message of Slack. A
//! signature lets the receiver check the sender; the id of the delivery lets it ignore repetitions.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::too_many_lines))]

mod body;

use std::time::Duration;

use urldb_http::{Answer, Budget, Client, Method, Request, SendError, Url, endpoint};
use urldb_protocol::{
    Delivery, DeliveryFuture, Envelope, Notifier, PlannedDelivery, ReportDelivery,
};
use urldb_render::{Each, Part, due, goes_on, parts, planned};

pub use body::{Error, Settings, Template};

use body::BodyWriter;
use urldb_text::register_secret;

/// The least time between two messages. Teams takes four a second, `PagerDuty` 120 a minute.
const INTERVAL: Duration = Duration::from_millis(500);

/// The most that one message may take. Within its time, `timeout` may be up to `"100s"`.
const BUDGET: Budget = Budget {
    requests: 5,
    bytes: 64 << 10,
    seconds: 100,
};

/// The webhook notifier.
#[derive(Debug)]
pub struct WebhookNotifier {
    name: String,
    client: Client,
    url: Url,
    headers: Vec<(String, String)>,
    signing_key: Option<String>,
    body: BodyWriter,
    each: Each,
}

impl WebhookNotifier {
    /// Checks the settings, and reads the template and the certificate authorities. Connects nowhere.
    pub fn new(settings: Settings) -> Result<Self, Error> {
        let url = endpoint(&settings.url, settings.allow_http).map_err(Error::Url)?;
        // The address of a webhook is enough to write to it.
        register_secret(url.as_str());
        let body = BodyWriter::new(&settings.name, settings.html, settings.template)?;
        Ok(Self {
            name: settings.name,
            client: Client::new(&settings.http)?,
            url,
            headers: settings.headers,
            signing_key: settings.signing_key,
            body,
            each: settings.each,
        })
    }

    /// Makes the bodies for a report, and sends nothing.
    ///
    /// # Errors
    /// The template cannot be rendered, or makes no JSON.
    pub fn try_bodies(&self, envelope: &Envelope) -> Result<Vec<Vec<u8>>, Error> {
        parts(envelope, self.each)
            .iter()
            .map(|part| self.body.body(envelope, part))
            .collect()
    }

    async fn post(&self, envelope: &Envelope, part: &Part) -> Delivery {
        let id = part.delivery();
        let body = match self.body.body(envelope, part) {
            Ok(body) => body,
            Err(error) => return Delivery::failed(id, error.to_string()),
        };
        let request = Request {
            method: Method::Post,
            url: self.url.clone(),
            headers: self.headers(envelope, part, &body),
            body: Some(body),
        };
        let host = self.destination();
        match self.client.converse(BUDGET).send(request).await {
            Ok(answer) => judge(id, &host, &answer),
            Err(error @ SendError::BadRequest(_)) => Delivery::failed(id, error.to_string()),
            Err(error) => Delivery::retry(id, format!("{host}: {error}")),
        }
    }

    fn headers(&self, envelope: &Envelope, part: &Part, body: &[u8]) -> Vec<(String, String)> {
        let id = part.message_id(envelope, &self.name);
        let mut headers = vec![
            ("Content-Type".to_owned(), "application/json".to_owned()),
            ("X-Urldb-Delivery".to_owned(), id),
        ];
        headers.extend(self.headers.iter().cloned());
        if let Some(key) = &self.signing_key {
            headers.push(("X-Hub-Signature-256".to_owned(), body::signature(key, body)));
        }
        headers
    }
}

/// The result of the delivery, by the answer of the host.
fn judge(id: &str, host: &str, answer: &Answer) -> Delivery {
    let said = answer.excerpt();
    let said = if said.is_empty() {
        said
    } else {
        format!(": {said}")
    };
    let status = answer.status;
    if answer.is_success() {
        return Delivery::delivered(id, format!("{host} answers {status}"));
    }
    // A 403 with a wait is a rate limit, not a missing right.
    let is_limited = status == 403 && answer.retry_after().is_some();
    if answer.is_temporary() || is_limited {
        let wait = answer
            .retry_after()
            .map(|wait| format!(", and asks for a wait of {} seconds", wait.as_secs()));
        return Delivery::retry(
            id,
            format!("{host} answers {status}{}{said}", wait.unwrap_or_default()),
        )
        .after(answer.retry_after());
    }
    let advice = match status {
        300..=399 => "; urldb follows no redirect: write the final address as `url`",
        401 | 403 => "; check the secrets of the webhook",
        404 | 410 => "; the webhook is not there: check `url`",
        _ => "",
    };
    Delivery::failed(id, format!("{host} answers {status}{said}{advice}"))
}

impl Notifier for WebhookNotifier {
    fn deliveries(&self, envelope: &Envelope) -> Vec<PlannedDelivery> {
        planned(envelope, self.each, &self.destination())
    }

    fn deliver<'a>(
        &'a self,
        envelope: &'a Envelope,
        pending: &'a [String],
        report: ReportDelivery<'a>,
    ) -> DeliveryFuture<'a> {
        Box::pin(async move {
            let due = due(envelope, self.each, pending);
            for (index, part) in due.iter().enumerate() {
                if index > 0 {
                    tokio::time::sleep(INTERVAL).await;
                }
                if !goes_on(self.post(envelope, part).await, report) {
                    return;
                }
            }
        })
    }

    fn keeps_threads(&self) -> bool {
        self.each != Each::Run
    }

    /// The host only: the rest of the URL may be a secret.
    fn destination(&self) -> String {
        self.url.host_str().unwrap_or_default().to_owned()
    }
}
