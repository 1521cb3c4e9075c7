//! Jobs for the cnames of a domain.
//!
//! By default one record a day is requested from each cname, all records in turn. The date alone
//! selects the record, so no run has to remember it.

use urldb_canon::RequestUrl;

use super::options::{Cnames, PastRuns, PlanOptions};
use crate::job::{BodyUse, Job, JobKey, Keep};
use crate::promise::Promise;

/// The jobs of one cname, made from those of the domain itself.
pub(super) fn jobs_of(
    cname: &str,
    jobs: &[Job],
    options: PlanOptions,
    past: &impl PastRuns,
) -> Vec<Job> {
    let mut jobs: Vec<Job> = jobs
        .iter()
        .filter(|job| !is_about_redirects(&job.promise))
        .filter_map(|job| alias_of(job, cname))
        .collect();
    match options.cnames {
        Cnames::All => {}
        Cnames::None => jobs.clear(),
        Cnames::Rotate => {
            let turn = turn(&jobs, options.day).cloned();
            let has_turn = |key: &JobKey| turn.as_ref() == Some(key);
            jobs.retain(|job| has_turn(&job.key) || past.is_in_doubt(&job.key));
        }
    }
    jobs
}

/// The key whose turn it is today. Every key has one turn before any key has a second one; the order
/// is pseudo-random, so that neighbours in the file are not neighbours in time.
fn turn(jobs: &[Job], day: u64) -> Option<&JobKey> {
    let mut keys: Vec<&JobKey> = jobs.iter().map(|job| &job.key).collect();
    keys.sort_by_cached_key(|key| (key.spread(0), *key));
    let index = day.checked_rem(keys.len() as u64)?;
    keys.get(usize::try_from(index).ok()?).copied()
}

/// The same request to a cname; `None` if the cname is not a valid host.
fn alias_of(job: &Job, cname: &str) -> Option<Job> {
    let key = JobKey {
        alias: Some(cname.to_owned()),
        ..job.key.clone()
    };
    let url = RequestUrl::new(key.scheme, cname, &key.path)?;
    let body = match job.body {
        // Content that is as promised is in the archive under the domain's own name.
        BodyUse::Hash {
            at_most,
            keep: Keep::Everything,
            beyond,
        } if job.promise.is_static() && job.request.is_safe() => BodyUse::Hash {
            at_most,
            keep: Keep::Changes,
            beyond,
        },
        body if job.promise.is_static() => body,
        _ => BodyUse::Skip,
    };
    Some(Job {
        key,
        url,
        body,
        validators: None,
        ..job.clone()
    })
}

/// Whether a promise is about redirects. An alias may redirect to the domain, which breaks no promise.
pub(super) fn is_about_redirects(promise: &Promise) -> bool {
    promise.redirects_to.is_some()
        || promise.redirect_status.is_some()
        || promise
            .status
            .is_some_and(|status| (300..400).contains(&status))
}
