//! Words about one URL, for its page and for the table of its host.

use urldb_protocol::{State, UrlBelief, UrlOverview};
use urldb_render::one_line;

/// The folder and the name of a URL's path, for people.
pub(crate) fn path_parts(url: &UrlOverview) -> (String, String) {
    let split = url.path.rfind('/').filter(|_| url.request.is_none());
    let (folder, name) = url.path.split_at(split.map_or(0, |at| at + 1));
    let (folder, name) = match (folder, name) {
        (folder, "") => (String::new(), one_line(folder)),
        (folder, name) => (one_line(folder), one_line(name)),
    };
    let name = match &url.request {
        Some(_) => format!("{name} (another request than GET)"),
        None => name,
    };
    (folder, name)
}

/// Class and words of a URL's state.
pub(crate) fn state_of(url: &UrlOverview) -> (&'static str, String) {
    match (url.standing, url.state) {
        (UrlBelief::Affected, _) if url.comes_and_goes.is_some() => {
            ("w", "comes and goes".to_owned())
        }
        (UrlBelief::Affected, Some(State::Ok) | None) => ("b", "not tried".to_owned()),
        (UrlBelief::Affected, Some(state)) => ("b", state_in_words(state)),
        (UrlBelief::Unconfirmed, _) => ("w", "in doubt".to_owned()),
        (UrlBelief::Unknown, None) => ("o", "not checked".to_owned()),
        (UrlBelief::Unknown, Some(state)) => ("o", state_in_words(state)),
        (UrlBelief::Kept, _) => ("k", "kept".to_owned()),
    }
}

/// `server error`
pub(crate) fn state_in_words(state: State) -> String {
    match state {
        State::Ok => "kept".to_owned(),
        state => state.as_str().replace('-', " "),
    }
}
