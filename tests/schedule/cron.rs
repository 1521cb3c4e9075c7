//! Cron expressions against crontab(5), and what is said of those that are none.

use jiff::tz::TimeZone;
use urldb::schedule::{Cron, CronError};

/// The firings after a local time, as the local clock shows them, with the offset.
pub(crate) fn firings(expression: &str, zone: &str, after: &str, count: usize) -> Vec<String> {
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
