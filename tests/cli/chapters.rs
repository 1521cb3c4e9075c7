//! The status site after several days: chapters of incidents, evidence of each URL, and feeds without muted URLs.

use crate::sandbox::{Sandbox, assert_has, assert_lacks};
use crate::site::{Site, promises};
use crate::support::Reply;

const FILE: &str = "urldb/data.example.test.yaml";

const STARS: (&str, &str) = ("/tables/stars.csv", "name,ra\n");

const QUIET: (&str, &str) = ("/quiet.txt", "quiet\n");

/// A project with a status site, and a page of each path.
struct Days {
    site: Site,
    sandbox: Sandbox,
}

impl Days {
    fn new() -> Self {
        let days = Self::of(&[QUIET, STARS, ("/good", "good\n")]);
        let sandbox = &days.sandbox;
        let mute = "mute-until: '2026-12-30'\n";
        sandbox.write(FILE, promises(&[STARS, ("/good", "good\n")]));
        let quiet = promises(&[QUIET]).replace("---\n---\n", "---\n");
        sandbox.write(FILE, sandbox.read(FILE) + &quiet + mute);
        sandbox.ok("fmt");
        days
    }

    /// With these pages, as promised.
    fn of(pages: &[(&str, &str)]) -> Self {
        let site = Site::with(pages);
        let map = site.map("data.example.test");
        let sandbox = Sandbox::new(&format!(
            "[check]\nhost-interval = \"0s\"\n[network]\nmap = [{map:?}]\n\
             [notify.page]\ntype = \"html\"\npath = \"public\"\n"
        ));
        sandbox.write(FILE, promises(pages));
        Self { site, sandbox }
    }

    #[track_caller]
    fn run(&self, day: u8, code: i32) {
        let at = format!("2026-11-{day:02}T04:17:03Z");
        self.sandbox.urldb_at(&at, "run").code(code);
    }

    /// The page of the only incident about a path.
    #[track_caller]
    fn incident(&self, path: &str) -> String {
        let pages = self.sandbox.tree("public/incidents").into_keys();
        let pages = pages.filter_map(|name| {
            let page = self.sandbox.read(name.to_str()?);
            let is_list = name.ends_with("index.html");
            let text = text_of(&page);
            (!is_list && text.contains(path)).then_some(text)
        });
        let pages: Vec<String> = pages.collect();
        assert_eq!(pages.len(), 1, "{pages:?}");
        pages.into_iter().next().unwrap()
    }
}

/// The text of a page without tags, in which spaces are one space.
fn text_of(page: &str) -> String {
    let page = page.replace("<wbr>", "");
    let tags = page.split('<').filter_map(|part| part.split_once('>'));
    let text: String = tags.map(|(_, text)| text).collect::<Vec<_>>().join(" ");
    let text = text.replace("&#x2f;", "/").replace('\u{a0}', " ");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn an_incident_is_told_chapter_by_chapter() {
    let days = Days::new();
    days.run(1, 0);
    days.site.serve(STARS.0, Reply::ok("name,ra\nHD 1,1.0\n"));
    days.site.remove(QUIET.0);
    days.run(2, 1);
    days.site.remove(STARS.0);
    days.run(4, 1);
    days.run(5, 1);
    let open = days.incident(STARS.0);
    for sentence in [
        "/tables/stars.csv answers 404 Not Found",
        "The host was last checked on 5 November 2026, 04:17 UTC",
        "1 broken: grew by 9 bytes",
        "1 broken: answers 404 Not Found",
        "promised 8 bytes",
        "What to do now",
    ] {
        assert_has(&open, sentence);
    }
    let feed = days.sandbox.read("public/incidents.atom");
    assert_has(&feed, "stars.csv");
    assert_lacks(&feed, "quiet.txt");
    days.incident(QUIET.0);

    days.site.serve(STARS.0, Reply::ok(STARS.1));
    days.run(7, 0);
    let closed = days.incident(STARS.0);
    for sentence in [
        "recovered: http://data.example.test/tables/stars.csv",
        "From 2 November 2026, 04:17 UTC to 7 November 2026, 04:17 UTC",
        "1 recovered, 0 broken",
    ] {
        assert_has(&closed, sentence);
    }
    // Quiet days leave it as it is.
    days.run(8, 0);
    assert_eq!(days.incident(STARS.0), closed);
    let feed = days.sandbox.read("public/incidents.atom");
    assert_has(&feed, "<published>2026-11-02T04:17:03Z</published>");
    // The feed has the rows of the page.
    for sentence in [
        "7 November 2026: 1 recovered, 0 broken",
        "4 November 2026: 1 broken: answers 404 Not Found",
        "2 November 2026: 1 broken: grew by 9 bytes",
    ] {
        assert_has(&feed.replace("&#x2f;", "/"), sentence);
        let (_, sentence) = sentence.split_once(": ").unwrap();
        assert_has(&closed, sentence);
    }
    assert_has(&feed, "<updated>2026-11-07T04:17:03Z</updated>");
    assert_lacks(&feed, "quiet.txt");
    // The page of a URL has its own last check and evidence.
    let urls = days.sandbox.tree("public/urls").into_keys();
    let pages = urls.map(|name| text_of(&days.sandbox.read(name.to_str().unwrap())));
    let pages: Vec<String> = pages.collect();
    assert_eq!(pages.len(), 3);
    for page in &pages {
        assert_has(
            page,
            "This URL was last checked on 8 November 2026, 04:17 UTC",
        );
    }
    let quiet = pages.iter().find(|page| page.contains(QUIET.0)).unwrap();
    assert_has(quiet, "Gone since 2 November 2026.");
    assert_has(quiet, "/quiet.txt answers 404 Not Found");
}
