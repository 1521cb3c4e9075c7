//! What a schedule means where clocks are changed.

use jiff::Timestamp;
use urldb::schedule::Cron;

use crate::cron::firings;

/// Expression, zone, start and what follows.
type Row<'a> = (&'a str, &'a str, &'a str, &'a [&'a str]);

fn assert_firings(table: &[Row<'_>]) {
    for (expression, zone, after, expected) in table {
        assert_eq!(
            &firings(expression, zone, after, expected.len()),
            expected,
            "{expression} {zone}"
        );
    }
}

#[test]
fn set_hours_fire_once_when_clocks_change() {
    let berlin = "Europe/Berlin";
    let new_york = "America/New_York";
    let lord_howe = "Australia/Lord_Howe";
    let table: &[Row<'_>] = &[
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
    assert_firings(table);
}

#[test]
fn star_hours_fire_by_elapsed_time_when_clocks_change() {
    let table: &[Row<'_>] = &[
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
    assert_firings(table);
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
