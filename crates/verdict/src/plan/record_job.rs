//! Turns one record into the job of one request.

use std::sync::Arc;

use urldb_canon::{RequestUrl, Scheme};
use urldb_format::{Record, RecordEntry};

use super::options::{FileOptions, KeptBodies, PastRuns, PlanOptions};
use crate::job::{BodyUse, Job, JobKey, Keep};
use crate::promise::Promise;
use crate::request::Request;

/// The job of one record over one scheme, at the host with this root; `None` if its path makes no URL.
pub(super) fn job_of(
    entry: &RecordEntry,
    scheme: Scheme,
    root: &RequestUrl,
    options: FileOptions<'_>,
    past: &impl PastRuns,
) -> Option<Job> {
    let record = entry.record();
    let FileOptions { name, plan, .. } = options;
    let key = JobKey {
        domain: root.host().to_owned(),
        path: record.path.clone(),
        request: record.request_key(),
        alias: None,
        scheme,
    };
    let url = root.at_path(&record.path)?;
    let promise = promise(record, url.as_str());
    let is_archived = promise
        .sha256
        .is_some_and(|digest| past.is_archived(&key, &digest));
    let request = Request::of(record);
    // A request that may change something is not repeated: its only response is kept.
    let is_known = is_archived && request.is_safe();
    let body = body_use(&promise, plan, is_known);
    let digest = promise.sha256.filter(|_| !plan.rehash.is_due(&key));
    let validators = digest.and_then(|digest| past.validators(&key, &digest));
    Some(Job {
        key,
        url,
        file: Arc::clone(name),
        line: entry.line(),
        categories: match record.categories.as_slice() {
            // Empty lists share one.
            [] => Arc::default(),
            categories => categories.into(),
        },
        promise,
        request,
        body,
        muted: record.mute_until.is_some() && record.is_muted(plan.today()),
        validators: validators.map(Box::new),
    })
}

/// The use of a body; `is_known` says that the archive holds the promised content, and that a
/// changed one is fetched again.
fn body_use(promise: &Promise, options: PlanOptions, is_known: bool) -> BodyUse {
    let promised = promise.length.filter(|_| !options.whole);
    let keep = match (promise.is_static(), options.kept_bodies) {
        (true, KeptBodies::None) => Keep::Nothing,
        (true, KeptBodies::Static | KeptBodies::All) if is_known => Keep::Changes,
        (true, KeptBodies::Static | KeptBodies::All) | (false, KeptBodies::All) => Keep::Everything,
        (false, KeptBodies::None | KeptBodies::Static) => return BodyUse::Skip,
    };
    BodyUse::Hash {
        at_most: promised.map_or(options.max_body, |length| length.min(options.max_body)),
        keep,
        beyond: options.max_capture,
    }
}

/// The promise of a record that is served at `url`.
pub(super) fn promise(record: &Record, url: &str) -> Promise {
    Promise {
        length: record.content_length,
        sha256: record.sha256(),
        content_type: record.content_type.clone(),
        redirect_status: record.content_type.as_deref().and_then(pseudo_type),
        status: record.status,
        redirects_to: record
            .redirects_to
            .as_deref()
            .map(|target| absolute(url, target)),
        canonical: None,
        redirect_ok: record.has_category("redirect-ok"),
        content_type_change_ok: record.has_category("content-type-change-ok"),
    }
}

/// The status of a pseudo type such as `X-301-Redirect`.
fn pseudo_type(content_type: &str) -> Option<u16> {
    content_type
        .strip_prefix("X-")?
        .strip_suffix("-Redirect")?
        .parse()
        .ok()
}

fn absolute(url: &str, target: &str) -> String {
    let joined = url::Url::parse(url).and_then(|base| base.join(target));
    joined.map_or_else(|_| target.to_owned(), String::from)
}
