//! Promised bytes that the archive lost: the URLs that serve others by now, and the ends of their notices.
//!
//! The facts of a URL are known only in a run that learned something about it: another run neither opens nor ends a
//! notice. After a run that saw other bytes, the ledger has their capture, so no later run can open the notice.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeSet, HashMap};

use urldb_protocol::{Because, LostContent, State};
use urldb_verdict::incident::{EvidenceFacts, LostEvidence, MemberKey, key_of_content, lacking};
use urldb_verdict::{BodyEnd, Job, JudgedJob};
use urldb_warc::Digest;

use super::outcomes::key_of_job;
use crate::archive::{ArchiveFiles, Catalogue};
use crate::config::Config;
use crate::ledger::{Content, IncidentFile, JobRecord, StatusUpdate};

/// The contents of which open notices say that the archive lost them.
pub(super) fn lost_contents(known: &[IncidentFile]) -> impl Iterator<Item = LostContent> {
    known.iter().flat_map(|file| {
        let state = file.log.state();
        let notice = state.open_notice();
        notice.map_or_else(Vec::new, |notice| lacking(notice).cloned().collect())
    })
}

/// Bytes of a URL that the archive may have.
#[derive(Debug)]
pub(super) struct SoughtContent {
    /// The URIs under which they may be archived.
    uris: Vec<String>,
    /// Whether a plain GET asks for them.
    is_get: bool,
    digest: Digest,
}

/// The lost bytes of a run so far.
#[derive(Debug, Default)]
pub(super) struct LostEvidenceTally {
    /// Those of open notices.
    watched: HashMap<MemberKey, LostContent>,
    /// The URLs of open notices whose promise has changed.
    accepted: Vec<MemberKey>,
    /// The URLs of open notices that served the promised bytes, and the file with their capture.
    captured: Vec<(MemberKey, String)>,
    /// The other URLs of open notices: somebody may have put the bytes back.
    unsettled: Vec<(MemberKey, SoughtContent)>,
    /// The URLs that served other bytes than the lost ones.
    lost: Vec<(LostEvidence, SoughtContent)>,
}

impl LostEvidenceTally {
    /// None, in a run before which these incidents were known.
    pub(super) fn watching(known: &[IncidentFile]) -> Self {
        let contents = lost_contents(known);
        Self {
            watched: contents.map(|it| (key_of_content(&it), it)).collect(),
            ..Self::default()
        }
    }

    /// Adds a job with a result. An alias has no archived bytes of its own.
    pub(super) fn add(&mut self, record: &JobRecord, update: &StatusUpdate<'_>) {
        let JudgedJob { job, .. } = &record.judged;
        if update.result.is_none() || job.key.alias.is_some() {
            return;
        }
        let key = key_of_job(job);
        if let Some(known) = self.watched.get(&key) {
            match end_of(known, record, update) {
                End::Accepted => self.accepted.push(key),
                End::Captured(file) => self.captured.push((key, file)),
                End::Sought(sought) => self.unsettled.push((key, sought)),
            }
        }
        self.lost.extend(lost(record, update));
    }

    /// Forgets captures in files that the run could not finish.
    pub(super) fn forget_captures(&mut self, files: &BTreeSet<String>) {
        self.captured.retain(|(_, file)| !files.contains(file));
    }

    /// The facts of the run, where the archive after the run `has` some of the contents.
    pub(super) fn facts(&mut self, has: impl Fn(&SoughtContent) -> bool) -> EvidenceFacts {
        let accepted = self.accepted.drain(..).map(|key| (key, Because::Accepted));
        let back = self
            .unsettled
            .drain(..)
            .filter_map(|(key, sought)| has(&sought).then_some(key));
        let recovered = self
            .captured
            .drain(..)
            .map(|(key, _)| key)
            .chain(back)
            .map(|key| (key, Because::Recovered));
        let ended = accepted.chain(recovered).collect();
        let lost = self.lost.drain(..);
        let lost = lost.filter_map(|(lost, sought)| (!has(&sought)).then_some(lost));
        EvidenceFacts {
            lost: lost.collect(),
            ended,
        }
    }
}

