//! Promises of other digests than a SHA-256.

use proptest::prelude::*;
use urldb_format::{Algorithm, Digest};
use urldb_verdict::{is_proven, verified_digest};

use super::*;

const FURTHER: [Algorithm; 4] = [
    Algorithm::Md5,
    Algorithm::Sha1,
    Algorithm::Sha384,
    Algorithm::Sha512,
];

fn digest(algorithm: Algorithm, byte: u8) -> Digest {
    Digest::new(algorithm, &vec![byte; algorithm.length()]).unwrap()
}

/// The promise of 10 bytes with these further digests of the right bytes, and of other ones.
fn promising(right: &[Algorithm], wrong: &[Algorithm]) -> Promise {
    let right = right.iter().map(|it| digest(*it, 1));
    let mut digests: Vec<Digest> = right.chain(wrong.iter().map(|it| digest(*it, 2))).collect();
    digests.sort();
    Promise {
        length: Some(10),
        digests: digests.into(),
        ..Promise::default()
    }
}

/// An observation of the right bytes, with their further digests of these algorithms.
fn with_digests(mut seen: Observation, algorithms: &[Algorithm]) -> Observation {
    if let Some(body) = &mut seen.body {
        body.digests = algorithms.iter().map(|it| digest(*it, 1)).collect();
    }
    seen
}

/// The same bytes in a coding: as sent, they have other digests.
fn coded(decoded: Decoded, algorithms: &[Algorithm]) -> Observation {
    let mut seen = with_digests(bad(), &[]);
    seen.hops[0]
        .headers
        .push(("content-encoding".into(), b"gzip".to_vec()));
    if let Some(body) = &mut seen.body {
        body.decoded = Some(decoded);
        body.digests = algorithms.iter().map(|it| digest(*it, 9)).collect();
        body.decoded_digests = algorithms.iter().map(|it| digest(*it, 1)).collect();
    }
    seen
}

#[test]
fn each_algorithm_keeps_or_breaks_a_promise_without_a_sha256() {
    for algorithm in FURTHER {
        let kept = promising(&[algorithm], &[]);
        let seen = || with_digests(good(), &[algorithm]);
        assert_state(&kept, &[seen()], (State::Ok, None, true));
        assert_eq!(verified_digest(&kept, &seen()), Some(digest(algorithm, 1)));
        let broken = promising(&[], &[algorithm]);
        let twice = [seen(), seen()];
        assert_state(&broken, &twice, (State::Changed, Some("digest"), true));
        assert_eq!(verified_digest(&broken, &seen()), None);
        let message = verdict_of(&broken, &twice).classification;
        let name = algorithm.name();
        assert_eq!(
            message.observed,
            format!("10 bytes with {name} {}", digest(algorithm, 1).hex())
        );
        assert_eq!(
            message.expected,
            Some(format!(
                "10 bytes with {name} {}",
                digest(algorithm, 2).hex()
            ))
        );
    }
}

#[test]
fn digests_that_disagree_are_certain_at_once() {
    let all = FURTHER;
    let disagree = (State::Changed, Some("digests-disagree"), true);
    for odd in all {
        let rest: Vec<Algorithm> = all.into_iter().filter(|it| *it != odd).collect();
        assert_state(
            &promising(&rest, &[odd]),
            &[with_digests(good(), &all)],
            disagree,
        );
        // An earlier answer with nothing right in it does not outvote the proof.
        let other = with_digests(bad(), &[]);
        let answers = [other, with_digests(good(), &all)];
        assert_state(&promising(&rest, &[odd]), &answers, disagree);
    }
    let sha256 = Promise {
        sha256: Some(RIGHT),
        ..promising(&[], &[Algorithm::Md5])
    };
    let seen = [with_digests(good(), &[Algorithm::Md5])];
    assert_state(&sha256, &seen, disagree);
    assert_eq!(
        verdict_of(&sha256, &seen).classification.observed,
        "10 bytes that have the promised SHA-256, but not the promised MD5"
    );
    let longer = Promise {
        length: Some(11),
        ..promising(&[Algorithm::Sha1], &[])
    };
    assert_state(
        &longer,
        &[with_digests(good(), &[Algorithm::Sha1])],
        disagree,
    );
    // As before there were other digests.
    let old = Promise {
        length: Some(11),
        ..bytes_promised()
    };
    assert_state(
        &old,
        &[good(), good()],
        (State::Changed, Some("length"), true),
    );
    // An answer to POST is not asked for again, and is certain all the same.
    let mut post = job(&sha256, "/a");
    Arc::make_mut(&mut post.request).method = "POST".into();
    let Decision::Final(verdict) = decide(&post, &seen, &policy()) else {
        panic!("POST is not repeated");
    };
    assert!(verdict.sure);
    assert_eq!(reason_of(&verdict.classification), disagree.1);
}

#[test]
fn a_page_in_place_of_the_bytes_is_no_contradiction() {
    let promise = promising(&[Algorithm::Md5], &[]);
    let mut page = with_digests(body(10, WRONG, BodyEnd::Complete), &[]);
    page.body.as_mut().unwrap().digests = [digest(Algorithm::Md5, 7)].into();
    page.hops[0].headers = vec![("cf-mitigated".into(), b"challenge".to_vec())];
    let verdict = verdict_of(&promise, &[page]);
    assert_eq!(verdict.state(), State::Blocked);
    // Under the mark of a challenge, a digest that fits still tells the bytes.
    let both = promising(&[Algorithm::Md5], &[Algorithm::Sha1]);
    let mut marked = with_digests(good(), &[Algorithm::Md5, Algorithm::Sha1]);
    marked.hops[0].headers = vec![("cf-mitigated".into(), b"challenge".to_vec())];
    let reason = Some("digests-disagree");
    assert_state(&both, &[marked], (State::Changed, reason, true));
}

