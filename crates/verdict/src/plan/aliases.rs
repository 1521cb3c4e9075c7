//! What is asked of a domain's other names.
//!
//! Usually one thing a day and name, and another the day after, until everything has had its
//! turn. Which, is a matter of the date alone, so that no run has to remember it.

use super::{Cnames, Known, PlanOptions};
use crate::{BodyUse, Job, JobKey, Promise};

/// The jobs of one cname, made from those of the domain itself.
pub(super) fn jobs_of(
    cname: &str,
    jobs: &[Job],
    options: PlanOptions,
    known: &impl Known,
) -> Vec<Job> {
    let mut jobs: Vec<Job> = jobs
        .iter()
        .filter(|job| !is_about_redirects(&job.promise))
        .map(|job| alias_of(job, cname))
        .collect();
    match options.cnames {
        Cnames::All => {}
        Cnames::None => jobs.clear(),
        Cnames::Rotate => {
            let turn = turn(&jobs, options.day).cloned();
            let has_turn = |key: &JobKey| turn.as_ref() == Some(key);
            jobs.retain(|job| has_turn(&job.key) || known.is_in_doubt(&job.key));
        }
    }
    jobs
}

/// Whose turn it is: in an order without neighbours, all come once before any comes twice.
fn turn(jobs: &[Job], day: u64) -> Option<&JobKey> {
    let mut keys: Vec<&JobKey> = jobs.iter().map(|job| &job.key).collect();
    keys.sort_by_cached_key(|key| (key.spread(0), *key));
    let index = day.checked_rem(keys.len() as u64)?;
    keys.get(usize::try_from(index).ok()?).copied()
}

/// The same question, asked elsewhere.
fn alias_of(job: &Job, cname: &str) -> Job {
    let key = JobKey {
        alias: Some(cname.to_owned()),
        ..job.key.clone()
    };
    let url = format!("{}://{cname}{}", key.scheme, key.path);
    // What is as promised is in the archive under its own name.
    let body = match job.body {
        BodyUse::Hash { at_most, .. } if job.promise.is_static() => BodyUse::Hash {
            at_most,
            keep: false,
        },
        _ => BodyUse::Skip,
    };
    Job {
        key,
        url,
        body,
        known: None,
        ..job.clone()
    }
}

/// An alias may well redirect to the domain first: nothing is wrong with that.
fn is_about_redirects(promise: &Promise) -> bool {
    promise.redirects_to.is_some()
        || promise.redirect_status.is_some()
        || promise
            .status
            .is_some_and(|status| (300..400).contains(&status))
}
