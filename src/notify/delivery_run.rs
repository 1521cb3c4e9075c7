//! Delivers reports through notifiers, within the limits of time.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context;
use jiff::Timestamp;
use tokio::runtime::Runtime;
use urldb_protocol::{Delivery, DeliveryOutcome, Envelope, PlannedDelivery, Scope, Shown};

use super::audience::Routing;
use super::configured::{ConfiguredNotifier, of_panic};
use super::incident_facts::IncidentFacts;
use super::outbox::Message;
use super::panic;
use super::status::{MadeDelivery, MessageKind, NotifierStatus};
use crate::explain::explain;

/// The most time that the deliveries of one report may take.
const TIME_LIMIT: Duration = Duration::from_mins(2);

/// After this time, a run begins no further report of a notifier.
const TOTAL_LIMIT: Duration = Duration::from_mins(10);

/// The most time that a run waits for the service of one notifier.
const PATIENCE: Duration = Duration::from_mins(1);

/// The deliveries of one execution of urldb.
pub(super) struct DeliveryRun<'a> {
    runtime: Runtime,
    now: fn() -> Timestamp,
    facts: &'a dyn IncidentFacts,
    routing: &'a Routing,
}

/// The fault of a notifier that did not end by itself.
struct NotifierFault {
    message: String,
    scope: Scope,
}

/// The results of the deliveries of one report.
struct ReportResults<'a> {
    message: &'a mut Message,
    planned: &'a [PlannedDelivery],
    delivered: Vec<Delivery>,
    errors: Vec<String>,
    /// Lines for the terminal alone.
    asides: Vec<Shown>,
    /// The ids of the deliveries with a result.
    reported: Vec<String>,
    /// The longest wait that the service asks for.
    wait: Option<Duration>,
    /// A fault concerns all deliveries of the notifier.
    stopped: bool,
}