/// The end of a URL in a notice, as far as the record of its job shows.
enum End {
    Accepted,
    /// This file has the promised bytes.
    Captured(String),
    Sought(SoughtContent),
}

fn end_of(known: &LostContent, record: &JobRecord, update: &StatusUpdate<'_>) -> End {
    let JudgedJob { job, verdict, .. } = &record.judged;
    let promised: Vec<String> = job.promise.all_digests().map(|it| it.to_string()).collect();
    let digest = known.digests.first().and_then(|it| it.parse().ok());
    let (true, Some(digest)) = (known.is_promised_by(&promised), digest) else {
        return End::Accepted;
    };
    let content = update.entry.as_ref().and_then(|it| it.content.as_ref());
    // A body in an unrequested coding is as promised though its own digest is another one.
    let seen = seen_digest(record, &[BodyEnd::Complete]).filter(|_| verdict.state() == State::Ok);
    let is_promised = |content: &&Content| {
        let known = content.digest.parse::<Digest>().ok();
        known.as_ref() == Some(&digest) || known.is_some() && known == seen
    };
    let capture = content
        .filter(is_promised)
        .and_then(|it| it.capture.as_ref());
    match capture {
        Some(capture) => End::Captured(capture.file.clone()),
        None => End::Sought(sought(record, digest)),
    }
}

/// The URL, if the archive lost its promised bytes before, and this run got others: a whole body, or one that is longer
/// than promised.
fn lost(record: &JobRecord, update: &StatusUpdate<'_>) -> Option<(LostEvidence, SoughtContent)> {
    let JudgedJob { job, verdict, .. } = &record.judged;
    let content = update.before?.content.as_ref()?;
    let lost = content.lost?;
    let digest = promised_digest(job, content)?;
    let seen = seen_digest(record, &[BodyEnd::Complete, BodyEnd::Cut])?;
    let is_other = seen != digest && verdict.state() != State::Ok;
    if job.muted || !is_other || content.digest != digest.to_string() {
        return None;
    }
    let mut digests = vec![digest.to_string()];
    let further = job.promise.all_digests().map(|it| it.to_string());
    digests.extend(further.filter(|it| *it != content.digest));
    let MemberKey {
        url,
        request,
        variant,
    } = key_of_job(job);
    let evidence = LostEvidence {
        host: job.host().to_owned(),
        file: job.file.to_string(),
        categories: job.categories.to_vec(),
        content: LostContent {
            url,
            request,
            variant,
            digests,
            lost,
            left: None,
        },
    };
    Some((evidence, sought(record, digest)))
}

/// The SHA-256 of the promised bytes: as promised, or of a content that was verified against other digests.
fn promised_digest(job: &Job, content: &Content) -> Option<Digest> {
    let verified = || content.verified_sha256(&job.promise.strongest_digest()?);
    let sha256 = job.promise.sha256.or_else(verified)?;
    Some(Digest::sha256(sha256))
}

/// The digest of the body of a good answer, as sent, if it has one of these ends.
fn seen_digest(record: &JobRecord, ends: &[BodyEnd]) -> Option<Digest> {
    let JudgedJob {
        observations,
        verdict,
        ..
    } = &record.judged;
    let seen = observations.get(verdict.observation)?;
    let is_good = (200..300).contains(&seen.last()?.status);
    let body = seen.body.as_ref();
    Some(Digest::sha256(
        body.filter(|body| is_good && ends.contains(&body.end))?
            .sha256,
    ))
}

fn sought(record: &JobRecord, digest: Digest) -> SoughtContent {
    let JudgedJob {
        job,
        observations,
        verdict,
    } = &record.judged;
    let seen = observations.get(verdict.observation);
    let uris: BTreeSet<String> = seen
        .and_then(|seen| seen.last())
        .map(|hop| &hop.url)
        .cloned()
        .into_iter()
        .collect();
    let own = job.url.to_string();
    let uris = uris.into_iter().filter(|uri| *uri != own);
    SoughtContent {
        uris: std::iter::once(own.clone()).chain(uris).collect(),
        is_get: job.key.request.is_none(),
        digest,
    }
}

