//! Invented histories, told through a notifier for `urldb notify test`.
//!
//! `scripts` has the histories as tables of what runs see. `world` makes incidents and reports of them by the code
//! of real runs, so that a message of a test is one that a run would send.

mod scripts;
mod world;

use urldb_protocol::{Delivery, DeliveryOutcome, Envelope, Remembered};
use urldb_text::nearest;

use super::audience::{Routing, Section};
use super::configured::ConfiguredNotifier;
use super::delivery_run::DeliveryRun;
use super::report::report_for;
use super::week::weekly_report;
use crate::config::Audience;

pub(super) use scripts::{Extent, Scenario};
use scripts::{Step, StepEvent};
use world::World;

impl Scenario {
    /// The scenario of this number.
    ///
    /// # Errors
    /// There is none. The error names those that there are.
    pub(super) fn find(number: &str) -> anyhow::Result<&'static Self> {
        let all = &scripts::SCENARIOS;
        let found = all.iter().find(|scenario| scenario.number == number);
        found.ok_or_else(|| {
            let advice = match nearest(number, all.iter().map(|it| it.number)) {
                Some(near) => format!("; did you mean {near}?"),
                None => String::new(),
            };
            let list = all
                .iter()
                .map(|it| format!("\n  {}  {}", it.number, it.title));
            let list: String = list.collect();
            let number = urldb_text::sanitize(number);
            anyhow::anyhow!("there is no scenario {number}{advice}\nThere are:{list}")
        })
    }
}

/// Tells a scenario through a notifier, and stores nothing. `base` is a report without news. The rest is left out
/// after a delivery that was not made.
pub(super) fn play(
    scenario: &'static Scenario,
    extent: Extent,
    configured: &ConfiguredNotifier,
    run: &DeliveryRun<'_>,
    base: &Envelope,
) -> Vec<Delivery> {
    let mut deliveries = vec![];
    let deliver = |envelope: &Envelope| {
        let made = run.deliver_once(configured, envelope);
        let is_made = made
            .iter()
            .all(|it| it.outcome == DeliveryOutcome::Delivered);
        let planned = configured.deliveries(envelope).unwrap_or_default();
        let planned = planned.into_iter().flat_map(|planned| planned.remember);
        let learned = made.iter().flat_map(|delivery| delivery.remember.clone());
        let facts = is_made.then(|| planned.chain(learned).collect());
        deliveries.extend(made);
        facts
    };
    let teller = Teller {
        name: &configured.name,
        audience: audience_of(&configured.audience),
        has_weekly: !configured.keeps_threads(),
    };
    tell(scenario, extent, &teller, base, deliver);
    deliveries
}

/// A notifier that tells a scenario.
struct Teller<'a> {
    name: &'a str,
    audience: Audience,
    /// Whether people can read weekly reports there.
    has_weekly: bool,
}

/// Hands the messages of a scenario for a notifier to `deliver`, which returns what the notifier remembers, or
/// `None` if no further message makes sense.
fn tell(
    scenario: &'static Scenario,
    extent: Extent,
    teller: &Teller<'_>,
    base: &Envelope,
    mut deliver: impl FnMut(&Envelope) -> Option<Vec<Remembered>>,
) {
    let Teller { name, audience, .. } = teller;
    let routing = Routing::default();
    let mut world = World::new(scenario, extent, base);
    while let Some(Step { event, .. }) = world.run() {
        let section = Section {
            name,
            audience,
            routing: &routing,
        };
        let report = report_for(&world.report(base), &world.files, section);
        world.deliver(name, report.passed);
        let is_down = *event == Some(StepEvent::ServiceIsDown);
        if is_down && report.has_news {
            world.expect(name, report.delivered.into_iter().map(|(id, _)| id));
        } else if report.has_news {
            let mut envelope = report.envelope;
            envelope.delay = world.take_delay();
            let Some(facts) = deliver(&envelope) else {
                return;
            };
            world.deliver(name, report.delivered);
            world.remember(name, facts);
        }
        if *event == Some(StepEvent::WeekIsOver) && teller.has_weekly {
            let report = weekly_report(&world.weekly(base), &world.files, section);
            if deliver(&report.envelope).is_none() {
                return;
            }
        }
    }
}

