//! Brings issues in line with incidents.

use jiff::{SignedDuration, Timestamp};
use urldb_protocol::{
    Because, Delivery, Envelope, Incident, Phase, Remembered, ReportDelivery, Scope,
};

use crate::fault::{Fault, FaultKind};
use crate::marker::{self, Marker};
use crate::service::{Edit, Issue, Listed, NewState, User};
use crate::session::Session;
use crate::thread::{ISSUE, Thread};
use crate::{IssuesNotifier, text};

/// The largest expected difference between the clocks of this machine and of the service.
const CLOCK_DIFFERENCE: SignedDuration = SignedDuration::from_hours(24);

/// Delivers the threads one after the other, until a fault concerns them all.
pub(crate) async fn deliver(
    notifier: &IssuesNotifier,
    envelope: &Envelope,
    threads: Vec<Thread<'_>>,
    report: ReportDelivery<'_>,
) {
    let mut sender = IssueSender {
        notifier,
        envelope,
        session: notifier.backend.session(),
        index: None,
    };
    let mut was_busy = false;
    for thread in threads {
        sender.session.begin();
        let fault = match sender.sync(&thread).await {
            Ok(done) => {
                was_busy = false;
                done.deliveries(&thread).into_iter().for_each(report);
                continue;
            }
            Err(fault) => fault,
        };
        let is_busy = fault.kind == FaultKind::Busy;
        let stop = fault.scope() == Scope::Notifier || (is_busy && was_busy);
        for id in &thread.deliveries {
            let delivery = fault.delivery(id);
            report(if stop {
                delivery.of_notifier()
            } else {
                delivery
            });
        }
        if stop {
            return;
        }
        was_busy = is_busy;
    }
}

/// A delivery that was made.
struct Done {
    message: String,
    /// The number of the issue, unless there is none.
    number: Option<u64>,
}

impl Done {
    fn deliveries(self, thread: &Thread<'_>) -> Vec<Delivery> {
        let mut deliveries: Vec<_> = thread
            .deliveries
            .iter()
            .map(|id| Delivery::delivered(id, &self.message))
            .collect();
        if let (Some(number), Some(first)) = (self.number, deliveries.first_mut()) {
            let facts = thread.incidents.iter().map(|incident| Remembered {
                incident: incident.id.clone(),
                key: ISSUE.to_owned(),
                value: Delivery::text(number.to_string()),
            });
            first.remember = facts.collect();
        }
        deliveries
    }
}

/// The issues of the token's own user.
struct Index {
    user: User,
    /// All open issues, and the closed ones that could be about this report.
    issues: Vec<Issue>,
}

struct IssueSender<'a> {
    notifier: &'a IssuesNotifier,
    envelope: &'a Envelope,
    session: Session<'a>,
    index: Option<Index>,
}

