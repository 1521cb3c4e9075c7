//! The digests of a promise and of an answer, as texts show them.

use urldb_protocol::{Evidence, Observed, Promised};

use crate::shell::{AskedUrl, command_line, curl_words};

/// Digests with their algorithms, such as `sha256`.
pub(crate) type Digests<'a> = Vec<(&'a str, &'a str)>;

/// The promised digests that texts show: the strongest.
pub(crate) fn promised(promised: &Promised) -> Digests<'_> {
    promised
        .all_digests()
        .into_iter()
        .next_back()
        .into_iter()
        .collect()
}

/// The digests of an answer that texts show beside those of [`promised`].
pub(crate) fn served<'a>(promised: &Promised, observed: &'a Observed) -> Digests<'a> {
    if promised.digests.is_empty() {
        return observed
            .sha256
            .iter()
            .map(|hex| ("sha256", hex.as_str()))
            .collect();
    }
    let strongest = promised.all_digests().into_iter().next_back();
    let mut served = observed.all_digests();
    served.retain(|(name, _)| strongest.is_some_and(|(strongest, _)| *name == strongest));
    served
}

/// The promised and the served digests that differ, each of the same algorithms; those of [`promised`] and
/// [`served`] if none is known to differ.
pub(crate) fn compared(evidence: &Evidence) -> (Digests<'_>, Digests<'_>) {
    let Evidence {
        promised: promise,
        observed,
        ..
    } = evidence;
    let (mut wanted, mut got) = (promise.all_digests(), observed.all_digests());
    let served_all = got.clone();
    wanted.retain(|(name, hex)| {
        served_all
            .iter()
            .any(|(other, got)| name == other && hex != got)
    });
    if wanted.is_empty() || promise.digests.is_empty() {
        return (promised(promise), served(promise, observed));
    }
    got.retain(|(name, _)| wanted.iter().any(|(other, _)| name == other));
    (wanted, got)
}

/// The promised digests that the answer has.
pub(crate) fn fitting(evidence: &Evidence) -> Digests<'_> {
    let served = evidence.observed.all_digests();
    let mut promised = evidence.promised.all_digests();
    promised.retain(|digest| served.contains(digest));
    promised
}

/// The name of an algorithm for people, such as `SHA-256`.
pub fn algorithm(name: &str) -> String {
    let upper = name.to_ascii_uppercase();
    match upper.strip_prefix("SHA") {
        Some(bits) => format!("SHA-{bits}"),
        None => upper,
    }
}

/// A command line that prints the digest of what a URL serves; `None` for an algorithm without such a program.
pub fn digest_line(asked: AskedUrl<'_>, name: &str) -> Option<String> {
    let program = match name {
        "md5" => "md5sum",
        "sha1" => "sha1sum",
        "sha256" => "sha256sum",
        "sha384" => "sha384sum",
        "sha512" => "sha512sum",
        _ => return None,
    };
    let curl = command_line(&curl_words(&["-sSL"], asked))?;
    Some(format!("{curl} | {program}"))
}
