//! Requests to a service, within its limits.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::{Instant, sleep, sleep_until};
use urldb_http::{
    Answer, Budget, Client, Conversation, Ended, Method, Request, SendError, Url, endpoint,
};
use urldb_text::register_secret;

use crate::fault::{Fault, FaultKind};
use crate::service::{Dialect, Issue};
use crate::settings::{Error, Service, Settings, Token};

/// The wait for a rate limit that names none, as GitHub asks for.
const UNNAMED_WAIT: Duration = Duration::from_mins(1);

/// A service with its client, its repository and its token.
#[derive(Debug)]
pub(crate) struct Backend {
    client: Client,
    budget: Budget,
    pub(crate) dialect: Dialect,
    token: Token,
    write_interval: Duration,
    patience: Duration,
    settling: Duration,
}

/// The requests of one delivery.
#[derive(Debug)]
pub(crate) struct Session<'a> {
    backend: &'a Backend,
    conversation: Conversation,
    /// When the next write may begin.
    next_write: Option<Instant>,
    /// The remaining time for waiting on rate limits.
    patience: Duration,
}

impl Backend {
    pub(crate) fn new(settings: Settings) -> Result<Self, Error> {
        let base = endpoint(&settings.api_url, settings.allow_http).map_err(Error::ApiUrl)?;
        check_repository(settings.service, &settings.repository)?;
        register_secret(&settings.token.value);
        Ok(Self {
            client: Client::new(&settings.http)?,
            budget: settings.budget,
            dialect: Dialect {
                service: settings.service,
                base,
                repository: settings.repository,
            },
            token: settings.token,
            write_interval: settings.write_interval,
            patience: settings.patience,
            settling: settings.settling,
        })
    }

    pub(crate) fn session(&self) -> Session<'_> {
        Session {
            backend: self,
            conversation: self.client.converse(self.budget),
            next_write: None,
            patience: self.patience,
        }
    }

    /// The repository that gets the issues, for people.
    pub(crate) fn destination(&self) -> String {
        let host = self.dialect.base.host_str().unwrap_or_default();
        format!("issues of {} at {host}", self.dialect.repository)
    }
}

/// Whether the service can have a repository of this name.
///
/// # Errors
/// The expected value.
pub fn check_repository(service: Service, name: &str) -> Result<(), Error> {
    let is_plain = |part: &str| {
        let allowed = |char: char| char.is_ascii_alphanumeric() || matches!(char, '.' | '_' | '-');
        !part.is_empty() && part != "." && part != ".." && part.chars().all(allowed)
    };
    let parts = name.split('/').count();
    let (fits, expected) = match service {
        Service::GitHub | Service::Forgejo => (parts == 2, "\"owner/name\""),
        Service::GitLab => (
            parts > 1 || name.bytes().all(|byte| byte.is_ascii_digit()),
            "\"group/name\" or the number of a project",
        ),
    };
    if fits && name.split('/').all(is_plain) {
        return Ok(());
    }
    Err(Error::Repository {
        expected,
        found: name.to_owned(),
    })
}

