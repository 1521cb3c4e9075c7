//! Observations in the JSON of bundles: what comes back is judged like what was seen.

use std::net::SocketAddr;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use urldb_verdict::Certificate;

use super::*;

fn times() -> impl Strategy<Value = Timestamp> {
    (0_i64..4_000_000_000, 0_i32..1_000_000_000)
        .prop_map(|(second, nanosecond)| Timestamp::new(second, nanosecond).unwrap())
}

fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        "[ -~]{1,20}",
        "\\PC{1,10}",
        "[\\x00-\\x1f\"\\\\]{1,5}"
    ]
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        texts().prop_map(String::into_bytes),
        vec(any::<u8>(), 0..40)
    ]
}

fn certificates() -> impl Strategy<Value = Certificate> {
    let parts = (texts(), texts(), times(), times(), any::<bool>());
    parts.prop_map(
        |(subject, issuer, not_before, not_after, is_authority)| Certificate {
            subject,
            issuer,
            not_before,
            not_after,
            is_authority,
        },
    )
}

fn failures() -> impl Strategy<Value = Failure> {
    let kinds = proptest::sample::select(FailureKind::ALL.to_vec());
    let parts = (kinds, texts(), option::of(certificates()));
    parts.prop_map(|(kind, detail, certificate)| Failure {
        kind,
        detail,
        certificate: certificate.map(Box::new),
    })
}

fn hops() -> impl Strategy<Value = Hop> {
    let urls = prop_oneof![
        Just("http://example.org/a".to_owned()),
        Just("https://example.org/login".to_owned()),
        texts()
    ];
    let statuses =
        proptest::sample::select(vec![200_u16, 204, 301, 302, 304, 404, 410, 429, 500, 999]);
    let names = proptest::sample::select(vec![
        "content-type",
        "content-length",
        "location",
        "retry-after",
        "server",
    ]);
    let headers = vec((names.prop_map(str::to_owned), bytes()), 0..4);
    let addresses = option::of((any::<[u8; 4]>(), any::<u16>()).prop_map(SocketAddr::from));
    let methods = proptest::sample::select(vec!["GET", "HEAD", "POST"]);
    let sent = (methods, any::<bool>(), any::<bool>());
    let certificate = || option::of(certificates());
    let connection = (addresses, certificate(), any::<bool>(), certificate());
    (urls, times(), statuses, texts(), headers, sent, connection).prop_map(
        |(url, at, status, reason_phrase, headers, sent, connection)| Hop {
            url,
            at,
            address: connection.0,
            certificate: connection.1,
            authority: connection.3,
            sent: Sent {
                method: sent.0.to_owned(),
                headers: vec![("if-none-match".to_owned(), b"\"e\xff\"".to_vec())],
                with_body: sent.1,
                is_conditional: sent.2,
            },
            version: if connection.2 { "HTTP/1.1" } else { "HTTP/1.0" }.into(),
            protocols: vec![],
            origin: urldb_verdict::Origin::default(),
            status,
            reason_phrase,
            headers,
            beginning: Beginning::default(),
        },
    )
}

fn digests() -> impl Strategy<Value = [u8; 32]> {
    prop_oneof![Just(RIGHT), Just(WRONG), any::<[u8; 32]>()]
}

fn lengths() -> impl Strategy<Value = u64> {
    prop_oneof![Just(10), 0_u64..20, any::<u64>()]
}

fn bodies() -> impl Strategy<Value = Body> {
    let ends = proptest::sample::select(vec![BodyEnd::Complete, BodyEnd::Cut, BodyEnd::Broken]);
    let damages = proptest::sample::select(vec![Damage::Incomplete, Damage::Invalid]);
    let decoded = prop_oneof![
        (lengths(), digests()).prop_map(|(length, sha256)| Decoded::Whole { length, sha256 }),
        (lengths(), digests(), damages).prop_map(|(length, sha256, damage)| Decoded::Damaged {
            length,
            sha256,
            damage
        }),
        lengths().prop_map(Decoded::LongerThan),
    ];
    let parts = (
        lengths(),
        digests(),
        option::of(digests()),
        ends,
        option::of(failures()),
        option::of(decoded),
    );
    parts.prop_map(|(length, sha256, compared, end, cut, decoded)| Body {
        length,
        sha256,
        compared,
        end,
        cut,
        decoded,
        digests: Box::default(),
        decoded_digests: Box::default(),
        conversion: None,
        bytes: None,
    })
}

fn observations() -> impl Strategy<Value = Observation> {
    let parts = (
        times(),
        0_u64..u64::MAX / 2,
        vec(hops(), 0..3),
        option::of(bodies()),
        bytes(),
        option::of(bytes()),
        option::of(failures()),
    );
    parts.prop_map(
        |(started, elapsed, hops, body, start, page, failure)| Observation {
            started,
            elapsed: Duration::from_nanos(elapsed),
            hops,
            body,
            start,
            page,
            failure,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_stored_comes_back_and_is_judged_alike(seen in vec(observations(), 0..4)) {
        let text = serde_json::to_string(&seen).unwrap();
        let again: Vec<Observation> = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(format!("{seen:?}"), format!("{again:?}"));
        let redirect = Promise {
            redirects_to: Some("https://example.org/login".into()),
            ..Promise::default()
        };
        for promise in [bytes_promised(), redirect, Promise::default()] {
            let job = job(&promise, "/a");
            for decide in [decide, decide_promise] {
                prop_assert_eq!(decide(&job, &seen, &policy()), decide(&job, &again, &policy()));
            }
            prop_assert_eq!(undecided(&job, &seen, &policy()), undecided(&job, &again, &policy()));
        }
    }

    #[test]
    fn what_is_no_observation_is_an_error(text in "[\\x00-\\x7f]{0,60}", cut in 0_usize..2000, seen in observations()) {
        let _ = serde_json::from_str::<Observation>(&text);
        let whole = serde_json::to_string(&seen).unwrap();
        let end = whole.floor_char_boundary(cut.min(whole.len() - 1));
        prop_assert!(serde_json::from_str::<Observation>(&whole[..end]).is_err());
    }
}

#[test]
fn each_kind_of_failure_has_its_own_name_in_a_bundle() {
    for kind in FailureKind::ALL {
        let text = serde_json::to_string(&kind).unwrap();
        assert_eq!(text, format!("\"{kind}\""));
    }
}
