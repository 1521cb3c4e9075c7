//! Turns records into [`Job`]s. Pure.

mod aliases;
mod options;
mod rehash;
mod selection;
mod shard;
mod skipped;

use std::collections::HashSet;
use std::sync::Arc;

use urldb_canon::{RequestUrl, Scheme};
use urldb_format::{DomainFile, Metadata, Record, RecordEntry, lint_promise};
use urldb_text::Finding;

use crate::job::{BodyUse, Job, JobKey, Keep};
use crate::promise::Promise;
use crate::request::Request;

pub use aliases::Rotation;
pub use options::{Cnames, FileOptions, KeptBodies, PastRuns, PlanOptions};
pub use rehash::Rehash;
pub use selection::{ChangedRecords, NamedRecord, Selection};
pub use shard::{InvalidShard, Shard};
pub use skipped::SkippedRecords;

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
    let jobs = jobs_of_part(file, selection, options, past);
    let mut rotation = Rotation::over(Rotation::turns_of(&jobs));
    let metadata = file.metadata();
    with_aliases(jobs, metadata, selection, options.plan, &mut rotation, past)
}

/// The jobs of the domain itself for a part of its file. [`with_aliases`] adds those of its cnames.
pub fn jobs_of_part(
    file: &DomainFile,
    selection: &Selection,
    options: FileOptions<'_>,
    past: &impl PastRuns,
) -> Vec<Job> {
    let host = file.host();
    if !selection.wants_domain(host) {
        return vec![];
    }
    let schemes = file.metadata().schemes().into_iter();
    let roots = schemes.filter_map(|scheme| Some((scheme, RequestUrl::new(scheme, host, "/")?)));
    let roots: Vec<_> = roots.collect();
    let records = file.records().size_hint().1.unwrap_or_default();
    let mut identities = HashSet::new();
    let are_unique = file.has_ascending_paths();
    let mut jobs = Vec::with_capacity(records * roots.len());
    for entry in file.records() {
        let record = entry.record();
        let is_asked = selection.asks_for(host, record)
            && (are_unique || identities.insert(file.identity_of(record)));
        if is_asked && is_sound(entry, options.own_keys) {
            jobs.extend(
                roots
                    .iter()
                    .filter_map(|(scheme, root)| job_of(entry, *scheme, root, options, past)),
            );
        }
    }
    jobs
}

/// Adds the jobs of the cnames to the jobs of a domain for a part of its file. `rotation` is over all
/// parts, and goes from part to part.
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
    let cnames = metadata.cnames.iter();
    let aliases: Vec<Job> = cnames
        .flat_map(|cname| aliases::jobs_of(cname, &jobs, options, *rotation, past))
        .collect();
    rotation.pass(&jobs);
    jobs.extend(aliases);
    if !selection.records.is_empty() {
        jobs.retain(|job| selection.names_job(&job.key));
    }
    jobs
}

/// Whether the whole record was understood and has no error.
fn is_sound(entry: &RecordEntry, own_keys: &[String]) -> bool {
    let findings = lint_promise(entry, own_keys);
    entry.is_intact() && !findings.iter().any(Finding::is_error)
}

/// Whether cnames are asked for this record too: they are not, if it promises a redirect.
pub fn is_asked_of_cnames(record: &Record) -> bool {
    !aliases::is_about_redirects(&promise(record, ""))
}

/// The job of one record over one scheme, at the host with this root; `None` if its path makes no URL.
fn job_of(
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

fn promise(record: &Record, url: &str) -> Promise {
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

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

    fn jobs(selection: &Selection, kept_bodies: KeptBodies) -> Vec<Job> {
        let file = DomainFile::parse(Path::new("example.org.yaml"), FILE.as_bytes()).file;
        let options = PlanOptions {
            max_body: 100,
            max_capture: 7,
            whole: false,
            kept_bodies,
            cnames: Cnames::Rotate,
            day: 0,
            rehash: Rehash::ALWAYS,
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
            max_body: 100,
            max_capture: 7,
            whole: false,
            kept_bodies: KeptBodies::None,
            cnames,
            day,
            rehash: Rehash::ALWAYS,
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
            fn is_archived(&self, _: &JobKey, _: &[u8; 32]) -> bool {
                false
            }
            fn is_in_doubt(&self, key: &JobKey) -> bool {
                key.alias.as_deref() == Some("b.org")
            }
        }
        let urls = aliases(Cnames::Rotate, 0, &Doubtful);
        assert_eq!(urls.len(), 3, "{urls:?}");
        assert!(aliases(Cnames::None, 0, &Doubtful).is_empty());
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
        let options = PlanOptions {
            max_body: 100,
            max_capture: 0,
            whole: false,
            kept_bodies: KeptBodies::None,
            cnames: Cnames::None,
            day: 0,
            rehash: Rehash::ALWAYS,
        };
        let asked = |records: &[NamedRecord]| {
            let selection = Selection {
                records: records.to_vec(),
                ..Selection::default()
            };
            let jobs = planned(&file, &selection, options, &());
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
            max_body: 100,
            max_capture: 0,
            whole: false,
            kept_bodies: KeptBodies::None,
            cnames: Cnames::All,
            day: 0,
            rehash: Rehash::ALWAYS,
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
            let mut keys = difference.records.iter().flat_map(|record| &record.keys);
            let is_marked = keys.any(|key| key.is_promise);
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
