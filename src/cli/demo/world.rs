//! The site of the demo: what it holds, and the five ways in which it breaks.

use super::site::{Answer, Site};

/// What the site is called; only urldb.toml knows where it is.
pub(super) const HOST: &str = "demo.example";

/// Files whose very bytes are promised.
pub(super) const STATIC: [&str; 4] = [
    "http://demo.example/data/m31.fits",
    "http://demo.example/data/m51.csv",
    "http://demo.example/docs/licence.txt",
    "http://demo.example/docs/manual.txt",
];

/// Pages that only have to answer.
pub(super) const LIVE: [&str; 2] = ["http://demo.example/", "http://demo.example/search?q=m51"];

/// A record as somebody in a hurry writes it: in the wrong place, its keys in no order.
pub(super) const BY_HAND: &str = "\
---
redirects-to: http://demo.example/objects/m51
description: cited in papers
_path: /id/m51
";

/// One way in which the site breaks.
pub(super) struct Breakage {
    /// What is broken.
    pub(super) path: &'static str,
    /// What happens to it.
    pub(super) story: &'static str,
    /// The state that must be found.
    pub(super) state: &'static str,
}

impl Breakage {
    /// The URL that is broken.
    pub(super) fn url(&self) -> String {
        format!("http://{HOST}{}", self.path)
    }
}

/// All of them.
pub(super) const BREAKAGES: [Breakage; 5] = [
    Breakage {
        path: "/data/m51.csv",
        story: "has another digit in one place; its length is the same",
        state: "changed",
    },
    Breakage {
        path: "/docs/manual.txt",
        story: "is gone: 404",
        state: "gone",
    },
    Breakage {
        path: "/data/m31.fits",
        story: "breaks off halfway: truncated",
        state: "truncated",
    },
    Breakage {
        path: "/id/m51",
        story: "has moved: it leads to the front page now",
        state: "redirected",
    },
    Breakage {
        path: "/search?q=m51",
        story: "is slow: the request is taken, and nothing comes",
        state: "unreachable",
    },
];

/// How many of the [`STATIC`] files stay as they were.
pub(super) fn unbroken() -> u64 {
    let broken = BREAKAGES.each_ref().map(Breakage::url);
    let unbroken = STATIC
        .iter()
        .filter(|url| !broken.iter().any(|broken| broken == *url));
    unbroken.count() as u64
}

const HTML: &str = "text/html; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";
const CSV: &str = "text/csv";
const FITS: &str = "image/fits";

/// Puts everything up, as it should be.
pub(super) fn set_up(site: &Site) {
    site.set(
        "/",
        Answer::Page(
            HTML,
            b"<!doctype html><title>Demo</title><p>Pictures of the sky.\n".to_vec(),
        ),
    );
    site.set("/data/m31.fits", Answer::Page(FITS, fits()));
    site.set("/data/m51.csv", Answer::Page(CSV, csv("8.4")));
    site.set(
        "/docs/licence.txt",
        Answer::Page(TEXT, b"Do with it what you like.\n".to_vec()),
    );
    site.set(
        "/docs/manual.txt",
        Answer::Page(TEXT, b"Look up. It is all there.\n".to_vec()),
    );
    site.set("/id/m51", Answer::Redirect("/objects/m51"));
    site.set(
        "/objects/m51",
        Answer::Page(
            HTML,
            b"<!doctype html><title>M 51</title><p>A spiral.\n".to_vec(),
        ),
    );
    site.set(
        "/search?q=m51",
        Answer::Page(
            HTML,
            b"<!doctype html><title>m51</title><p>One result.\n".to_vec(),
        ),
    );
}

/// Breaks it in the five ways of [`BREAKAGES`].
pub(super) fn break_down(site: &Site) {
    site.set("/data/m31.fits", Answer::HalfPage(FITS, fits()));
    site.set("/data/m51.csv", Answer::Page(CSV, csv("8.9")));
    site.remove("/docs/manual.txt");
    site.set("/id/m51", Answer::Redirect("/"));
    site.set("/search?q=m51", Answer::Silence);
}

fn csv(magnitude: &str) -> Vec<u8> {
    format!("name,ra,dec,magnitude\nM 51,13:29:52.7,+47:11:43,{magnitude}\n").into_bytes()
}

/// An image of four pixels: a header and a data unit of 2880 bytes each, as FITS has them.
fn fits() -> Vec<u8> {
    let cards = [
        "SIMPLE  =                    T",
        "BITPIX  =                    8",
        "NAXIS   =                    1",
    ];
    let cards = cards
        .iter()
        .chain(&["NAXIS1  =                    4", "END"]);
    let header = cards
        .map(|card| format!("{card:80}"))
        .collect::<Vec<_>>()
        .concat();
    let mut bytes = format!("{header:2880}").into_bytes();
    bytes.extend([31, 13, 5, 1]);
    bytes.resize(2 * 2880, 0);
    bytes
}
