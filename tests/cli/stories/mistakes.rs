//! Mistakes in a domain file: a notice with a thread, which ends when the file is corrected.

use super::{FILE, Story, day};
use crate::site::promises;

const PAGES: [(&str, &str); 2] = [("/a", "fine"), ("/b", "fine too")];

const LENGTH: &str = "---\n_path: /c\ncontent-length: five\n";
const DIGEST: &str = "---\n_path: /d\ncontent-sha256: abc\n";
const STATUS: &str = "---\n_path: /e\nstatus: 2000\n";

fn write(story: &Story, mistakes: &[&str]) {
    let text = promises(&PAGES) + &mistakes.concat();
    story.sandbox.write(FILE, text);
}

fn count(story: &Story, what: &str) -> usize {
    story.text.matches(what).count()
}

#[test]
fn mistakes_are_told_once_and_again_when_there_are_others_and_when_they_are_corrected() {
    let mut story = Story::new(&PAGES);
    story.with_chat();
    story.run(&day(1), 0);
    write(&story, &[LENGTH]);
    story.run(&day(2), 1);
    story.run(&day(3), 1);
    // It moves, and is the same.
    write(&story, &["# a comment\n", LENGTH]);
    story.run(&day(4), 1);
    write(&story, &[LENGTH, DIGEST]);
    story.run(&day(5), 1);
    story.command("2026-11-05T09:00:00Z", &["status"], 1);
    // Half as many, and twice as many.
    write(&story, &[DIGEST]);
    story.run(&day(6), 1);
    write(&story, &[LENGTH, DIGEST]);
    story.run(&day(7), 1);
    write(&story, &[DIGEST, STATUS]);
    story.run(&day(8), 1);
    write(&story, &[]);
    story.run(&day(9), 0);
    story.run(&day(10), 0);
    story.command("2026-11-10T09:00:00Z", &["log"], 0);
    let expected = [
        "mistake", "mistake", "mistake", "mistake", "mistake", "solved",
    ];
    assert_eq!(story.words_of_mails(), expected, "{}", story.text);
    assert_eq!(count(&story, "=== chat"), 6, "{}", story.text);
    story.show("mistakes");
}

#[test]
fn a_removed_file_is_not_corrected() {
    let mut story = Story::new(&PAGES);
    let other = "urldb/other.example.test.yaml";
    story.sandbox.write(other, format!("---\n{LENGTH}"));
    story.run(&day(1), 1);
    // A run that does not read the file says nothing of it.
    let map = story.site.map("data.example.test");
    assert!(map.contains("data.example.test"));
    story.command(
        "2026-11-01T09:00:00Z",
        &["run", "-d", "data.example.test"],
        0,
    );
    std::fs::remove_file(story.sandbox.path(other)).unwrap();
    story.run(&day(2), 0);
    assert!(!story.text.contains("yaml is corrected"), "{}", story.text);
    story.show("mistakes_removed");
}

/// What began and ended while no mail could be sent is told by one late mail; the mail of what is open has the
/// mistakes of today.
#[test]
fn a_late_mail_has_the_mistakes_of_today() {
    let mut story = Story::with_mail_server_and_chat(&PAGES);
    write(&story, &[LENGTH, STATUS]);
    story.run(&day(1), 1);
    write(&story, &[DIGEST, STATUS]);
    story.run("2026-11-01T12:00:00Z", 1);
    story.mail_server.as_mut().unwrap().start();
    story.run("2026-11-01T16:00:00Z", 1);
    story.run("2026-11-01T20:00:00Z", 1);
    assert_eq!(story.words_of_mails(), ["mistake"], "{}", story.text);
    story.show("mistakes_late");
}