impl<'a> DeliveryRun<'a> {
    pub(super) fn new(
        now: fn() -> Timestamp,
        facts: &'a dyn IncidentFacts,
        routing: &'a Routing,
    ) -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("cannot start what delivers messages")?;
        Ok(Self {
            runtime,
            now,
            facts,
            routing,
        })
    }

    /// Delivers the report of this run, of which no copy is kept.
    pub(super) fn deliver_latest(
        &self,
        configured: &ConfiguredNotifier,
        envelope: &Envelope,
    ) -> NotifierStatus {
        let mut status = configured.status();
        for delivery in self.deliver_once(configured, envelope) {
            match delivery.outcome {
                DeliveryOutcome::Delivered => status.delivered.push(MadeDelivery {
                    to: status.destination.clone(),
                    message: delivery.message,
                    first_tried: None,
                    kind: MessageKind::News,
                }),
                DeliveryOutcome::Retry | DeliveryOutcome::Failed => {
                    status.errors.push(delivery.message.to_string());
                    status.asides.extend(delivery.aside);
                }
            }
        }
        status
    }

    /// Tries all deliveries of a report of which no copy is kept.
    pub(super) fn deliver_once(
        &self,
        configured: &ConfiguredNotifier,
        envelope: &Envelope,
    ) -> Vec<Delivery> {
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

    /// Tries the waiting messages of one notifier, each as it is to be told now; `run` is the run that ends now, if
    /// there is one. Messages with few tries come first, so that no
    /// message holds up the others for ever; among these, the oldest comes first.
    pub(super) fn deliver_waiting(
        &self,
        configured: &ConfiguredNotifier,
        messages: Vec<anyhow::Result<Message>>,
        run: Option<&Envelope>,
    ) -> NotifierStatus {
        if configured.notifier.is_err() {
            return configured.with_waiting(messages);
        }
        let mut status = configured.status();
        let mut readable = status.take_readable(messages);
        readable.sort_by_key(Message::attempts);
        let began = Instant::now();
        let mut stopped = false;
        let mut patience = PATIENCE;
        for mut message in readable {
            let incidents = self.facts.incidents();
            let mut report = configured.compose(&message, run, &incidents, self.routing);
            // The others have the message.
            let is_for_refused = !report.has_news && message.is_accepted_in_part();
            if is_for_refused {
                if message.is_refused() && message.is_planned_with(&configured.settings) {
                    // Only a person can help.
                    status.waiting.push(message);
                    continue;
                }
                let undelivered = message.as_undelivered(&configured.name, incidents);
                report = configured.compose(&message, run, &undelivered, self.routing);
            }
            if !report.has_news {
                status.remove(&message);
                continue;
            }
            let planned = match configured.deliveries(&report.envelope) {
                Ok(planned) => planned,
                Err(error) => {
                    status.errors.push(error);
                    status.waiting.push(message);
                    continue;
                }
            };
            message.plan(
                &configured.settings,
                &report,
                Some(&planned),
                is_for_refused,
            );
            if !stopped && began.elapsed() < TOTAL_LIMIT && !message.due().is_empty() {
                let delivered = (&mut message, report.envelope, planned.as_slice());
                stopped = self.try_message(configured, delivered, &mut patience, &mut status);
            }
            if message.is_done() {
                status.sent += 1;
                status.remove(&message);
            } else {
                status.waiting.push(message);
            }
        }
        status.sort();
        status
    }

    /// Tries the deliveries of one message that are due, and once more after the wait that the service asks for;
    /// further waits follow while deliveries are made. `patience` is what is left of the time for waits. Returns
    /// whether this run tries no other message of the notifier.
    fn try_message(
        &self,
        configured: &ConfiguredNotifier,
        (message, mut envelope, planned): (&mut Message, Envelope, &[PlannedDelivery]),
        patience: &mut Duration,
        status: &mut NotifierStatus,
    ) -> bool {
        envelope.delay = message.delay((self.now)());
        let mut made = None;
        loop {
            let (stopped, wait) = self.try_due(configured, (message, &envelope, planned), status);
            let is_progress = made != Some(status.delivered.len());
            made = Some(status.delivered.len());
            let left = wait.and_then(|wait| patience.checked_sub(wait));
            let (Some(wait), Some(left), true) = (wait, left, is_progress) else {
                return stopped;
            };
            *patience = left;
            std::thread::sleep(wait);
        }
    }

    /// Tries the deliveries of one message that are due. Returns whether a fault concerns all messages of the
    /// notifier, and the wait that the service asks for.
    fn try_due(
        &self,
        configured: &ConfiguredNotifier,
        (message, envelope, planned): (&mut Message, &Envelope, &[PlannedDelivery]),
        status: &mut NotifierStatus,
    ) -> (bool, Option<Duration>) {
        let name = &configured.name;
        let due = message.due();
        let results = Mutex::new(ReportResults {
            message,
            planned,
            delivered: vec![],
            errors: vec![],
            asides: vec![],
            reported: vec![],
            wait: None,
            stopped: false,
        });
        let report = |delivery: Delivery| {
            if due.contains(&delivery.id) {
                lock(&results).add(delivery, name, self.facts, (self.now)());
            }
        };
        let ended = self.within_time(configured, envelope, &due, &report);
        let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
        let missing: Vec<_> = due
            .iter()
            .filter(|id| !results.reported.contains(id))
            .collect();
        for id in missing {
            let without_result = match &ended {
                Err(NotifierFault { scope, message }) => Delivery {
                    scope: *scope,
                    ..Delivery::retry(id, message)
                },
                Ok(()) if results.stopped => continue,
                Ok(()) => Delivery::retry(id, "the notifier reported no result"),
            };
            results.add(without_result, name, self.facts, (self.now)());
        }
        let ReportResults {
            message,
            delivered,
            errors,
            asides,
            stopped,
            wait,
            ..
        } = results;
        let first_tried = envelope.delay.as_ref().map(|delay| delay.first_tried);
        let delivered = delivered.into_iter().map(|delivery| MadeDelivery {
            to: message.recipient(&delivery.id).to_owned(),
            message: delivery.message,
            first_tried,
            kind: MessageKind::of(envelope),
        });
        status.delivered.extend(delivered);
        status.errors.extend(errors);
        status.asides.extend(asides);
        (stopped, wait)
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
    ) -> Result<(), NotifierFault> {
        let ConfiguredNotifier { name, notifier, .. } = configured;
        let notifier = notifier.as_ref().map_err(|reason| NotifierFault {
            message: reason.clone(),
            scope: Scope::Notifier,
        })?;
        let work = async {
            let deliveries = notifier.deliver(envelope, pending, report);
            tokio::time::timeout(TIME_LIMIT, deliveries).await
        };
        match panic::catch(|| self.runtime.block_on(work)) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(NotifierFault {
                message: format!("no answer within {} seconds", TIME_LIMIT.as_secs()),
                scope: Scope::Notifier,
            }),
            // Another report may do no harm.
            Err(panic) => Err(NotifierFault {
                message: of_panic(name, &panic),
                scope: Scope::Delivery,
            }),
        }
    }
}

impl ReportResults<'_> {
    /// Stores the facts first: when the process ends in between, the delivery is made again, and the
    /// facts are the same.
    fn add(&mut self, delivery: Delivery, name: &str, facts: &dyn IncidentFacts, now: Timestamp) {
        let stored = facts
            .remember(name, &delivery.remember)
            .and_then(|()| self.message.record(&delivery, now));
        self.errors
            .extend(stored.err().map(|error| explain(&error)));
        self.reported.push(delivery.id.clone());
        self.wait = self.wait.max(delivery.wait);
        self.asides.extend(delivery.aside.clone());
        let is_made = delivery.outcome == DeliveryOutcome::Delivered;
        let remember: Vec<_> = self
            .planned
            .iter()
            .filter(|plan| is_made && plan.id == delivery.id)
            .flat_map(|plan| plan.remember.clone())
            .collect();
        let noted = facts
            .remember(name, &remember)
            .and_then(|()| facts.deliver(name, self.message.accepted()));
        self.errors.extend(noted.err().map(|error| explain(&error)));
        if is_made {
            self.delivered.push(delivery);
        } else {
            self.stopped |= delivery.scope == Scope::Notifier;
        }
    }
}

fn ids(planned: &[PlannedDelivery]) -> Vec<String> {
    planned.iter().map(|plan| plan.id.clone()).collect()
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
