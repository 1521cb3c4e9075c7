//! Cron expressions against crontab(5), and against an oracle that looks at every minute.

use std::collections::BTreeSet;

use jiff::civil::Weekday;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan, Zoned};
use proptest::prelude::*;
use urldb::schedule::{Cron, CronError};

/// The firings after a local time, as the local clock shows them, with the offset.
fn firings(expression: &str, zone: &str, after: &str, count: usize) -> Vec<String> {
    let cron = Cron::parse(expression, zone).unwrap();
    let zone = TimeZone::get(zone).unwrap();
    let after: jiff::civil::DateTime = after.parse().unwrap();
    let mut now = zone.to_timestamp(after).unwrap();
    let mut found = Vec::new();
    for _ in 0..count {
        now = cron.next_after(now).unwrap();
        let shown = now.to_zoned(zone.clone());
        found.push(shown.strftime("%a %Y-%m-%d %H:%M:%S %:z").to_string());
    }
    found
}

/// The first firings in UTC after Sunday 2023-01-01 00:00, without seconds.
fn from_2023(expression: &str, count: usize) -> Vec<String> {
    firings(expression, "UTC", "2023-01-01T00:00", count)
        .into_iter()
        .map(|at| at[..20].to_owned())
        .collect()
}

#[test]
fn expressions_mean_what_crontab_says() {
    let table: &[(&str, &[&str])] = &[
        (
            "5 4 * * *",
            &["Sun 2023-01-01 04:05", "Mon 2023-01-02 04:05"],
        ),
        (
            "*/20 * * * *",
            &[
                "Sun 2023-01-01 00:20",
                "Sun 2023-01-01 00:40",
                "Sun 2023-01-01 01:00",
            ],
        ),
        (
            "10-30/15,59 3 * * *",
            &[
                "Sun 2023-01-01 03:10",
                "Sun 2023-01-01 03:25",
                "Sun 2023-01-01 03:59",
            ],
        ),
        (
            "0 22 * * 1-5",
            &["Mon 2023-01-02 22:00", "Tue 2023-01-03 22:00"],
        ),
        ("0 0 * * 0", &["Sun 2023-01-08 00:00"]),
        ("0 0 * * 7", &["Sun 2023-01-08 00:00"]),
        (
            "0 0 * * 5",
            &["Fri 2023-01-06 00:00", "Fri 2023-01-13 00:00"],
        ),
        ("0 0 * * 6", &["Sat 2023-01-07 00:00"]),
        (
            "0 0 * * fri-sun",
            &[
                "Fri 2023-01-06 00:00",
                "Sat 2023-01-07 00:00",
                "Sun 2023-01-08 00:00",
            ],
        ),
        (
            "0 0 * * Sun-Tue",
            &[
                "Mon 2023-01-02 00:00",
                "Tue 2023-01-03 00:00",
                "Sun 2023-01-08 00:00",
            ],
        ),
        (
            "0 0 * * 5-7/2",
            &[
                "Fri 2023-01-06 00:00",
                "Sun 2023-01-08 00:00",
                "Fri 2023-01-13 00:00",
            ],
        ),
        ("0 0 * JAN,mar Mon", &["Mon 2023-01-02 00:00"]),
        (
            "0 0 31 * *",
            &["Tue 2023-01-31 00:00", "Fri 2023-03-31 00:00"],
        ),
        (
            "0 0 29 2 *",
            &["Thu 2024-02-29 00:00", "Tue 2028-02-29 00:00"],
        ),
        // Either day will do, when neither field begins with a star ...
        (
            "30 4 1,15 * 5",
            &[
                "Sun 2023-01-01 04:30",
                "Fri 2023-01-06 04:30",
                "Fri 2023-01-13 04:30",
                "Sun 2023-01-15 04:30",
            ],
        ),
        ("0 0 31 2 mon", &["Mon 2023-02-06 00:00"]),
        // ... and both are wanted, when one does.
        (
            "0 0 */10 * 1",
            &["Mon 2023-05-01 00:00", "Mon 2023-07-31 00:00"],
        ),
        (
            "0 0 13 * */5",
            &["Fri 2023-01-13 00:00", "Sun 2023-08-13 00:00"],
        ),
        ("0 0 29 2 */7", &["Sun 2032-02-29 00:00"]),
        ("*/90 * * * *", &["Sun 2023-01-01 01:00"]),
        ("@hourly", &["Sun 2023-01-01 01:00"]),
        ("@daily", &["Mon 2023-01-02 00:00"]),
        ("@midnight", &["Mon 2023-01-02 00:00"]),
        ("@weekly", &["Sun 2023-01-08 00:00"]),
        ("@monthly", &["Wed 2023-02-01 00:00"]),
        ("@yearly", &["Mon 2024-01-01 00:00"]),
        ("  @annually ", &["Mon 2024-01-01 00:00"]),
    ];
    for (expression, expected) in table {
        assert_eq!(
            &from_2023(expression, expected.len()),
            expected,
            "{expression}"
        );
    }
}

