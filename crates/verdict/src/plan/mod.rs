//! Turns records into [`Job`]s. Pure.

mod aliases;
mod domain_plan;
mod options;
mod rehash;
mod selection;
mod shard;

use urldb_format::{DomainFile, Metadata, Record};

use crate::job::Job;
use domain_plan::promise;

pub use aliases::Rotation;
pub use domain_plan::{DomainPlan, SkippedRecords, pseudo_status};
pub use options::{Cnames, FileOptions, KeptBodies, PastRuns, PlanOptions};
pub use rehash::Rehash;
pub use selection::{ChangedRecords, NamedRecord, Selection};
pub use shard::{InvalidShard, Shard};

/// The jobs of one domain file.
///
/// Of several records for one request, the first counts. A record with an error has no job. If the
/// selection names records, only the hosts that it names are asked for them.
pub fn jobs_of(
    file: &DomainFile,
    selection: &Selection,
    options: FileOptions<'_>,
    past: &impl PastRuns,
) -> Vec<Job> {
    let metadata = file.metadata();
    let mut domain = DomainPlan::new(file.host(), metadata, selection, options);
    let may_repeat = !file.has_ascending_paths();
    let jobs: Vec<Job> = file
        .records()
        .flat_map(|entry| domain.jobs_of_record(entry, may_repeat, past))
        .collect();
    let mut rotation = Rotation::over(Rotation::turns_of(&jobs));
    with_aliases(jobs, metadata, selection, options.plan, &mut rotation, past)
}

/// Adds the jobs of the cnames to the jobs of a domain for some of its records. `rotation` is over all
/// records, and goes on to the next ones.
pub fn with_aliases(
    mut jobs: Vec<Job>,
    metadata: &Metadata,
    selection: &Selection,
    mut options: PlanOptions,
    rotation: &mut Rotation,
    past: &impl PastRuns,
) -> Vec<Job> {
    if !selection.records.is_empty() {
        options.cnames = Cnames::All;
    }
    let aliases: Vec<Job> = metadata
        .cnames
        .iter()
        .flat_map(|cname| aliases::jobs_of(cname, &jobs, options, *rotation, past))
        .collect();
    rotation.pass(&jobs);
    jobs.extend(aliases);
    if !selection.records.is_empty() {
        jobs.retain(|job| selection.names_job(&job.key));
    }
    jobs
}

