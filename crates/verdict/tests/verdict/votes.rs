//! The vote of a run's requests on content that differs from the promise.

use proptest::prelude::*;
use urldb_verdict::agreeing;

use super::*;

/// The promised length of these tests.
const PROMISED: u64 = 1_000_000;

fn promise() -> Promise {
    Promise {
        length: Some(PROMISED),
        ..bytes_promised()
    }
}

/// An observation of one letter: `P` the promised bytes; `A`, `B`, `C` others of the promised length; `1` to `9`
/// others of so many tenths of it; `x` no answer.
fn letter(letter: char) -> Observation {
    let number = u8::try_from(letter).unwrap();
    match letter {
        'P' => body(PROMISED, RIGHT, BodyEnd::Complete),
        'x' => failed(FailureKind::Timeout),
        '1'..='9' => {
            let length = PROMISED / 10 * u64::from(number - b'0');
            body(length, [number; 32], BodyEnd::Complete)
        }
        _ => body(PROMISED, [number; 32], BodyEnd::Complete),
    }
}

/// The observations of these letters, three seconds apart.
fn letters(letters: &str) -> Vec<Observation> {
    let seen = letters.chars().map(letter).zip(0..);
    let seen = seen.map(|(seen, index)| Observation {
        started: at(3 * index),
        ..seen
    });
    seen.collect()
}

/// State, reason and certainty of a verdict, with its warning.
fn delivered(verdict: &Verdict) -> String {
    let Classification {
        state,
        reason,
        warning,
        ..
    } = &verdict.classification;
    let reason = reason.map_or_else(String::new, |reason| format!(" ({reason})"));
    let warning = warning.map_or_else(String::new, |it| format!(" with {}", it.as_str()));
    let doubt = if verdict.sure {
        ""
    } else {
        ", to be confirmed"
    };
    format!("{state}{reason}{warning}{doubt}")
}

#[test]
fn two_equal_last_votes_are_a_change_and_other_contents_are_not() {
    let changed = "changed (digest)";
    let (unstable, uploading) = (
        "changed (unstable), to be confirmed",
        "changed (uploading), to be confirmed",
    );
    let right = "1 of 3 requests got the promised bytes";
    let other = "serves other bytes at each request";
    for (seen, expected, sentence) in [
        ("AA", changed, None),
        ("ABB", changed, None),
        ("AxA", changed, None),
        ("55", "changed (length)", None),
        (
            "APP",
            "ok with content-unstable",
            Some("1 of 3 requests got other bytes"),
        ),
        (
            "AxPP",
            "ok with content-unstable",
            Some("1 of 4 requests got other bytes"),
        ),
        ("APA", unstable, Some(right)),
        ("APB", unstable, Some(right)),
        ("ABP", unstable, Some(right)),
        ("4P9", unstable, Some(right)),
        (
            "ABxP",
            unstable,
            Some("1 of 4 requests got the promised bytes"),
        ),
        ("ABA", unstable, Some(other)),
        ("ABC", unstable, Some(other)),
        ("957", unstable, Some(other)),
        ("57A", unstable, Some(other)),
        (
            "577",
            uploading,
            Some("grew from 500.0 to 700.0 kB in 6 s; it may still be uploading"),
        ),
        (
            "159",
            uploading,
            Some("grew from 100.0 to 900.0 kB in 6 s; it may still be uploading"),
        ),
        (
            "1x59",
            uploading,
            Some("grew from 100.0 to 900.0 kB in 9 s; it may still be uploading"),
        ),
    ] {
        let verdict = verdict_of(&promise(), &letters(seen));
        assert_eq!(delivered(&verdict), expected, "{seen}");
        if let Some(sentence) = sentence {
            assert_eq!(verdict.classification.message(), sentence, "{seen}");
        }
        for end in 1..seen.len() {
            retry_wait(&promise(), &letters(&seen[..end]));
        }
    }
}

#[test]
fn votes_wait_for_the_end_of_a_deployment() {
    let waits = ["A", "AP"].map(|seen| retry_wait(&promise(), &letters(seen)));
    for (wait, usual) in waits.into_iter().zip([2, 4]) {
        let usual = Duration::from_secs(usual);
        assert!(wait >= usual * 3 / 4 && wait <= usual * 5 / 4, "{wait:?}");
    }
}

