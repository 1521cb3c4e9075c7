//! Two readers of one host: a mail for the owner of some URLs, and a tracker for all others.

use super::{FILE, Story, day};
use crate::sandbox::{assert_has, assert_lacks};
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

#[test]
fn a_reader_of_some_urls_gets_his_numbers_from_a_later_try() {
    let mut story = Story::with_mail_server_and_chat(&PAGES);
    let config = story.sandbox.read("urldb.toml");
    let config = config.replace(
        "[notify.maintainers]\n",
        "[owners]\n\"data.example.test/gaia/\" = \"gaia\"\n[notify.maintainers]\nowners = [\"gaia\"]\n",
    );
    story.sandbox.write("urldb.toml", config);
    story.run(&day(1), 0);
    story.serve("/gaia/a.csv", None);
    story.serve("/tess/a.csv", None);
    story.run(&day(2), 1);
    story.mail_server.as_mut().unwrap().start();
    story.command(&day(3), &["notify", "retry", "maintainers"], 0);
    let mails = story.mail_server.as_ref().unwrap().take_mails();
    assert_has(&mails[0].text, "URLs of gaia: 1 broken (1 new), 2 ok");
    assert_lacks(&mails[0].text, "tess");
}

#[test]
fn another_filter_is_a_card_and_the_end_for_a_reader_whose_urls_it_does_not_take() {
    let mut story = story();
    story.run(&day(1), 0);
    story.serve("/gaia/a.csv", None);
    story.run(&day(2), 1);
    let config = story.sandbox.read("urldb.toml");
    let config = config.replace("owners = [\"gaia\"]", "categories = [\"release\"]");
    story.sandbox.write("urldb.toml", config);
    story.text.clear();
    story.run(&day(3), 1);
    let (_, mail) = story.text.split_once("=== mail").unwrap();
    assert_has(mail, "closed: data.example.test");
    assert_has(mail, "this section takes none of its URLs any more");
    // The tracker takes over; the reader of the mail knows the end.
    story.text.clear();
    story.serve("/gaia/a.csv", Some("a"));
    story.run(&day(4), 0);
    assert_lacks(&story.text, "=== mail");
}
