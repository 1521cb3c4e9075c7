//! Posts the report of a run to a webhook.
//!
//! The body is the envelope as JSON, or what a template makes of it, such as a message of Slack. A
//! signature lets the receiver check the sender; the id of the delivery lets it ignore repetitions.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::too_many_lines))]

mod body;

use urldb_http::{Answer, Budget, Client, Method, Request, SendError, Url, endpoint};
use urldb_protocol::{
    Delivery, DeliveryFuture, Envelope, Notifier, PlannedDelivery, ReportDelivery,
};

pub use body::{Error, Settings, Template};

use body::Body;
use urldb_text::register_secret;

/// The only delivery of a report.
const DELIVERY: &str = PlannedDelivery::REPORT;

/// The most that a delivery may take. Within its time, `timeout` may be up to `"100s"`.
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
    body: Body,
}

impl WebhookNotifier {
    /// Checks the settings, and reads the template and the certificate authorities. Connects nowhere.
    pub fn new(settings: Settings) -> Result<Self, Error> {
        let url = endpoint(&settings.url, settings.allow_http).map_err(Error::Url)?;
        // The address of a webhook is enough to write to it.
        register_secret(url.as_str());
        Ok(Self {
            name: settings.name,
            client: Client::new(&settings.http)?,
            url,
            headers: settings.headers,
            signing_key: settings.signing_key,
            body: Body::new(settings.template)?,
        })
    }

    /// Makes the body for a report, and sends nothing.
    ///
    /// # Errors
    /// The template cannot be rendered, or makes no JSON.
    pub fn try_body(&self, envelope: &Envelope) -> Result<Vec<u8>, Error> {
        self.body.of(envelope)
    }

    async fn post(&self, envelope: &Envelope) -> Delivery {
        let body = match self.try_body(envelope) {
            Ok(body) => body,
            Err(error) => return Delivery::failed(DELIVERY, error.to_string()),
        };
        let request = Request {
            method: Method::Post,
            url: self.url.clone(),
            headers: self.headers(envelope, &body),
            body: Some(body),
        };
        let host = self.destination();
        match self.client.converse(BUDGET).send(request).await {
            Ok(answer) => judge(&host, &answer),
            Err(error @ SendError::BadRequest(_)) => Delivery::failed(DELIVERY, error.to_string()),
            Err(error) => Delivery::retry(DELIVERY, format!("{host}: {error}")),
        }
    }

    fn headers(&self, envelope: &Envelope, body: &[u8]) -> Vec<(String, String)> {
        // The same whenever the same report is delivered.
        let id = format!("{}.{}", envelope.tells(), self.name);
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
fn judge(host: &str, answer: &Answer) -> Delivery {
    let said = answer.excerpt();
    let said = if said.is_empty() {
        said
    } else {
        format!(": {said}")
    };
    let status = answer.status;
    if answer.is_success() {
        return Delivery::delivered(DELIVERY, format!("{host} answers {status}"));
    }
    // A 403 with a wait is a rate limit, not a missing right.
    let is_limited = status == 403 && answer.retry_after().is_some();
    if answer.is_temporary() || is_limited {
        let wait = answer
            .retry_after()
            .map(|wait| format!(", and asks for a wait of {} seconds", wait.as_secs()));
        return Delivery::retry(
            DELIVERY,
            format!("{host} answers {status}{}{said}", wait.unwrap_or_default()),
        );
    }
    let advice = match status {
        300..=399 => "; urldb follows no redirect: write the final address as `url`",
        401 | 403 => "; check the secrets of the webhook",
        404 | 410 => "; the webhook is not there: check `url`",
        _ => "",
    };
    Delivery::failed(DELIVERY, format!("{host} answers {status}{said}{advice}"))
}

impl Notifier for WebhookNotifier {
    fn deliver<'a>(
        &'a self,
        envelope: &'a Envelope,
        pending: &'a [String],
        report: ReportDelivery<'a>,
    ) -> DeliveryFuture<'a> {
        Box::pin(async move {
            if pending.iter().any(|id| id == DELIVERY) {
                report(self.post(envelope).await);
            }
        })
    }

    /// The host only: the rest of the URL may be a secret.
    fn destination(&self) -> String {
        self.url.host_str().unwrap_or_default().to_owned()
    }
}
