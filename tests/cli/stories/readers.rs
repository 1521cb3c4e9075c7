//! Two readers of one host: a mail for the owner of some URLs, and a tracker for all others.

use super::{FILE, Story, day};
use crate::site::promises;

const PAGES: [(&str, &str); 6] = [
    ("/gaia/a.csv", "a"),
    ("/gaia/b.csv", "b"),
    ("/gaia/c.csv", "c"),
    ("/tess/a.csv", "d"),
    ("/tess/b.csv", "e"),
    ("/tess/c.csv", "f"),
];

fn story() -> Story {
    let story = Story::new(&PAGES);
    let config = story.sandbox.read("urldb.toml");
    let config = config.replace(
        "[notify.maintainers]\n",
        "[notify.gaia]\nowners = [\"gaia\"]\n",
    );
    let owners = "[owners]\n\"data.example.test/gaia/\" = \"gaia\"\n";
    // The tracker has the last section.
    let config = format!("{config}\nelse = true\n{owners}");
    story.sandbox.write("urldb.toml", config);
    story
}

#[test]
fn each_reader_is_told_the_numbers_and_the_evidence_of_his_urls() {
    let mut story = story();
    story.run(&day(1), 0);
    story.serve("/gaia/a.csv", None);
    story.run(&day(2), 1);
    story.serve("/tess/a.csv", None);
    story.serve("/tess/b.csv", None);
    story.run(&day(3), 1);
    story.serve("/gaia/a.csv", Some("a"));
    story.command(&day(4), &["run", "--path-prefix", "/gaia/"], 0);
    story.serve("/tess/a.csv", Some("d"));
    story.serve("/tess/b.csv", Some("changed"));
    story.run(&day(6), 1);
    // Without its record, the URL has not recovered.
    let rest: Vec<_> = PAGES
        .into_iter()
        .filter(|(path, _)| *path != "/tess/b.csv")
        .collect();
    story.sandbox.write(FILE, promises(&rest));
    story.run(&day(7), 0);
    story.show("two_readers");
}
