//! Reads and writes the issues of a repository.

use jiff::Timestamp;
use serde_json::{Value, json};
use urldb_http::Method;

use crate::fault::{Fault, FaultKind};
use crate::service::{Comment, Dialect, Edit, Issue, Label, Listed, User};
use crate::session::Session;
use crate::settings::Service;

impl Session<'_> {
    /// The user of the token, by whom all issues of this notifier are.
    pub(crate) async fn own_user(&mut self) -> Result<User, Fault> {
        let answer = self
            .call(Method::Get, self.dialect().own_user(), None)
            .await;
        let fault = match answer {
            Ok(answer) => {
                let user = Dialect::read_user(self.json(&answer)?);
                return user.map_err(|error| self.unreadable(&error));
            }
            Err(fault) => fault,
        };
        // Tokens of apps, such as that of a workflow, may not use GET /user.
        let (403, Some(url)) = (fault.status, self.dialect().graphql()) else {
            return Err(fault);
        };
        let query = json!({ "query": "{ viewer { login } }" });
        let answer = self.call(Method::Post, url, Some(&query)).await?;
        let value: Value = self.json(&answer)?;
        let login = value
            .pointer("/data/viewer/login")
            .and_then(Value::as_str)
            .ok_or(fault)?;
        // The user of an app's token is a bot, which lists of issues write in this way.
        let name = login.trim_end_matches("[bot]");
        Ok(User {
            id: 0,
            login: format!("{name}[bot]"),
        })
    }

    /// The issues of `author`, without pull requests.
    pub(crate) async fn list(
        &mut self,
        listed: Listed,
        author: &User,
    ) -> Result<Vec<Issue>, Fault> {
        let values: Vec<Value> = self.pages(self.dialect().list(listed, author)).await?;
        let mut issues = Vec::new();
        for value in values {
            let issue = self
                .dialect()
                .read_issue(value)
                .map_err(|error| self.unreadable(&error))?;
            // A server may ignore the filter; anybody can write a marker.
            issues.extend(issue.filter(|issue| issue.author.is(author)));
        }
        Ok(issues)
    }

    /// The issue of this number; `None` if it was deleted, or moved to another repository.
    pub(crate) async fn issue(&mut self, number: u64) -> Result<Option<Issue>, Fault> {
        let answer = match self
            .call(Method::Get, self.dialect().issue(number), None)
            .await
        {
            Err(fault) if fault.kind == FaultKind::Missing => return Ok(None),
            answer => answer?,
        };
        let issue = self.read_issue(&answer)?;
        Ok(issue.filter(|issue| issue.number == number))
    }

    /// Opens an issue.
    pub(crate) async fn create(
        &mut self,
        title: &str,
        body: &str,
        labels: &[String],
    ) -> Result<Issue, Fault> {
        let labels = self.labels(labels).await?;
        let url = self.dialect().issues();
        let request = self.dialect().new_issue(title, body, &labels);
        let mut answer = self.call(Method::Post, url.clone(), Some(&request)).await;
        let refuses_labels = |fault: &Fault| {
            matches!(fault.kind, FaultKind::Refused | FaultKind::Invalid) && fault.status != 401
        };
        if !labels.is_null() && answer.as_ref().is_err_and(refuses_labels) {
            // Only people with more rights may add labels. The issue matters more than its labels.
            let request = self.dialect().new_issue(title, body, &Value::Null);
            answer = self.call(Method::Post, url, Some(&request)).await;
        }
        let answer = answer.map_err(|fault| self.explained(fault))?;
        self.read_issue(&answer)?
            .ok_or_else(|| Fault::new(FaultKind::Invalid, "the new issue is a pull request"))
    }

    /// Changes an issue.
    pub(crate) async fn edit(&mut self, number: u64, edit: &Edit) -> Result<(), Fault> {
        if edit.is_empty() {
            return Ok(());
        }
        let (method, request) = self.dialect().edit(edit);
        let url = self.dialect().issue(number);
        let answer = self.call(method, url, Some(&request)).await;
        answer.map(drop).map_err(|fault| self.explained(fault))
    }

    /// Whether `author` has written a comment that begins with `marker`.
    pub(crate) async fn has_comment(
        &mut self,
        number: u64,
        since: Timestamp,
        author: &User,
        marker: &str,
    ) -> Result<bool, Fault> {
        let url = self.dialect().comments_since(number, since);
        let comments: Vec<Comment> = if self.dialect().service == Service::GitLab {
            // The newest come first, and one page is far more than the comments of one run.
            let answer = self.call(Method::Get, url, None).await?;
            self.json(&answer)?
        } else {
            self.pages(url).await?
        };
        let is_ours = |comment: &Comment| comment.body.starts_with(marker) && comment.is_by(author);
        Ok(comments.iter().any(is_ours))
    }

    pub(crate) async fn comment(&mut self, number: u64, body: &str) -> Result<(), Fault> {
        let url = self.dialect().comments(number);
        let answer = self
            .call(Method::Post, url, Some(&json!({ "body": body })))
            .await;
        answer.map(drop).map_err(|fault| self.explained(fault))
    }

    /// The labels as a request names them; `null` for none. Forgejo wants numbers: the labels that it lacks are made,
    /// and left out if the token may not make them.
    async fn labels(&mut self, names: &[String]) -> Result<Value, Fault> {
        if names.is_empty() {
            return Ok(Value::Null);
        }
        match self.dialect().service {
            Service::GitHub => return Ok(json!(names)),
            Service::GitLab => return Ok(json!(names.join(","))),
            Service::Forgejo => {}
        }
        let known: Vec<Label> = self.pages(self.dialect().labels()).await?;
        let mut ids = Vec::new();
        for name in names {
            if let Some(label) = known
                .iter()
                .find(|label| label.name.eq_ignore_ascii_case(name))
            {
                ids.push(label.id);
                continue;
            }
            let request = json!({ "name": name, "color": "#b60205" });
            match self
                .call(Method::Post, self.dialect().labels(), Some(&request))
                .await
            {
                Ok(answer) => ids.push(self.json::<Label>(&answer)?.id),
                Err(fault)
                    if matches!(
                        fault.kind,
                        FaultKind::Refused | FaultKind::Missing | FaultKind::Invalid
                    ) => {}
                Err(fault) => return Err(fault),
            }
        }
        Ok(json!(ids))
    }
}
