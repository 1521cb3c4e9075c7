//! Keeps what was seen: a full capture of each content, and revisits while it stays the same.
//!
//! A run writes WARC files, the first once there is something to write, and
//! merges their lines into the index when it is finished. What the ledger says
//! of a URL's last capture decides whether a revisit will do.

use std::io::{self, Read};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use anyhow::Context;
use jiff::Timestamp;
use urldb_warc::cdxj::Place;
use urldb_warc::digest::Algorithm;
use urldb_warc::file::Style;
use urldb_warc::http::{self, ResponseHead, StoredHead, StoredRequest, render_request_head};
use urldb_warc::index::Update;
use urldb_warc::record::Truncated;
use urldb_warc::recover::{Recovered, recover};
use urldb_warc::{
    CdxjLine, Digest, Draft, Exchange, Original, RecordId, Series, Version, WarcDate,
};

use super::keys::{Keys, lookup_url};
use crate::ambient::Ambient;
use crate::config;
use crate::fetch::{Body, BodyEnd, Hop, Observation};
use crate::ledger::{Capture, Content};
use crate::plan::Job;

/// The archive of a run.
pub struct Archive {
    folder: PathBuf,
    ambient: Ambient,
    version: Version,
    digest: Algorithm,
    series: Series,
    lines: Vec<CdxjLine>,
}

impl Archive {
    /// Opens the archive in a folder. What a killed run has left there is made
    /// whole first; each line of the returned list says what was found.
    pub fn open(
        folder: &Path,
        how: &config::Archive,
        ambient: Ambient,
    ) -> anyhow::Result<(Self, Vec<String>)> {
        let mut notes = vec![];
        if folder.is_dir() {
            for recovered in recover(folder).context("cannot recover an unfinished archive file")? {
                notes.push(describe(&recovered));
            }
            // Those that were just recovered, and those of runs that died before the index.
            let mut update = Update::new(&index_in(folder));
            for file in urldb_warc::index::unlisted(folder).context("cannot use the index")? {
                if let Err(error) = update.add_file(&file, &Keys) {
                    notes.push(format!("an archive file is not indexed in full: {error}"));
                }
            }
            update.finish().context(NOT_INDEXED)?;
        }
        let host = hostname::get().unwrap_or_default();
        let style = Style {
            version: how.version,
            ..Style::default()
        };
        let series = Series::new(folder, "urldb", &host.to_string_lossy())
            .with_style(style)
            .with_target_size(how.max_size);
        Ok((
            Self {
                folder: folder.to_owned(),
                ambient,
                version: how.version,
                digest: how.digest,
                series,
                lines: vec![],
            },
            notes,
        ))
    }

    /// Archives the last response of one observation of a job, if it has a
    /// body that was kept or is known, and returns what the ledger is to
    /// remember of the content.
    ///
    /// # Errors
    /// When it cannot be written. The file is as it was before.
    pub fn store(
        &mut self,
        job: &Job,
        seen: &mut Observation,
        known: Option<&Content>,
    ) -> anyhow::Result<Option<Content>> {
        let is_whole = seen.is_whole();
        let Observation { hops, body, .. } = seen;
        let (Some(last), Some(body)) = (hops.last(), body.as_mut()) else {
            return Ok(None);
        };
        let answer = Answer {
            job,
            last,
            digest: Digest::sha256(body.sha256),
        };
        let digest = answer.digest.to_string();
        let same =
            known.filter(|content| content.digest == digest && body.end == BodyEnd::Complete);
        if let Some(Content {
            capture: Some(capture),
            ..
        }) = same
        {
            self.store_revisit(&answer, capture)?;
            return Ok(same.cloned());
        }
        let capture = self.store_response(&answer, body)?;
        if !is_whole {
            return Ok(None);
        }
        Ok(Some(Content {
            digest,
            etag: last.header("etag").map(str::to_owned),
            last_modified: last.header("last-modified").map(str::to_owned),
            capture,
        }))
    }