/// Whether cnames are asked for this record too: they are not, if it promises a redirect.
pub fn is_asked_of_cnames(record: &Record) -> bool {
    !aliases::is_about_redirects(&promise(record, ""))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use urldb_format::Digest;

    use super::*;
    use crate::job::{BodyUse, JobKey, Keep};

    const FILE: &str = "\
---
https: true
---
_path: /a
content-length: 3
content-sha256: '1111111111111111111111111111111111111111111111111111111111111111'
---
_path: /b
categories:
- deprecated
---
_path: /c
categories:
- core
- redirect-ok
content-type: X-302-Redirect
redirects-to: /elsewhere
";

    const OPTIONS: PlanOptions = PlanOptions {
        max_body: 100,
        max_capture: 7,
        whole: false,
        kept_bodies: KeptBodies::None,
        cnames: Cnames::None,
        day: 0,
        rehash: Rehash::ALWAYS,
    };

    fn jobs(selection: &Selection, kept_bodies: KeptBodies) -> Vec<Job> {
        let file = DomainFile::parse(Path::new("example.org.yaml"), FILE.as_bytes()).file;
        let options = PlanOptions {
            kept_bodies,
            cnames: Cnames::Rotate,
            ..OPTIONS
        };
        planned(&file, selection, options, &())
    }

    fn planned(
        file: &DomainFile,
        selection: &Selection,
        plan: PlanOptions,
        past: &impl PastRuns,
    ) -> Vec<Job> {
        let options = FileOptions {
            name: &"urldb/example.org.yaml".into(),
            own_keys: &[],
            plan,
        };
        jobs_of(file, selection, options, past)
    }

    fn urls(jobs: &[Job]) -> Vec<&str> {
        jobs.iter().map(|job| job.url.as_str()).collect()
    }

    #[test]
    fn both_schemes_are_asked_and_deprecated_records_are_not() {
        let jobs = jobs(&Selection::default(), KeptBodies::Static);
        assert_eq!(
            urls(&jobs),
            [
                "http://example.org/a",
                "https://example.org/a",
                "http://example.org/c",
                "https://example.org/c"
            ]
        );
        assert_eq!(
            jobs[0].body,
            BodyUse::Hash {
                at_most: 3,
                keep: Keep::Everything,
                beyond: 7
            }
        );
        assert_eq!(jobs[2].body, BodyUse::Skip);
        assert_eq!(jobs[2].promise.redirect_status, Some(302));
        assert_eq!(
            jobs[3].promise.redirects_to.as_deref(),
            Some("https://example.org/elsewhere")
        );
        assert!(jobs[2].promise.redirect_ok);
        assert_eq!(jobs[2].line, 12);
    }

    fn aliases(cnames: Cnames, day: u64, past: &impl PastRuns) -> Vec<String> {
        let text = FILE.replacen("https: true", "cnames:\n- a.org\n- b.org\nhttps: true", 1);
        let file = DomainFile::parse(Path::new("example.org.yaml"), text.as_bytes()).file;
        let options = PlanOptions {
            cnames,
            day,
            ..OPTIONS
        };
        let jobs = planned(&file, &Selection::default(), options, past);
        let aliases = jobs.iter().filter(|job| job.key.alias.is_some());
        aliases
            .map(|job| {
                assert_eq!(job.key.domain, "example.org");
                assert!(job.promise.is_static(), "a promised redirect is not asked");
                job.url.to_string()
            })
            .collect()
    }

    #[test]
    fn cnames_rotate_through_all_records() {
        let mut seen = std::collections::BTreeMap::<String, u32>::new();
        for day in 0..4 {
            let urls = aliases(Cnames::Rotate, day, &());
            assert_eq!(urls.len(), 2, "one for each name");
            assert_eq!(urls, aliases(Cnames::Rotate, day, &()));
            assert_eq!(urls, aliases(Cnames::Rotate, day + 2, &()));
            for url in urls {
                *seen.entry(url).or_default() += 1;
            }
        }
        let expected = [
            "http://a.org/a",
            "http://b.org/a",
            "https://a.org/a",
            "https://b.org/a",
        ];
        assert!(seen.keys().eq(&expected), "{seen:?}");
        assert!(seen.values().all(|times| *times == 2), "{seen:?}");
    }

    #[test]
    fn cnames_can_all_be_asked_or_none() {
        assert_eq!(aliases(Cnames::All, 0, &()).len(), 4);
        assert!(aliases(Cnames::None, 0, &()).is_empty());
    }

    #[test]
    fn an_alias_in_doubt_is_asked_out_of_turn() {
        struct Doubtful;
        impl PastRuns for Doubtful {
            fn is_in_doubt(&self, key: &JobKey) -> bool {
                key.alias.as_deref() == Some("b.org")
            }
        }
        let urls = aliases(Cnames::Rotate, 0, &Doubtful);
        assert_eq!(urls.len(), 3, "{urls:?}");
        assert!(aliases(Cnames::None, 0, &Doubtful).is_empty());
    }

    /// Content that has the further digest and not the SHA-256 is not the promised content.
    #[test]
    fn archived_content_is_known_by_each_promised_digest() {
        struct Verified(u8);
        impl PastRuns for Verified {
            fn is_archived(&self, _: &JobKey, _: &[u8; 32]) -> bool {
                true
            }
            fn verified_sha256(&self, _: &JobKey, _: &Digest) -> Option<[u8; 32]> {
                Some([self.0; 32])
            }
        }
        let both = "content-md5: 99999999999999999999999999999999\ncontent-sha256";
        let text = FILE.replacen("content-sha256", both, 1);
        let file = DomainFile::parse(Path::new("example.org.yaml"), text.as_bytes()).file;
        for (verified, kept) in [(0x11, Keep::Changes), (0x22, Keep::Everything)] {
            let options = PlanOptions {
                kept_bodies: KeptBodies::Static,
                ..OPTIONS
            };
            let jobs = planned(&file, &Selection::default(), options, &Verified(verified));
            assert!(
                matches!(jobs[0].body, BodyUse::Hash { keep, .. } if keep == kept),
                "{verified}"
            );
        }
    }

    fn named(path: &str, alias: Option<&str>) -> NamedRecord {
        NamedRecord {
            domain: "example.org".into(),
            path: path.into(),
            alias: alias.map(str::to_owned),
        }
    }

    #[test]
    fn an_alias_that_is_named_is_asked_and_the_domain_is_not() {
        let text = FILE.replacen("https: true", "cnames:\n- a.org\n- b.org", 1);
        let file = DomainFile::parse(Path::new("example.org.yaml"), text.as_bytes()).file;
        let asked = |records: &[NamedRecord]| {
            let selection = Selection {
                records: records.to_vec(),
                ..Selection::default()
            };
            let jobs = planned(&file, &selection, OPTIONS, &());
            jobs.iter()
                .map(|job| job.url.to_string())
                .collect::<Vec<_>>()
        };
        let alias = named("/a", Some("b.org"));
        assert_eq!(asked(std::slice::from_ref(&alias)), ["http://b.org/a"]);
        assert_eq!(
            asked(&[alias, named("/b", None)]),
            ["http://example.org/b", "http://b.org/a"]
        );
        let redirect = named("/c", Some("a.org"));
        assert!(
            asked(&[redirect]).is_empty(),
            "an alias keeps no promised redirect"
        );
    }

    #[test]
    fn selections_narrow_what_is_asked() {
        let only = |selection| urls(&jobs(&selection, KeptBodies::None)).len();
        assert_eq!(
            only(Selection {
                categories: vec!["core".into()],
                ..Selection::default()
            }),
            2
        );
        assert_eq!(
            only(Selection {
                path_prefix: Some("/a".into()),
                ..Selection::default()
            }),
            2
        );
        assert_eq!(
            only(Selection {
                domains: vec!["other.org".into()],
                ..Selection::default()
            }),
            0
        );
        let named = Selection {
            records: vec![named("/b", None)],
            ..Selection::default()
        };
        assert_eq!(
            only(named),
            2,
            "a deprecated record that is named is asked for"
        );
    }

    /// The request and the promise of each job.
    fn asked(text: &str) -> Vec<String> {
        let file = DomainFile::parse(Path::new("example.org.yaml"), text.as_bytes()).file;
        let options = PlanOptions {
            cnames: Cnames::All,
            ..OPTIONS
        };
        let jobs = planned(&file, &Selection::default(), options, &());
        let asked = jobs
            .iter()
            .map(|job| format!("{} {:?} {:?}", job.url, job.request, job.promise));
        asked.collect()
    }

    #[test]
    fn a_changed_promise_is_a_change_of_what_is_asked_or_expected() {
        const BASE: &str = "---\nhttps: true\n---\n_path: /a\nmethod: POST\n";
        let digest = "1".repeat(64);
        for line in [
            "catalogue:\n  a: b",
            "categories:\n- core",
            "categories:\n- content-type-change-ok",
            "categories:\n- deprecated",
            "categories:\n- redirect-ok",
            "content-length: 3",
            &format!("content-sha256: '{digest}'"),
            "content-type: text/html",
            "description: x",
            "mute-reason: x",
            "mute-until: '2030-01-01'",
            "name: x",
            "own: x",
            "redirects-to: http://a.test/",
            "request-body: a=1",
            "request-content-type: text/plain",
            "request-headers:\n  accept: x",
            "status: 201",
        ] {
            let body = if line.starts_with("request-content-type") {
                "request-body: a=1\n"
            } else {
                ""
            };
            let base = format!("{BASE}{body}");
            let changed = format!("{base}{line}\n");
            let parse =
                |text: &str| DomainFile::parse(Path::new("example.org.yaml"), text.as_bytes()).file;
            let (before, after) = (parse(&base), parse(&changed));
            let difference = urldb_format::difference(&before, &after);
            let is_marked = difference
                .records
                .iter()
                .flat_map(|record| &record.keys)
                .any(|key| key.is_promise);
            assert_eq!(is_marked, asked(&base) != asked(&changed), "{line}");
        }
        for line in ["cnames:\n- a.test", "http: false", "own: x"] {
            let changed = BASE.replacen("https: true", &format!("https: true\n{line}"), 1);
            let [before, after] = [BASE, &changed]
                .map(|text| DomainFile::parse(Path::new("example.org.yaml"), text.as_bytes()).file);
            let difference = urldb_format::difference(&before, &after);
            let is_marked = difference.metadata.iter().any(|key| key.is_promise);
            assert_eq!(is_marked, asked(BASE) != asked(&changed), "{line}");
        }
    }
}