#[test]
fn a_sixth_field_in_front_counts_seconds() {
    assert_eq!(
        firings("*/25 59 23 * * *", "UTC", "2023-12-31T23:59:10", 3),
        [
            "Sun 2023-12-31 23:59:25 +00:00",
            "Sun 2023-12-31 23:59:50 +00:00",
            "Mon 2024-01-01 23:59:00 +00:00",
        ]
    );
}

#[test]
fn set_hours_fire_once_when_clocks_change() {
    let berlin = "Europe/Berlin";
    let new_york = "America/New_York";
    let lord_howe = "Australia/Lord_Howe";
    let table: &[(&str, &str, &str, &[&str])] = &[
        // The hour from two to three is left out on 2024-03-31 ...
        (
            "30 2 * * *",
            berlin,
            "2024-03-30T12:00",
            &[
                "Sun 2024-03-31 03:00:00 +02:00",
                "Mon 2024-04-01 02:30:00 +02:00",
            ],
        ),
        (
            "0,30 2,3 * * *",
            berlin,
            "2024-03-31T00:00",
            &[
                "Sun 2024-03-31 03:00:00 +02:00",
                "Sun 2024-03-31 03:30:00 +02:00",
                "Mon 2024-04-01 02:00:00 +02:00",
            ],
        ),
        (
            "*/15 2 * * *",
            berlin,
            "2024-03-31T00:00",
            &[
                "Sun 2024-03-31 03:00:00 +02:00",
                "Mon 2024-04-01 02:00:00 +02:00",
            ],
        ),
        // ... and happens twice on 2024-10-27.
        (
            "30 2 * * *",
            berlin,
            "2024-10-26T12:00",
            &[
                "Sun 2024-10-27 02:30:00 +02:00",
                "Mon 2024-10-28 02:30:00 +01:00",
            ],
        ),
        (
            "0 2,3 * * *",
            berlin,
            "2024-10-26T12:00",
            &[
                "Sun 2024-10-27 02:00:00 +02:00",
                "Sun 2024-10-27 03:00:00 +01:00",
                "Mon 2024-10-28 02:00:00 +01:00",
            ],
        ),
        (
            "30 2 * * *",
            new_york,
            "2024-03-09T12:00",
            &[
                "Sun 2024-03-10 03:00:00 -04:00",
                "Mon 2024-03-11 02:30:00 -04:00",
            ],
        ),
        (
            "30 1 * * *",
            new_york,
            "2024-11-02T12:00",
            &[
                "Sun 2024-11-03 01:30:00 -04:00",
                "Mon 2024-11-04 01:30:00 -05:00",
            ],
        ),
        // Half an hour, on Lord Howe Island: 02:00 to 02:30 is left out, 01:30 to 02:00 comes twice.
        (
            "15 2 * * *",
            lord_howe,
            "2024-10-05T12:00",
            &[
                "Sun 2024-10-06 02:30:00 +11:00",
                "Mon 2024-10-07 02:15:00 +11:00",
            ],
        ),
        (
            "45 1 * * *",
            lord_howe,
            "2024-04-06T12:00",
            &[
                "Sun 2024-04-07 01:45:00 +11:00",
                "Mon 2024-04-08 01:45:00 +10:30",
            ],
        ),
    ];
    for (expression, zone, after, expected) in table {
        assert_eq!(
            &firings(expression, zone, after, expected.len()),
            expected,
            "{expression} {zone}"
        );
    }
}

#[test]
fn star_hours_fire_by_elapsed_time_when_clocks_change() {
    let table: &[(&str, &str, &str, &[&str])] = &[
        (
            "30 * * * *",
            "Europe/Berlin",
            "2024-03-31T01:00",
            &[
                "Sun 2024-03-31 01:30:00 +01:00",
                "Sun 2024-03-31 03:30:00 +02:00",
            ],
        ),
        (
            "30 * * * *",
            "Europe/Berlin",
            "2024-10-27T02:00",
            &[
                "Sun 2024-10-27 02:30:00 +02:00",
                "Sun 2024-10-27 02:30:00 +01:00",
                "Sun 2024-10-27 03:30:00 +01:00",
            ],
        ),
        (
            "*/30 * * * *",
            "Australia/Lord_Howe",
            "2024-04-07T01:00",
            &[
                "Sun 2024-04-07 01:30:00 +11:00",
                "Sun 2024-04-07 01:30:00 +10:30",
                "Sun 2024-04-07 02:00:00 +10:30",
            ],
        ),
    ];
    for (expression, zone, after, expected) in table {
        assert_eq!(
            &firings(expression, zone, after, expected.len()),
            expected,
            "{expression} {zone}"
        );
    }
}