/// Looks contents up in the archive, which is opened by the first lookup.
pub(super) struct ArchivedContents<'a> {
    config: &'a Config,
    opened: OnceCell<Option<Catalogue>>,
    /// The files of which no record could be read.
    unreadable: RefCell<BTreeSet<String>>,
}

impl<'a> ArchivedContents<'a> {
    pub(super) fn of(config: &'a Config) -> Self {
        Self {
            config,
            opened: OnceCell::new(),
            unreadable: RefCell::default(),
        }
    }

    /// Whether the archive has a capture with these bytes, in a file that can be read. An archive that cannot be
    /// opened has none.
    pub(super) fn have(&self, sought: &SoughtContent) -> bool {
        let open = || {
            ArchiveFiles::open(self.config)
                .and_then(Catalogue::open)
                .ok()
        };
        let Some(catalogue) = self.opened.get_or_init(open) else {
            return false;
        };
        sought.uris.iter().any(|uri| {
            let captures = if sought.is_get {
                catalogue.find(uri, None)
            } else {
                catalogue.all_of(uri)
            };
            captures
                .unwrap_or_default()
                .into_iter()
                .filter(|capture| {
                    !capture.is_revisit()
                        && capture.line.digest.parse().as_ref() == Ok(&sought.digest)
                })
                .any(|capture| self.is_readable(catalogue, capture.line))
        })
    }