    fn store_revisit(&mut self, answer: &Answer<'_>, capture: &Capture) -> anyhow::Result<()> {
        let original = Original {
            record_id: capture
                .record
                .parse()
                .context("the ledger names a capture that has no valid record id")?,
            target_uri: answer.asked().map_or_else(
                || capture.uri.clone(),
                |asked| lookup_url(&capture.uri, &asked),
            ),
            date: capture
                .date
                .parse()
                .context("the ledger names a capture that has no valid date")?,
            payload_digest: match &capture.digest {
                Some(digest) => digest
                    .parse()
                    .context("the ledger names a capture that has no valid digest")?,
                None => answer.digest.clone(),
            },
        };
        let id = new_id(self.ambient);
        let date = warc_date(answer.last.at)?;
        let exchange = answer.exchange(&date);
        let draft = exchange.revisit_identical(&id, &original, vec![])?;
        self.append(&draft, None, io::empty(), 0)?;
        // Without its request a revisit could not be indexed anew.
        if let Some(asked) = answer.asked() {
            self.ask(&asked);
            self.store_request(answer, &exchange, &id)?;
        }
        Ok(())
    }

    /// Writes what was asked, beside the answer with this id.
    fn store_request(
        &mut self,
        answer: &Answer<'_>,
        exchange: &Exchange<'_>,
        id: &RecordId,
    ) -> anyhow::Result<()> {
        let request = exchange.request(&new_id(self.ambient), id, answer.request_head()?)?;
        let sent = answer.request_body();
        self.append(&request, None, sent, sent.len() as u64)?;
        Ok(())
    }

    /// Takes a request into the key of the answer that was written last.
    fn ask(&mut self, asked: &StoredRequest) {
        if let Some(line) = self.lines.last_mut() {
            line.ask(asked, &Keys);
        }
    }

    /// Writes request and response. `None` when the body was not kept.
    fn store_response(
        &mut self,
        answer: &Answer<'_>,
        body: &mut Body,
    ) -> anyhow::Result<Option<Capture>> {
        let Some(bytes) = body.bytes.as_mut() else {
            return Ok(None);
        };
        let length = bytes.length();
        let truncated = match body.end {
            BodyEnd::Complete => None,
            BodyEnd::Cut => Some(Truncated::Length),
            BodyEnd::Broken => Some(Truncated::Disconnect),
        };
        let id = new_id(self.ambient);
        let date = warc_date(answer.last.at)?;
        let exchange = answer.exchange(&date);
        let payload = match self.digest {
            Algorithm::Sha256 => answer.digest.clone(),
            Algorithm::Sha1 => Digest::of(Algorithm::Sha1, bytes.reader()?)?.0,
        };
        let head = answer.response_head(length)?;
        let mut response = exchange.response(&id, head.clone(), &payload, truncated)?;
        response.add_block_digest(self.digest, bytes.reader()?)?;
        let file = self.append(&response, Some(&head), bytes.reader()?, length)?;
        if let Some(asked) = answer.asked() {
            self.ask(&asked);
        }
        self.store_request(answer, &exchange, &id)?;
        Ok(Some(Capture {
            record: id.as_str().to_owned(),
            date: date.as_str().to_owned(),
            uri: answer.last.url.clone(),
            file,
            digest: (payload != answer.digest).then(|| payload.to_string()),
        }))
    }

    /// Writes a record, and returns the name of the file that it is in.
    fn append(
        &mut self,
        draft: &Draft,
        head: Option<&[u8]>,
        body: impl Read,
        length: u64,
    ) -> anyhow::Result<String> {
        let ambient = self.ambient;
        let file = self.series.file(
            || {
                std::fs::create_dir_all(&self.folder).with_context(|| {
                    format!("cannot make the archive folder {}", self.folder.display())
                })?;
                warc_date((ambient.now)())
            },
            |date, name| warcinfo(self.version, &new_id(ambient), date, name),
        )?;
        let extent = file.append(draft, body, length)?;
        let head = head
            .map(|mut bytes| StoredHead::read(&mut bytes))
            .transpose()?
            .flatten();
        let place = Place {
            filename: file.name(),
            extent,
        };
        self.lines.extend(CdxjLine::of_record(
            &draft.header,
            head.as_ref(),
            place,
            urldb_canon::surt,
        ));
        Ok(file.name().to_owned())
    }

