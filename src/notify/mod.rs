//! Delivers reports through the notifiers that urldb.toml names.
//!
//! A report with news goes into the [`Outbox`] first, with its planned deliveries. The report leaves
//! the outbox when every delivery was made, or when a person drops the rest. A run that is killed in
//! between loses no message, and the next run tries again what was not delivered.

mod audience;
mod configured;
mod filters;
mod merge;
mod outbox;
mod panic;
mod services;
mod standing;
mod test_message;

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context;
use jiff::Timestamp;
use tokio::runtime::Runtime;
use urldb_protocol::{
    Delivery, DeliveryOutcome, Envelope, Incident, Notifier, Phase, PlannedDelivery, ProjectInfo,
    Remembered, Scope, Shown,
};

pub use filters::{FilterReport, filter_report};
pub use merge::merge;
pub use outbox::Outbox;
pub(crate) use outbox::{KeptDelivery, Message};
pub use standing::{Delivered, Standing};

use crate::ambient::Ambient;
use crate::config::{self, Audience, Config, NotifierKind};
use crate::environment;
use crate::explain::explain;
use configured::new_notifier;
pub(crate) use configured::site_templates;

/// The most time that the deliveries of one report may take.
const TIME_LIMIT: Duration = Duration::from_mins(2);

/// Most hosts that a line names.
const MOST_HOSTS: usize = 5;

/// After this time, a run begins no further report of a notifier.
const TOTAL_LIMIT: Duration = Duration::from_mins(10);

/// Keeps what notifiers need to know about incidents in later runs, in the ledger.
pub trait Memory: Sync {
    /// Completes the incidents of an older report by what is known of them now.
    fn recall(&self, notifier: &str, envelope: &mut Envelope);

    /// Stores facts that a notifier learned.
    fn remember(&self, notifier: &str, facts: &[Remembered]) -> anyhow::Result<()>;
}

/// The results of a test message.
#[derive(Debug)]
pub struct TestResult {
    /// The name of the notifier.
    pub notifier: String,
    /// Where the message went.
    pub destination: String,
    /// The result of each delivery.
    pub results: Vec<Delivery>,
}

/// Without incidents there is nothing to remember.
impl Memory for () {
    fn recall(&self, _: &str, _: &mut Envelope) {}

    fn remember(&self, _: &str, _: &[Remembered]) -> anyhow::Result<()> {
        Ok(())
    }
}

/// A notifier as it is set up here; nobody was contacted.
#[derive(Debug)]
pub struct Inspection {
    /// The messages that wait.
    pub standing: Standing,
    /// The environment variables that the notifier needs and that are not set.
    pub unset: Vec<String>,
    /// Why the notifier cannot work.
    pub error: Option<String>,
}

/// Inspects the notifiers that urldb.toml names, and those that have messages in the outbox.
///
/// # Errors
/// When the outbox cannot be listed.
pub fn inspect(config: &Config, outbox: &Outbox) -> anyhow::Result<Vec<Inspection>> {
    let configured = config.notifiers.iter().map(|(name, notify)| {
        let made = ConfiguredNotifier::new(config, name, notify);
        let mut standing = Standing::new(name, made.kind, made.destination());
        let error = made.notifier.err();
        standing.waiting = standing.take_readable(outbox.messages(name));
        let variables = notify.secret_variables().into_iter();
        let unset = variables.filter(|name| environment::os_variable(name).is_none());
        Inspection {
            standing,
            unset: unset.collect(),
            error,
        }
    });
    let mut inspections: Vec<Inspection> = configured.collect();
    let is_configured = |name: &String| config.notifiers.contains_key(name);
    let others = outbox.notifiers()?.into_iter();
    inspections.extend(
        others
            .filter(|name| !is_configured(name))
            .map(|name| Inspection {
                standing: Standing::without_notifier(&name, outbox.messages(&name)),
                unset: vec![],
                error: None,
            }),
    );
    Ok(inspections)
}

