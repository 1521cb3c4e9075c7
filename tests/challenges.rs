//! The rules of crates/verdict/src/challenges.toml, each with an answer that it recognizes, and with
//! answers that look a little like it. The texts are ours; what they imitate are the marks.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use urldb_protocol::{Reason, State};
use urldb_verdict::ChallengeRule;
use urldb_verdict::Promise;
use urldb_verdict::{Beginning, Hop, Observation, Sent};
use urldb_verdict::{Classification, classify, known_challenges};

/// An HTML answer: status, headers, and what the page begins with.
struct Answer(u16, &'static [(&'static str, &'static str)], &'static str);

const CLOUDFLARE: &[(&str, &str)] = &[("server", "cloudflare")];
const NOTHING: &[(&str, &str)] = &[];

/// Which rule recognizes what.
const CHALLENGES: &[(&str, Answer)] = &[
    (
        "a Cloudflare challenge",
        Answer(403, &[("CF-Mitigated", "challenge")], ""),
    ),
    (
        "a Cloudflare waiting page",
        Answer(
            503,
            CLOUDFLARE,
            "<!DOCTYPE html><html><head><title>Just a moment...</title>",
        ),
    ),
    (
        "a Cloudflare block page",
        Answer(
            403,
            CLOUDFLARE,
            "<head>\n<title>Attention Required! | Cloudflare</title>",
        ),
    ),
    (
        "an AWS WAF challenge",
        Answer(202, &[("x-amzn-waf-action", "challenge")], ""),
    ),
    (
        "an AWS WAF captcha",
        Answer(405, &[("x-amzn-waf-action", "captcha")], ""),
    ),
    (
        "a SiteGround captcha",
        Answer(202, &[("sg-captcha", "challenge")], ""),
    ),
    (
        "an Akamai block page",
        Answer(
            403,
            &[("server", "AkamaiGHost")],
            "<HTML><HEAD>\n<TITLE>Access Denied</TITLE>\n</HEAD>",
        ),
    ),
    (
        "an Imperva block page",
        Answer(
            200,
            NOTHING,
            "<iframe id=\"main-iframe\">Request unsuccessful. Incapsula incident ID: 1-2</iframe>",
        ),
    ),
    (
        "a DataDome challenge",
        Answer(
            403,
            &[("x-datadome", "protected")],
            "<script src=\"https://ct.captcha-delivery.com/c.js\"></script>",
        ),
    ),
    (
        "a HUMAN (PerimeterX) challenge",
        Answer(
            403,
            NOTHING,
            "<meta name=\"description\" content=\"px-captcha\">",
        ),
    ),
    (
        "a Sucuri challenge",
        Answer(
            200,
            NOTHING,
            "<title>You are being redirected...</title><script>a='',sucuri_cloudproxy_js='',b",
        ),
    ),
    (
        "a Sucuri block page",
        Answer(
            403,
            NOTHING,
            "<title>Sucuri WebSite Firewall - Access Denied</title>",
        ),
    ),
    (
        "a DDoS-Guard challenge",
        Answer(
            403,
            &[("server", "ddos-guard")],
            "<html><head><title>DDOS-GUARD</title>",
        ),
    ),
    (
        "an Anubis challenge",
        Answer(
            200,
            NOTHING,
            "<title>Hm</title><script id=\"anubis_version\" type=\"application/json\">\"v1\"",
        ),
    ),
    (
        "a parking page of Sedo",
        Answer(
            200,
            NOTHING,
            "<img src=\"http://img.sedoparking.com/x.png\">",
        ),
    ),
    (
        "a parking page of GoDaddy or Afternic",
        Answer(
            200,
            NOTHING,
            "<script src=\"https://img1.wsimg.com/parking-lander/static/js/main.js\">",
        ),
    ),
    (
        "a redirect to a parking page of GoDaddy or Afternic",
        Answer(
            200,
            NOTHING,
            "<head><script>window.onload=function(){window.location.href=\"/lander\"}</script>",
        ),
    ),
    (
        "a parking page with an advertiser's key",
        Answer(
            200,
            NOTHING,
            "<!doctype html><html data-adblockkey=\"MFww_x\">",
        ),
    ),
    (
        "a parking page of ParkingCrew",
        Answer(
            200,
            NOTHING,
            "<script src=\"https://www.parkingcrew.net/assets/scripts/x.js\">",
        ),
    ),
    (
        "a parking page of Bodis",
        Answer(
            200,
            NOTHING,
            "<body><script>window.park = \"eyJ1\";</script>",
        ),
    ),
    (
        "an offer of HugeDomains",
        Answer(
            200,
            NOTHING,
            "<title>Example.com is for sale | HugeDomains</title>",
        ),
    ),
];

