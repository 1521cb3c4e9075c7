//! Answers to a request that asks for the content only if it is another than the known one.

use urldb_protocol::State;

use crate::behaviour::{Behaviour, CONTENT, ETAG, changed, ok, state, unreachable};
use crate::support::Reply;

/// 304 with this `ETag`.
fn not_modified(etag: &str) -> Reply {
    Reply::raw(format!("HTTP/1.1 304 Not Modified\r\nETag: {etag}\r\n\r\n"))
}

fn precondition_failed() -> Reply {
    Reply::new("412 Precondition Failed", &[], "no")
}

/// A server whose reply to a conditional request is this one, and the other one to any other request.
fn says(name: &'static str, does: &'static str, conditional: Reply, other: Reply) -> Behaviour {
    let behaviour = Behaviour::http(name, does, move |context| {
        if context.request.header("if-none-match") == Some(ETAG) {
            conditional.clone()
        } else {
            other.clone()
        }
    });
    behaviour.known()
}

pub(crate) fn behaviours() -> Vec<Behaviour> {
    let (right, wrong) = (Reply::ok(CONTENT), Reply::ok("other"));
    let other_etag = not_modified("\"other\"");
    vec![
        says(
            "not-modified",
            "answers 304 with the known `ETag`",
            not_modified(ETAG),
            right.clone(),
        )
        .kept(ok(1)),
        says(
            "not-modified-weak",
            "answers 304 with the known `ETag` as a weak one",
            not_modified(&format!("W/{ETAG}")),
            right.clone(),
        )
        .kept(ok(1)),
        says(
            "not-modified-without-etag",
            "answers 304 without an `ETag`",
            Reply::raw("HTTP/1.1 304 Not Modified\r\n\r\n"),
            right.clone(),
        )
        .kept(ok(1)),
        says(
            "not-modified-other-etag",
            "answers 304 with another `ETag`, and an unconditional request with the promised bytes",
            other_etag.clone(),
            right.clone(),
        )
        .kept(ok(2)),
        says(
            "not-modified-other-etag-other-bytes",
            "answers 304 with another `ETag`, and an unconditional request with other bytes",
            other_etag.clone(),
            wrong.clone(),
        )
        .broken(changed("length", 3)),
        says(
            "not-modified-other-etag-always",
            "answers 304 with another `ETag`, whatever is asked",
            other_etag.clone(),
            other_etag,
        )
        .unknown(unreachable("protocol", 3)),
        says(
            "condition-ignored",
            "ignores the condition and sends the promised bytes",
            right.clone(),
            right.clone(),
        )
        .kept(ok(1)),
        says(
            "condition-and-other-bytes",
            "sends other bytes in answer to the condition",
            wrong.clone(),
            wrong.clone(),
        )
        .broken(changed("length", 2)),
        says(
            "precondition-failed",
            "answers 412 to the condition, and an unconditional request with the promised bytes",
            precondition_failed(),
            right,
        )
        .kept(ok(2)),
        says(
            "precondition-failed-other-bytes",
            "answers 412 to the condition, and an unconditional request with other bytes",
            precondition_failed(),
            wrong,
        )
        .broken(changed("length", 3)),
        says(
            "precondition-failed-always",
            "answers 412, whatever is asked",
            precondition_failed(),
            precondition_failed(),
        )
        .broken(state(State::ClientError, 2)),
    ]
}