/// The notifiers of one configuration.
pub struct Notifiers(Vec<ConfiguredNotifier>);

/// A notifier that urldb.toml names.
struct ConfiguredNotifier {
    name: String,
    kind: &'static str,
    audience: Audience,
    /// Digest of the section of urldb.toml.
    settings: String,
    /// Whether each report replaces the one before, so that none waits in the outbox.
    replaces_earlier: bool,
    /// Why the notifier cannot work here, such as a secret that is not set: its messages wait.
    notifier: Result<Box<dyn Notifier>, String>,
}

impl Notifiers {
    /// Makes the notifiers that urldb.toml names. The messages of one that cannot work wait, and the
    /// others deliver theirs.
    pub fn new(config: &Config) -> Self {
        let made = config.notifiers.iter();
        let made = made.map(|(name, notify)| ConfiguredNotifier::new(config, name, notify));
        Self(made.collect())
    }

    /// One line about the incidents that opened or grew in this run and that no notifier tells of; `None`
    /// if there are none, or nobody is to be told anything.
    pub fn unheard(&self, envelope: &Envelope) -> Option<String> {
        let telling = || {
            self.0
                .iter()
                .filter(|configured| !configured.replaces_earlier)
        };
        let is_news = |incident: &&Incident| {
            matches!(incident.phase, Phase::Opened | Phase::Grown)
                && !incident.silent
                && incident.urls.iter().any(|url| !url.muted)
        };
        let hears = |incident: &Incident| {
            telling().any(|configured| audience::hears(&configured.audience, incident))
        };
        let incidents = envelope.incidents.iter().filter(is_news);
        let unheard: Vec<&str> = incidents
            .filter(|incident| !hears(incident))
            .map(|incident| incident.host.as_str())
            .collect();
        let first = unheard.get(..MOST_HOSTS).unwrap_or(&unheard).join(", ");
        let more = match unheard.len().saturating_sub(MOST_HOSTS) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let who = match unheard.len() {
            0 => return None,
            1 => "1 incident reaches".to_owned(),
            number => format!("{number} incidents reach"),
        };
        telling().next()?;
        Some(format!(
            "{who} nobody, since the filters of all notifiers in urldb.toml leave out: {first}{more}"
        ))
    }

    /// Puts the report into the outbox of each notifier that has something to tell.
    pub fn post(
        &self,
        outbox: &Outbox,
        envelope: &Envelope,
        memory: &dyn Memory,
    ) -> anyhow::Result<()> {
        for configured in &self.0 {
            let ConfiguredNotifier {
                name,
                audience,
                settings,
                ..
            } = configured;
            if configured.replaces_earlier {
                continue;
            }
            let Some(told) = audience::told(envelope, name, audience) else {
                continue;
            };
            // The next try plans the deliveries of a notifier that crashes now.
            let planned = configured.deliveries(&told.envelope).ok();
            outbox.put(name, settings, &told.envelope, planned.as_deref())?;
            let mut facts = told.remember;
            let planned = planned.into_iter().flatten();
            facts.extend(planned.flat_map(|plan| plan.remember));
            facts.sort();
            facts.dedup();
            memory.remember(name, &facts)?;
        }
        Ok(())
    }

    /// The messages that wait, without trying them.
    pub fn standings(&self, outbox: &Outbox) -> anyhow::Result<Vec<Standing>> {
        let mut standings = vec![];
        for configured in &self.0 {
            standings.push(configured.with_waiting(outbox.messages(&configured.name)));
        }
        standings.extend(self.without_notifier(outbox)?);
        Ok(standings)
    }

