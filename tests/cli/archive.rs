//! What the WARC files and the index hold, read back.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;

use urldb_warc::{CdxjLine, Extent, Header, Reader};

use crate::certificates::{Authority, Kind};
use crate::sandbox::Sandbox;
use crate::site::{FILE, Site, network, promises, sha256};
use crate::support::{Reply, Server};

/// One record of an archive file.
pub(crate) struct Stored {
    pub(crate) header: Header,
    pub(crate) block: Vec<u8>,
    pub(crate) extent: Extent,
}

impl Stored {
    /// A field that must be there.
    #[track_caller]
    pub(crate) fn field(&self, name: &str) -> &str {
        let value = self.header.get(name);
        value.unwrap_or_else(|| panic!("no {name} in {:?}", self.header))
    }

    fn is(&self, kind: &str) -> bool {
        self.field("WARC-Type") == kind
    }
}

/// All records of an archive file, each read to its end and found undamaged.
pub(crate) fn records(file: &Path) -> Vec<Stored> {
    let mut reader = Reader::open(file).unwrap();
    let mut records = vec![];
    while let Some(mut record) = reader.next_record().unwrap() {
        let (header, mut block) = (record.header().clone(), vec![]);
        record.read_to_end(&mut block).unwrap();
        let extent = record.finish().unwrap();
        records.push(Stored {
            header,
            block,
            extent,
        });
    }
    records
}

fn archived(runs: usize) -> (Site, Sandbox) {
    let site = Site::with(&[("/a", "first"), ("/b", "second")]);
    let sandbox = Sandbox::new(&site.network());
    let pages = [("/a", "first"), ("/b", "second")];
    sandbox.write(FILE, promises(&pages));
    for _ in 0..runs {
        sandbox.ok("run");
    }
    (site, sandbox)
}

/// The records of all files, in the order of the files' names.
fn all_records(sandbox: &Sandbox) -> Vec<Stored> {
    let files = sandbox.files("archive", ".warc.gz");
    files.iter().flat_map(|file| records(file)).collect()
}

#[test]
fn a_capture_is_what_was_sent_and_received() {
    let (site, sandbox) = archived(1);
    let all = all_records(&sandbox);
    let response = all
        .iter()
        .find(|record| record.is("response") && record.field("WARC-Target-URI").ends_with("/b"))
        .unwrap();
    // The HTTP library gives the names of headers in lower case.
    assert_eq!(
        String::from_utf8_lossy(&response.block),
        "HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nsecond"
    );
    assert_eq!(
        response.field("WARC-Payload-Digest"),
        format!("sha256:{}", sha256("second"))
    );
    assert_eq!(response.field("WARC-IP-Address"), "127.0.0.1");
    let request = all
        .iter()
        .find(|record| {
            record.is("request")
                && record.field("WARC-Concurrent-To") == response.field("WARC-Record-ID")
        })
        .unwrap();
    let sent = String::from_utf8(request.block.clone()).unwrap();
    assert!(sent.starts_with("GET /b HTTP/1.1\r\nHost: "), "{sent}");
    let asked = site.requests();
    for (name, value) in &asked[0].headers {
        let line = format!("\r\n{name}: {value}\r\n");
        assert!(sent.contains(&line), "{line:?} is not in {sent:?}");
    }
}

