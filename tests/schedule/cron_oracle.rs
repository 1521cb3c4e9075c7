//! Cron expressions against an oracle that looks at every minute, and any text and moment at all.

use std::collections::BTreeSet;

use jiff::civil::Weekday;
use jiff::{SignedDuration, Timestamp, ToSpan, Zoned};
use proptest::prelude::*;
use urldb::schedule::{Cron, CronError};

/// A field as the oracle understands it: its text, whether it begins with a star, its numbers.
#[derive(Debug, Clone)]
struct OracleField(String, bool, BTreeSet<i8>);

fn oracle_field(min: i8, max: i8) -> impl Strategy<Value = OracleField> {
    let star = Just(OracleField("*".into(), true, (min..=max).collect()));
    let steps = (1..=max).prop_map(move |step| {
        let step_size = usize::try_from(step).unwrap();
        OracleField(
            format!("*/{step}"),
            true,
            (min..=max).step_by(step_size).collect(),
        )
    });
    let item = (min..=max, min..=max, 1..=5usize).prop_map(|(a, b, step)| {
        let (a, b) = (a.min(b), a.max(b));
        match step {
            1 if a == b => (a.to_string(), vec![a]),
            1 => (format!("{a}-{b}"), (a..=b).collect()),
            _ => (format!("{a}-{b}/{step}"), (a..=b).step_by(step).collect()),
        }
    });
    let list = prop::collection::vec(item, 1..4).prop_map(|items| {
        let (texts, numbers): (Vec<String>, Vec<Vec<i8>>) = items.into_iter().unzip();
        OracleField(
            texts.join(","),
            false,
            numbers.concat().into_iter().collect(),
        )
    });
    prop_oneof![2 => star, 1 => steps, 3 => list]
}

#[derive(Debug, Clone)]
struct Oracle {
    minute: OracleField,
    hour: OracleField,
    day: OracleField,
    month: OracleField,
    weekday: OracleField,
}

fn oracle() -> impl Strategy<Value = Oracle> {
    (
        oracle_field(0, 59),
        oracle_field(0, 23),
        oracle_field(1, 31),
        oracle_field(1, 12),
        oracle_field(0, 7),
    )
        .prop_map(|(minute, hour, day, month, weekday)| Oracle {
            minute,
            hour,
            day,
            month,
            weekday,
        })
}

impl Oracle {
    fn expression(&self) -> String {
        let Self {
            minute,
            hour,
            day,
            month,
            weekday,
        } = self;
        [minute, hour, day, month, weekday]
            .map(|field| field.0.as_str())
            .join(" ")
    }

    fn fits(&self, at: jiff::civil::DateTime) -> bool {
        let day = self.day.2.contains(&at.day());
        let weekday = self
            .weekday
            .2
            .contains(&at.weekday().to_sunday_zero_offset())
            || (at.weekday() == Weekday::Sunday && self.weekday.2.contains(&7));
        let date = if self.day.1 || self.weekday.1 {
            day && weekday
        } else {
            day || weekday
        };
        date && self.month.2.contains(&at.month())
            && self.hour.2.contains(&at.hour())
            && self.minute.2.contains(&at.minute())
    }

    /// All firings in the time after `start`, found by living through it minute by minute.
    fn firings(&self, start: &Zoned, days: i64) -> Vec<Timestamp> {
        let mut moments = Vec::new();
        let mut lived = start.datetime();
        for minute in 1..=days * 24 * 60 {
            let now = start.timestamp() + SignedDuration::from_mins(minute);
            let wall = start.time_zone().to_datetime(now);
            let fires = if self.hour.1 {
                self.fits(wall)
            } else {
                let mut fires = false;
                while lived < wall {
                    lived = lived.saturating_add(SignedDuration::from_mins(1));
                    fires |= self.fits(lived);
                }
                fires
            };
            if fires {
                moments.push(now);
            }
        }
        moments
    }
}

/// What the program finds in the same time.
fn found(cron: &Cron, start: &Zoned, days: i64) -> Vec<Timestamp> {
    let end = start.timestamp().checked_add((days * 24).hours()).unwrap();
    let next = |now: &Timestamp| cron.next_after(*now);
    std::iter::successors(next(&start.timestamp()), next)
        .take_while(|at| *at <= end)
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn agrees_with_living_through_every_minute(oracle in oracle(), minute in 0..60 * 24 * 366 * 4i64) {
        let start = "2023-01-01T00:00Z[UTC]".parse::<Zoned>().unwrap().checked_add(minute.minutes()).unwrap();
        match Cron::parse(&oracle.expression(), "UTC") {
            Ok(cron) => prop_assert_eq!(found(&cron, &start, 21), oracle.firings(&start, 21)),
            Err(error) => {
                prop_assert!(matches!(error, CronError::Never(_)), "{}", error);
                prop_assert!(oracle.firings(&start, 21).is_empty());
            }
        }
    }

    #[test]
    fn agrees_with_living_through_a_change_of_clocks(
        oracle in oracle(),
        change in prop::sample::select(vec![
            "2024-03-29T23:10[Europe/Berlin]", "2024-10-26T00:00[Europe/Berlin]",
            "2024-03-09T00:00[America/New_York]", "2024-11-02T05:31[America/New_York]",
            "2024-10-05T00:00[Australia/Lord_Howe]", "2024-04-06T00:00[Australia/Lord_Howe]",
            "2024-03-30T00:00[America/Nuuk]", "2024-09-07T00:00[America/Santiago]",
        ]),
    ) {
        // Any day will do: it is the hours that matter here.
        let any = OracleField("*".into(), true, (0..=31).collect());
        let oracle = Oracle { day: any.clone(), month: any.clone(), weekday: any, ..oracle };
        let start: Zoned = change.parse().unwrap();
        let zone = start.time_zone().iana_name().unwrap().to_owned();
        let cron = Cron::parse(&oracle.expression(), &zone).unwrap();
        prop_assert_eq!(found(&cron, &start, 3), oracle.firings(&start, 3));
    }

    #[test]
    fn never_panics_and_always_moves_on(
        text in prop_oneof![any::<String>(), "[-*/0-9a-z, @]{0,40}", "([*0-9/,-]{1,5} ){5,6}"],
        zone in prop::sample::select(vec!["UTC", "Europe/Berlin", "Australia/Lord_Howe", "Pacific/Apia"]),
        now in -377_705_023_201i64..253_402_207_200,
    ) {
        if let Ok(cron) = Cron::parse(&text, zone) {
            let now = Timestamp::from_second(now).unwrap();
            if let Some(next) = cron.next_after(now) {
                prop_assert!(next > now);
            }
        }
    }

    #[test]
    fn moves_on_from_any_nanosecond(oracle in oracle(), now in 0..4_102_444_800_000_000_000i128) {
        if let Ok(cron) = Cron::parse(&oracle.expression(), "America/New_York") {
            let now = Timestamp::from_nanosecond(now).unwrap();
            prop_assert!(cron.next_after(now).is_none_or(|next| next > now));
        }
    }
}