impl IssueSender<'_> {
    /// Brings the issue of a thread in line with its incidents.
    async fn sync(&mut self, thread: &Thread<'_>) -> Result<Done, Fault> {
        let found = self.find(thread).await?;
        match (thread.opened, found) {
            (true, Some(issue)) => self.adopt(thread, issue).await,
            (true, None) => self.open(thread).await,
            (false, Some(issue)) => self.follow(thread, issue).await,
            (false, None) => {
                // Somebody deleted the issue. Bad news is an alert, recovery without an issue is none.
                let (news, _): (Vec<_>, Vec<_>) = thread
                    .incidents
                    .iter()
                    .partition(|incident| incident.is_news());
                if news.is_empty() {
                    return Ok(Done {
                        message: "there is no issue to change".to_owned(),
                        number: None,
                    });
                }
                let again = Thread {
                    incidents: news,
                    ..thread.clone()
                };
                self.open(&again).await
            }
        }
    }

    /// The issue of a thread: by its remembered number, by an id of its incidents, by their key.
    async fn find(&mut self, thread: &Thread<'_>) -> Result<Option<Issue>, Fault> {
        let envelope = self.envelope;
        let index = self.index().await?;
        let holds_id = |issue: &Issue| {
            let (markers, _) = marker::split(&issue.body);
            let is_of_thread = |marker: &Marker| {
                thread
                    .incidents
                    .iter()
                    .any(|incident| incident.id == marker.id)
            };
            markers.iter().any(is_of_thread)
        };
        if let Some(issue) = index
            .issues
            .iter()
            .find(|issue| thread.number == Some(issue.number))
            && holds_id(issue)
        {
            return Ok(Some(issue.clone()));
        }
        if let Some(issue) = index.issues.iter().find(|issue| holds_id(issue)) {
            return Ok(Some(issue.clone()));
        }
        if let Some(issue) = by_key(envelope, &index.issues, thread) {
            return Ok(Some(issue.clone()));
        }
        // An issue that a person closed long ago is in no list.
        let user = index.user.clone();
        let Some(number) = thread.number else {
            return Ok(None);
        };
        let issue = self.session.issue(number).await?;
        Ok(issue.filter(|issue| issue.author.is(&user) && holds_id(issue)))
    }

    /// The issues in which a thread can be; read once.
    async fn index(&mut self) -> Result<&Index, Fault> {
        let index = if let Some(index) = self.index.take() {
            index
        } else {
            let user = self.session.own_user().await?;
            let mut issues = self.session.list(Listed::Open, &user).await?;
            // A person may have closed an issue whose opening was never confirmed.
            let since = self.since();
            let closed = self.session.list(Listed::Since(since), &user).await?;
            issues.extend(closed.into_iter().filter(|issue| !issue.open));
            Index { user, issues }
        };
        Ok(self.index.insert(index))
    }

    /// The begin of the run, by any clock.
    fn since(&self) -> Timestamp {
        let started = self.envelope.run.started;
        started.checked_sub(CLOCK_DIFFERENCE).unwrap_or(started)
    }

    /// Opens an issue. If the answer is lost, looks whether there is one now.
    async fn open(&mut self, thread: &Thread<'_>) -> Result<Done, Fault> {
        let markers: Vec<_> = thread
            .incidents
            .iter()
            .map(|incident| open_marker(incident))
            .collect();
        let text = text::body(self.envelope, &markers).unwrap_or_default();
        let body = text::within_limit(marker::join(&markers, &text));
        let title = self.title(thread).await?;
        let issue = match self
            .session
            .create(&title, &body, &self.notifier.labels)
            .await
        {
            Ok(issue) => issue,
            Err(fault) if fault.may_be_done() => {
                self.session.settle().await;
                self.index = None;
                self.find(thread).await?.ok_or(fault)?
            }
            Err(fault) => return Err(fault),
        };
        if let Some(index) = &mut self.index {
            index.issues.push(issue.clone());
        }
        Ok(done("opened", &issue))
    }

    /// The title of a new issue. Where an open issue has the same title, the id of the incident tells them
    /// apart.
    async fn title(&mut self, thread: &Thread<'_>) -> Result<String, Fault> {
        let title = text::title(self.envelope, &thread.incidents);
        let index = self.index().await?;
        let is_taken = |issue: &Issue| issue.open && issue.title == title;
        Ok(match thread.incidents.first() {
            Some(incident) if index.issues.iter().any(is_taken) => {
                format!("{title} ({})", incident.id)
            }
            _ => title,
        })
    }

    /// Takes over an issue that is there already: this delivery was made before, or the ledger was lost.
    async fn adopt(&mut self, thread: &Thread<'_>, issue: Issue) -> Result<Done, Fault> {
        let (mut markers, text) = marker::split(&issue.body);
        let mut changed = false;
        for marker in &mut markers {
            let same_key = thread
                .incidents
                .iter()
                .find(|incident| incident.key == marker.key);
            if let Some(incident) = same_key
                && !thread
                    .incidents
                    .iter()
                    .any(|incident| incident.id == marker.id)
            {
                *marker = open_marker(incident);
                changed = true;
            }
        }
        if !changed {
            return Ok(done("found", &issue));
        }
        let text = text::body(self.envelope, &markers).unwrap_or_else(|| text.to_owned());
        let edit = Edit {
            body: Some(text::within_limit(marker::join(&markers, &text))),
            state: None,
        };
        self.edit(&issue, edit).await?;
        Ok(done("found again", &issue))
    }

    /// Comments on news, corrects the body, closes the issue after its last incident, and reopens it.
    async fn follow(&mut self, thread: &Thread<'_>, issue: Issue) -> Result<Done, Fault> {
        let (body, all_closed) = updated(self.envelope, &issue.body, thread);
        let mut word = "updated";
        if let Some(comment) = text::comment(self.envelope, &thread.incidents) {
            let marker = marker::comment_line(self.envelope.tells());
            let since = self.since();
            let user = self.index().await?.user.clone();
            // This delivery may have been made up to here before.
            if !self
                .session
                .has_comment(issue.number, since, &user, &marker)
                .await?
            {
                let text = text::within_limit(format!("{marker}\n{comment}"));
                self.session.comment(issue.number, &text).await?;
            }
            word = "commented on";
        }
        let edit = Edit {
            body: (!is_same_text(&body, &issue.body)).then_some(body),
            state: new_state(thread, &issue, all_closed),
        };
        match edit.state {
            Some(NewState::Open) => word = "reopened",
            Some(_) => word = "closed",
            None => {}
        }
        self.edit(&issue, edit).await?;
        Ok(done(word, &issue))
    }

    async fn edit(&mut self, issue: &Issue, edit: Edit) -> Result<(), Fault> {
        self.session.edit(issue.number, &edit).await?;
        let known = self.index.iter_mut().flat_map(|index| &mut index.issues);
        for known in known.filter(|known| known.number == issue.number) {
            if let Some(state) = edit.state {
                known.open = state == NewState::Open;
            }
            if let Some(body) = &edit.body {
                known.body.clone_from(body);
            }
        }
        Ok(())
    }
}