    /// Tries the waiting messages of one notifier, or of all, what failed included.
    pub fn retry(
        &self,
        outbox: &Outbox,
        only: Option<&str>,
        now: fn() -> Timestamp,
        memory: &dyn Memory,
    ) -> anyhow::Result<Vec<Standing>> {
        let delivering = Delivering {
            runtime: runtime()?,
            now,
            memory,
        };
        let standings = self.chosen(only).map(|configured| {
            let mut messages = outbox.messages(&configured.name);
            for message in messages.iter_mut().flatten() {
                message.retry_failed();
            }
            delivering.deliver_waiting(configured, messages)
        });
        Ok(standings.collect())
    }

    /// Sends a test message through one notifier, or through all. Nothing is kept in the outbox.
    pub fn test(
        &self,
        only: Option<&str>,
        ambient: Ambient,
        repository: &str,
        project: &ProjectInfo,
    ) -> anyhow::Result<Vec<TestResult>> {
        let delivering = Delivering {
            runtime: runtime()?,
            now: ambient.now,
            memory: &(),
        };
        let envelope = test_message::envelope(ambient, repository, project)?;
        let results = self.chosen(only);
        Ok(results
            .map(|configured| TestResult {
                notifier: configured.name.clone(),
                destination: configured.destination(),
                results: delivering.deliver_once(configured, &envelope),
            })
            .collect())
    }

    /// Whether urldb.toml names no notifier.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn chosen(&self, only: Option<&str>) -> impl Iterator<Item = &ConfiguredNotifier> {
        let all = self.0.iter();
        all.filter(move |configured| only.is_none_or(|name| name == configured.name))
    }

    /// Delivers the messages in the outbox, and this run's report to the notifiers that show the
    /// latest report.
    pub fn deliver(
        &self,
        outbox: &Outbox,
        envelope: &Envelope,
        now: fn() -> Timestamp,
        memory: &dyn Memory,
    ) -> anyhow::Result<Vec<Standing>> {
        let delivering = Delivering {
            runtime: runtime()?,
            now,
            memory,
        };
        let mut standings = vec![];
        for configured in &self.0 {
            standings.push(if configured.replaces_earlier {
                delivering.deliver_latest(configured, envelope)
            } else {
                delivering.deliver_waiting(configured, outbox.messages(&configured.name))
            });
        }
        standings.extend(self.without_notifier(outbox)?);
        Ok(standings)
    }

    /// The messages of notifiers that urldb.toml does not name any more.
    fn without_notifier(&self, outbox: &Outbox) -> anyhow::Result<Vec<Standing>> {
        let names = outbox.notifiers()?;
        let is_configured = |name: &String| self.0.iter().any(|known| known.name == *name);
        let orphans = names.into_iter().filter(|name| !is_configured(name));
        Ok(orphans
            .map(|name| Standing::without_notifier(&name, outbox.messages(&name)))
            .collect())
    }
}

fn runtime() -> anyhow::Result<Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start what delivers messages")
}

/// What deliveries work with.
struct Delivering<'a> {
    runtime: Runtime,
    now: fn() -> Timestamp,
    memory: &'a dyn Memory,
}

/// Why a notifier did not end by itself.
struct Fault {
    message: String,
    scope: Scope,
}

/// The results of the deliveries of one report.
struct Results<'a> {
    message: &'a mut Message,
    delivered: Vec<Delivery>,
    errors: Vec<String>,
    /// Lines for the terminal alone.
    asides: Vec<Shown>,
    /// The ids of the deliveries with a result.
    reported: Vec<String>,
    /// A fault concerns all deliveries of the notifier.
    stopped: bool,
}

