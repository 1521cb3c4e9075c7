//! What is believed between runs, and when it is news.

use super::*;

fn unsure(code: u16) -> Verdict {
    Verdict {
        sure: false,
        ..verdict_on_status(code)
    }
}

fn verdict_on_status(code: u16) -> Verdict {
    let seen: Vec<_> = (0..3).map(|_| status(code)).collect();
    let needed = if code == 200 { 1 } else { 3 };
    verdict_of(&Promise::default(), &seen[..needed])
}

#[test]
fn a_first_good_sight_is_no_news() {
    let (url_status, transition) = step(None, &verdict_on_status(200), at(100));
    assert_eq!(
        (url_status.state, url_status.since, transition),
        (State::Ok, at(100), None)
    );
}

#[test]
fn a_sure_state_is_news_at_once_and_only_once() {
    let (url_status, transition) = step(None, &verdict_on_status(404), at(100));
    assert_eq!(transition, Some(State::Gone));
    let (url_status, transition) = step(Some(&url_status), &verdict_on_status(404), at(200));
    assert_eq!((url_status.since, transition), (at(100), None));
    let (url_status, transition) = step(Some(&url_status), &verdict_on_status(200), at(300));
    assert_eq!((url_status.state, url_status.since), (State::Ok, at(300)));
    assert_eq!(transition, Some(State::Ok));
}

#[test]
fn a_doubtful_state_is_news_when_confirmed_and_dates_from_its_first_sight() {
    let (url_status, transition) = step(None, &unsure(500), at(100));
    assert_eq!((url_status.state, transition), (State::Ok, None));
    let (url_status, transition) = step(Some(&url_status), &unsure(403), at(200));
    assert_eq!(
        (url_status.state, url_status.since, url_status.pending),
        (State::Forbidden, at(100), None)
    );
    assert_eq!(transition, Some(State::Forbidden));
}

#[test]
fn a_good_run_between_ends_the_doubt() {
    let (url_status, _) = step(None, &unsure(500), at(100));
    let (url_status, transition) = step(Some(&url_status), &verdict_on_status(200), at(200));
    assert_eq!((url_status.pending.clone(), transition), (None, None));
    let (_, transition) = step(Some(&url_status), &unsure(500), at(300));
    assert_eq!(transition, None);
}

#[test]
fn blocked_is_news_only_after_its_time() {
    let week = at(100) + (7 * 24).hours();
    let (url_status, _) = step(None, &unsure(429), at(100));
    let (url_status, transition) = step(Some(&url_status), &unsure(429), week - 1.second());
    assert_eq!((url_status.state, transition), (State::Ok, None));
    let (url_status, transition) = step(Some(&url_status), &unsure(429), week);
    assert_eq!(
        (url_status.state, transition),
        (State::Blocked, Some(State::Blocked))
    );
}

#[test]
fn a_parking_page_is_gone_when_confirmed() {
    let page = Observation {
        hops: vec![hop(200, &[("content-type", "text/html")])],
        start: b"<html data-adblockkey=\"x\">".to_vec(),
        ..seen(vec![])
    };
    let parked = verdict_of(&Promise::default(), &[page]);
    assert_eq!((parked.state(), parked.sure), (State::Gone, false));
    let (first, transition) = step(None, &parked, at(100));
    assert_eq!((first.state, transition), (State::Ok, None));
    let (second, transition) = step(Some(&first), &parked, at(200));
    assert_eq!((second.state, second.since), (State::Gone, at(100)));
    assert_eq!(second.reason.as_deref(), Some("parked"));
    assert_eq!(transition, Some(State::Gone));
    // A URL that was gone before: one run with such a page is no news.
    let (missing, _) = step(None, &verdict_on_status(404), at(100));
    let (after, transition) = step(Some(&missing), &parked, at(200));
    assert_eq!((after.reason, transition), (None, None));
}

#[test]
fn failing_and_being_turned_away_in_turns_end_neither_doubt() {
    let (url_status, _) = step(None, &unsure(500), at(100));
    let (url_status, transition) = step(Some(&url_status), &unsure(429), at(200));
    assert_eq!(transition, None);
    let (failing, transition) = step(Some(&url_status), &unsure(503), at(300));
    assert_eq!(transition, Some(State::ServerError));
    assert_eq!((failing.since, failing.pending), (at(100), None));

    let week = at(200) + (7 * 24).hours();
    let patient = VerdictOptions {
        confirm: 3,
        ..policy()
    };
    let step = |url_status, seen, now| UrlStatus::after(Some(url_status), &seen, now, &patient);
    let url_status = step(&url_status, unsure(503), at(300));
    let blocked = step(&url_status, unsure(429), week);
    assert_eq!((blocked.state, blocked.since), (State::Blocked, at(200)));
    let url_status = step(&url_status, verdict_on_status(200), at(400));
    assert_eq!(url_status.pending, None, "a good run ends both");
}

#[test]
fn inconclusive_changes_nothing() {
    let (before, _) = step(None, &unsure(500), at(100));
    let inconclusive = verdict_of(&Promise::default(), &[failed(FailureKind::Refused)]);
    let (after, transition) = step(Some(&before), &inconclusive, at(200));
    assert_eq!((after, transition), (before, None));
}
