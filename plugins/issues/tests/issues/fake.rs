//! A fake server that keeps issues as GitHub, GitLab or Forgejo do.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use serde_json::{Value, json};
use url::Url;
use urldb_issues::{IssuesNotifier, Service};

use crate::support::{Reply, Request, Server};

/// The user of the token.
pub(crate) const USER: &str = "urldb-bot";
/// The pages of lists are short, so that a few issues have several.
const PER_PAGE: usize = 2;

#[derive(Debug, Clone)]
pub(crate) struct FakeIssue {
    pub(crate) number: u64,
    pub(crate) title: String,
    pub(crate) body: String,
    pub(crate) open: bool,
    pub(crate) author: String,
    pub(crate) labels: Vec<String>,
    pub(crate) comments: Vec<String>,
    pub(crate) pull_request: bool,
    /// Why GitHub closed or reopened it.
    pub(crate) reason: String,
}

/// What the server does instead of answering a request as it should.
#[derive(Debug, Clone)]
pub(crate) enum Trick {
    /// Another answer; the request has no effect.
    Reply(Reply),
    /// The request has its effect, but the answer is lost.
    LoseAnswer,
    /// The request has its effect, but a gateway answers.
    GatewayTimeout,
}

#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) issues: Vec<FakeIssue>,
    pub(crate) labels: Vec<String>,
    /// Tricks for the next request of a method with this text in its target; each is used once.
    tricks: Vec<(&'static str, String, Trick)>,
    /// The token is that of an app, which may not use GET /user.
    pub(crate) app: bool,
    /// The server drops labels and refuses unknown ones, as for a user without push access.
    pub(crate) no_labels: bool,
}

/// A running fake.
pub(crate) struct Fake {
    server: Server,
    state: Arc<Mutex<State>>,
    pub(crate) service: Service,
    /// The notifier of most tests: reading the certificates of the system takes a while.
    pub(crate) notifier: OnceLock<IssuesNotifier>,
}

impl Fake {
    pub(crate) fn new(service: Service) -> Self {
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Arc::clone(&state);
        let server = Server::new(move |request| {
            let mut state = shared.lock().unwrap();
            let trick = state.tricks.iter().position(|(method, part, _)| {
                request.method == *method && request.target.contains(part.as_str())
            });
            let trick = trick.map(|index| state.tricks.remove(index).2);
            if let Some(Trick::Reply(reply)) = trick {
                return reply;
            }
            let reply = state.answer(service, request);
            match trick {
                Some(Trick::LoseAnswer) => Reply::default().reset(),
                Some(Trick::GatewayTimeout) => Reply::new("504 Gateway Timeout", &[], "<html>"),
                _ => reply,
            }
        });
        Self {
            server,
            state,
            service,
            notifier: OnceLock::new(),
        }
    }

    /// The fakes of all services.
    pub(crate) fn all() -> [Self; 3] {
        [Service::GitHub, Service::GitLab, Service::Forgejo].map(Self::new)
    }

    pub(crate) fn api_url(&self) -> String {
        let path = match self.service {
            Service::GitHub => "",
            Service::GitLab => "/api/v4",
            Service::Forgejo => "/api/v1",
        };
        format!("http://{}{path}", self.server.address())
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    pub(crate) fn trick(&self, method: &'static str, part: &str, trick: Trick) {
        self.state().tricks.push((method, part.to_owned(), trick));
    }

    /// Adds an issue that is there already, and returns its number.
    pub(crate) fn add(&self, author: &str, body: &str) -> u64 {
        self.state().add(author, "title", body, vec![])
    }

    pub(crate) fn issues(&self) -> Vec<FakeIssue> {
        self.state().issues.clone()
    }

    /// The only issue.
    pub(crate) fn issue(&self) -> FakeIssue {
        let issues = self.issues();
        assert_eq!(issues.len(), 1, "{issues:#?}");
        issues[0].clone()
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.server.requests()
    }

    /// How many requests of this method came.
    pub(crate) fn count(&self, method: &str) -> usize {
        self.requests()
            .iter()
            .filter(|request| request.method == method)
            .count()
    }
}

impl State {
    pub(crate) fn add(
        &mut self,
        author: &str,
        title: &str,
        body: &str,
        labels: Vec<String>,
    ) -> u64 {
        let number = self.issues.last().map_or(1, |issue| issue.number + 1);
        self.issues.push(FakeIssue {
            number,
            title: title.to_owned(),
            body: body.to_owned(),
            open: true,
            author: author.to_owned(),
            labels,
            comments: vec![],
            pull_request: false,
            reason: String::new(),
        });
        number
    }

