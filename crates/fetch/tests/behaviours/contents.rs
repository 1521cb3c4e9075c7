//! Whole answers with the promised content, or with another one.

use urldb_protocol::State;
use urldb_verdict::Warning;

use crate::behaviour::{ANSWER, Behaviour, CONTENT, DIGEST, NOTHING, changed, ok, state};
use crate::support::Reply;

const TYPE: &str = "content-type: text/plain";
const TYPE_AND_CHARSET: &str = "content-type: text/plain; charset=utf-8";
const BYTES_AND_CSV: &str =
    "content-length: {length}\ncontent-sha256: {sha256}\ncontent-type: text/csv";
const LENGTH: &str = "content-length: {length}";

/// As many bytes as promised, but others.
const SAME_LENGTH: &[u8] = b"exactly those bytes\r\n";

/// The promised bytes with this header.
fn with(header: &str) -> Reply {
    Reply::new("200 OK", &[header], CONTENT)
}

pub(crate) fn behaviours() -> Vec<Behaviour> {
    let mut all = bytes();
    all.extend(votes());
    all.extend(types());
    all.extend(several_types());
    all.extend(with_telling_headers());
    all.extend(challenges());
    all.extend(marked_pages());
    all.extend(pages());
    all
}

fn bytes() -> Vec<Behaviour> {
    let says = Behaviour::says;
    vec![
        says(
            "other-bytes",
            "sends as many bytes as promised, but others",
            Reply::ok(SAME_LENGTH),
        )
        .broken(changed("digest", 2)),
        says(
            "other-bytes-digest",
            "sends other bytes",
            Reply::ok("other"),
        )
        .of(DIGEST)
        .broken(changed("digest", 2)),
        says(
            "other-bytes-length",
            "sends as many bytes as promised, of which no more is promised",
            Reply::ok(SAME_LENGTH),
        )
        .of(LENGTH)
        .kept(ok(1)),
        says(
            "longer",
            "sends the promised bytes and one more",
            Reply::ok([CONTENT, b"!"].concat()),
        )
        .broken(changed("length", 2)),
        says(
            "longer-length",
            "sends the promised bytes and one more",
            Reply::ok([CONTENT, b"!"].concat()),
        )
        .of(LENGTH)
        .broken(changed("length", 2)),
        says(
            "shorter",
            "sends all of the promised bytes but the last",
            Reply::ok(&CONTENT[..CONTENT.len() - 1]),
        )
        .broken(changed("length", 2)),
        says("empty", "sends nothing", Reply::ok(""))
            .of(DIGEST)
            .broken(changed("digest", 2)),
        says(
            "empty-as-promised",
            "sends nothing, as promised",
            Reply::ok(""),
        )
        .of(NOTHING)
        .kept(ok(1)),
        says(
            "line-ends",
            "sends another line end",
            Reply::ok("exactly these bytes\n"),
        )
        .broken(changed("length", 2)),
        says(
            "byte-order-mark",
            "sends a byte order mark before the promised bytes",
            Reply::ok([b"\xef\xbb\xbf", CONTENT].concat()),
        )
        .of(DIGEST)
        .broken(changed("digest", 2)),
    ]
}

