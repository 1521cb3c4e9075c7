//! Jobs for the cnames of a domain.
//!
//! By default one record a day is requested from each cname, all records in turn. The date alone
//! selects the record, so no run has to remember it.

use urldb_canon::RequestUrl;

use super::options::{Cnames, PastRuns, PlanOptions};
use crate::job::{BodyUse, Job, JobKey, Keep, Promise, spread};

/// The position of some records of a domain among all requests of the domain that can be made to its
/// cnames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rotation {
    /// Number of these requests.
    turns: u64,
    /// Number of these requests for earlier records.
    passed: u64,
}

impl Rotation {
    /// The rotation over this number of requests, before the first record. Without requests nothing
    /// has its turn.
    pub fn over(turns: u64) -> Self {
        Self { turns, passed: 0 }
    }

    /// Number of the jobs that can be made to cnames too.
    pub fn turns_of(jobs: &[Job]) -> u64 {
        jobs.iter().filter(|job| has_aliases(job)).count() as u64
    }

    /// Goes on to the next records.
    pub(super) fn pass(&mut self, jobs: &[Job]) {
        self.passed += Self::turns_of(jobs);
    }

    /// The index, among the requests of these records, of the request whose turn it is at `cname` today.
    /// Every request has one turn before any request has a second one. Neighbours in the file are no
    /// neighbours in time, and cnames have different turns.
    fn turn(self, cname: &str, day: u64) -> Option<u64> {
        let day = day.checked_rem(self.turns)?;
        let start = spread(0, [cname]) % self.turns;
        let steps = u128::from(day) * u128::from(stride(self.turns)) + u128::from(start);
        u64::try_from(steps % u128::from(self.turns))
            .ok()?
            .checked_sub(self.passed)
    }
}

/// A step of about 0.618 `count` that leads to every number below `count`: it has no divisor in
/// common with `count`.
fn stride(count: u64) -> u64 {
    let wanted = u128::from(count) * 618 / 1000;
    let mut step = u64::try_from(wanted).unwrap_or_default().max(1);
    while common_divisor(count, step) != 1 {
        step -= 1;
    }
    step
}

fn common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// The jobs of one cname, made from those of the domain itself for some of its records.
pub(super) fn jobs_of(
    cname: &str,
    jobs: &[Job],
    options: PlanOptions,
    rotation: Rotation,
    past: &impl PastRuns,
) -> Vec<Job> {
    let turn = rotation.turn(cname, options.day);
    let is_due = |index: u64, alias: &Job| match options.cnames {
        Cnames::All => true,
        Cnames::None => false,
        Cnames::Rotate => turn == Some(index) || past.is_in_doubt(&alias.key),
    };
    let asked = jobs.iter().filter(|job| has_aliases(job));
    (0..)
        .zip(asked)
        .filter_map(|(index, job)| alias_of(job, cname).filter(|alias| is_due(index, alias)))
        .collect()
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

/// Whether a job of the domain is requested from its cnames too.
fn has_aliases(job: &Job) -> bool {
    !is_about_redirects(&job.promise)
}

/// Whether a promise is about redirects. An alias may redirect to the domain, which breaks no promise.
pub(super) fn is_about_redirects(promise: &Promise) -> bool {
    promise.redirects_to.is_some()
        || promise.redirect_status.is_some()
        || promise
            .status
            .is_some_and(|status| (300..400).contains(&status))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_request_has_one_turn_in_as_many_days() {
        for turns in (1..60).chain([1000, 1 << 16]) {
            let rotation = Rotation::over(turns);
            let days = (0..turns).map(|day| rotation.turn("a.org", day).unwrap());
            let days: Vec<u64> = days.collect();
            let distinct: BTreeSet<u64> = days.iter().copied().collect();
            assert_eq!(distinct, (0..turns).collect(), "{turns}");
            let neighbours = days.windows(2).filter(|two| two[0].abs_diff(two[1]) == 1);
            assert!(turns < 20 || neighbours.count() == 0, "{turns}");
        }
        let turns = |cname| Rotation::over(1000).turn(cname, 7);
        assert_ne!(turns("a.org"), turns("b.org"));
        assert_eq!(Rotation::over(0).turn("a.org", 7), None);
    }
}