    /// Closes the last file and merges all lines into the index. Returns the files.
    pub fn finish(self) -> anyhow::Result<Vec<PathBuf>> {
        let files = self
            .series
            .finish()
            .context("cannot finish the archive file")?;
        urldb_warc::index::merge(&index_in(&self.folder), &self.lines).context(NOT_INDEXED)?;
        Ok(files)
    }
}

const NOT_INDEXED: &str = "cannot update the archive's index";

fn index_in(folder: &Path) -> PathBuf {
    folder.join(urldb_warc::index::FILE_NAME)
}

fn new_id(ambient: Ambient) -> RecordId {
    RecordId::from_random((ambient.random)())
}

fn warcinfo(version: Version, id: &RecordId, date: &WarcDate, name: &str) -> anyhow::Result<Draft> {
    let software = concat!("urldb/", env!("CARGO_PKG_VERSION"));
    let format = version.name().replace("WARC/", "WARC File Format ");
    let fields = [("software", software), ("format", format.as_str())];
    Ok(urldb_warc::record::warcinfo(id, date, name, &fields)?)
}

/// To the second, so that an index finds the record by the very time it is asked for.
fn warc_date(at: Timestamp) -> anyhow::Result<WarcDate> {
    Ok(at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string().parse()?)
}

fn describe(recovered: &Recovered) -> String {
    let kept = recovered.file.as_ref().map_or_else(
        || "nothing of it was whole".to_owned(),
        |file| format!("{} records kept in {}", recovered.records, file.display()),
    );
    let aside = recovered
        .damaged
        .as_ref()
        .map(|file| format!("; the damaged rest is in {}", file.display()))
        .unwrap_or_default();
    format!("an earlier run left an unfinished archive file: {kept}{aside}")
}

/// One answer of the network, on its way into records.
struct Answer<'a> {
    job: &'a Job,
    last: &'a Hop,
    digest: Digest,
}

impl Answer<'_> {
    fn exchange<'b>(&'b self, date: &'b WarcDate) -> Exchange<'b> {
        let ip_address: Option<IpAddr> = self.last.address.map(|address| address.ip());
        Exchange {
            target_uri: &self.last.url,
            date,
            ip_address,
        }
    }

    fn response_head(&self, body_length: u64) -> anyhow::Result<Vec<u8>> {
        let head = ResponseHead {
            version: if self.last.version == "HTTP/1.0" {
                http::Version::Http10
            } else {
                http::Version::Http11
            },
            status: self.last.status,
            reason: &self.last.reason_phrase,
            fields: &self.last.headers,
            body_length,
        };
        Ok(head.render()?)
    }

    /// The body that was sent: redirects may have dropped it.
    fn request_body(&self) -> &[u8] {
        let sent = self.sent("content-length");
        let body = self.job.request.body.as_deref();
        body.filter(|_| sent.is_some())
            .unwrap_or_default()
            .as_bytes()
    }

    /// What was asked, if it was no GET.
    fn asked(&self) -> Option<StoredRequest> {
        let request = &self.job.request;
        let body = self.request_body();
        let is_as_declared = request.body.is_none() || !body.is_empty();
        (request.method != "GET" && is_as_declared).then(|| StoredRequest {
            method: request.method.clone(),
            content_type: String::from_utf8_lossy(self.sent("content-type").unwrap_or_default())
                .into_owned(),
            body: body.to_owned(),
        })
    }

    /// A header that was sent.
    fn sent(&self, name: &str) -> Option<&[u8]> {
        let mut headers = self.last.request_headers.iter();
        let found = headers.find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_slice())
    }

    fn request_head(&self) -> anyhow::Result<Vec<u8>> {
        let url = url::Url::parse(&self.last.url)?;
        let target = &url[url::Position::BeforePath..url::Position::AfterQuery];
        Ok(render_request_head(
            &self.job.request.method,
            target,
            &self.last.request_headers,
        )?)
    }
}
