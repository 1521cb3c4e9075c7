//! Files that come in another form than promised.

use std::collections::BTreeMap;

use crate::conversion::Conversion;
use crate::verdict::JudgedJob;

/// The conversion of the content that a URL serves. Only repeated fetches look for one.
pub(super) fn conversion_of(judged: &JudgedJob) -> Option<Conversion> {
    let decided = judged
        .observations
        .get(judged.verdict.observation)?
        .body
        .as_ref()?
        .compared_sha256();
    judged
        .observations
        .iter()
        .filter_map(|seen| seen.body.as_ref())
        .find_map(|body| {
            let is_same = body.compared_sha256() == decided;
            body.conversion.filter(|_| is_same)
        })
}

/// The sentence about these conversions, by the number of their URLs.
pub(super) fn sentence(converted: &BTreeMap<Conversion, u64>, urls: u64, asked: u64) -> String {
    let mut each: Vec<(&Conversion, u64)> =
        converted.iter().map(|(it, urls)| (it, *urls)).collect();
    each.sort_by_key(|(_, urls)| std::cmp::Reverse(*urls));
    let subject = match urls {
        1 => "serves".to_owned(),
        _ => format!("{urls} of {asked} URLs serve"),
    };
    if let [(conversion, _)] = &each[..] {
        return format!("{subject} the promised content {conversion}");
    }
    let each = each
        .iter()
        .map(|(conversion, urls)| format!("{urls} {conversion}"))
        .collect::<Vec<_>>()
        .join(", ");
    format!("{subject} the promised content in another form: {each}")
}
