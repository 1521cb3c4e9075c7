//! The notifiers of urldb.toml: they post reports, deliver them, and say what waits.

use jiff::Timestamp;
use urldb_protocol::{Delivery, Envelope, ProjectInfo};

use super::audience::{Routing, routed};
use super::audience_urls::AudienceUrls;
use super::configured::ConfiguredNotifier;
use super::delivery_run::DeliveryRun;
use super::filtered_sections::FilteredSections;
use super::incident_facts::IncidentFacts;
use super::outbox::{Message, Outbox};
use super::scenario::{self, Extent, Scenario};
use super::status::NotifierStatus;
use super::test_message;
use super::unrouted::Unrouted;
use crate::ambient::Ambient;
use crate::config::Config;
use crate::environment;
use crate::ledger::{IncidentFile, RunLine};

/// The scenario of a test that names none.
const DEFAULT_SCENARIO: &str = "01";

/// The results of a test message.
#[derive(Debug)]
pub struct TestResult {
    /// The name of the notifier.
    pub notifier: String,
    /// The destination of the message.
    pub destination: String,
    /// The result of each delivery.
    pub results: Vec<Delivery>,
}

/// A notifier as it is set up here; nobody was contacted.
#[derive(Debug)]
pub struct Inspection {
    /// The messages that wait.
    pub status: NotifierStatus,
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
    let mut inspections: Vec<Inspection> = config
        .notifiers
        .iter()
        .map(|(name, notify)| {
            let made = ConfiguredNotifier::new(config, name, notify);
            let mut status = NotifierStatus::new(name, made.kind, made.destination());
            let error = made.notifier.err();
            status.waiting = status.take_readable(outbox.messages(name));
            let unset = notify
                .secret_variables()
                .into_iter()
                .filter(|name| environment::os_variable(name).is_none());
            Inspection {
                status,
                unset: unset.collect(),
                error,
            }
        })
        .collect();
    let is_configured = |name: &String| config.notifiers.contains_key(name);
    let others = outbox.notifiers()?.into_iter();
    inspections.extend(
        others
            .filter(|name| !is_configured(name))
            .map(|name| Inspection {
                status: NotifierStatus::without_notifier(&name, outbox.messages(&name)),
                unset: vec![],
                error: None,
            }),
    );
    Ok(inspections)
}

/// The notifiers of one configuration.
pub struct Notifiers {
    configured: Vec<ConfiguredNotifier>,
    routing: Routing,
    filtered: FilteredSections,
}

impl Notifiers {
    /// Makes the notifiers that urldb.toml names. The messages of one that cannot work wait, and the
    /// others deliver theirs.
    pub fn new(config: &Config) -> Self {
        let made = config
            .notifiers
            .iter()
            .map(|(name, notify)| ConfiguredNotifier::new(config, name, notify));
        let routing = Routing::new(config);
        Self {
            configured: made.collect(),
            filtered: FilteredSections::new(config, &routing),
            routing,
        }
    }

    /// The sections that are for some of all URLs.
    pub fn filtered_sections(&self) -> &FilteredSections {
        &self.filtered
    }

    /// Sets the URLs of the sections that are for some of all URLs, in the order of [`Self::filtered_sections`].
    pub fn set_urls(&mut self, urls: Vec<AudienceUrls>) {
        self.routing.set_counted(self.filtered.named(urls));
    }

    /// The broken URLs of these incidents that no notifier tells anybody of.
    pub fn unrouted(&self, incidents: &[IncidentFile]) -> Option<Unrouted> {
        self.routing.unrouted(incidents)
    }

    /// Puts a message into the outbox of each notifier that has something to tell, in place of what nobody got.
    /// `past` are the runs before this one.
    pub fn post(
        &self,
        outbox: &Outbox,
        envelope: &Envelope,
        past: &[RunLine],
        facts: &dyn IncidentFacts,
    ) -> anyhow::Result<()> {
        self.configured
            .iter()
            .filter(|configured| !configured.replaces_earlier)
            .try_for_each(|configured| {
                configured.post(outbox, (envelope, past), facts, &self.routing)
            })
    }

    /// The messages that wait, without trying them.
    pub fn statuses(&self, outbox: &Outbox) -> anyhow::Result<Vec<NotifierStatus>> {
        let mut statuses = vec![];
        for configured in &self.configured {
            statuses.push(configured.with_waiting(outbox.messages(&configured.name)));
        }
        statuses.extend(self.without_notifier(outbox)?);
        Ok(statuses)
    }

