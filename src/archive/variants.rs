//! Captures of one URL that request headers tell apart.

use std::collections::BTreeSet;

use super::IndexedCapture;

/// The captures that are meant, if the archive has several variants of a URL. A variant has a header a line, such as
/// `accept: text/turtle`.
#[derive(Debug, Clone, Copy)]
pub enum VariantChoice<'a> {
    /// Those with exactly these headers, which the user has named; else the only variant that has these and others.
    Named(&'a [String]),
    /// Those of this variant; else those without variant, else all. A redirect to another origin loses the headers,
    /// and an archive may be older than the key `vary`.
    Like(Option<&'a str>),
}

impl VariantChoice<'_> {
    /// Retains the captures of the chosen variant of this URL.
    ///
    /// # Errors
    /// When the archive has no such variant, or when several are meant; the message names them.
    pub(super) fn retain(
        self,
        captures: &mut Vec<IndexedCapture>,
        url: &str,
    ) -> anyhow::Result<()> {
        let known: BTreeSet<_> = captures.iter().map(|it| it.line.vary.clone()).collect();
        let chosen = match self {
            VariantChoice::Named(headers) => Some(variant_with(&known, headers, url)?),
            VariantChoice::Like(variant) => {
                let is_known = |it: &Option<String>| known.contains(it);
                [variant.map(str::to_owned), None]
                    .into_iter()
                    .find(is_known)
            }
        };
        if let Some(chosen) = chosen {
            captures.retain(|it| it.line.vary == chosen);
        }
        Ok(())
    }
}

/// The variant with exactly these headers, else the only one that has these and others.
///
/// # Errors
/// When there is none, or when there are several; the message names them.
pub fn variant_with(
    known: &BTreeSet<Option<String>>,
    headers: &[String],
    url: &str,
) -> anyhow::Result<Option<String>> {
    let fitting: Vec<_> = known
        .iter()
        .filter(|it| has_headers(it.as_deref(), headers))
        .collect();
    let is_exact =
        |it: &&&Option<String>| it.iter().flat_map(|it| it.lines()).count() == headers.len();
    match (fitting.iter().find(is_exact), fitting.as_slice()) {
        (Some(variant), _) | (None, [variant]) => Ok((*variant).clone()),
        (None, []) => anyhow::bail!(
            "the archive has no capture of {url} ({}); `urldb archive list {url}` shows what it has",
            headers.join(", ")
        ),
        (None, several) => {
            let options: Vec<String> = several
                .iter()
                .flat_map(|it| it.iter())
                .map(|it| options_of(it))
                .collect();
            anyhow::bail!(
                "the archive has {} variants of {url}: say which with {}",
                several.len(),
                options.join(", or ")
            )
        }
    }
}

/// Whether a variant has all these headers.
pub fn has_headers(variant: Option<&str>, headers: &[String]) -> bool {
    let lines = variant.unwrap_or_default();
    headers
        .iter()
        .all(|header| lines.lines().any(|line| line == header))
}

/// The options of a command that name a variant.
fn options_of(variant: &str) -> String {
    let options: Vec<String> = variant
        .lines()
        .map(|line| format!("--header '{line}'"))
        .collect();
    options.join(" ")
}