fn votes() -> Vec<Behaviour> {
    let wrong_at = |name, does, wrong: fn(usize) -> bool| {
        Behaviour::http(name, does, move |context| {
            Reply::ok(if wrong(context.before) {
                SAME_LENGTH
            } else {
                CONTENT
            })
        })
    };
    vec![
        wrong_at(
            "first-of-three-wrong",
            "sends other bytes once, at first",
            |nth| nth == 0,
        )
        .kept(ok(3).warning(Warning::ContentUnstable)),
        wrong_at(
            "stale-replica-of-two",
            "sends other bytes every other time",
            |nth| nth % 2 == 0,
        )
        .broken(changed("unstable", 3).doubtful()),
        wrong_at(
            "stale-replica-of-three",
            "sends other bytes every third time",
            |nth| nth % 3 == 0,
        )
        .kept(ok(3).warning(Warning::ContentUnstable)),
        Behaviour::http(
            "two-deployments",
            "sends other bytes, and then others still",
            |context| Reply::ok(["the second version", "the third"][context.before.min(1)]),
        )
        .broken(changed("length", 3)),
        Behaviour::http(
            "longer-than-promised",
            "sends the promised bytes and others that differ each time",
            |context| Reply::ok([CONTENT, b"!", context.before.to_string().as_bytes()].concat()),
        )
        .broken(changed("length", 2)),
        Behaviour::http(
            "two-other-bodies",
            "sends two other bodies in turn",
            |context| Reply::ok(["one other body", "two other body"][context.before % 2]),
        )
        .broken(changed("unstable", 3).doubtful()),
        Behaviour::http(
            "upload-in-place",
            "sends more of the promised bytes each time, and never all",
            |context| Reply::ok(&CONTENT[..(5 * context.before + 5).min(20)]),
        )
        .broken(changed("uploading", 3).doubtful()),
        Behaviour::http(
            "upload-that-ends",
            "sends more of the promised bytes each time, and all of them in the end",
            |context| Reply::ok(&CONTENT[..(7 * context.before + 7).min(CONTENT.len())]),
        )
        .broken(changed("unstable", 3).doubtful()),
        Behaviour::http(
            "page-per-request",
            "sends a page with a number of its own each time",
            |context| {
                let page = format!("<p>{} requests so far</p>", context.before);
                Reply::new("200 OK", &["Content-Type: text/html"], page)
            },
        )
        .broken(changed("unstable", 3).doubtful()),
        Behaviour::http(
            "stale-cache",
            "sends other bytes unless caches are asked to stand aside",
            |context| {
                let fresh = context.request.header("cache-control") == Some("no-cache");
                Reply::ok(if fresh { CONTENT } else { SAME_LENGTH })
            },
        )
        .kept(ok(3).warning(Warning::ContentUnstable)),
        Behaviour::http(
            "other-each-time",
            "sends other bytes each time",
            |context| Reply::ok(format!("request {}", context.before)),
        )
        .broken(changed("unstable", 3).doubtful()),
        Behaviour::http(
            "wrong-error-right-right",
            "sends other bytes, then 500, then the promised bytes",
            |context| match context.before {
                0 => Reply::ok(SAME_LENGTH),
                1 => Reply::new("500 Oops", &[], ""),
                _ => Reply::ok(CONTENT),
            },
        )
        .kept(ok(4).warning(Warning::ContentUnstable)),
    ]
}

fn types() -> Vec<Behaviour> {
    let says = Behaviour::says;
    vec![
        says(
            "type-right",
            "says the promised type",
            with("Content-Type: text/plain"),
        )
        .of(TYPE)
        .kept(ok(1)),
        says(
            "type-in-other-case",
            "writes the type in another case",
            with("Content-Type: Text/PLAIN"),
        )
        .of(TYPE)
        .kept(ok(1)),
        says(
            "type-with-charset",
            "adds a charset",
            with("Content-Type: text/plain; charset=utf-8"),
        )
        .of(TYPE)
        .kept(ok(1)),
        says(
            "type-other",
            "says another type",
            with("Content-Type: text/html"),
        )
        .of(TYPE)
        .broken(changed("content-type", 2).doubtful()),
        says("type-missing", "says no type", Reply::ok(CONTENT))
            .of(TYPE)
            .broken(changed("content-type", 2)),
        says(
            "type-not-utf-8",
            "says a type that is not UTF-8",
            Reply::raw(
                [
                    b"HTTP/1.1 200 OK\r\nContent-Type: text/pl\xe9in\r\nContent-Length: 21\r\n\r\n",
                    CONTENT,
                ]
                .concat(),
            ),
        )
        .of(TYPE)
        .broken(changed("content-type", 2)),
        says(
            "charset-written-otherwise",
            "quotes the promised charset",
            with("Content-Type: text/plain;charset=\"UTF-8\""),
        )
        .of(TYPE_AND_CHARSET)
        .kept(ok(1)),
        says(
            "charset-missing",
            "leaves out the promised charset",
            with("Content-Type: text/plain"),
        )
        .of(TYPE_AND_CHARSET)
        .broken(changed("content-type", 2)),
        says(
            "type-tolerated",
            "says `application/x-javascript` for `application/javascript`",
            with("Content-Type: application/x-javascript"),
        )
        .of("content-type: application/javascript")
        .kept(ok(1)),
        says(
            "type-not-tolerated",
            "says `application/javascript` for `application/x-javascript`",
            with("Content-Type: application/javascript"),
        )
        .of("content-type: application/x-javascript")
        .broken(changed("content-type", 2)),
        says(
            "type-that-may-change",
            "says another type, which may be",
            with("Content-Type: text/html"),
        )
        .of("content-type: text/plain\ncategories:\n- content-type-change-ok")
        .kept(ok(1)),
        says(
            "type-and-bytes-other",
            "says another type and sends other bytes",
            Reply::new("200 OK", &["Content-Type: text/html"], "other"),
        )
        .of("content-type: text/plain\ncontent-sha256: {sha256}")
        .broken(changed("digest", 2).doubtful()),
    ]
}

