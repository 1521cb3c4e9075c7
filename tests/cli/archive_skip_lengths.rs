//! `sl = true`: each gzip member states its lengths.

use std::fs;
use std::path::PathBuf;

use crate::sandbox::Sandbox;
use crate::site::{FILE, Site, promise};

const SETTINGS: &str = "[archive]\nsl = true\n";

/// A long body is streamed, a short one is compressed in advance.
fn archive() -> (Site, Sandbox) {
    let long = "0123456789".repeat(20_000);
    let site = Site::with(&[("/long", &long), ("/short", "short")]);
    let sandbox = Sandbox::new(&format!("{SETTINGS}{}", site.network()));
    let promises = [promise("/long", &long), promise("/short", "short")];
    sandbox.write(FILE, format!("---\n{}", promises.concat()));
    sandbox.ok("run");
    (site, sandbox)
}

/// The number of members, each of which the field of the one before leads to.
fn members(files: &[PathBuf]) -> usize {
    let count = |file: &PathBuf| {
        let bytes = fs::read(file).unwrap();
        let (mut at, mut count) = (0, 0);
        while at < bytes.len() {
            assert_eq!(&bytes[at..][..4], [0x1f, 0x8b, 8, 4]);
            assert_eq!(&bytes[at + 10..][..6], [12, 0, b's', b'l', 8, 0]);
            let length = bytes[at + 16..][..4].try_into().unwrap();
            at += usize::try_from(u32::from_le_bytes(length)).unwrap();
            count += 1;
        }
        count
    };
    files.iter().map(count).sum()
}

fn verify(sandbox: &Sandbox) {
    sandbox
        .ok("archive verify")
        .says(": 0 errors, 0 warnings\n");
}

#[test]
fn every_record_states_its_lengths() {
    let (_site, sandbox) = archive();
    sandbox.ok("run");
    let files = sandbox.files("archive", ".warc.gz");
    // Two files with a description, two captures with their requests, two revisits.
    assert_eq!(members(&files), 2 + 4 + 2);
    verify(&sandbox);
    sandbox.ok("archive compact");
    let joined = sandbox.files("archive", ".warc.gz");
    assert_eq!((joined.len(), members(&joined)), (1, 1 + 8));
    verify(&sandbox);
    // A wrong length is a warning; nothing else is wrong.
    let mut bytes = fs::read(&joined[0]).unwrap();
    bytes[16] ^= 1;
    fs::write(&joined[0], bytes).unwrap();
    sandbox
        .ok("archive verify")
        .says(&["skip-length", ": 0 errors, 1 warning\n"]);
}

#[test]
fn copies_state_lengths_as_configured() {
    let (_site, sandbox) = archive();
    let settings = sandbox.read("urldb.toml");
    for (version, has_lengths) in [("0.9", true), ("1.0", false), ("1.1", true)] {
        let copy = format!("copy-{version}");
        let flag = format!("sl = {has_lengths}\n");
        sandbox.write("urldb.toml", settings.replace("sl = true\n", &flag));
        sandbox.ok(&["archive", "export", "--warc", &copy, "--version", version]);
        let files = sandbox.files(&copy, ".warc.gz");
        if has_lengths {
            assert_eq!(members(&files), 5);
        } else {
            assert_eq!(fs::read(&files[0]).unwrap()[3], 0);
        }
        let path = format!("[archive]\npath = {copy:?}\n");
        sandbox.write("urldb.toml", settings.replace("[archive]\n", &path));
        verify(&sandbox);
        sandbox.write("urldb.toml", &settings);
    }
}