#[test]
fn the_first_record_of_a_file_says_who_wrote_it() {
    let (_site, sandbox) = archived(0);
    let config = sandbox.read("urldb.toml");
    let about = "[project]\nname = \"Mirrors\"\n[archive]\noperator = \"Us <us@example.org>\"\n\
                 description = \"Daily\"\n";
    let agent = "[check]\nuser-agent = \"watch/1\"\n";
    sandbox.write("urldb.toml", config.replace("[check]\n", agent) + about);
    for arguments in [
        &["init", "--quiet"][..],
        &["add", "."],
        &[
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@t",
            "commit",
            "-qm",
            "x",
        ],
    ] {
        let done = sandbox.command("git").args(arguments).status().unwrap();
        assert!(done.success());
    }
    let commit = sandbox.command("git").args(["rev-parse", "HEAD"]).output();
    let commit = String::from_utf8(commit.unwrap().stdout).unwrap();
    sandbox.ok("run");
    let all = all_records(&sandbox);
    assert!(all[0].is("warcinfo"));
    let block = String::from_utf8(all[0].block.clone()).unwrap();
    let (before, rest) = block.split_once("hostname: ").unwrap();
    let (host, after) = rest.split_once("\r\n").unwrap();
    assert!(
        all[0]
            .field("WARC-Filename")
            .ends_with(&format!("-{host}.warc.gz"))
    );
    let software = concat!("software: urldb/", env!("CARGO_PKG_VERSION"));
    assert_eq!(
        before,
        format!("{software}\r\nformat: WARC File Format 1.1\r\n")
    );
    assert_eq!(
        after,
        format!(
            "operator: Us <us@example.org>\r\nisPartOf: Mirrors\r\ndescription: Daily\r\n\
             http-header-user-agent: watch/1\r\ndatabase-commit: {}\r\n",
            commit.trim()
        )
    );
}

#[test]
fn records_name_the_protocols_of_their_connection() {
    let authority = Authority::new();
    let tls = authority.server(&[Kind::Good], "example.test");
    let server = Server::tls(tls, |_| Reply::ok("first").close());
    let network = network(server.address(), &["example.test"]);
    let sandbox = Sandbox::new(&format!("{network}ca-file = {:?}\n", authority.file()));
    let file = promises(&[("/a", "first")]).replacen("---\n", "---\nhttp: false\nhttps: true\n", 1);
    sandbox.write(FILE, file);
    for _ in 0..2 {
        sandbox.ok("run");
    }
    let mut kinds = BTreeSet::new();
    let all = all_records(&sandbox);
    let is_of_page = |record: &&Stored| !record.is("warcinfo") && !record.is("metadata");
    for record in all.iter().filter(is_of_page) {
        let fields = record.header.iter();
        let protocols = fields.filter(|(name, _)| *name == "WARC-Protocol");
        let protocols: Vec<&str> = protocols.map(|(_, value)| value).collect();
        assert_eq!(protocols, ["http/1.1", "tls/1.3"]);
        kinds.insert(record.field("WARC-Type"));
    }
    assert_eq!(Vec::from_iter(kinds), ["request", "response", "revisit"]);
    sandbox.ok("archive verify").says("0 errors, 0 warnings");
}

#[test]
fn revisits_refer_to_the_capture() {
    let (_site, sandbox) = archived(3);
    let all = all_records(&sandbox);
    let revisits: Vec<&Stored> = all.iter().filter(|record| record.is("revisit")).collect();
    assert_eq!(revisits.len(), 4);
    assert_eq!(all.iter().filter(|record| record.is("response")).count(), 2);
    for revisit in revisits {
        let capture = all
            .iter()
            .find(|record| record.field("WARC-Record-ID") == revisit.field("WARC-Refers-To"))
            .unwrap();
        assert!(capture.is("response"));
        assert_eq!(
            revisit.field("WARC-Refers-To-Target-URI"),
            capture.field("WARC-Target-URI")
        );
        assert_eq!(
            revisit.field("WARC-Refers-To-Date"),
            capture.field("WARC-Date")
        );
        assert_eq!(revisit.header.get("WARC-Status"), Some("200"));
        for same in ["WARC-Target-URI", "WARC-Payload-Digest"] {
            assert_eq!(revisit.field(same), capture.field(same));
        }
        assert!(
            revisit
                .field("WARC-Profile")
                .ends_with("/identical-payload-digest")
        );
    }
    let mut ids: Vec<&str> = all
        .iter()
        .map(|record| record.field("WARC-Record-ID"))
        .collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all.len());
}

#[test]
fn revisits_need_the_ledger_and_not_the_archive() {
    let (_site, sandbox) = archived(1);
    let id = all_records(&sandbox)
        .into_iter()
        .find(|record| record.is("response"))
        .map(|record| record.field("WARC-Record-ID").to_owned());
    std::fs::remove_dir_all(sandbox.path("archive")).unwrap();
    sandbox.ok("run");
    let all = all_records(&sandbox);
    assert!(!all.iter().any(|record| record.is("response")));
    assert!(
        all.iter()
            .skip(1)
            .any(|record| record.header.get("WARC-Refers-To") == id.as_deref())
    );
}