impl Delivering<'_> {
    /// Delivers the report of this run, of which no copy is kept.
    fn deliver_latest(&self, configured: &ConfiguredNotifier, envelope: &Envelope) -> Standing {
        let mut standing = configured.standing();
        let envelope = audience::routed(envelope, &configured.audience);
        for delivery in self.deliver_once(configured, &envelope) {
            match delivery.outcome {
                DeliveryOutcome::Delivered => standing.delivered.push(Delivered {
                    to: standing.destination.clone(),
                    message: delivery.message,
                }),
                DeliveryOutcome::Retry | DeliveryOutcome::Failed => {
                    standing.errors.push(delivery.message.to_string());
                    standing.asides.extend(delivery.aside);
                }
            }
        }
        standing
    }

    /// Tries all deliveries of a report of which no copy is kept.
    fn deliver_once(&self, configured: &ConfiguredNotifier, envelope: &Envelope) -> Vec<Delivery> {
        let planned = match configured.deliveries(envelope) {
            Ok(planned) => ids(&planned),
            Err(error) => return vec![Delivery::failed("", error)],
        };
        let results = Mutex::new(vec![]);
        let report = |delivery: Delivery| lock(&results).push(delivery);
        let ended = self.within_time(configured, envelope, &planned, &report);
        let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
        results.extend(ended.err().map(|fault| Delivery {
            scope: fault.scope,
            ..Delivery::retry("", fault.message)
        }));
        results
    }

    /// Tries the waiting messages of one notifier. Messages with few tries come first, so that no
    /// message holds up the others for ever; among these, the oldest comes first.
    fn deliver_waiting(
        &self,
        configured: &ConfiguredNotifier,
        messages: Vec<anyhow::Result<Message>>,
    ) -> Standing {
        if configured.notifier.is_err() {
            return configured.with_waiting(messages);
        }
        let mut standing = configured.standing();
        let mut readable = standing.take_readable(messages);
        readable.sort_by_key(Message::attempts);
        let began = Instant::now();
        let mut stopped = false;
        for mut message in readable {
            let planned = match configured.deliveries(message.envelope()) {
                Ok(planned) => planned,
                Err(error) => {
                    standing.errors.push(error);
                    standing.waiting.push(message);
                    continue;
                }
            };
            message.follow_settings(&configured.settings, &planned);
            let due = message.due();
            if !stopped && began.elapsed() < TOTAL_LIMIT && !due.is_empty() {
                stopped = self.try_message(configured, &mut message, &due, &mut standing);
            }
            if message.is_done() {
                standing.sent += 1;
                let removed = message.remove();
                standing
                    .errors
                    .extend(removed.err().map(|error| explain(&error)));
            } else {
                standing.waiting.push(message);
            }
        }
        standing.sort();
        standing
    }

    /// Tries the deliveries of one message that are due. Returns whether this run tries no other
    /// message of the notifier.
    fn try_message(
        &self,
        configured: &ConfiguredNotifier,
        message: &mut Message,
        due: &[String],
        standing: &mut Standing,
    ) -> bool {
        let name = &configured.name;
        let mut envelope = message.envelope().clone();
        self.memory.recall(name, &mut envelope);
        envelope.delay = message.delay((self.now)());
        let results = Mutex::new(Results {
            message,
            delivered: vec![],
            errors: vec![],
            asides: vec![],
            reported: vec![],
            stopped: false,
        });
        let report = |delivery: Delivery| {
            if due.contains(&delivery.id) {
                lock(&results).add(delivery, name, self.memory, (self.now)());
            }
        };
        let ended = self.within_time(configured, &envelope, due, &report);
        let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
        let missing: Vec<_> = due
            .iter()
            .filter(|id| !results.reported.contains(id))
            .collect();
        for id in missing {
            let without_result = match &ended {
                Err(Fault { scope, message }) => Delivery {
                    scope: *scope,
                    ..Delivery::retry(id, message)
                },
                Ok(()) if results.stopped => continue,
                Ok(()) => Delivery::retry(id, "the notifier reported no result"),
            };
            results.add(without_result, name, self.memory, (self.now)());
        }
        let Results {
            message,
            delivered,
            errors,
            asides,
            stopped,
            ..
        } = results;
        let delivered = delivered.into_iter().map(|delivery| Delivered {
            to: message.recipient(&delivery.id).to_owned(),
            message: delivery.message,
        });
        standing.delivered.extend(delivered);
        standing.errors.extend(errors);
        standing.asides.extend(asides);
        stopped
    }

    /// Lets the notifier deliver.
    ///
    /// # Errors
    /// When the notifier exceeded the time limit, or panicked.
    fn within_time(
        &self,
        configured: &ConfiguredNotifier,
        envelope: &Envelope,
        pending: &[String],
        report: &(dyn Fn(Delivery) + Send + Sync),
    ) -> Result<(), Fault> {
        let ConfiguredNotifier { name, notifier, .. } = configured;
        let notifier = notifier.as_ref().map_err(|reason| Fault {
            message: reason.clone(),
            scope: Scope::Notifier,
        })?;
        let work = async {
            let deliveries = notifier.deliver(envelope, pending, report);
            tokio::time::timeout(TIME_LIMIT, deliveries).await
        };
        match panic::catch(|| self.runtime.block_on(work)) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(Fault {
                message: format!("no answer within {} seconds", TIME_LIMIT.as_secs()),
                scope: Scope::Notifier,
            }),
            // Another report may do no harm.
            Err(panic) => Err(Fault {
                message: of_panic(name, &panic),
                scope: Scope::Delivery,
            }),
        }
    }
}