    fn answer(&mut self, service: Service, request: &Request) -> Reply {
        assert_eq!(
            request.header("authorization"),
            Some("Bearer token-of-urldb")
        );
        assert!(
            request
                .header("user-agent")
                .is_some_and(|agent| agent.starts_with("urldb/"))
        );
        let url = Url::parse("http://fake.test")
            .unwrap()
            .join(&request.target)
            .unwrap();
        let path = url.path();
        let (api, root) = match service {
            Service::GitHub => ("", "/repos/example/sky-urls"),
            Service::GitLab => ("/api/v4", "/projects/example%2Fsky-urls"),
            Service::Forgejo => ("/api/v1", "/repos/example/sky-urls"),
        };
        let path = path.strip_prefix(api).unwrap_or_else(|| panic!("{path}"));
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        if path == "/user" && self.app {
            return error("403 Forbidden", "Resource not accessible by integration");
        }
        if path == "/user" {
            return found(&user(USER));
        }
        if path == "/graphql" && service == Service::GitHub {
            assert!(self.app);
            return found(&json!({ "data": { "viewer": { "login": "urldb-bot" } } }));
        }
        let Some(rest) = path.strip_prefix(root) else {
            return error("404 Not Found", "Not Found");
        };
        let parts: Vec<_> = rest.split('/').skip(1).collect();
        match (request.method.as_str(), parts.as_slice()) {
            ("GET", ["issues"]) => self.list(service, &url, api, root),
            ("POST", ["issues"]) => self.create(service, &body),
            ("GET", ["issues", number]) => match self.find(number) {
                Some(issue) => found(&shown(service, issue)),
                None => error("404 Not Found", "Not Found"),
            },
            ("PATCH", ["issues", number]) if service != Service::GitLab => {
                self.edit(service, number, &body)
            }
            ("PUT", ["issues", number]) if service == Service::GitLab => {
                self.edit(service, number, &body)
            }
            ("GET", ["issues", number, "comments" | "notes"]) => {
                let comments = self
                    .find(number)
                    .map(|issue| issue.comments.clone())
                    .unwrap_or_default();
                let shown = comments.iter().map(|text| match service {
                    Service::GitLab => json!({ "body": text, "author": user(USER) }),
                    _ => json!({ "body": text, "user": user(USER) }),
                });
                found(&shown.rev().collect())
            }
            ("POST", ["issues", number, "comments" | "notes"]) => {
                let text = body["body"].as_str().unwrap().to_owned();
                self.find(number).unwrap().comments.push(text);
                Reply::new("201 Created", &[], "{}")
            }
            ("GET", ["labels"]) => {
                let labels = self.labels.iter().enumerate();
                found(
                    &labels
                        .map(|(id, name)| json!({ "id": id, "name": name }))
                        .collect(),
                )
            }
            ("POST", ["labels"]) => {
                self.labels.push(body["name"].as_str().unwrap().to_owned());
                Reply::new(
                    "201 Created",
                    &[],
                    json!({ "id": self.labels.len() - 1, "name": body["name"] }).to_string(),
                )
            }
            _ => panic!("{} {}", request.method, request.target),
        }
    }

    fn find(&mut self, number: &str) -> Option<&mut FakeIssue> {
        let number: u64 = number.parse().unwrap();
        self.issues.iter_mut().find(|issue| issue.number == number)
    }

    fn list(&self, service: Service, url: &Url, api: &str, root: &str) -> Reply {
        let parameter = |name: &str| {
            url.query_pairs()
                .find(|(known, _)| known == name)
                .map(|(_, value)| value.into_owned())
        };
        let author = match service {
            Service::GitHub => parameter("creator"),
            Service::Forgejo => parameter("created_by"),
            Service::GitLab => {
                assert_eq!(parameter("scope").as_deref(), Some("all"));
                // The number of the user.
                parameter("author_id").map(|id| if id == "7" { USER.to_owned() } else { id })
            }
        };
        let state = parameter("state").unwrap_or_else(|| match service {
            Service::GitLab => "all".to_owned(),
            _ => "open".to_owned(),
        });
        let open_name = if service == Service::GitLab {
            "opened"
        } else {
            "open"
        };
        assert!(state == open_name || state == "all", "{state}");
        let matches = |issue: &&FakeIssue| {
            let is_listed = state == "all" || issue.open;
            // Forgejo ignores a filter that it does not understand.
            let is_by = service == Service::Forgejo
                || author
                    .as_ref()
                    .is_none_or(|author| issue.author.eq_ignore_ascii_case(author));
            is_listed && is_by
        };
        let all: Vec<_> = self.issues.iter().rev().filter(matches).collect();
        let page: usize = parameter("page").map_or(1, |text| text.parse().unwrap());
        let shown: Vec<_> = all
            .iter()
            .skip((page - 1) * PER_PAGE)
            .take(PER_PAGE)
            .map(|issue| shown(service, issue))
            .collect();
        let mut headers = vec![];
        if all.len() > page * PER_PAGE {
            let mut query: Vec<_> = url
                .query_pairs()
                .into_owned()
                .filter(|(name, _)| name != "page")
                .collect();
            query.push(("page".to_owned(), (page + 1).to_string()));
            let mut next = Url::parse("http://fake.test").unwrap();
            next.query_pairs_mut().extend_pairs(query);
            let next = format!("{api}{root}/issues?{}", next.query().unwrap());
            headers.push(format!(
                "Link: <{next}>; rel=\"next\", <{next}>; rel=\"last\""
            ));
        }
        let headers: Vec<_> = headers.iter().map(String::as_str).collect();
        Reply::new("200 OK", &headers, json!(shown).to_string())
    }