#[test]
fn a_verdict_rests_on_the_last_vote_for_it() {
    for (seen, index, alike) in [
        ("AA", 1, 2),
        ("ABB", 2, 2),
        ("AxA", 2, 2),
        ("APP", 2, 2),
        ("ABP", 1, 1),
        ("APA", 2, 2),
        ("ABC", 2, 1),
    ] {
        let observations = letters(seen);
        let verdict = verdict_of(&promise(), &observations);
        let judged = JudgedJob {
            job: job(&promise(), "/a"),
            observations,
            verdict,
        };
        assert_eq!(judged.verdict.observation, index, "{seen}");
        assert_eq!(agreeing(&judged), alike, "{seen}");
    }
}

/// Only some fetches read on behind the promised length, for the archive.
#[test]
fn one_long_body_is_one_content_however_much_of_it_is_read() {
    let start = [7; 32];
    let short = || body(11, start, BodyEnd::Cut);
    let long = |length, compared| {
        let mut seen = body(length, [9; 32], BodyEnd::Complete);
        seen.body.as_mut().unwrap().compared = Some(compared);
        seen
    };
    let changed = (State::Changed, Some("length"), true);
    assert_state(&bytes_promised(), &[short(), long(20, start)], changed);
    assert_state(
        &bytes_promised(),
        &[long(20, start), long(30, start)],
        changed,
    );
    let unstable = (State::Changed, Some("unstable"), false);
    let seen = [short(), long(20, [8; 32]), long(20, start)];
    assert_state(&bytes_promised(), &seen, unstable);
}

/// The same bytes may be compressed differently by each server.
#[test]
fn content_in_a_coding_is_compared_decoded() {
    let coded = |as_sent, decoded| {
        let mut seen = body(5, [as_sent; 32], BodyEnd::Complete);
        let sha256 = [decoded; 32];
        seen.body.as_mut().unwrap().decoded = Some(Decoded::Whole { length: 10, sha256 });
        seen
    };
    let plain = || body(10, [9; 32], BodyEnd::Complete);
    let changed = (State::Changed, Some("digest"), true);
    assert_state(&bytes_promised(), &[coded(1, 9), coded(2, 9)], changed);
    assert_state(&bytes_promised(), &[plain(), coded(2, 9)], changed);
    let unstable = (State::Changed, Some("unstable"), false);
    let seen = [coded(1, 7), coded(1, 8), coded(1, 9)];
    assert_state(&bytes_promised(), &seen, unstable);
}

#[test]
fn status_type_and_announced_length_are_votes_too() {
    let typed = |content_type| seen(vec![hop(200, &[("content-type", content_type)])]);
    let csv = Promise {
        content_type: Some("text/csv".into()),
        ..Promise::default()
    };
    let other = ["text/plain", "application/json", "text/xml"].map(typed);
    let verdict = verdict_of(&csv, &other);
    assert_eq!(delivered(&verdict), "changed (unstable), to be confirmed");
    assert_eq!(
        verdict.classification.observed,
        "serves another answer at each request"
    );
    assert_state(
        &csv,
        &["text/plain", "Text/Plain"].map(typed),
        (State::Changed, Some("content-type"), true),
    );

    let announced = |length| {
        let mut hop = hop(200, &[("content-length", length)]);
        hop.sent.method = "HEAD".into();
        seen(vec![hop])
    };
    let length = Promise {
        length: Some(10),
        ..Promise::default()
    };
    let changed = (State::Changed, Some("length"), true);
    assert_state(&length, &["8", "8"].map(announced), changed);
    let unstable = (State::Changed, Some("unstable"), false);
    assert_state(&length, &["8", "9", "8"].map(announced), unstable);

    let not_found = Promise {
        status: Some(404),
        ..Promise::default()
    };
    let changed = (State::Changed, Some("status"), true);
    assert_state(&not_found, &[200, 200].map(status), changed);
    assert_state(&not_found, &[200, 203, 200].map(status), unstable);

    // Where no type is promised, only the bytes count.
    let with_type = |content_type| Observation {
        hops: typed(content_type).hops,
        ..letter('A')
    };
    assert_state(
        &promise(),
        &["text/plain", "text/csv"].map(with_type),
        (State::Changed, Some("digest"), true),
    );
}

