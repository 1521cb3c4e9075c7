//! Asks sources for sought bytes, and verifies what comes.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use urldb_fetch::{FetchOptions, Fetcher};
use urldb_protocol::State;
use urldb_verdict::{
    Body, BodyEnd, Coding, Decision, Hop, Job, JudgedJob, Observation, VerdictOptions, classify,
    coding_of, undecided,
};

use super::source::{Source, options};
use crate::config::Config;
use crate::copies::Content;
use crate::run;
use crate::stop::Stop;

/// Most requests for one body that breaks off.
const MOST_REQUESTS: usize = 8;

/// The longest sleep before the next look at whether the program should stop.
const TICK: Duration = Duration::from_millis(100);

/// The status of an answer with the rest of a body.
const STATUS_PARTIAL: u16 = 206;

/// Asks sources.
pub struct Asker<'a> {
    fetcher: Fetcher,
    verdict: &'a VerdictOptions,
    stop: &'a Stop,
    read: Arc<AtomicU64>,
    options: FetchOptions,
    /// The end of the last request to each host.
    asked: RefCell<HashMap<String, Instant>>,
}

/// The answer of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The bytes, verified.
    Verified,
    /// The reason why the source does not have the bytes, for people.
    Other(String),
    /// The reason why the host did not answer.
    Silent(String),
    /// The refusal of the host.
    Refused(String),
    /// The last answer of the host, after which the source was not asked.
    NotAsked(String),
}

impl Answer {
    /// The sentence for people, unless the bytes came.
    pub fn why(&self) -> Option<String> {
        match self {
            Self::Verified => None,
            Self::Other(why) | Self::Silent(why) | Self::Refused(why) => Some(why.clone()),
            Self::NotAsked(why) => Some(format!("not asked, since the host {why}")),
        }
    }

    /// The reason why the host is asked nothing more.
    pub fn end(&self) -> Option<&str> {
        match self {
            Self::Silent(why) | Self::Refused(why) => Some(why),
            _ => None,
        }
    }
}

/// A body that broke off.
struct Begun {
    /// Number of bytes in the file.
    length: u64,
    /// The value of `If-Range`; without one, the body begins anew.
    validator: Option<String>,
}

impl<'a> Asker<'a> {
    /// An asker of these sources.
    ///
    /// # Errors
    /// When the HTTP client cannot be set up.
    pub fn new<'s>(
        config: &'a Config,
        sources: impl Iterator<Item = &'s Source>,
        stop: &'a Stop,
    ) -> anyhow::Result<Self> {
        let read = Arc::new(AtomicU64::new(0));
        let options = FetchOptions {
            bytes_read: Some(Arc::clone(&read)),
            ..options(config, sources)
        };
        Ok(Self {
            fetcher: run::fetcher(config, &options)?,
            verdict: &config.check.verdict,
            stop,
            read,
            options,
            asked: RefCell::default(),
        })
    }

    /// Counts the bytes that have come, until somebody sets it to 0.
    pub fn read(&self) -> &Arc<AtomicU64> {
        &self.read
    }

    /// Writes the content from a source into an empty file, and goes on by ranges (RFC 9110, 14) where the body breaks off.
    /// Without the verified content, the file is empty again.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn copy(
        &self,
        source: &Source,
        content: &Content,
        file: &mut File,
    ) -> anyhow::Result<Answer> {
        let answer = self.copy_once(source, content, file)?;
        if answer != Answer::Verified {
            empty(file)?;
        }
        Ok(answer)
    }

    fn copy_once(
        &self,
        source: &Source,
        content: &Content,
        file: &mut File,
    ) -> anyhow::Result<Answer> {
        let mut begun = Begun {
            length: 0,
            validator: None,
        };
        let mut answer = Answer::Other("was not asked".to_owned());
        let mut elapsed = Duration::ZERO;
        // The time limit of a body, however many requests it takes.
        let timeout = self.options.default_host.timeout;
        for _ in 0..MOST_REQUESTS {
            let job = source.job(content, begun.headers(), 0, true);
            let Some((job, mut seen)) = self.fetch_one(job) else {
                break;
            };
            answer = self.answer(&job, &seen);
            elapsed += seen.elapsed;
            let Some(last) = seen.last().filter(|last| (200..300).contains(&last.status)) else {
                break;
            };
            if !begun.goes_on(last) {
                empty(file)?;
                begun = Begun {
                    length: 0,
                    validator: validator(last),
                };
            }
            let is_gzip = coding_of(&last.list("content-encoding")) == Some(Coding::Gzip);
            let Some(body) = &mut seen.body else { break };
            let end = append(body, file)?;
            let was = std::mem::replace(&mut begun.length, file.stream_position()?);
            if end == BodyEnd::Complete || answer == Answer::Verified {
                return verified(content, file, is_gzip, answer);
            }
            // The next request would get no further, or has no time.
            if end == BodyEnd::Cut || begun.length == was || elapsed >= timeout {
                break;
            }
        }
        Ok(answer)
    }

    /// Fetches a job once, after the interval of its host.
    fn fetch_one(&self, job: Job) -> Option<(Job, Observation)> {
        let host = job.url.host().to_owned();
        let interval = self
            .options
            .hosts
            .get(&host)
            .unwrap_or(&self.options.default_host)
            .host_interval;
        let due = self.asked.borrow().get(&host).map(|last| *last + interval);
        while !self.stop.is_set()
            && let Some(rest) = due.and_then(|due| due.checked_duration_since(Instant::now()))
            && !rest.is_zero()
        {
            std::thread::sleep(rest.min(TICK));
        }
        let mut found = None;
        self.fetch(std::iter::once(job), |judged| {
            let JudgedJob {
                job,
                mut observations,
                ..
            } = judged;
            found = observations.pop().map(|seen| (job, seen));
        });
        self.asked.borrow_mut().insert(host, Instant::now());
        found
    }

    /// Fetches each job once.
    fn fetch(&self, jobs: impl Iterator<Item = Job> + Send, done: impl FnMut(JudgedJob)) {
        let once = |job: &Job, seen: &[Observation], options: &VerdictOptions| {
            if seen.is_empty() {
                return Decision::Retry {
                    wait: Duration::ZERO,
                    fresh: false,
                };
            }
            Decision::Final(undecided(job, seen, options))
        };
        self.fetcher
            .fetch_all(jobs, once, self.verdict, done, self.stop);
    }

    fn answer(&self, job: &Job, seen: &Observation) -> Answer {
        let classification = classify(&job.promise, seen, &self.verdict.challenges);
        if classification.state == State::Ok
            && seen
                .last()
                .is_some_and(|last| last.status != STATUS_PARTIAL)
        {
            return Answer::Verified;
        }
        let why = classification.message();
        match seen.last().map(|last| last.status) {
            None => Answer::Silent(why),
            Some(429 | 503) => Answer::Refused(why),
            Some(_) => Answer::Other(why),
        }
    }
}

