//! Runs that see nothing, because the network of this machine fails.

use super::{HOST, Story, day};
use crate::site::{closed_address, promises};

const OTHER: &str = "other.example.test";

const PAGES: [(&str, &str); 2] = [("/a", "fine"), ("/b", "fine too")];

/// A story of two hosts, and its settings while the network works and while it fails.
fn story() -> (Story, [String; 2]) {
    with_network(Story::new(&PAGES))
}

fn with_network(story: Story) -> (Story, [String; 2]) {
    let file = format!("urldb/{OTHER}.yaml");
    story.sandbox.write(&file, promises(&PAGES));
    let own = story.site.map(HOST);
    let both = format!("{own:?}, {:?}", story.site.map(OTHER));
    let config = story.sandbox.read("urldb.toml");
    let works = config.replace(&format!("{own:?}"), &both);
    let nobody = closed_address();
    let fails = [HOST, OTHER].iter().fold(works.clone(), |config, host| {
        config.replace(&story.site.map(host), &format!("{host}={nobody}"))
    });
    story.sandbox.write("urldb.toml", &works);
    (story, [works, fails])
}

#[test]
fn runs_that_see_nothing_are_told_and_so_is_the_end() {
    let (mut story, [works, fails]) = story();
    story.with_chat();
    let chat = story.sandbox.read("urldb.toml").split_off(works.len());
    let [works, fails] = [works, fails].map(|config| config + &chat);
    story.run(&day(1), 0);
    // An incident is open when the network fails: it stays, and no message says anything of it.
    story.serve("/a", None);
    story.run(&day(2), 1);
    story.sandbox.write("urldb.toml", &fails);
    story.run(&day(3), 1);
    // A run over a part is no second one.
    story.command("2026-11-03T09:00:00Z", &["run", "-d", OTHER], 1);
    story.run(&day(4), 1);
    story.command("2026-11-04T09:00:00Z", &["status"], 1);
    story.run(&day(5), 1);
    // One host alone that does not answer proves nothing, nor does it end the notice.
    story.command("2026-11-05T09:00:00Z", &["run", "-d", HOST], 1);
    story.sandbox.write("urldb.toml", &works);
    story.run(&day(6), 1);
    story.command("2026-11-06T09:00:00Z", &["log"], 0);
    // It begins anew.
    story.sandbox.write("urldb.toml", &fails);
    story.run(&day(7), 1);
    assert_eq!(story.words_of_mails(), ["broken", "warning", "solved"]);
    story.show("impaired");
}

#[test]
fn a_section_that_joins_late_hears_of_a_network_that_fails_and_a_late_mail_of_its_end() {
    let (mut story, [works, fails]) = with_network(Story::with_mail_server_and_chat(&PAGES));
    // The chat joins later.
    let chat = works.find("[notify.chat]").unwrap();
    let without_chat = |config: &str| config[..config.find("[notify.chat]").unwrap()].to_owned();
    let section = works[chat..].to_owned();
    story.sandbox.write("urldb.toml", without_chat(&works));
    story.run(&day(1), 0);
    story.sandbox.write("urldb.toml", without_chat(&fails));
    for number in [2, 3] {
        story.run(&day(number), 3);
    }
    story
        .sandbox
        .write("urldb.toml", without_chat(&fails) + &section);
    story.run("2026-11-03T16:17:03Z", 3);
    let messages = story.text.matches("=== chat").count();
    assert_eq!(messages, 1, "{}", story.text);
    // The bytes of one file are a proof, in a run over a part too.
    story.sandbox.write("urldb.toml", &works);
    story.mail_server.as_mut().unwrap().start();
    story.command("2026-11-03T20:00:00Z", &["run", "-d", OTHER], 0);
    story.run(&day(4), 0);
    assert_eq!(story.words_of_mails(), ["solved"]);
    story.show("impaired_late");
}

/// Two branches that both saw the network fail have one notice after their merge.
#[test]
fn merged_branches_have_one_notice() {
    let (mut story, [works, fails]) = story();
    story.sandbox.write("urldb.toml", fails);
    story.run(&day(1), 3);
    story.run(&day(2), 3);
    let first = story.sandbox.files("status/incidents", ".yaml");
    let text = std::fs::read_to_string(&first[0]).unwrap();
    // The other branch has opened it in another run, with another id.
    let other = text.replace("20261102T041703Z", "20261102T051703Z");
    assert_ne!(text, other);
    let id = first[0].file_stem().unwrap().to_str().unwrap();
    let twin = first[0].with_file_name(format!("{}.yaml", id.chars().rev().collect::<String>()));
    std::fs::write(twin, other).unwrap();
    story.run(&day(3), 3);
    let logs = story.sandbox.files("status/incidents", ".yaml");
    let merged = logs.iter().filter(|file| {
        let text = std::fs::read_to_string(file).unwrap();
        text.contains("event: merged")
    });
    assert_eq!((logs.len(), merged.count()), (2, 1));
    story.sandbox.write("urldb.toml", works);
    story.run(&day(4), 0);
    assert_eq!(
        story.words_of_mails(),
        ["warning", "solved"],
        "{}",
        story.text
    );
}