#[test]
fn a_wrong_vote_beside_promised_ones_is_a_break() {
    let verdict = verdict_of(&promise(), &letters("APP"));
    let (believed, transition) = step(None, &verdict, at(0));
    assert_eq!((believed.state, transition), (State::Ok, None));
    assert_eq!(RunResult::of(&verdict, &believed), Some(RunResult::Mixed));
    let verdict = verdict_of(&promise(), &letters("APA"));
    let (believed, _) = step(Some(&believed), &verdict, at(9));
    assert_eq!(RunResult::of(&verdict, &believed), Some(RunResult::Bad));
}

/// The verdict of a run with these votes, of which the fetcher makes as many as it needs.
fn verdict_of_run(run: &str) -> Verdict {
    let observations = letters(run);
    for end in 1..=observations.len() {
        let seen = &observations[..end];
        if let Decision::Final(verdict) = decide(&job(&promise(), "/a"), seen, &policy()) {
            return verdict;
        }
    }
    panic!("no verdict: {run}");
}

/// Whether a later run must confirm the reason.
fn is_doubtful(verdict: &Verdict) -> bool {
    let reason = verdict.classification.reason;
    matches!(reason, Some(Reason::Unstable | Reason::Uploading))
}

proptest! {
    #[test]
    fn a_promised_vote_excludes_a_certain_change(run in "[ABC159][ABCP159]{2}") {
        let verdict = verdict_of_run(&run);
        let votes = &run[..verdict.attempts.len()];
        let is_certain_change = verdict.state() == State::Changed && verdict.sure;
        let mut last = votes.chars().rev();
        if is_certain_change {
            prop_assert!(!votes.contains('P'), "{votes}");
            prop_assert_eq!(last.next(), last.next(), "{}", votes);
        }
        if votes.matches('P').count() == 2 {
            prop_assert_eq!(verdict.state(), State::Ok);
        } else {
            prop_assert_eq!(verdict.state(), State::Changed);
        }
    }

    #[test]
    fn a_verdict_depends_on_the_votes_alone(
        run in "[ABC159][ABCP159]{2}",
        failures in prop::collection::vec(0usize..4, 0..3),
        times in prop::collection::vec(0i64..1_000_000, 8),
        elapsed in 0u64..1_000_000,
        server in "[a-z]{1,8}",
    ) {
        let plain = verdict_of_run(&run);
        // Whether it fails beside that, when it answers, how fast, and from where, makes no difference.
        let mut votes = run[..plain.attempts.len()].to_owned();
        for index in failures {
            let end = votes.len().saturating_sub(1);
            votes.insert(index.min(end), 'x');
        }
        let mut seen: Vec<Observation> = votes.chars().map(letter).collect();
        for (seen, time) in seen.iter_mut().zip(times) {
            seen.started = at(time);
            seen.elapsed = Duration::from_millis(elapsed);
            for hop in &mut seen.hops {
                hop.at = at(time);
                hop.address = "192.0.2.1:80".parse().ok();
                hop.headers.push(("server".into(), server.clone().into_bytes()));
            }
        }
        prop_assert_eq!(delivered(&verdict_of(&promise(), &seen)), delivered(&plain), "{}", votes);
    }

    #[test]
    fn a_reason_that_needs_confirmation_is_no_news_in_the_first_run(
        runs in prop::collection::vec("[ABC159][ABCP159]{2}|P", 1..8),
    ) {
        let mut believed: Option<UrlStatus> = None;
        for (run, now) in runs.iter().zip(0..) {
            let verdict = verdict_of_run(run);
            let was_troubled = believed.as_ref().is_some_and(|it| !it.is_untroubled());
            let (after, transition) =
                step(believed.as_ref(), &verdict, at(now));
            if is_doubtful(&verdict) && !was_troubled {
                prop_assert_eq!(transition, None, "{:?}", runs);
                prop_assert_eq!(after.state, State::Ok);
            }
            if is_doubtful(&verdict) && let Some(before) = &believed && before.state == State::Changed {
                prop_assert_eq!(&after.reason, &before.reason, "{:?}", runs);
            }
            if verdict.sure {
                prop_assert_eq!(after.state, verdict.state());
            }
            believed = Some(after);
        }
    }
}
