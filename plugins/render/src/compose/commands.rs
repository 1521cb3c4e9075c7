//! The commands of a block, each with its purpose. No command makes the matter worse.

use jiff::{SignedDuration, Timestamp};
use urldb_protocol::{AffectedUrl, Envelope, Incident, Phase, Reason, State};

use super::causes::IncidentView;
use super::lookup::Lookup;
use super::notices::{self, is_end};
use super::scope::Scope;
use super::urls::{domain_of, path_of, prefix};
use crate::digests::{self, algorithm, digest_line};
use crate::message::Command;
use crate::numbers::{day, digest};
use crate::sentences::Subject;
use crate::shell::{AskedUrl, HEADER, HEADERS_ONLY, bytes_in_turn, command_line, curl_words};
use crate::text::shown_host;

/// The canonical request of a record with `method: HEAD`.
const HEAD: &str = "__wb_method=HEAD";

/// The time until the day that a command to acknowledge an incident names.
const ACK_TIME: SignedDuration = SignedDuration::from_hours(14 * 24);

/// The commands of an incident, and the position of the most useful one, for an output with little room.
pub(super) fn commands(
    view: &IncidentView<'_>,
    envelope: &Envelope,
    scope: Scope<'_>,
) -> (Vec<Command>, Option<usize>) {
    let Some(first) = first_url(view) else {
        return (Vec::new(), None);
    };
    let context = Context { view, first, scope };
    let mut commands = match view.phase() {
        Phase::Closed => Vec::new(),
        _ if view.is_good_today() => Vec::new(),
        Phase::Unknown if view.reason() == Some(Reason::OwnNetwork) => context.network(envelope),
        _ => context.of_cause(),
    };
    commands.extend(context.acknowledge(envelope));
    let best = commands
        .iter()
        .position(|command| command.line.starts_with("urldb check "))
        .or((!commands.is_empty()).then_some(0));
    (commands, best)
}

/// The commands of an open incident between runs, with that which acknowledges it.
pub(crate) fn commands_between_runs(incident: &Incident, envelope: &Lookup<'_>) -> Vec<Command> {
    if incident.is_notice() {
        let commands = notices::blocks(incident, envelope, Scope::Week)
            .into_iter()
            .flat_map(|block| block.commands);
        return commands.collect();
    }
    // Somebody who looks at it may not want to be reminded.
    let reminded = Incident {
        reminder: true,
        ..incident.clone()
    };
    commands(
        &IncidentView::new(&reminded, envelope),
        envelope,
        Scope::Week,
    )
    .0
}

/// The first URL that is affected in the way of the title, if there is one.
fn first_url<'a>(view: &IncidentView<'a>) -> Option<&'a AffectedUrl> {
    // The first of equal ones.
    view.urls().min_by_key(|url| url.state.is_some())
}

struct Context<'a> {
    view: &'a IncidentView<'a>,
    first: &'a AffectedUrl,
    scope: Scope<'a>,
}