    fn create(&mut self, service: Service, body: &Value) -> Reply {
        let text = if service == Service::GitLab {
            "description"
        } else {
            "body"
        };
        let labels: Vec<String> = match service {
            Service::GitHub => body["labels"]
                .as_array()
                .into_iter()
                .flatten()
                .map(text_of)
                .collect(),
            Service::GitLab => {
                let text = body["labels"].as_str().unwrap_or_default();
                text.split(',')
                    .filter(|name| !name.is_empty())
                    .map(str::to_owned)
                    .collect()
            }
            Service::Forgejo => {
                let ids = body["labels"].as_array().into_iter().flatten();
                ids.map(|id| self.labels[usize::try_from(id.as_u64().unwrap()).unwrap()].clone())
                    .collect()
            }
        };
        if self.no_labels && !labels.is_empty() {
            return error(
                "403 Forbidden",
                "You do not have permission to create labels on this repository.",
            );
        }
        let title = body["title"].as_str().unwrap();
        assert!(title.chars().count() <= 256, "{title}");
        let text = body[text].as_str().unwrap();
        assert!(text.len() <= 60_000, "{}", text.len());
        let number = self.add(USER, title, text, labels);
        let issue = shown(service, self.find(&number.to_string()).unwrap());
        Reply::new("201 Created", &[], issue.to_string())
    }

    fn edit(&mut self, service: Service, number: &str, body: &Value) -> Reply {
        let issue = self.find(number).unwrap();
        let text = if service == Service::GitLab {
            "description"
        } else {
            "body"
        };
        if let Some(text) = body[text].as_str() {
            assert!(text.len() <= 60_000);
            text.clone_into(&mut issue.body);
        }
        let (name, closed, open) = match service {
            Service::GitLab => ("state_event", "close", "reopen"),
            _ => ("state", "closed", "open"),
        };
        if let Some(state) = body[name].as_str() {
            assert!(state == closed || state == open, "{state}");
            issue.open = state == open;
        }
        let reason = body["state_reason"].as_str();
        assert_eq!(
            reason.is_some(),
            service == Service::GitHub && !body[name].is_null()
        );
        reason.unwrap_or_default().clone_into(&mut issue.reason);
        let status = if service == Service::Forgejo {
            "201 Created"
        } else {
            "200 OK"
        };
        Reply::new(status, &[], shown(service, issue).to_string())
    }
}

fn text_of(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn user(name: &str) -> Value {
    let id = if name == USER { 7 } else { 8 };
    json!({ "id": id, "login": name, "username": name })
}

fn shown(service: Service, issue: &FakeIssue) -> Value {
    let page = format!("https://fake.test/example/sky-urls/issues/{}", issue.number);
    if service == Service::GitLab {
        return json!({
            "id": issue.number + 1000, "iid": issue.number, "title": issue.title,
            "description": issue.body, "state": if issue.open { "opened" } else { "closed" },
            "author": user(&issue.author), "web_url": page, "labels": issue.labels,
        });
    }
    let mut value = json!({
        "id": issue.number + 1000, "number": issue.number, "title": issue.title,
        "body": issue.body, "state": if issue.open { "open" } else { "closed" },
        "user": user(&issue.author), "html_url": page,
    });
    if issue.pull_request {
        value["pull_request"] = json!({ "url": page });
    }
    value
}

fn found(value: &Value) -> Reply {
    Reply::ok(value.to_string())
}

pub(crate) fn error(status: &str, message: &str) -> Reply {
    Reply::new(status, &[], json!({ "message": message }).to_string())
}
