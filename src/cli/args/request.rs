//! The options that say which request is meant, where it is not a plain GET.

use std::io::{self, Read};
use std::path::Path;

use anyhow::Context as _;
use urldb_format::Record;
use urldb_warc::http::StoredRequest;

/// Bytes that a request's body has at most: domain files are for people to read.
const LARGEST_BODY: u64 = 1 << 20;

/// The method and the body of a request.
#[derive(Debug, clap::Args)]
struct RequestArgs {
    /// The method; GET, or POST where --data is given
    #[arg(long, value_name = "METHOD")]
    method: Option<String>,
    /// The body of the request: text, @FILE, or @- for standard input
    #[arg(long, value_name = "DATA")]
    data: Option<String>,
    /// The media type of the body
    #[arg(long, value_name = "TYPE", requires = "data")]
    request_content_type: Option<String>,
}

/// The request of a new record.
#[derive(Debug, clap::Args)]
pub(crate) struct RecordArgs {
    #[command(flatten)]
    request: RequestArgs,
    /// One more header to send, such as 'Accept: text/csv'; the database is public, so no secrets
    #[arg(long = "header", value_name = "NAME: VALUE")]
    headers: Vec<String>,
}

/// The request whose captures are meant.
#[derive(Debug, clap::Args)]
pub(crate) struct AnsweredArgs {
    #[command(flatten)]
    request: RequestArgs,
    /// A request header that tells captures of the URL apart, such as 'Accept: text/csv'
    #[arg(long = "header", value_name = "NAME: VALUE")]
    headers: Vec<String>,
}

impl AnsweredArgs {
    /// Whether any of the options is there.
    pub(crate) fn is_given(&self) -> bool {
        self.has_request() || !self.headers.is_empty()
    }

    /// Whether the options name a method or a body.
    pub(crate) fn has_request(&self) -> bool {
        self.request.method.is_some() || self.request.data.is_some()
    }

    /// The headers as a variant has them: `accept: text/csv`.
    pub(crate) fn headers(&self) -> anyhow::Result<Vec<String>> {
        self.headers
            .iter()
            .map(|header| {
                let (name, value) = split_header(header)?;
                Ok(format!("{}: {value}", name.to_ascii_lowercase()))
            })
            .collect()
    }

    /// The request as an archive knows it; `None` for a GET. Files are looked for in `folder`.
    pub(crate) fn stored(&self, folder: &Path) -> anyhow::Result<Option<StoredRequest>> {
        let Some(method) = self.request.method()? else {
            return Ok(None);
        };
        let body = self.request.body(folder)?.map(|body| body.bytes);
        let content_type = &self.request.request_content_type;
        Ok(Some(StoredRequest {
            method,
            content_type: content_type.clone().unwrap_or_default(),
            body: body.unwrap_or_default(),
        }))
    }
}

impl RecordArgs {
    /// Whether the body comes from standard input.
    pub(crate) fn reads_stdin(&self) -> bool {
        self.request.data.as_deref() == Some("@-")
    }

    /// A record with the request alone. Names of files are relative to `folder`.
    pub(crate) fn record(&self, folder: &Path) -> anyhow::Result<Record> {
        let content_type = &self.request.request_content_type;
        let body = self.request.body(folder)?;
        let mut record = Record {
            method: self.request.method()?,
            request_body: body.map(RequestBody::into_text).transpose()?,
            request_content_type: content_type.clone(),
            ..Record::default()
        };
        let values = content_type.iter().chain(&self.headers);
        for text in values {
            anyhow::ensure!(
                !text.chars().any(char::is_control),
                "{text:?} cannot be sent in a header: it has a control character"
            );
        }
        for header in &self.headers {
            let (name, value) = split_header(header)?;
            let is_type = name.eq_ignore_ascii_case("content-type");
            anyhow::ensure!(
                !(is_type && content_type.is_some()),
                "the content type is given twice: leave out --header {name:?}"
            );
            let before = record.request_headers.insert(name, value);
            anyhow::ensure!(before.is_none(), "the header {name} is given twice");
        }
        Ok(record)
    }
}

impl RequestArgs {
    /// The method, as a record has it: GET goes without saying.
    fn method(&self) -> anyhow::Result<Option<String>> {
        let method = match (&self.method, &self.data) {
            (Some(method), _) => method.as_str(),
            (None, Some(_)) => "POST",
            (None, None) => "GET",
        };
        anyhow::ensure!(
            !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_uppercase()),
            "{method:?} is no method: methods are words in upper case, such as POST"
        );
        anyhow::ensure!(
            self.data.is_none() || !matches!(method, "GET" | "HEAD"),
            "a {method} sends no body: leave out --data, or give another --method"
        );
        Ok(Some(method.to_owned()).filter(|method| method != "GET"))
    }

    fn body(&self, folder: &Path) -> anyhow::Result<Option<RequestBody>> {
        self.data
            .as_deref()
            .map(|data| RequestBody::read(data, folder))
            .transpose()
    }
}

/// The body that `--data` names.
struct RequestBody {
    bytes: Vec<u8>,
    /// The source of the body, for people.
    source: String,
}

impl RequestBody {
    fn read(data: &str, folder: &Path) -> anyhow::Result<Self> {
        let (mut bytes, mut source) = (data.as_bytes().to_owned(), "the body".to_owned());
        if let Some(name) = data.strip_prefix('@') {
            let input: Box<dyn Read> = if name == "-" {
                "standard input".clone_into(&mut source);
                Box::new(io::stdin().lock())
            } else {
                name.clone_into(&mut source);
                let file = urldb_files::open_input(&folder.join(name));
                Box::new(file.with_context(|| format!("cannot read the body from {source}"))?)
            };
            bytes.clear();
            input
                .take(LARGEST_BODY + 1)
                .read_to_end(&mut bytes)
                .with_context(|| format!("cannot read the body from {source}"))?;
        }
        anyhow::ensure!(
            bytes.len() as u64 <= LARGEST_BODY,
            "{source} is too large: a body has at most {LARGEST_BODY} bytes"
        );
        Ok(Self { bytes, source })
    }

    /// As a record holds it.
    fn into_text(self) -> anyhow::Result<String> {
        String::from_utf8(self.bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            anyhow::anyhow!(
                "{} is not UTF-8 (byte {}): a record holds a body as text, so binary data cannot be added",
                self.source,
                at + 1
            )
        })
    }
}

fn split_header(header: &str) -> anyhow::Result<(&str, &str)> {
    let split = header
        .split_once(':')
        .map(|(name, value)| (name.trim(), value.trim()));
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    split
        .filter(|(name, _)| !name.is_empty() && name.bytes().all(is_token))
        .with_context(|| {
            format!("{header:?} is no header: write it as in --header 'Accept: text/csv'")
        })
}