impl Results<'_> {
    /// Stores the facts first: when the process ends in between, the delivery is made again, and the
    /// facts are the same.
    fn add(&mut self, delivery: Delivery, name: &str, memory: &dyn Memory, now: Timestamp) {
        let stored = memory
            .remember(name, &delivery.remember)
            .and_then(|()| self.message.record(&delivery, now));
        self.errors
            .extend(stored.err().map(|error| explain(&error)));
        self.reported.push(delivery.id.clone());
        self.asides.extend(delivery.aside.clone());
        if delivery.outcome == DeliveryOutcome::Delivered {
            self.delivered.push(delivery);
        } else {
            self.stopped |= delivery.scope == Scope::Notifier;
        }
    }
}

impl ConfiguredNotifier {
    fn new(config: &Config, name: &str, notify: &config::Notify) -> Self {
        let made = || new_notifier(config, name, notify).map_err(|error| explain(&error));
        let notifier = panic::catch(made).unwrap_or_else(|panic| Err(of_panic(name, &panic)));
        let replaces_earlier = match &notifier {
            Ok(notifier) => notifier.replaces_earlier(),
            Err(_) => matches!(notify.kind, NotifierKind::Html(_)),
        };
        Self {
            name: name.to_owned(),
            kind: notify.kind.name(),
            audience: notify.audience.clone(),
            settings: notify.digest.clone(),
            replaces_earlier,
            notifier,
        }
    }

    /// Where deliveries go, for people; empty if the notifier cannot work.
    fn destination(&self) -> String {
        let notifier = self.notifier.as_ref();
        notifier.map_or_else(|_| String::new(), |notifier| notifier.destination())
    }

    fn standing(&self) -> Standing {
        Standing::new(&self.name, self.kind, self.destination())
    }

    /// The messages that wait, without trying them, and why the notifier cannot work.
    fn with_waiting(&self, messages: Vec<anyhow::Result<Message>>) -> Standing {
        let mut standing = self.standing();
        standing.waiting = standing.take_readable(messages);
        standing
            .errors
            .extend(self.notifier.as_ref().err().cloned());
        standing
    }

    /// The deliveries that the report needs.
    ///
    /// # Errors
    /// When the notifier cannot work or panicked, for people.
    fn deliveries(&self, envelope: &Envelope) -> Result<Vec<PlannedDelivery>, String> {
        let notifier = self.notifier.as_ref().map_err(Clone::clone)?;
        panic::catch(|| notifier.deliveries(envelope)).map_err(|panic| of_panic(&self.name, &panic))
    }
}

fn ids(planned: &[PlannedDelivery]) -> Vec<String> {
    planned.iter().map(|plan| plan.id.clone()).collect()
}