impl Context<'_> {
    fn incident(&self) -> &Incident {
        self.view.incident
    }

    /// The first URL, as curl asks for it.
    fn asked(&self) -> AskedUrl<'_> {
        AskedUrl {
            via: self.incident().via.as_deref(),
            ..self.first.into()
        }
    }

    fn of_cause(&self) -> Vec<Command> {
        let reason = self.view.reason();
        let cause = self.view.cause();
        let is_one = cause.subject == Subject::Url;
        let mut commands = match self.incident().state {
            state
                if cause.redirect.is_some()
                    || state == State::Redirected && reason != Some(Reason::NoRedirect) =>
            {
                vec![self.try_it("to see the redirect"), self.check_again()]
            }
            State::Changed if reason == Some(Reason::Unstable) => {
                vec![self.ask_in_turn(), self.check_again()]
            }
            State::Changed if reason == Some(Reason::Uploading) => vec![self.ask_later()],
            State::Changed if is_one && reason != Some(Reason::ContentType) => self.bytes(),
            State::Changed if reason != Some(Reason::ContentType) => {
                vec![
                    self.try_it("to try it yourself"),
                    self.check_again(),
                    self.accept_all(),
                ]
            }
            State::Unreachable if is_end(self.incident()) => vec![self.check_again()],
            State::Unreachable if reason.is_some_and(is_tls) => {
                let purpose = match reason {
                    Some(Reason::TlsExpired) => "to check again after the renewal",
                    _ => "to check it again",
                };
                vec![self.see_tls_error(), self.check(purpose)]
            }
            State::Inconclusive => vec![self.check_again()],
            _ => vec![self.try_it("to try it yourself"), self.check_again()],
        };
        if is_one && matches!(self.incident().state, State::Gone | State::Redirected) {
            commands.push(self.kept_file());
        }
        commands.into_iter().flatten().collect()
    }

    /// Gets the promised bytes of a URL that was good once, so that a run has archived them.
    fn kept_file(&self) -> Option<Command> {
        let was_good = self.incident().last_good.is_some();
        let is_asked = self.first.request.is_none() && !self.scope.is_check();
        (was_good && is_asked)
            .then(|| self.promised_file())
            .flatten()
    }

    /// For other bytes than promised.
    fn bytes(&self) -> Vec<Option<Command>> {
        let evidence = &self.incident().evidence;
        let url = &self.first.url;
        if self.first.request.is_some() {
            return vec![self.try_it("to try it yourself"), self.check_again()];
        }
        let is_contradiction = self.view.reason() == Some(Reason::DigestsDisagree);
        let purpose = if is_contradiction {
            "to promise each digest of this file"
        } else {
            "to accept the new file"
        };
        let accept =
            Command::new(purpose, &["urldb", "accept", url]).filter(|_| self.is_acceptable());
        if is_contradiction {
            return vec![self.see_digest(), accept];
        }
        if self.scope.is_check() && accept.is_some() {
            return vec![accept];
        }
        match (&evidence.text, evidence.first_difference) {
            (Some(_), _) => vec![accept, self.promised_file()],
            (None, Some(_)) => vec![self.compare(), accept],
            (None, None) => vec![self.try_it("to try it yourself"), accept],
        }
    }

    /// Whether `urldb accept` takes what is served: the bytes of an alias are promised at its domain, and
    /// a page that stands in for the content is no promise.
    fn is_acceptable(&self) -> bool {
        let incident = self.incident();
        let is_alias = domain_of(&self.first.file).is_some_and(|domain| domain != incident.host);
        !is_alias && incident.evidence.doubt.is_none()
    }

    /// Accepts the new files of a deployment; the command asks about each.
    fn accept_all(&self) -> Option<Command> {
        let host = shown_host(domain_of(&self.first.file).filter(|_| self.is_acceptable())?);
        let mut words = vec!["urldb", "accept", "--all", "-d", &host];
        let prefix = prefix(self.view.urls());
        if let Some(prefix) = &prefix {
            words.extend(["--path-prefix", prefix]);
        }
        Command::new("to accept the new files", &words)
    }

    /// Gets the promised bytes from the archive: by their digest, since other bytes may have come on the
    /// same day.
    fn promised_file(&self) -> Option<Command> {
        let evidence = &self.incident().evidence;
        // The evidence of an incident is about one of its URLs.
        let promised = evidence.promised.sha256.as_deref();
        let sha256 = digest(promised.filter(|_| evidence.is_about(self.first))?);
        let path = path_of(&self.first.url);
        let path = path.split(['?', '#']).next().unwrap_or_default();
        let name = match path.rsplit('/').next() {
            Some(name) if !name.is_empty() && !name.starts_with(['-', '.']) => name,
            _ => "promised",
        };
        let options = ["--sha256", &sha256, "-o", name];
        self.of_archive("to get the promised file back", "get", &options)
    }

    /// Compares the promised bytes with the served ones, if the archive has both. Shows their digests otherwise.
    fn compare(&self) -> Option<Command> {
        let url = &self.first.url;
        let evidence = &self.incident().evidence;
        // The evidence of an incident is about one of its URLs.
        if evidence.first_difference.is_some() && evidence.is_about(self.first) {
            return self.of_archive("to compare both files", "diff", &[]);
        }
        Command::new("to see each answer", &["urldb", "check", "--verbose", url])
    }

    /// A command for the captures of the URL.
    fn of_archive(&self, purpose: &str, name: &str, options: &[&str]) -> Option<Command> {
        let words = ["urldb", "archive", name]
            .into_iter()
            .chain(AskedUrl::from(self.first).words(HEADER));
        Command::new(
            purpose,
            &words.chain(options.iter().copied()).collect::<Vec<_>>(),
        )
    }

    /// Shows what is at stake: the headers of each answer, or the fault of the body.
    fn try_it(&self, purpose: &str) -> Option<Command> {
        let url = self.asked();
        match self.first.request.as_deref() {
            None => {}
            Some(HEAD) => return curl(purpose, &["-sSIL"], url),
            Some(_) => return None,
        }
        let evidence = &self.incident().evidence;
        let is_about_body = matches!(self.incident().state, State::Changed | State::Truncated);
        if !is_about_body || self.view.cause().redirect.is_some() {
            return curl(purpose, &self.headers_only(), url);
        }
        if self.incident().state == State::Truncated {
            return curl(purpose, &["-sSL", "-o", "/dev/null"], url);
        }
        let written = |what| ["-sSL", "-o", "/dev/null", "-w", what];
        match self.view.reason() {
            Some(Reason::Status) => curl(purpose, &written("%{http_code}\\n"), url),
            Some(Reason::ContentType) => curl(purpose, &written("%{content_type}\\n"), url),
            Some(Reason::Digest | Reason::DigestsDisagree) if evidence.promised.has_digest() => {
                self.see_digest()
            }
            _ => curl(purpose, &written("%{size_download} bytes\\n"), url),
        }
    }

    /// Shows a digest that differs.
    fn see_digest(&self) -> Option<Command> {
        let (differing, _) = digests::compared(&self.incident().evidence);
        match differing.last() {
            Some((name, _)) if *name != "sha256" => Some(Command {
                purpose: format!("to see the {} yourself", algorithm(name)),
                line: digest_line(self.asked(), name)?,
            }),
            _ => self.compare(),
        }
    }

    /// Options of curl that show the headers. By itself, curl speaks HTTP/2 over TLS, and would be answered by a server that
    /// closes each connection of HTTP/1.1.
    fn headers_only(&self) -> Vec<&'static str> {
        let mut options = HEADERS_ONLY.to_vec();
        let is_cut = matches!(
            self.view.reason(),
            Some(Reason::Disconnected | Reason::Protocol)
        );
        if is_cut && self.first.url.starts_with("https:") {
            options.push("--http1.1");
        }
        options
    }

    /// Shows which content each of several requests gets.
    fn ask_in_turn(&self) -> Option<Command> {
        let line = bytes_in_turn(self.asked()).filter(|_| self.first.request.is_none())?;
        Some(Command {
            purpose: "to compare several answers".to_owned(),
            line,
        })
    }

    /// Checks a file again that may be complete by then; also after a `check`.
    fn ask_later(&self) -> Option<Command> {
        let purpose = "to check it again, once it is uploaded";
        match self.first.request {
            None => Command::new(purpose, &["urldb", "check", &self.first.url]),
            Some(_) => self.check(purpose),
        }
    }

    fn see_tls_error(&self) -> Option<Command> {
        let (scheme, rest) = self.first.url.split_once("://")?;
        let authority = rest.split('/').next().unwrap_or_default();
        let asked = AskedUrl {
            url: &format!("{scheme}://{authority}/"),
            variant: None,
            ..self.asked()
        };
        curl("to see the error", &HEADERS_ONLY, asked)
    }

    fn check_again(&self) -> Option<Command> {
        let urls = self.view.urls_now();
        let are_some = urls > 1 && urls < self.view.host_urls();
        self.check(if are_some {
            "to check them again"
        } else {
            "to check it again"
        })
    }

    /// Checks the URLs of the first host again; what `check` has just done needs no repetition.
    fn check(&self, purpose: &str) -> Option<Command> {
        if self.scope == Scope::Check {
            return None;
        }
        let line = check_command(self.incident(), self.first)?;
        Some(Command {
            purpose: purpose.to_owned(),
            line,
        })
    }

    /// Stops reminders of an incident that the reader hears of, or is reminded of.
    fn acknowledge(&self, envelope: &Envelope) -> Option<Command> {
        let incident = self.incident();
        let is_delivered = incident.reminder || incident.phase == Phase::Opened;
        let line = ack_command(incident, envelope.run.started).filter(|_| is_delivered)?;
        Some(Command {
            purpose: "to stop reminders until then".to_owned(),
            line,
        })
    }

    fn network(&self, envelope: &Envelope) -> Vec<Command> {
        let command = if self.scope.is_check() {
            "check"
        } else {
            "run"
        };
        let selection = envelope.run.selection.iter();
        let words = selection.flat_map(|it| it.split_whitespace());
        let again: Vec<&str> = ["urldb", command].into_iter().chain(words).collect();
        // The command would not read the list of a URL without a record.
        let again = domain_of(&self.first.file).and_then(|_| Command::new("to run again", &again));
        self.try_it("to test the network")
            .into_iter()
            .chain(again)
            .collect()
    }
}