#[test]
fn started_within_the_repeated_hour_set_hours_do_not_fire_again() {
    let cron = Cron::parse("45 2 * * *", "Europe/Berlin").unwrap();
    let second_pass: Timestamp = "2024-10-27T01:10:00Z".parse().unwrap();
    let next: Timestamp = "2024-10-28T01:45:00Z".parse().unwrap();
    assert_eq!(cron.next_after(second_pass), Some(next));
    let moment_of_change: Timestamp = "2024-10-27T01:00:00Z".parse().unwrap();
    assert_eq!(cron.next_after(moment_of_change), Some(next));
}

#[test]
fn messages_say_what_is_wrong_and_what_is_allowed() {
    let said = |expression: &str| Cron::parse(expression, "UTC").unwrap_err().to_string();
    insta::assert_snapshot!(said("61 * * * *"), @r#"minute "61": 61 is out of range; allowed are 0-59, lists, ranges and steps"#);
    insta::assert_snapshot!(said("0 0 0 * *"), @r#"day of month "0": 0 is out of range; allowed are 1-31, lists, ranges and steps"#);
    insta::assert_snapshot!(said("0 0 * * 1,fry"), @r#"day of week "1,fry": "fry" is not understood; allowed are 0-7 or sun-sat, lists, ranges and steps"#);
    insta::assert_snapshot!(said("0 0 * dec-feb *"), @r#"month "dec-feb": the range "dec-feb" runs backwards; allowed are 1-12 or jan-dec, lists, ranges and steps"#);
    insta::assert_snapshot!(said("5/15 * * * *"), @r#"minute "5/15": a step needs a range to go through, such as 5-59/15; allowed are 0-59, lists, ranges and steps"#);
    insta::assert_snapshot!(said("*/0 * * * *"), @r#"minute "*/0": the step "0" is not a number from 1 on; allowed are 0-59, lists, ranges and steps"#);
    insta::assert_snapshot!(said("1,,2 * * * *"), @r#"minute "1,,2": a number is missing; allowed are 0-59, lists, ranges and steps"#);
    insta::assert_snapshot!(said("0 0 31 2 *"), @r#"the cron expression "0 0 31 2 *" never fires: no month that it names has such a day"#);
    insta::assert_snapshot!(said("* *"), @r#"the cron expression "* *" has 2 fields, where five are wanted (minute, hour, day of month, month, day of week), or six with seconds in front"#);
    insta::assert_snapshot!(said("@reboot"), @r#""@reboot" is not a time; known are @hourly, @daily, @midnight, @weekly, @monthly, @yearly and @annually"#);
}

#[test]
fn what_crontab_does_not_know_is_refused() {
    for expression in [
        "",
        "+5 * * * *",
        "? * * * *",
        "0 0 L * *",
        "99999999999 * * * *",
        "* * * * * * *",
        "1-2-3 * * * *",
        "*-5 * * * *",
        "0 0 * * 8",
        "0 0 * jan-31 *",
        "٣ * * * *",
    ] {
        assert!(Cron::parse(expression, "UTC").is_err(), "{expression:?}");
    }
}

#[test]
fn an_unknown_time_zone_comes_with_near_names() {
    let said = |zone: &str| match Cron::parse("@daily", zone) {
        Err(CronError::Zone { hint, .. }) => hint,
        other => panic!("{other:?}"),
    };
    assert!(said("Berlin").contains("Europe/Berlin"));
    assert!(said("Europe/Berln").contains("Europe/Berlin"));
    assert!(said("qqqqqqqq").contains("IANA"));
}

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

#[test]
fn any_time_zone_name_is_taken_or_refused() {
    for zone in [
        "",
        "/",
        "../../etc/passwd",
        "\0",
        "Europe/",
        "🕰",
        &"x".repeat(10_000),
    ] {
        assert!(Cron::parse("@daily", zone).is_err(), "{zone:?}");
    }
    assert!(Cron::parse("@daily", "europe/berlin").is_ok());
}
