//! A GitHub with one repository, whose issues can be read as people read them.

use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::{Value, json};

use crate::support::{Reply, Request, Server};

/// The path of the repository.
const REPOSITORY: &str = "/repos/example/sky";

/// The service, and what was written to it.
pub(crate) struct Tracker {
    server: Server,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    issues: Vec<Value>,
    /// Each write as people see it.
    writes: Vec<String>,
}

impl Tracker {
    pub(crate) fn new() -> Self {
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Arc::clone(&state);
        let answer = move |request: &Request| shared.lock().unwrap().answer(request);
        Self {
            server: Server::new(answer),
            state,
        }
    }

    /// The keys of a notifier of type `issues`, without its name.
    pub(crate) fn keys(&self) -> String {
        format!(
            "type = \"issues\"\nservice = \"github\"\nrepository = \"example/sky\"\n\
             api-url = \"http://{}\"\ntoken-env = \"TRACKER_TOKEN\"\nlabels = []\n",
            self.server.address()
        )
    }

    /// What was asked.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.server.requests()
    }

    /// What was written since the last call.
    pub(crate) fn take_writes(&self) -> Vec<String> {
        let mut state: MutexGuard<'_, State> = self.state.lock().unwrap();
        std::mem::take(&mut state.writes)
    }
}

impl State {
    fn answer(&mut self, request: &Request) -> Reply {
        let path = request.target.split('?').next().unwrap();
        let user = json!({ "id": 7, "login": "bot" });
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let text = |key: &str| body[key].as_str().unwrap_or_default().to_owned();
        let below = path.strip_prefix(REPOSITORY);
        let parts: Vec<&str> = below.unwrap_or(path).split('/').skip(1).collect();
        let index = |number: &str| number.parse::<usize>().unwrap() - 1;
        match (request.method.as_str(), parts.as_slice()) {
            ("GET", ["user"]) => Reply::ok(user.to_string()),
            ("GET", ["issues"]) => Reply::ok(Value::from(self.issues.clone()).to_string()),
            ("GET", ["issues", number]) => Reply::ok(self.issues[index(number)].to_string()),
            ("POST", ["issues"]) => {
                let number = self.issues.len() + 1;
                self.writes.push(format!(
                    "issue #{number} opened: {}\n\n{}",
                    text("title"),
                    text("body")
                ));
                let issue = json!({
                    "number": number, "state": "open", "user": user, "title": body["title"],
                    "body": body["body"],
                    "html_url": format!("https://github.test/example/sky/issues/{number}"),
                });
                self.issues.push(issue.clone());
                Reply::new("201 Created", &[], issue.to_string())
            }
            ("PATCH", ["issues", number]) => {
                let issue = &mut self.issues[index(number)];
                for (key, value) in body.as_object().unwrap() {
                    issue[key] = value.clone();
                }
                let issue = issue.to_string();
                let what = match (text("state").as_str(), body.get("body")) {
                    ("", _) => format!("edited:\n\n{}", text("body")),
                    (state, None) => format!("{state} ({})", text("state_reason")),
                    (state, Some(_)) => format!("{state} and edited:\n\n{}", text("body")),
                };
                self.writes.push(format!("issue #{number} {what}"));
                Reply::ok(issue)
            }
            ("GET", ["issues", _, "comments"]) => Reply::ok("[]"),
            ("POST", ["issues", number, "comments"]) => {
                let comment = format!("comment on issue #{number}\n\n{}", text("body"));
                self.writes.push(comment);
                Reply::new("201 Created", &[], "{}")
            }
            other => panic!("{other:?}"),
        }
    }
}