impl Begun {
    /// The headers of a request for the rest.
    fn headers(&self) -> Vec<(String, String)> {
        let validator = self.validator.as_ref().filter(|_| self.length > 0);
        validator.map_or_else(Vec::new, |validator| {
            vec![
                ("range".to_owned(), format!("bytes={}-", self.length)),
                ("if-range".to_owned(), validator.clone()),
            ]
        })
    }

    /// Whether a response is the rest.
    fn goes_on(&self, last: &Hop) -> bool {
        let range = last.header("content-range").unwrap_or_default();
        let start = format!("bytes {}-", self.length);
        self.length > 0 && last.status == STATUS_PARTIAL && range.trim().starts_with(&start)
    }
}

/// The strong validator of a response (RFC 9110, 13.1.5).
fn validator(last: &Hop) -> Option<String> {
    last.header("etag")
        .filter(|etag| !etag.starts_with("W/"))
        .or_else(|| last.header("last-modified"))
        .map(str::to_owned)
}

fn empty(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(())
}

/// Appends what came of a body.
fn append(body: &mut Body, file: &mut File) -> anyhow::Result<BodyEnd> {
    let bytes = body
        .bytes
        .as_mut()
        .context("there is no room for the body in the folder of temporary files")?;
    io::copy(&mut bytes.reader()?, file).context("the file cannot be written")?;
    Ok(body.end)
}

/// Verifies the whole file, and else what it comes to without the coding gzip.
fn verified(
    content: &Content,
    file: &mut File,
    is_gzip: bool,
    answer: Answer,
) -> anyhow::Result<Answer> {
    if is_content(content, file)? || is_gzip && unpack(content, file)? {
        return Ok(Answer::Verified);
    }
    Ok(match answer {
        Answer::Verified => {
            Answer::Other("comes in a coding that urldb does not undo here".to_owned())
        }
        other => other,
    })
}

/// Undoes the coding gzip, if that yields the content.
fn unpack(content: &Content, file: &mut File) -> anyhow::Result<bool> {
    file.seek(SeekFrom::Start(0))?;
    let mut plain = urldb_files::unnamed_file()?;
    let longest = content
        .length()
        .map_or(u64::MAX, |length| length.saturating_add(1));
    let packed = io::BufReader::new(&mut *file);
    let copied = io::copy(&mut urldb_fetch::gunzip(packed).take(longest), &mut plain);
    if copied.is_err() || !is_content(content, &mut plain)? {
        return Ok(false);
    }
    empty(file)?;
    plain.seek(SeekFrom::Start(0))?;
    io::copy(&mut plain, file).context("the file cannot be written")?;
    Ok(true)
}

/// Whether a file has exactly these bytes.
fn is_content(content: &Content, file: &mut File) -> io::Result<bool> {
    file.seek(SeekFrom::Start(0))?;
    content.is_read_from(io::BufReader::new(file))
}