    /// Tries the waiting messages of one notifier, or of all, what failed included.
    pub fn retry(
        &self,
        outbox: &Outbox,
        only: Option<&str>,
        now: fn() -> Timestamp,
        facts: &dyn IncidentFacts,
    ) -> anyhow::Result<Vec<NotifierStatus>> {
        let run = DeliveryRun::new(now, facts, &self.routing)?;
        let statuses = self.chosen(only).map(|configured| {
            let mut messages = outbox.messages(&configured.name);
            for message in messages.iter_mut().flatten() {
                message.retry_failed();
            }
            run.deliver_waiting(configured, messages, None)
        });
        Ok(statuses.collect())
    }

    /// Discards what a notifier has not told: it is told only what happens from now on. Returns the number of
    /// incidents, or `None` if nothing waits.
    ///
    /// # Errors
    /// When a message cannot be read or removed, or an incident cannot be written.
    pub fn skip(
        &self,
        outbox: &Outbox,
        name: &str,
        facts: &dyn IncidentFacts,
    ) -> anyhow::Result<Option<u64>> {
        let messages: Vec<Message> = outbox
            .messages(name)
            .into_iter()
            .collect::<anyhow::Result<_>>()?;
        for configured in self.chosen(Some(name)) {
            for message in &messages {
                let incidents = facts.incidents();
                let report = configured.compose(message, None, &incidents, &self.routing);
                facts.deliver(name, report.delivered)?;
            }
        }
        messages.iter().try_for_each(Message::remove)?;
        let incidents = messages.iter().map(Message::incidents);
        Ok(incidents.max())
    }

    /// Tells a scenario, or the first message of one, through one notifier, or through all. Nothing is stored.
    ///
    /// # Errors
    /// When there is no such scenario.
    pub fn test(
        &self,
        only: Option<&str>,
        scenario: Option<&str>,
        ambient: Ambient,
        repository: &str,
        project: &ProjectInfo,
    ) -> anyhow::Result<Vec<TestResult>> {
        let run = DeliveryRun::new(ambient.now, &(), &self.routing)?;
        let base = test_message::envelope(ambient, repository, project)?;
        let played = Scenario::find(scenario.unwrap_or(DEFAULT_SCENARIO))?;
        let results = self.chosen(only).map(|configured| {
            let extent = match &configured.notifier {
                _ if scenario.is_some() => Extent::Whole,
                Ok(_) if configured.keeps_threads() => Extent::Ends,
                _ => Extent::Opening,
            };
            TestResult {
                notifier: configured.name.clone(),
                destination: configured.destination(),
                results: if configured.replaces_earlier {
                    run.deliver_once(configured, &base)
                } else {
                    scenario::play(played, extent, configured, &run, &base)
                },
            }
        });
        Ok(results.collect())
    }

    /// Whether urldb.toml names no notifier.
    pub fn is_empty(&self) -> bool {
        self.configured.is_empty()
    }

    fn chosen(&self, only: Option<&str>) -> impl Iterator<Item = &ConfiguredNotifier> {
        self.configured
            .iter()
            .filter(move |configured| only.is_none_or(|name| name == configured.name))
    }

    /// Delivers the messages in the outbox, and this run's report to the notifiers that show the
    /// latest report.
    pub fn deliver(
        &self,
        outbox: &Outbox,
        envelope: &Envelope,
        now: fn() -> Timestamp,
        facts: &dyn IncidentFacts,
    ) -> anyhow::Result<Vec<NotifierStatus>> {
        let run = DeliveryRun::new(now, facts, &self.routing)?;
        let mut statuses = vec![];
        let is_site = |configured: &&ConfiguredNotifier| configured.replaces_earlier;
        let sites = self.configured.iter().filter(is_site);
        let others = self.configured.iter().filter(|it| !is_site(it));
        // A site shows whom the others have told.
        for configured in others.chain(sites) {
            statuses.push(if configured.replaces_earlier {
                run.deliver_latest(
                    configured,
                    &routed(envelope, &self.routing.route(&configured.audience)),
                )
            } else {
                run.deliver_waiting(
                    configured,
                    outbox.messages(&configured.name),
                    Some(envelope),
                )
            });
        }
        statuses.extend(self.without_notifier(outbox)?);
        Ok(statuses)
    }

