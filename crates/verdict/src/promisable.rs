//! The parts of a response that a record can promise from now on.

use urldb_protocol::{Reason, State};

use crate::body::{Body, ServedBytes};
use crate::challenge::ChallengeRule;
use crate::classify::{end_of_chain, last_answer};
use crate::job::Promise;
use crate::media_type::media_types;
use crate::observation::Observation;
use crate::verdict::Classification;
use crate::{coding, page};

/// The bytes at the end of the redirects, decoded, if a record can promise them.
///
/// # Errors
/// The classification that a promise of bytes would have. Unlike `classify`, a redirect is not
/// enough: it has to lead to a complete response with a status that stands for the content itself, and
/// with the type that the URL promises.
pub fn promisable(
    seen: &Observation,
    challenges: &[ChallengeRule],
) -> Result<ServedBytes, Classification> {
    ends_well(seen, challenges)?;
    if let Some(odd) = seen.last().and_then(page::no_content) {
        return Err(Classification::new(State::Inconclusive, None, odd));
    }
    let is_readable = seen
        .last()
        .is_some_and(|last| coding::hidden_by(last).is_none());
    let Some(served) = seen
        .body
        .as_ref()
        .filter(|_| is_readable && seen.is_whole())
        .and_then(Body::served)
    else {
        let some_bytes = Promise {
            sha256: Some([0; 32]),
            ..Promise::default()
        };
        return Err(last_answer(&some_bytes, seen));
    };
    without_doubt(seen).map(|()| served)
}

/// The media type of the end of the redirects, without parameters, if a record can promise it.
///
/// # Errors
/// Like [`promisable`], or when the answer names no media type or several.
pub fn promisable_type(
    seen: &Observation,
    challenges: &[ChallengeRule],
) -> Result<String, Classification> {
    ends_well(seen, challenges)?;
    without_doubt(seen)?;
    let types = seen.last().map(media_types).unwrap_or_default();
    let essence = match types.as_slice() {
        [only] => only.split(';').next().unwrap_or_default().trim(),
        _ => "",
    };
    if essence.contains('/') {
        return Ok(essence.to_owned());
    }
    let problem = match types.as_slice() {
        [] => "answers without a content type".to_owned(),
        types => format!("answers with the content type {}", types.join(" and ")),
    };
    Err(Classification::new(
        State::Inconclusive,
        Reason::ContentType,
        problem,
    ))
}

/// A redirect that was observed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedRedirect {
    /// The status of the first answer.
    pub status: u16,
    /// The absolute URL of its `Location`.
    pub target: String,
}

/// The redirect of the first answer, if there is one and a record can promise it.
///
/// # Errors
/// Like [`promisable`], or when the target has credentials.
pub fn promisable_redirect(
    seen: &Observation,
    challenges: &[ChallengeRule],
) -> Result<Option<ServedRedirect>, Classification> {
    ends_well(seen, challenges)?;
    let redirect = seen
        .first()
        .and_then(|first| Some((first, first.redirect_target()?)));
    let Some((first, target)) = redirect else {
        return Ok(None);
    };
    without_doubt(seen)?;
    if first.shown_redirect_target().as_ref() != Some(&target) {
        return Err(Classification::new(
            State::Inconclusive,
            None,
            "redirects to a URL with credentials, which is never promised",
        ));
    }
    Ok(Some(ServedRedirect {
        status: first.status,
        target,
    }))
}

/// Whether the redirects lead to an answer with a good status that is no challenge.
fn ends_well(seen: &Observation, challenges: &[ChallengeRule]) -> Result<(), Classification> {
    let end = end_of_chain(&Promise::default(), seen, challenges);
    if end.state == State::Ok {
        Ok(())
    } else {
        Err(end)
    }
}

/// Whether the end of the redirects may be the content that the URL names.
fn without_doubt(seen: &Observation) -> Result<(), Classification> {
    match page::doubt(&Promise::default(), seen) {
        Some(doubt) => Err(Classification::new(
            State::Inconclusive,
            None,
            format!("answers with {doubt}"),
        )),
        None => Ok(()),
    }
}