fn done(word: &str, issue: &Issue) -> Done {
    let page = urldb_render::one_line(&issue.page);
    let message = if page.is_empty() {
        format!("{word} issue {}", issue.number)
    } else {
        format!("{word} {page}")
    };
    Done {
        message,
        number: Some(issue.number),
    }
}

fn open_marker(incident: &Incident) -> Marker {
    Marker {
        id: incident.id.clone(),
        key: incident.key.clone(),
        closed: false,
    }
}

/// The open issue with the keys of all incidents of the thread. The issue of another incident of this
/// report does not count: two incidents of one host can have the same key.
fn by_key<'i>(envelope: &Envelope, issues: &'i [Issue], thread: &Thread<'_>) -> Option<&'i Issue> {
    issues.iter().filter(|issue| issue.open).find(|issue| {
        let (markers, _) = marker::split(&issue.body);
        let is_other = |marker: &Marker| {
            envelope
                .incidents
                .iter()
                .any(|incident| incident.id == marker.id)
        };
        thread.incidents.iter().all(|incident| {
            let same_key = |marker: &&Marker| marker.key == incident.key;
            markers
                .iter()
                .find(same_key)
                .is_some_and(|marker| !marker.closed && !is_other(marker))
        })
    })
}

/// The body of an issue after this run, and whether all its incidents are closed.
fn updated(envelope: &Envelope, body: &str, thread: &Thread<'_>) -> (String, bool) {
    let (mut markers, text) = marker::split(body);
    let ids: Vec<_> = markers.iter().map(|marker| marker.id.clone()).collect();
    for marker in &mut markers {
        let of_marker = |incident: &&&Incident| {
            let is_found_by_key = incident.key == marker.key && !ids.contains(&incident.id);
            incident.id == marker.id || is_found_by_key
        };
        let Some(incident) = thread.incidents.iter().find(of_marker) else {
            continue;
        };
        *marker = Marker {
            closed: incident.phase == Phase::Closed,
            ..open_marker(incident)
        };
    }
    let all_closed = markers.iter().all(|marker| marker.closed);
    let text = match (markers.as_slice(), thread.incidents.as_slice()) {
        ([_], [only]) if all_closed => urldb_render::closing_body(envelope, only),
        // An issue that was closed before keeps its text.
        ([_], _) if all_closed => text.to_owned(),
        _ => text::body(envelope, &markers).unwrap_or_else(|| text.to_owned()),
    };
    (
        text::within_limit(marker::join(&markers, &text)),
        all_closed,
    )
}

/// The state that an issue gets in this run; absent if it keeps its own. An issue that a person closed
/// stays closed until there is news of its incident.
fn new_state(thread: &Thread<'_>, issue: &Issue, all_closed: bool) -> Option<NewState> {
    let is_removed = |incident: &&Incident| {
        incident.end() == Some(Because::Removed) || incident.merged_into.is_some()
    };
    let is_complete = marker::split(&issue.body).0.len() <= thread.incidents.len();
    match (issue.open, all_closed) {
        (true, true) if is_complete && thread.incidents.iter().all(is_removed) => {
            Some(NewState::NotPlanned)
        }
        (true, true) => Some(NewState::Completed),
        (false, false) if thread.incidents.iter().any(|it| it.is_news()) => Some(NewState::Open),
        _ => None,
    }
}

/// Whether both are the same, but for line ends and blanks that services change.
fn is_same_text(one: &str, other: &str) -> bool {
    let lines = |text: &str| -> Vec<String> {
        text.trim_end()
            .lines()
            .map(|line| line.trim_end().to_owned())
            .collect()
    };
    lines(one) == lines(other)
}
