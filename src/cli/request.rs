//! Which request `add` adds: the options for one that is not a plain GET.

use std::fs::File;
use std::io::{self, Read};

use anyhow::Context as _;
use urldb_format::Record;

/// Bytes that a request's body has at most: domain files are for people to read.
const LARGEST_BODY: u64 = 1 << 20;

/// The options.
#[derive(Debug, clap::Args)]
pub(super) struct RequestArgs {
    /// The method; GET, or POST where --data is given
    #[arg(long, value_name = "METHOD")]
    method: Option<String>,
    /// The body to send: text, @FILE, or @- for standard input
    #[arg(long, value_name = "DATA")]
    data: Option<String>,
    /// The media type of the body
    #[arg(long, value_name = "TYPE", requires = "data")]
    content_type: Option<String>,
    /// One more header to send, such as 'Accept: text/csv'; the database is public, so no secrets
    #[arg(long = "header", value_name = "NAME: VALUE")]
    headers: Vec<String>,
}

impl RequestArgs {
    /// Whether the body comes from standard input.
    pub(super) fn reads_stdin(&self) -> bool {
        self.data.as_deref() == Some("@-")
    }

    /// A record that says what is asked, and nothing else yet.
    pub(super) fn record(&self) -> anyhow::Result<Record> {
        let mut record = Record {
            method: self.method()?,
            request_body: self.data.as_deref().map(body).transpose()?,
            request_content_type: self.content_type.clone(),
            ..Record::default()
        };
        let values = self.content_type.iter().chain(&self.headers);
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
                !(is_type && self.content_type.is_some()),
                "the content type is given twice: leave out --header {name:?}"
            );
            let before = record.request_headers.insert(name, value);
            anyhow::ensure!(before.is_none(), "the header {name} is given twice");
        }
        Ok(record)
    }

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
}

/// The text that `--data` names.
fn body(data: &str) -> anyhow::Result<String> {
    let Some(name) = data.strip_prefix('@') else {
        return Ok(data.to_owned());
    };
    let (source, shown): (Box<dyn Read>, _) = if name == "-" {
        (Box::new(io::stdin().lock()), "standard input")
    } else {
        let file = File::open(name).with_context(|| format!("cannot read the body from {name}"))?;
        (Box::new(file), name)
    };
    let mut bytes = Vec::new();
    source
        .take(LARGEST_BODY + 1)
        .read_to_end(&mut bytes)
        .with_context(|| format!("cannot read the body from {shown}"))?;
    anyhow::ensure!(
        bytes.len() as u64 <= LARGEST_BODY,
        "{shown} is too large for a record: a body has at most {LARGEST_BODY} bytes"
    );
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        anyhow::anyhow!(
            "{shown} is not UTF-8 (byte {}): a record holds a body as text, so binary data cannot be added",
            at + 1
        )
    })
}

fn split_header(header: &str) -> anyhow::Result<(&str, &str)> {
    let split = header.split_once(':');
    let split = split.map(|(name, value)| (name.trim(), value.trim()));
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    split
        .filter(|(name, _)| !name.is_empty() && name.bytes().all(is_token))
        .with_context(|| {
            format!("{header:?} is no header: write it as in --header 'Accept: text/csv'")
        })
}