/// Honest answers, each with half of what marks a challenge.
const HONEST: &[Answer] = &[
    Answer(200, CLOUDFLARE, "<title>Just a moment...</title>"),
    Answer(403, NOTHING, "<title>Just a moment...</title>"),
    Answer(
        200,
        CLOUDFLARE,
        "<title>Data</title><script src=\"/cdn-cgi/challenge-platform/scripts/x.js\">",
    ),
    Answer(403, CLOUDFLARE, "<title>Forbidden</title>"),
    Answer(200, &[("cf-mitigated", "none")], ""),
    Answer(200, &[("x-amzn-waf-action", "allow")], ""),
    Answer(
        200,
        &[("server", "AkamaiGHost")],
        "<title>Access Denied</title>",
    ),
    Answer(403, &[("server", "nginx")], "<title>Access Denied</title>"),
    Answer(
        200,
        NOTHING,
        "<script src=\"/_Incapsula_Resource?SWJIYLWA=1\">",
    ),
    Answer(200, NOTHING, "<p>captcha-delivery.com/ belongs to DataDome"),
    Answer(200, NOTHING, "<p>How we got rid of px-captcha"),
    Answer(
        200,
        NOTHING,
        "<title>Sucuri WebSite Firewall - Access Denied</title>",
    ),
    Answer(200, &[("server", "ddos-guard")], "<title>Data</title>"),
    Answer(
        200,
        NOTHING,
        "<title>Anubis, anubis_version and you</title>",
    ),
    Answer(200, NOTHING, "<p>parked at sedoparking.com or bodis.com"),
    Answer(200, NOTHING, "<a href=\"/lander\">Lander</a>"),
    Answer(200, NOTHING, "<p>This data set is for sale"),
];

fn observation(Answer(status, headers, start): &Answer) -> Observation {
    let header = |(name, value): &(&str, &str)| ((*name).to_owned(), value.as_bytes().to_vec());
    let hop = Hop {
        url: "http://example.org/a".into(),
        at: Timestamp::UNIX_EPOCH,
        address: None,
        sent: Sent::default(),
        beginning: Beginning::default(),
        version: "HTTP/1.1",
        status: *status,
        reason_phrase: String::new(),
        headers: headers.iter().map(header).collect(),
        certificate: None,
    };
    Observation {
        started: Timestamp::UNIX_EPOCH,
        elapsed: Duration::ZERO,
        hops: vec![hop],
        body: None,
        start: start.as_bytes().to_vec(),
        page: None,
        failure: None,
    }
}

fn classification(answer: &Answer, own: &[ChallengeRule]) -> Classification {
    classify(&Promise::default(), &observation(answer), own)
}

#[test]
fn each_rule_recognizes_its_answer() {
    for (name, answer) in CHALLENGES {
        let classification = classification(answer, &[]);
        assert_eq!(classification.state, State::Blocked, "{name}");
        assert_eq!(classification.observed, format!("answers with {name}"));
        let rule = known_challenges().iter().find(|rule| rule.name == *name);
        let parked = rule.is_some_and(|rule| rule.parked);
        let reason = if parked { "parked" } else { "challenge" };
        assert_eq!(
            classification.reason.map(Reason::as_str),
            Some(reason),
            "{name}"
        );
    }
}

#[test]
fn each_rule_has_an_answer_here() {
    let rules: Vec<&str> = known_challenges().iter().map(|rule| &*rule.name).collect();
    let names: Vec<&str> = CHALLENGES.iter().map(|(name, _)| *name).collect();
    assert_eq!(rules, names);
    let distinct: BTreeSet<&str> = rules.iter().copied().collect();
    assert_eq!(distinct.len(), rules.len(), "names tell rules apart");
}

#[test]
fn honest_answers_are_left_alone() {
    for answer in HONEST {
        let classification = classification(answer, &[]);
        assert_ne!(
            classification.state,
            State::Blocked,
            "{}: {}",
            answer.2,
            classification.observed
        );
    }
}

#[test]
fn rules_of_ones_own_are_added() {
    let login = ChallengeRule {
        name: "our login page".into(),
        status: vec![200],
        header: Some("x-portal".into()),
        contains: Some("sign in".into()),
        ..ChallengeRule::default()
    };
    let portal = Answer(200, &[("X-Portal", "please Sign In")], "");
    assert_eq!(classification(&portal, &[]).state, State::Ok);
    let own = classification(&portal, std::slice::from_ref(&login));
    assert_eq!(own.state, State::Blocked);
    assert_eq!(own.observed, "answers with our login page");
    let other = Answer(403, &[("X-Portal", "please Sign In")], "");
    assert_eq!(classification(&other, &[login]).state, State::Forbidden);
}