/// The message about a panic.
fn of_panic(notifier: &str, panic: &str) -> String {
    let panic = urldb_text::sanitize(panic);
    format!("the notifier {notifier} crashed, which is a fault of urldb: {panic}")
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use urldb_files::Root;
    use urldb_protocol::{DeliveryFuture, ReportDelivery};

    use super::*;

    /// A notifier that panics while it plans, while it delivers, or never.
    struct Fragile {
        panics: Option<Step>,
    }

    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Step {
        Planning,
        Delivering,
    }

    const CRASH: &str = "the reply has no code\x1b[2J";

    impl Notifier for Fragile {
        fn deliveries(&self, _: &Envelope) -> Vec<PlannedDelivery> {
            assert!(self.panics != Some(Step::Planning), "{CRASH}");
            vec![PlannedDelivery {
                id: "only".to_owned(),
                about: String::new(),
                to: String::new(),
                remember: vec![],
            }]
        }

        fn deliver<'a>(
            &'a self,
            _: &'a Envelope,
            _: &'a [String],
            report: ReportDelivery<'a>,
        ) -> DeliveryFuture<'a> {
            Box::pin(async move {
                tokio::time::sleep(Duration::from_millis(1)).await;
                assert!(self.panics != Some(Step::Delivering), "{CRASH}");
                report(Delivery::delivered("only", "taken"));
            })
        }

        fn destination(&self) -> String {
            String::new()
        }
    }

    #[test]
    fn a_panic_of_a_notifier_keeps_its_message_and_stops_no_other_notifier() {
        let folder = tempfile::tempdir().unwrap();
        let outbox = Outbox::new(&Root::new(folder.path(), "the ledger"));
        let text = include_str!("../../docs/envelope.example.json");
        let envelope: Envelope = serde_json::from_str(text).unwrap();
        let configured = |name: &str, panics| ConfiguredNotifier {
            name: name.to_owned(),
            kind: "test",
            audience: Audience::news(),
            settings: String::new(),
            replaces_earlier: false,
            notifier: Ok(Box::new(Fragile { panics })),
        };
        let notifiers = Notifiers(vec![
            configured("first", Some(Step::Planning)),
            configured("second", Some(Step::Delivering)),
            configured("third", None),
        ]);
        notifiers.post(&outbox, &envelope, &()).unwrap();
        let now = || Timestamp::UNIX_EPOCH;
        let crashed = |name: &str| {
            format!(
                "the notifier {name} crashed, which is a fault of urldb: the reply has no \
                 code\u{fffd}[2J"
            )
        };
        for run in 1..3 {
            let standings = notifiers.deliver(&outbox, &envelope, now, &()).unwrap();
            let [first, second, third] = &standings[..] else {
                panic!("{standings:?}");
            };
            assert_eq!((first.waiting.len(), second.waiting.len()), (1, 1));
            assert_eq!(first.errors, [crashed("first")]);
            assert_eq!(second.waiting[0].attempts(), run);
            let kept = format!("{:?}", second.waiting[0]);
            assert!(kept.contains(&crashed("second")), "{kept}");
            assert_eq!((third.waiting.len(), third.errors.len()), (0, 0));
            assert_eq!(third.delivered.len(), usize::from(run == 1));
        }
        // What could not be planned is delivered by a later version that does not crash.
        let mended = Notifiers(vec![configured("first", None)]);
        let standings = mended.deliver(&outbox, &envelope, now, &()).unwrap();
        assert_eq!(standings[0].delivered.len(), 1);
    }

    #[test]
    fn a_panic_of_a_notifier_prints_nothing() {
        let test =
            "notify::tests::a_panic_of_a_notifier_keeps_its_message_and_stops_no_other_notifier";
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "--nocapture", test]);
        let output = child.env("RUST_BACKTRACE", "1").output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"));
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    }
}