/// Pages that stand in for the content, without a mark by which a rule could know them.
fn pages() -> Vec<Behaviour> {
    let html = |status: &str, page: &str| {
        Reply::new(status, &["Content-Type: text/html; charset=utf-8"], page)
    };
    let says = Behaviour::says;
    vec![
        says(
            "page-for-a-type",
            "sends an unknown block page in place of the promised type",
            html("200 OK", "<title>Blocked</title>"),
        )
        .of(BYTES_AND_CSV)
        .broken(changed("length", 2).doubtful()),
        Behaviour::http(
            "page-for-a-type-after-a-redirect",
            "redirects to a login page in place of the promised type",
            |context| match context.target() {
                "/file" => Reply::redirect(302, "/login"),
                _ => Reply::new(
                    "200 OK",
                    &["Content-Type: text/html"],
                    "<title>Please log in</title>",
                ),
            },
        )
        .of(BYTES_AND_CSV)
        .broken(changed("length", 4).doubtful()),
        says(
            "soft-404",
            "sends a page that says `not found` in place of the promised type",
            html("200 OK", "<title>404 Not Found</title>"),
        )
        .of(BYTES_AND_CSV)
        .broken(changed("length", 2).doubtful()),
        says(
            "page-for-a-page",
            "sends another page in place of the promised page",
            html("200 OK", "<title>New</title>"),
        )
        .of("content-type: text/html\ncontent-sha256: {sha256}")
        .broken(changed("digest", 2)),
        says(
            "type-wrong-bytes-right",
            "sends the promised bytes as HTML",
            html("200 OK", "exactly these bytes\r\n"),
        )
        .of(BYTES_AND_CSV)
        .broken(changed("content-type", 2)),
        says(
            "status-202-other",
            "sends other bytes with 202",
            Reply::new("202 Accepted", &[], "in a moment"),
        )
        .broken(changed("length", 2).doubtful()),
        says(
            "status-202-right",
            "sends the promised bytes with 202",
            Reply::new("202 Accepted", &[], CONTENT),
        )
        .kept(ok(1)),
    ]
}