impl Session<'_> {
    pub(crate) fn dialect(&self) -> &Dialect {
        &self.backend.dialect
    }

    /// Begins a conversation with a budget of its own.
    pub(crate) fn begin(&mut self) {
        self.conversation = self.backend.client.converse(self.backend.budget);
    }

    /// Waits until lists of the service show what it has just done.
    pub(crate) async fn settle(&self) {
        sleep(self.backend.settling).await;
    }

    /// All elements of a list. Each answer names the next page.
    pub(crate) async fn pages<T: DeserializeOwned>(&mut self, first: Url) -> Result<Vec<T>, Fault> {
        let mut all = Vec::new();
        let mut url = first;
        loop {
            let answer = self.call(Method::Get, url.clone(), None).await;
            let answer = answer.map_err(|fault| self.explained(fault))?;
            all.extend(self.json::<Vec<T>>(&answer)?);
            let next = answer.header("link").and_then(next_page);
            let Some(next) = next.and_then(|text| url.join(text).ok()) else {
                return Ok(all);
            };
            if next.origin() != self.dialect().base.origin() {
                return Err(Fault::new(
                    FaultKind::Invalid,
                    "the next page of the list is on another server, which must not get the token",
                ));
            }
            url = next;
        }
    }

    /// Makes one request, and waits for rate limits as long as patience lasts.
    pub(crate) async fn call(
        &mut self,
        method: Method,
        url: Url,
        body: Option<&Value>,
    ) -> Result<Answer, Fault> {
        loop {
            let answer = self.follow(method, url.clone(), body).await?;
            if answer.is_success() {
                return Ok(answer);
            }
            let Some(wait) = limit(&answer) else {
                return Err(self.refusal(&answer));
            };
            if wait > self.patience {
                let asked = format!("asks for a wait of {} seconds", wait.as_secs());
                return Err(self.fault(FaultKind::Limited, &answer, &asked));
            }
            self.patience = self
                .patience
                .saturating_sub(wait.max(Duration::from_secs(1)));
            sleep(wait).await;
        }
    }

    /// Follows redirects within the server: a renamed repository keeps its old name as a redirect.
    async fn follow(
        &mut self,
        method: Method,
        url: Url,
        body: Option<&Value>,
    ) -> Result<Answer, Fault> {
        let mut url = url;
        loop {
            let answer = self.send(method, url.clone(), body).await?;
            let target = match answer.status {
                301 | 302 | 307 | 308 => answer.header("location"),
                _ => return Ok(answer),
            };
            match target.and_then(|target| url.join(target).ok()) {
                Some(target) if target.origin() == url.origin() => url = target,
                _ => {
                    let what = "redirects to another server, which must not get the token";
                    return Err(self.fault(FaultKind::Refused, &answer, what));
                }
            }
        }
    }

    async fn send(
        &mut self,
        method: Method,
        url: Url,
        body: Option<&Value>,
    ) -> Result<Answer, Fault> {
        if method != Method::Get {
            if let Some(at) = self.next_write {
                sleep_until(at).await;
            }
            self.next_write = Some(Instant::now() + self.backend.write_interval);
        }
        let mut headers = self.dialect().headers(&self.backend.token.value);
        if body.is_some() {
            headers.push(("Content-Type".to_owned(), "application/json".to_owned()));
        }
        let request = Request {
            method,
            url,
            headers,
            body: body.map(|body| body.to_string().into_bytes()),
        };
        let answer = self.conversation.send(request).await;
        answer.map_err(|error| self.not_answered(&error))
    }

    fn not_answered(&self, error: &SendError) -> Fault {
        let (kind, advice) = match error {
            SendError::BadRequest(_) => (FaultKind::Refused, ""),
            SendError::NotSent(_) => (FaultKind::Unreachable, ""),
            SendError::NoAnswer(_) | SendError::Ended(Ended::Seconds(_)) => (FaultKind::Lost, ""),
            SendError::Ended(_) => (
                FaultKind::Refused,
                "; if this user has very many issues, close or delete old ones",
            ),
        };
        Fault::new(kind, format!("{}: {error}{advice}", self.name()))
    }

    fn name(&self) -> String {
        let host = self.dialect().base.host_str().unwrap_or_default();
        format!("{} ({host})", self.dialect().service.name())
    }

    pub(crate) fn json<T: DeserializeOwned>(&self, answer: &Answer) -> Result<T, Fault> {
        let body = answer
            .body()
            .map_err(|ended| self.not_answered(&ended.into()))?;
        serde_json::from_slice(body).map_err(|error| self.unreadable(&error))
    }

    pub(crate) fn read_issue(&self, answer: &Answer) -> Result<Option<Issue>, Fault> {
        let value = self.json(answer)?;
        self.dialect()
            .read_issue(value)
            .map_err(|error| self.unreadable(&error))
    }

    /// An answer of another shape. The service may have done the work.
    pub(crate) fn unreadable(&self, error: &serde_json::Error) -> Fault {
        let what = "does not answer as its interface should; check `service` and `api-url`";
        Fault::new(FaultKind::Busy, format!("{} {what}: {error}", self.name()))
    }

    /// An answer that is neither a success nor a rate limit.
    fn refusal(&self, answer: &Answer) -> Fault {
        let (kind, what) = match answer.status {
            401 => (
                FaultKind::Refused,
                format!(
                    "does not accept the token of the environment variable {}",
                    self.backend.token.variable
                ),
            ),
            403 => (FaultKind::Refused, "forbids the request".to_owned()),
            404 => (FaultKind::Missing, "has not found it".to_owned()),
            410 => (FaultKind::Missing, "says that it is gone".to_owned()),
            _ if answer.is_temporary() => (FaultKind::Busy, "has a fault of its own".to_owned()),
            _ => (FaultKind::Invalid, "refuses the request".to_owned()),
        };
        self.fault(kind, answer, &what)
    }

    fn fault(&self, kind: FaultKind, answer: &Answer, what: &str) -> Fault {
        let said = message_of(answer);
        let said = if said.is_empty() {
            said
        } else {
            format!(": {said}")
        };
        let message = format!("{} {what} ({}{said})", self.name(), answer.status);
        Fault::new(kind, message).with_status(answer.status)
    }

    /// The fault of a request that needs the repository and the right to write there, with advice.
    pub(crate) fn explained(&self, fault: Fault) -> Fault {
        if !matches!(fault.kind, FaultKind::Refused | FaultKind::Missing) {
            return fault;
        }
        let repository = &self.dialect().repository;
        let right = match self.dialect().service {
            Service::GitHub => "the permission `issues: write`",
            Service::GitLab => "the scope `api` and the role Reporter",
            Service::Forgejo => "the scopes `write:issue` and `read:user`",
        };
        let advice = match fault.status {
            403 => format!("the token needs {right} in {repository}"),
            404 => format!("check `repository`; a token that lacks {right} may not see it either"),
            410 => format!("switch issues on in the settings of {repository}"),
            _ => return fault,
        };
        Fault {
            kind: FaultKind::Refused,
            message: format!("{}; {advice}", fault.message),
            ..fault
        }
    }
}