/// All news about all URLs: the section may leave out what the scenario has.
fn audience_of(audience: &Audience) -> Audience {
    Audience {
        remind: audience.remind,
        counts: audience.counts,
        ..Audience::news()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, HashSet};

    use jiff::Timestamp;
    use urldb_protocol::{Phase, ProjectInfo, Shown};

    use super::*;
    use crate::ambient::Ambient;
    use crate::notify::test_message;

    const AMBIENT: Ambient = Ambient {
        now: || Timestamp::constant(1_794_800_000, 0),
        random: || [7; 16],
    };

    fn base() -> Envelope {
        let project = ProjectInfo {
            name: "sky-urls".to_owned(),
            ..ProjectInfo::default()
        };
        test_message::envelope(AMBIENT, "sky-urls", &project).unwrap()
    }

    /// The messages of a scenario: headline, and the phases of its incidents.
    fn played(number: &str, extent: Extent) -> Vec<Envelope> {
        let mut delivered = vec![];
        let scenario = Scenario::find(number).unwrap();
        let teller = Teller {
            name: "chat",
            audience: Audience::news(),
            has_weekly: true,
        };
        tell(scenario, extent, &teller, &base(), |envelope| {
            let mut incidents = envelope.incidents.iter();
            let fact = incidents.next().map(|incident| Remembered {
                incident: incident.id.clone(),
                key: "issue".to_owned(),
                value: Shown::new("38", 10),
            });
            delivered.push(envelope.clone());
            Some(fact.into_iter().collect())
        });
        delivered
    }

    fn headlines(delivered: &[Envelope]) -> Vec<String> {
        let headline = |envelope: &Envelope| {
            let scope = match envelope.week {
                Some(_) => urldb_render::Scope::Week,
                None => urldb_render::Scope::Run,
            };
            let message =
                urldb_render::compose(envelope, scope, &urldb_render::Deliveries::default());
            message.headline.text
        };
        delivered.iter().map(headline).collect()
    }

    #[test]
    fn every_scenario_plays_to_its_end() {
        for scenario in &scripts::SCENARIOS {
            let number = scenario.number;
            let delivered = played(number, Extent::Whole);
            assert!(delivered.len() >= 2 || number == "06", "{number}");
            let phases = |envelope: &Envelope| -> HashSet<Phase> {
                envelope.incidents.iter().map(|it| it.phase).collect()
            };
            let is_weekly = delivered[0].week.is_some();
            if number != "06" && !is_weekly {
                assert!(phases(&delivered[0]).contains(&Phase::Opened), "{number}");
            }
            let last = delivered.last().unwrap();
            assert_eq!(phases(last), [Phase::Closed].into(), "{number}");
            assert_eq!(last.run.started, base().run.started, "{number}");
            let replies = delivered[1..]
                .iter()
                .filter(|envelope| envelope.week.is_none());
            let replies = replies.map(|envelope| &envelope.incidents[0]);
            for incident in replies.filter(|it| it.phase != Phase::Opened) {
                let facts = &incident.threads["chat"];
                assert_eq!(facts["issue"], "38", "{number}");
            }
            for envelope in &delivered {
                let is_about_nothing = envelope.incidents.is_empty() && envelope.week.is_none();
                assert!(envelope.run.test && !is_about_nothing, "{number}");
                assert_eq!(envelope.run.project, "sky-urls");
            }
            // No two messages have one id.
            let ids: BTreeSet<&str> = delivered.iter().map(Envelope::tells).collect();
            assert_eq!(ids.len(), delivered.len(), "{number}");
            for headline in headlines(&delivered) {
                assert!(headline.starts_with("[test] "), "{number}: {headline}");
            }
        }
    }

    #[test]
    fn scenarios_say_what_their_titles_promise() {
        for (number, expected) in [
            (
                "01",
                vec![
                    "[test] URLs: 1 broken (1 new), 1,246 ok",
                    "[test] URLs: 1 broken, 1,246 ok",
                    "[test] URLs: 1,247 ok; recovered: 1",
                ],
            ),
            (
                "04",
                vec![
                    "[test] URLs: 20 broken (20 new), 1,227 ok",
                    "[test] URLs: 10 broken, 1,237 ok; recovered: 10",
                    "[test] URLs: 1,247 ok; recovered: 10",
                ],
            ),
            (
                "07",
                vec![
                    "[test] URLs: 1,247 ok; warnings: 1",
                    "[test] URLs: 1,247 ok; warnings: 1",
                    "[test] URLs: 1,247 ok; warnings: 1",
                    "[test] URLs: 20 broken (20 new), 1,227 ok",
                    "[test] URLs: 1,247 ok; recovered: 20",
                ],
            ),
            (
                "09",
                vec![
                    "[test] URLs: 1 broken (1 new), 1,246 ok",
                    "[test] URLs: 1,247 ok",
                ],
            ),
            (
                "12",
                vec![
                    "[test] URLs: 1,247 ok",
                    "[test] URLs: 3 broken (3 new), 1,244 ok",
                    "[test] URLs: 4 broken (1 new), 1,243 ok",
                    "[test] URLs: 3 broken, 1,244 ok; recovered: 1",
                    "[test] URLs: 3 broken, 1,244 ok",
                    "[test] URLs: 1,247 ok; recovered: 3",
                ],
            ),
        ] {
            assert_eq!(
                headlines(&played(number, Extent::Whole)),
                expected,
                "{number}"
            );
        }
        // The one message that was late says so, and what is true by then.
        let late = played("06", Extent::Whole);
        let [late] = late.as_slice() else {
            panic!("{} messages", late.len())
        };
        let delay = late.delay.as_ref().unwrap();
        let day = |day: i64| jiff::SignedDuration::from_hours(24 * day);
        assert_eq!(delay.now.duration_since(delay.first_tried), day(3));
        assert_eq!(delay.now.duration_since(delay.last_tried), day(1));
        assert_eq!(late.incidents[0].phase, Phase::Closed);
        // Flapping is told once.
        let unsteady = played("03", Extent::Whole);
        let flapping = |envelope: &&Envelope| {
            let incident = &envelope.incidents[0];
            incident.phase.is_news() && incident.is_flapping()
        };
        assert_eq!(unsteady.iter().filter(flapping).count(), 1);
    }

    #[test]
    fn a_test_without_a_scenario_is_the_opening_and_closes_what_stays_open() {
        let opening = played("01", Extent::Opening);
        assert_eq!(opening.len(), 1);
        assert_eq!(opening[0].run.started, base().run.started);
        let ends = played("01", Extent::Ends);
        let phases: Vec<Phase> = ends.iter().map(|it| it.incidents[0].phase).collect();
        assert_eq!(phases, [Phase::Opened, Phase::Closed]);
    }

    #[test]
    fn an_unknown_scenario_names_those_that_there_are() {
        let error = Scenario::find("99").unwrap_err().to_string();
        assert!(error.contains("\n  04  20 URLs are gone"), "{error}");
    }
}
