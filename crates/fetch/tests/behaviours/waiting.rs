//! Refusals with `Retry-After`.

use std::time::Duration;

use jiff::Timestamp;
use urldb_protocol::State;

use crate::behaviour::{Behaviour, CONTENT, RequestContext, ok, state};
use crate::support::Reply;

/// A refusal with `Retry-After`.
fn refusal(status: &str, retry_after: &str) -> Reply {
    Reply::new(status, &[&format!("Retry-After: {retry_after}")], "")
}

/// This refusal for the first request, then the promised bytes.
fn once(context: &RequestContext<'_>, refusal: Reply) -> Reply {
    if context.before == 0 {
        refusal
    } else {
        Reply::ok(CONTENT)
    }
}

pub(crate) fn behaviours() -> Vec<Behaviour> {
    const TOO_MANY: &str = "429 Too Many Requests";
    const UNAVAILABLE: &str = "503 Service Unavailable";
    let says = Behaviour::says;
    let blocked = || state(State::Blocked, 3).because("rate-limited");
    vec![
        says(
            "429-always",
            "answers 429",
            Reply::new(TOO_MANY, &[], CONTENT),
        )
        .unknown(blocked().after(0..=1)),
        says(
            "429-in-seconds",
            "answers 429 and asks for 7 seconds",
            refusal(TOO_MANY, "7"),
        )
        .unknown(blocked().after(7..=7)),
        says(
            "429-for-a-year",
            "answers 429 and asks for a year",
            refusal(TOO_MANY, "31536000"),
        )
        .unknown(state(State::Blocked, 1).because("rate-limited")),
        says(
            "429-for-ever",
            "answers 429 and asks for more seconds than any counter holds",
            refusal(TOO_MANY, "99999999999999999999999"),
        )
        .unknown(state(State::Blocked, 1).because("rate-limited")),
        says(
            "429-in-words",
            "answers 429 and asks for something unintelligible",
            refusal(TOO_MANY, "soon"),
        )
        .unknown(blocked().after(0..=1)),
        says(
            "429-negative",
            "answers 429 and asks for less than no time",
            refusal(TOO_MANY, "-5"),
        )
        .unknown(blocked().after(0..=1)),
        says(
            "429-past-date",
            "answers 429 and asks for a date that is past",
            refusal(TOO_MANY, "Wed, 21 Oct 2015 07:28:00 GMT"),
        )
        .unknown(blocked().after(0..=1)),
        says(
            "429-date-far-ahead",
            "answers 429 and asks for a date in 70 years",
            refusal(TOO_MANY, "Fri, 21 Oct 2095 07:28:00 GMT"),
        )
        .unknown(state(State::Blocked, 1).because("rate-limited")),
        Behaviour::http(
            "429-date",
            "answers 429 once and asks to be left alone until a date",
            |context| {
                let date = Timestamp::now() + Duration::from_mins(1);
                once(
                    context,
                    refusal(
                        TOO_MANY,
                        &date.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string(),
                    ),
                )
            },
        )
        .kept(ok(2).after(50..=90)),
        Behaviour::http(
            "429-then-ok",
            "answers 429 once, then with the promised bytes",
            |context| once(context, refusal(TOO_MANY, "3")),
        )
        .kept(ok(2).after(3..=3)),
        Behaviour::http(
            "503-then-ok",
            "answers 503 once and asks for 5 seconds, then with the promised bytes",
            |context| once(context, refusal(UNAVAILABLE, "5")),
        )
        .kept(ok(2).after(5..=5)),
        says(
            "503-always",
            "answers 503",
            Reply::new(UNAVAILABLE, &[], CONTENT),
        )
        .broken(state(State::ServerError, 3)),
    ]
}