/// The service's message about a failure, as one sanitized line.
fn message_of(answer: &Answer) -> String {
    let body = answer.body().unwrap_or_default();
    let value: Value = serde_json::from_slice(body).unwrap_or_default();
    let text = ["message", "error"]
        .into_iter()
        .find_map(|name| match value.get(name)? {
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        });
    match text {
        Some(text) => urldb_render::shorten(&urldb_render::one_line(&text), 200),
        None => answer.excerpt(),
    }
}

/// The wait that a rate limit asks for. `None` if the answer is no rate limit: a plain 403 is a
/// missing right, and waiting does not help.
fn limit(answer: &Answer) -> Option<Duration> {
    if !matches!(answer.status, 403 | 429) {
        return None;
    }
    if let Some(wait) = answer.retry_after() {
        return Some(wait);
    }
    let header = |names: [&str; 2]| names.into_iter().find_map(|name| answer.header(name));
    let is_used_up = header(["x-ratelimit-remaining", "ratelimit-remaining"]) == Some("0");
    let reset = header(["x-ratelimit-reset", "ratelimit-reset"]);
    if is_used_up && let Some(wait) = reset.and_then(|text| time_until(answer, text)) {
        return Some(wait);
    }
    let says_so = message_of(answer).to_lowercase().contains("rate limit");
    (answer.status == 429 || is_used_up || says_so).then_some(UNNAMED_WAIT)
}

/// The time until a moment in seconds since 1970, and one second more.
fn time_until(answer: &Answer, reset: &str) -> Option<Duration> {
    let reset = Timestamp::from_second(reset.trim().parse().ok()?)
        .ok()?
        .checked_add(SignedDuration::from_secs(1))
        .ok()?;
    answer.time_until(reset)
}

/// The target of `rel="next"` in a `Link` header (RFC 8288).
fn next_page(header: &str) -> Option<&str> {
    header.split(',').find_map(|link| {
        let (target, parameters) = link.split_once('>')?;
        parameters
            .split(';')
            .any(|parameter| matches!(parameter.trim(), "rel=\"next\"" | "rel=next"))
            .then(|| target.trim().strip_prefix('<'))?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_page_is_where_the_header_says() {
        let header =
            "<https://a.test/x?page=1>; rel=\"prev\", <https://a.test/x?page=3>; rel=\"next\"";
        assert_eq!(next_page(header), Some("https://a.test/x?page=3"));
        for none in [
            "",
            "<https://a.test/x?page=1>; rel=\"last\"",
            "rel=\"next\"",
            "<>",
            "no>; rel=next",
        ] {
            assert_eq!(next_page(none), None, "{none}");
        }
    }

    #[test]
    fn the_name_of_a_repository_is_no_path() {
        for (service, name) in [
            (Service::GitHub, "example/sky.urls"),
            (Service::Forgejo, "Example_1/sky-urls"),
            (Service::GitLab, "group/sub/name"),
            (Service::GitLab, "123"),
        ] {
            assert!(check_repository(service, name).is_ok(), "{name}");
        }
        for (service, name) in [
            (Service::GitHub, "name"),
            (Service::GitHub, "a/b/c"),
            (Service::GitHub, "../x"),
            (Service::GitHub, "a/"),
            (Service::GitLab, "name"),
            (Service::GitLab, "a/b?c"),
        ] {
            assert!(check_repository(service, name).is_err(), "{name}");
        }
    }
}
