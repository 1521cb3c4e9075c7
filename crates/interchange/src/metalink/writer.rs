//! Writes a Metalink: records with the same digest are mirrors of one file.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{self, Write};

use percent_encoding::percent_decode_str;
use quick_xml::escape::escape;
use urldb_format::{Algorithm, Digest};

use crate::model::DomainRecord;
use crate::sitemap::is_xml;

/// Collects files in memory, since the mirrors of a file can have any place in the database.
#[derive(Debug, Default)]
pub struct Writer {
    files: Vec<File>,
    /// The last file with a digest that identifies it.
    by_digest: HashMap<Digest, usize>,
}

/// A file with its mirrors.
#[derive(Debug, Default)]
struct File {
    length: Option<u64>,
    digests: BTreeMap<Algorithm, Digest>,
    urls: Vec<String>,
}

impl File {
    /// Whether both can be one file: they share a length and digests, as far as both have them.
    fn fits(&self, other: &Self) -> bool {
        let is_length =
            self.length.is_none() || other.length.is_none() || self.length == other.length;
        let mut digests = other.digests.iter();
        is_length
            && digests.all(|(algorithm, digest)| {
                let own = self.digests.get(algorithm);
                own.is_none_or(|own| own == digest)
            })
    }

    fn add(&mut self, other: Self) {
        self.length = self.length.or(other.length);
        self.digests.extend(other.digests);
        self.urls.extend(other.urls);
    }

    /// The digests that identify the file. A weak one does only if the file has no other.
    fn identifying(&self) -> Vec<Digest> {
        let is_strong = |digest: &&Digest| digest.algorithm() >= Algorithm::Sha256;
        let strong: Vec<Digest> = self.digests.values().filter(is_strong).cloned().collect();
        if strong.is_empty() {
            return self.digests.values().cloned().collect();
        }
        strong
    }
}

impl Writer {
    /// Adds the URLs of a record; false if it has no digest, or no URL that XML can hold.
    pub fn add(&mut self, domain_record: &DomainRecord<'_>) -> bool {
        let urls = domain_record.urls().map(String::from);
        let digests = domain_record.record.digests();
        let file = File {
            length: domain_record.record.content_length,
            digests: digests.map(|it| (it.algorithm(), it)).collect(),
            urls: urls.filter(|url| is_xml(url)).collect(),
        };
        if file.digests.is_empty() || file.urls.is_empty() {
            return false;
        }
        let digests = file.identifying();
        let mut known = digests.iter().filter_map(|it| self.by_digest.get(it));
        let known = known.find(|index| self.files.get(**index).is_some_and(|it| it.fits(&file)));
        let index = known.copied().unwrap_or(self.files.len());
        match self.files.get_mut(index) {
            Some(known) => known.add(file),
            None => self.files.push(file),
        }
        self.by_digest
            .extend(digests.into_iter().map(|digest| (digest, index)));
        true
    }

    /// Writes the document, and flushes the output.
    ///
    /// # Errors
    /// If the output fails.
    pub fn finish(self, mut output: impl Write) -> io::Result<()> {
        output.write_all(b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<metalink xmlns=\"urn:ietf:params:xml:ns:metalink\">\n")?;
        let mut names = Names::default();
        for file in &self.files {
            let name = names.next(file);
            writeln!(output, "<file name=\"{}\">", escape(name.as_str()))?;
            if let Some(length) = file.length {
                writeln!(output, "<size>{length}</size>")?;
            }
            for (algorithm, digest) in file.digests.iter().rev() {
                let name = registered_name(*algorithm);
                writeln!(output, "<hash type=\"{name}\">{}</hash>", digest.hex())?;
            }
            for url in &file.urls {
                writeln!(output, "<url>{}</url>", escape(url.as_str()))?;
            }
            writeln!(output, "</file>")?;
        }
        output.write_all(b"</metalink>\n")?;
        output.flush()
    }
}

/// The name of an algorithm in the registry of IANA, "Hash Function Textual Names".
fn registered_name(algorithm: Algorithm) -> &'static str {
    match algorithm {
        Algorithm::Md5 => "md5",
        Algorithm::Sha1 => "sha-1",
        Algorithm::Sha256 => "sha-256",
        Algorithm::Sha384 => "sha-384",
        Algorithm::Sha512 => "sha-512",
    }
}

/// The names of files, each of which only one file has.
#[derive(Default)]
struct Names {
    taken: HashSet<String>,
    /// The last number for each host and path.
    numbers: HashMap<String, u64>,
}

impl Names {
    /// The name of a file: the end of its path, else host and path, else these behind a number.
    fn next(&mut self, file: &File) -> String {
        let url = file.urls.first().map_or("", String::as_str);
        let (_, place) = url.split_once("://").unwrap_or_default();
        let place = place.split(['?', '#']).next().unwrap_or_default();
        let is_name = |part: &&str| !matches!(*part, "" | "." | "..");
        let parts = place.split('/').filter(is_name);
        let parts: Vec<String> = parts.map(readable).collect();
        let whole = parts.join("/");
        for name in parts.last().into_iter().chain([&whole]) {
            if self.taken.insert(name.clone()) {
                return name.clone();
            }
        }
        let number = self.numbers.entry(whole.clone()).or_insert(1);
        loop {
            *number += 1;
            let name = format!("{number}/{whole}");
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }
}

/// A part of a path without its percent escapes, if a file can have this name.
fn readable(part: &str) -> String {
    let decoded = percent_decode_str(part).decode_utf8();
    let is_safe =
        |name: &str| is_xml(name) && !name.contains(['/', '\\']) && !matches!(name, "." | "..");
    match decoded {
        Ok(name) if is_safe(&name) => name.into_owned(),
        _ => part.to_owned(),
    }
}