fn marked_pages() -> Vec<Behaviour> {
    let marked = |name, does, status: &str, page: &str| {
        Behaviour::says(
            name,
            does,
            Reply::new(status, &["Content-Type: text/html"], page),
        )
        .unknown(state(State::Blocked, 1).because("challenge"))
    };
    vec![
        marked(
            "challenge-f5",
            "sends the block page of F5 ASM",
            "200 OK",
            "<html><head><title>Request Rejected</title></head><body>The requested URL was rejected. \
             Please consult with your administrator.<br><br>Your support ID is: 123",
        ),
        marked(
            "challenge-testcookie",
            "sends a script that sets a cookie with aes.js",
            "200 OK",
            "<script src=\"/aes.js\"></script><script>document.cookie=\"__test=\"+toHex(slowAES.decrypt(c,2,a,b))",
        ),
        marked(
            "challenge-cloudflare-without-header",
            "sends a challenge of Cloudflare without its header",
            "403 Forbidden",
            "<title>Just a moment...</title><script>window._cf_chl_opt={cvId:'3'",
        ),
        marked(
            "challenge-cloudflare-1020",
            "sends Cloudflare's error 1020",
            "403 Forbidden",
            "<title>Access denied | b.test used Cloudflare to restrict access</title>",
        ),
        marked(
            "challenge-wordfence",
            "sends the block page of Wordfence",
            "503 Service Unavailable",
            "<title>Your access to this site has been limited by the site owner</title>",
        ),
        marked(
            "challenge-cloudflare-200",
            "sends a challenge of Cloudflare with 200 and without its header",
            "200 OK",
            "<title>Just a moment...</title>",
        ),
        marked(
            "demands-cookies",
            "sends a page that demands cookies",
            "200 OK",
            "<title>Cookies required</title><p>Please turn them on.",
        ),
        Behaviour::says(
            "parked",
            "sends a page that offers the domain for sale",
            Reply::new(
                "200 OK",
                &["Content-Type: text/html"],
                "<html data-adblockkey=\"x\"><p>Buy me",
            ),
        )
        .broken(state(State::Gone, 1).because("parked").doubtful()),
        Behaviour::says(
            "challenge-akamai-json",
            "sends a challenge of Akamai as JSON",
            Reply::new(
                "428 Precondition Required",
                &["Content-Type: application/json"],
                "{\"sec-cp-challenge\": \"true\"}",
            ),
        )
        .unknown(state(State::Blocked, 1).because("challenge")),
        Behaviour::says(
            "challenge-imunify360",
            "sends a challenge of Imunify360",
            Reply::new(
                "200 OK",
                &[
                    "Content-Type: text/html",
                    "Server: imunify360-webshield/1.21",
                ],
                "<title>One moment, please...</title>",
            ),
        )
        .unknown(state(State::Blocked, 1).because("challenge")),
    ]
}

fn challenges() -> Vec<Behaviour> {
    let challenge = |name, status: &str, header: &str| {
        let does = "sends a challenge for browsers, marked by a header";
        Behaviour::says(
            name,
            does,
            Reply::new(status, &[header], "<h1>Are you human?</h1>"),
        )
        .unknown(state(State::Blocked, 1).because("challenge"))
    };
    vec![
        challenge("challenge-200", "200 OK", "cf-mitigated: challenge"),
        challenge(
            "challenge-202",
            "202 Accepted",
            "x-amzn-waf-action: challenge",
        ),
        challenge("challenge-403", "403 Forbidden", "CF-Mitigated: Challenge"),
        challenge(
            "challenge-405",
            "405 Method Not Allowed",
            "x-amzn-waf-action: captcha",
        ),
        challenge(
            "challenge-503",
            "503 Service Unavailable",
            "sg-captcha: challenge",
        ),
        challenge(
            "challenge-vercel",
            "429 Too Many Requests",
            "x-vercel-mitigated: challenge",
        ),
        challenge("challenge-akamai", "200 OK", "sec-cp-challenge: true"),
        challenge(
            "challenge-for-any-answer",
            "200 OK",
            "cf-mitigated: challenge",
        )
        .of(ANSWER),
    ]
}

fn several_types() -> Vec<Behaviour> {
    let says = Behaviour::says;
    vec![
        says(
            "type-twice",
            "says two types, of which some clients take the first and some the last",
            Reply::new(
                "200 OK",
                &["Content-Type: text/plain", "Content-Type: text/html"],
                CONTENT,
            ),
        )
        .of(TYPE)
        .broken(changed("content-type", 2).doubtful()),
        says(
            "type-twice-the-same",
            "says the promised type twice",
            Reply::new(
                "200 OK",
                &["Content-Type: text/plain", "Content-Type: text/plain"],
                CONTENT,
            ),
        )
        .of(TYPE)
        .kept(ok(1)),
    ]
}

fn with_telling_headers() -> Vec<Behaviour> {
    let says = Behaviour::says;
    vec![
        says(
            "refresh-to-a-login",
            "sends a page that leads to a login by `Refresh`",
            Reply::new("200 OK", &["Refresh: 0; url=/login"], "please log in"),
        )
        .broken(changed("length", 2)),
        says(
            "range-of-something-longer",
            "says that the promised bytes are a part of something longer, under the status 200",
            Reply::new("200 OK", &["Content-Range: bytes 0-20/1000"], CONTENT),
        )
        .kept(ok(1)),
    ]
}