/// A request by curl.
fn curl(purpose: &str, options: &[&str], asked: AskedUrl<'_>) -> Option<Command> {
    Command::new(purpose, &curl_words(options, asked))
}

pub(super) fn is_tls(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::Tls
            | Reason::TlsExpired
            | Reason::TlsNotYetValid
            | Reason::TlsUntrusted
            | Reason::TlsWrongHost
    )
}

/// The command that checks the affected URLs of an incident again, of which `first` is one; absent for those of lists,
/// which no record has yet.
fn check_command(incident: &Incident, first: &AffectedUrl) -> Option<String> {
    // An alias is checked with its domain.
    let host = shown_host(domain_of(&first.file)?);
    let affected: Vec<_> = incident.affected().collect();
    if let ([only], None) = (affected.as_slice(), &first.request) {
        return command_line(&["urldb", "check", &only.url]);
    }
    let is_host_wide = affected.len() as u64 >= incident.host_urls;
    match prefix(affected.into_iter()).filter(|_| !is_host_wide) {
        Some(prefix) => command_line(&["urldb", "check", "-d", &host, "--path-prefix", &prefix]),
        None => command_line(&["urldb", "check", "-d", &host]),
    }
}

/// The command that acknowledges an incident for two weeks after `now`; absent if nobody would be reminded of it.
fn ack_command(incident: &Incident, now: Timestamp) -> Option<String> {
    let is_due = |url: &AffectedUrl| !url.flapping && !url.muted && !url.acked;
    if incident.id.is_empty() || !incident.affected().any(is_due) {
        return None;
    }
    let until = day(now.checked_add(ACK_TIME).ok()?);
    let words = ["urldb", "ack", &incident.id, "--until", &until, "--because"];
    Some(command_line(&words)? + " 'BECAUSE'")
}