#[test]
fn the_index_leads_to_every_capture() {
    let (site, sandbox) = archived(2);
    site.serve("/a", Reply::ok("other"));
    sandbox.exits(1, "run");
    let index = sandbox.index();
    let mut sorted: Vec<&str> = index.lines().collect();
    sorted.sort_unstable();
    assert_eq!(sorted, index.lines().collect::<Vec<_>>());
    let lines: Vec<CdxjLine> = sorted
        .into_iter()
        .map(|line| CdxjLine::parse(line).unwrap())
        .collect();
    assert_eq!(
        lines.len(),
        6,
        "two captures, three revisits, one capture of other bytes"
    );
    for line in lines {
        let file = sandbox.path("archive").join(&line.filename);
        let mut reader = Reader::open_at(&file, line.extent.offset).unwrap();
        let record = reader.next_record().unwrap().unwrap();
        assert_eq!(
            record.header().get("WARC-Target-URI"),
            Some(line.url.as_str())
        );
        assert_eq!(
            record.header().get("WARC-Payload-Digest"),
            Some(line.digest.as_str())
        );
        assert_eq!(record.finish().unwrap(), line.extent);
    }
}

#[test]
fn changed_bytes_are_captured() {
    let (site, sandbox) = archived(1);
    site.serve("/a", Reply::ok("OTHER"));
    sandbox.exits(1, "run");
    let all = all_records(&sandbox);
    let capture = all
        .iter()
        .find(|record| record.is("response") && record.block.ends_with(b"OTHER"));
    assert!(capture.is_some());
    // And, once seen, they are not stored again.
    sandbox.exits(1, "run");
    let again = all_records(&sandbox).split_off(all.len());
    assert!(again.iter().any(|record| record.is("revisit")));
    assert!(!again.iter().any(|record| record.is("response")));
    assert!(again.iter().all(|record| record.extent.length > 0));
}

/// An archive begun in another version and with other digests goes on in ours.
#[test]
fn version_digest_and_size_are_as_configured() {
    let (_site, sandbox) = archived(0);
    let config = sandbox.read("urldb.toml");
    let archive = "\n[archive]\nversion = \"1.0\"\ndigest = \"sha1\"\nmax-size = 1\n";
    sandbox.write("urldb.toml", format!("{config}{archive}"));
    sandbox.ok("run");
    let files = sandbox.files("archive", ".warc.gz");
    // Each capture but the first finds the file full.
    assert_eq!(files.len(), 2);
    let all = all_records(&sandbox);
    let capture = all.iter().find(|record| record.is("response")).unwrap();
    for digest in ["WARC-Payload-Digest", "WARC-Block-Digest"] {
        assert!(capture.field(digest).starts_with("sha1:"));
    }
    let raw = |file: &Path| {
        let mut text = vec![];
        let bytes = std::fs::read(file).unwrap();
        let mut decoder = flate2::read::MultiGzDecoder::new(bytes.as_slice());
        decoder.read_to_end(&mut text).unwrap();
        String::from_utf8(text).unwrap()
    };
    assert!(raw(&files[0]).contains("\r\nformat: WARC File Format 1.0\r\n"));
    assert!(files.iter().all(|file| !raw(file).contains("WARC/1.1")));

    sandbox.write("urldb.toml", config);
    sandbox.ok("run");
    // A run that begins in the second in which another ended counts its files anew: their names
    // may come before those of the other.
    let mut later = sandbox.files("archive", ".warc.gz");
    later.retain(|file| !files.contains(file));
    let again: Vec<Stored> = later.iter().flat_map(|file| records(file)).collect();
    let revisit = again
        .iter()
        .find(|record| record.header.get("WARC-Refers-To") == capture.header.get("WARC-Record-ID"));
    assert_eq!(
        revisit.unwrap().field("WARC-Payload-Digest"),
        capture.field("WARC-Payload-Digest")
    );
    assert_eq!(sandbox.index().lines().count(), 4);
}