    /// The messages of notifiers that urldb.toml does not name any more.
    fn without_notifier(&self, outbox: &Outbox) -> anyhow::Result<Vec<NotifierStatus>> {
        let names = outbox.notifiers()?;
        let is_configured = |name: &String| self.configured.iter().any(|known| known.name == *name);
        let orphans = names.into_iter().filter(|name| !is_configured(name));
        Ok(orphans
            .map(|name| NotifierStatus::without_notifier(&name, outbox.messages(&name)))
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::Duration;

    use jiff::civil::Weekday;
    use urldb_files::Root;
    use urldb_protocol::{
        Delivery, DeliveryFuture, Notifier, PlannedDelivery, Remembered, ReportDelivery,
    };

    use super::*;
    use crate::config::Audience;
    use crate::ledger::NewestCard;

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
                incidents: vec![],
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

    /// Facts cannot be stored.
    struct FullDisk;

    impl IncidentFacts for FullDisk {
        fn incidents(&self) -> Vec<IncidentFile> {
            vec![]
        }

        fn remember(&self, _: &str, _: &[Remembered]) -> anyhow::Result<()> {
            anyhow::bail!("the disk is full")
        }

        fn deliver(&self, _: &str, _: Vec<(String, NewestCard)>) -> anyhow::Result<()> {
            Ok(())
        }

        fn expect(&self, _: &str, _: Vec<String>) -> anyhow::Result<()> {
            Ok(())
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
            audience: Audience::every_run(),
            settings: String::new(),
            replaces_earlier: false,
            notifier: Ok(Box::new(Fragile { panics })),
        };
        let of = |configured| Notifiers {
            configured,
            routing: Routing::default(),
            filtered: FilteredSections::default(),
        };
        let notifiers = of(vec![
            configured("first", Some(Step::Planning)),
            configured("second", Some(Step::Delivering)),
            configured("third", None),
        ]);
        notifiers.post(&outbox, &envelope, &[], &()).unwrap();
        let now = || Timestamp::UNIX_EPOCH;
        let crashed = |name: &str| {
            format!(
                "the notifier {name} crashed, which is a fault of urldb: the reply has no \
                 code\u{fffd}[2J"
            )
        };
        for run in 1..3 {
            let statuses = notifiers.deliver(&outbox, &envelope, now, &()).unwrap();
            let [first, second, third] = &statuses[..] else {
                panic!("{statuses:?}");
            };
            assert_eq!((first.waiting.len(), second.waiting.len()), (1, 1));
            assert_eq!(first.errors, [crashed("first")]);
            assert_eq!(second.waiting[0].attempts(), run);
            let kept = format!("{:?}", second.waiting[0]);
            assert!(kept.contains(&crashed("second")), "{kept}");
            assert_eq!((third.waiting.len(), third.errors.len()), (0, 0));
            assert_eq!(third.delivered.len(), usize::from(run == 1));
        }
        // A weekly report names the messages that wait for others.
        let mut weekly = configured("weekly", None);
        weekly.audience.digest = Some(Weekday::Monday);
        let mut later = envelope.clone();
        later.run.id.push('2');
        let posted = weekly.post(&outbox, (&later, &[]), &(), &Routing::default());
        posted.unwrap();
        let messages = outbox.messages("weekly").into_iter().flatten();
        let mut weeks = messages.filter_map(|it| it.envelope().week.clone());
        let waiting = weeks.next().unwrap().waiting.into_iter();
        let names: Vec<_> = waiting.map(|it| it.notifier).collect();
        assert_eq!(names, ["first", "second"]);
        // A later version that does not crash delivers the message that could not be planned.
        let fixed = of(vec![configured("first", None)]);
        let statuses = fixed.deliver(&outbox, &envelope, now, &FullDisk).unwrap();
        // The facts of the reply are lost, and those of the plan.
        assert_eq!(statuses[0].errors, ["the disk is full"; 2]);
        let statuses = fixed.deliver(&outbox, &envelope, now, &()).unwrap();
        assert_eq!(statuses[0].delivered.len(), 1);
    }

    #[test]
    fn a_panic_of_a_notifier_prints_nothing() {
        let test = "notify::notifiers::tests::a_panic_of_a_notifier_keeps_its_message_and_stops_no_other_notifier";
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "--nocapture", test]);
        let output = child.env("RUST_BACKTRACE", "1").output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"));
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    }
}
