//! What the runs have left in the repository: captures, history, mail.
//!
//! The demo shows it, and holds what happened against what should have.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use mail_parser::MessageParser;
use serde_json::Value;
use urldb_warc::{Reader, RecordType};

use crate::cli::print::style;

/// One WARC file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Warc {
    /// Its name, without the folder.
    pub(super) name: String,
    /// Its length.
    pub(super) bytes: u64,
    /// How many records are full captures.
    pub(super) responses: u64,
    /// How many records refer to one.
    pub(super) revisits: u64,
}

impl fmt::Display for Warc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            bytes,
            responses,
            revisits,
        } = self;
        let captures = style::count(*responses, "capture");
        let revisits = style::count(*revisits, "revisit");
        write!(f, "{captures}, {revisits}, {bytes:>4} bytes: {name}")
    }
}

/// The WARC files of an archive, the oldest first, with every record read.
pub(super) fn warcs(archive: &Path) -> Result<Vec<Warc>> {
    files(archive, "gz")?
        .iter()
        .map(|path| warc(path))
        .collect()
}

fn warc(path: &Path) -> Result<Warc> {
    let mut reader = Reader::open(path)?;
    let (mut responses, mut revisits) = (0, 0);
    while let Some(record) = reader.next_record()? {
        match record.header().record_type() {
            Some(RecordType::Response) => responses += 1,
            Some(RecordType::Revisit) => revisits += 1,
            _ => {}
        }
    }
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    Ok(Warc {
        name,
        bytes: fs::metadata(path)?.len(),
        responses,
        revisits,
    })
}

/// The mails in a folder.
pub(super) fn mails(folder: &Path) -> Result<Vec<PathBuf>> {
    files(folder, "eml")
}

/// Header and plain text of a mail, decoded.
pub(super) fn readable(mail: &[u8]) -> Result<String> {
    let message = MessageParser::default()
        .parse(mail)
        .context("it is no mail")?;
    let to = message
        .to()
        .and_then(|to| to.first())
        .and_then(|to| to.address());
    let subject = message.subject().context("the mail has no subject")?;
    let text = message.body_text(0).context("the mail has no text")?;
    Ok(format!(
        "To: {}\nSubject: {subject}\n\n{}",
        to.unwrap_or_default(),
        text.replace("\r\n", "\n").trim_end()
    ))
}

/// Every URL whose state has changed so far, with the state it has come to.
pub(super) fn news(ledger: &Path) -> Result<BTreeMap<String, String>> {
    let path = ledger.join("history.jsonl");
    let text =
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut news = BTreeMap::new();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).context("a line of history is not JSON")?;
        if let (Some(url), Some(to)) = (line["url"].as_str(), line["to"].as_str()) {
            news.insert(url.to_owned(), to.to_owned());
        }
    }
    Ok(news)
}

/// The files of a folder with this extension, sorted; none where there is no folder.
fn files(folder: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(vec![]),
        Err(error) => {
            return Err(error).with_context(|| format!("cannot read {}", folder.display()));
        }
    };
    let mut paths = vec![];
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|found| found == extension) {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mail_is_decoded() {
        let mail = "From: a@b.example\r\nTo: c@d.example\r\n\
            Subject: [urldb] 1 broken: =?utf-8?b?4oCm?=\r\n\
            Content-Type: multipart/alternative; boundary=\"=_x\"\r\n\r\n\
            --=_x\r\nContent-Type: text/plain; charset=utf-8\r\n\
            Content-Transfer-Encoding: quoted-printable\r\n\r\n\
            a long=\r\n line, 1 =3D 1\r\n\
            --=_x\r\nContent-Type: text/html\r\n\r\n<p>no\r\n--=_x--\r\n";
        let text = readable(mail.as_bytes()).expect("it is a mail");
        insta::assert_snapshot!(text, @r"
        To: c@d.example
        Subject: [urldb] 1 broken: …

        a long line, 1 = 1
        ");
    }

    #[test]
    fn news_is_read_from_history() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let lines = "{\"kind\":\"run\",\"due\":7}\n{\"kind\":\"change\",\"url\":\"http://a/\",\"from\":\"ok\",\"to\":\"gone\"}\n";
        fs::write(folder.path().join("history.jsonl"), lines).expect("it can be written");
        let news = news(folder.path()).expect("it is history");
        assert_eq!(
            news,
            BTreeMap::from([("http://a/".to_owned(), "gone".to_owned())])
        );
    }

    #[test]
    fn a_folder_that_is_not_there_has_no_mail_and_no_archive() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let missing = folder.path().join("missing");
        assert_eq!(
            mails(&missing).expect("that is no error"),
            Vec::<PathBuf>::new()
        );
        assert_eq!(warcs(&missing).expect("that is no error"), vec![]);
    }
}