    fn is_readable(&self, catalogue: &Catalogue, line: urldb_warc::CdxjLine) -> bool {
        let file = line.filename.clone();
        if self.unreadable.borrow().contains(&file) {
            return false;
        }
        let is_readable = catalogue.payload_at(line).is_ok();
        if !is_readable {
            self.unreadable.borrow_mut().insert(file);
        }
        is_readable
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;
    use std::time::Duration;

    use jiff::Timestamp;
    use proptest::prelude::*;
    use urldb_files::Root;
    use urldb_protocol::Reason;
    use urldb_verdict::{Body, Failure, FailureKind, Hop, Observation, Sent, VerdictOptions};

    use super::*;
    use crate::ledger::update::tests::{HOST, judged_job, key};
    use crate::ledger::{Archived, Capture, KnownCaptures, Ledger, RunPoint, update};

    /// The answer of the server.
    #[derive(Debug, Clone, Copy, PartialEq)]
    enum Sight {
        Whole(u8),
        /// A body that is longer than promised, and not read to its end.
        TooLong,
        /// A page in place of the answer, which shows nothing about the URL.
        Challenge,
        Down,
        NotAsked,
    }

    #[derive(Debug, Clone)]
    #[expect(clippy::struct_excessive_bools)]
    struct Run {
        promise: u8,
        sight: Sight,
        /// The archive loses all files before the run.
        loses: bool,
        /// Somebody puts these bytes into the archive before the run.
        puts_back: Option<u8>,
        /// The archive has room.
        stores: bool,
        /// The run finishes its files.
        finishes: bool,
        muted: bool,
    }

    fn run() -> impl Strategy<Value = Run> {
        let sight = prop_oneof![
            8 => (0_u8..3).prop_map(Sight::Whole),
            1 => Just(Sight::TooLong),
            1 => Just(Sight::Challenge),
            1 => Just(Sight::Down),
            1 => Just(Sight::NotAsked),
        ];
        let rare = || prop::bool::weighted(0.1);
        (
            prop_oneof![5 => Just(0_u8), 1 => Just(1_u8)],
            sight,
            prop::bool::weighted(0.4),
            prop::option::weighted(0.1, 0_u8..2),
            (rare(), rare(), rare()),
        )
            .prop_map(
                |(promise, sight, loses, puts_back, (full, fails, muted))| Run {
                    promise,
                    sight,
                    loses,
                    puts_back,
                    stores: !full,
                    finishes: !fails,
                    muted,
                },
            )
    }

    fn digest(bytes: u8) -> Digest {
        Digest::sha256([bytes; 32])
    }

    fn observation(bytes: u8, end: BodyEnd) -> Observation {
        let url = format!("http://{HOST}/");
        let body = Body {
            length: 1,
            sha256: [bytes; 32],
            compared: None,
            end,
            cut: None,
            decoded: None,
            digests: Box::default(),
            decoded_digests: Box::default(),
            conversion: None,
            bytes: None,
        };
        Observation {
            started: Timestamp::UNIX_EPOCH,
            elapsed: Duration::ZERO,
            hops: vec![Hop {
                url,
                at: Timestamp::UNIX_EPOCH,
                address: None,
                certificate: None,
                sent: Sent::default(),
                version: Cow::Borrowed("HTTP/1.1"),
                protocols: vec![],
                authority: None,
                origin: urldb_verdict::Origin::default(),
                status: 200,
                reason_phrase: String::new(),
                headers: vec![],
                beginning: urldb_verdict::Beginning::default(),
            }],
            body: Some(body),
            start: vec![],
            page: None,
            failure: None,
        }
    }

    fn judged(run: &Run) -> JudgedJob {
        let (state, observation) = match run.sight {
            Sight::Whole(bytes) if bytes == run.promise => {
                (State::Ok, observation(bytes, BodyEnd::Complete))
            }
            Sight::Whole(bytes) => (State::Changed, observation(bytes, BodyEnd::Complete)),
            Sight::TooLong => (State::Changed, observation(9, BodyEnd::Cut)),
            Sight::Challenge => (State::Blocked, observation(8, BodyEnd::Complete)),
            Sight::Down | Sight::NotAsked => {
                let failure = Failure {
                    kind: FailureKind::Connect,
                    detail: String::new(),
                    certificate: None,
                };
                let nothing = Observation::of_nothing(failure, Timestamp::UNIX_EPOCH);
                let state = match run.sight {
                    Sight::Down => State::Unreachable,
                    _ => State::Inconclusive,
                };
                (state, nothing)
            }
        };
        let reason = (state == State::Inconclusive).then_some(Reason::RunEnded);
        let mut judged = judged_job(state, reason, vec![observation]);
        judged.job.promise.sha256 = Some([run.promise; 32]);
        judged.job.muted = run.muted;
        judged
    }

    /// The archive with one file for each content, the ledger, and the open notice.
    struct World {
        ledger: Ledger,
        files: BTreeSet<u8>,
        watched: Option<LostContent>,
        /// The bytes whose capture was lost before any result since: their number.
        lost: Option<u8>,
        /// The last content of which the ledger has a capture.
        captured: Option<u8>,
        _folder: tempfile::TempDir,
    }

    impl World {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let mut ledger = Ledger::new(&Root::new(folder.path(), "the ledger"));
            ledger.open(HOST).unwrap();
            Self {
                ledger,
                files: BTreeSet::new(),
                watched: None,
                lost: None,
                captured: None,
                _folder: folder,
            }
        }

        /// As the writer of the archive.
        fn stored(&mut self, sight: Sight, known: Option<Content>) -> Option<Content> {
            let bytes = match sight {
                Sight::Whole(bytes) => bytes,
                Sight::Challenge => 8,
                _ => return known,
            };
            let name = digest(bytes).to_string();
            self.files.insert(bytes);
            let known = known.filter(|it| it.digest == name && it.capture.is_some());
            known.or(Some(Content {
                digest: name,
                fits: None,
                etag: None,
                last_modified: None,
                redirects: None,
                capture: Some(Capture {
                    record: "urn:uuid:1".to_owned(),
                    date: "2026-11-01T00:00:00Z".to_owned(),
                    uri: format!("http://{HOST}/"),
                    file: format!("{bytes}.warc.gz"),
                    digest: None,
                }),
                lost: None,
            }))
        }

        /// The facts of a run.
        fn run(&mut self, run: &Run, now: Timestamp) -> EvidenceFacts {
            if run.loses {
                let names = self.files.iter().map(|it| format!("{it}.warc.gz"));
                let names: BTreeSet<String> = names.collect();
                self.files.clear();
                self.ledger.forget_captures(HOST, &names, now).unwrap();
                self.lost = self.captured.take().or(self.lost);
            }
            self.files.extend(run.puts_back);
            let before = self.ledger.get(&key());
            let known = before.as_ref().and_then(|entry| entry.content.clone());
            let old_files = self.files.clone();
            let content = if run.stores {
                self.stored(run.sight, known)
            } else {
                known
            };
            let record = JobRecord {
                judged: judged(run),
                at: now,
                archived: Archived {
                    captures: KnownCaptures {
                        content,
                        bad_response: None,
                    },
                    ..Archived::default()
                },
            };
            let point = RunPoint {
                id: "now",
                started: now,
            };
            let options = VerdictOptions::default();
            let update = update(before.as_ref(), &record, false, point, &options);
            let watched = self.watched.iter().cloned();
            let mut tally = LostEvidenceTally {
                watched: watched.map(|it| (key_of_content(&it), it)).collect(),
                ..LostEvidenceTally::default()
            };
            tally.add(&record, &update);
            if let Some(entry) = update.entry {
                self.ledger.set(&key(), entry, now);
            }
            if !run.finishes {
                let new = self.files.difference(&old_files);
                let names: BTreeSet<String> = new.map(|it| format!("{it}.warc.gz")).collect();
                self.files = old_files;
                tally.forget_captures(&names);
                self.ledger.forget_captures(HOST, &names, now).unwrap();
            }
            tally.facts(|sought| self.files.iter().any(|it| digest(*it) == sought.digest))
        }
    }

