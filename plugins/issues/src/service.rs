//! The differences of the three interfaces: paths, names of fields, answers.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};
use urldb_http::{Method, Url};

use crate::settings::Service;

/// Issues that are asked for at once: the most that a service gives (Forgejo: by default).
const PER_PAGE: [(Service, &str); 3] = [
    (Service::GitHub, "100"),
    (Service::GitLab, "100"),
    (Service::Forgejo, "50"),
];

#[derive(Debug, Clone, Copy)]
pub(crate) enum Listed {
    /// The open ones.
    Open,
    /// Open and closed ones that were changed since this time.
    Since(Timestamp),
}

/// The paths and bodies of one service.
#[derive(Debug, Clone)]
pub(crate) struct Dialect {
    pub(crate) service: Service,
    pub(crate) base: Url,
    pub(crate) repository: String,
}

/// An issue of GitHub or Forgejo.
#[derive(Debug, Deserialize)]
struct RawIssue {
    number: u64,
    #[serde(default)]
    title: String,
    #[serde(default)]
    body: Option<String>,
    state: String,
    #[serde(default)]
    user: Option<RawUser>,
    #[serde(default)]
    html_url: String,
    #[serde(default)]
    pull_request: Option<serde::de::IgnoredAny>,
}

#[derive(Debug, Deserialize)]
struct RawGitLabIssue {
    iid: u64,
    #[serde(default)]
    title: String,
    #[serde(default)]
    description: Option<String>,
    state: String,
    #[serde(default)]
    author: Option<RawUser>,
    #[serde(default)]
    web_url: String,
}

#[derive(Debug, Clone, Deserialize)]
struct RawUser {
    #[serde(default)]
    id: u64,
    /// GitHub and Forgejo.
    #[serde(default)]
    login: String,
    /// GitLab, and Forgejo too.
    #[serde(default)]
    username: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Comment {
    #[serde(default)]
    pub(crate) body: String,
    #[serde(default, alias = "author")]
    user: Option<RawUser>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Label {
    pub(crate) id: u64,
    pub(crate) name: String,
}

impl From<RawUser> for User {
    fn from(raw: RawUser) -> Self {
        Self {
            id: raw.id,
            login: if raw.login.is_empty() {
                raw.username
            } else {
                raw.login
            },
        }
    }
}

impl Comment {
    pub(crate) fn is_by(&self, user: &User) -> bool {
        self.user
            .clone()
            .is_some_and(|author| User::from(author).is(user))
    }
}

impl Dialect {
    fn url(&self, segments: &[&str]) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(segments);
        }
        url
    }

    /// The URL of the repository, or of something in it.
    fn in_repository(&self, segments: &[&str]) -> Url {
        let mut path: Vec<&str> = match self.service {
            Service::GitHub | Service::Forgejo => std::iter::once("repos")
                .chain(self.repository.split('/'))
                .collect(),
            // One segment: the slash becomes `%2F`.
            Service::GitLab => vec!["projects", &self.repository],
        };
        path.extend(segments);
        self.url(&path)
    }

    /// The headers of every request.
    pub(crate) fn headers(&self, token: &str) -> Vec<(String, String)> {
        let mut headers = vec![("Authorization", format!("Bearer {token}"))];
        match self.service {
            Service::GitHub => {
                headers.push(("Accept", "application/vnd.github+json".to_owned()));
                headers.push(("X-GitHub-Api-Version", "2022-11-28".to_owned()));
            }
            Service::GitLab | Service::Forgejo => {
                headers.push(("Accept", "application/json".to_owned()));
            }
        }
        headers
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    }

    /// The URL that names the token's own user.
    pub(crate) fn own_user(&self) -> Url {
        self.url(&["user"])
    }

    /// GitHub's other interface, which names the user of an app's token: GET /user refuses that.
    pub(crate) fn graphql(&self) -> Option<Url> {
        if self.service != Service::GitHub {
            return None;
        }
        let mut url = self.base.clone();
        // https://HOST/api/v3 has its neighbour at https://HOST/api/graphql.
        let path = url.path().trim_end_matches('/').to_owned();
        let root = path.strip_suffix("/v3").unwrap_or(&path);
        url.set_path(&format!("{root}/graphql"));
        Some(url)
    }

    /// The first page of a list of issues by one author.
    pub(crate) fn list(&self, listed: Listed, author: &User) -> Url {
        let mut url = self.in_repository(&["issues"]);
        let (state, since) = match listed {
            Listed::Open => ("open", None),
            Listed::Since(time) => ("all", Some(time.to_string())),
        };
        let per_page = PER_PAGE
            .into_iter()
            .find(|(service, _)| *service == self.service)
            .map_or("50", |(_, number)| number);
        let mut query = url.query_pairs_mut();
        match self.service {
            Service::GitHub => {
                query
                    .append_pair("state", state)
                    .append_pair("creator", &author.login);
                query.append_pair("per_page", per_page);
            }
            Service::GitLab => {
                if matches!(listed, Listed::Open) {
                    query.append_pair("state", "opened");
                }
                query.append_pair("author_id", &author.id.to_string());
                query
                    .append_pair("scope", "all")
                    .append_pair("per_page", per_page);
            }
            Service::Forgejo => {
                query
                    .append_pair("type", "issues")
                    .append_pair("state", state);
                query
                    .append_pair("created_by", &author.login)
                    .append_pair("limit", per_page);
            }
        }
        if let Some(time) = since {
            let name = if self.service == Service::GitLab {
                "updated_after"
            } else {
                "since"
            };
            query.append_pair(name, &time);
        }
        drop(query);
        url
    }