#[test]
fn a_digest_proves_bytes_however_the_connection_or_the_coding_ended() {
    for algorithm in FURTHER {
        let kept = promising(&[algorithm], &[]);
        let failure = truncated().failure;
        let broken = || Observation {
            failure: failure.clone(),
            ..with_digests(body(10, RIGHT, BodyEnd::Broken), &[algorithm])
        };
        assert_state(&kept, &[broken()], (State::Ok, None, true));
        assert!(is_proven(&kept, &broken()));
        assert!(!is_proven(&promising(&[], &[algorithm]), &broken()));
        assert!(!is_proven(
            &Promise {
                length: Some(10),
                ..Promise::default()
            },
            &broken()
        ));
        let damaged = Decoded::Damaged {
            length: 10,
            sha256: RIGHT,
            damage: Damage::Incomplete,
        };
        let whole = Decoded::Whole {
            length: 10,
            sha256: RIGHT,
        };
        for decoded in [damaged, whole] {
            let seen = coded(decoded, &[algorithm]);
            assert_state(
                &kept,
                &[coded(decoded, &[algorithm])],
                (State::Ok, None, true),
            );
            let served = observed_bytes(&kept, &seen).unwrap();
            assert_eq!(served.further, &[digest(algorithm, 1)]);
            // The archive has the coded bytes.
            assert_eq!(verified_digest(&kept, &seen), None);
        }
        let both = Promise {
            sha256: Some(WRONG),
            ..kept.clone()
        };
        let reason = Some("digests-disagree");
        let expected = (State::Changed, reason, true);
        assert_state(&both, &[coded(whole, &[algorithm])], expected);
    }
}

#[test]
fn digests_that_were_not_computed_say_nothing() {
    let promise = promising(&[Algorithm::Md5], &[]);
    assert_state(
        &promise,
        &[good()],
        (State::Inconclusive, Some("not-read"), false),
    );
    assert!(!is_proven(&promise, &good()));
}

#[test]
fn head_has_no_digest() {
    let mut head = status(200);
    head.hops[0].sent.method = "HEAD".into();
    head.hops[0].headers = vec![("content-length".into(), b"10".to_vec())];
    let promise = promising(&[Algorithm::Sha512], &[]);
    let verdict = verdict_of(&promise, &[head]);
    assert_eq!(verdict.state(), State::Inconclusive);
}

/// Each digest is promised right, wrong, or not at all.
fn parts() -> impl Strategy<Value = ([Option<bool>; 4], Option<bool>, Option<bool>)> {
    let part = proptest::option::of(any::<bool>());
    (
        [part.clone(), part.clone(), part.clone(), part.clone()],
        part.clone(),
        part,
    )
}

proptest! {
    #[test]
    fn every_part_of_a_promise_counts((further, sha256, length) in parts(), is_whole: bool) {
        let of = |wanted: bool| -> Vec<Algorithm> {
            let all = FURTHER.into_iter().zip(further);
            all.filter(|(_, it)| *it == Some(wanted)).map(|(it, _)| it).collect()
        };
        let promise = Promise {
            length: length.map(|is_right| if is_right { 10 } else { 11 }),
            sha256: sha256.map(|is_right| if is_right { RIGHT } else { WRONG }),
            ..promising(&of(true), &of(false))
        };
        let algorithms = promise.digests.iter().map(Digest::algorithm).collect::<Vec<_>>();
        let end = if is_whole { BodyEnd::Complete } else { BodyEnd::Broken };
        let seen = || with_digests(
            body(10, RIGHT, end),
            &algorithms,
        );
        let digests: Vec<bool> = further.into_iter().chain([sha256]).flatten().collect();
        let has_further = further.iter().any(Option::is_some);
        let fits = digests.contains(&true);
        let misfits = digests.contains(&false);
        let expected = if fits && (misfits || has_further && length == Some(false)) {
            (State::Changed, Some("digests-disagree"))
        } else if !promise.is_static()
            || !misfits && length != Some(false) && (is_whole || fits)
        {
            (State::Ok, None)
        } else if !is_whole {
            (State::Truncated, None)
        } else if length == Some(false) {
            (State::Changed, Some("length"))
        } else {
            (State::Changed, Some("digest"))
        };
        let found = urldb_verdict::classify(&promise, &seen(), &[]);
        prop_assert_eq!((found.state, reason_of(&found)), expected);
        let verified = verified_digest(&promise, &seen());
        let is_verified = has_further && expected.0 == State::Ok;
        prop_assert_eq!(verified.is_some(), is_verified);
        // What is stored in a bundle or a temporary file is judged alike.
        let text = serde_json::to_string(&(&job(&promise, "/a"), seen())).unwrap();
        let (again, stored): (Job, Observation) = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(&again.promise, &promise);
        prop_assert_eq!(urldb_verdict::classify(&again.promise, &stored, &[]), found);
    }
}