    proptest! {
        /// The notice is opened by the first result after a loss, if that is other bytes than the promised and lost
        /// ones, and ends by the first result after which the archive has them or others are promised.
        #[test]
        fn lost_evidence_is_told_and_ends_with_its_reason(
            runs in prop::collection::vec(run(), 1..16),
        ) {
            let mut world = World::new();
            for (number, run) in runs.iter().enumerate() {
                let now = Timestamp::from_second(i64::try_from(number).unwrap()).unwrap();
                let before = world.watched.clone();
                let facts = world.run(run, now);
                let has_promised = world.files.contains(&run.promise);
                let is_result = !matches!(run.sight, Sight::NotAsked | Sight::Challenge);
                let is_other = match run.sight {
                    Sight::Whole(bytes) => bytes != run.promise,
                    Sight::TooLong => true,
                    _ => false,
                };
                let is_lost = world.lost == Some(run.promise)
                    && is_other && !has_promised && !run.muted;
                prop_assert_eq!(facts.lost.len(), usize::from(is_lost), "{:?}", facts);
                let end = before.filter(|_| is_result).and_then(|known| {
                    let is_same = known.digests == [digest(run.promise).to_string()];
                    match (is_same, has_promised) {
                        (false, _) => Some(Because::Accepted),
                        (true, true) => Some(Because::Recovered),
                        (true, false) => None,
                    }
                });
                prop_assert_eq!(facts.ended.values().next().copied(), end, "{:?}", facts);
                if end.is_some() {
                    world.watched = None;
                }
                if let Some(lost) = facts.lost.into_iter().next() {
                    world.watched = Some(lost.content);
                }
                // The ledger has the bytes that were stored last.
                let stored = match run.sight {
                    Sight::Whole(bytes) if run.stores => Some(bytes),
                    Sight::Challenge if run.stores && world.lost.is_none() => Some(8),
                    _ => None,
                };
                if let Some(bytes) = stored {
                    let is_captured = run.finishes || world.captured == Some(bytes);
                    let is_captured = is_captured || world.files.contains(&bytes);
                    world.captured = Some(bytes).filter(|_| is_captured);
                    world.lost = Some(bytes).filter(|_| !is_captured);
                }
            }
        }
    }
}