    pub(crate) fn issue(&self, number: u64) -> Url {
        self.in_repository(&["issues", &number.to_string()])
    }

    pub(crate) fn issues(&self) -> Url {
        self.in_repository(&["issues"])
    }

    /// The body of a request for a new issue. `labels` are names, for Forgejo
    /// numbers, or `null`.
    pub(crate) fn new_issue(&self, title: &str, body: &str, labels: &Value) -> Value {
        let mut request = match self.service {
            Service::GitHub | Service::Forgejo => json!({ "title": title, "body": body }),
            Service::GitLab => json!({ "title": title, "description": body }),
        };
        if let Some(object) = request.as_object_mut()
            && !labels.is_null()
        {
            object.insert("labels".to_owned(), labels.clone());
        }
        request
    }

    /// The method and the body of a request that changes an issue.
    pub(crate) fn edit(&self, edit: &Edit) -> (Method, Value) {
        let mut fields = serde_json::Map::new();
        let mut set = |name: &str, value: &str| fields.insert(name.to_owned(), json!(value));
        if let Some(text) = &edit.body {
            let is_gitlab = self.service == Service::GitLab;
            set(if is_gitlab { "description" } else { "body" }, text);
        }
        if let Some(state) = edit.state {
            let (event, word) = match state {
                NewState::Open => ("reopen", "open"),
                NewState::Completed | NewState::NotPlanned => ("close", "closed"),
            };
            match self.service {
                Service::GitLab => set("state_event", event),
                Service::GitHub | Service::Forgejo => set("state", word),
            };
            // Only GitHub has reasons.
            if self.service == Service::GitHub {
                set(
                    "state_reason",
                    match state {
                        NewState::Open => "reopened",
                        NewState::Completed => "completed",
                        NewState::NotPlanned => "not_planned",
                    },
                );
            }
        }
        let method = match self.service {
            Service::GitHub | Service::Forgejo => Method::Patch,
            Service::GitLab => Method::Put,
        };
        (method, Value::Object(fields))
    }

    pub(crate) fn comments(&self, number: u64) -> Url {
        let name = if self.service == Service::GitLab {
            "notes"
        } else {
            "comments"
        };
        self.in_repository(&["issues", &number.to_string(), name])
    }

    /// The first page of the comments since a time. GitLab has no such filter, but the newest first.
    pub(crate) fn comments_since(&self, number: u64, since: Timestamp) -> Url {
        let mut url = self.comments(number);
        match self.service {
            Service::GitHub => url
                .query_pairs_mut()
                .append_pair("since", &since.to_string())
                .append_pair("per_page", "100"),
            Service::Forgejo => url
                .query_pairs_mut()
                .append_pair("since", &since.to_string()),
            Service::GitLab => url
                .query_pairs_mut()
                .append_pair("order_by", "created_at")
                .append_pair("sort", "desc")
                .append_pair("per_page", "100"),
        };
        url
    }

    /// The first page of the labels, where labels are numbers.
    pub(crate) fn labels(&self) -> Url {
        self.in_repository(&["labels"])
    }

    /// Reads an issue. `None` for a pull request, which GitHub and Forgejo list as an issue.
    pub(crate) fn read_issue(&self, value: Value) -> serde_json::Result<Option<Issue>> {
        let nobody = || User {
            id: 0,
            login: String::new(),
        };
        Ok(match self.service {
            Service::GitHub | Service::Forgejo => {
                let raw: RawIssue = serde_json::from_value(value)?;
                raw.pull_request.is_none().then(|| Issue {
                    number: raw.number,
                    title: raw.title,
                    body: raw.body.unwrap_or_default(),
                    open: raw.state == "open",
                    author: raw.user.map_or_else(nobody, User::from),
                    page: raw.html_url,
                })
            }
            Service::GitLab => {
                let raw: RawGitLabIssue = serde_json::from_value(value)?;
                Some(Issue {
                    number: raw.iid,
                    title: raw.title,
                    body: raw.description.unwrap_or_default(),
                    open: raw.state == "opened",
                    author: raw.author.map_or_else(nobody, User::from),
                    page: raw.web_url,
                })
            }
        })
    }

    pub(crate) fn read_user(value: Value) -> serde_json::Result<User> {
        let raw: RawUser = serde_json::from_value(value)?;
        Ok(raw.into())
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Issue {
    /// The number that people see.
    pub(crate) number: u64,
    pub(crate) title: String,
    pub(crate) body: String,
    pub(crate) open: bool,
    pub(crate) author: User,
    pub(crate) page: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct User {
    /// 0 if unknown.
    pub(crate) id: u64,
    pub(crate) login: String,
}

impl User {
    /// Whether both are the same user. Logins ignore case.
    pub(crate) fn is(&self, other: &Self) -> bool {
        if self.id != 0 && other.id != 0 {
            return self.id == other.id;
        }
        !self.login.is_empty() && self.login.eq_ignore_ascii_case(&other.login)
    }
}

/// A change of an issue.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Edit {
    pub(crate) body: Option<String>,
    pub(crate) state: Option<NewState>,
}

/// The state that an issue gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NewState {
    /// Open again.
    Open,
    /// Closed: the work is done.
    Completed,
    /// Closed: there is no work any more.
    NotPlanned,
}

impl Edit {
    pub(crate) const fn is_empty(&self) -> bool {
        self.body.is_none() && self.state.is_none()
    }
}
